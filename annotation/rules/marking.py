"""Comparison of an answer with the known answer of a quality check.

PURE.
"""

from collections.abc import Mapping
from typing import Any

CLOSE = 1e-9
CONTROL_CEILING = 0.7


def admits(expected: Any, value: float | None) -> bool:
    """Return whether `value` is the expected number or in [low, high]; None stands for a question that does not apply."""
    if expected is None or value is None:
        return expected is None and value is None
    low, high = expected if isinstance(expected, (list, tuple)) else (expected, expected)
    return float(low) - CLOSE <= value <= float(high) + CLOSE


def missed(expected: Mapping[str, Any], values: Mapping[str, float | None]) -> list[str]:
    """Return the criteria whose answer differs from the expected one, in the order of the expected answers."""
    return [key for key, wanted in expected.items() if not admits(wanted, values.get(key))]


def below(value: float, original: float | None, ends: tuple[float, float]) -> bool:
    """Return whether the rating of a degraded copy shows that the rater noticed the damage.

    The rating must be below the rater's own rating of the original, or both at the lowest level. If the rater did not
    rate the original, the rating must be at most CONTROL_CEILING of the way up the scale.
    """
    low, high = ends
    if original is None:
        return value <= low + CONTROL_CEILING * (high - low) + CLOSE
    return value < original - CLOSE or original <= low + CLOSE
