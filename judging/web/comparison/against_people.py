"""The page of text metrics and judges against people's overall scores, as rows of one table.

HelloBench (arXiv 2409.16191), table 4, for any study with overall scores from people.
"""

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.spreads import RangeRow, ranges
from calibration.reports.codec import Missing
from calibration.statistics.judges.agreement import LEAST_COMMON
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.failed_judges import marked, with_mark
from calibration.web.messages.names import criterion_name
from calibration.web.messages.people_estimates import (
    people_cells,
    people_columns,
    people_span,
    people_words,
    populations_meaning,
)
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
CODE = [
    "calibration.statistics.judges.correlations",
    "generation.text_metrics.overlap",
    "generation.text_metrics.counts",
]


def against_people_title() -> str:
    return gettext("Which evaluation method agrees with people's overall scores?")


def against_people_page(study: Study, report: MethodsReport) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(against_people_title(), reason_of(report), [], _method(), code=CODE)
    return ResultPage(
        title=against_people_title(),
        opening=_opening(report),
        about=ngettext(
            "%(n)s response has people's scores for “%(criterion)s”.",
            "%(n)s responses have people's scores for “%(criterion)s”.",
            report.responses,
        )
        % {"n": f"{report.responses:,}", "criterion": criterion_name(study, report.criterion)},
        blocks=[_block(report)],
        method=_method(),
        sources=["HelloBench (arXiv 2409.16191), table 4, appendix J.2"],
        code=CODE,
    )


def _method() -> list[str]:
    return [
        gettext(
            "Each method is correlated with people's mean overall score over the responses that both scored. What "
            "measures a fault, such as repetition, should correlate negatively. Intervals are on Fisher's scale with "
            "Student's t and leave out whole instructions and raters in turn; the p value inverts the interval for "
            "raters like these, or for exactly these raters where there is no other. Methods are ranked only on "
            "responses that all of them scored, and one is called best only after Holm's correction for all pairs."
        ),
        gettext(
            "METEOR, BLEU-4 and ROUGE-L compare a response with the human reference of its instruction. A judge's "
            "checklist has two rows: with weights, and with all items alike."
        ),
    ]


def _opening(report: MethodsAgainstPeople) -> str:
    known = [row for row in report.rows if row.spearman]
    if not known:
        return gettext("No method has scored enough of the responses that people scored.")
    compared = report.compared
    if compared is None:
        first = known[0]
        assert first.spearman is not None
        return gettext("%(method)s correlates with people: %(rho)s over %(n)s responses.") % {
            "method": _name(first),
            "rho": people_words(first.spearman),
            "n": f"{first.n:,}",
        }
    words: dict[str, object] = {"n": f"{compared.n:,}", "methods": len(compared.rows)}
    if not compared.ranked or compared.found is None:
        return gettext(
            "The methods are not ranked: a ranking needs at least %(least)d responses, and half of the smallest set of a "
            "method (%(smallest)d), that all of them scored; there are %(n)s. They are listed by name."
        ) % {**words, "least": LEAST_COMMON, "smallest": compared.n_smallest}
    place = max(range(len(compared.rows)), key=lambda at: compared.found.rho[at].value if compared.found else 0.0)
    words |= {"method": _name(report.rows[compared.rows[place]]), "rho": people_words(compared.found.rho[place])}
    if compared.best is not None:
        return (
            gettext(
                "%(method)s correlates most with people: %(rho)s over the %(n)s responses that all %(methods)d methods "
                "scored. It is ahead of every other method, also after Holm's correction for all pairs."
            )
            % words
        )
    return (
        gettext(
            "No method is shown to correlate with people more than every other, after Holm's correction for all pairs. The "
            "highest correlation over the %(n)s responses that all %(methods)d methods scored is that of %(method)s: "
            "%(rho)s."
        )
        % words
    )


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


def _failed_notes(report: MethodsAgainstPeople) -> list[str]:
    return [
        gettext("%(judge)s failed its canary texts in a run and is neither ranked nor called best.") % {"judge": judge}
        for judge in dict.fromkeys(_judge(row) for row in report.rows if row.failed)
    ]


def _block(report: MethodsAgainstPeople) -> Block:
    title = gettext("Methods against people")
    columns = [
        Column(gettext("Method")),
        Column(gettext("Responses"), 0),
        Column(gettext("Mean"), 3),
        *people_columns(gettext("Spearman's rho"), 3),
        Column.p(),
        Column(gettext("Rho on the responses of all"), 3, optional=True),
    ]
    known = [row for row in report.rows if row.spearman]
    common = _common(report)
    return Block(
        "methods",
        title,
        figure=_figure(known[:SHOWN_IN_FIGURE], title) if known else "",
        caption=" ".join(populations_meaning(row.spearman for row in known)),
        table=marked(
            Table(columns, [[*_cells(row), common.get(place)] for place, row in enumerate(report.rows)]),
            [_judge(row) for row in report.rows],
        ),
        notes=_notes(report),
    )


def _common(report: MethodsAgainstPeople) -> dict[int, float]:
    """Return rho on the responses that all methods scored, by the row's place."""
    compared = report.compared
    if compared is None or compared.found is None:
        return {}
    return dict(zip(compared.rows, (one.value for one in compared.found.rho), strict=True))


def _cells(row: MethodCorrelation) -> list[object]:
    rho = row.spearman
    return [_name(row), row.n, row.mean, *people_cells(rho), rho.p if rho else None]


def _notes(report: MethodsAgainstPeople) -> list[str]:
    notes = _failed_notes(report)
    if any(row.method in WITH_REFERENCE and not row.n for row in report.rows):
        notes.append(gettext("The metrics of overlap are empty, as these instructions have no human reference."))
    if not any(row.method == PERPLEXITY for row in report.rows):
        notes.append(gettext("No perplexity is here; it is the criterion perplexity of a judge."))
    return notes


def _figure(rows: list[MethodCorrelation], title: str) -> str:
    return ranges(
        [RangeRow(with_mark(_name(row), _judge(row)), [people_span(row.spearman)]) for row in rows if row.spearman],
        title=title,
        x_title=gettext("Spearman's correlation with people"),
        series=[title],
        step=0.01,
        rule=0.0,
    )
