"""What a result page is made of: an answer, then blocks of a figure, a table and the words around them.

A block's figure and table can be taken away as files; a table holds exact values and shows only the digits that
they warrant.
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
    """A table's column: words where `digits` is None, else numbers shown with so many decimals.

    `names` says what the page writes for a key; the file keeps the key.
    """

    label: str
    digits: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def shown(self, value: Any) -> str:
        """A cell as the page writes it; a missing value is a dash, words among numbers stay words."""
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
    """Rows of exact values under columns; the first column names the row. The page shows the first MOST_ROWS."""

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
        """Every row with every digit. A text that a spreadsheet would run as a formula gets an apostrophe."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow([column.label for column in self.columns])
        for row in self.rows:
            writer.writerow(["" if value is None else _harmless(value) for value in row])
        return out.getvalue()


@dataclass(frozen=True)
class Block:
    """One result: `reason` says, in a sentence, why there is none. `key` names its files; `notes` are sentences."""

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
    """A menu above the blocks: the query's name, its label, the options (value, words) and the one chosen."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: str


@dataclass(frozen=True)
class ResultPage:
    """A page that answers one question. `opening` is the answer in a sentence with its interval."""

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
