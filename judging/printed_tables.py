"""A paper's table beside ours, cell by cell, with the differences that are known and why."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings

from accounts.localized import localized
from generation.models import Category
from judging.leaderboards import Leaderboard
from judging.scoring import CategoryScore

ROUNDING = 0.0051
MOST_OF_IT = 0.9
COLUMN_OF = {
    "open_ended_qa": "OEQA_S",
    "summarization": "Summ_S",
    "chat": "Chat_S",
    "text_completion": "TC_S",
    "heuristic_text_generation": "HTG_S",
}
AVERAGE_COLUMN = "AVG_S"


@dataclass(frozen=True)
class PrintedCell:
    """`agrees`: equal but for the printed rounding. `known`: a difference of this size is known and explained.

    `partial`: ours rests on a part of the benchmark only, so it need not be equal.
    """

    ours: float | None
    printed: float
    agrees: bool
    known: bool
    partial: bool

    @property
    def difference(self) -> float | None:
        return None if self.ours is None else self.ours - self.printed


@dataclass(frozen=True)
class PrintedRow:
    """A model under our name and the paper's; cells by category key, the average last."""

    model: str
    printed_name: str
    cells: tuple[PrintedCell, ...]


@dataclass(frozen=True)
class PrintedTable:
    title: str
    source: str
    explanation: str
    categories: tuple[str, ...]
    rows: tuple[PrintedRow, ...]

    @property
    def differing(self) -> int:
        """Cells of ours that differ by more than rounding."""
        return sum(cell.ours is not None and not cell.agrees for row in self.rows for cell in row.cells)

    @property
    def compared(self) -> int:
        return sum(cell.ours is not None for row in self.rows for cell in row.cells)

    @property
    def known(self) -> int:
        """Differing cells whose difference is known, on a whole category."""
        return sum(cell.known and not cell.agrees for row in self.rows for cell in row.cells)

    @property
    def unexplained(self) -> int:
        """Differing cells for which no reason is known: the whole category was judged, and nobody has said why."""
        return sum(
            cell.ours is not None and not (cell.agrees or cell.known or cell.partial)
            for row in self.rows
            for cell in row.cells
        )

    @property
    def partial(self) -> int:
        """Differing cells of ours that rest on a part of the benchmark."""
        return sum(
            cell.ours is not None and cell.partial and not cell.agrees
            for row in self.rows
            for cell in row.cells
        )


@cache
def _published(slug: str) -> Mapping[str, Any] | None:
    path = settings.BASE_DIR / "fixtures" / "published" / f"{slug}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def printed_beside(board: Leaderboard) -> PrintedTable | None:
    """The paper's rows of the models on this board; None where no paper printed scores of this benchmark."""
    published = _published(board.benchmark.slug)
    if published is None or not set(board.categories.values()) <= set(COLUMN_OF):
        return None
    table, known = published["table_2"], published["known_differences"]
    names = {folder: name for name, folder in published["model_folders"].items()}
    columns = {name: place for place, name in enumerate(table["columns"])}
    whole = _whole_counts(board)
    rows = []
    for one in board.models:
        printed_name = one.model if one.model in table["rows"] else names.get(one.model, "")
        if printed_name not in table["rows"]:
            continue
        values = table["rows"][printed_name]
        expected: Mapping[str, float] = known["differences"].get(one.model, {})
        partial = {key: _is_partial(one.categories.get(key), whole.get(key)) for key in COLUMN_OF}
        cells = [
            _cell(
                one.categories[key].score if key in one.categories else None,
                values[columns[COLUMN_OF[key]]],
                expected.get(key),
                partial[key],
            )
            for key in board.categories.values()
        ]
        shift = sum(expected.values()) / len(COLUMN_OF) if expected else None
        average = one.average if len(board.categories) == len(COLUMN_OF) else None
        cells.append(_cell(average, values[columns[AVERAGE_COLUMN]], shift, any(partial.values())))
        rows.append(PrintedRow(one.model, printed_name, tuple(cells)))
    if not rows:
        return None
    return PrintedTable(
        title=localized(table["title"]),
        source=published["source"],
        explanation=localized(known["explanation"]),
        categories=tuple(board.categories.values()),
        rows=tuple(rows),
    )


def _whole_counts(board: Leaderboard) -> dict[str, int]:
    """How many instructions each category of the whole benchmark has, where that is known."""
    counts: dict[str, int] = {}
    for category in Category.objects.filter(benchmark=board.benchmark, parent=None).prefetch_related(
        "children"
    ):
        parts = sum(child.expected_count or 0 for child in category.children.all())
        if total := category.expected_count or parts:
            counts[category.key] = total
    return counts


def _is_partial(score: CategoryScore | None, whole: int | None) -> bool:
    """Whether clearly less than the whole category was judged; a few missing verdicts are usual."""
    judged = score.n + score.unscored if score else 0
    return whole is not None and judged < MOST_OF_IT * whole


def _cell(ours: float | None, printed: float, expected: float | None, partial: bool) -> PrintedCell:
    """A known difference is printed to hundredths, so it may be off by as much again."""
    agrees = ours is not None and abs(ours - printed) <= ROUNDING
    known = ours is not None and expected is not None and abs(ours - printed - expected) <= 2 * ROUNDING
    return PrintedCell(ours, printed, agrees, known, partial)
