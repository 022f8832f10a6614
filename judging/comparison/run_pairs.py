"""Two judge runs over the same responses, item by item: what each says in one number, and what moved between them."""

import json
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple, cast

import numpy as np
from django.core.cache import cache
from django.db.models import Avg, Q, QuerySet

from annotation.models import Study
from calibration.statistics.resampling import BoolArray, FloatArray, IntervalKind, cluster_intervals
from judging.models import JudgeRun, PlannedItem
from judging.runs.verdict_lists import ROLES

KEPT_SECONDS = 300
DRAWS = 1_000
DIGITS = 9
ALL, MOVED, HIGHER, LOWER, TURNED = "all", "moved", "higher", "lower", "turned"
SHOWN = (MOVED, HIGHER, LOWER, TURNED, ALL)
PREFERENCE = "preference"


class Moved(NamedTuple):
    """One response, or pair, with both runs' scores; `first` and `second` are pks of an item of each run."""

    first: int
    second: int
    instruction: int
    role: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return round(self.after - self.before, DIGITS)

    @property
    def turned(self) -> bool:
        """Whether a preference changed its side; a tie has none."""
        return self.role == PREFERENCE and self.before * self.after < 0


class MeanChange(NamedTuple):
    """The mean of second minus first over `n` responses of `clusters` instructions, which the interval resamples whole."""

    value: float
    low: float
    high: float
    kind: IntervalKind
    n: int
    clusters: int


@dataclass(frozen=True)
class RunPair:
    """`rows` in the order of the first run's plan. `first_only` and `second_only` count responses that the other run has
    no usable verdict of; `unlike` those of which the two answer no criterion of the same kind, or by another rubric.
    """

    rows: tuple[Moved, ...]
    mean: MeanChange | None
    first_only: int
    second_only: int
    unlike: int

    def shown(self, which: str) -> list[Moved]:
        """Return the rows that a filter shows; but for ALL, those that moved most stand first."""
        if which == ALL:
            return list(self.rows)
        kept = {
            MOVED: [row for row in self.rows if row.change],
            HIGHER: [row for row in self.rows if row.change > 0],
            LOWER: [row for row in self.rows if row.change < 0],
            TURNED: [row for row in self.rows if row.turned],
        }[which]
        return sorted(kept, key=lambda row: -abs(row.change))

    def counts(self) -> dict[str, int]:
        return {which: len(self.shown(which)) for which in SHOWN}


def runs_beside(run: JudgeRun, runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Return those of the runs that are over the same study or the same benchmark, but for the run itself, newest first."""
    return runs_near(run.study, runs).exclude(pk=run.pk)


def runs_near(study: Study, runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    """Return those of the runs that are over the study or its benchmark, newest first."""
    same = Q(study=study)
    if study.benchmark_id is not None:
        same |= Q(study__benchmark=study.benchmark_id, study__workspace=study.workspace_id)
    return runs.filter(same, watch=None, probes__isnull=True).order_by("-created_at", "-pk")


def run_pair(first: JudgeRun, second: JudgeRun) -> RunPair:
    """Return both runs' scores item by item, kept for some minutes because all scores are read."""
    scored = [run.items.filter(status=PlannedItem.Status.SCORED).count() for run in (first, second)]
    key = f"run-pair-{first.public_id}-{second.public_id}-{scored[0]}-{scored[1]}"
    known: RunPair | None = cache.get(key)
    if known is None:
        known = _compared(first, second)
        cache.set(key, known, KEPT_SECONDS)
    return known


class Said(NamedTuple):
    """What a run says of one response, or pair: the mean of its answers by role, as of its first `item` and its `task`.

    Of verdicts without a run, `item` is the answer.
    """

    item: int
    task: int
    instruction: int
    rubric: int
    turned: bool
    model: str
    category: str
    roles: dict[str, float]


Place = tuple[int, int, str]


def _compared(first: JudgeRun, second: JudgeRun) -> RunPair:
    before, after = said_by(first), said_by(second)
    rows, unlike = [], 0
    for place, one in before.items():
        other = after.get(place)
        if other is None:
            continue
        role = next((role for role in ROLES if role in one.roles and role in other.roles), None)
        if role is None or one.rubric != other.rubric:
            unlike += 1
            continue
        # A pair that is stored the other way round in another study says the opposite with the same sign.
        sign = -1 if role == PREFERENCE and one.turned != other.turned else 1
        rows.append(Moved(one.item, other.item, one.instruction, role, one.roles[role], sign * other.roles[role]))
    shared = len(rows) + unlike
    return RunPair(tuple(rows), _mean_change(rows), len(before) - shared, len(after) - shared, unlike)


def said_by(run: JudgeRun) -> dict[Place, Said]:
    """Return what the run says of each response, or pair in either order; several answers to one count as their mean."""
    items = run.items.filter(canary="", status=PlannedItem.Status.SCORED, assignment__isnull=False)
    return said_in(items.order_by("position", "pk"), "assignment__scores", "position")


def said_in(rows: QuerySet[Any], scores: str, *more: str) -> dict[Place, Said]:
    """Return what items or answers say of each response or pair, in their order; `scores` leads to the scores of a row.

    `more` are the columns by which the rows are ordered beside their keys.
    """
    means = {
        role: Avg(f"{scores}__value", filter=Q(**{f"{scores}__criterion__role__in": roles}))
        for role, roles in ROLES.items()
    }
    rows = rows.values(
        "pk",
        "task",
        "task__response_a",
        "task__response_b",
        "task__response_a__instruction",
        "task__response_a__model__name",
        "task__response_a__instruction__category__key",
        "task__part",
        "task__answer_rubric",
        *more,
    ).annotate(**means)
    values: dict[Place, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    about: dict[Place, dict[str, Any]] = {}
    for found in rows.iterator(5_000):
        row = cast(dict[str, Any], found)
        one, other = row["task__response_a"], row["task__response_b"] or 0
        part = json.dumps(row["task__part"], sort_keys=True) if row["task__part"] else ""
        place = (min(one, other), max(one, other), part) if other else (one, 0, part)
        about.setdefault(place, row)
        for role in ROLES:
            if row[role] is not None:
                values[place][role].append(row[role])
    return {
        place: Said(
            row["pk"],
            row["task"],
            row["task__response_a__instruction"],
            row["task__answer_rubric"],
            bool(place[1]) and row["task__response_a"] != place[0],
            row["task__response_a__model__name"] or "",
            row["task__response_a__instruction__category__key"] or "",
            {role: fmean(said) for role, said in values[place].items()},
        )
        for place, row in about.items()
        if values[place]
    }


def _mean_change(rows: list[Moved]) -> MeanChange | None:
    """None where nothing is shared, or where the answers are of several kinds, whose mean says nothing."""
    if not rows or len({row.role for row in rows}) > 1:
        return None
    names, place = np.unique([row.instruction for row in rows], return_inverse=True)
    changes = np.array([row.change for row in rows])
    sums = np.bincount(place, weights=changes, minlength=names.size)
    counts = np.bincount(place, minlength=names.size).astype(float)

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        return ((drawn @ sums) / (drawn @ counts))[:, None], np.ones(len(drawn), dtype=np.bool_)

    values, ends = cluster_intervals(statistic, int(names.size), draws=DRAWS, seed=0)
    return MeanChange(float(values[0]), float(ends.low[0]), float(ends.high[0]), ends.kind, len(rows), int(names.size))
