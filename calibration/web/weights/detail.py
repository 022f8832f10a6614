"""The detail page of the weights: which weights to use, and the evidence for it."""

from collections.abc import Callable, Mapping, Sequence
from math import isinf
from typing import Literal

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.codec import Missing
from calibration.reports.weights import (
    WEIGHTS,
    CategoryDepth,
    CohortWeights,
    Depth,
    Family,
    WeightsInDepth,
    depth_settings,
)
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.statistics.weights.gains import Gain, Verdict
from calibration.statistics.weights.sensitivity import FitsCompared
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table, interval_cells
from calibration.web.messages.populations import ends_columns, gain_words, needed_words
from calibration.web.messages.reasons import missing_notes, reason_of
from calibration.web.messages.statistics import by_items, cluster_words, criterion_words
from calibration.web.serving import PageKind
from calibration.web.weights.certificate import pooling_note
from calibration.web.weights.page import category_names_of, criterion_questions, earlier_fits
from calibration.web.weights.rivals import rivals_block

MOST_FIGURES = 12
LEFT_OUT_SHOWN = 25
"""Raters, or instructions, that the page lists by how far leaving them out moves the weights; the file has them all."""


def depth_title() -> str:
    return gettext("Do the weights hold up?")


def depth_page(study: Study, report: Depth) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(
            depth_title(), gettext("No weights have been fitted in this study yet; fit them first."), [], []
        )
    questions = criterion_questions(study)

    def name(item: str) -> str:
        return questions.get(item) or criterion_words(item)

    rows, names, of = report.categories, names_in(study, report), cluster_words(study)
    return ResultPage(
        title=depth_title(),
        opening=_opening(rows, items=by_items(study)),
        choices=_choices(study, report),
        blocks=[
            _verdicts(rows, names, of),
            rivals_block(rows, lambda key: category_words(key, names), of),
            *([_compared(rows, names, of)] if report.with_ else []),
            *_families(report.families, names, of),
            *(
                block
                for place, row in enumerate(rows[:MOST_FIGURES])
                for block in _category(row, place, name, category_words(row.key, names), of)
            ),
        ],
        method=_method(of),
        sources=["HelloBench (arXiv 2409.16191), Eq. 1 to 3"],
        code=[
            "calibration.statistics.weights.gains",
            "calibration.statistics.weights.rivals",
            "calibration.statistics.weights.sensitivity",
            "calibration.statistics.weights.pooling",
        ],
    )


DEPTH_PAGE = PageKind(
    report=WEIGHTS,
    settings=lambda study, query: depth_settings(study, query.get("fit", ""), query.get("with", "")),
    page=depth_page,
    title=depth_title,
)


def _choices(study: Study, report: WeightsInDepth) -> list[Choice]:
    fits = [
        (fit.public_id, f"{fit.created_at:%Y-%m-%d %H:%M} {fit.published_name}".strip()) for fit in earlier_fits(study)
    ]
    if len(fits) < 2:
        return []
    none = ("", gettext("no other fit"))
    others = [fit for fit in fits if fit[0] != report.fit]
    return [
        Choice("fit", gettext("Fit"), fits, report.fit),
        Choice("with", gettext("Compare with"), [none, *others], report.with_),
    ]


def scheme_words(scheme: str) -> str:
    return {
        "own": gettext("use these weights"),
        "parent": gettext("use the weights of the whole family"),
        "equal": gettext("use equal weights"),
    }[scheme]


def names_in(study: Study, report: WeightsInDepth) -> dict[str, str]:
    """Map keys of the fit's categories and families to names; empty if the fit no longer exists."""
    fit = study.fits.filter(public_id=report.fit).first()
    return category_names_of(fit) if fit else {}


def category_words(key: str, names: Mapping[str, str]) -> str:
    """Return a category's name in the reader's language, or its key if it has no name."""
    return names.get(key) or (gettext("All answers") if key == "all" else key)


def _opening(rows: Sequence[CategoryDepth], *, items: bool) -> str:
    known = [row.verdict for row in rows if not isinstance(row.verdict, Missing)]
    if isinstance(rows[0].verdict, Missing) and not known:
        return reason_of(rows[0].verdict)
    if len(rows) == 1:
        return _verdict_sentence(known[0], items=items)
    counts = {scheme: sum(verdict.use == scheme for verdict in known) for scheme in ("own", "parent", "equal")}
    return (
        gettext(
            "Recommended weights for the %(all)d categories: their own in %(own)d, those of their family in %(parent)d, "
            "and equal weights in %(equal)d."
        )
        % {"all": len(rows), **counts}
        + " "
        + _middle(known, items=items)
    )


