"""The page of judges by category, with people's agreement among themselves in the last row.

HREF (arXiv 2412.15524), table 1, for any study.
"""

from collections.abc import Sequence

import numpy as np
from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.codec import Missing
from calibration.statistics.judges.agreement import LEAST_COMMON
from calibration.statistics.ties import descending
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table, interval_cells
from calibration.web.failed_judges import marked, with_mark
from calibration.web.messages.intervals import estimate_words
from calibration.web.messages.names import category_names, criterion_choice, criterion_name
from calibration.web.messages.people_estimates import (
    people_cells,
    people_columns,
    people_span,
    people_words,
    populations_meaning,
)
from calibration.web.messages.populations import both_words
from calibration.web.messages.reasons import reason_of
from judging.comparison.method_table import Chosen, CrossFittedRows, MethodReport, MethodRow, MethodTable, Rate, Row
from judging.methods.pairs.composite import SPLITS, says_composite
from judging.web.comparison.paper_methods import printed_methods_block

SHOWN_IN_FIGURE = 30
PAIR = 2


def methods_title() -> str:
    return gettext("Which judging method agrees with people, and in which categories?")


def methods_page(study: Study, report: MethodReport) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(methods_title(), reason_of(report), [], [])
    printed = printed_methods_block(study, report)
    return ResultPage(
        title=methods_title(),
        opening=_opening(report),
        about=gettext("Agreement is measured on “%(criterion)s”.")
        % {"criterion": criterion_name(study, report.criterion)},
        choices=[*criterion_choice(study, report.criteria, report.criterion), *_against_choice(report)],
        blocks=[
            _methods_block(report),
            *([pairs] if (pairs := _pairs_block(report)) else []),
            *_composite_blocks(report),
            *([printed] if printed else []),
        ],
        method=[
            gettext(
                "Each cell is leave-one-out agreement: how often a judge's label is the most frequent one of all "
                "raters but one, averaged over every rater left out, and over the tasks of the category that at "
                "least two raters answered and on which the judge gave a usable verdict. The last row shows "
                "people, measured in the same way: each rater against the others. For a preference only the side "
                "counts; “both bad” is a label of its own."
            ),
            gettext(
                "Judges are compared only on tasks that all of them judged. They are ranked where these are at least "
                "%(least)d and half of the smallest set of a judge; a judge is called best where its difference from "
                "every other one is above 0 after Holm's correction for all pairs."
            )
            % {"least": LEAST_COMMON},
            gettext(
                "The composite is cross-fitted: the instructions of each category are split into two random halves, "
                "and the tasks of each half are decided by the judge that agreed best on the other half. A task's "
                "agreement is the mean over %(splits)d splits. The best single judge is chosen in the same way for all "
                "categories together. So both rest on all tasks, as the first table does, and no task has a part in "
                "the choice made for it; choosing and reporting on the same tasks would overestimate them. Their "
                "intervals are for exactly these raters and resample whole instructions."
            )
            % {"splits": SPLITS},
        ],
        sources=["HREF (arXiv 2412.15524), table 1, algorithm 1, section 3.3"],
        warnings=[copy_words(row) for row in report.methods if row.copies],
        code=[
            "calibration.statistics.agreement.leave_one_out",
            "calibration.statistics.judges.agreement",
            "judging.methods.pairs.composite",
            "calibration.statistics.shares",
        ],
    )


def copy_words(row: MethodRow) -> str:
    """Say that a judge's labels are those of one rater."""
    return gettext(
        "%(judge)s gives the label of %(rater)s on every task that both labelled. If its verdicts were taken from that "
        "rater, its agreement with people counts the rater twice and says nothing about a judge."
    ) % {"judge": row.judge, "rater": row.copies}


def _against_choice(report: MethodTable) -> list[Choice]:
    """Return the menu of baselines; a study of two models has none, since all its pairs have both."""
    if len(report.models) <= PAIR:
        return []
    options = [("", gettext("all models")), *((model, model) for model in report.models)]
    return [Choice("against", gettext("Pairs with a response of"), options, report.against)]


