"""The choice of weights: a category's own, its family's, or equal ones, by their prediction of held-out data. PURE.

Every candidate is fitted without an instruction and predicts its overall scores; a gain is the reduction of the mean
squared error of one candidate by another, with intervals for such raters and for these raters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.crossed import CellSums, WhyNot, crossed_ratios, holm
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import FloatArray, IntArray, Labels, cluster_codes
from calibration.statistics.weights.least_squares import Sums, cluster_sums, floored_solve
from calibration.statistics.weights.rows import check_rows

Scheme: TypeAlias = Literal["own", "parent", "equal"]
GainKind: TypeAlias = Literal["t95", "leave_one_out_range", "none"]
FamilyRows: TypeAlias = tuple[FloatArray, FloatArray, Sequence[str], Labels]
"""Answers (n, p) in 0..1, overall (n,) in 0..10, item keys (p,), instruction labels (n,)."""

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Gain:
    """Reduction of the mean squared error on held-out instructions (squared points of 0..10), a paired difference.

    `such_low` and `such_high` are its 95 % interval for such raters, None where `not_stated` says why there is none; `low`
    and `high` are for these raters, as `interval_kind` says. `p`, two-sided, inverts the first of the two that is stated,
    None where there is neither; `needed` instructions would show a gain of this size with 80 % power. `share` is the value
    as a share of the variance of the overall scores, a difference of R2.
    """

    value: float
    low: float
    high: float
    share: float
    interval_kind: GainKind
    clusters: int
    such_low: float | None = None
    such_high: float | None = None
    not_stated: WhyNot = "positions"
    p: float | None = None
    needed: int | None = None

    @property
    def main(self) -> "MainEnds":
        """The interval that decides: for such raters, or for these where only that one is stated."""
        if self.such_low is None or self.such_high is None:
            return MainEnds(self.value, self.low, self.high, self.interval_kind, such=False)
        return MainEnds(self.value, self.such_low, self.such_high, "t95", such=True)


@dataclass(frozen=True)
class MainEnds:
    """A value with the interval that decides; `such` says whether it holds for such raters or for these alone."""

    value: float
    low: float
    high: float
    interval_kind: GainKind
    such: bool


@dataclass(frozen=True)
class Verdict:
    """The recommended scheme `use`; `mse` and `r2` of each scheme on held-out instructions.

    `own_over_equal`, `parent_over_equal` and `own_over_parent` are the gains behind it; those with the parent are empty
    if the category has no family. `better` says that the category's own weights predict better than equal weights, which is
    the one finding that every page reads (see better_than_equal). `sure` says that the deciding gain is shown, or for equal
    weights, that there was a 95 % interval which could have shown another.
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
    better: bool = False


@dataclass(frozen=True)
class LeftOutErrors:
    """Squared errors (rows,) on each left-out instruction, the overall scores' summed squares, and the rows' codes.

    `raters` None: the data number positions, not persons.
    """

    errors: Mapping[Scheme, FloatArray]
    spread: float
    instructions: IntArray
    raters: IntArray | None


def better_than_equal(gains: Sequence[Gain | None]) -> list[bool]:
    """Which gains are shown: above 0 with a p, corrected for the number of categories by Holm's method, below .05.

    The one rule by which weights are called better than equal weights. A category without an interval is not shown.
    """
    p = holm(np.array([np.nan if gain is None or gain.p is None else gain.p for gain in gains], dtype=np.float64))
    return [
        gain is not None and gain.value > 0 and bool(each < SIGNIFICANT) for gain, each in zip(gains, p, strict=True)
    ]


def weigh_verdict(
    rows: FamilyRows, family: Mapping[str, FamilyRows], *, floor: float = 0.5, raters: Labels | None = None
) -> Verdict:
    """Recommend weights for a category; `family` holds the rows of its siblings, without its own.

    A scheme must be shown to be better than equal weights, and own weights also than the family's; otherwise the simpler
    scheme is used. Raises TooFewRatings with fewer than two instructions. See weigh_verdicts for several categories.
    """
    return decided([gains_of(rows, family, floor=floor, raters=raters)])[0]


def gains_of(
    rows: FamilyRows, family: Mapping[str, FamilyRows], *, floor: float = 0.5, raters: Labels | None = None
) -> Verdict:
    """Compute the gains of a category with equal weights as the scheme to use until `decided` says otherwise."""
    found = left_out_errors(rows, family, floor=floor, raters=raters)
    errors = found.errors

    def gain(rival: Scheme, over: Scheme) -> Gain:
        return error_gain(errors[over] - errors[rival], found.instructions, found.raters, spread=found.spread)

    has_parent = "parent" in errors
    n = len(found.instructions)
    return Verdict(
        use="equal",
        sure=False,
        mse={name: float(error.sum()) / n for name, error in errors.items()},
        r2={name: 1 - float(error.sum()) / found.spread for name, error in errors.items()},
        own_over_equal=gain("own", "equal"),
        parent_over_equal=(gain("parent", "equal"),) if has_parent else (),
        own_over_parent=(gain("own", "parent"),) if has_parent else (),
        n=n,
        instructions=int(found.instructions.max()) + 1,
    )


