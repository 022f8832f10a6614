"""The reasons, in addition to those of the statistics, why a report has no result for a study. PURE."""

from calibration.statistics.errors import NoStatistic


class NoPositions(NoStatistic):
    """It is not recorded which side was shown first."""


class NoLengths(NoStatistic):
    """The texts are not stored."""


class NoTimes(NoStatistic):
    """No time on task was recorded."""


class NoControls(NoStatistic):
    """Nothing with a known answer was rated."""


class NoCorrectAnswers(NoStatistic):
    """The correct answers of no task are known."""


class NoPairs(NoStatistic):
    """Two models were never compared."""


class AllTied(NoStatistic):
    """No comparison was decided for a side."""


class NoCategories(NoStatistic):
    """The scale is ordered, where labels without order are asked for."""


class OnlyJudges(NoStatistic):
    """No person has answered, so nothing can be said of raters."""


class OnlySlots(NoStatistic):
    """The raters are positions in a data set, not persons."""


class TooFewModels(NoStatistic):
    """Fewer than two models."""


class TooFewRanked(NoStatistic):
    """Fewer than two models with answers to enough instructions to be compared."""


class TooFewModelMeans(NoStatistic):
    """Fewer than three models, of which no correlation is computed."""


class TooFewAnswers(NoStatistic):
    """No rater has given enough answers for a rate of their own."""


class TwoValuedLabels(NoStatistic):
    """Only two values were given to every criterion, so distances in standard deviations say nothing."""


class NeverRepeated(NoStatistic):
    """No rater was given the same task twice."""


class NoHints(NoStatistic):
    """It is not recorded that some answers were given with hints and others to the same tasks without."""


class AboutVerdicts(NoStatistic):
    """The study reviews a judge's verdicts, which ranks no model."""


class NoSharedTasks(NoStatistic):
    """Fewer than two instructions were answered by every model."""


class NoPooling(NoStatistic):
    """There is only one category, so there is no family to pool its weights with."""


class NoJudge(NoStatistic):
    """No judge has rated."""


class NoFurtherVerdicts(NoStatistic):
    """People scored every response that the judge scored, so the judge adds nothing to their scores."""


class NeverSwapped(NoStatistic):
    """No pair was shown to the same rater from both sides."""


class NeverReviewed(NoStatistic):
    """Nobody has said whether a judge's verdicts are reasonable."""


class NoFamily(NoStatistic):
    """It is not known which model a judge is, or of which family."""
