"""Model-based statistics of raters: severity and drift, hints, correct answers, consensus labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.models import Assignment, Study, Task, counting
from annotation.policies.hints import CONDITION
from calibration.data.circumstances import Circumstances
from calibration.data.frames import ROLES, Bools, NothingToRead, ScoreFrame
from calibration.reports.codec import Missing, part
from calibration.reports.people.populations import EstimateForBoth
from calibration.reports.people.shares import HintEstimates, TruthRates, correct_estimate, hint_estimates, truth_rates
from calibration.statistics.agreement.proportions import Proportion, clustered_proportions
from calibration.statistics.errors import TooFewRatings, Undefined
from calibration.statistics.raters.consensus import dawid_skene, majority_consensus
from calibration.statistics.raters.hints import HintEffect, hint_effect
from calibration.statistics.raters.posteriors import ItemLabel, item_labels
from calibration.statistics.raters.severity import Estimator, RaterSeverity, fit_severity
from calibration.statistics.resampling import FloatArray

CATEGORICAL_ROLES = ("preference", "check")
MOST_LABELS = 4
MOST_TASKS = 500


@dataclass(frozen=True)
class NamedSeverity(RaterSeverity):
    """A rater's severity and drift."""

    rater: str


@dataclass(frozen=True)
class Severities:
    """Raters' severities and the variances behind them (see SeverityFit) on `scale` (lowest, highest value).

    `drifting` says that the positions of all answers in their sessions are known, so that drift was estimated.
    """

    rater_variance: float
    drift_variance: float
    item_variance: float
    error_variance: float
    mean: float
    common_drift: float
    common_drift_low: float
    common_drift_high: float
    estimator: Estimator
    n: int
    raters: list[NamedSeverity]
    drifting: bool
    scale: tuple[float, float]


@dataclass(frozen=True)
class RaterAccuracy:
    """The probability (0 to 1) that a rater gives the true label."""

    rater: str
    accuracy: float


@dataclass(frozen=True)
class TaskLabel:
    """The label of a task by its public id: see ItemLabel."""

    task: str
    label: float
    probability: float
    low: float
    high: float
    answers: int
    first: int
    second: int
    p: float
    split: bool


@dataclass(frozen=True)
class Consensus:
    """Labels of `items` tasks: `prevalence` of each by Dawid and Skene (0 to 1), `majority` counts of tasks.

    `tied` tasks have no most frequent label, `alone` have one rating. `same_as_majority` is the share of the other tasks
    on which both methods agree (None without any), `certain` the share of labels with a probability of 0.95 or more. `tasks`
    are the least certain (see ItemLabels), MOST_TASKS at most; `split` counts those that split the raters.
    """

    labels: list[float]
    prevalence: FloatArray
    majority: list[int]
    items: int
    tied: int
    alone: int
    same_as_majority: float | None
    certain: float
    iterations: int
    raters: list[RaterAccuracy]
    tasks: list[TaskLabel]
    split: int
    raters_needed: int


@dataclass(frozen=True)
class CriterionHintEffect(HintEffect):
    """The effect of hints on one criterion's scores, or on those of all (criterion ""); `both` for both populations."""

    criterion: str
    both: HintEstimates | Missing


@dataclass(frozen=True)
class HintEffects:
    """The effect of hints by criterion; first on all criteria together, where these have one scale."""

    rows: list[CriterionHintEffect]


