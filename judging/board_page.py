"""What a leaderboard's page shows, in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from accounts.localized import localized
from calibration.charts import Bar, interval_bars
from calibration.drawing import number
from calibration.models import Fit
from calibration.result_blocks import Block, Column, Table
from calibration.words import interval_meaning
from generation.models import Benchmark, Category
from judging.board_blocks import completion_block, corrected_block, standings_block, words_block
from judging.board_query import AVERAGE
from judging.leaderboards import Leaderboard
from judging.measure_words import MeasureWords, words_of
from judging.measures import POINTS
from judging.printed_tables import PrintedTable, printed_beside
from judging.scoring import CategoryScore, Interval
from judging.weightings import EQUAL, PUBLISHED, fit_name, fits_for, most_exact


@dataclass(frozen=True)
class BoardRow:
    """One model; a cell is None where it has no usable verdict in that category."""

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
    """A column's head: its name, the address that sorts by it, and how it is sorted now ('' where it is not)."""

    name: str
    address: str
    order: str


@dataclass(frozen=True)
class BoardPanel:
    """`printed` is the paper's table of the same models, where there is one; `scores` the figure and its table."""

    opening: str
    scores: Block
    heads: list[Head]
    rows: list[BoardRow]
    blocks: list[Block]
    printed: PrintedTable | None
    printed_opening: str
    comparable: bool
    words: MeasureWords
    categories: list[str]
    left_out: int

    def block(self, key: str) -> Block | None:
        return next((one for one in [self.scores, *self.blocks] if one.key == key), None)


def weights_choices(benchmark: Benchmark) -> list[tuple[str, str]]:
    """(name in the address, name to read), published ones first."""
    found = []
    for fit in fits_for(benchmark):
        if fit.kind == Fit.Kind.PUBLISHED:
            found.append(
                (fit_name(fit), gettext("published: %(name)s") % {"name": fit.published_name or fit.source})
            )
        else:
            made = fit.created_at.strftime("%Y-%m-%d %H:%M")
            study = fit.study.name if fit.study else ""
            name = f" · {fit.published_name}" if fit.published_name else ""
            found.append(
                (
                    fit_name(fit),
                    gettext("fitted: %(study)s, %(made)s") % {"study": study, "made": made} + name,
                )
            )
    return [*found, (EQUAL, gettext("equal weights (AVG-C)"))]


def default_weights(benchmark: Benchmark) -> str:
    """The published weights where there are any, else the newest fit, else equal ones."""
    fits = fits_for(benchmark)
    published = most_exact([fit for fit in fits if fit.kind == Fit.Kind.PUBLISHED])
    chosen = published or (fits[0] if fits else None)
    return fit_name(chosen) if chosen else EQUAL


def board_panel(board: Leaderboard) -> BoardPanel:
    words = words_of(board.measure.name)
    names = column_names(board)
    whole = board.measure.name == POINTS and not board.query.narrows
    printed = printed_beside(board) if whole else None
    published = board.weighting.fit is not None and board.weighting.fit.kind == Fit.Kind.PUBLISHED
    comparable = published or board.weighting.name == PUBLISHED
    rows = _rows(board)
    intervals = board.intervals
    blocks = [
        standings_block(board),
        completion_block(board),
        corrected_block(board, words),
        words_block(board, names, words),
    ]
    return BoardPanel(
        opening=_opening(board, rows, words),
        scores=Block(
            key="scores",
            title=gettext("Scores"),
            figure=_figure(rows, printed if comparable else None, words),
            caption=interval_meaning(intervals.kind, intervals.clusters, gettext("instructions")),
            table=_scores_table(board, rows, names, words),
        ),
        heads=_heads(board, names, words),
        rows=rows,
        blocks=[one for one in blocks if one is not None],
        printed=printed,
        printed_opening=_printed_opening(printed) if printed else "",
        comparable=comparable,
        words=words,
        categories=[names[key] for key in board.categories.values()],
        left_out=board.left_out,
    )


def column_names(board: Leaderboard) -> dict[str, str]:
    """What each column is called, by its key."""
    names = {
        row.key: localized(row.names) or row.key
        for row in Category.objects.filter(benchmark=board.benchmark, pk__in=board.categories)
    }
    everything = {"all": gettext("All")}
    return {key: names.get(key) or everything.get(key, key) for key in board.categories.values()}


