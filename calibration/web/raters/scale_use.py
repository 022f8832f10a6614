"""Blocks of the raters page on the use of the scale, the labels of single tasks, and sensitivity and specificity."""

from collections.abc import Mapping, Sequence

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.codec import Missing
from calibration.reports.people.scale_use import NamedStanding, ScaleUse
from calibration.reports.people.shares import TruthRates
from calibration.reports.rater_effects import Consensus
from calibration.statistics.agreement.proportions import Proportion
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table, interval_cells
from calibration.web.messages.names import criterion_name
from calibration.web.messages.populations import both_columns, estimate_cells
from calibration.web.messages.reasons import error_words, reason_of
from calibration.web.raters.effects import label_words

MOST_BARS = 40


def scale_use_block(found: ScaleUse | Missing) -> Block:
    """Each rater's correlation with the other raters, with inverted and random raters named."""
    title = gettext("Do raters use the scale in the same way?")
    if isinstance(found, Missing):
        return Block("scale-use", title, reason=reason_of(found))
    rows = found.raters
    stated = [row for row in rows if row.value is not None]
    if not stated:
        why = {unstated_words(row) for row in rows}
        return Block("scale-use", title, reason=" ".join(sorted(why)) or error_words("OnlySlots"))
    figure = interval_bars(
        [Bar(row.rater, row.value or 0.0, row.low, row.high) for row in stated[:MOST_BARS]],
        title=title,
        x_title=gettext("Correlation with the mean of the other raters"),
    )
    words = {"inverted": gettext("inverts the scale"), "random": gettext("no better than random"), "": ""}
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Tasks shared"), 0),
            Column(gettext("Instructions"), 0),
            *Column.interval(gettext("Correlation"), 3),
            Column.p(),
            Column(gettext("Finding")),
        ],
        [
            [
                row.rater,
                row.n,
                row.instructions,
                row.value,
                row.low,
                row.high,
                row.p,
                words[row.verdict] or unstated_words(row),
            ]
            for row in rows
        ],
    )
    notes = [
        gettext(
            "Each interval is for this rater among these others, over instructions. Findings are corrected for the number "
            "of raters (Holm): a rater inverts the scale if the correlation is below 0, and is no better than random if it "
            "is not shown to differ from 0 and lies below half of the median rater's."
        )
    ]
    return Block("scale-use", title, answer=_verdicts(stated), figure=figure, table=table, notes=notes, folded=True)


def _verdicts(rows: Sequence[NamedStanding]) -> str:
    said = []
    for row in rows:
        if row.verdict == "inverted":
            said.append(
                gettext(
                    "%(rater)s inverts the scale: the correlation with the other raters is %(value)s (95 %% interval "
                    "%(low)s to %(high)s)."
                )
                % _numbers(row)
            )
        elif row.verdict == "random":
            said.append(
                gettext(
                    "%(rater)s answers no better than at random: the correlation with the other raters is %(value)s "
                    "(95 %% interval %(low)s to %(high)s)."
                )
                % _numbers(row)
            )
    return " ".join(said) or gettext(
        "That a rater inverts the scale or answers at random is not shown, after correction for the number of raters."
    )


def _numbers(row: NamedStanding) -> dict[str, str]:
    return {
        "rater": row.rater,
        "value": number(row.value or 0.0),
        "low": number(row.low or 0.0),
        "high": number(row.high or 0.0),
    }


def unstated_words(row: NamedStanding) -> str:
    said = {
        "nobody": gettext("There is nobody to compare with: no task was rated by another rater too."),
        "few_instructions": gettext("Not stated: at least %(n)d shared instructions are needed.") % {"n": MIN_CLUSTERS},
        "never_varies": gettext("Not stated: the scores never vary."),
    }
    return said.get(row.unstated, "")


