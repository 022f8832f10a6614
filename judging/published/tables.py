"""Compare a paper's table with ours, cell by cell: what agrees, and which differences are known and why."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.utils.translation import gettext

from annotation.models import Rater
from core.messages.localized import localized
from generation.models import MAIN_EXPERIMENT
from judging.leaderboards.table import Leaderboard
from judging.models import Judge
from judging.published.columns import Published, Quantity, plain_name, quantities_of


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
def published_tables(slug: str) -> Published | None:
    """Return what the benchmark's paper printed; None where the project carries nothing of it."""
    path = settings.BASE_DIR / "fixtures" / "published" / f"{slug}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table_source(published: Published, table: str) -> str:
    """Return authors, paper and the number of one table."""
    paper = str(published["source"]).rsplit(":", 1)[0]
    return gettext("%(paper)s, table %(number)s") % {"paper": paper, "number": table.removeprefix("table_")}


def table_notes(published: Published, table: str, columns: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the notes on a table; a note on some columns only where one of them is shown."""
    shown = set(columns)
    return tuple(
        localized(note["text"])
        for note in published["notes"]
        if note["where"] == table and ("columns" not in note or shown & set(note["columns"]))
    )


def notes_beside_paper(published: Published, table: str) -> tuple[str, ...]:
    """Return the notes on a table that hold wherever all its columns stand, not on a leaderboard alone."""
    return tuple(localized(note["text"]) for note in published["notes"] if note["where"] == table and "on" not in note)


def printed_beside(board: Leaderboard) -> PrintedTable | None:
    """Return the paper's rows of the models on this board; None where it printed no such score.

    The tables are of the whole benchmark in its main experiment, so a part of it or another experiment has none.
    """
    published = published_tables(board.benchmark.slug)
    if published is None or not board.filters.is_of_whole or board.filters.run_experiment != MAIN_EXPERIMENT:
        return None
    names = printed_names(published, board.model_names.values())
    quantities = quantities_of(board, published, names)
    if quantities is None:
        return None
    table = published[quantities.table]
    places = {name: place for place, name in enumerate(table["columns"])}
    same_judge = judged_by(board.judge, published)
    rows = []
    for row in board.models:
        printed_name = names.get(row.model, "")
        if printed_name not in table["rows"]:
            continue
        values = table["rows"][printed_name]
        cells = [_cell(column, row.model, values[places[column.column]], same_judge) for column in quantities.columns]
        overall = next((cell for cell, column in zip(cells, quantities.columns, strict=True) if column.on_axis), None)
        rows.append(PrintedRow(row.model, printed_name, tuple(cells), overall))
    if not rows:
        return None
    return PrintedTable(
        title=localized(table["title"]),
        source=table_source(published, quantities.table),
        explanation=localized(published["known_differences"]["explanation"]),
        heads=tuple(column.head for column in quantities.columns),
        rows=tuple(rows),
        notes=table_notes(published, quantities.table, (column.column for column in quantities.columns)),
        conditions=tuple(quantities.conditions),
        judge=localized(published["judge"]["text"]),
    )


def printed_names(published: Published, models: Iterable[str]) -> dict[str, str]:
    """Return the paper's name of each of our models that it has, by the name there or in the authors' data."""
    tables = [table for key, table in published.items() if key.startswith("table_")]
    known = {
        plain_name(name): name for table in tables if isinstance(table.get("rows"), dict) for name in table["rows"]
    }
    known |= {plain_name(folder): name for name, folder in published["model_folders"].items()}
    return {model: known[plain_name(model)] for model in models if plain_name(model) in known}


def judged_by(judge: Rater, published: Published) -> bool:
    """Whether this judge bears the name of the paper's, itself or its model."""
    row = Judge.objects.filter(rater=judge).select_related("language_model").first()
    names = {judge.label, judge.name, *([row.language_model.name] if row and row.language_model else [])}
    theirs = {plain_name(name) for name in published["judge"]["names"]}
    return bool(theirs & {plain_name(name) for name in names})


def judges_of_paper(judges: Iterable[Rater], published: Published) -> list[Rater]:
    """Return those of these judges that bear the name of the paper's.

    Where one of them has loaded verdicts, such as the authors', those that were run here are left out; where one is real,
    those that are scripted.
    """
    named = [judge for judge in judges if judged_by(judge, published)]
    run_here = set(Judge.objects.filter(rater__in=named).values_list("rater", flat=True))
    loaded = [judge for judge in named if judge.pk not in run_here]
    return loaded or [judge for judge in named if not _is_scripted(judge)] or named


def by_likeness(judges: Iterable[Rater], published: Published) -> list[Rater]:
    """Return the judges in the order in which they stand for the paper's: those of its name, then others, scripted last."""
    known = list(judges)
    named = judges_of_paper(known, published)
    others = [judge for judge in known if judge not in named]
    return [*named, *sorted(others, key=lambda judge: (_is_scripted(judge), not judged_by(judge, published)))]


def _is_scripted(judge: Rater) -> bool:
    return bool(judge.provenance == Rater.Provenance.SCRIPTED)


def _cell(column: Quantity, model: str, printed: float | None, same_judge: bool) -> PrintedCell:
    """Compare one value. A known difference is printed to hundredths, so it may be off by as much again."""
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
