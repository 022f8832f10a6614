"""A comparison as it was shown, and as it is stored: positive means the task's response A, whatever stood first.

PURE. Levels are {"key", "value", ...}, as Criterion has them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.errors import UserError

Letter = Literal["a", "b"]
OTHER: dict[str, Letter] = {"a": "b", "b": "a"}


def compares(low: float, high: float) -> bool:
    """Whether a scale of a pair weighs one response against the other: its ends are opposite."""
    return low < 0 and low + high == 0


def mirrored_level(levels: Sequence[Mapping[str, Any]], key: str) -> Mapping[str, Any]:
    """The level that says of B and A what the level `key` says of A and B; raises UserError.

    Levels of value 0 ("tie", "both are bad") say the same of both, and are their own opposites.
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
    """The response a pane shows, or the pane a response is shown in: the same exchange both ways."""
    own: Letter = "b" if letter == "b" else "a"
    return OTHER[own] if mirrored else own
