"""The results of a monitor's rounds: each round's scores, and how it differs from its baseline.

The baseline is the first round, or the round that a lead has made the new baseline for the rounds after it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

import numpy as np
from django.db import transaction

from annotation.models import Rater, Score, Study, Task, counting
from calibration.statistics.errors import NoStatistic
from judging.judges.questions import Questions
from judging.methods.combining import How, Scale, derived
from judging.methods.parsing import Verdict
from judging.methods.registry import METHODS
from judging.models import JudgeRun, Watch
from judging.monitoring.monitors import log_flag
from judging.runs.aggregation import is_panel, outcomes_of, parts_of
from judging.scores.drift import Change, SignificanceLevel, TestName, change, mean_level

Answers = Mapping[tuple[int, str], tuple[float, str]]
"""(task, criterion's key) -> (value, level)."""


@dataclass(frozen=True)
class Round:
    """`level` is the mean score, 0 to 1 of the scale; `alike` and `people` are the shares of answers that match the
    baseline and the majority of people.

    `changes` are the tests of this check, None if there are too few data. `silent`: half or more of the tasks that the
    baseline answered got no usable answer, so that the tests say little or nothing. `baseline` is the number of the round
    that this one is compared with; the first round's is its own.
    """

    run: JudgeRun
    number: int
    level: SignificanceLevel | None
    alike: SignificanceLevel | None
    people: SignificanceLevel | None
    changes: Mapping[TestName, Change]
    unscored: int
    silent: bool = False
    baseline: int = 1

    @property
    def flagged(self) -> bool:
        return self.silent or any(change.flagged for change in self.changes.values())


@dataclass(frozen=True)
class Readings:
    """Rounds in their order, the finished ones numbered from 1; `people` says whether people rated any of the tasks.

    `baseline` is the number of the round with which the next round will be compared.
    """

    rounds: tuple[Round, ...]
    others: tuple[JudgeRun, ...]
    people: bool
    baseline: int = 1

    @property
    def flagged(self) -> list[Round]:
        return [row for row in self.rounds if row.flagged]

    @property
    def changed(self) -> list[Round]:
        """The rounds after the present baseline that differ from it."""
        return [row for row in self.flagged if row.number > self.baseline]

    def numbered(self, number: int) -> Round:
        return self.rounds[number - 1]


def readings(watch: Watch) -> Readings:
    """Return the results of a monitor's rounds, computed from their answers."""
    runs = list(watch.rounds.order_by("created_at", "pk"))
    done = [run for run in runs if run.status == JudgeRun.Status.FINISHED]
    tasks = {
        task.pk: task for task in Task.objects.filter(pk__in=watch.tasks).prefetch_related("answer_rubric__criteria")
    }
    tasks_instruction = dict(Task.objects.filter(pk__in=watch.tasks).values_list("pk", "response_a__instruction_id"))
    ends = ends_of(watch, tasks)
    gold = majorities(watch)
    answers = [answers_of_round(run) for run in done]
    chosen = set(watch.baselines.values_list("run_id", flat=True))
    rounds: list[Round] = []
    baseline = 1
    for number, (run, given) in enumerate(zip(done, answers, strict=True), 1):
        since = answers[baseline - 1 :]
        rounds.append(_round(run, number, given, since, gold, ends, tasks_instruction, len(watch.tasks), baseline))
        if run.pk in chosen:
            baseline = number
    others = tuple(run for run in runs if run.status != JudgeRun.Status.FINISHED)
    return Readings(tuple(rounds), others, bool(gold), baseline)


def _round(
    run: JudgeRun,
    number: int,
    given: Answers,
    every: Sequence[Answers],
    gold: Mapping[tuple[int, str], tuple[float, str]],
    ends: Mapping[tuple[int, str], tuple[float, float]],
    instruction: Mapping[int, int],
    asked: int,
    baseline: int,
) -> Round:
    """Compare a round with its baseline, the first of `every`; checks are counted on over all baselines."""
    scores = _scores(given, ends)
    alike = _same(given, every[0]) if number > 1 else {}
    people = _same(given, gold)
    pairs: dict[TestName, tuple[Mapping[int, float], Mapping[int, float]]] = {}
    if number > 1:
        pairs["score"] = _scores(every[0], ends), scores
        if gold:
            pairs["people"] = _same(every[0], gold), people
        if number > baseline + 1:
            pairs["steadiness"] = _same(every[1], every[0]), alike
    # Every check counts the same number of tests, so that their levels add up.
    tests = 3 if gold else 2
    changes: dict[TestName, Change] = {}
    for name, (before, now) in pairs.items():
        both = sorted(before.keys() & now.keys())
        try:
            changes[name] = change(
                np.array([before[pk] for pk in both], dtype=np.float64),
                np.array([now[pk] for pk in both], dtype=np.float64),
                [instruction[pk] for pk in both],
                look=number - 1,
                tests=tests,
            )
        except NoStatistic:
            continue
    return Round(
        run,
        number,
        _level(scores, instruction),
        _level(alike, instruction),
        _level(people, instruction),
        changes,
        asked - len(scores),
        silent=number > 1 and _half_lost(_scores(every[0], ends), scores),
        baseline=baseline,
    )


def _half_lost(before: Mapping[int, float], now: Mapping[int, float]) -> bool:
    """Whether at least half of the tasks that had a score have none any more."""
    return bool(before) and 2 * len(before.keys() & now.keys()) <= len(before)


def _level(values: Mapping[int, float], instruction: Mapping[int, int]) -> SignificanceLevel | None:
    pks = sorted(values)
    try:
        return mean_level(np.array([values[pk] for pk in pks], dtype=np.float64), [instruction[pk] for pk in pks])
    except NoStatistic:
        return None


def answers_of_round(run: JudgeRun) -> Answers:
    """Return the answers of a judge in a round; for a panel, its combined answers."""
    if is_panel(run):
        return _panel_answers(run)
    rows = (
        Score.objects.filter(
            assignment__planned_items__run=run, assignment__planned_items__canary="", value__isnull=False
        )
        .order_by("revision")
        .values_list("assignment__task_id", "criterion__key", "value", "level")
    )
    return {(task, key): (float(value or 0.0), level) for task, key, value, level in rows}


def _panel_answers(run: JudgeRun) -> Answers:
    settings = run.manifest["settings"]
    how = How(settings["combine"])
    questions = Questions.of(run.judge, run.study)
    preference = questions.needs.role == "preference"
    items = list(run.items.filter(canary="").select_related("task").order_by("task_id", "juror", "repeat"))
    outcomes = outcomes_of(items)
    answers: dict[tuple[int, str], tuple[float, str]] = {}
    for pk, group in groupby(items, key=lambda item: item.task_id):
        of_task = list(group)
        scales = [Scale(criterion, preference) for criterion in questions.answered(of_task[0].task)]
        combined = derived(parts_of(of_task, outcomes), scales, how)
        if isinstance(combined, Verdict):
            for answer in combined.answers:
                answers[pk, answer.key] = answer.value, getattr(answer, "level", "")
    return answers


def ends_of(watch: Watch, tasks: Mapping[int, Task]) -> dict[tuple[int, str], tuple[float, float]]:
    role = METHODS[watch.judge.method].role
    return {
        (pk, criterion.key): criterion.ends
        for pk, task in tasks.items()
        for criterion in task.answer_rubric.criteria.all()
        if criterion.role == role
    }


def _scores(given: Answers, ends: Mapping[tuple[int, str], tuple[float, float]]) -> dict[int, float]:
    """Return, by task, the mean of its answers as shares of their scales."""
    shares: dict[int, list[float]] = defaultdict(list)
    for (task, key), (value, _level_key) in given.items():
        if (task, key) in ends:
            low, high = ends[task, key]
            shares[task].append((value - low) / (high - low))
    return {task: float(np.mean(values)) for task, values in shares.items()}


def _same(given: Answers, other: Answers) -> dict[int, float]:
    """Return, by task, the share of its answers that equal the other's; for a value with several levels, the level
    counts.
    """
    shares: dict[int, list[float]] = defaultdict(list)
    for place in given.keys() & other.keys():
        (value, level), (theirs, their_level) = given[place], other[place]
        alike = abs(value - theirs) < 1e-9 and (not level or not their_level or level == their_level)
        shares[place[0]].append(float(alike))
    return {task: float(np.mean(values)) for task, values in shares.items()}


def majorities(watch: Watch) -> dict[tuple[int, str], tuple[float, str]]:
    """Return the majority answer of people (or of a key) for each task's responses, in any study; none if there is a
    tie.
    """
    tasks = {
        (first, second): pk
        for pk, first, second in Task.objects.filter(pk__in=watch.tasks).values_list(
            "pk", "response_a_id", "response_b_id"
        )
    }
    rows = Score.objects.filter(
        counting("assignment__"),
        assignment__task__response_a__in=[first for first, _ in tasks],
        assignment__task__kind=METHODS[watch.judge.method].task_kind,
        assignment__task__gold__isnull=True,
        assignment__repeat=0,
        assignment__rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT, Rater.Kind.KEY],
        value__isnull=False,
    ).order_by("revision")
    latest = {
        (assignment, key): (first, second, float(value or 0.0), level)
        for assignment, key, first, second, value, level in rows.values_list(
            "assignment_id",
            "criterion__key",
            "assignment__task__response_a_id",
            "assignment__task__response_b_id",
            "value",
            "level",
        )
    }
    votes: dict[tuple[int, str], dict[tuple[float, str], int]] = defaultdict(lambda: defaultdict(int))
    for (_assignment, key), (first, second, value, level) in latest.items():
        if (first, second) in tasks:
            votes[tasks[first, second], key][value, level] += 1
    majority = {}
    for place, counts in votes.items():
        most = max(counts.values())
        chosen = [answer for answer, number in counts.items() if number == most]
        if len(chosen) == 1:
            majority[place] = chosen[0]
    return majority


