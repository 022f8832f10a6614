"""A judge's scores against people's: correlations three ways, slopes, and what one person reaches. PURE.

People's score of a response is the mean of its raters'. Intervals and p values are for raters like these where three
raters or more allow it, and otherwise for exactly these raters (see populations.py and estimates.py): correlations on
Fisher's scale, slopes on their own. Within models, and within instructions, a correlation is Pearson's of what is left of
both scores without the mean of the model or of the instruction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.judges.estimates import PeopleEstimate, holm, people_estimate
from calibration.statistics.masked_rows import mean_difference, product, product_within, ranks, slope, tau
from calibration.statistics.populations import Scale
from calibration.statistics.replicates import replicated
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray
from calibration.statistics.ties import settle_ties

LEAST_RESPONSES = 3
DECIMALS = 9
"""Means that differ by less are tied."""


@dataclass(frozen=True)
class ScoredResponses:
    """Responses that a judge and people scored: `judge`, `instruction` and `model` (m,), and one line for each rating.

    response (n,) is each rating's place among the m responses, with its rater and value. Instructions, models and raters
    are codes of any kind; model -1 is unknown. `positions`: the raters are positions of a data set and not persons.
    """

    judge: FloatArray
    instruction: IntArray
    model: IntArray
    response: IntArray
    rater: IntArray
    value: FloatArray
    positions: bool = False


@dataclass(frozen=True)
class PeopleCorrelation:
    """Spearman's rho, Kendall's tau-b and Pearson's r of `n` responses of `clusters` instructions, scored by `raters`."""

    spearman: PeopleEstimate
    kendall: PeopleEstimate
    pearson: PeopleEstimate
    n: int
    clusters: int
    raters: int


@dataclass(frozen=True)
class Slopes:
    """How much others' score changes with a rater's own: the judge's slope, a typical person's, and their difference.

    The judge is compared with the mean of all raters of a response; each person with that of the other raters, on responses
    with two or more of them, the persons' slopes pooled within persons. Neither depends on how noisy the mean is. Under 0
    the difference says that the judge exaggerates more than a person does.
    """

    judge: PeopleEstimate
    person: PeopleEstimate | None
    apart: PeopleEstimate | None


@dataclass(frozen=True)
class JudgeCorrelation(PeopleCorrelation):
    """The correlations over all responses, and Pearson's within models and within instructions (None: undefined).

    `person` is what a person reaches: each person's score with the mean of the other people's, by Spearman, on the same
    responses as far as several people scored them (`person_n` ratings).
    """

    within_models: PeopleEstimate | None
    within_instructions: PeopleEstimate | None
    person: PeopleEstimate | None
    person_n: int
    slopes: Slopes | None


QUANTITIES = (
    "spearman",
    "kendall",
    "pearson",
    "within_models",
    "within_instructions",
    "person",
    "slope",
    "person_slope",
    "slopes_apart",
)
PLAIN = ("slope", "person_slope", "slopes_apart", "apart")


def judge_correlation(scored: ScoredResponses, *, intervals: bool = True, seed: int = 0) -> JudgeCorrelation:
    """Correlate a judge with people in every way. Raises TooFewRatings under three responses, ConstantScores."""
    found = _estimates(scored, QUANTITIES, intervals=intervals, seed=seed)
    slope = found["slope"]
    over = _over(scored)
    return JudgeCorrelation(
        **over,
        spearman=_known(found["spearman"]),
        kendall=_known(found["kendall"]),
        pearson=_known(found["pearson"]),
        within_models=found["within_models"],
        within_instructions=found["within_instructions"],
        person=found["person"],
        person_n=int((np.bincount(scored.response)[scored.response] > 1).sum()),
        slopes=None if slope is None else Slopes(slope, found["person_slope"], found["slopes_apart"]),
    )


