"""The content of the weights page: for each category of a fit a figure, its certificate in words, and table rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from accounts.models import Workspace
from annotation.models import Criterion, Study, Task
from calibration.figures.charts import Bar, interval_bars
from calibration.fits.export import certificate_of
from calibration.models import CategoryFit, Fit, FittedWeight
from calibration.statistics.weights.certificates import pooled_from_dict
from calibration.statistics.weights.fit import OutOfSample, WeightCertificate
from calibration.web.messages.statistics import (
    by_items,
    certificate_sentences,
    cluster_words,
    criterion_words,
    interval_meaning,
    warning_sentence,
    weights_opening,
)
from calibration.web.printed_tables import PrintedFit, printed_fits


@dataclass(frozen=True)
class WeightRow:
    """An item's fitted weight and, if there is one, its published weight."""

    label: str
    weight: float
    low: float | None
    high: float | None
    raw: float | None
    at_floor: bool
    published: float | None

    @property
    def difference(self) -> float | None:
        return None if self.published is None else self.weight - self.published


@dataclass(frozen=True)
class RivalRow:
    """A weighting of the items, with its R2 and mean squared error on the rows that were fitted."""

    label: str
    r2: float
    mse: float


@dataclass(frozen=True)
class UnseenRow:
    """The prediction of held-out data, compared with equal weights."""

    label: str
    result: OutOfSample


@dataclass(frozen=True)
class CategoryPanel:
    """Everything one category's section shows."""

    key: str
    name: str
    n: int
    fit: CategoryFit
    certificate: WeightCertificate
    figure: str
    caption: str
    rows: Sequence[WeightRow]
    sentences: Sequence[str]
    warnings: Sequence[str]
    rivals: Sequence[RivalRow]
    unseen: Sequence[UnseenRow]
    published: CategoryFit | None
    printed: PrintedFit | None
    dropped: int
    pooling: str

    @property
    def by_instruction(self) -> OutOfSample | None:
        return self.certificate.out_of_sample.get("instruction")

    @property
    def holds(self) -> bool:
        """Whether the weights predict held-out instructions better than equal weights do."""
        return self.by_instruction is not None and self.by_instruction.r2 > self.by_instruction.equal_r2

    @property
    def floored(self) -> int:
        return sum(row.at_floor for row in self.rows)


@dataclass(frozen=True)
class FitPage:
    """The sections of a fit in order and the warnings that all of its categories share.

    `items` says that the clusters are items instead of instructions.
    """

    panels: Sequence[CategoryPanel]
    warnings: Sequence[str]
    items: bool = False

    @property
    def opening(self) -> str:
        return weights_opening([panel.certificate for panel in self.panels], items=self.items)

    @property
    def overview(self) -> str:
        return overview_figure(self.panels)


def fit_page(fit: Fit) -> FitPage:
    """Build the page of a fit that was computed here (not of published weights)."""
    categories = list(fit.categories.select_related("category").prefetch_related("weights").order_by("position"))
    published = published_beside(fit.workspace, categories)
    assert fit.study is not None
    questions = criterion_questions(fit.study)
    printed = printed_fits(fit.study.benchmark)
    certificates = [certificate_of(one) for one in categories]
    shared = [
        code
        for code in certificates[0].warnings
        if len(certificates) > 1 and all(code in other.warnings for other in certificates)
    ]
    panels = [
        _panel(one, certificate, published.get(one.pk), questions, printed.get(one.key.split("/")[-1]), shared)
        for one, certificate in zip(categories, certificates, strict=True)
    ]
    return FitPage(panels, [warning_sentence(code) for code in shared], by_items(fit.study))


