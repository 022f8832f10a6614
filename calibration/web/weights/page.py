"""The weights page: for each category of a fit its weights, its certificate in words, and what it predicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import get_language, gettext, ngettext

from accounts.models import Workspace
from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import decimals
from calibration.fits.export import certificate_of
from calibration.models import CategoryFit, Fit, fitted_kind
from calibration.statistics.weights.certificates import pooled_from_dict
from calibration.statistics.weights.fit import OutOfSample, WeightCertificate
from calibration.web.blocks import Block, Column, ResultPage, Section, Table
from calibration.web.messages.populations import populations_note
from calibration.web.messages.statistics import by_items, cluster_words, criterion_words, interval_meaning
from calibration.web.paper_tables import PrintedFit, printed_fits
from calibration.web.weights.certificate import (
    certificate_sentences,
    held_out_reason,
    pooling_sentences,
    populations_sentence,
    warning_sentence,
    weights_opening,
)
from calibration.web.weights.items import (
    WeightRow,
    distinct_labels,
    floor_note,
    item_rows,
    shown_populations,
    weights_table,
)
from core.read_once import once

Numbers = float | int | str | None


@dataclass(frozen=True)
class ShownCategory:
    """A category of a fit with its certificate, and the published weights that stand beside it."""

    name: str
    fit: CategoryFit
    certificate: WeightCertificate
    rows: Sequence[WeightRow]
    published: CategoryFit | None
    printed: PrintedFit | None

    @property
    def by_instruction(self) -> OutOfSample | None:
        return self.certificate.out_of_sample.get("instruction")

    @property
    def about(self) -> str:
        """State the number of answers, how well held-out instructions are predicted, and if equal weights do better."""
        said = [ngettext("%(n)s answer", "%(n)s answers", self.fit.n) % {"n": self.fit.n}]
        unseen = self.by_instruction
        if unseen and unseen.r2 < 0:
            said.append(gettext("held out: worse than predicting the mean"))
        elif unseen:
            said.append(gettext("held-out R² %(r2)s") % {"r2": decimals(unseen.r2, 2)})
        if not self.certificate.better:
            said.append(gettext("not shown to be better than equal weights"))
        return " · ".join(said)


def fit_page(fit: Fit) -> ResultPage:
    """Build the page of a fit that was computed here (not of published weights)."""
    assert fit.study is not None
    categories = _shown_categories(fit)
    certificates = [category.certificate for category in categories]
    several = len(categories) > 1
    shared = [
        code
        for code in certificates[0].warnings
        if several and all(code in certificate.warnings for certificate in certificates)
    ]
    blocks = [_overview_block(categories)] if several else []
    for place, category in enumerate(categories, start=1):
        section = Section(f"category-{place}", category.name, category.about)
        blocks += _category_blocks(place, category, shared, section if several else None)
    depth = reverse("calibration:weights_depth", args=[fit.study])
    return ResultPage(
        title=gettext("Weights"),
        opening=weights_opening(certificates, items=by_items(fit.study)),
        links=[
            (
                f"{depth}?{urlencode({'fit': fit.public_id})}",
                gettext("Which weights to use, and how much they depend on the floor, raters, models and cohorts"),
            )
        ],
        warnings=[warning_sentence(code) for code in shared],
        blocks=blocks,
        method=_method(fit),
        code=[
            "calibration.statistics.weights.fit",
            "calibration.statistics.weights.least_squares",
            "calibration.statistics.weights.certificates",
            "calibration.statistics.weights.pooling",
        ],
    )


def fit_opening(fit: Fit) -> str:
    """State in a sentence how well a fit's weights predict held-out instructions."""
    assert fit.study is not None
    certificates = [certificate_of(category) for category in fit.categories.defer("rows").order_by("position")]
    return weights_opening(certificates, items=by_items(fit.study))


def _shown_categories(fit: Fit) -> list[ShownCategory]:
    assert fit.study is not None
    rows = list(
        fit.categories.defer("rows").select_related("category").prefetch_related("weights").order_by("position")
    )
    published = published_beside(fit.workspace, rows)
    questions = criterion_questions(fit.study)
    printed = printed_fits(fit.study.benchmark)
    return [
        ShownCategory(
            name=category_name(row),
            fit=row,
            certificate=certificate_of(row),
            rows=item_rows(row, published.get(row.pk), questions),
            published=published.get(row.pk),
            printed=printed.get(row.key.split("/")[-1]) if row.pk in published else None,
        )
        for row in rows
    ]


