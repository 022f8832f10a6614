"""The reasons, in addition to those of the statistics, why a report has no result for a study. PURE."""

from calibration.statistics.errors import NoStatistic


class NoPairs(NoStatistic):
    """Two models were never compared."""


class TooFewModels(NoStatistic):
    """Fewer than two models."""


class NeverReviewed(NoStatistic):
    """Nobody has said whether a judge's verdicts are reasonable."""
