"""Blocks of the raters page on severity, drift, hints and consensus labels."""

from django.utils.translation import gettext

from annotation.models import Study
from annotation.policies.policies import Policies
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth
from calibration.reports.rater_effects import Consensus, HintEffects, Severities
from calibration.statistics.raters.severity_spread import SeveritySpread
from calibration.statistics.shares import Share
from calibration.web.blocks import Block, Column, Table, interval_cells
from calibration.web.messages.intervals import estimate_words, range_words
from calibration.web.messages.names import criterion_name
from calibration.web.messages.populations import both_columns, estimate_cells, said_for_both
from calibration.web.messages.reasons import error_words, reason_of
from calibration.web.messages.statistics import by_items
from core.messages.localized import localized

MOST_BARS = 30


def hint_blocks(study: Study, found: HintEffects | Missing) -> list[Block]:
    """The effect of hints; nothing for a study that neither splits hints nor has answers of both kinds."""
    title = gettext("Effect of hints")
    if isinstance(found, Missing):
        split = Policies.of(study).hints == "split"
        return [Block("hints", title, reason=reason_of(found))] if split else []
    first, items = found.rows[0], by_items(study)
    columns = [
        Column(gettext("Criterion")),
        Column(gettext("Answered both ways"), 0),
        Column(gettext("Mean with hint"), 3),
        Column(gettext("Mean without hint"), 3),
        *both_columns(gettext("Difference")),
        *both_columns(gettext("Change in %"), 2),
    ]
    rows = [
        [
            criterion_name(study, row.criterion) if row.criterion else gettext("all criteria"),
            row.units,
            row.shown,
            row.hidden,
            *_hint_cells(row.difference, None if isinstance(row.both, Missing) else row.both.difference),
            *_hint_cells(row.percent, None if isinstance(row.both, Missing) else row.both.percent),
        ]
        for row in found.rows
    ]
    answer = gettext("Without hints, scores are %(percent)s %% higher than with them (below 0: lower).") % {
        "percent": estimate_words(first.percent, step=0.1, items=items)
        if isinstance(first.both, Missing) or first.both.percent.these.kind == "none"
        else said_for_both(first.both.percent, 0.1)
    }
    notes = [
        gettext(
            "Only tasks that raters answered both with and without the hint count, each once, so that the two means "
            "rest on the same responses."
        )
    ]
    return [Block("hints", title, answer=answer, table=Table(columns, rows), notes=notes)]


def _hint_cells(found: Share, both: EstimateForBoth | None) -> list[float | None]:
    """Both intervals, or with too few instructions the range over leaving one out for these raters."""
    if both is not None and both.these.kind != "none":
        return estimate_cells(both)
    value, low, high = interval_cells(found.value, found)
    return [value, None, None, low, high]


def severity_block(found: Severities | Missing, spread: SeveritySpread | Missing) -> Block:
    title = gettext("Severity and drift")
    if isinstance(found, Missing):
        return Block("severity", title, reason=reason_of(found))
    rows = found.raters
    if not rows:
        return Block("severity", title, reason=error_words("OnlySlots"))
    alike = _alike(found)
    figure = (
        ""
        if alike
        else interval_bars(
            [Bar(row.rater, row.severity, row.severity_low, row.severity_high) for row in rows[:MOST_BARS]],
            title=title,
            x_title=gettext("Points below the average rater (negative: lenient)"),
        )
    )
    columns = [Column(gettext("Rater")), Column(gettext("Scores"), 0), *Column.interval(gettext("Severity"), 2)]
    if found.drifting:
        columns += Column.interval(gettext("Drift"), 2)
    table = Table(
        columns,
        [
            [row.rater, row.n, row.severity, row.severity_low, row.severity_high]
            + ([row.drift, row.drift_low, row.drift_high] if found.drifting else [])
            for row in rows
        ],
    )
    return Block(
        "severity",
        title,
        answer=_severity_answer(found, spread),
        figure=figure,
        table=table,
        folded=True,
        caption=""
        if alike
        else gettext(
            "Lines are 95 %% prediction intervals. The figure shows the %(n)d raters farthest from the average."
        )
        % {"n": min(len(rows), MOST_BARS)},
        notes=[
            gettext(
                "Model: score = mean + drift over the session + severity of the rater + item + error, with raters and "
                "items crossed. Variances are estimated by %(how)s; raters' effects are best linear unbiased "
                "predictions."
            )
            % {"how": _estimator(found.estimator)}
        ],
    )


def _estimator(name: str) -> str:
    return gettext("restricted maximum likelihood") if name == "reml" else gettext("the method of moments")


def _least(found: Severities) -> float:
    """The smallest difference in severity that is reported: a thousandth of the scale."""
    return float(found.scale[1] - found.scale[0]) / 1000


