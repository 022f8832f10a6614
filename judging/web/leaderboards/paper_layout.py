"""A computed table laid out: one line a cell, or rows and columns as the paper has them, in the reader's language."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from accounts.models import Workspace
from annotation.models import Rater
from calibration.data.verdicts import JudgesVerdicts, failed_judges
from calibration.figures.drawing import decimals
from calibration.web.blocks import Column, Table
from calibration.web.failed_judges import failed_note
from calibration.web.table_files import as_latex
from core.messages.localized import localized
from core.messages.message import Message
from core.messages.rendering import for_reader
from generation.models import Benchmark
from judging.published.computed_tables import ComputedTable, among
from judging.published.paper_table import Cell, PaperTable, Status
from judging.published.tables import notes_beside_paper, published_tables

DASH = "–"
DAGGER = "†"
"""Stands beside a figure that rests on verdicts of a judge of which a run failed its canary texts."""


@dataclass(frozen=True)
class LaidCell:
    """A cell as it is shown: `printed` and `ours` are '' where there is nothing, `note` is the number of its reason.

    `failed` names the judges on whose verdicts ours rests and of which a run failed its canary texts.
    """

    printed: str
    ours: str
    status: Status
    status_words: str
    reason: str
    note: int | None
    failed: Sequence[str] = ()

    @property
    def words(self) -> str:
        """Both numbers in one cell of text: "71.2 =", "71.2 / 70.9 [1]", "71.2 / – [2]", "71.2 = †"."""
        both = f"{self.printed} =" if self.status == Status.EQUAL else f"{self.printed} / {self.ours or DASH}"
        return both + ("" if self.note is None else f" [{self.note}]") + (f" {DAGGER}" if self.failed else "")


@dataclass(frozen=True)
class Reason:
    """Why `n` cells of one status are not equal; its number stands beside each of them."""

    number: int
    status_words: str
    words: str
    n: int


@dataclass(frozen=True)
class LaidTable:
    """Rows and columns in the paper's order; a place where the paper printed nothing is None.

    `failed` are the judges that the cells name as failed.
    """

    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[LaidCell | None]]]
    reasons: Sequence[Reason]
    failed: Sequence[str] = ()

    @property
    def as_table(self) -> Table:
        """The same as text, for LaTeX, Markdown and the terminal."""
        columns = [Column(""), *(Column(head, 0) for head in self.heads)]
        return Table(
            columns, [[row, *("" if cell is None else cell.words for cell in cells)] for row, cells in self.rows]
        )


def status_words(status: Status) -> str:
    return {
        Status.EQUAL: gettext("equal"),
        Status.MISPRINT: gettext("misprint"),
        Status.DIFFERS: gettext("differs"),
        Status.NOT_COMPUTABLE: gettext("not computable"),
    }[status]


def laid_out(found: ComputedTable, failed: Collection[str] = ()) -> LaidTable:
    """Lay the cells out as the paper does. Of two cells in one place, which no paper has, the first stands.

    `failed` names the judges of the benchmark that failed their canary texts.
    """
    heads = list(dict.fromkeys(words_of(cell.column) for cell in found.cells))
    rows = list(dict.fromkeys(words_of(cell.row) for cell in found.cells))
    reasons = Counter((cell.status, words_of(cell.reason)) for cell in found.cells if cell.reason)
    numbers = {reason: number for number, reason in enumerate(reasons, 1)}
    places: dict[tuple[str, str], LaidCell] = {}
    for cell in found.cells:
        reason = words_of(cell.reason)
        note = numbers.get((cell.status, reason))
        laid = _laid(cell, reason, note, among(cell.judges, failed))
        places.setdefault((words_of(cell.row), words_of(cell.column)), laid)
    return LaidTable(
        [head.replace("_", " ") for head in heads],
        [(row, [places.get((row, head)) for head in heads]) for row in rows],
        [Reason(numbers[status, words], status_words(status), words, n) for (status, words), n in reasons.items()],
        sorted({name for cell in places.values() for name in cell.failed}),
    )


def _laid(cell: Cell, reason: str, note: int | None, failed: Sequence[str]) -> LaidCell:
    return LaidCell(
        DASH if cell.printed is None else decimals(cell.printed, cell.digits),
        "" if cell.recomputed is None else decimals(cell.recomputed, cell.digits),
        cell.status,
        status_words(cell.status),
        reason,
        note,
        failed,
    )


def dagger_note(layout: LaidTable) -> str:
    """State what the dagger means; '' where no cell has one."""
    if not layout.failed:
        return ""
    return gettext(
        "%(dagger)s: this figure rests on verdicts of a judge of which another run failed its canary texts (%(judges)s)."
    ) % {"dagger": DAGGER, "judges": ", ".join(layout.failed)}


def cell_list(found: ComputedTable, failed: Collection[str] = (), scripted: Collection[str] = ()) -> Table:
    """One line a cell, with every digit of what was recomputed.

    Where a judge `failed` or is `scripted`, a last column names those on whose verdicts the figure rests.
    """
    columns = [
        Column(gettext("Row")),
        Column(gettext("Column")),
        Column(gettext("Printed"), 4),
        Column(gettext("Recomputed"), 4),
        Column(gettext("Status")),
        Column(gettext("Reason")),
    ]
    rows: list[list[object]] = [
        [
            words_of(cell.row),
            words_of(cell.column),
            cell.printed,
            cell.recomputed,
            cell.status.value,
            words_of(cell.reason),
        ]
        for cell in found.cells
    ]
    marks = {gettext("Judges that failed their canary texts"): failed, gettext("Scripted judges"): scripted}
    for title, judges in marks.items():
        if judges:
            columns.append(Column(title))
            for row, cell in zip(rows, found.cells, strict=True):
                row.append(", ".join(among(cell.judges, judges)))
    return Table(columns, rows)


def failed_on(workspace: Workspace, table: PaperTable) -> list[JudgesVerdicts]:
    """Return the judges of the table's benchmark that failed their canary texts."""
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=table.benchmark).first()
    return failed_judges(benchmark) if benchmark else []


