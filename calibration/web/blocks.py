"""The parts of a result page: an answer, then blocks that hold a figure, a table and the text around them.

A block's figure and table can be downloaded as files. A table holds exact values and shows only significant digits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, repeat
from operator import attrgetter
from typing import Any, Protocol, TypeAlias, TypeVar

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from calibration.figures.drawing import decimals, ends_apart
from calibration.figures.spreads import Span

MOST_ROWS = 100
TABLE_FILES = (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"), ("md", "Markdown"))
NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """A table's column: text if `digits` is None, otherwise numbers shown with that number of decimals.

    `names` maps keys to the names that the page shows; the file keeps the keys. A column that is `optional` is shown
    only if a row has a value in it; files always have it. A number below `floor` is shown as "< floor". In a `mixed`
    column, whole numbers have no decimals. `end` is "low" or "high" in two adjacent columns with the ends of an interval.
    `order` is the order of the rows to which a press on the label leads, where they can be ordered by the column, and `sort`
    the order in which they now are by it, "ascending" or "descending".
    """

    label: str
    digits: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    optional: bool = False
    floor: float = 0.0
    mixed: bool = False
    end: str = ""
    order: str = ""
    sort: str = ""

    @classmethod
    def interval(cls, label: str, digits: int) -> "tuple[Column, Column, Column]":
        """Return the columns of a value and the ends of its interval; `interval_cells` gives their cells."""
        return cls(label, digits), *cls.ends(gettext("From"), gettext("To"), digits)

    @classmethod
    def ends(cls, low: str, high: str, digits: int, *, optional: bool = False) -> "tuple[Column, Column]":
        """Return the columns of the two ends of an interval, which are never shown as equal."""
        return cls(low, digits, optional=optional, end="low"), cls(high, digits, optional=optional, end="high")

    @classmethod
    def p(cls, label: str = "p") -> "Column":
        """Return the column of a p value, which is shown as "< 0.001" where it is smaller."""
        return cls(label, 3, floor=0.001)

    def shown(self, value: Any) -> str:
        """Return the cell's text on the page; a missing value is a dash, text in a column of numbers stays text."""
        if value is None or value == "":
            return NOTHING
        if self.digits is None or isinstance(value, str):
            return self.names.get(str(value), str(value))
        if 0 <= float(value) < self.floor:
            return f"< {self.floor:.{self.digits}f}"
        whole = self.mixed and float(value).is_integer()
        return decimals(float(value), 0 if whole else self.digits)


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
    """A cell's text; a `link` is the address that the text leads to."""

    words: str
    numeric: bool
    link: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of exact values under columns, of which the first names the row. The page shows the first `most` rows.

    `links`, if there are any, holds the address that each row's name leads to, `mark_links` that of each row's last cell.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    links: Sequence[str] = ()
    mark_links: Sequence[str] = ()
    most: int = MOST_ROWS

    @property
    def shown_columns(self) -> list[Column]:
        return [self.columns[place] for place in self.shown_places]

    @property
    def shown_places(self) -> list[int]:
        """List the places of the columns that are shown: optional ones only if they have a value."""
        return [
            place
            for place, column in enumerate(self.columns)
            if not column.optional or any(row[place] not in (None, "") for row in self.rows)
        ]

    @property
    def shown(self) -> list[list[Cell]]:
        places, last = self.shown_places, len(self.columns) - 1
        return [
            [
                Cell(words, self.columns[place].digits is not None, {last: mark, 0: link}.get(place, ""))
                for place, words in zip(places, self._words(row, places), strict=True)
            ]
            for row, link, mark in zip(
                self.rows[: self.most], self.links or repeat(""), self.mark_links or repeat(""), strict=False
            )
        ]

    @property
    def body(self) -> SafeString:
        """The shown rows as HTML: a template would take ten times as long for the cells of a large study."""
        return mark_safe("\n".join(map(_row_html, self.shown)))  # nosec B308 B703 # every cell is escaped

    def _words(self, row: Sequence[Any], places: Sequence[int]) -> list[str]:
        """Write a row's cells; the two ends of an interval get more decimals, or a dash, where they would look equal."""
        said = [self.columns[place].shown(row[place]) for place in places]
        for at, place in enumerate(places[1:], start=1):
            column = self.columns[place]
            values = row[place - 1], row[place]
            if column.end == "high" and column.digits is not None and all(isinstance(one, float) for one in values):
                said[at - 1], said[at] = ends_apart(*values, 10.0**-column.digits) or (NOTHING, NOTHING)
        return said

    @property
    def left_out(self) -> int:
        return max(0, len(self.rows) - self.most)


