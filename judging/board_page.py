"""What a leaderboard's page shows, in the reader's language."""

from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from accounts.localized import localized
from calibration.charts import Bar, interval_bars
from calibration.drawing import number
from calibration.models import Fit
from calibration.words import interval_meaning
from generation.models import Benchmark, Category
from judging.leaderboards import Leaderboard
from judging.printed_tables import PrintedTable, printed_beside
from judging.scoring import CategoryScore, Interval
from judging.weightings import EQUAL, PUBLISHED, fit_name, fits_for, most_exact


@dataclass(frozen=True)
class BoardRow:
    """One model; a cell is None where it has no usable verdict in that category."""

    place: int
    model: str
    cells: list[CategoryScore | None]
    average: float | None
    interval: Interval | None
    judged: int
    unscored: int


@dataclass(frozen=True)
class BoardPanel:
    """`printed` is the paper's table of the same models, where there is one."""

    opening: str
    figure: str
    caption: str
    categories: list[str]
    rows: list[BoardRow]
    printed: PrintedTable | None
    printed_opening: str
    comparable: bool
    weights: str


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
    intervals, kind, clusters = board.intervals
    printed = printed_beside(board)
    published = board.weighting.fit is not None and board.weighting.fit.kind == Fit.Kind.PUBLISHED
    comparable = published or board.weighting.name == PUBLISHED
    names = {
        row.key: localized(row.names) or row.key for row in Category.objects.filter(pk__in=board.categories)
    }
    rows = [
        BoardRow(
            place,
            one.model,
            [one.categories.get(key) for key in board.categories.values()],
            one.average,
            intervals.get(one.model),
            sum(cell.n for cell in one.categories.values()),
            sum(one.unscored.values()),
        )
        for place, one in enumerate(board.models, 1)
    ]
    return BoardPanel(
        opening=_opening(board, rows),
        figure=_figure(rows, printed if comparable else None),
        caption=interval_meaning(kind, clusters, gettext("instructions")),
        categories=[names[key] for key in board.categories.values()],
        rows=rows,
        printed=printed,
        printed_opening=_printed_opening(printed) if printed else "",
        comparable=comparable,
        weights=board.weighting.name,
    )


def _opening(board: Leaderboard, rows: list[BoardRow]) -> str:
    """Who leads, by how much, and on how much judging that rests."""
    ranked = [row for row in rows if row.average is not None]
    judged, unscored = sum(row.judged for row in rows), sum(row.unscored for row in rows)
    if not ranked:
        said = gettext("No model has been judged in every category yet, so there is no average to rank by.")
    elif len(ranked) == 1:
        said = gettext("%(model)s has an average of %(average)s.") % {
            "model": ranked[0].model, "average": _with_ends(ranked[0]),
        }  # fmt: skip
    else:
        said = gettext("%(first)s leads with an average of %(average)s, before %(second)s with %(other)s.") % {
            "first": ranked[0].model, "average": _with_ends(ranked[0]),
            "second": ranked[1].model, "other": _with_ends(ranked[1]),
        }  # fmt: skip
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


def _figure(rows: list[BoardRow], printed: PrintedTable | None) -> str:
    """Averages with intervals, the paper's as open markers; '' where no model has an average."""
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
        x_title=gettext("Average of the categories' scores; 100 is perfect"),
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
