"""The parts of a result page: an answer, then blocks that hold a figure, a table and the text around them.

A block's figure and table can be downloaded as files. A table holds exact values and shows only significant digits.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calibration.figures.drawing import decimals

MOST_ROWS = 200


@dataclass(frozen=True)
class Column:
    """A table's column: text if `digits` is None, otherwise numbers shown with that number of decimals.

    `names` maps keys to the names that the page shows; the file keeps the keys.
    """

    label: str
    digits: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def shown(self, value: Any) -> str:
        """Return the cell's text on the page; a missing value is a dash, text in a column of numbers stays text."""
        if value is None or value == "":
            return "–"
        if self.digits is None or isinstance(value, str):
            return self.names.get(str(value), str(value))
        return decimals(float(value), self.digits)


@dataclass(frozen=True)
class Cell:
    words: str
    numeric: bool


@dataclass(frozen=True)
class Table:
    """Rows of exact values under columns, of which the first names the row. The page shows the first MOST_ROWS rows."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    caption: str = ""

    @property
    def shown(self) -> list[list[Cell]]:
        return [
            [
                Cell(column.shown(value), column.digits is not None)
                for column, value in zip(self.columns, row, strict=True)
            ]
            for row in self.rows[:MOST_ROWS]
        ]

    @property
    def left_out(self) -> int:
        return max(0, len(self.rows) - MOST_ROWS)

    def as_csv(self) -> str:
        """Return every row with every digit. Text that a spreadsheet would run as a formula gets an apostrophe."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow([column.label for column in self.columns])
        for row in self.rows:
            writer.writerow(["" if value is None else _harmless(value) for value in row])
        return out.getvalue()


@dataclass(frozen=True)
class Block:
    """One result; where there is none, `reason` says why in a sentence. `key` names its files; `notes` are sentences."""

    key: str
    title: str
    answer: str = ""
    figure: str = ""
    caption: str = ""
    table: Table | None = None
    notes: Sequence[str] = ()
    reason: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Choice:
    """A menu above the blocks: the query parameter's name, its label, the options (value, text) and the chosen value."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: str


@dataclass(frozen=True)
class ResultPage:
    """A page that answers one question. `opening` is the answer in one sentence, with its interval."""

    title: str
    opening: str
    blocks: Sequence[Block]
    method: Sequence[str]
    sources: Sequence[str] = ()
    about: str = ""
    choices: Sequence[Choice] = ()
    code: Sequence[str] = field(default_factory=tuple)

    def block(self, key: str) -> Block | None:
        return next((block for block in self.blocks if block.key == key), None)


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value[:1] else value
