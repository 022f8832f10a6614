"""The reasons why a statistic is undefined: one named error for each, never a NaN. PURE."""

from core.errors import UserError


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


class NoDisagreementPossible(NoStatistic):
    """Only one value was ever used, so chance alone already gives full agreement."""

    def __init__(self, value: object, n: int) -> None:
        self.value = value
        self.n = n
        super().__init__(
            f"All {n} ratings are {value}, so agreement beyond chance is undefined; "
            "include items that deserve different ratings."
        )


class NobodyToCompare(NoStatistic):
    """Raters share no items with each other: there is nobody to compare with."""


class OutOfRange(NoStatistic):
    """A value is not finite or lies outside the range on which a quantity is defined."""

    def __init__(self, what: str, low: float, high: float, found: float) -> None:
        self.what = what
        self.found = found
        super().__init__(
            f"{what} must lie between {low:g} and {high:g}, found {found:g}; map the scale onto that range first."
        )


class MissingCells(NoStatistic):
    """A table that must be complete has empty cells."""

    def __init__(self, missing: int, cells: int) -> None:
        self.missing = missing
        self.cells = cells
        super().__init__(f"{missing} of {cells} cells have no rating; keep only the items that every rater rated.")


class RepeatedCell(NoStatistic):
    """A rater has more than one rating of an item where one is expected."""

    def __init__(self, item: object, rater: object) -> None:
        self.item = item
        self.rater = rater
        super().__init__(
            f"Item {item} was rated more than once by rater {rater}; keep one rating of each rater and item."
        )


class NotConverged(NoStatistic):
    """A solver stopped away from the optimum, measured by its optimality conditions."""

    def __init__(self, what: str, violation: float, allowed: float) -> None:
        self.what = what
        self.violation = violation
        self.allowed = allowed
        super().__init__(
            f"{what} stopped with its optimality conditions off by {violation:.2e} (allowed {allowed:.0e}); "
            "check the answers for extreme values."
        )
