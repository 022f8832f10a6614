"""HelloBench's tables of scores and word counts: 2 (main), 3 (by requested length) and 23 (long-context models)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from accounts.models import Workspace
from generation.importers.records import LONG_CONTEXT
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import MAIN_EXPERIMENT, Benchmark, Category
from judging.leaderboards.table import Leaderboard
from judging.published.columns import HELLOBENCH_COLUMNS, MOST_OF_IT
from judging.published.hellobench.lookup import (
    CATEGORIES,
    Absent,
    benchmark_of,
    board_of,
    misprint_of,
    names_here,
    printed_figures,
)
from judging.published.hellobench.reasons import (
    AUTHORS_VERDICTS,
    FEW_VERDICTS,
    FOLLOWS,
    NEITHER_SPLITTER,
    NO_TEXTS,
    NO_VERDICTS,
    NOT_ALL_VERDICTS,
    SPLITTER_NOT_CHECKED,
    TRAINED_SPLITTER,
    UNKNOWN,
)
from judging.published.paper_table import Cell, compared
from judging.scores.points import CategoryScore

SCORE_DIGITS, WORD_DIGITS = 2, 0
KNOWN_TO = 0.0101
"""A known difference is printed to hundredths, and both of its numbers are rounded."""
WRITING = "heuristic_text_generation"
AVERAGE = ""
"""Stands for the average where a category is asked for."""
BY_PREFIX = {column.removesuffix("_S"): key for key, column in HELLOBENCH_COLUMNS.items()} | {"AVG": AVERAGE}
BY_LENGTH = {"none": MAIN_EXPERIMENT} | {name.removeprefix("length-").upper(): name for name in LENGTHS}
"""What table 3 calls each experiment."""


@dataclass(frozen=True)
class Scored:
    """A printed model's scores in an experiment: our board, or why there is none, and our name, '' for none."""

    board: Leaderboard | Absent
    printed_name: str
    model: str
    whole: Mapping[str, int]

    def cell(self, row: str, column: str, printed: float, category: str) -> Cell:
        """Compare one printed figure; `column` ends in S for a score or WC for words."""
        if column.endswith("_WC"):
            ours, digits, reason = self._words(category), WORD_DIGITS, self._why_words(column, category)
        else:
            ours, digits, reason = self._score(category), SCORE_DIGITS, self._why_score(category)
        return compared(
            row,
            column,
            printed,
            ours,
            digits=digits,
            missing=self._missing(column),
            misprint=misprint_of(self.printed_name, column) if self._is_whole(category) else "",
            reason=reason,
            judges=() if isinstance(self.board, Absent) else (self.board.judge.name,),
        )

    def _cells(self) -> Mapping[str, CategoryScore]:
        if isinstance(self.board, Absent) or not self.model:
            return {}
        return next((row.categories for row in self.board.models if row.model == self.model), {})

    def _score(self, category: str) -> float | None:
        cells = self._cells()
        if category:
            return cells[category].score if category in cells else None
        if not set(CATEGORIES) <= set(cells):
            return None
        return sum(cells[key].score for key in CATEGORIES) / len(CATEGORIES)

    def _words(self, category: str) -> float | None:
        """Mean words over the responses with a usable verdict, as in the authors' script; the average is of categories."""
        if isinstance(self.board, Absent):
            return None
        keys = [category] if category else list(CATEGORIES)
        means = [self.board.words.get((self.model, key)) for key in keys]
        known = [mean for mean in means if mean is not None]
        return sum(known) / len(known) if len(known) == len(keys) else None

    def _missing(self, column: str) -> str:
        if isinstance(self.board, Absent):
            return self.board.reason
        if not self.model:
            return NO_VERDICTS()
        if column.endswith("_WC"):
            return NO_TEXTS()
        return NOT_ALL_VERDICTS()

    def _few(self, category: str) -> str:
        """Say how little of a category was judged, where it is clearly less than all of it; else ''."""
        cells = self._cells()
        for key in [category] if category else CATEGORIES:
            n, whole = cells[key].n if key in cells else 0, self.whole.get(key, 0)
            if n < MOST_OF_IT * whole:
                counts = {"n": n, "whole": whole, "category": key}
                return FEW_VERDICTS(**counts)
        return ""

    def _is_whole(self, category: str) -> bool:
        return not self._few(category)

    def _why_score(self, category: str) -> str:
        few = self._few(category)
        if few or not self._cells():
            return few
        if category:
            return self._known_gap(category) or UNKNOWN()
        others = [key for key in CATEGORIES if self._known_gap(key)]
        if not others:
            return UNKNOWN()
        return FOLLOWS(categories=", ".join(others))

    def _known_gap(self, category: str) -> str:
        """State a difference that the authors' own files give, if this is the one; else ''."""
        published, ours = printed_figures(), self._score(category)
        folder = published["model_folders"].get(self.printed_name, self.printed_name)
        gap = published["known_differences"]["differences"].get(folder, {}).get(category)
        row = published["table_2"]["rows"].get(self.printed_name)
        if gap is None or ours is None or row is None or self._experiment != MAIN_EXPERIMENT:
            return ""
        printed = row[published["table_2"]["columns"].index(HELLOBENCH_COLUMNS[category])]
        if abs(ours - printed - gap) > KNOWN_TO:
            return ""
        return AUTHORS_VERDICTS()

    def _why_words(self, column: str, category: str) -> str:
        few = self._few(category)
        if few:
            return few
        checked = printed_figures()["trained_splitter"]["agrees"].get(self.printed_name)
        if checked is None or self._experiment != MAIN_EXPERIMENT:
            return SPLITTER_NOT_CHECKED()
        if column in checked:
            return TRAINED_SPLITTER()
        return NEITHER_SPLITTER()

    @property
    def _experiment(self) -> str:
        return MAIN_EXPERIMENT if isinstance(self.board, Absent) else self.board.filters.run_experiment


