"""Rater behaviour: pace, straight-lining, preferred sides, failed checks. Never computed for single positions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annotation.assignment.haste import TOO_FAST, pace_limit
from annotation.models import Assignment, CheckOutcome, Rater, Study, counting, counting_checks
from annotation.policies.policies import CONTROL, GOLD
from annotation.rules.reading_time import FEWEST_WORDS
from calibration.data.circumstances import Circumstances
from calibration.data.frames import Bools, ScoreFrame
from calibration.reports.codec import Missing, part
from calibration.statistics.agreement.proportions import Proportion
from calibration.statistics.errors import Undefined
from calibration.statistics.raters.behaviour import (
    Pace,
    SameAnswers,
    failed_controls,
    reading_pace,
    same_answers,
    side_preference,
)
from calibration.statistics.report_reasons import NoPairs

FAST_SHARE = 0.25
"""An answer read in under a quarter of the median pace of the study counts as fast."""


@dataclass(frozen=True)
class RaterPace(Pace):
    """A rater's pace, and the shares (0 to 1) of answers that were fast, and too fast for the texts to be read."""

    rater: str
    fast: float
    unread: float


@dataclass(frozen=True)
class Paces:
    """Median seconds per 100 words over `n` answers, and the shares that were fast or unread (`limit` words a minute)."""

    median: float
    n: int
    fast: float
    unread: float
    limit: int
    raters: list[RaterPace]


@dataclass(frozen=True)
class RaterSameAnswers(SameAnswers):
    """How often a rater gives the same answer."""

    rater: str


@dataclass(frozen=True)
class SameAnswersOfAll:
    """Of `tasks` tasks with several questions, `flat_tasks` were given the same answer to every question."""

    raters: list[RaterSameAnswers]
    tasks: int
    flat_tasks: int


@dataclass(frozen=True)
class RaterSides(Proportion):
    """The share of a rater's decided comparisons that the side shown first won; `p` against a share of one half."""

    rater: str
    p: float | None
    ties: int
    preferred: bool


@dataclass(frozen=True)
class SidesOfAll:
    """Every rater's preference for a side, the strongest first."""

    raters: list[RaterSides]


@dataclass(frozen=True)
class RaterChecks(Proportion):
    """The share of quality checks that a rater failed."""

    rater: str


@dataclass(frozen=True)
class ChecksOfAll:
    """Quality checks: `failed` of `n`."""

    raters: list[RaterChecks]
    n: int
    failed: int


@dataclass(frozen=True)
class Habits:
    """What raters' behaviour shows, apart from what they answer."""

    pace: Paces | Missing
    same_answers: SameAnswersOfAll | Missing
    sides: SidesOfAll | Missing
    controls: ChecksOfAll | Missing


def habits_part(
    study: Study, frame: ScoreFrame, main: ScoreFrame, around: Circumstances, names: Mapping[int, str], slots: set[int]
) -> Habits:
    """Compute the parts on behaviour of the report on raters; everything given is people's alone."""
    return Habits(
        pace=part(lambda: _pace(study, around, names, slots)),
        same_answers=part(lambda: _same(frame.select(frame.applicable), names, slots)),
        sides=part(lambda: _sides(main, around, names, slots)),
        controls=part(lambda: _controls(study)),
    )


def _persons_only(raters: np.ndarray, slots: set[int]) -> Bools:
    mask = ~np.isin(raters, sorted(slots))
    if raters.size and not mask.any():
        raise Undefined("OnlySlots", "The raters are positions in a data set.")
    return np.asarray(mask, dtype=np.bool_)


def _unread(study: Study, around: Circumstances) -> Bools:
    """Mark answers given faster than their texts can be read, by the server's clock or by the active time."""
    noticed = Assignment.objects.filter(counting(), task__study=study, conditions__has_key=TOO_FAST)
    by_clock = np.isin(around.assignment, list(noticed.values_list("pk", flat=True)))
    with np.errstate(invalid="ignore"):
        by_time = (around.words >= FEWEST_WORDS) & (60 * around.words > pace_limit(study) * around.seconds)
    return np.asarray(by_clock | (by_time & (around.seconds > 0) & (around.repeat == 0)), dtype=np.bool_)


