"""Sources of variance in scores, estimated for any crossed design. PURE.

Crossed random effects on any design, balanced or not: score = mean + model + item + response + rater + order + residual
+ repeat, each an independent draw of its level. Estimated by moments (Searle, Casella and McCulloch 1992, chapters 5
and 11): the quadratic forms |Z'(y - mean)|^2 of every source (as in MINQUE(0)) and the sum of squares within the
source of most levels are set equal to their expectations, which are sums over counts of levels that occur
together. Unbiased, the same as the analysis of variance where the design is balanced, and linear in the number of
scores. Own computation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from calibration.statistics.codes import numbered
from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.resampling import FloatArray, IntArray, Labels, cluster_codes

_Source: TypeAlias = tuple[IntArray, int]
"""Codes (n,) of a source's levels and their number."""

SEPARABLE = 1e-9
"""Smallest singular value of the scaled equations below which two effects cannot be told apart."""


class ConfoundedEffects(NoStatistic):
    """Two sources of variance vary together in this design, so no data from it can tell them apart."""

    def __init__(self, first: str, second: str) -> None:
        self.first = first
        self.second = second
        super().__init__(
            f"The effects of {first} and {second} cannot be told apart, because they change together in these "
            "ratings; leave one out, or let more raters share items."
        )


@dataclass(frozen=True)
class Component:
    """One source: its `variance` in squared points (never negative), `share` of the total, and number of `levels`.

    `raw` is the unbiased estimate, which may lie below 0; then `variance` is 0 and the others are estimated
    without it.
    """

    variance: float
    share: float
    raw: float
    levels: int


@dataclass(frozen=True)
class VarianceSplit:
    """Every source's component, in the order of the sources; `single` sources have one level and no estimate.

    `total` is the sum of the variances of the `n` scores' sources.
    """

    components: Mapping[str, Component]
    total: float
    n: int
    single: tuple[str, ...]


@dataclass(frozen=True)
class _Cells:
    """Levels of two sources that occur together: the row's cell (n,), its number of rows, and its two levels (cells,).

    `nested` is the source whose levels are the cells, in their order; then the rows' codes are those of its levels.
    """

    codes: IntArray | None
    together: FloatArray
    firsts: IntArray
    seconds: IntArray
    nested: int | None

    def without(self, rows: IntArray) -> FloatArray:
        """The number of rows (cells,) in each cell without these."""
        if self.codes is None or not rows.size:
            return self.together
        return np.asarray(self.together - np.bincount(self.codes[rows], minlength=self.together.size), dtype=np.float64)


class Scores:
    """Scores (n,) less their mean, with the sums of each source's levels."""

    def __init__(self, scores: FloatArray, sources: "Sources") -> None:
        self.y = scores - scores.mean()
        self.sums = [np.bincount(codes, self.y, levels) for codes, levels in sources.coded.values()]


