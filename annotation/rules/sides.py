"""Which response of a pair stands on the left: drawn, and balanced within each rater and each task.

PURE.
"""

from dataclasses import dataclass
from random import Random
from typing import Literal

Side = Literal["a", "b"]
MOST_AHEAD = 3


@dataclass(frozen=True)
class ShownSide:
    """How often response A, and how often B, was shown first."""

    a: int
    b: int


def draw_side(rater: ShownSide, task: ShownSide, random: Random) -> Side:
    """The side shown first.

    A rater's two counts never differ by more than MOST_AHEAD; within that a task's counts are evened out, then the
    rater's, and a tie is drawn.
    """
    ahead = rater.a - rater.b
    if abs(ahead) >= MOST_AHEAD:
        return "b" if ahead > 0 else "a"
    for lead in (task.a - task.b, ahead):
        if lead:
            return "b" if lead > 0 else "a"
    return "a" if random.getrandbits(1) else "b"
