"""The reasons why a statistic is undefined: one named error for each, never a NaN. PURE."""

from typing import Literal, TypeAlias

from core.errors import UserError

Code: TypeAlias = Literal[
    "AboutVerdicts",  # The study reviews a judge's verdicts, which ranks no model.
    "AllTied",  # No comparison was decided for a side.
    "DisconnectedComparisons",  # Some models are not compared with the others, not even through a third one.
    "EffectNotIdentified",  # The comparisons cannot separate the effects of the covariates from the models' strengths.
    "MissingCells",  # A table that must be complete has empty cells.
    "NeverRepeated",  # No rater was given the same task twice.
    "NeverSwapped",  # No pair was shown to the same rater from both sides.
    "NoCategories",  # The scale is ordered, where labels without order are asked for.
    "NoControls",  # Nothing with a known answer was rated.
    "NoCorrectAnswers",  # The correct answers of no task are known.
    "NoDifference",  # Two models' means are equal, so no number of labels would separate them.
    "NoDisagreementPossible",  # Only one value was ever used, so chance alone already gives full agreement.
    "NoFamily",  # It is not known which model a judge is, or of which family.
    "NoFurtherVerdicts",  # People scored every response that the judge scored, so the judge adds nothing to their scores.
    "NoHints",  # It is not recorded that some answers were given with hints and others to the same tasks without.
    "NoJudge",  # No judge has rated.
    "NoLengths",  # The texts are not stored.
    "NoPooling",  # There is only one category, so there is no family to pool its weights with.
    "NoPositions",  # It is not recorded which side was shown first.
    "NoSharedTasks",  # Fewer than two instructions were answered by every model.
    "NoTieModel",  # The parameter of ties may have no finite estimate.
    "NoTimes",  # No time on task was recorded.
    "NobodyToCompare",  # Raters share no items with each other: there is nobody to compare with.
    "NotConverged",  # A solver stopped away from the optimum, measured by its optimality conditions.
    "OnlyJudges",  # No person has answered, so nothing can be said of raters.
    "OnlySlots",  # The raters are positions in a data set, not persons.
    "OutOfRange",  # A value is not finite or lies outside the range on which a quantity is defined.
    "RepeatedCell",  # A rater has more than one rating of an item where one is expected.
    "TooFewAnswers",  # No rater has given enough answers for a rate of their own.
    "TooFewModelMeans",  # Fewer than three models, of which no correlation is computed.
    "TooFewRanked",  # Fewer than two models with answers to enough instructions to be compared.
    "TwoValuedLabels",  # Two values of every criterion, so distances in standard deviations say nothing.
]
"""A reason that no caller tells apart; a report stores it, and a page has a sentence for it."""


class NoStatistic(UserError):
    """The quantity asked for is not defined on this input."""

    @property
    def code(self) -> str:
        """The name of the reason, which reports store and for which pages have a sentence."""
        return type(self).__name__


def code_of(error: BaseException) -> str:
    """The name of the reason why there is no result: the code of a statistic's error, or else the error's own name."""
    return error.code if isinstance(error, NoStatistic) else type(error).__name__


class TooFewRatings(NoStatistic):
    """There are fewer ratings than the quantity needs: `n` were given, and `needed` is the minimum."""

    def __init__(self, n: int, needed: int, what: str = "ratings") -> None:
        self.n = n
        self.needed = needed
        self.what = what
        super().__init__(f"{n} {what} where at least {needed} are needed; collect more before this is computed.")


class ConstantScores(NoStatistic):
    """Every score is the same, so explained variance and correlations are undefined."""

    def __init__(self, what: str, value: float) -> None:
        self.what = what
        self.value = value
        super().__init__(
            f"All {what} equal {value:g}, so nothing varies that could be explained; "
            "include responses of differing quality."
        )


class Undefined(NoStatistic):
    """The quantity is not defined, or a report has no result, for the reason that `code` names."""

    def __init__(self, code: Code, message: str) -> None:
        self._code = code
        super().__init__(message)

    @property
    def code(self) -> str:
        return self._code


def no_disagreement_possible(value: object, n: int) -> Undefined:
    """Say that all `n` ratings are this value."""
    return Undefined(
        "NoDisagreementPossible",
        f"All {n} ratings are {value}, so agreement beyond chance is undefined; "
        "include items that deserve different ratings.",
    )


def missing_cells(missing: int, cells: int) -> Undefined:
    """Say that so many of the cells of a table that must be complete are empty."""
    return Undefined(
        "MissingCells", f"{missing} of {cells} cells have no rating; keep only the items that every rater rated."
    )


def repeated_cell(item: object, rater: object) -> Undefined:
    """Say that a rater has more than one rating of an item where one is expected."""
    return Undefined(
        "RepeatedCell",
        f"Item {item} was rated more than once by rater {rater}; keep one rating of each rater and item.",
    )


def not_converged(what: str, violation: float, allowed: float) -> Undefined:
    """Say that a solver stopped away from the optimum, measured by its optimality conditions."""
    return Undefined(
        "NotConverged",
        f"{what} stopped with its optimality conditions off by {violation:.2e} (allowed {allowed:.0e}); "
        "check the answers for extreme values.",
    )


def out_of_range(what: str, low: float, high: float, found: float) -> Undefined:
    """Say that a value is not finite or lies outside the range on which a quantity is defined."""
    return Undefined(
        "OutOfRange",
        f"{what} must lie between {low:g} and {high:g}, found {found:g}; map the scale onto that range first.",
    )