class Sources:
    """The sources of n scores, coded once for estimates from all of the scores and from parts of them.

    `names` has every source of more than one level and then the noise, `single` the sources of one level.
    """

    def __init__(self, sources: Mapping[str, Labels], noise: str) -> None:
        coded = {name: cluster_codes(labels) for name, labels in sources.items()}
        self.single = tuple(name for name, (_, levels) in coded.items() if levels < 2)
        self.coded = {name: pair for name, pair in coded.items() if name not in self.single}
        self.names = [*self.coded, noise]
        self._sources = list(self.coded.values())
        self._finest = max(range(len(self._sources)), key=lambda place: self._sources[place][1], default=0)
        self._counts = [np.bincount(codes, minlength=levels).astype(np.float64) for codes, levels in self._sources]
        self._cells: dict[tuple[int, int], _Cells] = {}
        for k, (first, levels) in enumerate(self._sources):
            for other, (second, others) in enumerate(self._sources[: k + 1]):
                cells, codes, together = np.unique(second * levels + first, return_inverse=True, return_counts=True)
                # Levels of which each has one level of the other source are the cells themselves.
                nested = k if cells.size == levels else other if cells.size == others else None
                if nested is not None:
                    cells = cells[np.argsort(cells % levels if nested == k else cells // levels)]
                self._cells[k, other] = _Cells(
                    None if nested is not None else codes.reshape(-1),
                    together.astype(np.float64),
                    cells % levels,
                    cells // levels,
                    nested,
                )

    def estimate(self, scores: "Scores", left_out: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Unbiased estimates and variances that are not negative, each (names,), without the rows `left_out`.

        Raises ConfoundedEffects.
        """
        rows = np.zeros(0, dtype=np.int64) if left_out is None else left_out
        counts = [
            count - np.bincount(codes[rows], minlength=levels)
            for count, (codes, levels) in zip(self._counts, self._sources, strict=True)
        ]
        n = float(scores.y.size - rows.size)
        equations, forms = self._expectations(rows, counts, n), self._forms(scores, rows, counts, n)
        _check_separable(equations[:-1], self.names)
        raw = _solved(equations[:-1], forms[:-1])
        return raw, self._not_negative(equations, forms, raw)

    def _expectations(self, rows: IntArray, counts: list[FloatArray], n: float) -> FloatArray:
        """S (sources + 2, sources + 1) with E(form k) = sum over l of S_kl * variance_l, the forms as in _forms."""
        size = len(self._sources) + 1
        squares = [float((count**2).sum()) for count in counts]
        found = np.zeros((size + 1, size))
        for k in range(len(self._sources)):
            found[k, -1] = found[-1, k] = n - squares[k] / n
            for other in range(k + 1):
                cells = self._cells[k, other]
                together = counts[cells.nested] if cells.nested is not None else cells.without(rows)
                of_first = counts[k] if cells.nested == k else counts[k][cells.firsts]
                of_second = counts[other] if cells.nested == other else counts[other][cells.seconds]
                value = float((together**2).sum()) - 2 / n * float((together * of_first * of_second).sum())
                found[k, other] = found[other, k] = value + squares[k] * squares[other] / n**2
                for place, source, within in ((k, other, of_first), (other, k, of_second)):
                    if place == self._finest:
                        found[-2, source] = n - float((together**2 / np.maximum(within, 1.0)).sum())
        found[-2, -1] = n - (float((counts[self._finest] > 0).sum()) if self._sources else 1.0)
        found[-1, -1] = n - 1
        return found

    def _forms(self, scores: "Scores", rows: IntArray, counts: list[FloatArray], n: float) -> FloatArray:
        """The forms (sources + 2,) whose expectations are known.

        |Z_k' M y|^2 of each source (M centres), the squares within the source of most levels, all squares.
        """
        gone = scores.y[rows]
        mean = (float(scores.y.sum()) - float(gone.sum())) / n
        total = float((scores.y**2).sum()) - float((gone**2).sum()) - n * mean**2
        within, found = total, []
        for place, (codes, levels) in enumerate(self._sources):
            sums = scores.sums[place] - np.bincount(codes[rows], gone, levels) - mean * counts[place]
            found.append(float((sums**2).sum()))
            if place == self._finest:
                within -= float((sums**2 / np.maximum(counts[place], 1.0)).sum())
        return np.array([*found, within, total])

    def _not_negative(self, equations: FloatArray, forms: FloatArray, raw: FloatArray) -> FloatArray:
        """Drop the most negative variance and solve for the rest, until none is negative.

        Without the source of most levels, all squares take the place of those within it.
        """
        kept = np.arange(raw.size)
        found = raw
        while kept.size and float(found.min()) < 0:
            kept = np.delete(kept, int(found.argmin()))
            lines = np.where((kept == raw.size - 1) & (self._finest not in kept), raw.size, kept)
            found = _solved(equations[np.ix_(lines, kept)], forms[lines])
        variances = np.zeros(raw.size)
        variances[kept] = found
        return variances


def sources_of(*, items: Labels, raters: Labels, models: Labels | None = None, orders: Labels | None = None) -> Sources:
    """The sources of ratings with these labels (n,).

    items are instructions; with models, the cell of item and model is the source "response". orders are whatever
    differed in presentation (side, position in the session). Where a rater scored a cell more than once, "repeat" is the
    variance between its own answers and "residual" what the rater and the cell share (plus all unnamed);
    without repeats the two are one, "residual"; where each cell has a single rater there is only "repeat".
    """
    item, width = cluster_codes(items)
    rater, people = cluster_codes(raters)
    sources: dict[str, Labels] = {}
    cell = item
    if models is not None:
        model, kinds = cluster_codes(models)
        cell, _ = numbered(item * kinds + model)
        sources["model"] = model
        sources["item"] = item
        if width < int(cell.max(initial=-1)) + 1:
            sources["response"] = cell
    else:
        sources["item"] = item
    sources["rater"] = rater
    if orders is not None:
        sources["order"] = orders
    pair, _ = numbered(cell * people + rater)
    pairs = int(pair.max(initial=-1)) + 1
    repeated = pair.size > pairs
    if repeated and pairs > int(cell.max(initial=-1)) + 1:
        sources["residual"] = pair
    return Sources(sources, "repeat" if repeated else "residual")


def split_ratings(
    scores: FloatArray, *, items: Labels, raters: Labels, models: Labels | None = None, orders: Labels | None = None
) -> VarianceSplit:
    """The variance of scores (n,) split by the sources of sources_of.

    Raises TooFewRatings, ConstantScores, ConfoundedEffects.
    """
    return split_by(scores, sources_of(items=items, raters=raters, models=models, orders=orders))


def split_variance(scores: FloatArray, sources: Mapping[str, Labels], *, noise: str = "residual") -> VarianceSplit:
    """Variance components of scores (n,) by the sources' labels (n,) and, under the name `noise`, of the rest.

    Raises TooFewRatings under three scores, ConstantScores, ConfoundedEffects.
    """
    return split_by(scores, Sources(sources, noise))


def split_by(scores: FloatArray, sources: Sources) -> VarianceSplit:
    """Variance components of scores (n,) by sources that were coded before; raises as split_variance does."""
    y = np.asarray(scores, dtype=np.float64)
    if y.size < 3:
        raise TooFewRatings(int(y.size), 3, "scores")
    if not np.isfinite(y).all():
        raise NoStatistic("Scores must be finite numbers; leave out the ones that are missing.")
    if np.ptp(y) == 0:
        raise ConstantScores("scores", float(y[0]))
    for name, (codes, _) in sources.coded.items():
        if codes.size != y.size:
            raise ValueError(f"{codes.size} labels of {name} for {y.size} scores; give one for each.")
    raw, variances = sources.estimate(Scores(y, sources))
    total = float(variances.sum())
    levels = [count for _, count in sources.coded.values()] + [y.size]
    return VarianceSplit(
        components={
            name: Component(float(variances[i]), float(variances[i]) / total, float(raw[i]), levels[i])
            for i, name in enumerate(sources.names)
        },
        total=total,
        n=int(y.size),
        single=sources.single,
    )


def _check_separable(equations: FloatArray, names: list[str]) -> None:
    length = np.linalg.norm(equations, axis=0)
    if float(length.min()) > 0:
        scaled = equations / length
        rows = np.linalg.norm(scaled, axis=1)
        _, values, vectors = np.linalg.svd(scaled / np.where(rows > 0, rows, 1.0)[:, None])
        if values[-1] > SEPARABLE:
            return
        worst = np.argsort(-np.abs(vectors[-1]), kind="stable")
    else:
        worst = np.argsort(length, kind="stable")
    first, second = sorted([int(worst[0]), int(worst[1])])
    raise ConfoundedEffects(names[first], names[second])


def _solved(equations: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(equations, right), dtype=np.float64)
