"""The contents of a leaderboard's page, in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from calibration.figures.charts import Bar, interval_bars
from calibration.models import Fit
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.statistics import interval_meaning
from core.messages.localized import localized
from generation.models import Benchmark, Category
from judging.leaderboards.query import AVERAGE
from judging.leaderboards.table import Leaderboard
from judging.leaderboards.weighting import EQUAL, fit_name, fits_for, most_exact
from judging.published.tables import PrintedTable, printed_beside
from judging.scores.points import CategoryScore, Interval
from judging.web.leaderboards.answer import board_opening, places
from judging.web.leaderboards.messages import MeasureWords, words_of
from judging.web.leaderboards.sections import completion_block, corrected_block, standings_block, words_block


@dataclass(frozen=True)
class BoardRow:
    """One model; a cell is None if it has no usable verdict in that category."""

    place: int | None
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


@dataclass(frozen=True)
class BoardPanel:
    """`printed` is the published table of the same models, if there is one; `scores` is the figure and its table."""

    opening: str
    scores: Block
    heads: list[Head]
    rows: list[BoardRow]
    blocks: list[Block]
    printed: PrintedTable | None
    printed_opening: str
    words: MeasureWords
    categories: list[str]
    left_out: int

    @property
    def alone(self) -> bool:
        """Whether there is only one column, whose scores are the overall ones."""
        return len(self.categories) == 1

    @property
    def unscored(self) -> int:
        return sum(row.unscored for row in self.rows)


def weights_choices(benchmark: Benchmark) -> list[tuple[str, str]]:
    """(name in the address, label), published ones first."""
    found = []
    for fit in fits_for(benchmark):
        if fit.kind == Fit.Kind.PUBLISHED:
            found.append((fit_name(fit), gettext("published: %(name)s") % {"name": fit.published_name or fit.source}))
        else:
            made = fit.created_at.strftime("%Y-%m-%d %H:%M")
            study = fit.study.name if fit.study else ""
            name = f" · {fit.published_name}" if fit.published_name else ""
            found.append(
                (fit_name(fit), gettext("fitted: %(study)s, %(made)s") % {"study": study, "made": made} + name)
            )
    return [*found, (EQUAL, gettext("equal weights (AVG-C)"))]


def default_weights(benchmark: Benchmark) -> str:
    """The published weights if there are any, else the newest fit, else equal weights."""
    fits = fits_for(benchmark)
    published = most_exact([fit for fit in fits if fit.kind == Fit.Kind.PUBLISHED])
    chosen = published or (fits[0] if fits else None)
    return fit_name(chosen) if chosen else EQUAL


def board_panel(board: Leaderboard) -> BoardPanel:
    words = words_of(board.measure.name)
    names = column_names(board)
    printed = printed_beside(board)
    rows = _rows(board)
    intervals = board.intervals
    blocks = [
        standings_block(board) if board.ranked else None,
        completion_block(board),
        corrected_block(board, words) if board.ranked else None,
        words_block(board, names, words) if board.ranked else None,
    ]
    return BoardPanel(
        opening=board_opening(board, words),
        scores=Block(
            key="scores",
            title=gettext("Scores"),
            figure=_figure(rows, printed if printed and printed.comparable else None, words),
            caption=interval_meaning(intervals.kind, intervals.clusters, gettext("instructions")),
            table=_scores_table(board, rows, names, words),
        ),
        heads=_heads(board, names, words),
        rows=rows,
        blocks=[one for one in blocks if one is not None],
        printed=printed,
        printed_opening=_printed_opening(printed) if printed else "",
        words=words,
        categories=[names[key] for key in board.categories.values()],
        left_out=board.left_out,
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
    place = places(board)
    return [
        BoardRow(
            place.get(one.model),
            one.model,
            [one.categories.get(key) for key in board.categories.values()],
            one.average,
            board.intervals.averages.get(board.pks[one.model]),
            board.words.get((one.model, "")),
            sum(cell.n for cell in one.categories.values()),
            sum(one.unscored.values()),
        )
        for one in board.models
    ]


def _heads(board: Leaderboard, names: dict[str, str], words: MeasureWords) -> list[Head]:
    """The heads of the overall score, which a phone shows next to the model, and of the columns."""
    query = board.query
    sorted_by = query.sort if query.sort in board.categories.values() else AVERAGE
    found = []
    for key, name in [(AVERAGE, words.overall), *((key, names[key]) for key in board.categories.values())]:
        current = key == sorted_by and query.sort in (sorted_by, AVERAGE)
        order = ("ascending" if query.rising else "descending") if current else ""
        found.append(Head(name, query.address(sort=key, rising=current and not query.rising), order))
    return found


def _scores_table(board: Leaderboard, rows: Sequence[BoardRow], names: dict[str, str], words: MeasureWords) -> Table:
    """Return everything in the scores' table, with all digits and each category's interval."""
    columns = [Column(gettext("Model")), Column(gettext("Rank"), 0), Column(words.overall, 2)]
    columns += [Column(gettext("From"), 1), Column(gettext("To"), 1)]
    for key in board.categories.values():
        columns += [
            Column(names[key], 2),
            Column(gettext("%(name)s: low") % {"name": names[key]}, 1),
            Column(gettext("%(name)s: high") % {"name": names[key]}, 1),
            Column(gettext("%(name)s: judged") % {"name": names[key]}, 0),
        ]
    columns += [Column(gettext("Words"), 0), Column(gettext("Judged"), 0), Column(gettext("Unscored"), 0)]
    found: list[list[object]] = []
    for row in rows:
        ends = row.interval
        line: list[object] = [row.model, row.place, row.average, *((ends.low, ends.high) if ends else (None, None))]
        for (code, _key), cell in zip(board.categories.items(), row.cells, strict=True):
            inner = board.intervals.cells.get((board.pks[row.model], code))
            line += [
                cell.score if cell else None,
                *((inner.low, inner.high) if inner else (None, None)),
                cell.n if cell else 0,
            ]
        found.append([*line, row.words, row.judged, row.unscored])
    return Table(columns, found)


def _figure(rows: list[BoardRow], printed: PrintedTable | None, words: MeasureWords) -> str:
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
        x_title=words.axis,
        reference=reference,
        series=(gettext("ours"), gettext("published")),
    )


def _printed_opening(table: PrintedTable) -> str:
    equal = table.compared - table.differing
    if not table.compared:
        return gettext("No row of this table has been scored completely here, so only the published numbers are shown.")
    if table.differing and not table.comparable:
        return ngettext(
            "%(equal)d of %(n)d score equals the published one up to rounding, with settings that differ from the "
            "paper's.",
            "%(equal)d of %(n)d scores equal the published ones up to rounding, with settings that differ from the"
            " paper's.",
            table.compared,
        ) % {"equal": equal, "n": table.compared}
    said = ngettext(
        "%(equal)d of %(n)d score equals the published one up to rounding.",
        "%(equal)d of %(n)d scores equal the published ones up to rounding.",
        table.compared,
    ) % {"equal": equal, "n": table.compared}
    if table.partial:
        said += " " + ngettext(
            "%(n)d covers only part of the benchmark, so it need not be equal.",
            "%(n)d cover only part of the benchmark, so they need not be equal.",
            table.partial,
        ) % {"n": table.partial}
    if table.other_judge:
        said += " " + ngettext(
            "%(n)d was given by a different judge than the paper's, so it need not be equal.",
            "%(n)d were given by a different judge than the paper's, so they need not be equal.",
            table.other_judge,
        ) % {"n": table.other_judge}
    if table.known:
        said += " " + ngettext("%(n)d differs for a known reason.", "%(n)d differ for a known reason.", table.known) % {
            "n": table.known
        }
    if table.unexplained:
        said += " " + ngettext(
            "%(n)d differs for an unknown reason.", "%(n)d differ for an unknown reason.", table.unexplained
        ) % {"n": table.unexplained}
    return said
