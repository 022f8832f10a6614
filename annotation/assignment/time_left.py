"""How long a rater's remaining tasks will take: by their own pace, and by the length of the texts before there is one."""

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from math import ceil

from django.db.models import Count
from django.utils.translation import gettext as _, ngettext

from annotation.assignment.rater_progress import Progress
from annotation.models import Study, Task
from annotation.policies.policies import Policies
from generation.models import Instruction
from generation.text_metrics.counts import word_count

FEWEST_TIMED = 3
"""Answers with a measured time from which on a rater's own pace counts."""
SLOW_WORDS_A_MINUTE = 175
"""The slowest of most adults (reading_time.py), so that the estimate before the first answers is a cautious one."""
SECONDS_A_QUESTION = 8
WORDS_WHERE_UNKNOWN = 300
MOST_TASKS, MOST_INSTRUCTIONS = 200, 20
"""Tasks and instructions of a study whose texts are counted for the estimate."""
LONGEST_IN_MINUTES = 90
EXACT_MINUTES = 10


def reading_seconds(words: float, questions: float) -> float:
    """Cautious seconds for reading this many words and answering this many questions."""
    return 60 * words / SLOW_WORDS_A_MINUTE + SECONDS_A_QUESTION * questions


def words_a_task(study: Study) -> float:
    """Mean number of words of the responses of a task, over at most MOST_TASKS of the study's tasks; one query."""
    rows = study.tasks.order_by("pk").values_list("response_a__words", "response_b_id", "response_b__words")
    counts = [
        (WORDS_WHERE_UNKNOWN if first is None else first)
        + (0 if other is None else WORDS_WHERE_UNKNOWN if second is None else second)
        for first, other, second in rows[:MOST_TASKS]
    ]
    return _mean(counts)


def seconds_a_task(study: Study) -> float:
    """Cautious seconds for a task of the study before anybody has rated one; 0 without tasks. Three queries."""
    tasks = Task.objects.filter(study=study).order_by("pk")
    questions = tasks.annotate(asked=Count("answer_rubric__criteria")).values_list("asked", flat=True)[:MOST_TASKS]
    if not questions:
        return 0.0
    named = tasks.values("response_a__instruction")[:MOST_INSTRUCTIONS]
    instructions = Instruction.objects.filter(pk__in=[row["response_a__instruction"] for row in named])
    asked = _mean([word_count(instruction.text) for instruction in instructions])
    return reading_seconds(words_a_task(study) + asked, _mean(questions))


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def own_pace(progress: Progress) -> float | None:
    """Seconds that the rater spends on a task; None before FEWEST_TIMED answers with a measured time."""
    return progress.active_seconds / progress.timed if progress.timed >= FEWEST_TIMED else None


def place_words(progress: Progress, quota: int | None, seconds: float) -> str:
    """Where the rater is: "17 of 40, about 25 minutes left"; `seconds` are those of one task."""
    if quota is None:
        return _("%(n)s answered") % {"n": progress.submitted}
    left = max(0, quota - progress.submitted)
    where = {"n": progress.submitted, "m": quota}
    if not left or seconds <= 0:
        return _("%(n)s of %(m)s") % where
    return _("%(n)s of %(m)s, %(left)s") % (where | {"left": time_left(left * seconds)})


def time_left(seconds: float) -> str:
    """About how long something still takes, rounded up: to minutes, from 10 on to 5 minutes, from 90 on to half hours."""
    minutes = ceil(seconds / 60)
    if minutes > LONGEST_IN_MINUTES:
        halves = ceil(minutes / 30)
        hours = f"{halves // 2}.5" if halves % 2 else str(halves // 2)
        return _("about %(n)s hours left") % {"n": hours}
    shown = rounded_minutes(seconds)
    return ngettext("about %(n)s minute left", "about %(n)s minutes left", shown) % {"n": shown}


def rounded_minutes(seconds: float) -> int:
    """Whole minutes, rounded up, from 10 on to a multiple of 5; at least 1."""
    minutes = max(1, ceil(seconds / 60))
    return minutes if minutes <= EXACT_MINUTES else 5 * ceil(minutes / 5)


def hours_words(study: Study, seconds: float) -> str:
    """The rater's working time, and their pay where the study states an hourly one; '' unless the study shows them."""
    policies = Policies.of(study)
    if not policies.show_hours:
        return ""
    minutes = int(seconds // 60)
    time = _("%(hours)s h %(minutes)s min of work") % {"hours": minutes // 60, "minutes": f"{minutes % 60:02}"}
    pay = policies.expected.hourly_pay
    if not pay:
        return time
    return _("%(time)s, %(pay)s") % {"time": time, "pay": money(pay * minutes / 60, policies.expected.currency)}


def money(amount: Decimal, currency: str) -> str:
    """An amount to the cent, after its currency if there is one."""
    return f"{currency} {amount.quantize(Decimal('0.01'), ROUND_HALF_UP)}".strip()
