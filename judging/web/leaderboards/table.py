"""The page of a leaderboard: its scores with their figure and table, the sections below, a paper's table beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext, ngettext

from annotation.models import Rater
from calibration.figures.charts import Bar, interval_bars
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.failed_judges import all_marked, marked, marking, with_mark
from calibration.web.messages.statistics import interval_meaning
from calibration.web.rankings.pairs import rank_columns
from core.messages.localized import localized
from generation.models import Category
from judging.leaderboards.filters import AVERAGE
from judging.leaderboards.table import Leaderboard
from judging.published.tables import PrintedTable, printed_beside
from judging.scores.points import CategoryScore, Interval, ModelScores
from judging.web.leaderboards.margins import margin_block
from judging.web.leaderboards.messages import (
    MetricMessages,
    metric_messages,
    opening,
    ranks_note,
    taken_as_given,
    unranked_notes,
)
from judging.web.leaderboards.sections import (
    completion_block,
    corrected_block,
    position_block,
    standings_block,
    words_block,
)


@dataclass(frozen=True)
class BoardRow:
    """One model; a cell is None if it has no usable verdict in that category.

    `ranks` are the smallest and the largest rank that stay possible, None for a model without a rank.
    """

    place: int | None
    ranks: tuple[int, int] | None
    model: str
    cells: list[CategoryScore | None]
    average: float | None
    interval: Interval | None
    words: float | None
    judged: int
    unscored: int


@dataclass(frozen=True)
class Head:
    """A column head: its name, the address that sorts by it, and the current order ('' if it is not sorted)."""

    name: str
    address: str
    order: str


@dataclass(frozen=True, kw_only=True)
class LeaderboardPage(ResultPage):
    """The first block holds the scores, `details` are the blocks below. `printed` is the published table of the same
    models, if there is one.
    """

    heads: list[Head]
    rows: list[BoardRow]
    printed: PrintedTable | None
    printed_opening: str
    categories: list[str]
    left_out: int
    unranked_notes: list[str]
    ranks_note: str

    @property
    def scores(self) -> Block:
        return self.blocks[0]

    @property
    def details(self) -> Sequence[Block]:
        return self.blocks[1:]

    @property
    def alone(self) -> bool:
        """Whether there is only one column, whose scores are the overall ones."""
        return len(self.categories) == 1

    @property
    def unscored(self) -> int:
        return sum(row.unscored for row in self.rows)


def _why_not_the_mean(board: Leaderboard) -> list[str]:
    """Say why a total of points differs from the mean on a study's page of rankings."""
    if board.metric.name != "points":
        return []
    return [
        gettext(
            "The mean on a study's page of rankings differs from this total: it counts every rating by people alike, "
            "while the total weights a judge's answers by checklist item and averages them by category."
        )
    ]


def leaderboard_page(board: Leaderboard) -> LeaderboardPage:
    with marking(board.failed):
        return _page(board)


def _page(board: Leaderboard) -> LeaderboardPage:
    messages = metric_messages(board.metric.name)
    names = column_names(board)
    printed = printed_beside(board)
    rows = _rows(board)
    scores = Block(
        key="scores",
        title=gettext("Scores"),
        figure=_figure(board, rows, printed if printed and printed.comparable else None, messages),
        caption=" ".join(
            [
                interval_meaning(board.intervals.kind, board.intervals.clusters, gettext("instructions")),
                *([taken_as_given()] if board.intervals.kind != "none" else []),
            ]
        ),
        table=scores_table(board),
    )
    sections = [completion_block(board), position_block(board)]
    if board.ranked:
        sections = [
            margin_block(board),
            standings_block(board),
            *sections,
            corrected_block(board, messages),
            words_block(board, names),
        ]
    return LeaderboardPage(
        title=gettext("Leaderboard"),
        opening=opening(board),
        blocks=[scores, *(all_marked(block, board.judge.name) for block in sections if block is not None)],
        method=[messages.method, *_why_not_the_mean(board)],
        sources=[messages.source],
        heads=_heads(board, names, messages),
        rows=rows,
        printed=printed,
        printed_opening=_printed_opening(printed) if printed else "",
        categories=[names[key] for key in board.categories.values()],
        left_out=board.left_out,
        unranked_notes=unranked_notes(board),
        ranks_note=ranks_note(board),
        failed=[row.judge.name for row in board.failed],
    )


def column_names(board: Leaderboard) -> dict[str, str]:
    """Return the name of each column, by its key."""
    names = {
        row.key: localized(row.names) or row.key
        for row in Category.objects.filter(benchmark=board.benchmark, pk__in=board.categories)
    }
    everything = {"all": gettext("All")}
    return {key: names.get(key) or everything.get(key, key) for key in board.categories.values()}


def _rows(board: Leaderboard) -> list[BoardRow]:
    """In the board's order; a model's rank is by its overall score, however the rows are sorted."""
    return [
        BoardRow(
            board.ranks.get(row.model),
            board.ranks_left.get(row.model),
            row.model,
            [row.categories.get(key) for key in board.categories.values()],
            row.average,
            board.intervals.averages.get(board.pks[row.model]),
            board.words.get((row.model, "")),
            _judged(board, row),
            sum(row.unscored.values()),
        )
        for row in board.models
    ]