def scripted_on(workspace: Workspace, found: ComputedTable) -> list[str]:
    """Return the names of the scripted judges on whose verdicts some of the table's figures rest."""
    named = {judge for cell in found.cells for judge in cell.judges}
    scripted = Rater.objects.filter(workspace=workspace, provenance=Rater.Provenance.SCRIPTED)
    return sorted(named & {rater.name for rater in scripted})


def scripted_note(judges: Sequence[str]) -> str:
    """State which judges are scripted; '' where none is."""
    if not judges:
        return ""
    return gettext("Some of these figures rest on scripted judges, whose verdicts are drawn: %(judges)s.") % {
        "judges": ", ".join(judges)
    }


def lines_beside(
    found: ComputedTable, layout: LaidTable, failed: Sequence[str] = (), scripted: Sequence[str] = ()
) -> list[str]:
    """What stands below a table that is laid out: what its signs mean, the counts, the source, what is known about it
    and its judges, and the numbered reasons.
    """
    n = len(found.cells)
    counts = ngettext("%(n)d cell: %(counts)s.", "%(n)d cells: %(counts)s.", n) % {"n": n, "counts": counted(found)}
    known = {"table": table_name(found.table), "title": title_of(found.table), "source": found.table.source}
    return [
        gettext("Printed / recomputed; = where both are equal as printed, – where nothing is printed or computed."),
        counts if n else gettext("This table has no cell."),
        gettext("%(table)s: %(title)s. Source: %(source)s.") % known,
        *notes_on(found.table),
        *map(failed_note, failed),
        *filter(None, [dagger_note(layout), scripted_note(scripted)]),
        *(f"[{reason.number}] {reason.status_words}, {reason.n}: {reason.words}" for reason in layout.reasons),
    ]


def latex_of(layout: LaidTable, lines: Sequence[str]) -> str:
    """The table as a tabular, after comments that say what its signs and numbers mean."""
    return "".join(f"% {' '.join(line.split())}\n" for line in lines) + as_latex(layout.as_table)


def words_of(text: str) -> str:
    """A name or a reason in the active language, where it is a message or a marked text."""
    if isinstance(text, Message):
        return for_reader(text)
    return gettext(text) if text else ""


def table_name(table: PaperTable) -> str:
    """'Table 3', 'Figure 3' or 'Section 4.3'."""
    kind, _, number = table.number.rpartition(" ")
    names = {"figure": gettext("Figure %(number)s"), "section": gettext("Section %(number)s")}
    if kind.casefold() in names:
        return names[kind.casefold()] % {"number": number}
    return gettext("Table %(number)s") % {"number": table.number}


def title_of(table: PaperTable) -> str:
    return localized(table.titles)


def notes_on(table: PaperTable) -> tuple[str, ...]:
    """What is known about the printed table as a whole, such as figures of it that contradict one another."""
    published = published_tables(table.benchmark)
    key = table.number if " " in table.number else f"table {table.number}"
    return notes_beside_paper(published, re.sub(r"\W", "_", key)) if published else ()


def counted(found: ComputedTable) -> str:
    """State how many cells there are of each status; statuses without a cell are left out."""
    counts = [(n, status) for status, n in found.counts.items() if n]
    return ", ".join(f"{n} {status_words(status)}" for n, status in counts)


def list_json(benchmark: str, found: Sequence[ComputedTable]) -> dict[str, object]:
    """What `published_table BENCHMARK --json` prints: the tables with their counts, null for one not yet computed."""
    return {
        "benchmark": benchmark,
        "tables": [
            {
                "table": one.table.number,
                "title": title_of(one.table),
                "cells": len(one.cells) if one.computed_at else None,
                **{status.value.replace(" ", "_"): n if one.computed_at else None for status, n in one.counts.items()},
                **({"error": str(one.error)} if one.error else {}),
            }
            for one in found
        ],
    }
