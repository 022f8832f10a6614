"""The block on how well judges find each label, against answers that are known to be correct."""

from collections.abc import Sequence

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.reports.codec import Missing
from calibration.reports.people.judged_truth import JudgedTruth
from calibration.web.blocks import Block, Column, Table, interval_cells
from calibration.web.failed_judges import judge_label, marked
from calibration.web.messages.names import criterion_name
from calibration.web.raters.effects import label_words
from calibration.web.raters.scale_use import label_name, rate_cells


def judged_truth_blocks(study: Study, found: Sequence[JudgedTruth] | Missing) -> list[Block]:
    """Build a block for each criterion; none where the study has no correct answers."""
    if isinstance(found, Missing):
        return []
    return [_block(study, one, place) for place, one in enumerate(found, start=1)]


def _block(study: Study, found: JudgedTruth, place: int) -> Block:
    words = label_words(study, found.criterion)
    title = gettext("Judges against the correct answers: %(criterion)s") % {
        "criterion": criterion_name(study, found.criterion)
    }
    rows = [
        [row.rater, label_name(row.label, words), *rate_cells(row.sensitivity), *rate_cells(row.specificity)]
        for row in found.judges
    ]
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Label")),
            *Column.interval(gettext("Sensitivity"), 3),
            Column("n", 0),
            *Column.interval(gettext("Specificity"), 3),
            Column("n", 0),
        ],
        rows,
    )
    bars = [
        Bar(name, *interval_cells(rate.value, rate), group=f"{judge_label(row.rater)}, {label_name(row.label, words)}")
        for row in found.judges
        for name, rate in ((gettext("Sensitivity"), row.sensitivity), (gettext("Specificity"), row.specificity))
        if rate is not None
    ]
    notes = [
        gettext(
            "Sensitivity is how often the label is given where it is the correct answer, specificity how often it is not "
            "given where it is not. Of two labels the one with the higher value is shown."
        ),
        gettext("The intervals are for exactly this judge: no rater enters them."),
    ]
    figure = interval_bars(bars, title=title, x_title=gettext("Share of verdicts")) if bars else ""
    table = marked(table, [row.rater for row in found.judges])
    return Block(f"judged-truth-{place}", title, figure=figure, table=table, notes=notes)
