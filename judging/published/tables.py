"""A paper's table beside ours, cell by cell, with the differences that are known and why."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.translation import gettext

from annotation.models import Rater
from core.messages.localized import localized
from generation.models import MAIN_EXPERIMENT
from judging.leaderboards.table import Leaderboard
from judging.models import Judge
from judging.published.columns import Quantity, plain_name
from judging.published.quantities import quantities_of


@dataclass(frozen=True)
class PrintedCell:
    """`agrees`: equal but for the printed rounding. `known`: a difference of this size is known and explained.

    `partial`: ours rests on a part of the benchmark only, so it need not be equal; `other_judge`: nor does another
    judge's. Where not `compared`, the paper printed what this page does not compute. `printed` is None for a dash.
    """

    ours: float | None
    printed: float | None
    agrees: bool
    known: bool
    partial: bool
    other_judge: bool = False
    compared: bool = True
    digits: int = 2

    @property
    def difference(self) -> float | None:
        return None if self.ours is None or self.printed is None else self.ours - self.printed

    @property
    def digits_of_difference(self) -> int:
        """One more than printed, so that none reads as zero; a rank's has none."""
        return self.digits + 1 if self.digits in (1, 3) else self.digits

    @property
    def differs(self) -> bool:
        return self.difference is not None and not self.agrees


@dataclass(frozen=True)
class PrintedRow:
    """A model under our name and the paper's; `overall` is the cell of the board's overall score, if it has one."""

    model: str
    printed_name: str
    cells: tuple[PrintedCell, ...]
    overall: PrintedCell | None


@dataclass(frozen=True)
class PrintedTable:
    """`conditions` say what here is not as the paper had it, so that no difference is called unexplained."""

    title: str
    source: str
    explanation: str
    heads: tuple[str, ...]
    rows: tuple[PrintedRow, ...]
    notes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    judge: str = ""

    @property
    def comparable(self) -> bool:
        return not self.conditions

    @property
    def _cells(self) -> list[PrintedCell]:
        return [cell for row in self.rows for cell in row.cells]

    @property
    def compared(self) -> int:
        return sum(cell.difference is not None for cell in self._cells)

    @property
    def differing(self) -> int:
        """Cells of ours that differ by more than rounding."""
        return sum(cell.differs for cell in self._cells)

    @property
    def known(self) -> int:
        """Differing cells whose difference is known, on a whole category."""
        return sum(cell.known and cell.differs for cell in self._cells)

    @property
    def partial(self) -> int:
        """Differing cells of ours that rest on a part of the benchmark."""
        return sum(cell.partial and cell.differs and not cell.known for cell in self._cells)

    @property
    def other_judge(self) -> int:
        """Differing cells that another judge gave than the paper's, on the whole benchmark."""
        return sum(cell.other_judge and cell.differs and not (cell.known or cell.partial) for cell in self._cells)

    @property
    def unexplained(self) -> int:
        """Differing cells for which no reason is known: all was judged as the paper did, and nobody has said why."""
        return self.differing - self.known - self.partial - self.other_judge


@cache
def published_tables(slug: str) -> Mapping[str, Any] | None:
    """What the benchmark's paper printed; None where the project carries nothing of it."""
    path = settings.BASE_DIR / "fixtures" / "published" / f"{slug}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table_source(published: Mapping[str, Any], table: str) -> str:
    """Authors, paper and the number of one table."""
    paper = str(published["source"]).rsplit(":", 1)[0]
    return gettext("%(paper)s, table %(number)s") % {"paper": paper, "number": table.removeprefix("table_")}


def table_notes(published: Mapping[str, Any], table: str, columns: Iterable[str] = ()) -> tuple[str, ...]:
    """What is known of a table; a note on some columns only where one of them is shown."""
    shown = set(columns)
    return tuple(
        localized(note["text"])
        for note in published["notes"]
        if note["where"] == table and ("columns" not in note or shown & set(note["columns"]))
    )


def printed_beside(board: Leaderboard) -> PrintedTable | None:
    """The paper's rows of the models on this board; None where it printed no such score.

    Nor where a part is asked for, or another experiment than the main one, of which the tables are.
    """
    published = published_tables(board.benchmark.slug)
    if published is None or board.query.narrows or board.experiment not in ("", MAIN_EXPERIMENT):
        return None
    names = _printed_names(published, board.model_names.values())
    found = quantities_of(board, published, names)
    if found is None:
        return None
    table = published[found.table]
    places = {name: place for place, name in enumerate(table["columns"])}
    same_judge = judged_by(board.judge, published)
    rows = []
    for one in board.models:
        printed_name = names.get(one.model, "")
        if printed_name not in table["rows"]:
            continue
        values = table["rows"][printed_name]
        cells = [_cell(column, one.model, values[places[column.column]], same_judge) for column in found.columns]
        overall = next((cell for cell, column in zip(cells, found.columns, strict=True) if column.on_axis), None)
        rows.append(PrintedRow(one.model, printed_name, tuple(cells), overall))
    if not rows:
        return None
    return PrintedTable(
        title=localized(table["title"]),
        source=table_source(published, found.table),
        explanation=localized(published["known_differences"]["explanation"]),
        heads=tuple(column.head for column in found.columns),
        rows=tuple(rows),
        notes=table_notes(published, found.table, (column.column for column in found.columns)),
        conditions=tuple(found.conditions),
        judge=localized(published["judge"]["text"]),
    )


def _printed_names(published: Mapping[str, Any], models: Iterable[str]) -> dict[str, str]:
    """The paper's name of each of our models that it has, by the name there or in the authors' data."""
    known = {plain_name(name): name for key in published if key.startswith("table_") for name in _rows(published[key])}
    known |= {plain_name(folder): name for name, folder in published["model_folders"].items()}
    return {model: known[plain_name(model)] for model in models if plain_name(model) in known}


def _rows(table: Mapping[str, Any]) -> Sequence[str]:
    return list(table["rows"]) if isinstance(table.get("rows"), dict) else []


def judged_by(judge: Rater, published: Mapping[str, Any]) -> bool:
    """Whether this judge bears the name of the paper's, itself or its model."""
    own = Judge.objects.filter(rater=judge).select_related("language_model").first()
    names = {judge.label, judge.name, *([own.language_model.name] if own and own.language_model else [])}
    theirs = {plain_name(name) for name in published["judge"]["names"]}
    return bool(theirs & {plain_name(name) for name in names})


def _cell(column: Quantity, model: str, printed: float | None, same_judge: bool) -> PrintedCell:
    """A known difference is printed to hundredths, so it may be off by as much again."""
    rounding = 0.51 * 10.0**-column.digits
    ours = column.ours.get(model) if column.compared else None
    both = ours is not None and printed is not None
    gap = (ours or 0.0) - (printed or 0.0)
    expected = column.expected.get(model)
    return PrintedCell(
        ours,
        printed,
        agrees=both and abs(gap) <= rounding,
        known=both and expected is not None and abs(gap - expected) <= 2 * rounding,
        partial=model in column.partial,
        other_judge=column.by_judge and not same_judge,
        compared=column.compared,
        digits=column.digits,
    )
