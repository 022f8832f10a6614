"""Partial pooling: a category's weights drawn toward those of all categories together. PURE.

A small category's weights are noisy; the parent's, fitted to every category's rows at once, are steadier but not its
own. Each category minimises SSE(w) + strength * |w - parent|^2 with w >= floor: a strength of s weighs like s rows
answered on one item alone. One strength is chosen for all categories, by cross-validation that leaves whole
instructions out of both the category and the parent. The method is our own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf

import numpy as np

from calibration.statistics.crossed import crossed_refits
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.populations import MOST_REPLICATES
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, Labels, cluster_codes
from calibration.statistics.weights.least_squares import Sums, cluster_sums, floored_solve, unconstrained_solve
from calibration.statistics.weights.populations import WeightPopulations, fit_quantities, populations_of
from calibration.statistics.weights.rows import check_rows

NUMBERS_AT_ONCE = 20_000_000
STRENGTHS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, inf)

CategoryRows = tuple[FloatArray, FloatArray, Sequence[str], Labels]
"""Answers (n, p) in 0..1, overall (n,) in 0..10, the items' criterion keys (p,), instruction labels (n,)."""


@dataclass(frozen=True)
class PooledCategory:
    """One category at the chosen strength. Weights sum to 100; raw weights (p,) are in points of overall score.

    `plain_raw_weights` are those at strength 0, `parent_raw_weights` the parent's for the same keys. `cv_mse` and
    `cv_mse_plain` are mean squared errors on held-out instructions; `gain` is the reduction by pooling. `r2`
    (centred) and `mse` are on the `n` rows fitted. `populations` are intervals at this strength, in which the parent's
    weights are fitted again as well.
    """

    keys: tuple[str, ...]
    weights: FloatArray
    raw_weights: FloatArray
    plain_raw_weights: FloatArray
    parent_raw_weights: FloatArray
    r2: float
    mse: float
    n: int
    cv_mse: float
    cv_mse_plain: float
    gain: float
    populations: WeightPopulations | None = None


@dataclass(frozen=True)
class PooledFits:
    """All categories at one strength; `path` lists each strength tried with its mean squared error on left-out rows.

    A strength of 0 is the plain fit of every category, infinity gives every category the parent's weights.
    `parent` maps each key to its raw weight in the fit of all rows. `gain` is the path's value at 0 less that at the
    chosen strength.
    """

    strength: float
    path: tuple[tuple[float, float], ...]
    gain: float
    parent: Mapping[str, float]
    categories: Mapping[str, PooledCategory]
    folds: int
    floor: float
    seed: int


@dataclass(frozen=True)
class _Category:
    """A category's sums by instruction (k stacked), the fold of each instruction and its columns in the parent."""

    keys: tuple[str, ...]
    sums: Sums
    fold: IntArray
    columns: IntArray

    def by_fold(self, folds: int) -> Sums:
        counts = (self.fold[None, :] == np.arange(folds)[:, None]).astype(np.float64)
        return self.sums.combine(counts)

    def outside_folds(self, folds: int) -> Sums:
        counts = (self.fold[None, :] != np.arange(folds)[:, None]).astype(np.float64)
        return self.sums.combine(counts)


def pool_weights(
    categories: Mapping[str, CategoryRows],
    *,
    floor: float = 0.5,
    strengths: Sequence[float] = STRENGTHS,
    folds: int = 10,
    seed: int = 0,
    raters: Mapping[str, Labels] | None = None,
) -> PooledFits:
    """Fit every category's weights, drawn toward the parent's with the strength that predicts held-out instructions best.

    0 and infinity are always among the strengths tried. Of equally good strengths, the largest is chosen. A category
    may have fewer rows than items. `raters` label each category's rows, where the data name persons.

    Raises TooFewRatings with fewer than two instructions in total, ConstantScores for a category whose overall scores are
    all the same, Undefined (OutOfRange, NotConverged).
    """
    tried = tuple(sorted({0.0, inf, *(float(s) for s in strengths)}))
    if tried[0] < 0:
        raise ValueError(f"Pooling strengths must not be negative, found {tried[0]:g}.")
    keys, parts = _gather(categories, floor, folds, seed)
    used = 1 + max(int(part.fold.max()) for part in parts.values())
    training = {name: part.outside_folds(used) for name, part in parts.items()}
    parents = _parent(keys, [(parts[name], sums) for name, sums in training.items()], used, floor)
    errors = {
        name: _path_errors(part.by_fold(used), training[name], parents[:, part.columns], tried, floor)
        for name, part in parts.items()
    }
    rows = {name: float(part.sums.n.sum()) for name, part in parts.items()}
    path = np.sum(list(errors.values()), axis=0) / sum(rows.values())
    best = len(tried) - 1 - int(np.argmin(path[::-1]))
    whole = {name: _stacked(part.sums.total()) for name, part in parts.items()}
    ends = _populations(keys, parts, categories, raters, tried[best], floor, seed)
    parent = _parent(keys, [(parts[name], sums) for name, sums in whole.items()], 1, floor)[0]
    return PooledFits(
        strength=tried[best],
        path=tuple(zip(tried, path.tolist(), strict=True)),
        gain=float(path[0] - path[best]),
        parent=dict(zip(keys, parent.tolist(), strict=True)),
        categories={
            name: replace(
                _finished(part, whole[name], parent[part.columns], tried[best], errors[name][[0, best]], floor),
                populations=ends[name],
            )
            for name, part in parts.items()
        },
        folds=used,
        floor=floor,
        seed=seed,
    )


