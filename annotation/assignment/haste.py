"""Answers given faster than their texts can be read: measured by the server's clock, one warning, then a pause.

The time from assignment to answer counts, whatever a browser reports. A repeated task, and a response that the rater
has read in another task, may be answered at once; of two near-duplicates only one needs to be read.
"""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Length

from annotation.assignment.rater_status import Cause, ensure_standing, is_stopped, standing_of, stop
from annotation.models import Assignment, Standing, Study, Task
from annotation.policies.policies import PaceRule
from annotation.policies.quality_checks import pace_rule
from annotation.rules.alignment import is_near_duplicate
from annotation.rules.reading_time import (
    CHARACTERS_A_WORD,
    FASTEST_WORDS_A_MINUTE,
    FEWEST_WORDS,
    count_words,
    in_words,
    words_a_minute,
)

TOO_FAST = "too_fast"
"""The condition key under which an answer's pace, in words a minute, is kept."""


class Haste(StrEnum):
    """The consequence of an answer's pace."""

    NONE = "none"
    TOLD = "told"
    PAUSED = "paused"


@lru_cache(maxsize=128)
def _words(text: str) -> float:
    return in_words(*count_words(text))


def words_shown(tasks: QuerySet[Task]) -> dict[int, float]:
    """The number of words each task shows, by task pk: both texts of a pair, or the part of a text. Two queries.

    Tasks of unknown length, or that show nothing, are left out.
    """
    rows = tasks.values_list("pk", "response_b_id", "response_a__words", "response_b__words")
    found = {
        task: float(of_a + (of_b or 0))
        for task, second, of_a, of_b in rows
        if of_a is not None and (second is None or of_b is not None) and of_a + (of_b or 0) > 0
    }
    parts = tasks.filter(part__isnull=False).annotate(characters=Length("response_a__text"))
    for task, part, characters in parts.values_list("pk", "part", "characters"):
        if task in found and characters and part is not None:
            found[task] *= (int(part["end"]) - int(part["start"])) / characters
    return found


def is_unread(words: float, seconds: float, limit: int) -> bool:
    """Whether this many words were rated faster than they can be read at `limit` words a minute."""
    return words >= FEWEST_WORDS and words_a_minute(words, seconds) > limit


def pace_limit(study: Study) -> int:
    """Words a minute above which a text is unread: the study's limit or the default, even if it pauses nobody."""
    rule = pace_rule(study)
    return rule.words if rule else FASTEST_WORDS_A_MINUTE


def _texts(task: Task) -> list[tuple[int, str]]:
    """The texts that the task shows, each with its response."""
    part = slice(int(task.part["start"]), int(task.part["end"])) if task.part else slice(None)
    responses = [one for one in (task.response_a, task.response_b) if one is not None]
    return [(one.pk, (one.text or "")[part]) for one in responses]


def _read_before(assignment: Assignment, responses: list[int]) -> set[int]:
    """The responses that the rater has already had in another task."""
    others = Assignment.objects.filter(rater=assignment.rater_id).exclude(task=assignment.task_id)
    others = others.exclude(status=Assignment.Status.OPEN)
    found = others.filter(Q(task__response_a__in=responses) | Q(task__response_b__in=responses))
    pairs = found.values_list("task__response_a", "task__response_b")
    return {pk for pair in pairs for pk in pair if pk is not None}


def pace_of(assignment: Assignment, seconds: float, limit: int) -> float | None:
    """The pace, in words a minute, at which an answer's texts were read; None if too little was new to the rater.

    Makes no query and counts nothing if the time suffices for texts of the greatest possible length; below `limit` the
    pace is that of all the texts, whether or not they were new to the rater.
    """
    if assignment.repeat:
        return None
    texts = _texts(assignment.task)
    longest = sum(len(text) for _pk, text in texts) / CHARACTERS_A_WORD
    if longest < FEWEST_WORDS:
        return None
    if words_a_minute(longest, seconds) <= limit:
        return words_a_minute(longest, seconds)
    words = sum(_words(text) for _pk, text in texts)
    if words < FEWEST_WORDS:
        return None
    if words_a_minute(words, seconds) > limit:
        words = _new_words(assignment, texts)
    return words_a_minute(words, seconds) if words >= FEWEST_WORDS else None


def _new_words(assignment: Assignment, texts: list[tuple[int, str]]) -> float:
    """The number of words that the rater has not read before."""
    known = _read_before(assignment, [pk for pk, _text in texts]) if assignment.task.part is None else set()
    new = [text for pk, text in texts if pk not in known]
    if len(new) == 2 and is_near_duplicate(*new):
        del new[1]
    return sum(_words(text) for text in new)


def too_fast(assignment: Assignment, seconds: float) -> tuple[PaceRule | None, float | None]:
    """The study's rule, and the pace of an answer given `seconds` after assignment; None if it cannot be determined."""
    rule = pace_rule(assignment.task.study)
    return rule, pace_of(assignment, seconds, rule.words) if rule else None


def note_haste(
    assignment: Assignment, rule: PaceRule | None, pace: float | None, *, clock: Callable[[], datetime]
) -> Haste:
    """Count an answer's pace towards warning or pausing its rater; no query for a rater who reads the texts."""
    if rule is None or pace is None:
        return Haste.NONE
    rater = assignment.rater
    if pace <= rule.words:
        standing = standing_of(rater)
        if standing is not None and standing.fast_in_a_row:
            standing.fast_in_a_row = 0
            standing.save(update_fields=["fast_in_a_row", "changed_at"])
        return Haste.NONE
    standing = ensure_standing(rater)
    own = Standing.objects.filter(pk=standing.pk)
    own.update(fast_in_a_row=F("fast_in_a_row") + 1)
    standing.refresh_from_db(fields=["fast_in_a_row", "told_fast_at", "state"])
    if standing.told_fast_at is None and standing.fast_in_a_row >= rule.told:
        standing.told_fast_at, standing.fast_in_a_row = clock(), 0
        standing.save(update_fields=["told_fast_at", "fast_in_a_row", "changed_at"])
        return Haste.TOLD
    if standing.told_fast_at is not None and standing.fast_in_a_row >= rule.paused and not is_stopped(rater):
        stop(rater, Cause.PACE)
        return Haste.PAUSED
    return Haste.NONE