def people_correlation(scored: ScoredResponses, *, intervals: bool = True, seed: int = 0) -> PeopleCorrelation:
    """The three correlations alone. Raises as judge_correlation."""
    found = _estimates(scored, QUANTITIES[:3], intervals=intervals, seed=seed)
    spearman, kendall, pearson = (_known(one) for one in found.values())
    return PeopleCorrelation(spearman, kendall, pearson, **_over(scored))


def spearman_with_people(scored: ScoredResponses, *, seed: int = 0) -> PeopleEstimate:
    """Spearman's rho alone. Raises as judge_correlation."""
    return _known(_estimates(scored, ("spearman",), intervals=True, seed=seed)["spearman"])


@dataclass(frozen=True)
class MethodPair:
    """Spearman's rho with people of the methods at places `one` and `other`, the first minus the second.

    `p` is Holm's, corrected for all pairs; None where the difference has no 95 % interval.
    """

    one: int
    other: int
    difference: PeopleEstimate
    p: float | None


@dataclass(frozen=True)
class MethodsCompared:
    """Methods on the `n` responses that all of them scored: rho of each, and every pair (no pairs of fewer than two)."""

    n: int
    rho: list[PeopleEstimate]
    pairs: list[MethodPair]


def compare_methods(scored: ScoredResponses, methods: FloatArray, *, seed: int = 0) -> MethodsCompared:
    """Compare methods' scores (methods, m) of the same responses, in place of a judge's. Raises as judge_correlation."""
    data = _checked(replace(scored, judge=methods[0]), vary=True)
    table = [settle_ties(np.asarray(row, dtype=np.float64)) for row in methods]
    places = list(combinations(range(len(methods)), 2))

    def values(kept: BoolArray) -> FloatArray:
        y, _, counts = _means(data, kept)
        rated = counts > 0
        theirs = ranks(y, rated)
        rho = [product(ranks(row, rated), theirs, rated) for row in table]
        return np.column_stack([*rho, *(rho[one] - rho[other] for one, other in places)])

    names = [f"rho {place}" for place in range(len(methods))]
    scales: list[Scale] = ["correlation" for _ in names]
    plain: list[Scale] = ["plain" for _ in places]
    found = _from_replicates(
        data, values, [*scales, *plain], [False] * (len(scales) + len(plain)), intervals=True, seed=seed
    )
    rho = [_known(one) for one in found[: len(names)]]
    differences = [_known(one) for one in found[len(names) :]]
    corrected = holm([one.p for one in differences])
    pairs = [MethodPair(*place, one, p) for place, one, p in zip(places, differences, corrected, strict=True)]
    return MethodsCompared(data.judge.size, rho, pairs)


def judge_slopes(scored: ScoredResponses, *, seed: int = 0) -> Slopes:
    """The slopes alone. Raises as judge_correlation."""
    found = _estimates(scored, ("slope", "person_slope", "slopes_apart"), intervals=True, seed=seed)
    return Slopes(_known(found["slope"]), found["person_slope"], found["slopes_apart"])


def judge_minus_people(scored: ScoredResponses, *, seed: int = 0) -> PeopleEstimate:
    """The mean over responses of the judge's score minus people's, in points of their common scale. Raises TooFewRatings."""
    return _known(_estimates(scored, ("apart",), intervals=True, seed=seed, vary=False)["apart"])


def _over(scored: ScoredResponses) -> dict[str, int]:
    return {
        "n": len(scored.judge),
        "clusters": len(np.unique(scored.instruction)),
        "raters": len(np.unique(scored.rater)),
    }


def _known(found: PeopleEstimate | None) -> PeopleEstimate:
    if found is None:
        raise NoStatistic("The correlation is undefined on these scores: nothing in them varies as it needs.")
    return found


def _estimates(
    scored: ScoredResponses, names: tuple[str, ...], *, intervals: bool, seed: int, vary: bool = True
) -> dict[str, PeopleEstimate | None]:
    data = _checked(scored, vary=vary)
    scales: list[Scale] = ["plain" if name in PLAIN else "correlation" for name in names]
    between = [name == "person" for name in names]
    found = _from_replicates(data, partial(_values, data, names), scales, between, intervals=intervals, seed=seed)
    return dict(zip(names, found, strict=True))