def published_beside(workspace: Workspace, categories: Sequence[CategoryFit]) -> dict[int, CategoryFit]:
    """Map CategoryFit pks to the weights published elsewhere for the same subcategory and number of items."""
    known = CategoryFit.objects.filter(fit__workspace=workspace, fit__kind=Fit.Kind.PUBLISHED).select_related("fit")
    candidates = list(known.prefetch_related("weights").order_by("fit__created_at", "pk"))
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
    rubrics = Task.objects.filter(study=study).order_by().values("answer_rubric").distinct()
    criteria = Criterion.objects.filter(rubric__in=rubrics).order_by("rubric_id", "position")
    found: dict[str, str] = {}
    for criterion in criteria:
        found.setdefault(criterion.key, criterion.question if criterion.questions else criterion_words(criterion.key))
    return found


def category_name(category: CategoryFit) -> str:
    if category.category:
        return category.category.name
    return gettext("All answers") if category.key == "all" else category.key


def _panel(
    one: CategoryFit,
    certificate: WeightCertificate,
    published: CategoryFit | None,
    questions: Mapping[str, str],
    printed: PrintedFit | None,
    shared: Sequence[str],
) -> CategoryPanel:
    rows = _rows(one, published, questions)
    labels = [row.label for row in rows]
    kept = one.diagnostics["rows"]
    return CategoryPanel(
        key=one.key,
        name=category_name(one),
        n=one.n,
        fit=one,
        certificate=certificate,
        figure=_figure(category_name(one), rows, published),
        caption=_caption(one, certificate, published),
        rows=rows,
        sentences=certificate_sentences(certificate, labels),
        warnings=[warning_sentence(code) for code in certificate.warnings if code not in shared],
        rivals=_rivals(certificate),
        unseen=_unseen(certificate),
        published=published,
        printed=printed if published else None,
        dropped=kept["dropped_not_applicable"] + kept["dropped_incomplete"],
        pooling=_pooling(one),
    )


def _rows(one: CategoryFit, published: CategoryFit | None, questions: Mapping[str, str]) -> list[WeightRow]:
    own = sorted(one.weights.all(), key=lambda weight: weight.position)
    others = sorted(published.weights.all(), key=lambda weight: weight.position) if published else []
    beside = _matched(own, others)
    return [
        WeightRow(
            questions.get(weight.criterion_key, criterion_words(weight.criterion_key)),
            weight.weight,
            weight.low,
            weight.high,
            weight.raw_weight,
            weight.at_floor,
            beside.get(weight.position),
        )
        for weight in own
    ]


def _matched(own: Sequence[FittedWeight], others: Sequence[FittedWeight]) -> dict[int, float]:
    """Map our positions to published weights: by criterion key if the keys are the same, else by checklist index."""
    by_key = {weight.criterion_key: weight.weight for weight in others}
    if set(by_key) == {weight.criterion_key for weight in own}:
        return {weight.position: by_key[weight.criterion_key] for weight in own}
    return {mine.position: theirs.weight for mine, theirs in zip(own, others, strict=False)}


def _figure(name: str, rows: Sequence[WeightRow], published: CategoryFit | None) -> str:
    bars = [
        Bar(row.label, row.weight, row.low, row.high, note=gettext("at the floor") if row.at_floor else "")
        for row in _distinct(rows)
    ]
    reference = [Bar(row.label, row.published) for row in _distinct(rows) if row.published is not None]
    return interval_bars(
        bars,
        title=gettext("Weights of the items: %(category)s") % {"category": name},
        x_title=gettext("Share of the total weight (out of 100)"),
        reference=reference,
        series=(gettext("Fitted here"), gettext("Published")) if published else ("", ""),
    )


def _distinct(rows: Sequence[WeightRow]) -> list[WeightRow]:
    """Number repeated labels, because a figure tells its bars apart by their labels."""
    seen: dict[str, int] = {}
    distinct = []
    for row in rows:
        seen[row.label] = seen.get(row.label, 0) + 1
        label = row.label if seen[row.label] == 1 else f"{row.label} ({seen[row.label]})"
        distinct.append(WeightRow(label, row.weight, row.low, row.high, row.raw, row.at_floor, row.published))
    return distinct


