"""The parts of a result page: an answer, then blocks that hold a figure, a table and the text around them.

A block's figure and table can be downloaded as files. A table holds exact values and shows only significant digits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from django.utils.translation import gettext

from calibration.figures.drawing import decimals
from calibration.figures.spreads import Span

MOST_ROWS = 200


@dataclass(frozen=True)
class Column:
    """A table's column: text if `digits` is None, otherwise numbers shown with that number of decimals.

    `names` maps keys to the names that the page shows; the file keeps the keys.
    """

    label: str
    digits: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def interval(cls, label: str, digits: int) -> "tuple[Column, Column, Column]":
        """Return the columns of a value and the ends of its interval; `interval_cells` gives their cells."""
        return cls(label, digits), cls(gettext("From"), digits), cls(gettext("To"), digits)

    def shown(self, value: Any) -> str:
        """Return the cell's text on the page; a missing value is a dash, text in a column of numbers stays text."""
        if value is None or value == "":
            return "–"
        if self.digits is None or isinstance(value, str):
            return self.names.get(str(value), str(value))
        return decimals(float(value), self.digits)


class Ends(Protocol):
    """An interval: its ends, and what kind of interval it is ("none": no interval)."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def interval_kind(self) -> str: ...


Cells: TypeAlias = tuple[float, float | None, float | None]
Value = TypeVar("Value", bound=float | None)


def interval_cells(value: Value, ends: Ends | None) -> tuple[Value, float | None, float | None]:
    """Return the cells of `Column.interval`: the value and its ends, None where there is no interval."""
    return (value, None, None) if ends is None else cells_of(value, ends.low, ends.high, ends.interval_kind)


def cells_of(value: Value, low: float, high: float, kind: str) -> tuple[Value, float | None, float | None]:
    """Return the cells of `Column.interval` for ends of the interval kind `kind`."""
    return (value, None, None) if kind == "none" else (value, low, high)


def span_of(cells: Cells) -> Span:
    """Return the cells of `Column.interval` as a span to draw: a point at the value where there is no interval."""
    value, low, high = cells
    return Span(value, value if low is None else low, value if high is None else high)


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

    @property
    def files(self) -> list[tuple[str, str]]:
        """List the suffix and the name of every file that the block can be downloaded as."""
        figure = [("svg", "SVG"), ("png", "PNG")] if self.figure else []
        return figure + ([("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX")] if self.table else [])


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
