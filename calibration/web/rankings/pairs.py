"""Blocks of rankings from pairs: strengths and ranks, who is ahead, the spread of Elo, points, position and length."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from math import exp, sqrt

from django.utils.translation import gettext

from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.codec import Missing
from calibration.reports.pair_rankings import (
    CategoryPoints,
    Effects,
    EloRatings,
    ModelElo,
    ModelStrength,
    PairParts,
    PeopleSways,
    Strengths,
    SuchEnds,
    TieStrengths,
)
from calibration.reports.rankings import ModelMean
from calibration.statistics.judges.bias import LengthBias, PositionBias
from calibration.statistics.ranking.coverage import Unranked
from calibration.statistics.ranking.elo import elo_variance_law, simulate_elo_variance
from calibration.statistics.ranking.pairs import Points
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, IntArray
from calibration.statistics.ties import descending
from calibration.web.blocks import Block, Cells, Column, Table, cells_of, span_of
from calibration.web.messages.intervals import ends_meaning, ends_words, estimate_words
from calibration.web.messages.names import category_names
from calibration.web.messages.people_estimates import (
    named_cells,
    people_cells,
    people_columns,
    people_words,
    populations_meaning,
)
from calibration.web.messages.populations import both_words, ends_columns, populations_note
from calibration.web.messages.reasons import reason_of
from calibration.web.rankings.differences import differences_block


def pair_blocks(found: PairParts, clusters: str, *, items: bool) -> list[Block]:
    """Build the blocks; `clusters` names what the intervals resample whole, in the reader's language."""
    return [
        _strength(found.strength, clusters),
        differences_block(found.strength, clusters, items=items),
        _elo(found.elo, found.strength),
        _elo_law(found.elo),
        _points(found.points, found.points_such, clusters),
        _davidson(found.davidson, found.davidson_such),
        _effects(found.effects, clusters),
        position_block(found.position, found.sways),
        length_block(found.length, found.sways),
        *_categories(found.by_category),
    ]


def _strength(found: Strengths | Missing, clusters: str) -> Block:
    title = gettext("Strength (Bradley-Terry)")
    if isinstance(found, Missing):
        return Block("strength", title, reason=reason_of(found))
    kind = found.interval_kind
    figure = ranges(
        [RangeRow(row.model, [_strength_span(row)], note=_rank_note(row, kind)) for row in found.models],
        title=title,
        x_title=gettext("Strength in Elo points"),
        series=[gettext("Bradley-Terry")],
    )
    table = Table(
        [
            *(Column(gettext("Model")), Column(gettext("Strength"), 1), *ends_columns(1)),
            *(Column(gettext("One-sided bound"), 1, optional=True), *rank_columns(), not_ranked_column()),
        ],
        [
            [
                *(row.model, row.strength, row.such_low, row.such_high),
                *((None, None) if row.bound else cells_of(row.strength, row.low, row.high, kind)[1:]),
                *(row.bound_at, *_rank_cells(row, kind), row.not_ranked),
            ]
            for row in found.models
        ],
    )
    such = any(row.such_low is not None for row in found.models)
    caption = lines_for_such() if such else ends_meaning(kind, found.clusters, clusters)
    notes = [populations_note(clusters), *_bound_notes(found.models), *unranked_notes(found.models, clusters)]
    return Block("strength", title, figure=figure, caption=caption, table=table, notes=notes)


def lines_for_such() -> str:
    return gettext("Lines are 95 %% intervals for raters like these.") % {}


def _strength_span(row: ModelStrength) -> Span:
    if row.bound and row.bound_at is not None:
        return Span(row.strength, min(row.strength, row.bound_at), max(row.strength, row.bound_at))
    if row.such_low is None or row.such_high is None:
        return Span(row.strength, row.low, row.high)
    return Span(row.strength, row.such_low, row.such_high)


