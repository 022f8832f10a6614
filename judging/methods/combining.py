"""Combination of several verdicts into one: of several judges, of both orders, of repeats. PURE.

Pair verdicts are canonical here: positive means the task's response A, whatever was shown first.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, median, multimode

from core.errors import UserError
from core.messages.message import sentences
from judging.methods import messages as reply_messages
from judging.methods.pairs.base import BOTH_BAD, SCORES, TIE, Choice, Side, chosen, direction, level_of
from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.methods.prompts import Item, number_text


class How(StrEnum):
    MEAN = "mean"
    MEDIAN = "median"
    MAJORITY = "majority"


@dataclass(frozen=True)
class Scale:
    """The question whose answers are combined; `is_preference` if its scores are sides."""

    item: Item
    is_preference: bool = False


@dataclass(frozen=True)
class Part:
    """One verdict on a task: the judge, the repeat, and what was shown first ('' for single texts)."""

    juror: int
    repeat: int
    shown_first: Side | None
    outcome: Verdict | Unscored


def combined(
    outcomes: Sequence[Verdict | Unscored], scales: Sequence[Scale], how: How, *, least: int | None = None
) -> Verdict | Unscored:
    """Combine the verdicts of several judges, or of one judge's repeats.

    Scores: mean, median, or the most frequent (the median of several). Preferences: mean and median are rounded to a
    level, halves towards the tie; a majority is that of a side, without one the result is a tie, and its level is the
    median of its side's. Unscored ones are left out and counted in the reason; fewer than `least` usable ones (default:
    more than half) are Unscored. Raises UserError.
    """
    if not outcomes:
        raise UserError("There is no verdict to combine.")
    usable = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
    missing = [outcome for outcome in outcomes if isinstance(outcome, Unscored)]
    needed = len(outcomes) // 2 + 1 if least is None else least
    if len(usable) < max(1, needed):
        return Unscored(
            missing[0].why if missing else Why.MISSING,
            reply_messages.TOO_FEW_VERDICTS(
                n=len(usable), all=len(outcomes), needed=max(1, needed), detail=missing[0].detail if missing else ""
            ),
        )
    answers: list[Answer] = []
    for scale in scales:
        given = [_answer_to(outcome, scale.item.key) for outcome in usable]
        reason = _reason(given, how, len(outcomes))
        if scale.is_preference:
            answers.append(chosen(scale.item.key, _level(given, scale.item, how), reason))
        else:
            answers.append(Answer(scale.item.key, _score([answer.value for answer in given], how), reason))
    return Verdict(tuple(answers))


def _answer_to(verdict: Verdict, key: str) -> Answer:
    return next(answer for answer in verdict.answers if answer.key == key)


def _score(values: Sequence[float], how: How) -> float:
    match how:
        case How.MEAN:
            return fmean(values)
        case How.MEDIAN:
            return median(values)
        case How.MAJORITY:
            return median(multimode(values))


def _level(given: Sequence[Answer], item: Item, how: How) -> str:
    """Return the key of the level that stands for several preferences."""
    if how is How.MAJORITY:
        sides = multimode([direction(answer) for answer in given])
        if len(sides) > 1:
            return TIE
        given = [answer for answer in given if direction(answer) == sides[0]]
    score = fmean([a.value for a in given]) if how is How.MEAN else median([a.value for a in given])
    nearest = nearest_level(score, item)
    bad = sum(level_of(answer) == BOTH_BAD for answer in given)
    return BOTH_BAD if nearest == TIE and bad > len(given) / 2 else nearest


def nearest_level(score: float, item: Item) -> str:
    """Return the key of the level nearest to a mean of preferences, halves towards the tie; never "both bad"."""
    levels = [level for level, value in SCORES.items() if value in item.values and level != BOTH_BAD]
    return min(levels, key=lambda level: (round(abs(SCORES[level] - score), 9), abs(SCORES[level])))


def _reason(given: Sequence[Answer], how: How, asked: int) -> str:
    values = ", ".join(a.level if isinstance(a, Choice) else number_text(a.value) for a in given)
    reasons = sentences(
        reply_messages.NUMBERED(n=n, reason=answer.reason) for n, answer in enumerate(given, 1) if answer.reason
    )
    if len(given) == asked:
        wording = reply_messages.COMBINED_WHY if reasons else reply_messages.COMBINED
        return wording(how=reply_messages.HOWS[how](), values=values, reasons=reasons)
    wording = reply_messages.COMBINED_SILENT_WHY if reasons else reply_messages.COMBINED_SILENT
    silent = asked - len(given)
    return wording(how=reply_messages.HOWS[how](), values=values, n=silent, all=asked, reasons=reasons)


def both_orders(straight: Verdict | Unscored, swapped: Verdict | Unscored) -> Verdict | Unscored:
    """Combine two canonical verdicts on a pair shown in both orders. A preference that flips is a tie.

    The same side with different strengths counts as the weaker; neither side, but different levels (a tie and both
    bad), is a tie. Unscored if either verdict is.
    """
    if isinstance(straight, Unscored):
        return straight
    if isinstance(swapped, Unscored):
        return swapped
    answers = []
    for one in straight.answers:
        other = _answer_to(swapped, one.key)
        if level_of(one) == level_of(other):
            level, words = level_of(one), reply_messages.SAME_LEVEL
        elif direction(one) == direction(other) != 0:
            weaker = min(one, other, key=lambda answer: abs(answer.value))
            level, words = level_of(weaker), reply_messages.SAME_SIDE
        else:
            level, words = TIE, reply_messages.ORDERS_DISAGREE
        reason = words(first=one.reason, second=other.reason)
        answers.append(chosen(one.key, level, reason))
    return Verdict(tuple(answers))


def derived(parts: Sequence[Part], scales: Sequence[Scale], how: How) -> Verdict | Unscored:
    """Combine all parts of a task: first both orders of each repeat of a juror, then its repeats, then the jurors.

    Repeated scores are averaged, repeated preferences decided by majority. A juror and repeat with one order only
    counts as it is. Raises UserError.
    """
    questions: dict[int, dict[int, dict[Side | None, Verdict | Unscored]]] = defaultdict(lambda: defaultdict(dict))
    for part in parts:
        questions[part.juror][part.repeat][part.shown_first] = part.outcome
    within = How.MAJORITY if any(scale.is_preference for scale in scales) else How.MEAN
    jurors = []
    for _juror, repeats in sorted(questions.items()):
        asked = [_one_repeat(orders) for _repeat, orders in sorted(repeats.items())]
        jurors.append(asked[0] if len(asked) == 1 else combined(asked, scales, within))
    if len(jurors) == 1:
        return jurors[0]
    return combined(jurors, scales, how)


def _one_repeat(orders: dict[Side | None, Verdict | Unscored]) -> Verdict | Unscored:
    if "a" in orders and "b" in orders:
        return both_orders(orders["a"], orders["b"])
    return next(iter(orders.values()))
