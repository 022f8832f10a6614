"""Conversion of a comparison between its shown and its stored form; a stored positive value prefers response A.

PURE. Levels are {"key", "value", ...}, as in Criterion.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.errors import UserError

Letter = Literal["a", "b"]
OTHER: dict[str, Letter] = {"a": "b", "b": "a"}


def compares(low: float, high: float) -> bool:
    """Return whether a scale for pairs weighs one response against the other, so that its ends are opposite."""
    return low < 0 and low + high == 0


def mirrored_level(levels: Sequence[Mapping[str, Any]], key: str) -> Mapping[str, Any]:
    """Return the level that says about (B, A) what the level `key` says about (A, B). Raises UserError.

    Levels of value 0 ("tie", "both are bad") say the same about both responses and are their own opposites.
    """
    level = next((level for level in levels if str(level["key"]) == key), None)
    if level is None:
        raise UserError(f"There is no level {key!r}.")
    value = float(level["value"])
    if value == 0:
        return level
    opposite = next((other for other in levels if float(other["value"]) == -value), None)
    if opposite is None:
        raise UserError(f"Level {key!r} of value {value:g} has no opposite of value {-value:g}.")
    return opposite


def letter_of(letter: str, *, mirrored: bool) -> Letter:
    """Return the response that a pane shows, or the pane that shows a response; the mapping is its own inverse."""
    own: Letter = "b" if letter == "b" else "a"
    return OTHER[own] if mirrored else own