def published_beside(workspace: Workspace, categories: Sequence[CategoryFit]) -> dict[int, CategoryFit]:
    """Map CategoryFit pks to the weights published elsewhere for the same subcategory and number of items."""
    known = CategoryFit.objects.filter(fit__workspace=workspace, fit__kind=Fit.Kind.PUBLISHED).select_related("fit")
    candidates = list(known.defer("rows").prefetch_related("weights").order_by("fit__created_at", "pk"))
    found: dict[int, CategoryFit] = {}
    for own in categories:
        for other in candidates:
            same = (
                own.category_id == other.category_id
                if own.category_id and other.category_id
                else (own.key.split("/")[-1] == other.key.split("/")[-1])
            )
            if same and len(own.weights.all()) == len(other.weights.all()):
                found[own.pk] = other
                break
    return found


def criterion_questions(study: Study) -> dict[str, str]:
    """Map criterion keys to their questions in the reader's language; if rubrics share a key, the first one's counts."""
    return once(("criterion questions", study.pk, get_language()), lambda: _criterion_questions(study))


def _criterion_questions(study: Study) -> dict[str, str]:
    criteria = study.asked_criteria().order_by("rubric_id", "position")
    found: dict[str, str] = {}
    for criterion in criteria:
        found.setdefault(criterion.key, criterion.question if criterion.questions else criterion_words(criterion.key))
    return found


def category_name(category: CategoryFit) -> str:
    if category.category:
        return category.category.name
    return gettext("All answers") if category.key == "all" else category.key


def _category_blocks(
    place: int, category: ShownCategory, shared: Sequence[str], section: Section | None
) -> list[Block]:
    """Build "weights-1", "certificate-1", "unseen-1" and "rivals-1" of the first category, and so on."""
    certificate, kept = category.certificate, category.fit.diagnostics
    dropped = kept["dropped_not_applicable"] + kept["dropped_incomplete"]
    sentences = certificate_sentences(certificate, [row.label for row in category.rows])
    if dropped:
        sentences.append(
            ngettext(
                "One answer was left out because an item did not apply or was not answered.",
                "%(n)s answers were left out because an item did not apply or was not answered.",
                dropped,
            )
            % {"n": dropped}
        )
    assert category.fit.fit.study is not None
    notes = [
        _pooling(category.fit),
        populations_sentence(certificate, items=by_items(category.fit.fit.study)),
        populations_note(cluster_words(category.fit.fit.study)),
        *([floor_note()] if any(row.at_floor for row in category.rows) else []),
    ]
    weights = Block(
        f"weights-{place}",
        gettext("Weights of the items: %(category)s") % {"category": category.name},
        answer="" if section else category.about,
        figure=_figure(category.name, category.rows, category.published),
        caption=_caption(category.fit, certificate, category.published),
        table=weights_table(category.rows),
        warnings=[warning_sentence(code) for code in certificate.warnings if code not in shared],
        notes=[note for note in notes if note],
        section=section,
    )
    unseen = _unseen_rows(certificate)
    why_not = held_out_reason(certificate, items=by_items(category.fit.fit.study))
    none_left_out = gettext("Nothing could be left out: there is only one instruction, rater and model.")
    return [
        weights,
        Block(f"certificate-{place}", gettext("Certificate"), notes=sentences, section=section),
        Block(
            f"unseen-{place}",
            gettext("Prediction of held-out data"),
            table=Table(_unseen_columns(), unseen) if unseen else None,
            notes=[why_not] if why_not else [],
            reason="" if unseen else none_left_out,
            section=section,
        ),
        Block(
            f"rivals-{place}",
            gettext("Fit to the answers"),
            table=Table([Column(gettext("Weighting")), Column("R²", 3), Column("MSE", 2)], _rival_rows(category)),
            section=section,
        ),
    ]


