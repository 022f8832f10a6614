"""Judges' verdicts of the responses that a study's people rated, wherever they were given.

Judging a whole benchmark makes a study of its own, so verdicts are matched by response and criterion key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Q, Value

from annotation.models import Assignment, AssignmentQuerySet, Rater, Study, Task
from calibration.data.frames import ABOUT_RESPONSES, Floats, Ints, ScoreFrame
from calibration.data.scores import score_frame
from generation.models import Benchmark


@dataclass(frozen=True)
class Verdicts:
    """Judges' labels of the tasks people rated: arrays of shape (m,); unscored counts tasks by judge pk."""

    judge: Ints
    task: Ints
    value: Floats
    names: Mapping[int, str]
    unscored: Mapping[int, int]


@dataclass(frozen=True)
class JudgesVerdicts:
    """A judge's numbers of verdicts: `verdicts` that count, and `discredited` ones of runs that failed canary texts."""

    judge: Rater
    verdicts: int
    discredited: int


def judges_by_verdicts(study: Study, *, elsewhere: bool = True) -> list[JudgesVerdicts]:
    """The judges with verdicts in this study, or `elsewhere` on its responses; who gave most of them first.

    A judge's verdicts elsewhere are counted where it gave none here that counts; its discredited ones are counted in
    both places. Those with discredited ones alone stand last.
    """
    places = [Assignment.objects.filter(task__study=study)]
    if elsewhere and study.kind != Study.Kind.REVIEW:
        places.append(judged_elsewhere(study))
    found: dict[int, tuple[int, int]] = {}
    for numbers in _numbers_of(places):
        for pk, (good, bad) in numbers.items():
            own, doubted = found.get(pk, (0, 0))
            found[pk] = (own or good, doubted + bad)
    return _most_first(found)


def failed_judges(about: Study | Benchmark, judge: Rater | None = None) -> list[JudgesVerdicts]:
    """List the judges, or this one alone, of which a run on what is asked about failed its canary texts."""
    if isinstance(about, Study):
        known = judges_by_verdicts(about)
    else:
        answers = Assignment.objects.filter(task__response_a__instruction__benchmark=about)
        known = judges_of_answers(answers if judge is None else answers.filter(rater=judge))
    return [row for row in failed_among(known) if judge in (None, row.judge)]


def failed_among(judges: Sequence[JudgesVerdicts]) -> list[JudgesVerdicts]:
    """List those of the judges of which a run failed its canary texts.

    This alone decides which judges are marked. No number counts a verdict of such a run.
    """
    return [row for row in judges if row.discredited]


def judges_without_verdict(study: Study, judges: Sequence[JudgesVerdicts]) -> list[tuple[Rater, int]]:
    """The judges that were asked in this study and have no verdict on its responses, with how many answers of theirs
    could not be used. `judges` are those of judges_by_verdicts."""
    known = {row.judge.pk for row in judges}
    asked = Assignment.objects.filter(task__study=study).without_verdict().exclude(rater__in=known)
    numbers = dict(asked.order_by().values_list("rater_id").annotate(n=Count("pk")))
    if not numbers:
        return []
    found = Rater.objects.filter(pk__in=numbers).order_by("label", "pk")
    return [(judge, numbers[judge.pk]) for judge in found]


def judges_of_answers(rows: AssignmentQuerySet) -> list[JudgesVerdicts]:
    """The same of any answers, such as those about a benchmark's responses."""
    (numbers,) = _numbers_of([rows])
    return _most_first(numbers)


def _numbers_of(places: Sequence[AssignmentQuerySet]) -> list[dict[int, tuple[int, int]]]:
    """For each place, by judge, the verdicts that count and those that are discredited; in one query."""
    first, *others = (
        rows.verdicts()
        .order_by()
        .annotate(place=Value(number))
        .values_list("place", "rater_id")
        .annotate(n=Count("pk"), bad=Count("pk", filter=Q(discredited=True)))
        for number, rows in enumerate(places)
    )
    found: list[dict[int, tuple[int, int]]] = [{} for _ in places]
    for place, rater, n, bad in first.union(*others, all=True) if others else first:
        found[place][rater] = (n - bad, bad)
    return found


def _most_first(numbers: Mapping[int, tuple[int, int]]) -> list[JudgesVerdicts]:
    known = Rater.objects.in_bulk(list(numbers)) if numbers else {}
    rows = [JudgesVerdicts(known[pk], *pair) for pk, pair in numbers.items()]
    return sorted(rows, key=lambda row: (-row.verdicts, -row.discredited, row.judge.name, row.judge.pk))


