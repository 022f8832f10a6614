"""The page of judges by category, with people's agreement among themselves in the last row.

HREF (arXiv 2412.15524), table 1, for any study.
"""

from collections.abc import Sequence

import numpy as np
from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.codec import Missing
from calibration.statistics.ties import descending
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table, interval_cells
from calibration.web.failed_judges import marked, with_mark
from calibration.web.messages.intervals import ends_meaning, estimate_words
from calibration.web.messages.names import category_names, criterion_choice, criterion_name
from calibration.web.messages.reasons import reason_of
from judging.comparison.method_table import Chosen, CrossFittedRows, MethodReport, MethodRow, MethodTable, Rate, Row
from judging.methods.pairs.composite import SPLITS, says_composite
from judging.web.comparison.paper_methods import printed_methods_block
from judging.web.leaderboards.messages import EVEN, named

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
        blocks=[_methods_block(report), *_composite_blocks(report), *([printed] if printed else [])],
        method=[
            gettext(
                "Each cell is leave-one-out agreement: how often a judge's label is the most frequent one of all "
                "raters but one, averaged over every rater left out, and over the tasks of the category that at "
                "least two raters answered and on which the judge gave a usable verdict. The last row shows "
                "people, measured in the same way: each rater against the others. For a preference only the side "
                "counts; “both bad” is a label of its own."
            ),
            gettext(
                "The composite is cross-fitted: the instructions of each category are split into two random halves, "
                "and the tasks of each half are decided by the judge that agreed best on the other half. A task's "
                "agreement is the mean over %(splits)d splits. The best single judge is chosen in the same way for all "
                "categories together. So both rest on all tasks, as the first table does, and no task has a part in "
                "the choice made for it; choosing and reporting on the same tasks would overestimate them. Intervals "
                "resample whole instructions."
            )
            % {"splits": SPLITS},
        ],
        sources=["HREF (arXiv 2412.15524), table 1, algorithm 1, section 3.3"],
        code=[
            "calibration.statistics.agreement.leave_one_out",
            "judging.methods.pairs.composite",
            "calibration.statistics.shares",
        ],
    )


def _against_choice(report: MethodTable) -> list[Choice]:
    """Return the menu of baselines; a study of two models has none, since all its pairs have both."""
    if len(report.models) <= PAIR:
        return []
    options = [("", gettext("all models")), *((model, model) for model in report.models)]
    return [Choice("against", gettext("Pairs with a response of"), options, report.against)]


def _opening(report: MethodTable) -> str:
    known = [(row.judge, row.all) for row in report.methods if row.all and not row.composite]
    if not known or not report.people.all:
        return gettext("No judge gave a usable verdict on a task that at least two people answered.")
    best, rate = max(known, key=lambda pair: pair[1].value)
    rates = {"rate": estimate_words(rate), "people": estimate_words(report.people.all)}
    level = [judge for judge, other in known if rate.value - other.value <= EVEN]
    if len(level) > 1:
        return gettext(
            "%(n)d judges tie for the best agreement with people: %(judges)s. They agree with people on %(rate)s "
            "of the tasks; people agree with each other on %(people)s."
        ) % {"n": len(level), "judges": named(level), **rates}
    return gettext(
        "%(judge)s agrees best with people: on %(rate)s of the tasks. People agree with each other on %(people)s."
    ) % {"judge": best, **rates}


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


def _methods_block(report: MethodTable) -> Block:
    title = gettext("Judges by category")
    values = np.array([row.all.value if row.all else -1.0 for row in report.methods])
    ordered = [report.methods[place] for place in descending(values)]
    rows = [*((marked_name(row), row) for row in ordered), (gettext("People among themselves"), report.people)]
    people = report.people.all
    return Block(
        "methods",
        title,
        figure=_figure(rows[:SHOWN_IN_FIGURE], title),
        caption=ends_meaning(people.interval_kind, people.clusters, gettext("instructions")) if people else "",
        table=_rows_table(gettext("Judge"), report, rows),
        notes=[
            *(
                gettext("%(judge)s: %(n)d verdicts could not be used and are excluded.")
                % {"judge": marked_name(row), "n": row.unscored}
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
    return gettext(
        "By choices made without the task, the composite agrees with people on %(rate)s of the tasks; the best single "
        "judge, chosen in the same way, on %(single)s."
    ) % {"rate": estimate_words(found.composite.all), "single": estimate_words(found.single.all)}


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
            "A category has too few instructions for two halves, or no judge has verdicts on four fifths of its "
            "tasks. The composite can therefore not be chosen on one half and measured on the other."
        )
    return reason_of(composite)
