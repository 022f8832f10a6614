"""Scales as levels, and as the lines that explain them. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from core.errors import UserError
from core.messages.message import Wording
from judging.methods.prompts import Item, Level, number_text

MOST_LEVELS = 1001


NO_SCORE_LIST = Wording(
    "method.no_score_list",
    "A scale from %(low)s to %(high)s in steps of %(step)s has no list of scores to choose from.",
)
ONE_QUESTION_ONLY = Wording("method.one_question_only", "This method answers one question; %(n)s were given.")


class WrongScale(UserError):
    """The method cannot answer on the criterion's scale."""


@dataclass(frozen=True)
class Anchor:
    """The meaning of the scores from `low` to `high`, both included."""

    low: float
    high: float
    description: str


def range_levels(minimum: float, maximum: float, step: float, anchors: Sequence[Anchor] = ()) -> tuple[Level, ...]:
    """Return the levels of a range such as 0 to 10 in steps of 1, ascending, each with its anchor's description.

    Raises WrongScale if the steps do not lead from `minimum` to `maximum`, or are more than 1,000.
    """
    count = round((maximum - minimum) / step) if step > 0 else 0
    if not 1 <= count < MOST_LEVELS or abs(minimum + count * step - maximum) > 1e-9:
        raise WrongScale(NO_SCORE_LIST(low=f"{minimum:g}", high=f"{maximum:g}", step=f"{step:g}"))
    values = [minimum + number * step for number in range(count + 1)]
    return tuple(Level(value, number_text(value), _description(value, anchors)) for value in values)


def _description(value: float, anchors: Sequence[Anchor]) -> str:
    return next((a.description for a in anchors if a.low - 1e-9 <= value <= a.high + 1e-9), "")


def only_item(items: Sequence[Item]) -> Item:
    """Return the one question of a method that asks one. Raises WrongScale."""
    if len(items) != 1:
        raise WrongScale(ONE_QUESTION_ONLY(n=len(items)))
    return items[0]


def scale_lines(levels: Sequence[Level]) -> str:
    """Return one line per level; neighbors with the same description share one: '2 to 3: Poor ...'."""
    lines = []
    for (label, description), group in groupby(levels, key=_meaning):
        values = [level.value for level in group]
        span = number_text(values[0])
        if len(values) > 1:
            span += f" to {number_text(values[-1])}"
        meaning = ". ".join(part for part in (label, description) if part)
        lines.append(f"{span}: {meaning}" if meaning else span)
    return "\n".join(lines)


def _meaning(level: Level) -> tuple[str, str]:
    """Return the level's label, unless it is only its number, and its description."""
    return ("" if level.label == number_text(level.value) else level.label), level.description
