"""How many tasks separate models: paired t tests over all pairs at growing numbers of tasks. PURE.

Scores (tasks, models) hold what each model got on each task (a preference against a baseline, points, a mean of
several answers): one line a task, no cell missing. HREF (arXiv 2412.15524), section 4.4 and figure 4.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings, missing_cells
from calibration.statistics.resampling import FloatArray, IntArray
from calibration.statistics.ties import descending

SIGNIFICANT = 0.05
SHARES = (0.8, 0.9)
LARGEST_N = 10**7


@dataclass(frozen=True)
class PowerCurve:
    """p values of paired t tests over all pairs of models, by number of tasks.

    `sizes` (s,) ascend; `mean` (s,) and `quantiles` (s, q), one column for each of `shares`, average over
    `repeats` random subsets of the tasks at each size. When a quantile is below `significant`, that share of the
    pairs is separated. `separating` maps a share to the smallest of `sizes` from which on its quantile stays
    below `significant`; a share that never gets there has no entry. `projected` maps a share to the number of tasks
    that would do it if every pair kept the effect seen on all tasks; a share that contains pairs without any
    difference has no entry.
    """

    sizes: IntArray
    shares: tuple[float, ...]
    mean: FloatArray
    quantiles: FloatArray
    separating: Mapping[float, int]
    projected: Mapping[float, int]
    pairs: int
    models: int
    tasks: int
    repeats: int
    significant: float
    seed: int


@dataclass(frozen=True)
class SharedRanks:
    """Models from best to worst mean, sharing their leader's rank while the paired t test has p >= `significant`.

    The first model that does not share is the next leader and has the rank of its place (1, 2, 2, 4). Arrays
    (k,); `leader_p` is 1 for leaders.
    """

    models: tuple[Hashable, ...]
    mean: FloatArray
    rank: IntArray
    leader_p: FloatArray
    tasks: int
    significant: float


def paired_p(scores: FloatArray) -> FloatArray:
    """Two-sided p (k, k) of the paired t test of every two models, 1 on the diagonal.

    Models that differ by nothing on any task have p 1; by the same amount on every task, p 0. Raises TooFewRatings
    under two tasks or two models, Undefined (MissingCells).
    """
    table = _check_scores(scores)
    i, j = np.triu_indices(table.shape[1], 1)
    difference = table[:, i] - table[:, j]
    values = _p_values(np.ones((1, len(table))), difference)[0]
    matrix = np.ones((table.shape[1], table.shape[1]))
    matrix[i, j] = matrix[j, i] = values
    return matrix


def power_curve(
    scores: FloatArray,
    *,
    sizes: Sequence[int] | None = None,
    shares: Sequence[float] = SHARES,
    repeats: int = 20,
    seed: int = 0,
    significant: float = SIGNIFICANT,
) -> PowerCurve:
    """Mean and quantiles of p over all pairs of models at growing numbers of tasks, drawn without replacement.

    `sizes` default to 20 even steps up to all tasks. Raises what paired_p raises, ValueError for a size out of range.
    """
    table = _check_scores(scores)
    tasks, models = table.shape
    chosen = np.unique(np.linspace(tasks / 20, tasks, 20).round() if sizes is None else np.asarray(sizes))
    chosen = chosen[chosen >= 2].astype(np.int64) if sizes is None else chosen.astype(np.int64)
    if not chosen.size or chosen[0] < 2 or chosen[-1] > tasks:
        raise ValueError(f"Numbers of tasks must lie between 2 and {tasks}, the tasks there are.")
    i, j = np.triu_indices(models, 1)
    difference = table[:, i] - table[:, j]
    # One random order a repeat: its first n tasks are the subset of size n, so the curves grow by adding tasks.
    place = np.random.default_rng(seed).random((repeats, tasks)).argsort(axis=1).argsort(axis=1)
    mean = np.empty(chosen.size)
    quantiles = np.empty((chosen.size, len(shares)))
    for line, size in enumerate(chosen):
        values = _p_values((place < size).astype(np.float64), difference)
        mean[line] = values.mean()
        quantiles[line] = np.quantile(values, shares, axis=1).mean(axis=1)
    return PowerCurve(
        sizes=chosen,
        shares=tuple(shares),
        mean=mean,
        quantiles=quantiles,
        separating=_separating(chosen, quantiles, shares, significant),
        projected=_projected(difference, shares, significant),
        pairs=len(i),
        models=models,
        tasks=tasks,
        repeats=repeats,
        significant=significant,
        seed=seed,
    )


def shared_ranks(scores: FloatArray, models: Sequence[Hashable], *, significant: float = SIGNIFICANT) -> SharedRanks:
    """Ranks as HREF's table 3 gives them (arXiv 2412.15524), for scores (tasks, models) in the order of `models`."""
    table = _check_scores(scores)
    if len(models) != table.shape[1]:
        raise ValueError(f"{len(models)} models for {table.shape[1]} columns of scores; name each column.")
    p = paired_p(table)
    mean = table.mean(axis=0)
    order = descending(mean)
    rank = np.empty(len(order), dtype=np.int64)
    leader_p = np.ones(len(order))
    leader = 0
    for place in range(len(order)):
        against = float(p[order[leader], order[place]])
        if against < significant:
            leader, against = place, 1.0
        rank[place] = leader + 1
        leader_p[place] = against
    return SharedRanks(
        tuple(models[int(column)] for column in order), mean[order], rank, leader_p, len(table), significant
    )