def hints_part(study: Study, frame: ScoreFrame, draws: int, seed: int, *, slots: bool) -> HintEffects:
    """Compute the effect of hints on people's scores of single responses. Raises Undefined."""
    own = frame.select(frame.applicable & (frame.role != ROLES.index("preference")) & (frame.low >= 0))
    seen = Assignment.objects.filter(counting(), task__study=study, conditions__has_key=CONDITION)
    hinted = dict(seen.order_by().values_list("pk", f"conditions__{CONDITION}"))
    own = own.select(np.isin(own.assignment, list(hinted)))
    if not len(own):
        raise Undefined("NoHints", "No answer says whether its rater saw the hint.")
    saw: Bools = np.array([bool(hinted[pk]) for pk in own.assignment.tolist()], dtype=np.bool_)
    keys = [key for code, key in enumerate(own.criterion_keys) if (own.criterion == code).any()]
    alike = len(keys) > 1 and np.ptp(own.low) == 0 and np.ptp(own.high) == 0
    rows = []
    for key in [*([""] if alike else []), *keys]:
        mask = own.criterion == own.criterion_keys.index(key) if key else np.ones(len(own), dtype=np.bool_)
        some = own.select(mask)
        units = some.task * len(own.criterion_keys) + some.criterion
        try:
            effect = hint_effect(some.value, saw[mask], units, clusters=some.instruction, draws=draws, seed=seed)
        except TooFewRatings:
            continue
        both = hint_estimates(some.value, saw[mask], units, some, slots=slots, seed=seed)
        rows.append(CriterionHintEffect(**vars(effect), criterion=key, both=both))
    if not rows:
        raise Undefined("NoHints", "No task was answered both with and without the hint.")
    return HintEffects(rows)


@dataclass(frozen=True)
class CorrectRate:
    """The share (0 to 1) of a rater's answers that equal the correct ones."""

    rater: str
    is_judge: bool
    rate: Proportion


@dataclass(frozen=True)
class Correctness:
    """How often answers equal the correct answer to their task: of all `people`, and of each rater, lowest first.

    `tasks` have a known answer; positions in a data set count among the people and are not listed. `pooled` is the share of
    all people for both populations, `by_label` sensitivity and specificity for criteria of a few labels.
    """

    people: Proportion | Missing
    raters: list[CorrectRate]
    tasks: int
    pooled: EstimateForBoth | Missing
    by_label: list[TruthRates]


def correctness_part(
    answers: ScoreFrame, truth: ScoreFrame | None, names: Mapping[int, str], slots: set[int]
) -> Correctness:
    """Compare answers with the correct ones of the same task and criterion, the latest where several were given.

    Raises Undefined if no answered task has one.
    """
    if truth is None or not len(truth):
        raise Undefined("NoCorrectAnswers", "The study has no correct answers.")
    width = max(len(answers.criterion_keys), len(truth.criterion_keys))
    number = {key: code for code, key in enumerate(answers.criterion_keys)}
    codes = np.array([number.get(key, -1) for key in truth.criterion_keys], dtype=np.int64)[truth.criterion]
    newest = np.argsort(truth.assignment, kind="stable")
    cells = (truth.task * width + codes)[newest]
    correct = dict(zip(cells[codes[newest] >= 0].tolist(), truth.label_values[newest][codes[newest] >= 0], strict=True))
    own = (answers.task * width + answers.criterion).tolist()
    rows = answers.select(np.array([cell in correct for cell in own], dtype=np.bool_))
    if not len(rows):
        raise Undefined("NoCorrectAnswers", "No task with answers has a correct answer.")
    answer = np.array([correct[cell] for cell in own if cell in correct])
    right = rows.label_values == answer
    rates = clustered_proportions(right, rows.rater, rows.instruction)
    judges = set(np.unique(rows.rater[rows.is_judge]).tolist())
    listed = [
        CorrectRate(names[pk], pk in judges, rate) for key, rate in rates.items() if (pk := int(str(key))) not in slots
    ]
    by_label = []
    for code in np.unique(rows.criterion).tolist():
        mask = rows.criterion == code
        if 2 <= len(np.unique(answer[mask])) <= MOST_LABELS:
            of_one = rows.select(mask)
            by_label.append(truth_rates(of_one, answer[mask], rows.criterion_keys[code], names, slots))
    return Correctness(
        people=part(lambda: _of_people(right, rows)),
        raters=sorted(listed, key=lambda row: (row.rate.value, row.rater)),
        tasks=len(np.unique(rows.task)),
        pooled=correct_estimate(right, rows, slots=bool(slots)),
        by_label=by_label,
    )


