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
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.resampling import FloatArray, IntArray, Labels, cluster_codes

VarianceInterval: TypeAlias = Literal["parametric95", "none"]

_Source: TypeAlias = tuple[IntArray, int]
"""Codes (n,) of a source's levels and their number."""

SEPARABLE = 1e-9
"""Smallest singular value of the scaled equations below which two effects cannot be told apart."""

SIMULATED_AT_ONCE = 4_000_000


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
    without it. low and high hold the middle 95 % of estimates from scores simulated with the estimated variances.
    """

    variance: float
    share: float
    low: float
    high: float
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
    interval_kind: VarianceInterval
    draws: int


def split_ratings(
    scores: FloatArray,
    *,
    items: Labels,
    raters: Labels,
    models: Labels | None = None,
    orders: Labels | None = None,
    draws: int = 200,
    seed: int = 0,
) -> VarianceSplit:
    """The variance of scores (n,) split by source; with one label per score in every list.

    items are instructions; with models, the cell of item and model is the source "response". orders are whatever
    differed in presentation (side, position in the session). Where a rater scored a cell more than once, "repeat" is the
    variance between its own answers and "residual" what the rater and the cell share (plus all unnamed);
    without repeats the two are one, "residual"; where each cell has a single rater there is only "repeat". Raises
    TooFewRatings, ConstantScores, ConfoundedEffects.
    """
    item, width = cluster_codes(items)
    rater, people = cluster_codes(raters)
    sources: dict[str, IntArray] = {}
    cell = item
    if models is not None:
        model, kinds = cluster_codes(models)
        _, cell = np.unique(item * kinds + model, return_inverse=True)
        cell = cell.reshape(-1)
        sources["model"] = model
        sources["item"] = item
        if width < int(cell.max(initial=-1)) + 1:
            sources["response"] = cell
    else:
        sources["item"] = item
    sources["rater"] = rater
    if orders is not None:
        sources["order"] = cluster_codes(orders)[0]
    _, pair = np.unique(cell * people + rater, return_inverse=True)
    pair = pair.reshape(-1)
    pairs = int(pair.max(initial=-1)) + 1
    repeated = pair.size > pairs
    if repeated and pairs > int(cell.max(initial=-1)) + 1:
        sources["residual"] = pair
    return split_variance(scores, sources, noise="repeat" if repeated else "residual", draws=draws, seed=seed)


def split_variance(
    scores: FloatArray, sources: Mapping[str, Labels], *, noise: str = "residual", draws: int = 200, seed: int = 0
) -> VarianceSplit:
    """Variance components of scores (n,) by the sources' labels (n,) and, under the name `noise`, of the rest.

    Raises TooFewRatings under three scores, ConstantScores, ConfoundedEffects.
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.size < 3:
        raise TooFewRatings(int(y.size), 3, "scores")
    if not np.isfinite(y).all():
        raise NoStatistic("Scores must be finite numbers; leave out the ones that are missing.")
    if np.ptp(y) == 0:
        raise ConstantScores("scores", float(y[0]))
    coded = {name: cluster_codes(labels) for name, labels in sources.items()}
    for name, (codes, _) in coded.items():
        if codes.size != y.size:
            raise ValueError(f"{codes.size} labels of {name} for {y.size} scores; give one for each.")
    single = tuple(name for name, (_, levels) in coded.items() if levels < 2)
    kept = {name: pair for name, pair in coded.items() if name not in single}
    names = [*kept, noise]
    equations = _expectations(list(kept.values()), y.size)
    _check_separable(equations[:-1], names)
    forms = _quadratics(y[:, None], list(kept.values()))[:, 0]
    raw = _solved(equations[:-1], forms[:-1])
    variances = _not_negative(equations, forms, raw, _finest(list(kept.values())))
    sample = _simulated(variances, list(kept.values()), equations, y.size, draws, seed)
    low, high = np.quantile(sample, [0.025, 0.975], axis=0) if draws else (variances, variances)
    total = float(variances.sum())
    levels = [count for _, count in kept.values()] + [y.size]
    return VarianceSplit(
        components={
            name: Component(
                float(variances[i]),
                float(variances[i]) / total,
                float(low[i]),
                float(high[i]),
                float(raw[i]),
                levels[i],
            )
            for i, name in enumerate(names)
        },
        total=total,
        n=int(y.size),
        single=single,
        interval_kind="parametric95" if draws else "none",
        draws=draws,
    )


