"""Statistics beside a leaderboard's scores: completion rates of long outputs, and standings of models compared in pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibration.statistics.errors import NoStatistic
from calibration.statistics.ranking.bradley_terry import bradley_terry_intervals, on_elo_scale
from calibration.statistics.ranking.comparisons import as_games
from calibration.statistics.ranking.coverage import Unranked, instructions_compared, unranked_in
from calibration.statistics.ranking.elo import elo
from calibration.statistics.ranking.pairs import points
from calibration.statistics.ranking.power import shared_ranks
from calibration.statistics.resampling import BoolArray, FloatArray, IntervalKind, cluster_codes, cluster_intervals
from judging.leaderboards.check_counts import POSITIONS, Output
from judging.leaderboards.observations import Observations
from judging.scores.benchmark_scores import InstructionCounts, instruction_completion, pooled_counts, win_shares

KINDS = ("single", "range", "periodic")


@dataclass(frozen=True)
class Completion:
    """LongGenBench's shares of a model's outputs in percent, with the ends of the weighted average's interval.

    `stic_1` is None if no output contains a sub-task with an instruction; `by_kind` is STIC-2 by kind of instruction, and
    `by_position` STIC-2 by tenth of the parts asked for, 0 to 9.
    """

    completion_rate: float
    stic_1: float | None
    stic_2: float
    weighted_average: float
    low: float | None
    high: float | None
    counts: InstructionCounts
    by_kind: Mapping[str, float]
    by_position: Mapping[int, float] = field(default_factory=dict)


def completion_of(outputs: Sequence[Output], *, draws: int = 1000, seed: int = 0) -> Completion | None:
    """Return a model's shares, with an interval over whole instructions; None if nothing was asked for."""
    counts = pooled_counts([output.counts for output in outputs])
    if not counts.asked or not counts.instructions:
        return None
    codes, k = cluster_codes([output.instruction for output in outputs])
    columns = np.array(
        [
            (output.counts.present, output.counts.asked, output.counts.fulfilled, output.counts.instructions)
            for output in outputs
        ],
        dtype=np.float64,
    )
    sums = np.column_stack([np.bincount(codes, weights=column, minlength=k) for column in columns.T])

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        present, asked, fulfilled, instructions = (drawn @ sums).T
        usable = np.asarray((asked > 0) & (instructions > 0), dtype=np.bool_)
        product = present / np.where(asked > 0, asked, 1) * fulfilled / np.where(instructions > 0, instructions, 1)
        return 100 * product[:, None], usable

    _, ends = cluster_intervals(statistic, k, draws=draws, seed=seed)
    stated = ends.kind != "none"
    shares = instruction_completion({output.response: output.counts for output in outputs}) if counts.answered else None
    by_kind = {}
    for kind in KINDS:
        of_kind = pooled_counts([output.by_kind[kind] for output in outputs if kind in output.by_kind])
        if of_kind.instructions:
            by_kind[kind] = 100 * of_kind.fulfilled / of_kind.instructions
    return Completion(
        completion_rate=100 * shares.completion_rate if shares else 100 * counts.present / counts.asked,
        stic_1=100 * shares.stic_1 if shares else None,
        stic_2=100 * shares.stic_2 if shares else 0.0,
        weighted_average=100 * shares.weighted_average if shares else 0.0,
        low=float(ends.low[0]) if stated else None,
        high=float(ends.high[0]) if stated else None,
        counts=counts,
        by_kind=by_kind,
        by_position=fulfilled_by_position(outputs),
    )


def fulfilled_by_position(outputs: Sequence[Output]) -> dict[int, float]:
    """Return STIC-2 in percent by tenth of the parts asked for, 0 to 9; a tenth without instructions is left out."""
    shares = {}
    for position in range(POSITIONS):
        counts = pooled_counts(output.by_position[position] for output in outputs if position in output.by_position)
        if counts.instructions:
            shares[position] = 100 * counts.fulfilled / counts.instructions
    return shares


