"""The page of text metrics and judges against people's overall scores, as rows of one table.

HelloBench (arXiv 2409.16191), table 4, for any study with overall scores from people.
"""

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.codec import Missing
from calibration.web.blocks import Block, Column, ResultPage, Table, cells_of
from calibration.web.failed_judges import marked, with_mark
from calibration.web.messages.intervals import ends_meaning
from calibration.web.messages.names import criterion_name
from calibration.web.messages.reasons import reason_of
from judging.comparison.methods_against_people import (
    METRIC,
    PERPLEXITY,
    POINTS,
    WITH_REFERENCE,
    MethodCorrelation,
    MethodsAgainstPeople,
    MethodsReport,
)
from judging.leaderboards.weighting import EQUAL

NAMES = {
    "meteor": "METEOR",
    "bleu_4": "BLEU-4",
    "rouge_l": "ROUGE-L",
    "repetition_4": "Repetition-4",
    "distinct_4": "Distinct-4",
}
SHOWN_IN_FIGURE = 30
CODE = ["calibration.statistics.judges.comparison", "generation.text_metrics.overlap", "generation.text_metrics.counts"]


def against_people_title() -> str:
    return gettext("Which evaluation method agrees with people's overall scores?")


def against_people_page(study: Study, report: MethodsReport) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(against_people_title(), reason_of(report), [], _method(), code=CODE)
    return ResultPage(
        title=against_people_title(),
        opening=_opening(report),
        about=gettext("%(n)d responses have people's scores for “%(criterion)s”.")
        % {"n": report.responses, "criterion": criterion_name(study, report.criterion)},
        blocks=[_block(report)],
        method=_method(),
        sources=["HelloBench (arXiv 2409.16191), table 4, appendix J.2"],
        code=CODE,
    )


def _method() -> list[str]:
    return [
        gettext(
            "Each method is correlated with people's mean overall score over the responses that both scored. What "
            "measures a fault, such as repetition, should correlate negatively. Intervals resample whole "
            "instructions; the p value takes responses as independent, so it is too small where several models "
            "answered the same instruction."
        ),
        gettext(
            "METEOR, BLEU-4 and ROUGE-L compare a response with the human reference of its instruction. A judge's "
            "checklist has two rows: with weights, and with all items alike."
        ),
    ]


def _opening(report: MethodsAgainstPeople) -> str:
    best = next((row for row in report.rows if row.spearman), None)
    if best is None or best.spearman is None:
        return gettext("No method has scored enough of the responses that people scored.")
    return gettext("%(method)s correlates most with people: %(rho)s over %(n)d responses.") % {
        "method": _name(best),
        "rho": f"{best.spearman.value:.3f}",
        "n": best.n,
    }


def _name(row: MethodCorrelation) -> str:
    if row.kind == METRIC:
        if row.method == PERPLEXITY:
            return gettext("Perplexity by %(model)s") % {"model": row.detail}
        return NAMES[row.method]
    if row.kind == POINTS:
        weights = (
            gettext("equal weights") if row.detail == EQUAL else gettext("weights %(name)s") % {"name": row.detail}
        )
        return gettext("%(judge)s, checklist with %(weights)s") % {"judge": row.method, "weights": weights}
    return gettext("%(judge)s, score for %(criterion)s") % {"judge": row.method, "criterion": row.detail}


def _judge(row: MethodCorrelation) -> str:
    """Return the judge behind a row, '' for a text metric."""
    if row.kind == METRIC:
        return row.detail if row.method == PERPLEXITY else ""
    return row.method


def _block(report: MethodsAgainstPeople) -> Block:
    title = gettext("Methods against people")
    columns = [
        Column(gettext("Method")),
        Column(gettext("Responses"), 0),
        Column(gettext("Mean"), 3),
        *Column.interval(gettext("Spearman's rho"), 3),
        Column.p(),
    ]
    known = [row for row in report.rows if row.spearman]
    return Block(
        "methods",
        title,
        figure=_figure(known[:SHOWN_IN_FIGURE], title) if known else "",
        caption=ends_meaning(known[0].interval_kind, known[0].clusters, gettext("instructions")) if known else "",
        table=marked(Table(columns, [_cells(row) for row in report.rows]), [_judge(row) for row in report.rows]),
        notes=_notes(report),
    )


def _cells(row: MethodCorrelation) -> list[object]:
    if row.spearman is None:
        return [_name(row), row.n, row.mean, None, None, None, None]
    rho = row.spearman
    return [_name(row), row.n, row.mean, *cells_of(rho.value, rho.low, rho.high, row.interval_kind), rho.p]


def _notes(report: MethodsAgainstPeople) -> list[str]:
    notes = []
    if any(row.method in WITH_REFERENCE and not row.n for row in report.rows):
        notes.append(gettext("The metrics of overlap are empty, as these instructions have no human reference."))
    if not any(row.method == PERPLEXITY for row in report.rows):
        notes.append(gettext("No perplexity is here; it is the criterion perplexity of a judge."))
    return notes


def _figure(rows: list[MethodCorrelation], title: str) -> str:
    return ranges(
        [
            RangeRow(
                with_mark(_name(row), _judge(row)), [Span(row.spearman.value, row.spearman.low, row.spearman.high)]
            )
            for row in rows
            if row.spearman
        ],
        title=title,
        x_title=gettext("Spearman's correlation with people"),
        series=[title],
        step=0.01,
        rule=0.0,
    )
