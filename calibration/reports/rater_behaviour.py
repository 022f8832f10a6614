"""Rater behaviour: pace, straight-lining, preferred sides, failed checks. Never computed for single positions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from annotation.assignment.haste import TOO_FAST, pace_limit
from annotation.models import Assignment, CheckOutcome, Rater, Study
from annotation.policies.policies import CONTROL, GOLD
from annotation.rules.reading_time import FEWEST_WORDS
from calibration.data.circumstances import Circumstances
from calibration.data.frames import Bools, ScoreFrame
from calibration.reports.codec import plain, plain_part
from calibration.reports.registry import Plain
from calibration.statistics.raters.behaviour import failed_controls, reading_pace, same_answers, side_preference
from calibration.statistics.report_reasons import AllTied, NoControls, NoPairs, NoPositions, NoTimes, OnlySlots

FAST_SHARE = 0.25
"""An answer read in under a quarter of the median pace of the study counts as fast."""


def habits_part(
    study: Study, frame: ScoreFrame, main: ScoreFrame, around: Circumstances, names: Mapping[int, str], slots: set[int]
) -> Plain:
    """The parts pace, same_answers, sides, controls of the report on raters; everything given is people's alone."""
    return {
        "pace": plain_part(lambda: _pace(study, around, names, slots)),
        "same_answers": plain_part(lambda: _same(frame.select(frame.applicable), names, slots)),
        "sides": plain_part(lambda: _sides(main, around, names, slots)),
        "controls": plain_part(lambda: _controls(study, names, slots)),
    }


def _persons_only(raters: np.ndarray, slots: set[int]) -> Bools:
    mask = ~np.isin(raters, sorted(slots))
    if raters.size and not mask.any():
        raise OnlySlots("The raters are positions in a data set.")
    return np.asarray(mask, dtype=np.bool_)


def _unread(study: Study, around: Circumstances) -> Bools:
    """Mark answers given faster than their texts can be read, by the server's clock or by the active time."""
    status = Assignment.Status.SUBMITTED
    noticed = Assignment.objects.filter(task__study=study, status=status, conditions__has_key=TOO_FAST)
    by_clock = np.isin(around.assignment, list(noticed.values_list("pk", flat=True)))
    with np.errstate(invalid="ignore"):
        by_time = (around.words >= FEWEST_WORDS) & (60 * around.words > pace_limit(study) * around.seconds)
    return np.asarray(by_clock | (by_time & (around.seconds > 0) & (around.repeat == 0)), dtype=np.bool_)


def _pace(study: Study, around: Circumstances, names: Mapping[int, str], slots: set[int]) -> Plain:
    # A text that is shown again is read faster, which says nothing about the rater.
    timed = np.isfinite(around.seconds) & np.isfinite(around.words) & (around.seconds > 0)
    timed &= around.repeat == 0
    if not timed.any():
        raise NoTimes("No time on task was recorded.")
    unread = _unread(study, around)
    own = np.flatnonzero(timed)[_persons_only(around.rater[timed], slots)]
    found = reading_pace(around.seconds[own], around.words[own], around.rater[own])
    each = 100 * around.seconds[own] / around.words[own]
    middle = float(np.median(each))
    rows = []
    for pk, one in found.items():
        mine = each[around.rater[own] == pk]
        rows.append(
            {
                "rater": names[int(str(pk))],
                **plain(one),
                "fast": float((mine < FAST_SHARE * middle).mean()),
                "unread": float(unread[own][around.rater[own] == pk].mean()),
            }
        )
    return {
        "median": middle,
        "n": int(own.size),
        "fast": float((each < FAST_SHARE * middle).mean()),
        "unread": float(unread[own].mean()),
        "limit": pace_limit(study),
        "raters": sorted(rows, key=lambda row: (row["median"], row["rater"])),
    }


def _same(frame: ScoreFrame, names: Mapping[int, str], slots: set[int]) -> Plain:
    own = frame.select((frame.repeat == 0) & _persons_only(frame.rater, slots))
    share = (own.value - own.low) / np.where(own.high > own.low, own.high - own.low, 1.0)
    found = same_answers(np.round(share * 10**6).astype(np.int64), tasks=own.task, raters=own.rater)
    rows = [{"rater": names[int(str(pk))], **plain(one)} for pk, one in found.items()]
    rows.sort(key=lambda row: (-row["flat_tasks"] / max(row["tasks"], 1), -row["most_common"], row["rater"]))
    tasks = sum(row["tasks"] for row in rows)
    flat = sum(row["flat_tasks"] for row in rows)
    return {"raters": rows, "tasks": tasks, "flat_tasks": flat}


def _sides(main: ScoreFrame, around: Circumstances, names: Mapping[int, str], slots: set[int]) -> Plain:
    pairs = main.select((main.response_b > 0) & (main.repeat == 0))
    if not len(pairs):
        raise NoPairs("There are no pairs.")
    first = around.first[around.rows(pairs.assignment)]
    if not (first > 0).any():
        raise NoPositions("It is not recorded which side was shown first.")
    kept = (first > 0) & _persons_only(pairs.rater, slots)
    if not kept.any():
        raise OnlySlots("The raters are positions in a data set.")
    won_by_a = np.sign(pairs.value[kept])
    preferred = np.where(won_by_a == 0, 0, np.where((won_by_a > 0) == (first[kept] == 1), 1, 2)).astype(np.int64)
    found = side_preference(preferred, raters=pairs.rater[kept], clusters=pairs.instruction[kept])
    rows: list[dict[str, Any]] = [
        {"rater": names[int(str(pk))], **plain(one.first), "p": one.p, "ties": one.ties} for pk, one in found.items()
    ]
    if not rows:
        raise AllTied("Every comparison was called a tie.")
    rows.sort(key=lambda row: (row["p"], row["rater"]))
    return {"raters": rows}


def _controls(study: Study, names: Mapping[int, str], slots: set[int]) -> Plain:
    outcomes = list(
        CheckOutcome.objects.filter(assignment__task__study=study, purpose__in=[GOLD, CONTROL])
        .order_by("assignment_id")
        .values_list(
            "assignment__rater_id",
            "assignment__rater__pseudonym",
            "assignment__rater__label",
            "passed",
            "assignment__task_id",
            "assignment__rater__kind",
        )
    )
    rows = [one for one in outcomes if one[5] == Rater.Kind.PERSON]
    if not rows:
        raise NoControls("Nothing with a known answer was rated.")
    called = {one[0]: one[1] or one[2] for one in rows}
    raters = np.array([one[0] for one in rows], dtype=np.int64)
    failed = np.array([not one[3] for one in rows], dtype=np.bool_)
    found = failed_controls(failed, raters, clusters=np.array([one[4] for one in rows], dtype=np.int64))
    shown = [{"rater": called[int(str(pk))], **plain(one)} for pk, one in found.items()]
    shown.sort(key=lambda row: (-row["value"], row["rater"]))
    return {"raters": shown, "n": len(rows), "failed": int(failed.sum())}