def _bound_notes(rows: Sequence[ModelStrength]) -> list[str]:
    """Name the models that have only a one-sided bound, because they never lost or never won."""
    notes = []
    for row in rows:
        if row.bound and row.bound_at is not None:
            least = gettext(
                "%(model)s never lost to or tied with the others: on the Elo scale its strength is at least %(bound)s with "
                "95 %% confidence; the value shown is the estimate with virtual ties."
            )
            most = gettext(
                "%(model)s never won against or tied with the others: on the Elo scale its strength is at most %(bound)s "
                "with 95 %% confidence; the value shown is the estimate with virtual ties."
            )
            said = least if row.bound == "at_least" else most
            notes.append(said % {"model": row.model, "bound": number(row.bound_at, 1)})
    return notes


def _rank_note(row: ModelStrength, kind: str) -> str:
    if row.rank_low is None or row.rank_high is None:
        return gettext("not ranked")
    return rank_words(row.rank_low, row.rank_high, kind)


def _rank_cells(row: ModelStrength, kind: str) -> tuple[int | None, float | None, float | None]:
    if row.rank is None or row.rank_low is None or row.rank_high is None:
        return None, None, None
    return cells_of(row.rank, row.rank_low, row.rank_high, kind)


def not_ranked_column() -> Column:
    """The column that says why a model is not ranked; left out where all are."""
    words: dict[str, str] = {Unranked.FEW: gettext("rated too seldom"), Unranked.NO_INTERVAL: gettext("no interval")}
    return Column(gettext("Not ranked"), names=words, optional=True)


def unranked_notes(rows: Sequence[ModelMean] | Sequence[ModelStrength], clusters: str) -> list[str]:
    """Name the models that are listed without a rank, with their numbers of clusters, and say why."""
    of: dict[str, object] = {"of": clusters, "least": MIN_CLUSTERS}
    few, no_interval = (
        ", ".join(f"{row.model} ({row.clusters})" for row in rows if row.not_ranked == why)
        for why in (Unranked.FEW, Unranked.NO_INTERVAL)
    )
    notes = []
    if few:
        notes.append(
            gettext(
                "Listed without a rank, because rated on fewer than half of the median number of %(of)s of all models: "
                "%(models)s."
            )
            % {**of, "models": few}
        )
    if no_interval:
        notes.append(
            gettext(
                "Listed without a rank, because rated on fewer than %(least)d %(of)s, too few for an interval: %(models)s."
            )
            % {**of, "models": no_interval}
        )
    return notes


def rank_columns() -> list[Column]:
    return [Column(gettext("Rank"), 0), Column(gettext("Best rank"), 0), Column(gettext("Worst rank"), 0)]


def rank_words(low: int, high: int, kind: str) -> str:
    """State the possible ranks; '' if nothing is known about them."""
    if kind == "none":
        return ""
    if low == high:
        return gettext("rank %(rank)d") % {"rank": low}
    return gettext("rank %(low)d to %(high)d") % {"low": low, "high": high}


def _elo(found: EloRatings | Missing, strength: Strengths | Missing) -> Block:
    title = gettext("Elo and its dependence on the order of comparisons")
    if isinstance(found, Missing):
        return Block("elo", title, reason=reason_of(found))
    rows = found.models
    fitted = {} if isinstance(strength, Missing) else {row.model: row for row in strength.models}
    series = [
        gettext("over the last %(n)d comparisons (mark: final rating)") % {"n": found.last_games},
        gettext("over %(n)d shuffled orders (mark: mean)") % {"n": found.orders},
        *([gettext("Bradley-Terry, 95 %% interval") % {}] if fitted else []),
    ]
    figure = ranges(
        [RangeRow(row.model, _elo_spans(row, fitted.get(row.model))) for row in rows],
        title=title,
        x_title=gettext("Elo points"),
        series=series,
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Elo"), 1),
            Column(gettext("Rank"), 0),
            Column(gettext("Last comparisons, from"), 1),
            Column(gettext("to"), 1),
            Column(gettext("Ranks, from"), 0),
            Column(gettext("to"), 0),
            Column(gettext("Shuffled, mean"), 1),
            Column(gettext("SD"), 1),
            Column(gettext("from"), 1),
            Column(gettext("to"), 1),
            Column(gettext("Ranks, from"), 0),
            Column(gettext("to"), 0),
            not_ranked_column(),
        ],
        [_elo_cells(row) for row in rows],
    )
    moving = sum(row.rank_low != row.rank_high for row in rows)
    answer = gettext(
        "Shuffling the comparisons changes the rank of %(moving)d of %(all)d models; the standard deviation of a "
        "model's rating is up to %(sd)s points."
    ) % {"moving": moving, "all": len(rows), "sd": number(max(row.deviation for row in rows), 1)}
    return Block("elo", title, answer=answer, figure=figure, table=table, folded=True)