def task_labels_block(study: Study, found: Consensus | Missing, words: Mapping[float, str]) -> list[Block]:
    """The tasks whose label is the least certain; those that split everybody come first and are named."""
    if isinstance(found, Missing) or not found.tasks:
        return []
    title = gettext("Tasks on which raters split")
    table = Table(
        [
            Column(gettext("Task")),
            Column(gettext("Answers"), 0),
            Column(gettext("Most frequent"), 0),
            Column(gettext("Second"), 0),
            Column(gettext("Label")),
            *Column.interval(gettext("Probability"), 3),
            Column.p(),
            Column(gettext("Finding")),
        ],
        [
            [
                row.task,
                row.answers,
                row.first,
                row.second,
                words.get(row.label, number(row.label, 1)),
                row.probability,
                row.low,
                row.high,
                row.p,
                gettext("likely fault of the guideline") if row.split else "",
            ]
            for row in found.tasks
        ],
        links=[reverse("annotation:task", args=[study, row.task]) for row in found.tasks],
    )
    if found.split:
        answer = ngettext(
            "%(n)d task splits the raters more than their errors explain: the guideline is likely at fault there.",
            "%(n)d tasks split the raters more than their errors explain: the guideline is likely at fault there.",
            found.split,
        ) % {"n": found.split}
    elif found.raters_needed:
        answer = gettext(
            "That any task splits the raters more than their errors explain is not shown. About %(n)d raters of this "
            "accuracy would show an even split."
        ) % {"n": found.raters_needed}
    else:
        answer = gettext(
            "That any task splits the raters more than their errors explain is not shown: the raters err too often for an "
            "even split to stand out."
        )
    notes = [
        gettext(
            "p is the probability that so many raters depart from the label, whichever is true, if they err as often as on "
            "other tasks; the finding is corrected for the number of tasks (Holm). The probability of a label has a 95 %% "
            "interval that comes from how well the errors of these raters are known."
        )
        % {}
    ]
    return [Block("task-labels", title, answer=answer, table=table, notes=notes, folded=True)]


def truth_blocks(study: Study, found: Sequence[TruthRates]) -> list[Block]:
    """Sensitivity and specificity against correct answers: of all people, then of each rater."""
    blocks = []
    for place, rates in enumerate(found, start=1):
        name, words = criterion_name(study, rates.criterion), label_words(study, rates.criterion)
        title = gettext("Sensitivity and specificity: %(criterion)s") % {"criterion": name}
        pooled = [
            [label_name(one.label, words), *estimate_cells(one.sensitivity), *estimate_cells(one.specificity)]
            for one in rates.pooled
        ]
        people = Table(
            [Column(gettext("Label")), *both_columns(gettext("Sensitivity")), *both_columns(gettext("Specificity"))],
            pooled,
        )
        named = Table(
            [
                Column(gettext("Rater")),
                Column(gettext("Label")),
                *Column.interval(gettext("Sensitivity"), 3),
                Column("n", 0),
                *Column.interval(gettext("Specificity"), 3),
                Column("n", 0),
            ],
            [
                [row.rater, label_name(row.label, words), *rate_cells(row.sensitivity), *rate_cells(row.specificity)]
                for row in rates.raters
            ],
        )
        note = gettext(
            "Sensitivity is how often the label is given where it is the correct answer, specificity how often it is not "
            "given where it is not. Of two labels the one with the higher value is shown."
        )
        alone = gettext("Each rater here is named, so that the intervals are for exactly this rater.")
        blocks.append(Block(f"label-rates-{place}", title, table=people, notes=[note]))
        blocks.append(
            Block(
                f"rater-label-rates-{place}",
                gettext("Sensitivity and specificity of each rater: %(criterion)s") % {"criterion": name},
                table=named,
                notes=[alone],
                folded=True,
            )
        )
    return blocks


def label_name(label: float, words: Mapping[float, str]) -> str:
    return words.get(label, number(label, 1))


def rate_cells(found: Proportion | None) -> list[float | int | None]:
    return [None] * 4 if found is None else [*interval_cells(found.value, found), found.n]