def _middle(known: Sequence[Verdict], *, items: bool) -> str:
    """State the gain of the median category with its interval."""
    gains = sorted((verdict.own_over_equal for verdict in known), key=lambda gain: gain.value)
    return gettext(
        "In the median category, its own weights reduce the mean squared error of equal weights by %(gain)s."
    ) % {"gain": gain_words(gains[len(gains) // 2], items=items)}


def _verdict_sentence(verdict: Verdict, *, items: bool) -> str:
    gain = gain_words(verdict.own_over_equal, items=items)
    values = {"gain": gain, "of": gettext("items") if items else gettext("instructions")}
    if verdict.use == "own":
        text = gettext(
            "Use these weights: on held-out %(of)s they reduce the mean squared error of equal weights by %(gain)s."
        )
    elif verdict.use == "parent":
        text = gettext(
            "Use the weights of the whole family: they predict held-out %(of)s better than equal weights do, and it is not "
            "shown that these weights are better still (they reduce the mean squared error of equal weights by %(gain)s)."
        )
    else:
        text = gettext(
            "Use equal weights: it is not shown that the fitted weights are better; they reduce the mean squared error by "
            "%(gain)s."
        )
    more = needed_words(verdict.own_over_equal, items=items) if verdict.use == "equal" else ""
    unsure = "" if verdict.sure else _unsure(verdict, values["of"])
    return " ".join(part for part in (text % values, more, unsure) if part)


def _unsure(verdict: Verdict, of: str) -> str:
    if verdict.instructions < 20:
        return gettext("With only %(n)d %(of)s, no 95 %% interval can be stated; rate more of them to be sure.") % {
            "n": verdict.instructions,
            "of": of,
        }
    return ""


def _verdicts(rows: Sequence[CategoryDepth], names: Mapping[str, str], of: str) -> Block:
    title = gettext("Which weights to use")
    known = [(row.key, row.verdict) for row in rows if not isinstance(row.verdict, Missing)]
    if isinstance(rows[0].verdict, Missing) and not known:
        return Block("verdicts", title, reason=reason_of(rows[0].verdict))
    figure = interval_bars(
        [
            Bar(category_words(key, names), *interval_cells(gain.value, gain), note=scheme_words(verdict.use))
            for key, verdict in known
            for gain in [verdict.own_over_equal.main]
        ],
        title=title,
        x_title=gettext("Reduction of the mean squared error of equal weights, held-out %(of)s") % {"of": of},
        rule=0.0,
        rule_label=gettext("as good as equal weights"),
    )
    table = Table(
        [
            Column(gettext("Category"), names=names),
            Column(gettext("Verdict")),
            Column("n", 0),
            Column(gettext("Clusters (%(of)s)") % {"of": of}, 0),
            Column(gettext("R², held out"), 3),
            Column(gettext("R² of the family"), 3),
            Column(gettext("R² of equal weights"), 3),
            *gain_columns(gettext("Gain over equal weights")),
            *gain_columns(gettext("Gain over the family")),
        ],
        [_verdict_row(key, verdict) for key, verdict in known],
    )
    silent = missing_notes((category_words(row.key, names), row.verdict) for row in rows)
    return Block("verdicts", title, figure=figure, table=table, notes=silent)


def _verdict_row(key: str, verdict: Verdict) -> list[object]:
    own, apart = verdict.own_over_equal, next(iter(verdict.own_over_parent), None)
    return [
        key,
        scheme_words(verdict.use),
        verdict.n,
        verdict.instructions,
        verdict.r2["own"],
        verdict.r2.get("parent"),
        verdict.r2["equal"],
        *gain_cells(own),
        *(gain_cells(apart) if apart else (None,) * 6),
    ]


def gain_columns(label: str) -> list[Column]:
    return [Column(label, 3), *ends_columns(3, optional=True), Column("p", 4, floor=0.0001, optional=True)]


def gain_cells(gain: Gain) -> list[float | None]:
    stated = gain.interval_kind != "none"
    return [
        gain.value,
        gain.such_low,
        gain.such_high,
        gain.low if stated else None,
        gain.high if stated else None,
        gain.p,
    ]


def _compared(rows: Sequence[CategoryDepth], names: Mapping[str, str], of: str) -> Block:
    title = gettext("Comparison with the other fit")
    known = [(row.key, row.other) for row in rows if isinstance(row.other, FitsCompared)]
    if not known:
        return Block("compared", title, reason=gettext("The other fit has no category with the same items."))
    figure = interval_bars(
        [Bar(category_words(key, names), *interval_cells(other.gain.value, other.gain.main)) for key, other in known],
        title=title,
        x_title=gettext("Reduction of the mean squared error of the other fit, held-out %(of)s") % {"of": of},
    )
    table = Table(
        [
            Column(gettext("Category"), names=names),
            Column("n", 0),
            Column(gettext("MSE, this fit"), 3),
            Column(gettext("MSE, other fit"), 3),
            *gain_columns(gettext("Gain")),
            Column(gettext("Correlation of points"), 4),
            Column(gettext("Weight moved"), 1),
        ],
        [[key, other.n, *other.mse, *gain_cells(other.gain), other.correlation, other.shift] for key, other in known],
    )
    caption = gettext("The comparison is paired: each fit predicts the scores of the same held-out %(of)s.") % {
        "of": of
    }
    return Block("compared", title, figure=figure, caption=caption, table=table)


def _families(families: Sequence[Family], names: Mapping[str, str], of: str) -> list[Block]:
    """Show the pooling path of each family; if there are several, those of a single category are left out."""
    shown = [family for family in families if not isinstance(family.pooling, Missing) or len(families) == 1]
    return [_pooling(f"pooling-{place}", family, names, of) for place, family in enumerate(shown, start=1)]


def _pooling(key: str, family: Family, names: Mapping[str, str], of: str) -> Block:
    title, found = gettext("Partial pooling"), family.pooling
    if family.parent:
        title = gettext("Partial pooling: %(parent)s") % {"parent": category_words(family.parent, names)}
    if isinstance(found, Missing):
        return Block(key, title, reason=reason_of(found))
    labels = ["∞" if isinf(strength) else f"{strength:g}" for strength, _ in found.path]
    errors = [error for _, error in found.path]
    chosen = [strength for strength, _ in found.path].index(found.strength)
    figure = curves(
        [Curve(gettext("mean squared error"), list(enumerate(errors)))],
        title=title,
        x_labels=labels,
        x_title=gettext("Pooling strength (0: each category alone, ∞: all categories alike)"),
        y_title=gettext("Mean squared error on held-out %(of)s") % {"of": of},
        from_zero=False,
        step=0.0001,
        chosen=chosen,
    )
    table = Table(
        [Column(gettext("Strength")), Column(gettext("MSE, held out"), 4)], list(zip(labels, errors, strict=True))
    )
    answer = gettext(
        "The mean squared error is least at strength %(strength)s, lower by %(gain)s than without pooling."
    ) % {"strength": labels[chosen], "gain": number(found.gain, 0.001)}
    return Block(key, title, answer=answer, figure=figure, table=table, notes=[pooling_note()], folded=True)


def _category(row: CategoryDepth, place: int, name: Callable[[str], str], head: str, of: str) -> list[Block]:
    labels = [name(item) for item in row.items]
    blocks = [
        _floors(row, place, labels, head, of),
        _left_out(row, "raters", place, labels, head),
        _left_out(row, "models", place, labels, head),
    ]
    return [*blocks, _cohorts(row, place, labels, head, of)] if row.cohorts else blocks


def _floors(row: CategoryDepth, place: int, labels: Sequence[str], head: str, of: str) -> Block:
    title = gettext("%(category)s: sensitivity to the floor") % {"category": head}
    steps = row.floors
    if isinstance(steps, Missing):
        return Block(f"floors-{place}", title, reason=reason_of(steps))
    series = [Curve(gettext("R² on the fitted answers"), [(step.floor, step.r2) for step in steps])]
    if all(step.unseen_r2 for step in steps):
        series.append(
            Curve(gettext("R² on held-out %(of)s") % {"of": of}, [(step.floor, step.unseen_r2[0]) for step in steps])
        )
    figure = curves(series, title=title, x_title=gettext("Floor"), y_title="R²", from_zero=False, step=0.001)
    table = Table(
        [
            Column(gettext("Floor"), 2),
            Column("R²", 3),
            Column(gettext("R², held out"), 3),
            Column(gettext("At the floor"), 0),
            *(Column(label, 1) for label in labels),
        ],
        [
            [step.floor, step.r2, next(iter(step.unseen_r2), None), step.at_floor, *step.weights.tolist()]
            for step in steps
        ],
    )
    return Block(f"floors-{place}", title, figure=figure, table=table, folded=True)


def _left_out(
    row: CategoryDepth, kind: Literal["raters", "models"], place: int, labels: Sequence[str], head: str
) -> Block:
    title = {
        "raters": gettext("%(category)s: without one rater"),
        "models": gettext("%(category)s: without one model"),
    }[kind] % {"category": head}
    found = row.raters if kind == "raters" else row.models
    key = f"{kind}-{place}"
    if isinstance(found, Missing):
        return Block(key, title, reason=_no_labels(found, kind))
    order = sorted(range(len(found.labels)), key=lambda i: -found.shift[i])
    if not order:
        return Block(key, title, reason=_nothing_left(len(row.items)))
    figure = ranges(
        [RangeRow(label, [_range(found.weights[:, item].tolist(), row, item)]) for item, label in enumerate(labels)],
        title=title,
        x_title=gettext("Share of the total weight (out of 100)"),
        series=[gettext("range")],
        step=0.1,
    )
    table = Table(
        [
            Column(gettext("Left out")),
            Column(gettext("Answers remaining"), 0),
            Column(gettext("Weight moved"), 1),
            *(Column(label, 1) for label in labels),
        ],
        [[found.labels[i], found.rows[i], found.shift[i], *found.weights[i].tolist()] for i in order],
        most=LEFT_OUT_SHOWN,
    )
    answer = gettext("Leaving out %(label)s moves the most weight, %(shift)s of 100.") % {
        "label": found.labels[order[0]],
        "shift": number(found.shift[order[0]], 0.1),
    }
    return Block(
        key,
        title,
        answer=answer,
        figure=figure,
        table=table,
        folded=True,
        caption=gettext("Marks show each item's weight; lines span its weights when each one is left out in turn."),
    )


def _nothing_left(items: int) -> str:
    return ngettext(
        "Nothing can be left out: at least %(n)s answer with an overall score would have to remain, and these scores would "
        "have to differ.",
        "Nothing can be left out: at least %(n)s answers, one for each item, would have to remain, and their overall scores "
        "would have to differ.",
        items,
    ) % {"n": number(items, 1)}


def _range(values: Sequence[float], row: CategoryDepth, item: int) -> Span:
    """Span an item's weights; the mark is its weight at the usual floor of 0.5, or the median of the weights."""
    steps = [] if isinstance(row.floors, Missing) else row.floors
    usual = (float(step.weights[item]) for step in steps if step.floor == 0.5)
    middle = next(usual, sorted(values)[len(values) // 2])
    return Span(middle, min(*values, middle), max(*values, middle))


def _no_labels(found: Missing, kind: str) -> str:
    if kind == "raters":
        return gettext("The data do not tell raters apart, or there is only one rater.")
    if found.why == "TooFewRatings":
        return gettext("The data do not name the models, or there is only one model.")
    return reason_of(found)


def _cohorts(row: CategoryDepth, place: int, labels: Sequence[str], head: str, of: str) -> Block:
    title = gettext("%(category)s: weights by cohort") % {"category": head}
    known = [(cohort.cohort, cohort.fit) for cohort in row.cohorts if isinstance(cohort.fit, CohortWeights)]
    silent = missing_notes((cohort.cohort, cohort.fit) for cohort in row.cohorts)
    if not known:
        return Block(f"cohorts-{place}", title, reason=" ".join(silent))
    figure = ranges(
        [
            RangeRow(label, [Span(fit.weights[item], fit.low[item], fit.high[item]) for _, fit in known])
            for item, label in enumerate(labels)
        ],
        title=title,
        x_title=gettext("Share of the total weight (out of 100)"),
        series=[name for name, _ in known],
        step=0.1,
    )
    table = Table(
        [
            Column(gettext("Cohort")),
            Column(gettext("Answers"), 0),
            Column("R²", 3),
            *(Column(label, 1) for label in labels),
        ],
        [[name, fit.n, fit.r2, *fit.weights.tolist()] for name, fit in known],
    )
    return Block(
        f"cohorts-{place}",
        title,
        figure=figure,
        caption=_cohort_lines(known, of),
        table=table,
        notes=silent,
        folded=True,
    )


def _cohort_lines(known: Sequence[tuple[str, CohortWeights]], of: str) -> str:
    """Say what the lines of cohorts are, and that they compare nothing."""
    kinds = {fit.interval_kind for _, fit in known}
    said = []
    if "bootstrap95" in kinds:
        said.append(
            gettext("Lines of cohorts with at least %(n)d %(of)s are 95 %% intervals for exactly these raters.")
            % {"n": MIN_CLUSTERS, "of": of}
        )
    if "leave_one_out_range" in kinds:
        said.append(
            gettext("Lines of cohorts with fewer than %(n)d %(of)s span the weights when each one is left out in turn.")
            % {"n": MIN_CLUSTERS, "of": of}
        )
    if len(known) > 1:
        said.append(gettext("Whether cohorts differ is not tested here."))
    return " ".join(said)


def _method(of: str) -> list[str]:
    return [
        gettext(
            "Verdict: these weights, those of the whole family of categories, and equal weights with one fitted scale "
            "are each fitted to all %(of)s but one and predict the overall scores of the one left out. Weights are "
            "recommended if their gain over the simpler alternative is above 0 with p under 0.05, corrected for the number "
            "of categories (Holm). The p value inverts the interval for raters like these, or that for exactly these raters "
            "where only that one is stated. A gain is a reduction of the mean squared error."
        )
        % {"of": of},
        gettext(
            "Partial pooling draws a category's weights toward those of its family. The strength that predicts held-out "
            "%(of)s best is used; the curve shows every strength that was tried."
        )
        % {"of": of},
        gettext(
            "“Weight moved” is half the sum of the absolute changes of the weights: 0 means that nothing moved, 100 that "
            "everything did."
        ),
    ]
