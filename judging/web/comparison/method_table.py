"""The page of judging methods by category: HREF's table 1 for any study, with people's own agreement in the last row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.registry import Plain, missing
from calibration.statistics.ties import descending
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.messages.intervals import ends_meaning, ends_words, stated
from calibration.web.messages.names import category_names, criterion_choice, criterion_name
from calibration.web.messages.reasons import reason_of
from judging.web.comparison.paper_methods import printed_methods_block
from judging.web.leaderboards.messages import EVEN, named

SHOWN_IN_FIGURE = 30


def methods_title() -> str:
    return gettext("Which judging method agrees with people, and in which categories?")


def methods_page(study: Study, report: Plain) -> ResultPage:
    if missing(report):
        return ResultPage(methods_title(), reason_of(report), [], [])
    printed = printed_methods_block(study, report)
    return ResultPage(
        title=methods_title(),
        opening=_opening(report),
        about=gettext("Agreement is measured on “%(criterion)s”.")
        % {"criterion": criterion_name(study, report["criterion"])},
        choices=criterion_choice(study, report["criteria"], report["criterion"]),
        blocks=[_table(report), *_composite(report), *([printed] if printed else [])],
        method=[
            gettext(
                "Each cell is leave-one-out agreement: how often a judge's label is the most frequent one of all "
                "raters but one, averaged over every rater left out, and over the tasks of the category that at "
                "least two raters answered and on which the judge gave a usable verdict. The last row shows "
                "people, measured in the same way: each rater against the others. For a preference only the side "
                "counts; “both bad” is a label of its own."
            ),
            gettext(
                "In each category, the composite uses the judge that agreed best on a random half of the "
                "instructions. It is reported only on the other half, next to the best single judge and people on "
                "the same tasks; choosing and reporting on the same tasks would overestimate it. Intervals "
                "resample whole instructions."
            ),
        ],
        sources=["HREF (arXiv 2412.15524), table 1, algorithm 1, section 3.3"],
        code=[
            "calibration.statistics.agreement.leave_one_out",
            "judging.methods.pairs.composite",
            "calibration.statistics.shares",
        ],
    )


def _opening(report: Plain) -> str:
    known = [row for row in report["methods"] if row["all"]]
    if not known:
        return gettext("No judge gave a usable verdict on a task that at least two people answered.")
    best = max(known, key=lambda row: row["all"]["value"])
    rates = {"rate": _words(best["all"]), "people": _words(report["people"]["all"])}
    level = [row["judge"] for row in known if best["all"]["value"] - row["all"]["value"] <= EVEN]
    if len(level) > 1:
        return gettext(
            "%(n)d judges tie for the best agreement with people: %(judges)s. They agree with people on %(rate)s "
            "of the tasks; people agree with each other on %(people)s."
        ) % {"n": len(level), "judges": named(level), **rates}
    return gettext(
        "%(judge)s agrees best with people: on %(rate)s of the tasks. People agree with each other on %(people)s."
    ) % {"judge": best["judge"], **rates}


def _words(found: Mapping[str, Any]) -> str:
    return ends_words(found["value"], found["low"], found["high"], found["interval_kind"])


def _columns(report: Plain) -> list[str]:
    names = category_names({row["category_pk"]: str(row["category"]) for row in report["categories"]})
    found = [names[one["category_pk"]] for one in report["categories"]]
    return [gettext("all") if name == "all" else name for name in found]


def _cells(row: Mapping[str, Any], alone: bool) -> list[Any]:
    """Rate and interval over everything, then the rates by category; without categories these would repeat it."""
    every = row["all"]
    first = [None] * 4 if every is None else [every["n"], every["value"], *stated(every)]
    return first if alone else [*first, *(cell and cell["value"] for cell in row["cells"])]


def _heads(report: Plain) -> list[Column]:
    heads = [
        Column(gettext("Tasks"), 0),
        Column(gettext("Agreement"), 3),
        Column(gettext("From"), 3),
        Column(gettext("To"), 3),
    ]
    return heads if _alone(report) else [*heads, *(Column(name, 3) for name in _columns(report))]


def _alone(report: Plain) -> bool:
    return len(report["categories"]) < 2


def _table(report: Plain) -> Block:
    title = gettext("Judges by category")
    people = gettext("People among themselves")
    values = np.array([row["all"]["value"] if row["all"] else -1.0 for row in report["methods"]])
    ordered = [report["methods"][place] for place in descending(values)]
    rows = [(row["judge"], row) for row in ordered] + [(people, report["people"])]
    table = Table(
        [Column(gettext("Judge")), *_heads(report)], [[name, *_cells(row, _alone(report))] for name, row in rows]
    )
    figure = _figure([(name, row["all"]) for name, row in rows[:SHOWN_IN_FIGURE]], title)
    notes = [
        gettext("%(judge)s: %(n)d verdicts could not be used and are excluded.")
        % {"judge": row["judge"], "n": row["unscored"]}
        for row in ordered
        if row["unscored"]
    ]
    every = report["people"]["all"]
    caption = ends_meaning(every["interval_kind"], every["clusters"], gettext("instructions"))
    return Block("methods", title, figure=figure, caption=caption, table=table, notes=notes)


def _figure(rows: Sequence[tuple[str, Any]], title: str) -> str:
    known = [(name, found) for name, found in rows if found]
    return ranges(
        [RangeRow(name, [Span(found["value"], found["low"], found["high"])]) for name, found in known],
        title=title,
        x_title=gettext("Leave-one-out agreement with people"),
        series=[title],
        step=0.01,
        rule=known[-1][1]["value"],
    )


def _composite(report: Plain) -> list[Block]:
    title = gettext("Best judge of each category, combined")
    found = report["composite"]
    if missing(found):
        return [Block("composite", title, reason=_why(found))]
    single = gettext("best single judge: %(judge)s") % {"judge": found["single"]["judge"]}
    rows = [
        (gettext("composite"), found["composite"]),
        (single, found["single"]),
        (gettext("People among themselves"), found["people"]),
    ]
    table = Table(
        [Column(gettext("Agreement on the half that was not used for choosing")), *_heads(report)],
        [[name, *_cells(row, _alone(report))] for name, row in rows],
    )
    answer = _composite_sentence(found)
    figure = _figure([(name, row["all"]) for name, row in rows], title)
    return [Block("composite", title, answer=answer, figure=figure, table=table), _choices(report, found)]


def _composite_sentence(found: Mapping[str, Any]) -> str:
    words = {
        "rate": _words(found["composite"]["all"]),
        "single": _words(found["single"]["all"]),
        "judge": found["single"]["judge"],
    }
    return (
        gettext(
            "On tasks that were not used for choosing, the composite agrees with people on %(rate)s of them; the "
            "best single judge, %(judge)s, on %(single)s."
        )
        % words
    )


def _choices(report: Plain, found: Mapping[str, Any]) -> Block:
    rows = [
        [
            name,
            method,
            rate,
            None if cell is None else cell["value"],
            *((None, None) if cell is None else stated(cell)),
            None if cell is None else cell["n"],
        ]
        for name, method, rate, cell in zip(
            _columns(report), found["methods"], found["chosen_rates"], found["composite"]["cells"], strict=True
        )
    ]
    table = Table(
        [
            Column(gettext("Category")),
            Column(gettext("Chosen judge")),
            Column(gettext("Agreement on the choosing half"), 3),
            Column(gettext("Agreement on the other half"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Tasks"), 0),
        ],
        rows,
    )
    return Block("choices", gettext("Judges chosen"), table=table, folded=True)


def _why(found: Mapping[str, Any]) -> str:
    if found["why"] == "TooFewTasks":
        return gettext(
            "A category has too few instructions for two halves, or no judge has verdicts on four fifths of its "
            "tasks. The composite can therefore not be chosen on one half and tested on the other."
        )
    return reason_of(found)