@dataclass(frozen=True)
class Standing:
    """Results of one model; None if the comparisons do not determine a value. `strength` is Bradley-Terry on Elo's
    scale, with its interval.
    """

    model: str
    points: float
    comparisons: int
    per_comparison: float
    elo: float
    strength: float | None
    low: float | None
    high: float | None
    rank: int | None
    instructions: int = 0
    not_ranked: Unranked | None = None


@dataclass(frozen=True)
class Standings:
    """Most points per comparison first, and after the others the models that are not ranked.

    `strengthless` says why there are no strengths; '' if there are.
    """

    rows: tuple[Standing, ...]
    interval_kind: IntervalKind
    clusters: int
    strengthless: str


def standings(observations: Observations, wins: Observations, names: Mapping[int, str]) -> Standings:
    """Rank the models from observations of pairs, two per pair.

    `wins` holds 1, .5 or 0 as `top` for the same pairs. Elo processes the comparisons by instruction. Ranks compare
    models with paired t tests over the instructions that all of those that are ranked have (HREF, table 3).
    """
    half = wins.select(wins.response < wins.rival)
    half = half.select(np.lexsort([half.rival, half.response, half.instruction]))
    comparisons = as_games(half.model, half.opponent, win_shares(half.top - 0.5), clusters=half.instruction)
    out, compared = unranked_in(comparisons), instructions_compared(comparisons)
    totals, ratings = points(comparisons), elo(comparisons)
    fitted, strengthless = None, ""
    try:
        fitted = bradley_terry_intervals(comparisons)
    except NoStatistic as error:
        strengthless = error.code
    try:
        ranked = [int(str(model)) for place, model in enumerate(comparisons.models) if place not in out]
        ranks = ranks_of(observations.select(np.isin(observations.model, ranked)), names)
    except NoStatistic:
        ranks = {}
    rows = []
    for place, model in enumerate(comparisons.models):
        name = names[int(str(model))]
        strength = low = high = None
        if fitted is not None:
            strength, low, high = (
                float(on_elo_scale(values)[place]) for values in (fitted.fit.strength, fitted.low, fitted.high)
            )
        rows.append(
            Standing(
                model=name,
                points=float(totals.total[place]),
                comparisons=int(totals.wins[place] + totals.ties[place] + totals.losses[place]),
                per_comparison=float(totals.per_game[place]),
                elo=float(ratings.rating[place]),
                strength=strength,
                low=low,
                high=high,
                rank=ranks.get(name),
                instructions=int(compared[place]),
                not_ranked=out.get(place),
            )
        )
    rows.sort(key=lambda row: (row.not_ranked is not None, -row.per_comparison, row.model))
    return Standings(tuple(rows), fitted.interval_kind if fitted else "none", comparisons.clusters, strengthless)


def ranks_of(observations: Observations, names: Mapping[int, str]) -> dict[str, int]:
    """Rank the models over the instructions that every model has; a model's outcome is its mean on each.

    A single model ranks first. Raises TooFewRatings under two instructions.
    """
    models, m = np.unique(observations.model, return_inverse=True)
    instructions, i = np.unique(observations.instruction, return_inverse=True)
    shape = (len(models), len(instructions))
    cell = m.reshape(-1) * shape[1] + i.reshape(-1)
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=observations.top, minlength=shape[0] * shape[1]).reshape(shape)
    shared = (counts > 0).all(axis=0)
    means = sums[:, shared] / counts[:, shared]
    if len(models) == 1 and means.shape[1] > 1:
        return {names[int(models[0])]: 1}
    # Models that tie are listed by name.
    named = sorted((names[int(pk)], row) for row, pk in enumerate(models))
    ranked = shared_ranks(means[[row for _name, row in named]].T, [name for name, _row in named])
    return {str(model): int(rank) for model, rank in zip(ranked.models, ranked.rank, strict=True)}