def _elo_cells(row: ModelElo) -> list[float | str | None]:
    """The row's values, without ranks where the model is not ranked."""
    values = asdict(row)
    ranks = {name for name in values if "rank" in name and name != "not_ranked"} if row.not_ranked else set()
    return [None if name in ranks else value for name, value in values.items()]


ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9)
LAW_COMPARISONS, LAW_CHAINS = 400, 4000


@cache
def _simulated_deviation(accuracy: float) -> float:
    return sqrt(simulate_elo_variance(accuracy, games=LAW_COMPARISONS, chains=LAW_CHAINS, seed=0))


def _elo_law(found: EloRatings | Missing) -> Block:
    """How far a rating moves however many comparisons there are, by LLMEval's law and by simulation."""
    title = gettext("How far an Elo rating moves, however many comparisons there are")
    if isinstance(found, Missing):
        return Block("elo_law", title, reason=reason_of(found))
    rows = [
        [accuracy, elo_variance_law(accuracy), sqrt(elo_variance_law(accuracy)), _simulated_deviation(accuracy)]
        for accuracy in ACCURACIES
    ]
    table = Table(
        [
            Column(gettext("Share of comparisons that the better model wins"), 1),
            Column(gettext("Variance by the law"), 0),
            Column(gettext("SD by the law"), 1),
            Column(gettext("SD simulated"), 1),
        ],
        rows,
    )
    answer = gettext(
        "If the better of two models wins %(share)s of their comparisons, its rating keeps moving with a standard "
        "deviation of about %(law)s points by LLMEval's law (%(simulated)s simulated); here, shuffling moves a model's "
        "rating by up to %(ours)s."
    ) % {
        "share": number(0.7, 0.1),
        "law": number(sqrt(elo_variance_law(0.7)), 1),
        "simulated": number(_simulated_deviation(0.7), 1),
        "ours": number(max(row.deviation for row in found.models), 1),
    }
    notes = [
        gettext(
            "LLMEval (arXiv 2312.07398), Eq. 6, for two models and K = 32: Var = 7222.3 p (1 − p), printed there with "
            "7211.27. The law replaces the logistic curve by a line and holds near p = 0.7 only; far from it, the "
            "simulation of the same two models is the one to read."
        )
    ]
    return Block("elo_law", title, answer=answer, table=table, notes=notes, folded=True)


def _elo_spans(row: ModelElo, fitted: ModelStrength | None) -> list[Span | None]:
    spans: list[Span | None] = [Span(row.rating, row.last_low, row.last_high), Span(row.mean, row.low, row.high)]
    return [*spans, Span(fitted.strength, fitted.low, fitted.high)] if fitted else spans


def _points(found: Points | Missing, such: SuchEnds | Missing | None, clusters: str) -> Block:
    title = gettext("Points")
    if isinstance(found, Missing):
        return Block("points", title, reason=reason_of(found))
    order = _ranked_first(found.per_game, found.rank_per_game)
    cells = [_cells(found.per_game, found.per_game_low, found.per_game_high, i, found.interval_kind) for i in order]
    stated = isinstance(such, SuchEnds)
    figure = interval_bars(
        [
            Bar(str(found.models[i]), cell[0], *(_such_cells(such, i) if stated else cell[1:]))
            for i, cell in zip(order, cells, strict=True)
        ],
        title=title,
        x_title=gettext("Points per comparison"),
        rule=0.5,
        rule_label=gettext("level with its rivals"),
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Points"), 1),
            Column(gettext("Rank"), 0),
            Column(gettext("Wins"), 0),
            Column(gettext("Ties"), 0),
            Column(gettext("Losses"), 0),
            Column(gettext("Per comparison"), 3),
            *ends_columns(3),
            Column(gettext("Rank by points per comparison"), 0),
        ],
        [
            [
                found.models[i],
                *(found.total[i], found.rank[i] or None, found.wins[i], found.ties[i], found.losses[i]),
                *(cell[0], *_such_cells(such, i), *cell[1:]),
                found.rank_per_game[i] or None,
            ]
            for i, cell in zip(order, cells, strict=True)
        ],
    )
    caption = lines_for_such() if stated else ends_meaning(found.interval_kind, found.clusters, clusters)
    return Block("points", title, figure=figure, caption=caption, table=table, notes=[populations_note(clusters)])