def _alike(found: Severities) -> bool:
    """Whether the standard deviation between raters is below that limit, so that an axis would show only zeros."""
    return bool(found.rater_variance**0.5 < _least(found))


def _severity_answer(found: Severities, spread: SeveritySpread | Missing) -> str:
    said = _spread_words(found, spread)
    if found.drifting:
        said += " " + gettext(
            "From the first to the last answer of a session, scores change by %(drift)s points (%(low)s to %(high)s)."
        ) % {
            "drift": number(found.common_drift),
            "low": number(found.common_drift_low),
            "high": number(found.common_drift_high),
        }
    return said


def _spread_words(found: Severities, spread: SeveritySpread | Missing) -> str:
    """State whether raters differ in severity, with the interval of the standard deviation between them."""
    if isinstance(spread, Missing):
        if spread.why == "TooFewRatings":
            return gettext(
                "Whether raters differ in severity is not stated: that needs at least three raters who share tasks, and 20 "
                "instructions."
            )
        return f"{gettext('Whether raters differ in severity is not stated.')} {reason_of(spread)}"
    words = {
        "low": number(found.scale[0], 1),
        "high": number(found.scale[1], 1),
        "sd": number(spread.sd),
        "from": number(spread.low),
        "to": number(spread.high),
        "p": Column.p().shown(spread.p),
        "n": number(spread.needed, 1),
        "worth": number(spread.worth),
    }
    if spread.shown:
        return (
            gettext(
                "Raters like these differ in severity by a standard deviation of %(sd)s points (95 %% interval %(from)s to "
                "%(to)s) on a scale of %(low)s to %(high)s."
            )
            % words
        )
    return (
        gettext(
            "That raters differ in severity is not shown (p %(p)s): the standard deviation is at most %(to)s points (95 %% "
            "interval) on a scale of %(low)s to %(high)s. About %(n)s instructions would show one of %(worth)s points."
        )
        % words
    )


def consensus_block(study: Study, criterion: str, found: Consensus | Missing) -> Block:
    title = gettext("Consensus labels")
    if isinstance(found, Missing):
        return Block("consensus", title, reason=reason_of(found))
    words = label_words(study, criterion)
    names = [words.get(label, number(label, 1)) for label in found.labels]
    items = max(found.items, 1)
    bars = [Bar(name, share) for name, share in zip(names, found.prevalence, strict=True)]
    majority = [Bar(name, count / items) for name, count in zip(names, found.majority, strict=True)]
    figure = interval_bars(
        bars,
        title=title,
        x_title=gettext("Share of the tasks"),
        reference=majority,
        series=(gettext("Dawid and Skene"), gettext("Majority")),
    )
    table = Table(
        [Column(gettext("Label")), Column(gettext("Share (Dawid and Skene)"), 3), Column(gettext("Majority"), 0)],
        [list(row) for row in zip(names, found.prevalence, found.majority, strict=True)],
    )
    notes = []
    if found.raters:
        ends = range_words(found.raters[0].accuracy, found.raters[-1].accuracy)
        if ends:
            notes.append(
                gettext(
                    "According to this model, raters are right between %(range)s of the time; which of them is the least "
                    "accurate is not tested."
                )
                % {"range": ends}
            )
    return Block(
        "consensus",
        title,
        answer=_consensus_answer(found),
        figure=figure,
        table=table,
        notes=notes,
        caption=gettext("“%(criterion)s”: the true labels that the model estimates, compared with the simple majority.")
        % {"criterion": criterion_name(study, criterion)},
    )


def _consensus_answer(found: Consensus) -> str:
    if found.same_as_majority is None:
        return gettext("No task has a single most frequent label.")
    return gettext(
        "%(tied)d of %(items)d tasks have no single most frequent label. On the others, the model of Dawid and Skene "
        "gives the majority's label %(same)s of the time. It is at least 95 %% certain of %(certain)s of all labels."
    ) % {
        "items": found.items,
        "tied": found.tied,
        "same": number(found.same_as_majority),
        "certain": number(found.certain),
    }


def label_words(study: Study, key: str) -> dict[float, str]:
    """Names by label value; levels that share a value, such as a tie and both bad, have a label each."""
    criterion = study.asked_criteria().filter(key=key).order_by("pk").first()
    if criterion is None:
        return {}
    found: dict[float, str] = {}
    seen: dict[float, int] = {}
    for level in criterion.levels:
        value = float(level["value"])
        place = seen[value] = seen.get(value, -1) + 1
        # The same numbering of levels that share a value as in ScoreFrame.label_values.
        label = value if place == 0 else criterion.ends[1] + 1 + place
        found[label] = localized(level.get("label") or {}) or str(level["key"])
    return found
