"""The choice of weights: a category's own, its family's, or equal ones, by their prediction of held-out data. PURE.

Every candidate is fitted without an instruction and predicts its overall scores; a gain is the reduction of the mean
squared error of one candidate by another, with an interval over whole instructions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import (
    BoolArray,
    CountedStatistic,
    FloatArray,
    IntervalKind,
    Labels,
    cluster_codes,
    cluster_intervals,
)
from calibration.statistics.weights.least_squares import Sums, cluster_sums, floored_solve
from calibration.statistics.weights.rows import check_rows

Scheme: TypeAlias = Literal["own", "parent", "equal"]
FamilyRows: TypeAlias = tuple[FloatArray, FloatArray, Sequence[str], Labels]
"""Answers (n, p) in 0..1, overall (n,) in 0..10, item keys (p,), instruction labels (n,)."""


@dataclass(frozen=True)
class Gain:
    """Reduction of the mean squared error on held-out instructions (squared points of 0..10), with ends over instructions.

    `share` is the same as a share of the variance of the overall scores, a difference of R2.
    """

    value: float
    low: float
    high: float
    share: float
    interval_kind: IntervalKind
    clusters: int


@dataclass(frozen=True)
class Verdict:
    """The recommended scheme `use`; `mse` and `r2` of each scheme on held-out instructions.

    `own_over_equal`, `parent_over_equal` and `own_over_parent` are the gains behind it; those with the parent are empty
    if the category has no family. `sure` says that the deciding interval is a 95 % interval and excludes 0.
    """

    use: Scheme
    sure: bool
    mse: Mapping[Scheme, float]
    r2: Mapping[Scheme, float]
    own_over_equal: Gain
    parent_over_equal: tuple[Gain, ...]
    own_over_parent: tuple[Gain, ...]
    n: int
    instructions: int


@dataclass(frozen=True)
class LeftOutErrors:
    """Squared errors on each left-out instruction (k,), the rows n (k,), and the overall scores' summed squares."""

    errors: Mapping[Scheme, FloatArray]
    n: FloatArray
    spread: float


def weigh_verdict(
    rows: FamilyRows, family: Mapping[str, FamilyRows], *, floor: float = 0.5, draws: int = 1000, seed: int = 0
) -> Verdict:
    """Recommend weights for a category; `family` holds the rows of its siblings, without its own.

    A scheme must be better than equal weights, and own weights also better than the family's, with the whole interval
    above 0; otherwise the simpler scheme is used. Raises TooFewRatings with fewer than two instructions.
    """
    found = left_out_errors(rows, family, floor=floor)
    errors = found.errors

    def gain(rival: Scheme, over: Scheme) -> Gain:
        return _gain(errors[over] - errors[rival], found, draws, seed)

    own = gain("own", "equal")
    has_parent = "parent" in errors
    parent = (gain("parent", "equal"),) if has_parent else ()
    apart = (gain("own", "parent"),) if has_parent else ()
    use, deciding = _decide(own, parent, apart)
    total = float(found.n.sum())
    return Verdict(
        use=use,
        sure=deciding.interval_kind == "bootstrap95" and (deciding.low > 0) == (use != "equal"),
        mse={name: float(error.sum()) / total for name, error in errors.items()},
        r2={name: 1 - float(error.sum()) / found.spread for name, error in errors.items()},
        own_over_equal=own,
        parent_over_equal=parent,
        own_over_parent=apart,
        n=int(total),
        instructions=len(found.n),
    )


def left_out_errors(rows: FamilyRows, family: Mapping[str, FamilyRows], *, floor: float) -> LeftOutErrors:
    """Compute the errors of every scheme on each instruction, fitted without it."""
    answers, overall = check_rows(rows[0], rows[1], floor)
    codes, k = cluster_codes(rows[3])
    if k < 2:
        raise TooFewRatings(k, 2, "instructions")
    sums = cluster_sums(answers, overall, codes, k)
    training = sums.without_each()
    p = answers.shape[1]
    own = floored_solve(training, floor)
    squares = training.gram.sum(axis=(1, 2))
    scale = np.where(squares > 0, training.xy.sum(axis=1) / np.where(squares > 0, squares, 1.0), 0.0)
    errors: dict[Scheme, FloatArray] = {
        "own": sums.squared_error(own),
        "equal": sums.squared_error(np.repeat(scale[:, None], p, axis=1)),
    }
    if family:
        errors["parent"] = sums.squared_error(_family_weights(training, rows, family, floor))
    return LeftOutErrors(errors, sums.n, float(sums.total().centred_squares()))


def _family_weights(training: Sums, rows: FamilyRows, family: Mapping[str, FamilyRows], floor: float) -> FloatArray:
    """Weights (k, p) fitted to the family's rows and the category's own, less each of its instructions."""
    keys = list(dict.fromkeys([*rows[2], *(key for one in family.values() for key in one[2])]))
    place = {key: index for index, key in enumerate(keys)}
    mine = np.array([place[key] for key in rows[2]], dtype=np.int64)
    size, k = len(keys), len(training.n)
    gram, xy = np.zeros((k, size, size)), np.zeros((k, size))
    gram[:, mine[:, None], mine[None, :]] += training.gram
    xy[:, mine] += training.xy
    yy, y, n = training.yy.copy(), training.y.copy(), training.n.copy()
    for answers, overall, own_keys, _ in family.values():
        x, score = check_rows(answers, overall, floor)
        columns = np.array([place[key] for key in own_keys], dtype=np.int64)
        gram[:, columns[:, None], columns[None, :]] += x.T @ x
        xy[:, columns] += x.T @ score
        yy, y, n = yy + float(score @ score), y + float(score.sum()), n + float(len(score))
    return floored_solve(Sums(gram, xy, yy, y, n), floor)[:, mine]


def error_gain(
    worse: FloatArray, better: FloatArray, n: FloatArray, *, draws: int, seed: int
) -> tuple[float, float, float, IntervalKind]:
    """Mean error saved, sum(worse - better)/sum(n) over clusters (k,), with its ends."""
    sums = np.column_stack([worse - better, n])

    def statistic(counts: FloatArray) -> tuple[FloatArray, BoolArray]:
        drawn = counts @ sums
        return drawn[:, :1] / drawn[:, 1:], np.ones(len(drawn), dtype=np.bool_)

    counted: CountedStatistic = statistic
    value, ends = cluster_intervals(counted, len(n), draws=draws, seed=seed)
    return float(value[0]), float(ends.low[0]), float(ends.high[0]), ends.kind


def _gain(saved: FloatArray, found: LeftOutErrors, draws: int, seed: int) -> Gain:
    value, low, high, kind = error_gain(saved, np.zeros_like(saved), found.n, draws=draws, seed=seed)
    variance = found.spread / float(found.n.sum())
    return Gain(value, low, high, value / variance if variance > 0 else 0.0, kind, len(found.n))


def _decide(own: Gain, parent: tuple[Gain, ...], apart: tuple[Gain, ...]) -> tuple[Scheme, Gain]:
    """The scheme to use and the gain that decides it."""
    if parent:
        if own.low > 0 and apart[0].low > 0:
            return "own", apart[0]
        if parent[0].low > 0:
            return "parent", parent[0]
    if own.low > 0:
        return "own", own
    return "equal", own