def _opening(report: MethodTable) -> str:
    compared = report.compared
    if isinstance(compared, Missing):
        return _alone(report)
    found, names = compared.found, compared.judges
    words = {"n": f"{found.n_common:,}", "judges": len(names)}
    if not found.ranked:
        return gettext(
            "The judges are not ranked: a ranking needs at least %(least)d tasks, and half of the smallest set of a judge "
            "(%(smallest)d), that all of them judged; there are %(n)s. They are listed by name, with their differences on "
            "tasks that both of two judged."
        ) % {**words, "least": LEAST_COMMON, "smallest": found.n_smallest}
    people = people_words(found.people) if found.people else ""
    if found.best is not None:
        return gettext(
            "%(judge)s agrees best with people: on %(rate)s of the %(n)s tasks that all %(judges)d judges judged. It is "
            "ahead of every other judge, also after Holm's correction for all pairs of judges. On these tasks, people "
            "agree with each other on %(people)s."
        ) % {**words, "judge": names[found.best], "rate": people_words(found.rates[found.best]), "people": people}
    highest = max(range(len(names)), key=lambda place: found.rates[place].value)
    return gettext(
        "No judge is shown to agree with people more than every other judge, after Holm's correction for all pairs of "
        "judges. On the %(n)s tasks that all %(judges)d judges judged, the highest agreement is that of %(judge)s: "
        "%(rate)s; people agree with each other on %(people)s."
    ) % {**words, "judge": names[highest], "rate": people_words(found.rates[highest]), "people": people}


def _alone(report: MethodTable) -> str:
    """State the agreement of the one judge that can be compared with people."""
    row = next((row for row in report.methods if row.beside and not row.composite and not row.failed), None)
    if row is None or row.beside is None:
        return gettext("No judge gave a usable verdict on a task that at least two people answered.")
    return ngettext(
        "%(judge)s agrees with people on %(rate)s of %(n)s task; on the same task, people agree with each other on "
        "%(people)s.",
        "%(judge)s agrees with people on %(rate)s of %(n)s tasks; on the same tasks, people agree with each other on "
        "%(people)s.",
        row.beside.n,
    ) % {
        "judge": row.judge,
        "rate": people_words(row.beside.judge),
        "n": f"{row.beside.n:,}",
        "people": people_words(row.beside.people),
    }


def _category_labels(report: MethodTable) -> list[str]:
    names = category_names({column.category_pk: column.category for column in report.categories})
    labels = [names[column.category_pk] for column in report.categories]
    return [gettext("all") if label == "all" else label for label in labels]


def _rows_table(label: str, report: MethodTable, rows: Sequence[tuple[str, Row]]) -> Table:
    """Build a table of named rows: the rate over all tasks, and the rates by category if there are several."""
    labels = _category_labels(report) if len(report.categories) > 1 else []
    columns = [Column(label), Column(gettext("Tasks"), 0), *Column.interval(gettext("Agreement"), 3)]
    table = Table(
        [*columns, *(Column(category, 3) for category in labels)],
        [
            [
                name,
                row.all.n if row.all else None,
                *_cells(row.all),
                *(_cells(rate)[0] for rate in row.cells[: len(labels)]),
            ]
            for name, row in rows
        ],
    )
    return marked(table, [_judge(row) for _name, row in rows])


def _judge(row: Row) -> str:
    return row.judge if isinstance(row, MethodRow) else ""


def _cells(rate: Rate | None) -> tuple[float | None, float | None, float | None]:
    return interval_cells(rate.value if rate else None, rate)


def _ordered(report: MethodTable) -> list[MethodRow]:
    """Order the rows: the ranked judges by agreement on the tasks that all of them judged, and the others by name."""
    compared = report.compared
    if isinstance(compared, Missing) or not compared.found.ranked:
        return list(report.methods)
    rates = dict(zip(compared.judges, (rate.value for rate in compared.found.rates), strict=True))
    ranked = [row for row in report.methods if row.judge in rates and not (row.composite or row.failed)]
    others = [row for row in report.methods if row not in ranked]
    values = np.array([rates[row.judge] for row in ranked])
    return [*(ranked[place] for place in descending(values)), *others]