def _check_scores(scores: FloatArray) -> FloatArray:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"Scores must be a table (tasks, models), found the shape {table.shape}.")
    if table.shape[0] < 2:
        raise TooFewRatings(table.shape[0], 2, "tasks")
    if table.shape[1] < 2:
        raise TooFewRatings(table.shape[1], 2, "models")
    if not np.isfinite(table).all():
        raise missing_cells(int((~np.isfinite(table)).sum()), table.size)
    return table


def _p_values(chosen: FloatArray, difference: FloatArray) -> FloatArray:
    """p (b, pairs) of the tasks that each line of 0/1 `chosen` (b, tasks) picks from `difference` (tasks, pairs)."""
    from scipy.special import stdtr

    n = chosen.sum(axis=1, keepdims=True)
    # Moments around a common centre lose no digits where a difference is large beside its spread.
    centre = difference.mean(axis=0)
    left = difference - centre
    mean = chosen @ left / n
    raw = chosen @ left**2
    squares = np.maximum(raw - n * mean**2, 0.0)
    size = np.abs(difference).max(axis=0, initial=0.0)
    # Nothing but rounding: beside the differences themselves, or beside what was subtracted.
    flat = (squares <= n * (1e-12 * size) ** 2) | (squares <= 1e-12 * raw)
    moved = np.abs(mean + centre) > 1e-12 * size
    spread = np.where(flat, 1.0, squares / (n * (n - 1)))
    p = 2 * stdtr(n - 1, -np.abs(mean + centre) / np.sqrt(spread))
    return np.where(flat, np.where(moved, 0.0, 1.0), p)


def _separating(
    sizes: IntArray, quantiles: FloatArray, shares: Sequence[float], significant: float
) -> dict[float, int]:
    found = {}
    for column, share in enumerate(shares):
        above = np.flatnonzero(quantiles[:, column] >= significant)
        first = int(above[-1]) + 1 if above.size else 0
        if first < len(sizes):
            found[share] = int(sizes[first])
    return found


def _projected(difference: FloatArray, shares: Sequence[float], significant: float) -> dict[float, int]:
    """Tasks at which the t statistic of the pair at each share's quantile reaches its critical value."""
    spread = difference.std(axis=0, ddof=1)
    mean = np.abs(difference.mean(axis=0))
    size = np.abs(difference).max(axis=0, initial=0.0)
    flat = spread <= 1e-12 * size
    effect = np.where(flat, np.where(mean > 1e-12 * size, np.inf, 0.0), mean / np.where(flat, 1.0, spread))
    ordered = np.sort(effect)[::-1]
    found = {}
    for share in shares:
        weakest = float(ordered[max(int(np.ceil(share * len(ordered) - 1e-9)), 1) - 1])
        if np.isinf(weakest):
            found[share] = 2
        elif weakest * np.sqrt(LARGEST_N) > 2:
            found[share] = _critical_n(weakest, significant)
    return found


def _critical_n(effect: float, significant: float) -> int:
    from scipy.special import stdtrit

    low, high = 1, 2
    while effect * np.sqrt(high) < stdtrit(high - 1, 1 - significant / 2):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        reached = effect * np.sqrt(middle) >= stdtrit(middle - 1, 1 - significant / 2)
        low, high = (low, middle) if reached else (middle, high)
    return high
