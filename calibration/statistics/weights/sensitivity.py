"""The sensitivity of weights: to another floor, to leaving out a rater or a model, and compared with another fit. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.resampling import FloatArray, IntArray, Labels, cluster_codes
from calibration.statistics.weights.fit import OutOfSample, fit_weights, predict_left_out
from calibration.statistics.weights.gains import Gain, error_gain
from calibration.statistics.weights.least_squares import Sums, cluster_sums, floored_solve
from calibration.statistics.weights.rows import check_rows

FLOORS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class FloorStep:
    """The fit at one floor: weights (p,) of 100, how many sit at the floor, R2 on the rows fitted and unseen ones.

    `unseen_r2` is empty where there is a single instruction.
    """

    floor: float
    weights: FloatArray
    at_floor: int
    r2: float
    unseen_r2: tuple[float, ...]


@dataclass(frozen=True)
class Dropped:
    """Weights (k, p) of 100 without each of `labels`; `shift` (k,) is half the sum of absolute changes, 0..100.

    `rows` (k,) remain. A label without which nothing can be fitted is in `impossible` and not in the others.
    """

    labels: tuple[str, ...]
    weights: FloatArray
    shift: FloatArray
    rows: IntArray
    impossible: tuple[str, ...]


@dataclass(frozen=True)
class FitsCompared:
    """Two fits on the same rows, paired by instruction, each refitted without the instruction it predicts.

    `gain` is the mean squared error of the second less that of the first; `mse` is of both; `correlation` is of
    the points that their final weights give the rows; `shift` is half the sum of the absolute changes of the weights.
    """

    gain: Gain
    clusters: int
    mse: tuple[float, float]
    correlation: float
    shift: float
    n: int


def floor_path(
    answers: FloatArray, overall: FloatArray, instructions: Labels, *, floors: Sequence[float] = FLOORS
) -> tuple[FloorStep, ...]:
    """Fit the weights at each floor. Raises what fit_weights raises."""
    codes, k = cluster_codes(instructions)
    x, y = check_rows(answers, overall, max(floors))
    sums = cluster_sums(x, y, codes, k)
    steps = []
    for floor in floors:
        fit = fit_weights(x, y, floor=floor)
        unseen: tuple[OutOfSample, ...] = (predict_left_out(sums, floor),) if k >= 2 else ()
        steps.append(FloorStep(floor, fit.weights, int(fit.at_floor.sum()), fit.r2, tuple(one.r2 for one in unseen)))
    return tuple(steps)


def without_each(answers: FloatArray, overall: FloatArray, labels: Sequence[str], *, floor: float) -> Dropped:
    """Fit the weights without each rater or model. Raises TooFewRatings with fewer than two labels."""
    x, y = check_rows(answers, overall, floor)
    codes, k = cluster_codes(labels)
    if k < 2:
        raise TooFewRatings(k, 2, "raters or models")
    names = list(dict.fromkeys(labels))
    left = cluster_sums(x, y, codes, k).without_each()
    raw = floored_solve(left, floor)
    total = raw.sum(axis=1)
    usable = (left.n >= x.shape[1]) & (total > 0) & (left.centred_squares() > 0)
    shares = 100 * raw[usable] / total[usable, None]
    whole = fit_weights(x, y, floor=floor).weights
    return Dropped(
        labels=tuple(name for name, fine in zip(names, usable, strict=True) if fine),
        weights=shares,
        shift=np.abs(shares - whole).sum(axis=1) / 2,
        rows=left.n[usable].astype(np.int64),
        impossible=tuple(name for name, fine in zip(names, usable, strict=True) if not fine),
    )


def compare_fits(
    rows: tuple[FloatArray, FloatArray, Sequence[str]],
    other: tuple[FloatArray, FloatArray, Sequence[str]],
    *,
    floors: tuple[float, float],
    raters: Labels | None = None,
) -> FitsCompared:
    """Two fits of the same items, each (answers (n, p), overall (n,), instruction labels (n,)), on the first's rows.

    `raters` (n,) label the first's rows.

    If the second fit was also fitted to an instruction, it is refitted without it. Raises TooFewRatings with fewer than
    two instructions, ConstantScores if one fit gives every row the same points.
    """
    x, y = check_rows(rows[0], rows[1], floors[0])
    codes, k = cluster_codes(rows[2])
    if k < 2:
        raise TooFewRatings(k, 2, "instructions")
    sums = cluster_sums(x, y, codes, k)
    own = floored_solve(sums.without_each(), floors[0])
    foreign = _left_out_elsewhere(list(dict.fromkeys(rows[2])), other, floors[1])
    mine, theirs = ((y - (x * raw[codes]).sum(axis=1)) ** 2 for raw in (own, foreign))
    persons = None if raters is None else cluster_codes(raters)[0]
    gain = error_gain(theirs - mine, codes, persons, spread=float(sums.total().centred_squares()))
    first = fit_weights(x, y, floor=floors[0]).weights
    second = fit_weights(other[0], other[1], floor=floors[1]).weights
    one, two = x @ first, x @ second
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        raise ConstantScores("points", float(one[0]))
    total = float(sums.n.sum())
    return FitsCompared(
        gain=gain,
        clusters=k,
        mse=(float(mine.sum()) / total, float(theirs.sum()) / total),
        correlation=float(np.corrcoef(one, two)[0, 1]),
        shift=float(np.abs(first - second).sum() / 2),
        n=int(total),
    )


def _left_out_elsewhere(
    instructions: Sequence[object], other: tuple[FloatArray, FloatArray, Sequence[str]], floor: float
) -> FloatArray:
    """The other fit's raw weights (k, p) for each instruction, without it where it was fitted to it."""
    x, y = check_rows(other[0], other[1], floor)
    codes, k = cluster_codes(other[2])
    place = {label: index for index, label in enumerate(dict.fromkeys(other[2]))}
    sums = cluster_sums(x, y, codes, k)
    total = sums.total()
    found = np.zeros((len(instructions), k))
    known = [place.get(str(label), -1) for label in instructions]
    for line, index in enumerate(known):
        if index >= 0:
            found[line, index] = 1.0
    out = sums.combine(found)
    rest = Sums(total.gram - out.gram, total.xy - out.xy, total.yy - out.yy, total.y - out.y, total.n - out.n)
    return floored_solve(rest, floor)
