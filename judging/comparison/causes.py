"""Where a judge and people differ, and why: causes, criteria, tasks, and the clauses of the guideline that reasons quote."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from annotation.models import Rater, Score, Study, Task
from calibration.data.frames import ABOUT_RESPONSES, ROLES, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import Verdicts, judges_by_verdicts, judges_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import Missing, part
from calibration.reports.judge_matches import are_positions
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.agreement.causes import ALONE, CAUSES, TOLERANCE, AnswersBeside, Cause, causes_of
from calibration.statistics.errors import Undefined
from calibration.statistics.judges.estimates import PeopleEstimate
from judging.comparison.quoted_clauses import clauses_of, quoted

MOST_TASKS = 100
MOST_CLAUSES = 30
BATCH = 2_000


@dataclass(frozen=True)
class CriterionCauses:
    """A criterion with its numbers of answers, of those that differ from the judge's, and of these by cause."""

    criterion: str
    answers: int
    differing: int
    causes: dict[Cause, int]


@dataclass(frozen=True)
class DifferingTask:
    """A question of a task on which `differing` of `people` answered other than the judge, most often for `cause`.

    `judge` and `answers` are on the criterion's own scale, a preference positive where the task's response A is better.
    """

    task: str
    instruction: str
    model: str
    criterion: str
    cause: Cause
    people: int
    differing: int
    judge: float
    answers: list[float]


@dataclass(frozen=True)
class QuotedClause:
    """A clause of the guideline, and how many reasons for answers that differ quote it: people's, and the judge's."""

    clause: str
    people: int
    judge: int


@dataclass(frozen=True)
class CauseReport:
    """The causes of the differences between a judge and people.

    `judges` are the (id, name) of all that can be chosen. `share` is the share of people's answers that differ from the
    judge's, `shares` those of the differences by cause, and `alone` how many differences have none because nobody else
    answered. `reasons` are the reasons that were read for the clauses of the guideline. `tasks` has the first MOST_TASKS.
    """

    study: str
    judge: str
    judge_id: str
    judges: list[tuple[str, str]]
    answers: int
    differing: int
    alone: int
    share: PeopleEstimate
    shares: dict[Cause, PeopleEstimate]
    criteria: list[CriterionCauses]
    tasks: list[DifferingTask]
    clauses: list[QuotedClause]
    reasons: int


CausesReport: TypeAlias = CauseReport | Missing


def causes_settings(judge: str = "") -> Settings:
    """Return the settings of the report: a judge's public id, or '' for the one with the most verdicts."""
    return {"judge": judge, "seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, CausesReport]:
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    return data_hash(frame), part(partial(_causes, study, frame, settings))


CAUSES_REPORT: ReportKind[CausesReport] = register(
    ReportKind("causes of disagreement", _compute, slow_from=60_000, shape=CausesReport)
)


def _causes(study: Study, frame: ScoreFrame, settings: Settings) -> CauseReport:
    """Compute the report. Raises NoStatistic without a judge, and without differences whose cause can be known."""
    judges = [row.judge for row in judges_by_verdicts(study) if row.verdicts > row.discredited]
    judge = next((one for one in judges if settings["judge"] in ("", one.public_id)), None)
    if judge is None:
        raise Undefined("NoJudge", "No judge has rated responses of this study.")
    lines, places, keys = _lines(study, frame, judge)
    found = causes_of(lines, seed=int(settings["seed"]))
    people = frame.select(places)
    clauses, reasons = _clauses(study, judge, people, lines)
    apart = lines.apart
    return CauseReport(
        study=study.slug,
        judge=judge.name,
        judge_id=judge.public_id,
        judges=[(one.public_id, one.name) for one in judges],
        answers=found.answers,
        differing=found.differing,
        alone=int((apart & (found.cause == ALONE)).sum()),
        share=found.share,
        shares=found.shares,
        criteria=_by_criterion(keys, people, lines, found.cause),
        tasks=_tasks(people, lines, found.cause),
        clauses=clauses,
        reasons=reasons,
    )


def _lines(study: Study, frame: ScoreFrame, judge: Rater) -> tuple[AnswersBeside, np.ndarray, list[str]]:
    """Return people's answers to all that the judge answered too, their places in the frame, and the criteria."""
    places, said, keys = [], [], []
    for key in ordered_keys(frame):
        own = np.flatnonzero((frame.criterion == frame.criterion_keys.index(key)) & frame.applicable)
        verdicts = _of(judges_verdicts(study, key), judge)
        known = np.array([task in verdicts for task in frame.task[own].tolist()], dtype=np.bool_)
        if known.any():
            keys.append(key)
            places.append(own[known])
            said.append(np.array([verdicts[task] for task in frame.task[own[known]].tolist()]))
    at = np.concatenate(places) if places else np.zeros(0, dtype=np.int64)
    people = frame.select(at)
    preferred = people.role == ROLES.index("preference")
    pairs = np.column_stack([people.task, people.criterion])
    question = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1) if len(at) else at
    lines = AnswersBeside(
        question=question.astype(np.int64),
        rater=people.rater,
        instruction=people.instruction,
        value=people.label_values,
        judge=np.concatenate(said) if said else np.zeros(0),
        tolerance=np.where(preferred, 0.0, TOLERANCE * (people.high - people.low)),
        positions=bool(len(at)) and are_positions(people),
    )
    return lines, at, keys