def decided(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Decide for all categories of a fit together, with p values corrected for their number."""
    own = better_than_equal([verdict.own_over_equal for verdict in verdicts])
    parent = better_than_equal([next(iter(verdict.parent_over_equal), None) for verdict in verdicts])
    apart = better_than_equal([next(iter(verdict.own_over_parent), None) for verdict in verdicts])
    found = []
    for verdict, beats, family_beats, beats_family in zip(verdicts, own, parent, apart, strict=True):
        use: Scheme = "equal"
        if beats and (beats_family or not family_beats):
            use = "own"
        elif family_beats:
            use = "parent"
        sure = use != "equal" or verdict.own_over_equal.p is not None
        found.append(replace(verdict, use=use, sure=sure, better=beats))
    return found


def equal_gain(found: LeftOutErrors) -> Gain:
    """The gain of the fitted weights over equal weights."""
    saved = found.errors["equal"] - found.errors["own"]
    return error_gain(saved, found.instructions, found.raters, spread=found.spread)


def left_out_errors(
    rows: FamilyRows, family: Mapping[str, FamilyRows], *, floor: float, raters: Labels | None = None
) -> LeftOutErrors:
    """Compute the squared error of every scheme on each row, fitted without the row's instruction."""
    answers, overall = check_rows(rows[0], rows[1], floor)
    codes, k = cluster_codes(rows[3])
    if k < 2:
        raise TooFewRatings(k, 2, "instructions")
    sums = cluster_sums(answers, overall, codes, k)
    training = sums.without_each()
    p = answers.shape[1]
    squares = training.gram.sum(axis=(1, 2))
    scale = np.where(squares > 0, training.xy.sum(axis=1) / np.where(squares > 0, squares, 1.0), 0.0)
    weights: dict[Scheme, FloatArray] = {
        "own": floored_solve(training, floor),
        "equal": np.repeat(scale[:, None], p, axis=1),
    }
    if family:
        weights["parent"] = _family_weights(training, rows, family, floor)
    errors = {name: (overall - (answers * raw[codes]).sum(axis=1)) ** 2 for name, raw in weights.items()}
    return LeftOutErrors(
        errors, float(sums.total().centred_squares()), codes, cluster_codes(raters)[0] if raters is not None else None
    )


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


def error_gain(saved: FloatArray, instructions: IntArray, raters: IntArray | None, *, spread: float) -> Gain:
    """Mean error saved (rows,), with its ends over instructions and raters, whose codes (rows,) are from 0 up.

    Under 20 instructions, the ends are the range over leaving one out. `spread` is the overall scores' summed squares.
    """
    k, n = int(instructions.max()) + 1, len(saved)
    r = 1 if raters is None else int(raters.max()) + 1
    persons = np.zeros_like(instructions) if raters is None else raters
    cell, place = np.unique(instructions * r + persons, return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    by_instruction = sum_by(instructions, k, saved), sum_by(instructions, k, np.ones(n))
    found = crossed_ratios(
        CellSums(
            num=by_instruction[0][:, None],
            den=by_instruction[1][:, None],
            taken_num=sum_by(place, len(cell), saved)[:, None],
            taken_den=sum_by(place, len(cell), np.ones(n))[:, None],
            instruction=(cell // r).astype(np.int64),
            rater=(cell % r).astype(np.int64),
        )
    )
    value = float(found.value[0])
    share = value * n / spread if spread > 0 else 0.0
    why: WhyNot = found.not_stated[0] or ""
    if why == "few_instructions":
        without = (saved.sum() - by_instruction[0]) / (n - by_instruction[1])
        return Gain(value, float(without.min()), float(without.max()), share, "leave_one_out_range", k, not_stated=why)
    low, high = (float(ends[0]) for ends in found.ends(such=False))
    gain = Gain(value, low, high, share, "t95", k, needed=found.needed(0))
    if why:
        p = float(found.p_values(such=False)[0])
        return replace(gain, not_stated="positions" if raters is None else why, p=p)
    such_low, such_high = (float(ends[0]) for ends in found.ends(such=True))
    p = float(found.p_values(such=True)[0])
    return replace(gain, such_low=such_low, such_high=such_high, not_stated="", p=p)