def _from_replicates(
    data: ScoredResponses,
    values: Callable[[BoolArray], FloatArray],
    scales: Sequence[Scale],
    between: Sequence[bool],
    *,
    intervals: bool,
    seed: int,
) -> list[PeopleEstimate | None]:
    """The quantities of `values` (kept ratings (b, n) -> (b, scales)), None where one is undefined."""
    lines = data.instruction[data.response], data.rater
    found = replicated(*lines, values, between, intervals=intervals, seed=seed)
    return [
        None if one is None else people_estimate(one, scale, left_out=left, positions=data.positions)
        for (one, left), scale in zip(found, scales, strict=True)
    ]


def _checked(scored: ScoredResponses, *, vary: bool) -> ScoredResponses:
    judge = np.asarray(scored.judge, dtype=np.float64)
    value = np.asarray(scored.value, dtype=np.float64)
    least = LEAST_RESPONSES if vary else 1
    if judge.size < least:
        raise TooFewRatings(int(judge.size), least, "responses scored by both")
    if not (np.isfinite(judge).all() and np.isfinite(value).all()):
        raise NoStatistic("Scores must be finite numbers; leave out the ones that are missing.")
    if np.unique(scored.response).size != judge.size:
        raise ValueError("Every response needs the score of at least one person.")
    judge = settle_ties(judge)
    means = settle_ties(sum_by(scored.response, judge.size, value) / np.bincount(scored.response, minlength=judge.size))
    for what, values in (("scores compared", judge), ("scores compared against", means)):
        if vary and np.ptp(values) == 0:
            raise ConstantScores(what, float(values[0]))
    # In the order of the responses, a response's ratings are neighbours, which _means adds up.
    order = np.argsort(scored.response, kind="stable")
    return ScoredResponses(
        judge,
        _codes(scored.instruction),
        _codes(scored.model),
        np.asarray(scored.response, dtype=np.int64)[order],
        _codes(scored.rater)[order],
        value[order],
        scored.positions,
    )


def _codes(values: IntArray) -> IntArray:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _means(data: ScoredResponses, kept: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """People's mean scores of the responses (b, m) from the ratings that are `kept` (b, n), 0 where there are none; the sums
    and the numbers of these ratings."""
    starts = np.searchsorted(data.response, np.arange(data.judge.size))
    sums = np.add.reduceat(np.where(kept, data.value, 0.0), starts, axis=1)
    counts = np.add.reduceat(kept, starts, axis=1, dtype=np.int64)
    return np.round(sums / np.maximum(counts, 1), DECIMALS), sums, counts


def _values(data: ScoredResponses, names: tuple[str, ...], kept: BoolArray) -> FloatArray:
    """The quantities (b, names) of the ratings that are `kept` (b, n), nan where one is undefined."""
    x, (y, sums, counts) = data.judge, _means(data, kept)
    rated = counts > 0
    line, own = data.response, data.value
    several = kept & (counts[:, line] > 1)
    others = np.round((sums[:, line] - own) / np.maximum(counts[:, line] - 1, 1), DECIMALS)

    @cache
    def judge_slope() -> FloatArray:
        return slope(x, y, rated)

    @cache
    def person_slope() -> FloatArray:
        return slope(own, others, several, data.rater)

    ways: dict[str, Callable[[], FloatArray]] = {
        "spearman": lambda: product(ranks(x, rated), ranks(y, rated), rated),
        "kendall": lambda: tau(x, y, rated),
        "pearson": lambda: product(x, y, rated),
        "within_models": lambda: product_within(x, y, rated, data.model),
        "within_instructions": lambda: product_within(x, y, rated, data.instruction),
        "person": lambda: product(ranks(own, several), ranks(others, several), several),
        "slope": judge_slope,
        "person_slope": person_slope,
        "apart": lambda: mean_difference(x, y, rated),
        "slopes_apart": lambda: judge_slope() - person_slope(),
    }
    return np.column_stack([ways[name]() for name in names])