def _such_cells(such: SuchEnds | Missing | None, place: int) -> tuple[float | None, float | None]:
    return (float(such.low[place]), float(such.high[place])) if isinstance(such, SuchEnds) else (None, None)


def _ranked_first(value: FloatArray, rank: IntArray) -> list[int]:
    """Places by value; models that are not ranked, whose rank is 0, come after the others."""
    return sorted(descending(value).tolist(), key=lambda place: rank[place] == 0)


def _cells(value: FloatArray, low: FloatArray, high: FloatArray, place: int, kind: str) -> Cells:
    return cells_of(float(value[place]), float(low[place]), float(high[place]), kind)


def _main_ends(found: TieStrengths, such: SuchEnds | Missing | None, place: int) -> tuple[float, float]:
    """The ends for raters like these, or where they are not stated those for exactly these raters."""
    ends = such if isinstance(such, SuchEnds) else found
    return float(ends.low[place]), float(ends.high[place])


def _davidson(found: TieStrengths | Missing, such: SuchEnds | Missing | None) -> Block:
    title = gettext("Strength with ties as an outcome (Davidson)")
    if isinstance(found, Missing):
        return Block("davidson", title, reason=reason_of(found))
    order = _ranked_first(found.strength, found.rank)
    kind = found.interval_kind
    figure = ranges(
        [RangeRow(found.models[i], [Span(found.strength[i], *_main_ends(found, such, i))]) for i in order],
        title=title,
        x_title=gettext("Strength in Elo points"),
        series=[gettext("Davidson")],
    )
    table = Table(
        [Column(gettext("Model")), Column(gettext("Strength"), 1), *ends_columns(1), Column(gettext("Rank"), 0)],
        [
            [
                *(found.models[i], found.strength[i], *_such_cells(such, i)),
                *_cells(found.strength, found.low, found.high, i, kind)[1:],
                found.rank[i] or None,
            ]
            for i in order
        ],
    )
    answer = gettext("Two equal models would tie in %(share)s of their comparisons (tie parameter %(tie)s).") % {
        "share": number(found.equal_tie),
        "tie": both_words(found.tie_parameter, None, (found.tie_low, found.tie_high))
        if kind == "bootstrap95"
        else ends_words(found.tie_parameter, found.tie_low, found.tie_high, kind),
    }
    return Block("davidson", title, answer=answer, figure=figure, table=table, folded=True)


def _effects(found: Effects | Missing, clusters: str) -> Block:
    title = gettext("Effects of position and length between equal models")
    if isinstance(found, Missing):
        return Block("effects", title, reason=reason_of(found))
    names = {"position": gettext("being shown first"), "length": gettext("being longer by the typical difference")}
    kind = found.interval_kind
    rows = [
        (names.get(name, name), _cells(found.effect, found.effect_low, found.effect_high, i, kind), found.unit[i])
        for i, name in enumerate(found.effects)
    ]
    figure = ranges(
        [RangeRow(name, [span_of(cells)]) for name, cells, _ in rows],
        title=title,
        x_title=gettext("Change in the log-odds of being preferred"),
        series=[gettext("effect")],
        step=0.01,
        rule=0.0,
    )
    table = Table(
        [Column(gettext("Effect")), *Column.interval(gettext("Log-odds"), 3), Column(gettext("Unit"), 3)],
        [[name, *cells, unit] for name, cells, unit in rows],
    )
    answer = ""
    if "position" in found.effects:
        at = found.effects.index("position")
        low, high = (1 / (1 + exp(-float(end[at]))) for end in (found.effect_low, found.effect_high))
        answer = gettext("Of two equal models, the one shown first is preferred %(share)s of the time.") % {
            "share": number(found.first_wins) if kind == "none" else both_words(found.first_wins, None, (low, high))
        }
    order = [str(found.models[place]) for place in descending(found.strength)]
    notes = [
        gettext("Without these effects, the order is: %(order)s.") % {"order": ", ".join(order)},
        ends_meaning(kind, found.clusters, clusters),
    ]
    return Block("effects", title, answer=answer, figure=figure, table=table, notes=notes)


