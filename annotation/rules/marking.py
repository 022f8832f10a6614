"""Whether an answer to a task with a known answer is as expected.

PURE.
"""

from collections.abc import Mapping
from typing import Any

CLOSE = 1e-9
CONTROL_CEILING = 0.7


def admits(expected: Any, value: float | None) -> bool:
    """Whether `value` is the number expected, or within [low, high]; None expects that the question does not apply."""
    if expected is None or value is None:
        return expected is None and value is None
    low, high = expected if isinstance(expected, (list, tuple)) else (expected, expected)
    return float(low) - CLOSE <= value <= float(high) + CLOSE


def missed(expected: Mapping[str, Any], values: Mapping[str, float | None]) -> list[str]:
    """The criteria answered otherwise than expected, in the order expected."""
    return [key for key, wanted in expected.items() if not admits(wanted, values.get(key))]


def below(value: float, original: float | None, ends: tuple[float, float]) -> bool:
    """Whether a rating of a degraded copy shows that its damage was seen.

    It is below the rater's own rating of the original (or both are at the bottom); where the original was not
    rated, it is at most CONTROL_CEILING of the way up the scale.
    """
    low, high = ends
    if original is None:
        return value <= low + CONTROL_CEILING * (high - low) + CLOSE
    return value < original - CLOSE or original <= low + CLOSE