def _methods_block(report: MethodTable) -> Block:
    title = gettext("Judges by category")
    ordered = _ordered(report)
    labels = _category_labels(report) if len(report.categories) > 1 else []
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Tasks"), 0),
            *people_columns(gettext("Agreement"), 3),
            Column(gettext("People on the same tasks"), 3),
            Column(gettext("Judge minus people: low"), 3, optional=True, end="low"),
            Column(gettext("Judge minus people: high"), 3, optional=True, end="high"),
            *(Column(category, 3) for category in labels),
        ],
        [
            *(_method_cells(row, len(labels)) for row in ordered),
            [
                gettext("People among themselves"),
                report.people.all.n if report.people.all else None,
                *people_cells(report.people_rate),
                report.people_rate.value,
                None,
                None,
                *(_cells(rate)[0] for rate in report.people.cells[: len(labels)]),
            ],
        ],
    )
    shown = [(row, row.beside.judge) for row in ordered if row.beside][:SHOWN_IN_FIGURE]
    return Block(
        "methods",
        title,
        figure=ranges(
            [
                *(RangeRow(with_mark(marked_name(row), row.judge), [people_span(rate)]) for row, rate in shown),
                RangeRow(gettext("People among themselves"), [people_span(report.people_rate)]),
            ],
            title=title,
            x_title=gettext("Leave-one-out agreement with people"),
            series=[title],
            step=0.01,
            rule=report.people_rate.value,
        ),
        caption=" ".join(populations_meaning([report.people_rate, *(rate for _row, rate in shown)])),
        table=marked(table, [*(row.judge for row in ordered), ""]),
        notes=[
            *_order_notes(report),
            *(
                ngettext(
                    "%(judge)s: %(n)s verdict could not be used and is excluded.",
                    "%(judge)s: %(n)s verdicts could not be used and are excluded.",
                    row.unscored,
                )
                % {"judge": marked_name(row), "n": f"{row.unscored:,}"}
                for row in ordered
                if row.unscored
            ),
            *(
                gettext(
                    "%(judge)s is a composite whose verdicts were imported. If it was chosen on these tasks, its row "
                    "overestimates it; the next table does not."
                )
                % {"judge": marked_name(row)}
                for row in ordered
                if row.composite and row.imported
            ),
        ],
    )


def _method_cells(row: MethodRow, categories: int) -> list[object]:
    beside = row.beside
    apart = beside.apart if beside and beside.apart.interval_kind == "crossed95" else None
    return [
        marked_name(row),
        beside.n if beside else None,
        *people_cells(beside.judge if beside else None),
        beside.people.value if beside else None,
        apart.low if apart else None,
        apart.high if apart else None,
        *(_cells(rate)[0] for rate in row.cells[:categories]),
    ]


def _order_notes(report: MethodTable) -> list[str]:
    notes = [
        gettext("%(judge)s failed its canary texts in a run and is neither ranked nor called best.")
        % {"judge": marked_name(row)}
        for row in report.methods
        if row.failed
    ]
    compared = report.compared
    if isinstance(compared, Missing):
        return notes
    if not compared.found.ranked:
        return [gettext("Rows are in the order of names, because the judges judged different tasks."), *notes]
    return [
        gettext(
            "Rows are in the order of agreement on the tasks that all of them judged; a row's own numbers are over all "
            "tasks that this judge judged, and people's beside them over the same tasks."
        ),
        *notes,
    ]


def _pairs_block(report: MethodTable) -> Block | None:
    """Show every two judges on their common tasks; None where there are no two."""
    compared = report.compared
    if isinstance(compared, Missing) or not compared.found.pairs:
        return None
    rows = [
        [compared.judges[pair.one], compared.judges[pair.other], pair.n, *people_cells(pair.difference), pair.p]
        for pair in compared.found.pairs
    ]
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Compared with")),
            Column(gettext("Common tasks"), 0),
            *people_columns(gettext("Difference in agreement"), 3),
            Column.p(),
        ],
        rows,
    )
    notes = [
        gettext("The p values are corrected by Holm's method for all comparisons of this table."),
        *populations_meaning(pair.difference for pair in compared.found.pairs),
    ]
    return Block("pairs", gettext("Judges compared on common tasks"), table=table, notes=notes, folded=True)


