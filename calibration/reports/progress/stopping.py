"""When labelling may stop: the answer to the question that was stated before launch, as far as the instructions in their
drawn order are complete."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

import numpy as np
from django.utils import timezone

from annotation.models import Assignment, Rater, StoppingQuestion, Study, are_excluded_shown, counting
from annotation.policies.stopping import AGREEMENT, BETTER, TOP_THREE, WEIGHTS
from calibration.data.frames import EVERY_KIND, Floats, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.labels import checklist_rows
from calibration.data.scores import score_frame
from calibration.models import Report
from calibration.reports.codec import read_back
from calibration.reports.people.populations import SuchRaters, such_of
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import Scale
from calibration.statistics.stopping.confidence_sequence import confidence_sequence
from calibration.statistics.stopping.decisions import (
    Answered,
    StillNeeded,
    against_threshold,
    better_than,
    leaders,
    leaders_needed,
    pair_error,
    threshold_needed,
)
from calibration.statistics.stopping.instruction_values import (
    InstructionValues,
    agreeing_pairs,
    mean_variance,
    model_points,
    weight_gains,
)
from generation.models import LanguageModel

MONTH = timedelta(days=30)
FLOOR = 0.5
_STATES = "_states_a_question"
"""The attribute under which a study keeps whether it has a question."""
Answer = Literal["", "above", "below", "leading", "better"]


@dataclass(frozen=True)
class Step:
    """After `n` instructions: the mean so far, None before the first value, and the ends that hold at every moment."""

    n: int
    value: float | None
    low: float
    high: float


@dataclass(frozen=True)
class StoppingReport:
    """The answer so far; `size` instructions have an order, the first `counted` of which count, `missing` without a value.

    `answer` is '' while there is none, else how the question was answered after `answered_at` instructions, of which
    `leading` are the leading models. `steps` are those of agreement, of the difference (in points of 0..1, -1..1) between
    the two models in `compared`, or of the gain of weights. `due` is when the next instruction counts as missing (ISO 8601),
    '' where none is under way. `such` is the interval of the last value for raters like these, None where there is no value.
    """

    study: str
    question: str
    threshold: float
    error: float
    size: int
    counted: int
    missing: int
    answer: Answer
    answered_at: int
    leading: list[str]
    models: list[str]
    compared: list[str]
    steps: list[Step]
    value: float | None
    such: SuchRaters | None
    needed: StillNeeded | None
    due: str
    raters: int


@dataclass(frozen=True)
class _Counted:
    """The instructions that count, as places in the order; those that are `complete`, the answers (pks) and the time at
    which the first one after them counts as missing."""

    complete: list[bool]
    answers: set[int]
    due: datetime | None


def _counted(question: StoppingQuestion, now: datetime) -> _Counted:
    """Count instructions while each is complete or was begun a month ago.

    One is complete when every task of it has as many answers by people as were planned; of more, those given first count.
    It began when it, or one that comes after it, was first handed to somebody.
    """
    people = Assignment.objects.filter(task__study=question.study_id, repeat=0).of_people().order_by()
    given: dict[int, list[tuple[datetime, int]]] = {}
    for pk, task, at, created in people.filter(counting()).values_list("pk", "task_id", "submitted_at", "created_at"):
        given.setdefault(task, []).append((at or created, pk))
    begun: dict[int, datetime] = {}
    for task, created in people.values_list("task_id", "created_at"):
        begun[task] = min(created, begun.get(task, created))
    order: list[list[int]] = [tasks for _instruction, tasks in question.instructions]
    first: list[datetime | None] = []
    latest: datetime | None = None
    for tasks in reversed(order):
        moments = [begun[task] for task in tasks if task in begun]
        latest = min([*moments, *([latest] if latest else [])], default=None)
        first.append(latest)
    complete: list[bool] = []
    answers: set[int] = set()
    due = None
    for tasks, began in zip(order, reversed(first), strict=True):
        own = [sorted(given.get(task, ()))[: question.overlap] for task in tasks]
        whole = all(len(one) == question.overlap for one in own)
        if not whole and (began is None or began + MONTH > now):
            due = None if began is None else began + MONTH
            break
        complete.append(whole)
        if whole:
            answers.update(pk for one in own for _at, pk in one)
    return _Counted(complete, answers, due)


def _compute(study: Study, settings: Settings) -> tuple[str, StoppingReport]:
    question = StoppingQuestion.objects.filter(study=study).first()
    if question is None:
        raise NothingToRead("the study states no question of when labelling may stop")
    counted = _counted(question, timezone.now())
    frame = score_frame(kinds=EVERY_KIND, study=study, judges=False)
    frame = frame.select(np.isin(frame.assignment, list(counted.answers)))
    n = len(counted.complete)
    read = _gains if question.question == WEIGHTS else _values
    values, bounds = read(question, frame, n)
    names = dict(LanguageModel.objects.filter(pk__in=question.models_compared).values_list("pk", "name"))
    models = [names.get(pk, "") for pk in question.models_compared]
    report = _report(study, question, counted, values, bounds, models, len(np.unique(frame.rater)))
    hashed = json.dumps(["stopping", data_hash(frame), asdict(report)], default=str)
    return sha256(hashed.encode()).hexdigest(), report


def _places(question: StoppingQuestion, instruction: Ints) -> Ints:
    place = {pk: turn for turn, (pk, _tasks) in enumerate(question.instructions)}
    return np.array([place[pk] for pk in instruction.tolist()], dtype=np.int64)


def _values(question: StoppingQuestion, frame: ScoreFrame, instructions: int) -> tuple[InstructionValues, Floats]:
    """The values of the instructions that count, one column or, for models, a column each; nan where one has none.

    The second array (t,) bounds them.
    """
    bounds = np.ones(instructions)
    wanted = [place for place, key in enumerate(frame.criterion_keys) if key in question.criteria]
    frame = frame.select(np.isin(frame.criterion, wanted) & frame.applicable)
    place = _places(question, frame.instruction)
    if question.question == AGREEMENT:
        unit = frame.task * max(1, len(frame.criterion_keys)) + frame.criterion
        return agreeing_pairs(place, unit, frame.rater, frame.label_values, instructions=instructions), bounds
    share = (frame.value - frame.low) / np.where(frame.high > frame.low, frame.high - frame.low, 1.0)
    lines = [(place, frame.rater, frame.model, share)]
    paired = frame.model_b > 0
    if paired.any():
        lines.append((place[paired], frame.rater[paired], frame.model_b[paired], 1 - share[paired]))
    places, raters, models, points = (np.concatenate(column) for column in zip(*lines, strict=True))
    column = {pk: number for number, pk in enumerate(question.models_compared)}
    kept = np.isin(models, list(column))
    codes = np.array([column[pk] for pk in models[kept].tolist()], dtype=np.int64)
    many = len(column)
    found = model_points(places[kept], raters[kept], codes, points[kept], instructions=instructions, models=many)
    return found, bounds


def _gains(question: StoppingQuestion, frame: ScoreFrame, instructions: int) -> tuple[InstructionValues, Floats]:
    """The gains of fitted weights, and their bounds (see weight_gains)."""
    empty = np.zeros(0, dtype=np.int64)
    missing = InstructionValues(np.full((instructions, 1), np.nan), empty, empty, np.zeros((0, 1)))
    nothing = missing, np.ones(instructions)
    if not len(frame):
        return nothing
    try:
        rows = checklist_rows(frame)
    except NothingToRead:
        return nothing
    parts = [(_places(question, row.instruction), row.rater, row.answers, row.overall) for row in rows]
    place, rater, answers, overall = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(place, kind="stable")
    found = place[order], rater[order], answers[order], overall[order]
    return weight_gains(*found, instructions=instructions, floor=FLOOR)


def _report(
    study: Study,
    question: StoppingQuestion,
    counted: _Counted,
    values: InstructionValues,
    bounds: Floats,
    models: list[str],
    raters: int,
) -> StoppingReport:
    size, error = len(question.instructions), question.error
    compared: list[int] = []
    at = Answered(np.inf)
    needed = None
    kind: Answer = ""
    if question.question == AGREEMENT:
        single = values
        low, high = _worst(values.values[:, 0], 0.0, 1.0)
        at = against_threshold(low, high, question.threshold, size=size, error=error)
        kind = "above" if at.above else "below"
        steps = _steps(single.values[:, 0], low, high, size, error)
        if not np.isfinite(at.at):
            needed = threshold_needed(low, high, question.threshold, size=size, error=error)
    elif question.question == WEIGHTS:
        single = values
        gains = np.where(np.isnan(values.values[:, 0]), -bounds, values.values[:, 0])
        at = Answered(better_than(gains, bounds, error=error))
        kind = "better"
        steps = []
    else:
        places = 3 if question.question == TOP_THREE else 1
        at = leaders(values.values, places, size=size, error=error)
        kind = "leading"
        compared = [0, 1] if question.question == BETTER else _compared(values.values, places, at)
        single = values.difference(*compared)
        low, high = _worst(single.values[:, 0], -1.0, 1.0)
        each = 2 * pair_error(len(models), places, error)
        steps = _steps(single.values[:, 0], low, high, size, each, spread=2.0)
        if not np.isfinite(at.at):
            needed = leaders_needed(values.values, places, size=size, error=error)
    answered = bool(np.isfinite(at.at))
    known = single.values[np.isfinite(single.values[:, 0]), 0]
    return StoppingReport(
        study=study.slug,
        question=question.question,
        threshold=question.threshold,
        error=error,
        size=size,
        counted=len(counted.complete),
        missing=int(np.isnan(single.values[:, 0]).sum()),
        answer=kind if answered else "",
        answered_at=int(at.at) if answered else 0,
        leading=[models[place] for place in at.leading],
        models=models,
        compared=[models[place] for place in compared],
        steps=steps,
        value=float(known.mean()) if len(known) else None,
        such=_such(single, question.question, _has_positions(study)) if len(known) else None,
        needed=needed,
        due=counted.due.isoformat() if counted.due else "",
        raters=raters,
    )


def _compared(points: Floats, places: int, answer: Answered) -> list[int]:
    """The last of the models that lead, or would lead by the present means, and the first of the others."""
    means = np.full(points.shape[1], 0.5)
    whole = ~np.isnan(points).any(axis=1)
    if whole.any():
        means = points[whole].mean(axis=0)
    ranked = sorted(range(len(means)), key=lambda place: (place not in answer.leading, -means[place], place))
    return [ranked[places - 1], ranked[places]]


def _worst(values: Floats, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """The values, with each missing one as the lowest and as the highest that it could be."""
    missing = np.isnan(values)
    return np.where(missing, lowest, values), np.where(missing, highest, values)


def _steps(values: Floats, low: Floats, high: Floats, size: int, error: float, spread: float = 1.0) -> list[Step]:
    """The path of the mean of values in 0..1, or for a `spread` of 2 in -1..1."""
    start = 1 - spread
    ends = confidence_sequence((low - start) / spread, (high - start) / spread, size=size, error=error)
    seen = np.cumsum(np.isfinite(values))
    sums = np.cumsum(np.nan_to_num(values))
    return [
        Step(n, float(total / given) if given else None, float(start + spread * lower), float(start + spread * upper))
        for n, total, given, lower, upper in zip(
            range(1, len(values) + 1), sums, seen, ends.low, ends.high, strict=True
        )
    ]


def _has_positions(study: Study) -> bool:
    return study.raters.filter(kind=Rater.Kind.SLOT).exists()


def _such(values: InstructionValues, question: str, positions: bool) -> SuchRaters:
    """The interval of the mean for raters like these."""
    of_agreement = question == AGREEMENT
    scale: Scale = "share" if of_agreement else "plain"
    try:
        variance = mean_variance(values, least_raters=3 if of_agreement else 2)
    except NoStatistic:
        return SuchRaters(None, None, None, 0, 0, "undefined_without_one")
    return such_of(variance, scale, slots=positions)


def stopping_settings(now: datetime | None = None) -> dict[str, str]:
    """The settings of the report: the day (UTC), because an instruction counts as missing when its month is over."""
    return {"day": f"{now or timezone.now():%Y-%m-%d}"}


STOPPING: ReportKind[StoppingReport] = register(
    ReportKind("stopping", _compute, slow_from=60_000, shape=StoppingReport)
)


def newest_row(study: Study) -> Report | None:
    """The newest report as it is stored, whichever day it is of; None before the first.

    With the answers that a lead excluded, or without them, as the request asks: each is a report of its own.
    """
    kept = Report.objects.filter(study=study, kind=STOPPING.name, settings__excluded__isnull=not are_excluded_shown())
    return kept.order_by("-pk").first()


def newest_stopping(study: Study) -> StoppingReport | None:
    """The newest report, whichever day it is of; None before the first. It is never computed here."""
    row = newest_row(study)
    return read_back(StoppingReport, row.result) if row is not None else None


def states_question(study: Study) -> bool:
    """Whether a question of when to stop was frozen at launch; one query, however often it is asked of this object."""
    if study.status == Study.Status.DRAFT:
        return False
    known = study.__dict__.get(_STATES)
    if known is None:
        known = study.__dict__[_STATES] = StoppingQuestion.objects.filter(study=study).exists()
    return bool(known)