def _row_html(row: Sequence[Cell]) -> str:
    cells = [f'<th scope="row">{_words_html(row[0])}</th>'] if row else []
    for cell in row[1:]:
        start = '<td class="num">' if cell.numeric and not cell.link else "<td>"
        cells.append(f"{start}{_words_html(cell)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _words_html(cell: Cell) -> str:
    words = escape(cell.words)
    return f'<a href="{escape(cell.link)}">{words}</a>' if cell.link else words


@dataclass(frozen=True)
class Section:
    """Blocks of a page that are folded together; `key` is their anchor, `about` stands beside the title."""

    key: str
    title: str
    about: str = ""


@dataclass(frozen=True)
class Block:
    """One result; where there is none, `reason` says why in a sentence.

    `key` names its files; `notes` and `warnings` are sentences.
    """

    key: str
    title: str
    answer: str = ""
    figure: str = ""
    caption: str = ""
    table: Table | None = None
    notes: Sequence[str] = ()
    reason: str = ""
    folded: bool = False
    warnings: Sequence[str] = ()
    section: Section | None = None

    @property
    def files(self) -> list[tuple[str, str]]:
        """List the suffix and the name of every file that the block can be downloaded as."""
        figure = [("svg", "SVG"), ("png", "PNG"), ("pdf", "PDF")] if self.figure else []
        return figure + ([*TABLE_FILES] if self.table else [])


@dataclass(frozen=True)
class Fold:
    """A heading of a page with what is folded under it: a block, or the blocks of a section. `key` is its anchor."""

    key: str
    title: str
    about: str
    blocks: Sequence[Block]
    section: Section | None = None


@dataclass(frozen=True)
class Choice:
    """A menu above the blocks: the query parameter's name, its label, the options (value, text) and the chosen value."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: str


@dataclass(frozen=True)
class ResultPage:
    """A page that answers one question. `opening` is the answer in one sentence, with its interval.

    `links` are addresses and the text that leads there; `failed` names the judges that failed their canary texts, which
    are marked. An `empty` page has no answer yet: `opening` is its heading, and `about` says why.
    """

    title: str
    opening: str
    blocks: Sequence[Block]
    method: Sequence[str]
    sources: Sequence[str] = ()
    about: str = ""
    choices: Sequence[Choice] = ()
    code: Sequence[str] = field(default_factory=tuple)
    links: Sequence[tuple[str, str]] = ()
    empty: bool = False
    warnings: Sequence[str] = ()
    failed: Sequence[str] = ()

    @property
    def lead(self) -> Block | None:
        """The block that stands open below the answer: the first with a figure, or else the first one."""
        alone = [block for block in self.blocks if block.section is None]
        return next((block for block in alone if block.figure), alone[0] if alone else None)

    @property
    def folds(self) -> list[Fold]:
        """What is folded below: each section with its blocks, and each other block except the lead."""
        rest = [block for block in self.blocks if block is not self.lead]
        found = []
        for section, blocks in groupby(rest, key=attrgetter("section")):
            if section is not None:
                found.append(Fold(section.key, section.title, section.about, list(blocks), section))
            else:
                found += [Fold(block.key, block.title, "", [block]) for block in blocks]
        return found

    def block(self, key: str) -> Block | None:
        return next((block for block in self.blocks if block.key == key), None)
