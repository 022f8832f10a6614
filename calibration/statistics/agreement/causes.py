"""Why a judge and people differ: the judge, the guideline, or one rater who stands apart from the others. PURE.

A line is one person's answer to one question of one task, beside the judge's answer to the same question. The two differ
where they lie further apart than a tolerance. The cause of a difference is read from what the other people said:

- "judge": all people who answered the question agree with each other, or all but one do and this person is among them;
- "rater": all but this person agree with each other;
- "guideline": people do not agree with each other, so that no answer could have agreed with all of them;
- "alone": nobody else answered, so that nothing can be said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.estimates import PeopleEstimate, pooled_estimates
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

Cause: TypeAlias = Literal["judge", "guideline", "rater", "alone"]
CAUSES: tuple[Cause, ...] = ("judge", "guideline", "rater", "alone")
JUDGE, GUIDELINE, RATER, ALONE = range(4)
TOLERANCE = 0.1
"""The tolerance as a share of a criterion's scale: one point of 0 to 10; levels of up to ten count as they are."""
ROUNDING = 1e-9
LEAST_FOR_ONE_APART = 3


@dataclass(frozen=True)
class AnswersBeside:
    """People's answers beside a judge's, one line each (n,).

    `question` numbers the questions of tasks 0, 1, ...; `value` and `judge` are the answers on the criterion's own scale,
    `tolerance` how far apart two of them may be and still agree. `positions`: the raters are positions and not persons.
    """

    question: IntArray
    rater: IntArray
    instruction: IntArray
    value: FloatArray
    judge: FloatArray
    tolerance: FloatArray
    positions: bool = False

    @property
    def apart(self) -> BoolArray:
        """Whether a person and the judge differ (n,)."""
        return np.abs(self.value - self.judge) > self.tolerance + ROUNDING


@dataclass(frozen=True)
class Causes:
    """The causes of the `differing` of `answers` lines. `shares` are of the differences with a known cause.

    `share` is that of lines that differ. `cause` (n,) numbers CAUSES for every line, also where it does not differ.
    """

    answers: int
    differing: int
    share: PeopleEstimate
    shares: dict[Cause, PeopleEstimate]
    cause: IntArray


def causes_of_lines(lines: AnswersBeside) -> IntArray:
    """Number the cause that a difference would have, for every line (n,), as in CAUSES."""
    order = np.lexsort([lines.value, lines.question])
    question, value, tolerance = lines.question[order], lines.value[order], lines.tolerance[order] + ROUNDING
    found = np.full(len(order), ALONE, dtype=np.int64)
    _, starts, counts = np.unique(question, return_index=True, return_counts=True)
    last = starts + counts - 1
    several = counts > 1
    starts, last, counts = starts[several], last[several], counts[several]
    if starts.size:
        within = tolerance[starts]
        agree = value[last] - value[starts] <= within
        many = counts >= LEAST_FOR_ONE_APART
        lowest = many & ~agree & (value[last] - value[starts + 1] <= within)
        highest = many & ~agree & (value[last - 1] - value[starts] <= within)
        # Of three at equal steps either end could be the one apart: then nobody is.
        lowest, highest = lowest & ~highest, highest & ~lowest
        whole = np.where(agree | lowest | highest, JUDGE, GUIDELINE)
        found[np.repeat(starts, counts) + _within(counts)] = np.repeat(whole, counts)
        found[starts[lowest]] = RATER
        found[last[highest]] = RATER
    back = np.empty_like(found)
    back[order] = found
    return back


def _within(counts: IntArray) -> IntArray:
    """Return 0, 1, ... within each group of these sizes, one after another."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def causes_of(lines: AnswersBeside, *, seed: int = 0) -> Causes:
    """Find the causes. Raises TooFewRatings without an answer, and where no difference has a known cause."""
    if not len(lines.question):
        raise TooFewRatings(0, 1, "answers of people to what the judge answered")
    cause, apart = causes_of_lines(lines), lines.apart
    known = apart & (cause != ALONE)
    if not known.any():
        raise TooFewRatings(0, 1, "answers that differ from the judge's where another person answered too")
    (share,) = _pooled([apart], np.ones(len(apart), dtype=np.bool_), lines, seed)
    parts = _pooled([cause == place for place in (JUDGE, GUIDELINE, RATER)], known, lines, seed)
    shares = dict(zip(CAUSES, parts, strict=False))
    return Causes(len(apart), int(apart.sum()), share, shares, cause)


def _pooled(parts: Sequence[BoolArray], mask: BoolArray, lines: AnswersBeside, seed: int) -> list[PeopleEstimate]:
    ones = np.ones(int(mask.sum()))
    return pooled_estimates(
        [part[mask].astype(np.float64) for part in parts],
        [ones] * len(parts),
        lines.rater[mask],
        lines.instruction[mask],
        ["share"] * len(parts),
        positions=lines.positions,
        seed=seed,
    )