def main_results(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 2."""
    table = printed_figures()["table_2"]
    boards = Boards(workspace, table["rows"])
    return _by_category(boards, table["columns"], table["rows"], lambda _name: MAIN_EXPERIMENT)


def long_context(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 23: the standard models are those of the main experiment."""
    published = printed_figures()
    table = published["table_23"]
    boards = Boards(workspace, table["rows"])
    standard = published["table_2"]["rows"]
    experiment = {name: MAIN_EXPERIMENT if name in standard else LONG_CONTEXT for name in table["rows"]}
    return _by_category(boards, table["columns"], table["rows"], experiment.__getitem__)


def by_length(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 3: heuristic text generation without a requested length, and with each."""
    table = printed_figures()["table_3"]
    boards = Boards(workspace, table["rows"])
    cells = []
    for name, values in table["rows"].items():
        for column, printed in zip(table["columns"], values, strict=True):
            scored = boards.scored(name, BY_LENGTH[column.rpartition("_")[0]])
            cells.append(scored.cell(name, column, printed, WRITING))
    return cells


def _by_category(
    boards: "Boards", columns: Sequence[str], rows: Mapping[str, Sequence[float]], experiment_of: Callable[[str], str]
) -> list[Cell]:
    cells = []
    for name, values in rows.items():
        scored = boards.scored(name, experiment_of(name))
        for column, printed in zip(columns, values, strict=True):
            cells.append(scored.cell(name, column, printed, BY_PREFIX[column.rpartition("_")[0]]))
    return cells


class Boards:
    """The boards of a workspace by experiment, each computed once, and our names of the printed models on them."""

    def __init__(self, workspace: Workspace, printed: Iterable[str]) -> None:
        self._benchmark = benchmark_of(workspace)
        self._printed = list(printed)
        self._boards: dict[str, Leaderboard | Absent] = {}
        self._whole = {} if isinstance(self._benchmark, Absent) else _whole_counts(self._benchmark)

    def scored(self, printed_name: str, experiment: str) -> Scored:
        if experiment not in self._boards:
            known = self._benchmark
            self._boards[experiment] = known if isinstance(known, Absent) else board_of(known, experiment)
        board = self._boards[experiment]
        names = {} if isinstance(board, Absent) else names_here([row.model for row in board.models], self._printed)
        return Scored(board, printed_name, names.get(printed_name, ""), self._whole)


def _whole_counts(benchmark: Benchmark) -> dict[str, int]:
    """Return the number of instructions of each top category, as table 7 has them."""
    rows = Category.objects.filter(benchmark=benchmark, parent__isnull=False, expected_count__isnull=False)
    counts: dict[str, int] = {}
    for key, count in rows.values_list("parent__key", "expected_count"):
        counts[key] = counts.get(key, 0) + (count or 0)
    return counts
