"""Coefficients of agreement of the people in a frame, each for these raters and for such raters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from calibration.data.frames import ScoreFrame
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth, estimate_of, or_none, stated
from calibration.statistics.agreement.alpha import Metric
from calibration.statistics.agreement.kappas import Chance
from calibration.statistics.agreement.rater_correlations import icc
from calibration.statistics.agreement.such_correlations import icc_variance, pair_agreements, pair_correlation_variance
from calibration.statistics.agreement.such_raters import agreement_variance, alpha_variance, kappa_variance
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import CrossedVariance
from calibration.statistics.ties import level_places

ICCS = ("icc1", "icc21", "icc2k")


@dataclass(frozen=True)
class NamedPair:
    """Two raters by name: Pearson's correlation and Cohen's kappa over `n` common tasks, with ends for these two raters.

    None where a coefficient is undefined, or its ends are not stated because the two share fewer than 20 instructions.
    """

    first: str
    second: str
    n: int
    instructions: int
    pearson: float | None
    pearson_low: float | None
    pearson_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None


@dataclass(frozen=True)
class Rows:
    """Computes coefficients with the groups of clusters drawn by `seed`; with `slots`, raters are positions."""

    seed: int
    slots: bool

    def loo(self, part: ScoreFrame) -> EstimateForBoth:
        """Inner leave-one-out agreement. Raises NoStatistic."""
        labels = level_places(part.label_values)
        variance = agreement_variance(part.task, labels, part.rater, part.instruction, seed=self.seed)
        return estimate_of(variance, "share", slots=self.slots)

    def alpha(self, part: ScoreFrame, metric: Metric) -> EstimateForBoth:
        """Krippendorff's alpha; as a nominal label, both bad counts on its own. Raises NoStatistic."""
        values = part.label_values if metric == "nominal" else part.value
        variance = alpha_variance(part.task, values, part.rater, part.instruction, metric=metric, seed=self.seed)
        return estimate_of(variance, "correlation", slots=self.slots)

    def coefficients(self, part: ScoreFrame) -> dict[str, EstimateForBoth | Missing]:
        """Fleiss' kappa, AC1, ICC(1), ICC(2,1) and ICC(2,k), or why there is none."""
        labels = level_places(part.label_values)
        found: dict[str, EstimateForBoth | Missing] = {}
        chances: dict[str, Chance] = {"fleiss": "fleiss", "ac1": "gwet"}
        for name, chance in chances.items():
            kappa = partial(kappa_variance, part.task, labels, part.rater, part.instruction, chance=chance)
            found[name] = stated(partial(self._coefficient, kappa))
        try:
            icc(part.task, part.rater, part.value)
            variance = icc_variance(part.task, part.rater, part.value, part.instruction, seed=self.seed)
        except NoStatistic as error:
            return found | dict.fromkeys(ICCS, Missing.because(error))
        for place, name in enumerate(ICCS):
            found[name] = estimate_of(variance, "correlation", slots=self.slots, place=place)
        return found

    def _coefficient(self, variance: Callable[..., CrossedVariance]) -> EstimateForBoth:
        return estimate_of(variance(seed=self.seed), "correlation", slots=self.slots)

    def mean_correlation(self, part: ScoreFrame) -> EstimateForBoth:
        """The mean of Pearson's correlation over pairs of raters. Raises NoStatistic."""
        variance = pair_correlation_variance(part.task, part.rater, part.value, part.instruction, seed=self.seed)
        return estimate_of(variance, "correlation", slots=self.slots)

    def pairs(self, part: ScoreFrame, *, nominal: bool) -> list[NamedPair]:
        """Every pair of raters with at least three common tasks."""
        labels = level_places(part.label_values).astype(float) if nominal else part.value
        found = pair_agreements(
            part.task, part.rater, part.value, part.instruction, labels=labels, weights=None if nominal else "quadratic"
        )
        names = part.rater_names
        return [
            NamedPair(
                names[one.first],
                names[one.second],
                one.n,
                one.instructions,
                *(or_none(value) for value in (one.pearson, one.pearson_low, one.pearson_high)),
                *(or_none(value) for value in (one.kappa, one.kappa_low, one.kappa_high)),
            )
            for one in found
        ]