def judged_elsewhere(study: Study) -> AssignmentQuerySet:
    """Judges' assignments in other studies to responses that this study has, in tasks of the kind that it asks.

    A study of reviews asks about verdicts themselves, so it has those of every kind.
    """
    responses = Task.objects.filter(study=study).values("response_a")
    kinds = ABOUT_RESPONSES if study.kind == Study.Kind.REVIEW else (study.task_kind,)
    return Assignment.objects.filter(
        rater__kind=Rater.Kind.JUDGE, repeat=0, task__response_a__in=responses, task__kind__in=kinds
    ).exclude(task__study=study)


def judges_verdicts(study: Study, key: str, *, here: ScoreFrame | None = None) -> Verdicts:
    """What judges said of this study's responses, here or in another study; the one given here goes first.

    None of a study without judges, and none in a study of reviews: what people answered there is about verdicts, under
    the same keys, not about responses. `here` has the judges' answers in this study if they were read already, derived
    ones among them.
    """
    elsewhere = judged_elsewhere(study)
    asked = Assignment.objects.filter(task__study=study, rater__kind=Rater.Kind.JUDGE).exists()
    if study.kind == Study.Kind.REVIEW or not (asked or elsewhere.exists()):
        nothing = np.zeros(0, dtype=np.int64)
        return Verdicts(nothing, nothing, np.zeros(0), {}, {})
    if here is None:
        here = score_frame(kinds=ABOUT_RESPONSES, study=study, people=False)
    frames = [here]
    if elsewhere.exists():
        studies = Study.objects.filter(pk__in=elsewhere.values("task__study")).order_by("pk")
        frames += [score_frame(kinds=[study.task_kind], study=one, people=False) for one in studies]
    tasks = _tasks_by_responses(study)
    seen: dict[tuple[int, int], float] = {}
    names: dict[int, str] = {}
    for frame in frames:
        names |= frame.rater_names
        if key not in frame.criterion_keys:
            continue
        own = frame.select((frame.criterion == frame.criterion_keys.index(key)) & frame.applicable)
        for rater, task, first, second, value, variant in zip(
            own.rater.tolist(),
            own.task.tolist(),
            own.response.tolist(),
            own.response_b.tolist(),
            own.label_values.tolist(),
            own.variant.tolist(),
            strict=True,
        ):
            place, sign = (task, 1) if frame is here else tasks.get((first, second), (0, 0))
            if sign:
                # "Both bad" is the same answer from either side.
                seen.setdefault((rater, place), value if variant else sign * value)
    unscored = _unscored(study, tasks, seen, key)
    names = {pk: name for pk, name in names.items() if any(rater == pk for rater, _ in seen) or pk in unscored}
    names |= {row.pk: row.name for row in Rater.objects.filter(pk__in=set(unscored) - set(names))}
    return Verdicts(
        judge=np.array([rater for rater, _ in seen], dtype=np.int64),
        task=np.array([task for _, task in seen], dtype=np.int64),
        value=np.array(list(seen.values()), dtype=np.float64),
        names=names,
        unscored=unscored,
    )


def _tasks_by_responses(study: Study) -> dict[tuple[int, int], tuple[int, int]]:
    """(response A, response B or 0) -> the whole-response task and +1, or -1 where its sides are the other way."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    whole = Task.objects.filter(study=study, part__isnull=True).values_list("pk", "response_a_id", "response_b_id")
    for pk, first, second in whole:
        found[first, second or 0] = (pk, 1)
        if second:
            found.setdefault((second, first), (pk, -1))
    return found


def _unscored(
    study: Study, tasks: Mapping[tuple[int, int], tuple[int, int]], seen: Mapping[tuple[int, int], float], key: str
) -> dict[int, int]:
    """Per judge pk, the study's tasks it was asked about and gave no usable verdict on, wholly or on this criterion."""
    here = Assignment.objects.filter(
        task__study=study, task__gold__isnull=True, rater__kind=Rater.Kind.JUDGE, repeat=0
    ).believed()
    missing: set[tuple[int, int]] = set()
    for own, rows in ((True, here), (False, judged_elsewhere(study).believed())):
        unusable = Q(status=Assignment.Status.UNSCORED) | Q(conditions__unusable__has_key=key)
        for rater, task, first, second in rows.filter(unusable).values_list(
            "rater_id", "task_id", "task__response_a_id", "task__response_b_id"
        ):
            place = task if own else tasks.get((first, second or 0), (0, 0))[0]
            if place and (rater, place) not in seen:
                missing.add((rater, place))
    counts: dict[int, int] = {}
    for rater, _ in missing:
        counts[rater] = counts.get(rater, 0) + 1
    return counts