def _pace(study: Study, around: Circumstances, names: Mapping[int, str], slots: set[int]) -> Paces:
    # A text that is shown again is read faster, which says nothing about the rater.
    timed = np.isfinite(around.seconds) & np.isfinite(around.words) & (around.seconds > 0)
    timed &= around.repeat == 0
    if not timed.any():
        raise Undefined("NoTimes", "No time on task was recorded.")
    unread = _unread(study, around)
    shown = np.flatnonzero(timed)[_persons_only(around.rater[timed], slots)]
    raters = around.rater[shown]
    found = reading_pace(around.seconds[shown], around.words[shown], raters)
    each = 100 * around.seconds[shown] / around.words[shown]
    middle = float(np.median(each))
    fast, unread = each < FAST_SHARE * middle, unread[shown]
    rows = [
        RaterPace(
            **vars(pace),
            rater=names[int(str(pk))],
            fast=float(fast[raters == pk].mean()),
            unread=float(unread[raters == pk].mean()),
        )
        for pk, pace in found.items()
    ]
    return Paces(
        median=middle,
        n=int(shown.size),
        fast=float(fast.mean()),
        unread=float(unread.mean()),
        limit=pace_limit(study),
        raters=sorted(rows, key=lambda row: (row.median, row.rater)),
    )


def _same(frame: ScoreFrame, names: Mapping[int, str], slots: set[int]) -> SameAnswersOfAll:
    once = frame.select((frame.repeat == 0) & _persons_only(frame.rater, slots))
    share = (once.value - once.low) / np.where(once.high > once.low, once.high - once.low, 1.0)
    found = same_answers(np.round(share * 10**6).astype(np.int64), tasks=once.task, raters=once.rater)
    rows = [RaterSameAnswers(**vars(answers), rater=names[int(str(pk))]) for pk, answers in found.items()]
    rows.sort(key=lambda row: (-row.flat_tasks / max(row.tasks, 1), -row.most_common, row.rater))
    return SameAnswersOfAll(rows, sum(row.tasks for row in rows), sum(row.flat_tasks for row in rows))


def _sides(main: ScoreFrame, around: Circumstances, names: Mapping[int, str], slots: set[int]) -> SidesOfAll:
    pairs = main.select((main.response_b > 0) & (main.repeat == 0))
    if not len(pairs):
        raise NoPairs("There are no pairs.")
    first = around.first[around.rows(pairs.assignment)]
    if not (first > 0).any():
        raise Undefined("NoPositions", "It is not recorded which side was shown first.")
    kept = (first > 0) & _persons_only(pairs.rater, slots)
    if not kept.any():
        raise Undefined("OnlySlots", "The raters are positions in a data set.")
    won_by_a = np.sign(pairs.value[kept])
    preferred = np.where(won_by_a == 0, 0, np.where((won_by_a > 0) == (first[kept] == 1), 1, 2)).astype(np.int64)
    found = side_preference(preferred, raters=pairs.rater[kept], clusters=pairs.instruction[kept])
    if not found:
        raise Undefined("AllTied", "Every comparison was called a tie.")
    rows = [
        RaterSides(
            **vars(sides.first), rater=names[int(str(pk))], p=sides.p, ties=sides.ties, preferred=sides.preferred
        )
        for pk, sides in found.items()
    ]
    return SidesOfAll(sorted(rows, key=lambda row: (1.0 if row.p is None else row.p, row.rater)))


def _controls(study: Study) -> ChecksOfAll:
    outcomes = (
        CheckOutcome.objects.filter(
            counting_checks("assignment__"),
            assignment__task__study=study,
            purpose__in=[GOLD, CONTROL],
            assignment__rater__kind=Rater.Kind.PERSON,
        )
        .order_by("assignment_id")
        .select_related("assignment__rater")
    )
    rows = [(outcome.assignment.rater, outcome.passed, outcome.assignment.task_id) for outcome in outcomes]
    if not rows:
        raise Undefined("NoControls", "Nothing with a known answer was rated.")
    names = {rater.pk: rater.name for rater, _, _ in rows}
    raters = np.array([rater.pk for rater, _, _ in rows], dtype=np.int64)
    failed = np.array([not passed for _, passed, _ in rows], dtype=np.bool_)
    found = failed_controls(failed, raters, clusters=np.array([task for _, _, task in rows], dtype=np.int64))
    shown = [RaterChecks(**vars(share), rater=names[int(str(pk))]) for pk, share in found.items()]
    shown.sort(key=lambda row: (-row.value, row.rater))
    return ChecksOfAll(shown, len(rows), int(failed.sum()))