def _of_people(right: Bools, rows: ScoreFrame) -> Proportion:
    people = ~rows.is_judge
    if not people.any():
        raise Undefined("OnlyJudges", "Only judges have answered these tasks.")
    everybody = np.zeros(int(people.sum()), dtype=np.int64)
    return clustered_proportions(right[people], everybody, rows.instruction[people])[0]


def severity_part(frame: ScoreFrame, around: Circumstances, names: Mapping[int, str], slots: set[int]) -> Severities:
    """Compute severity and drift of every person; positions in the session are used if all are known."""
    if slots and set(np.unique(frame.rater).tolist()) <= slots:
        raise Undefined("OnlySlots", "The raters are positions in a data set.")
    places = around.place[around.rows(frame.assignment)]
    timed = bool(np.isfinite(places).all()) and _several(frame, places)
    found = fit_severity(frame.value, items=frame.task, raters=frame.rater, positions=places if timed else None)
    rows = [
        NamedSeverity(**vars(severity), rater=names[int(str(pk))])
        for pk, severity in found.raters.items()
        if int(str(pk)) not in slots
    ]
    rows.sort(key=lambda row: (-abs(row.severity), row.rater))
    scale = float(frame.low.min()), float(frame.high.max())
    return Severities(**{**vars(found), "raters": rows}, drifting=timed, scale=scale)


def _several(frame: ScoreFrame, places: np.ndarray) -> bool:
    """Whether every rater has more than one position; otherwise there is no session over which to drift."""
    return all(np.ptp(places[frame.rater == rater]) > 0 for rater in np.unique(frame.rater))


def consensus_part(frame: ScoreFrame, slots: set[int]) -> Consensus:
    """Compute majority and Dawid-Skene labels of unordered choices. Raises Undefined for an ordered scale."""
    if not len(frame):
        raise NothingToRead("No person has rated anything.")
    labels = np.unique(frame.label_values)
    categorical = ROLES[int(frame.role[0])] in CATEGORICAL_ROLES
    if not categorical and (len(labels) > MOST_LABELS or len(frame.criterion_keys) > 1):
        raise Undefined("NoCategories", "The scale is ordered.")
    majority = majority_consensus(frame.task, frame.label_values)
    found = dawid_skene(frame.task, frame.label_values, frame.rater)
    sure = item_labels(found, frame.task, frame.label_values, frame.rater)
    same = [found.chosen[item] == label for item, label in majority.labels.items()]
    certain = found.posterior.max(axis=1)
    accuracies = [
        RaterAccuracy(frame.rater_names[int(str(pk))], float(value))
        for pk, value in found.accuracy.items()
        if int(str(pk)) not in slots
    ]
    return Consensus(
        labels=[float(str(label)) for label in found.labels],
        prevalence=found.prevalence,
        majority=[sum(chosen == label for chosen in majority.labels.values()) for label in found.labels],
        items=len(found.items),
        tied=len(majority.tied),
        alone=majority.alone,
        same_as_majority=float(np.mean(same)) if same else None,
        certain=float((certain >= 0.95).mean()),
        iterations=found.iterations,
        raters=sorted(accuracies, key=lambda row: (row.accuracy, row.rater)),
        tasks=_task_labels(sure.items[:MOST_TASKS]),
        split=sum(one.split for one in sure.items),
        raters_needed=sure.raters_needed,
    )


def _task_labels(found: Sequence[ItemLabel]) -> list[TaskLabel]:
    pks = [int(str(one.item)) for one in found]
    public = dict(Task.objects.filter(pk__in=pks).values_list("pk", "public_id"))
    return [
        TaskLabel(
            public[pk],
            float(str(one.label)),
            one.probability,
            one.low,
            one.high,
            one.answers,
            one.first,
            one.second,
            one.p,
            one.split,
        )
        for pk, one in zip(pks, found, strict=True)
    ]