def _figure(name: str, rows: Sequence[WeightRow], published: CategoryFit | None) -> str:
    bars = [
        Bar(row.label, row.weight, low, high, note=gettext("at the floor") if row.at_floor else "")
        for row in distinct_labels(rows)
        for low, high in [row.such or row.these or (None, None)]
    ]
    reference = [Bar(row.label, row.published) for row in distinct_labels(rows) if row.published is not None]
    return interval_bars(
        bars,
        title=gettext("Weights of the items: %(category)s") % {"category": name},
        x_title=gettext("Share of the total weight (out of 100)"),
        reference=reference,
        series=(gettext("Fitted here"), gettext("Published")) if published else ("", ""),
    )


def _caption(one: CategoryFit, certificate: WeightCertificate, published: CategoryFit | None) -> str:
    said = []
    intervals, ends = certificate.intervals.get("instruction"), shown_populations(one)
    if ends is not None and not ends.not_stated:
        said.append(gettext("Lines are 95 %% intervals for raters like these.") % {})
    elif ends is not None and ends.kind == "t95":
        said.append(gettext("Lines are 95 %% intervals for exactly these raters.") % {})
    elif intervals is None or one.diagnostics["pooled"]:
        said.append(interval_meaning("none", 1, ""))
    else:
        assert one.fit.study is not None
        drawn = cluster_words(one.fit.study)
        said.append(interval_meaning(intervals.interval_kind, intervals.clusters, drawn))
        if intervals.interval_kind == "bootstrap95":
            said.append(gettext("They are about exactly these raters."))
    if published:
        source = published.fit.source or published.fit.published_name
        said.append(gettext("Diamonds show the published weights of the same items (%(source)s).") % {"source": source})
    return " ".join(said)


def _rival_rows(category: ShownCategory) -> list[list[Numbers]]:
    """List R2 and mean squared error of several weightings of the items on the rows that were fitted."""
    certificate, printed = category.certificate, category.printed
    rows: list[list[Numbers]] = [
        [gettext("These weights"), certificate.fit.r2, certificate.fit.mse],
        [gettext("Equal weights, fitted scale"), certificate.equal_fitted.r2, certificate.equal_fitted.mse],
        [gettext("Mean answer times 10"), certificate.equal_plain.r2, certificate.equal_plain.mse],
        [gettext("Unconstrained least squares"), certificate.ols.r2, certificate.ols.mse],
    ]
    if printed:
        as_printed = decimals(printed.r2, 2), decimals(printed.mse, 2)
        rows.append([gettext("Published weights, on the authors' data"), *as_printed])
    return rows


def _unseen_columns() -> list[Column]:
    equal = Column(gettext("R² of equal weights"), 3)
    ends = [
        *Column.ends(gettext("Raters like these: low"), gettext("Raters like these: high"), 3, optional=True),
        *Column.ends(gettext("These raters: low"), gettext("These raters: high"), 3, optional=True),
    ]
    return [Column(gettext("Left out")), Column(gettext("Groups"), 0), Column("R²", 3), *ends, Column("MSE", 2), equal]


def _unseen_rows(certificate: WeightCertificate) -> list[list[Numbers]]:
    """List how well held-out instructions, raters and models are predicted, compared with equal weights."""
    labels = {"instruction": gettext("One instruction"), "rater": gettext("One rater"), "model": gettext("One model")}
    known = [(labels[kind], certificate.out_of_sample[kind]) for kind in labels if kind in certificate.out_of_sample]
    nothing: list[Numbers] = [None] * 4
    found = certificate.held_out
    ends = {}
    if found is not None:
        ends[labels["instruction"]] = [found.such_low, found.such_high, found.these_low, found.these_high]
    return [
        [label, unseen.clusters, unseen.r2, *ends.get(label, nothing), unseen.mse, unseen.equal_r2]
        for label, unseen in known
    ]


def _pooling(one: CategoryFit) -> str:
    pooled = one.diagnostics["pooled"]
    return pooling_sentences(pooled_from_dict(pooled), one.key) if pooled else ""