def _rows(board: Leaderboard) -> list[BoardRow]:
    """In the board's order; a model's place is by its overall score, whatever the rows are sorted by."""
    averages = sorted((one.average for one in board.models if one.average is not None), reverse=True)
    return [
        BoardRow(
            None if one.average is None else averages.index(one.average) + 1,
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
    """Of the columns and the overall score."""
    query = board.query
    sorted_by = query.sort if query.sort in board.categories.values() else AVERAGE
    found = []
    for key, name in [*((key, names[key]) for key in board.categories.values()), (AVERAGE, words.overall)]:
        current = key == sorted_by and query.sort in (sorted_by, AVERAGE)
        order = ("ascending" if query.rising else "descending") if current else ""
        found.append(Head(name, query.address(sort=key, rising=current and not query.rising), order))
    return found


def _scores_table(
    board: Leaderboard, rows: Sequence[BoardRow], names: dict[str, str], words: MeasureWords
) -> Table:
    """Everything the scores' table shows, with every digit and the ends of each category's interval."""
    columns = [Column(gettext("Model")), Column(gettext("Rank"), 0), Column(words.overall, 2)]
    columns += [Column(gettext("From"), 1), Column(gettext("To"), 1)]
    for key in board.categories.values():
        columns += [
            Column(names[key], 2),
            Column(gettext("%(name)s: from") % {"name": names[key]}, 1),
            Column(gettext("%(name)s: to") % {"name": names[key]}, 1),
            Column(gettext("%(name)s: judged") % {"name": names[key]}, 0),
        ]
    columns += [Column(gettext("Words"), 0), Column(gettext("Judged"), 0), Column(gettext("Unscored"), 0)]
    found: list[list[object]] = []
    for row in rows:
        ends = row.interval
        line: list[object] = [
            row.model,
            row.place,
            row.average,
            *((ends.low, ends.high) if ends else (None, None)),
        ]
        for (code, _key), cell in zip(board.categories.items(), row.cells, strict=True):
            inner = board.intervals.cells.get((board.pks[row.model], code))
            line += [
                cell.score if cell else None,
                *((inner.low, inner.high) if inner else (None, None)),
                cell.n if cell else 0,
            ]
        found.append([*line, row.words, row.judged, row.unscored])
    return Table(columns, found)


def _opening(board: Leaderboard, rows: list[BoardRow], words: MeasureWords) -> str:
    """Who leads, by how much, and on how much judging that rests."""
    ranked = sorted((row for row in rows if row.average is not None), key=lambda row: -(row.average or 0.0))
    judged, unscored = sum(row.judged for row in rows), sum(row.unscored for row in rows)
    if board.measure.paired:
        judged = len(
            set(zip(board.entries.response.tolist(), board.entries.rival.tolist(), strict=True))
        ) // (1 if board.query.against else 2)
    if not ranked:
        said = gettext("No model has been judged in every category yet, so there is no average to rank by.")
    elif board.measure.name == POINTS:
        said = _leads(ranked)
    else:
        said = gettext("%(first)s leads: %(overall)s %(value)s.") % {
            "first": ranked[0].model, "overall": _in_a_sentence(words.overall), "value": _with_ends(ranked[0]),
        }  # fmt: skip
        if len(ranked) > 1:
            said += " " + gettext("Next is %(second)s with %(other)s.") % {
                "second": ranked[1].model, "other": _with_ends(ranked[1]),
            }  # fmt: skip
    if board.measure.paired:
        said += " " + ngettext("%(judge)s judged %(n)d pair.", "%(judge)s judged %(n)d pairs.", judged) % {
            "judge": board.judge.name,
            "n": judged,
        }
    else:
        said += " " + ngettext(
            "%(judge)s judged %(n)d response.", "%(judge)s judged %(n)d responses.", judged
        ) % {"judge": board.judge.name, "n": judged}
    if unscored:
        said += " " + ngettext(
            "%(n)d verdict could not be used and is left out.",
            "%(n)d verdicts could not be used and are left out.",
            unscored,
        ) % {"n": unscored}
    return said


def _in_a_sentence(name: str) -> str:
    return name if name.isupper() else name.lower()


def _leads(ranked: list[BoardRow]) -> str:
    if len(ranked) == 1:
        return gettext("%(model)s has an average of %(average)s.") % {
            "model": ranked[0].model, "average": _with_ends(ranked[0]),
        }  # fmt: skip
    return gettext("%(first)s leads with an average of %(average)s, before %(second)s with %(other)s.") % {
        "first": ranked[0].model, "average": _with_ends(ranked[0]),
        "second": ranked[1].model, "other": _with_ends(ranked[1]),
    }  # fmt: skip


def _with_ends(row: BoardRow) -> str:
    assert row.average is not None
    if row.interval is None:
        return number(row.average, 0.1)
    step = 0.1 if row.interval.high - row.interval.low < 20 else 1.0
    return gettext("%(value)s (%(low)s to %(high)s)") % {
        "value": number(row.average, step),
        "low": number(row.interval.low, step),
        "high": number(row.interval.high, step),
    }


def _figure(rows: list[BoardRow], printed: PrintedTable | None, words: MeasureWords) -> str:
    """Overall scores with intervals, the paper's as open markers; '' where no model has one."""
    bars = [
        Bar(row.model, row.average, *((row.interval.low, row.interval.high) if row.interval else ()))
        for row in rows
        if row.average is not None
    ]
    if not bars:
        return ""
    averages = {row.model: row.cells[-1] for row in printed.rows} if printed else {}
    reference = [Bar(model, cell.printed) for model, cell in averages.items() if cell.ours is not None]
    return interval_bars(
        bars,
        title=gettext("Average score of each model"),
        x_title=words.axis,
        reference=reference,
        series=(gettext("ours"), gettext("printed")),
    )


def _printed_opening(table: PrintedTable) -> str:
    equal = table.compared - table.differing
    said = ngettext(
        "%(equal)d of %(n)d score equals the printed one but for rounding.",
        "%(equal)d of %(n)d scores equal the printed ones but for rounding.",
        table.compared,
    ) % {"equal": equal, "n": table.compared}
    if table.partial:
        said += " " + ngettext(
            "%(n)d rests on a part of the benchmark only, so it need not be equal.",
            "%(n)d rest on a part of the benchmark only, so they need not be equal.",
            table.partial,
        ) % {"n": table.partial}
    if table.known:
        said += " " + ngettext("%(n)d differs as is known.", "%(n)d differ as is known.", table.known) % {
            "n": table.known
        }
    if table.unexplained:
        said += " " + ngettext(
            "%(n)d differs for no known reason.", "%(n)d differ for no known reason.", table.unexplained
        ) % {"n": table.unexplained}
    return said