def pooled_solve(sums: Sums, parent: FloatArray, strength: float, floor: float) -> FloatArray:
    """Raw weights (b, p) of a stack of problems drawn toward parents (b, p) by `strength`, none below `floor`."""
    if isinf(strength):
        return parent
    return floored_solve(_drawn_toward(sums, parent, strength), floor)


def _drawn_toward(sums: Sums, parent: FloatArray, strength: float) -> Sums:
    return Sums(
        sums.gram + strength * np.eye(parent.shape[1]),
        sums.xy + strength * parent,
        sums.yy + strength * (parent**2).sum(axis=1),
        sums.y,
        sums.n,
    )


def _populations(
    keys: list[str],
    parts: Mapping[str, _Category],
    categories: Mapping[str, CategoryRows],
    raters: Mapping[str, Labels] | None,
    strength: float,
    floor: float,
    seed: int,
) -> dict[str, WeightPopulations]:
    """Intervals of every category's pooled weights, by refits of the whole family without each cluster of its rows."""
    rows = {name: check_rows(answers, overall, floor) for name, (answers, overall, _, _) in categories.items()}
    sizes = [len(y) for _, y in rows.values()]
    ends = np.cumsum([0, *sizes])
    instructions = cluster_codes([label for _, _, _, labels in categories.values() for label in labels])[0]
    persons = None if raters is None else cluster_codes([label for name in rows for label in raters[name]])[0]

    def quantities(codes: IntArray, groups: int, *, without: bool) -> tuple[FloatArray, BoolArray]:
        stacks = {}
        for place, (name, (x, y)) in enumerate(rows.items()):
            sums = cluster_sums(x, y, codes[ends[place] : ends[place + 1]], groups)
            stacks[name] = sums.without_each() if without else sums
        together = _together(keys, [(parts[name], sums) for name, sums in stacks.items()], groups)
        parents, free = floored_solve(together, floor), unconstrained_solve(together)
        found, defined = [], np.ones(groups, dtype=np.bool_)
        for name, sums in stacks.items():
            columns = parts[name].columns
            values, known = _quantities(sums, parents[:, columns], free[:, columns], strength, floor)
            found.append(values)
            defined &= known
        return np.column_stack(found), defined

    def without_each(codes: IntArray, groups: int) -> tuple[FloatArray, BoolArray]:
        return quantities(codes, groups, without=True)

    value = quantities(np.zeros(ends[-1], dtype=np.int64), 1, without=False)[0][0]
    most = max(1, NUMBERS_AT_ONCE // len(keys) ** 2)
    found = crossed_refits(instructions, persons, without_each, value, most=min(most, MOST_REPLICATES), seed=seed)
    intervals, start = {}, 0
    for name, part in parts.items():
        p = len(part.keys)
        of_category = found.part(slice(start, start + 2 * p + 2))
        at_floor = of_category.value[:p] <= of_category.value[2 * p] * (1 + 1e-9)
        intervals[name] = populations_of(of_category, at_floor, positions=raters is None)
        start += 2 * p + 2
    return intervals


def _quantities(
    sums: Sums, parents: FloatArray, free: FloatArray, strength: float, floor: float
) -> tuple[FloatArray, BoolArray]:
    """The quantities of fit_quantities, at this pooling strength. The coefficients without a floor are drawn toward the
    parent's without a floor, `free`: a parent's weight at the floor does not move when something is left out."""
    raw = pooled_solve(sums, parents, strength, floor)
    found, defined = fit_quantities(sums, floor, raw)
    p = parents.shape[1]
    total = raw.sum(axis=1, keepdims=True)
    own = free if isinf(strength) else unconstrained_solve(_drawn_toward(sums, free, strength))
    found[:, p : 2 * p] = 100 * own / np.where(total > 0, total, 1.0)
    return found, defined


def _gather(
    categories: Mapping[str, CategoryRows], floor: float, folds: int, seed: int
) -> tuple[list[str], dict[str, _Category]]:
    """All keys in order of appearance, and each category's sums with its instructions dealt to folds."""
    rng = np.random.default_rng(seed)
    keys = list(dict.fromkeys(key for rows in categories.values() for key in rows[2]))
    place = {key: index for index, key in enumerate(keys)}
    found: dict[str, _Category] = {}
    dealt = 0
    for name, (answers, overall, own_keys, instructions) in categories.items():
        x, y = check_rows(answers, overall, floor)
        if len(own_keys) != x.shape[1] or len(set(own_keys)) != len(own_keys):
            raise ValueError(f"Category {name} has {x.shape[1]} items and the keys {list(own_keys)}; name each once.")
        if not len(y):
            raise TooFewRatings(0, 1, f"annotations in category {name}")
        if np.ptp(y) == 0:
            raise ConstantScores(f"overall scores in category {name}", float(y[0]))
        codes, clusters = cluster_codes(instructions)
        # Dealing on from where the last category stopped keeps the folds even when categories are small.
        fold = (rng.permutation(clusters) + dealt) % folds
        dealt += clusters
        columns = np.array([place[key] for key in own_keys], dtype=np.int64)
        found[name] = _Category(tuple(own_keys), cluster_sums(x, y, codes, clusters), fold, columns)
    if dealt < 2:
        raise TooFewRatings(dealt, 2, "instructions")
    return keys, found


def _parent(keys: list[str], parts: list[tuple[_Category, Sums]], stack: int, floor: float) -> FloatArray:
    """Raw weights (stack, keys) fitted to the rows of all categories."""
    return floored_solve(_together(keys, parts, stack), floor)


def _together(keys: list[str], parts: list[tuple[_Category, Sums]], stack: int) -> Sums:
    """The sums (stack) of the rows of all categories; a key a category lacks counts 0 there."""
    size = len(keys)
    gram, xy = np.zeros((stack, size, size)), np.zeros((stack, size))
    yy, y, n = np.zeros(stack), np.zeros(stack), np.zeros(stack)
    for part, sums in parts:
        gram[:, part.columns[:, None], part.columns[None, :]] += sums.gram
        xy[:, part.columns] += sums.xy
        yy, y, n = yy + sums.yy, y + sums.y, n + sums.n
    return Sums(gram, xy, yy, y, n)


def _path_errors(
    held_out: Sums, training: Sums, parents: FloatArray, strengths: Sequence[float], floor: float
) -> FloatArray:
    """Sum of squared errors on the left-out rows of all folds, for each strength."""
    return np.array([held_out.squared_error(pooled_solve(training, parents, s, floor)).sum() for s in strengths])


def _stacked(sums: Sums) -> Sums:
    return Sums(sums.gram[None], sums.xy[None], sums.yy[None], sums.y[None], sums.n[None])


def _finished(
    part: _Category, whole: Sums, parent: FloatArray, strength: float, errors: FloatArray, floor: float
) -> PooledCategory:
    raw = pooled_solve(whole, parent[None], strength, floor)
    plain = pooled_solve(whole, parent[None], 0.0, floor)
    n = float(whole.n[0])
    if raw.sum() == 0:
        raise ConstantScores("fitted weights", 0.0)
    error = float(whole.squared_error(raw)[0])
    return PooledCategory(
        keys=part.keys,
        weights=100 * raw[0] / raw[0].sum(),
        raw_weights=raw[0],
        plain_raw_weights=plain[0],
        parent_raw_weights=parent,
        r2=1 - error / float(whole.centred_squares()[0]),
        mse=error / n,
        n=int(n),
        cv_mse=float(errors[1]) / n,
        cv_mse_plain=float(errors[0]) / n,
        gain=float(errors[0] - errors[1]) / n,
    )