def _caption(one: CategoryFit, certificate: WeightCertificate, published: CategoryFit | None) -> str:
    said = []
    intervals = certificate.intervals.get("instruction")
    if one.diagnostics["pooled"]:
        said.append(gettext("Weights pooled toward those of the whole family of categories have no interval."))
    elif intervals is None:
        said.append(interval_meaning("none", 1, ""))
    else:
        assert one.fit.study is not None
        drawn = cluster_words(one.fit.study)
        said.append(interval_meaning(intervals.interval_kind, intervals.clusters, drawn))
    if published:
        source = published.fit.source or published.fit.published_name
        said.append(gettext("Diamonds show the published weights of the same items (%(source)s).") % {"source": source})
    return " ".join(said)


def _rivals(certificate: WeightCertificate) -> list[RivalRow]:
    return [
        RivalRow(gettext("These weights"), certificate.fit.r2, certificate.fit.mse),
        RivalRow(gettext("Equal weights, fitted scale"), certificate.equal_fitted.r2, certificate.equal_fitted.mse),
        RivalRow(gettext("Mean answer times 10"), certificate.equal_plain.r2, certificate.equal_plain.mse),
        RivalRow(gettext("Unconstrained least squares"), certificate.ols.r2, certificate.ols.mse),
    ]


def _unseen(certificate: WeightCertificate) -> list[UnseenRow]:
    labels = {"instruction": gettext("One instruction"), "rater": gettext("One rater"), "model": gettext("One model")}
    return [
        UnseenRow(labels[kind], certificate.out_of_sample[kind]) for kind in labels if kind in certificate.out_of_sample
    ]


def _pooling(one: CategoryFit) -> str:
    if not one.diagnostics["pooled"]:
        return ""
    pooled = pooled_from_dict(one.diagnostics["pooled"])
    strength = gettext("infinite") if pooled.strength == float("inf") else f"{pooled.strength:g}"
    return gettext(
        "These weights are pooled toward those of all categories of the family. The strength, %(strength)s, was chosen "
        "by predicting held-out instructions; pooling reduces the mean squared error by %(gain)s."
    ) % {"strength": strength, "gain": f"{pooled.categories[one.key].gain:.3f}"}


def overview_figure(panels: Sequence[CategoryPanel]) -> str:
    """Draw R2 on held-out instructions by category, with that of equal weights; '' for a single category."""
    known = [(panel, panel.by_instruction) for panel in panels if panel.by_instruction is not None]
    if len(panels) < 2 or not known:
        return ""
    names = _unique_names([panel for panel, _ in known])
    bars = [Bar(name, unseen.r2) for name, (_, unseen) in zip(names, known, strict=True)]
    equal = [Bar(name, unseen.equal_r2) for name, (_, unseen) in zip(names, known, strict=True)]
    return interval_bars(
        bars,
        title=gettext("How well the weights predict held-out instructions"),
        x_title=gettext("R² on held-out instructions"),
        reference=equal,
        series=(gettext("Fitted weights"), gettext("Equal weights")),
    )


def _unique_names(panels: Sequence[CategoryPanel]) -> list[str]:
    names = [panel.name for panel in panels]
    return [panel.name if names.count(panel.name) == 1 else panel.key for panel in panels]


def category_names_of(fit: Fit) -> dict[str, str]:
    """Map keys of categories and families to names in the reader's language; where two share a name, to the key."""
    rows = list(fit.categories.select_related("category__parent"))
    named = {one.key: category_name(one) for one in rows}
    shown = {key: name if list(named.values()).count(name) == 1 else key for key, name in named.items()}
    parents = [one.category.parent for one in rows if one.category and one.category.parent]
    return {one.key: one.name for one in parents} | shown


def earlier_fits(study: Study) -> Sequence[Fit]:
    """The study's fits, newest first."""
    fits = study.fits.filter(kind=Fit.Kind.FITTED).select_related("created_by")
    return list(fits.order_by("-created_at", "-pk")[:20])