def _expectations(sources: list[_Source], n: int) -> FloatArray:
    """S (sources + 2, sources + 1) with E(form k) = sum over l of S_kl * variance_l, the forms as in _quadratics."""
    size = len(sources) + 1
    counts = [np.bincount(codes, minlength=levels).astype(np.float64) for codes, levels in sources]
    squares = [float(count @ count) for count in counts]
    finest = _finest(sources)
    found = np.zeros((size + 1, size))
    for k, (first, levels) in enumerate(sources):
        found[k, -1] = found[-1, k] = n - squares[k] / n
        for other, (second, _) in enumerate(sources):
            cells, together = np.unique(second * levels + first, return_counts=True)
            lines, squared = cells % levels, together.astype(np.float64) ** 2
            crossed = counts[k][lines] * counts[other][cells // levels]
            value = float(squared.sum() - 2 / n * (together * crossed).sum())
            found[k, other] = value + squares[k] * squares[other] / n**2
            if k == finest:
                found[-2, other] = n - float((squared / counts[k][lines]).sum())
    found[-2, -1] = n - (sources[finest][1] if sources else 1)
    found[-1, -1] = n - 1
    return found


def _finest(sources: list[_Source]) -> int:
    """The place of the source of most levels."""
    return max(range(len(sources)), key=lambda place: sources[place][1], default=0)


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


def _quadratics(y: FloatArray, sources: list[_Source]) -> FloatArray:
    """The forms whose expectations are known, of every column of y (n, b): (sources + 2, b).

    |Z_k' M y|^2 of each source (M centres), the squares within the source of most levels, all squares.
    """
    from scipy.sparse import csr_array

    centred = y - y.mean(axis=0)
    total = (centred**2).sum(axis=0)
    within = total
    rows = []
    for place, (codes, levels) in enumerate(sources):
        shape = (levels, codes.size)
        table = csr_array((np.ones(codes.size), (codes, np.arange(codes.size))), shape=shape)
        sums = np.asarray(table @ centred)
        rows.append((sums**2).sum(axis=0))
        if place == _finest(sources):
            within = within - (sums**2 / np.bincount(codes, minlength=levels)[:, None]).sum(axis=0)
    rows += [within, total]
    return np.asarray(np.vstack(rows), dtype=np.float64)


def _not_negative(equations: FloatArray, forms: FloatArray, raw: FloatArray, finest: int) -> FloatArray:
    """Drop the most negative variance and solve for the rest, until none is negative.

    Without the source of most levels, all squares take the place of those within it.
    """
    kept = np.arange(raw.size)
    found = raw
    while kept.size and float(found.min()) < 0:
        kept = np.delete(kept, int(found.argmin()))
        lines = np.where((kept == raw.size - 1) & (finest not in kept), raw.size, kept)
        found = _solved(equations[np.ix_(lines, kept)], forms[lines])
    variances = np.zeros(raw.size)
    variances[kept] = found
    return variances


def _solved(equations: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(equations, right), dtype=np.float64)


def _simulated(
    variances: FloatArray, sources: list[_Source], equations: FloatArray, n: int, draws: int, seed: int
) -> FloatArray:
    """Estimates (draws, sources + 1) from normal scores with these variances in the same design."""
    rng = np.random.default_rng(seed)
    found = []
    at_once = max(1, SIMULATED_AT_ONCE // n)
    for start in range(0, draws, at_once):
        width = min(at_once, draws - start)
        y = rng.normal(scale=np.sqrt(variances[-1]), size=(n, width))
        for variance, (codes, levels) in zip(variances, sources, strict=False):
            y += rng.normal(scale=np.sqrt(variance), size=(levels, width))[codes]
        forms = _quadratics(y, sources)
        raw = _solved(equations[:-1], forms[:-1])
        columns = zip(forms.T, raw.T, strict=True)
        found += [_not_negative(equations, form, column, _finest(sources)) for form, column in columns]
    return np.array(found).reshape(len(found), variances.size)