def _overview_block(categories: Sequence[ShownCategory]) -> Block:
    """Show R2 on held-out instructions by category beside that of equal weights."""
    known = [(category, category.by_instruction) for category in categories if category.by_instruction]
    figure = ""
    if known:
        names = _unique_names([category for category, _ in known])
        figure = interval_bars(
            [Bar(name, unseen.r2) for name, (_, unseen) in zip(names, known, strict=True)],
            title=gettext("How well the weights predict held-out instructions"),
            x_title=gettext("R² on held-out instructions"),
            reference=[Bar(name, unseen.equal_r2) for name, (_, unseen) in zip(names, known, strict=True)],
            series=(gettext("Fitted weights"), gettext("Equal weights")),
        )
    columns = [
        Column(gettext("Category")),
        Column("n", 0),
        Column(gettext("Instructions"), 0),
        Column("R²", 2),
        Column(gettext("R², held out"), 2),
        Column(gettext("Equal weights, held out"), 2),
        Column(gettext("At the floor"), 0),
        Column(gettext("Published R²"), 2, optional=True),
    ]
    rows: list[list[Numbers]] = []
    for category in categories:
        unseen = category.by_instruction
        rows.append(
            [
                category.name,
                category.fit.n,
                category.certificate.clusters["instruction"],
                category.fit.r2,
                unseen.r2 if unseen else None,
                unseen.equal_r2 if unseen else None,
                sum(row.at_floor for row in category.rows),
                category.printed.r2 if category.printed else None,
            ]
        )
    return Block(
        "overview",
        gettext("Categories"),
        figure=figure,
        caption=gettext(
            "R² on held-out instructions: each instruction is predicted by a fit that leaves it out. Diamonds show "
            "equal weights. Whether the weights are better is told by the interval of the gain, not by a bar that passes "
            "its diamond."
        ),
        table=Table(columns, rows, links=[f"#category-{place}" for place in range(1, len(categories) + 1)]),
    )


def _unique_names(categories: Sequence[ShownCategory]) -> list[str]:
    names = [category.name for category in categories]
    return [one.name if names.count(one.name) == 1 else one.fit.key for one in categories]


def _method(fit: Fit) -> list[str]:
    values = {
        "hash": fit.data_hash[:12],
        "seed": fit.settings["seed"],
        "draws": fit.settings["draws"],
        "numpy": fit.versions["numpy"],
        "scipy": fit.versions["scipy"],
    }
    return [
        gettext(
            "Each row holds one rater's checklist answers for one response, mapped to 0 to 1, and the overall score "
            "that the same rater gave it, mapped to 0 to 10. The weights minimise the mean squared difference between "
            "the overall score and the weighted sum of the answers, without an intercept and with no weight below the "
            "floor (exact non-negative least squares). Published weights are shares of 100."
        ),
        gettext(
            "R² compares the errors with the variance around the mean overall score; it is negative where predicting "
            "that mean would do better. Data are always held out by whole instructions, raters or models, never by "
            "single rows, and the intervals resample them whole as well."
        ),
        gettext(
            "Intervals for raters like these come from refits without each instruction, each rater, and each rater's "
            "answers to one instruction (Cameron, Gelbach and Miller 2011), with Student's t. Weights count as better than "
            "equal weights if the gain on held-out instructions has p under 0.05 by that interval, corrected for the number "
            "of categories (Holm)."
        ),
        gettext(
            "Source: HelloBench (arXiv 2409.16191), equations 1 to 3 and appendix G. The certificate, the intervals "
            "and the pooling are our additions."
        ),
        gettext("Data %(hash)s, seed %(seed)s, %(draws)s draws, numpy %(numpy)s, scipy %(scipy)s.") % values,
    ]


def category_names_of(fit: Fit) -> dict[str, str]:
    """Map keys of categories and families to names in the reader's language; where two share a name, to the key."""
    rows = list(fit.categories.select_related("category__parent").defer("diagnostics", "rows"))
    named = {one.key: category_name(one) for one in rows}
    shown = {key: name if list(named.values()).count(name) == 1 else key for key, name in named.items()}
    parents = [one.category.parent for one in rows if one.category and one.category.parent]
    return {one.key: one.name for one in parents} | shown


def earlier_fits(study: Study) -> Sequence[Fit]:
    """The study's fits, newest first."""
    fits = study.fits.filter(kind=fitted_kind()).select_related("created_by")
    return list(fits.order_by("-created_at", "-pk")[:20])