def marked_name(row: MethodRow) -> str:
    """Return the judge's name; that of a composite says that it is one."""
    if not row.composite or says_composite(row.judge):
        return row.judge
    return gettext("%(judge)s (composite)") % {"judge": row.judge}


def _figure(rows: Sequence[tuple[str, Row]], title: str) -> str:
    known = [(with_mark(name, _judge(row)), row.all) for name, row in rows if row.all]
    return ranges(
        [RangeRow(name, [Span(rate.value, rate.low, rate.high)]) for name, rate in known],
        title=title,
        x_title=gettext("Leave-one-out agreement with people"),
        series=[title],
        step=0.01,
        rule=known[-1][1].value,
    )


def _composite_blocks(report: MethodTable) -> list[Block]:
    title = gettext("Best judge of each category, combined")
    found = report.composite
    if isinstance(found, Missing):
        return [Block("composite", title, reason=_reason(found))]
    rows = [
        (gettext("composite, cross-fitted"), found.composite),
        (gettext("best single judge, cross-fitted: %(judge)s") % {"judge": _chosen_names(found.singles)}, found.single),
        (gettext("People among themselves"), found.people),
    ]
    block = Block(
        "composite",
        title,
        answer=_composite_answer(found),
        figure=_figure(rows, title),
        table=_rows_table(gettext("Agreement by choices made without the task"), report, rows),
    )
    return [block, _choices(report, found)]


def _chosen_names(chosen: Sequence[Chosen]) -> str:
    """Name the judges that were chosen, with their shares of the choices where there are several."""
    if len(chosen) == 1:
        return chosen[0].judge
    return ", ".join(f"{one.judge} ({one.share:.0%})" for one in chosen)


def _composite_answer(found: CrossFittedRows) -> str:
    if found.composite.all is None or found.single.all is None:
        return ""
    said = gettext(
        "By choices made without the task, the composite agrees with people on %(rate)s of the tasks; the best single "
        "judge, chosen in the same way, on %(single)s."
    ) % {"rate": _of_these(found.composite.all), "single": _of_these(found.single.all)}
    return f"{said} " + gettext("Whether one of the two agrees with people more than the other is not tested here.")


def _of_these(rate: Rate) -> str:
    """Write a rate with its interval, which is for exactly these raters, or with its range under 20 instructions."""
    if rate.interval_kind in ("none", "leave_one_out_range"):
        return estimate_words(rate)
    return both_words(rate.value, None, (rate.low, rate.high))


def _choices(report: MethodTable, found: CrossFittedRows) -> Block:
    columns = [
        Column(gettext("Category")),
        Column(gettext("Chosen judge")),
        Column(gettext("Share of the choices"), 2),
        *Column.interval(gettext("Agreement of the composite"), 3),
        Column(gettext("Tasks"), 0),
    ]
    rows: list[list[object]] = []
    for name, chosen, rate in zip(_category_labels(report), found.choices, found.composite.cells, strict=True):
        for place, one in enumerate(chosen):
            cells = [*_cells(rate), rate.n if rate else None] if not place else [None] * 4
            rows.append([name if not place else "", one.judge, one.share, *cells])
    table = marked(Table(columns, rows), [str(row[1]) for row in rows])
    return Block("choices", gettext("Judges chosen"), table=table, folded=True)


def _reason(composite: Missing) -> str:
    if composite.why == "TooFewTasks":
        return gettext(
            "The composite is chosen on one half of the instructions and measured on the other. That needs at least two "
            "instructions in each category, and in each half of it a judge with verdicts on four fifths of the tasks; a "
            "category here lacks one of these."
        )
    return reason_of(composite)