def look_at(run: JudgeRun) -> bool:
    """Write a finished round's results into its manifest, with an event if it is flagged; return whether it is."""
    watch = run.watch
    if watch is None or run.status != JudgeRun.Status.FINISHED:
        return False
    if "watch" in run.manifest:
        return bool(run.manifest["watch"]["flagged"])
    result = next((row for row in readings(watch).rounds if row.run.pk == run.pk), None)
    if result is None:
        return False
    stored = {
        "round": result.number,
        "baseline": result.baseline,
        "flagged": result.flagged,
        "changes": {name: asdict(test) for name, test in result.changes.items()},
    }
    with transaction.atomic():
        JudgeRun.objects.filter(pk=run.pk).update(manifest={**run.manifest, "watch": stored})
        run.refresh_from_db()
        if result.flagged:
            log_flag(watch, run, result.number)
    return result.flagged


def last_check(watch: Watch) -> tuple[JudgeRun | None, bool]:
    """Return the latest evaluated round, and whether it differs from its baseline and is not the new one itself."""
    run = watch.rounds.filter(manifest__has_key="watch").order_by("-created_at").first()
    flagged = bool(run and run.manifest["watch"]["flagged"])
    return run, flagged and not watch.baselines.filter(run=run).exists()


@dataclass(frozen=True)
class WatchRow:
    """A monitor in a list: the latest evaluated round, and the latest of all if that is not finished."""

    watch: Watch
    looked_at: JudgeRun | None
    changed: bool
    unfinished: JudgeRun | None


def row_of(watch: Watch) -> WatchRow:
    looked_at, changed = last_check(watch)
    latest = watch.rounds.order_by("-created_at").first()
    over = latest is None or latest.status == JudgeRun.Status.FINISHED
    return WatchRow(watch, looked_at, changed, None if over else latest)


def drift_in(study: Study, raters: Collection[int]) -> dict[int, tuple[str, bool]]:
    """Return the monitor of each judge of the study that has one, by pk of its rater, and whether it has changed."""
    found = {}
    for watch in Watch.objects.filter(study=study, judge__rater__in=raters).select_related("judge"):
        last, changed = last_check(watch)
        if last is not None:
            found[watch.judge.rater_id] = (watch.public_id, changed)
    return found


def unlooked() -> list[JudgeRun]:
    """Return the finished rounds that have not been evaluated."""
    finished = JudgeRun.objects.filter(watch__isnull=False, status=JudgeRun.Status.FINISHED)
    return list(
        finished.exclude(manifest__has_key="watch").select_related("watch__judge", "watch__study").order_by("pk")
    )
