"""The reasons, in addition to those of the statistics, why a report has no result for a study. PURE."""

from typing import Literal, TypeAlias

from calibration.statistics.errors import NoStatistic

Code: TypeAlias = Literal[
    "AboutVerdicts",  # The study reviews a judge's verdicts, which ranks no model.
    "AllTied",  # No comparison was decided for a side.
    "NeverRepeated",  # No rater was given the same task twice.
    "NeverSwapped",  # No pair was shown to the same rater from both sides.
    "NoCategories",  # The scale is ordered, where labels without order are asked for.
    "NoControls",  # Nothing with a known answer was rated.
    "NoCorrectAnswers",  # The correct answers of no task are known.
    "NoFamily",  # It is not known which model a judge is, or of which family.
    "NoFurtherVerdicts",  # People scored every response that the judge scored, so the judge adds nothing to their scores.
    "NoHints",  # It is not recorded that some answers were given with hints and others to the same tasks without.
    "NoJudge",  # No judge has rated.
    "NoLengths",  # The texts are not stored.
    "NoPooling",  # There is only one category, so there is no family to pool its weights with.
    "NoPositions",  # It is not recorded which side was shown first.
    "NoSharedTasks",  # Fewer than two instructions were answered by every model.
    "NoTimes",  # No time on task was recorded.
    "OnlyJudges",  # No person has answered, so nothing can be said of raters.
    "OnlySlots",  # The raters are positions in a data set, not persons.
    "TooFewAnswers",  # No rater has given enough answers for a rate of their own.
    "TooFewModelMeans",  # Fewer than three models, of which no correlation is computed.
    "TooFewRanked",  # Fewer than two models with answers to enough instructions to be compared.
    "TwoValuedLabels",  # Two values of every criterion, so distances in standard deviations say nothing.
]
"""A reason that no caller tells apart; a report stores it, and a page has a sentence for it."""


class Undefined(NoStatistic):
    """A report has no result for the reason that `code` names."""

    def __init__(self, code: Code, message: str) -> None:
        self._code = code
        super().__init__(message)

    @property
    def code(self) -> str:
        return self._code


class NoPairs(NoStatistic):
    """Two models were never compared."""


class TooFewModels(NoStatistic):
    """Fewer than two models."""


class NeverReviewed(NoStatistic):
    """Nobody has said whether a judge's verdicts are reasonable."""
