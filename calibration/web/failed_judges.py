"""The mark of a judge that failed its canary texts, wherever numbers of its verdicts stand.

`failed_judges` of calibration/data/verdicts.py decides which judges those are. What is made inside `marking` says so: a
figure beside the judge's name, a table in a column of its own, which leads to the judge's runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType

from django.urls import reverse
from django.utils.translation import gettext

from calibration.data.verdicts import JudgesVerdicts
from calibration.figures.drawing import with_line
from calibration.web.blocks import Block, Column, Table

_marked: ContextVar[Mapping[str, str]] = ContextVar("marked_judges", default=MappingProxyType({}))
"""By the name of each judge that failed, the address that says why."""


@contextmanager
def marking(failed: Iterable[JudgesVerdicts]) -> Iterator[None]:
    """Mark these judges in what is made inside."""
    found = {row.judge.name: reverse("judging:judge", args=[row.judge.public_id]) for row in failed}
    token = _marked.set(found)
    try:
        yield
    finally:
        _marked.reset(token)


def failed_words() -> str:
    return gettext("failed its canary texts")


def judge_label(judge: str) -> str:
    """Return the judge's name as a figure shows it."""
    return with_mark(judge, judge)


def with_mark(words: str, judge: str) -> str:
    """Return the words, such as an axis of a figure that is all about one judge, with the mark if it failed."""
    if judge not in _marked.get():
        return words
    return gettext("%(words)s (%(mark)s)") % {"words": words, "mark": failed_words()}


def marked(table: Table, judges: Sequence[str]) -> Table:
    """Return the table with a last column that says whose verdicts failed; as it is where none of the judges has.

    `judges` name the judge of each row, '' where a row is not about one.
    """
    why = _marked.get()
    if not any(judge in why for judge in judges):
        return table
    return replace(
        table,
        columns=[*table.columns, Column(gettext("Canary texts"))],
        rows=[[*row, failed_words() if judge in why else ""] for row, judge in zip(table.rows, judges, strict=True)],
        mark_links=[why.get(judge, "") for judge in judges],
    )


def all_marked(block: Block, judge: str) -> Block:
    """Return a block that is all about one judge: if the judge failed, its figure and every row of its table say so."""
    if judge not in _marked.get():
        return block
    figure = with_line(block.figure, with_mark(judge, judge)) if block.figure else ""
    table = marked(block.table, [judge] * len(block.table.rows)) if block.table else None
    return replace(block, figure=figure, table=table)


def failed_note(judge: str) -> str:
    """Return the sentence where there is no page to lead to, such as in a terminal."""
    return gettext("A run of %(judge)s failed its canary texts; no number here counts its verdicts.") % {"judge": judge}