def _judged(board: Leaderboard, row: ModelScores) -> int:
    """Return the number of judged responses or comparisons; one that is in several groups of tasks counts once."""
    if not board.filters.groups:
        return sum(cell.n for cell in row.categories.values())
    own = board.observations.model == board.pks[row.model]
    sides = np.column_stack([board.observations.response[own], board.observations.rival[own]])
    return len(np.unique(sides[sides[:, 0] > 0], axis=0))


def _heads(board: Leaderboard, names: dict[str, str], messages: MetricMessages) -> list[Head]:
    """The heads of the overall score, which a phone shows next to the model, and of the columns."""
    filters = board.filters
    sorted_by = filters.sort if filters.sort in board.categories.values() else AVERAGE
    heads = []
    for key, name in [(AVERAGE, messages.overall), *((key, names[key]) for key in board.categories.values())]:
        current = key == sorted_by and filters.sort in (sorted_by, AVERAGE)
        order = ("ascending" if filters.rising else "descending") if current else ""
        heads.append(Head(name, filters.address(sort=key, rising=current and not filters.rising), order))
    return heads


def scores_table(board: Leaderboard) -> Table:
    """Return everything in the scores' table, with all digits, each category's interval and a judge's mark."""
    rows, names, messages = _rows(board), column_names(board), metric_messages(board.metric.name)
    columns = [Column(gettext("Model")), *rank_columns(), Column(messages.overall, 2)]
    columns += [*Column.ends(gettext("From"), gettext("To"), 1)]
    for key in board.categories.values():
        columns += [
            Column(names[key], 2),
            Column(gettext("%(name)s: low") % {"name": names[key]}, 1),
            Column(gettext("%(name)s: high") % {"name": names[key]}, 1),
            Column(gettext("%(name)s: judged") % {"name": names[key]}, 0),
        ]
    columns += [Column(gettext("Words"), 0), Column(gettext("Judged"), 0), Column(gettext("Unscored"), 0)]
    lines: list[list[object]] = []
    for row in rows:
        ends = row.interval
        line: list[object] = [row.model, row.place, *(row.ranks or (None, None)), row.average]
        line += (ends.low, ends.high) if ends else (None, None)
        for (code, _key), cell in zip(board.categories.items(), row.cells, strict=True):
            inner = board.intervals.cells.get((board.pks[row.model], code))
            line += [
                cell.score if cell else None,
                *((inner.low, inner.high) if inner else (None, None)),
                cell.n if cell else 0,
            ]
        lines.append([*line, row.words, row.judged, row.unscored])
    if board.judge.provenance == Rater.Provenance.SCRIPTED:
        columns.append(Column(gettext("Scripted judges")))
        lines = [[*line, board.judge.name] for line in lines]
    with marking(board.failed):
        return marked(Table(columns, lines), [board.judge.name] * len(lines))


def _figure(board: Leaderboard, rows: list[BoardRow], printed: PrintedTable | None, messages: MetricMessages) -> str:
    """Draw the overall scores with intervals, the published ones as open markers; '' if no model has one."""
    bars = [
        Bar(row.model, row.average, *((row.interval.low, row.interval.high) if row.interval else ()))
        for row in rows
        if row.average is not None
    ]
    if not bars:
        return ""
    overall = {row.model: row.overall for row in printed.rows} if printed else {}
    reference = [
        Bar(model, cell.printed)
        for model, cell in overall.items()
        if cell and cell.ours is not None and cell.printed is not None
    ]
    return interval_bars(
        bars,
        title=gettext("Average score of each model"),
        x_title=with_mark(messages.axis, board.judge.name),
        reference=reference,
        series=(gettext("ours"), gettext("published")),
    )


def _printed_opening(table: PrintedTable) -> str:
    equal = table.compared - table.differing
    if not table.compared:
        return gettext("No row of this table has been scored completely here, so only the published numbers are shown.")
    if table.differing and not table.comparable:
        return ngettext(
            "%(equal)s of %(n)s score equals the published one up to rounding, with settings that differ from the "
            "paper's.",
            "%(equal)s of %(n)s scores equal the published ones up to rounding, with settings that differ from the"
            " paper's.",
            table.compared,
        ) % {"equal": f"{equal:,}", "n": f"{table.compared:,}"}
    sentences = [
        ngettext(
            "%(equal)s of %(n)s score equals the published one up to rounding.",
            "%(equal)s of %(n)s scores equal the published ones up to rounding.",
            table.compared,
        )
        % {"equal": f"{equal:,}", "n": f"{table.compared:,}"}
    ]
    if table.partial:
        sentences.append(
            ngettext(
                "%(n)s covers only part of the benchmark, so it need not be equal.",
                "%(n)s cover only part of the benchmark, so they need not be equal.",
                table.partial,
            )
            % {"n": f"{table.partial:,}"}
        )
    if table.other_judge:
        sentences.append(
            ngettext(
                "%(n)s was given by a different judge than the paper's, so it need not be equal.",
                "%(n)s were given by a different judge than the paper's, so they need not be equal.",
                table.other_judge,
            )
            % {"n": f"{table.other_judge:,}"}
        )
    if table.known:
        sentences.append(
            ngettext("%(n)s differs for a known reason.", "%(n)s differ for a known reason.", table.known)
            % {"n": f"{table.known:,}"}
        )
    if table.unexplained:
        sentences.append(
            ngettext("%(n)s differs for an unknown reason.", "%(n)s differ for an unknown reason.", table.unexplained)
            % {"n": f"{table.unexplained:,}"}
        )
    return " ".join(sentences)
