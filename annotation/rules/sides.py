"""The choice of the response of a pair that is shown on the left: drawn, and balanced per rater and per task.

PURE.
"""

from dataclasses import dataclass
from random import Random
from typing import Literal

Side = Literal["a", "b"]
MOST_AHEAD = 3


@dataclass(frozen=True)
class ShownSide:
    """How often response A and response B were shown first."""

    a: int
    b: int


def draw_side(rater: ShownSide, task: ShownSide, random: Random) -> Side:
    """Return the side that is shown first.

    A rater's two counts never differ by more than MOST_AHEAD. Within this limit, the counts of the task are balanced
    first and then those of the rater; a tie is drawn.
    """
    ahead = rater.a - rater.b
    if abs(ahead) >= MOST_AHEAD:
        return "b" if ahead > 0 else "a"
    for lead in (task.a - task.b, ahead):
        if lead:
            return "b" if lead > 0 else "a"
    return "a" if random.getrandbits(1) else "b"