def position_block(found: PositionBias | Missing, sways: PeopleSways | None = None) -> Block:
    title = gettext("Position bias")
    if isinstance(found, Missing):
        return Block("position", title, reason=reason_of(found))
    wins, points = found.first_wins, found.first_points
    people = None if sways is None or isinstance(sways.first_wins, Missing) else sways.first_wins
    answer = gettext("The side shown first wins %(wins)s of the %(n)s comparisons that were not tied.") % {
        "wins": estimate_words(wins) if people is None else people_words(people),
        "n": f"{found.n_decided:,}",
    }
    table = Table(
        [Column(gettext("Measure")), *people_columns(gettext("Value"), 3), Column(gettext("Comparisons"), 0)],
        [
            [
                gettext("Wins among decided comparisons"),
                *(named_cells(wins.value, wins) if people is None else people_cells(people)),
                found.n_decided,
            ],
            [gettext("Mean points (a tie counts half)"), *named_cells(points.value, points), found.n],
        ],
    )
    return Block("position", title, answer=answer, table=table, notes=populations_meaning([people]))


def length_block(found: Sequence[LengthBias | Missing] | Missing, sways: PeopleSways | None = None) -> Block:
    title = gettext("Length bias")
    rows = [found] if isinstance(found, Missing) else found
    rates = [None] * len(rows) if sways is None else [None if isinstance(one, Missing) else one for one in sways.length]
    known = [(row, people) for row, people in zip(rows, rates, strict=False) if not isinstance(row, Missing)]
    if isinstance(rows[0], Missing) and not known:
        return Block("length", title, reason=reason_of(rows[0]))
    table = Table(
        [
            Column(gettext("Minimum length difference")),
            Column(gettext("Comparisons"), 0),
            Column(gettext("Longer wins"), 3),
            Column(gettext("Tie"), 3),
            Column(gettext("Longer loses"), 3),
            *people_columns(gettext("Bias rate"), 3),
        ],
        [
            [
                gettext("%(n)d characters") % {"n": row.threshold},
                row.n,
                row.win_share.value,
                row.tie_share.value,
                row.loss_share.value,
                *(named_cells(row.rate.value, row.rate) if people is None else people_cells(people)),
            ]
            for row, people in known
        ],
    )
    first, people = known[0]
    answer = gettext(
        "The longer response is preferred to the shorter one by a margin of %(rate)s of the comparisons."
    ) % {"rate": estimate_words(first.rate) if people is None else people_words(people)}
    return Block("length", title, answer=answer, table=table, notes=populations_meaning(one for _, one in known))


def _categories(rows: Sequence[CategoryPoints]) -> list[Block]:
    if not rows:
        return []
    names = category_names({row.category_pk: row.category for row in rows})
    points = [{} if isinstance(row.points, Missing) else _per_game(row.points) for row in rows]
    models = sorted({model for found in points for model in found})
    table = Table(
        [Column(gettext("Category")), Column(gettext("Comparisons"), 0), *(Column(model, 3) for model in models)],
        [
            [names[row.category_pk], row.n, *(found.get(model) for model in models)]
            for row, found in zip(rows, points, strict=True)
        ],
        caption=gettext("Points per comparison"),
    )
    return [Block("categories", gettext("By category"), table=table)]


def _per_game(points: Points) -> dict[str, float]:
    return {str(model): value for model, value in zip(points.models, points.per_game.tolist(), strict=True)}
