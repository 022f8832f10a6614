"""What the coverage benchmark measures: a design, its promises, and studies in which there is nothing to find."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

EXACT = (0.93, 0.97)
AT_LEAST = (0.90, 1.0)
FIVE_RATERS = (0.93, 1.0)
"""For raters like these, from five raters on; with three raters AT_LEAST holds."""
MOST_FALSE_CLAIMS = 0.07

Held = dict[str, np.ndarray]
"""For each quantity, which of one data set's intervals held its true value; empty where none was stated."""


@dataclass(frozen=True)
class Design:
    """`draw(rng, resamples, clustered)` draws one data set and says which intervals held; `promises` by quantity."""

    text: str
    promises: dict[str, tuple[float, float]]
    draw: Callable[[np.random.Generator, int, bool], Held]
    rows_fail: bool = True
    """Whether the same intervals are also measured with every row taken as independent."""
    widths: "Widths | None" = None
    """What draw notes of the intervals' widths."""


class Widths:
    """Estimates and their stated standard errors over the data sets drawn, by quantity."""

    def __init__(self) -> None:
        self.noted: dict[str, list[tuple[float, float]]] = {}

    def note(self, name: str, value: float, error: float) -> None:
        self.noted.setdefault(name, []).append((value, error))

    def ratios(self) -> dict[str, float]:
        """The median stated standard error over the true one: that of the widths at the same t quantile."""
        found = {}
        for name, noted in self.noted.items():
            values, errors = np.array(noted).T
            spread = float(values.std())
            if spread > 0:
                found[name] = float(np.median(errors)) / spread
        return found


@dataclass(frozen=True)
class NullDesign:
    """Studies without an effect: `draw(rng)` gives, for each of `findings`, whether the product's finding claims one.

    A finding is what one sentence at the head of a page, or one table with a corrected family, says: draw calls the same
    functions as the report and reads the same decision. A finding that was not stated counts as no claim.
    """

    text: str
    findings: tuple[str, ...]
    draw: Callable[[np.random.Generator], dict[str, bool]]


def held(low, high, truth) -> np.ndarray:
    return np.atleast_1d((np.asarray(low) <= truth) & (truth <= np.asarray(high)))


def stated(share, truth) -> np.ndarray:
    """Whether a share's interval held the truth; empty where it states none (under 20 clusters)."""
    return held(share.low, share.high, truth) if share.interval_kind in ("wilson95", "bootstrap95") else np.array([])


def seed_of(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