def _of(verdicts: Verdicts, judge: Rater) -> Mapping[int, float]:
    mine = verdicts.judge == judge.pk
    return dict(zip(verdicts.task[mine].tolist(), verdicts.value[mine].tolist(), strict=True))


def _by_criterion(
    keys: Sequence[str], people: ScoreFrame, lines: AnswersBeside, cause: np.ndarray
) -> list[CriterionCauses]:
    """Count by criterion, the one with the most differences first."""
    apart, rows = lines.apart, []
    for key in keys:
        own = people.criterion == people.criterion_keys.index(key)
        counts = {name: int((own & apart & (cause == place)).sum()) for place, name in enumerate(CAUSES)}
        rows.append(CriterionCauses(key, int(own.sum()), int((own & apart).sum()), counts))
    return sorted(rows, key=lambda row: -row.differing)


def _tasks(people: ScoreFrame, lines: AnswersBeside, cause: np.ndarray) -> list[DifferingTask]:
    """List the questions on which most people differ from the judge, and the farther ones first."""
    apart = lines.apart
    groups = int(lines.question.max(initial=-1)) + 1
    differing = np.bincount(lines.question, weights=apart, minlength=groups)
    reach = np.where(people.high > people.low, people.high - people.low, 1.0)
    distance = np.bincount(lines.question, weights=np.abs(lines.value - lines.judge) / reach, minlength=groups)
    asked = np.bincount(lines.question, minlength=groups)
    order = np.lexsort([np.arange(groups), -distance / np.maximum(asked, 1), -differing])
    chosen = [place for place in order[:MOST_TASKS].tolist() if differing[place]]
    of_question: dict[int, list[int]] = {place: [] for place in chosen}
    for line in np.flatnonzero(np.isin(lines.question, chosen)).tolist():
        of_question[int(lines.question[line])].append(line)
    ids = dict(
        Task.objects.filter(pk__in={int(people.task[own[0]]) for own in of_question.values()}).values_list(
            "pk", "public_id"
        )
    )
    rows = []
    for own in of_question.values():
        first = own[0]
        causes = Counter(int(cause[line]) for line in own if apart[line])
        rows.append(
            DifferingTask(
                task=ids[int(people.task[first])],
                instruction=people.instruction_ids.get(int(people.instruction[first]), ""),
                model=people.model_names.get(int(people.model[first]), ""),
                criterion=people.criterion_keys[int(people.criterion[first])],
                cause=CAUSES[min(causes, key=lambda one: (-causes[one], one))],
                people=len(own),
                differing=int(apart[own].sum()),
                judge=float(lines.judge[first]),
                answers=sorted(float(value) for value in lines.value[own]),
            )
        )
    return rows


def _clauses(study: Study, judge: Rater, people: ScoreFrame, lines: AnswersBeside) -> tuple[list[QuotedClause], int]:
    """Count the clauses of the guideline that the reasons for differing answers quote, and the reasons read."""
    texts = study.guideline.texts.values() if study.guideline else []
    clauses = list(dict.fromkeys(clause for text in texts for clause in clauses_of(str(text))))
    if not clauses:
        return [], 0
    apart = lines.apart
    wanted = set(zip(people.assignment[apart].tolist(), people.criterion[apart].tolist(), strict=True))
    tasks = set(zip(people.task[apart].tolist(), people.criterion[apart].tolist(), strict=True))
    codes = {key: code for code, key in enumerate(people.criterion_keys)}
    latest: dict[tuple[bool, int, int], str] = {}
    rows = Score.objects.filter(assignment__task__study=study).order_by("revision", "pk")
    columns = ("assignment", "assignment__task", "assignment__rater", "criterion__key", "reason")
    for assignment, task, rater, key, reason in rows.values_list(*columns).iterator(chunk_size=BATCH):
        by_judge = rater == judge.pk
        at = (task if by_judge else assignment, codes.get(key, -1))
        if at in (tasks if by_judge else wanted):
            latest[by_judge, *at] = reason
    counts = {True: Counter[int](), False: Counter[int]()}
    for (by_judge, *_at), reason in latest.items():
        counts[by_judge].update(quoted(reason, clauses))
    found = [QuotedClause(clause, counts[False][at], counts[True][at]) for at, clause in enumerate(clauses)]
    known = sorted((one for one in found if one.people or one.judge), key=lambda one: -(one.people + one.judge))
    return known[:MOST_CLAUSES], sum(1 for reason in latest.values() if reason)
