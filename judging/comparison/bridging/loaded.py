"""Verdicts that came from files, without a run of ours, as one side of a bridge: often all that a retired judge left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.db.models import Count, Q, QuerySet

from accounts.models import User, Workspace
from accounts.permissions import workspaces_read_by
from annotation.models import Assignment, Rater, Study, Task
from core.errors import UserError
from core.messages.message import Wording
from judging.comparison.run_pairs import Place, Said, said_by, said_in
from judging.models import JudgeRun
from judging.runs.access import run_read_by

NO_RUN_NOR_JUDGE = Wording(
    "bridge_no_run_nor_judge",
    "There is no judge run %(name)s here, and no judge of this name whose verdicts came from a file. Give the id of a run, "
    "or the name of one of these judges: %(known)s.",
)


@dataclass(frozen=True)
class LoadedVerdicts:
    """Verdicts of `judge` on `n` tasks about single responses of `study`, which no run of ours gave."""

    judge: Rater
    study: Study
    n: int

    @property
    def public_id(self) -> str:
        """What addresses name it by: the judge's id and the study's."""
        return f"{self.judge.public_id}.{self.study.public_id}"


Scores: TypeAlias = JudgeRun | LoadedVerdicts
"""A side of a bridge: a judge's run, or verdicts that came from files."""


def rater_of(scores: Scores) -> Rater:
    return scores.judge.rater if isinstance(scores, JudgeRun) else scores.judge


def said_of(scores: Scores) -> dict[Place, Said]:
    """Return what the judge says of each response; several answers to one count as their mean."""
    if isinstance(scores, JudgeRun):
        return said_by(scores)
    return said_in(_loaded().filter(rater=scores.judge, task__study=scores.study).order_by("pk"), "scores")


def loaded_in(workspaces: Iterable[Workspace], near: Study | None = None) -> list[LoadedVerdicts]:
    """Return the verdicts from files by judge and study, those in the study `near` and then the most of them first.

    With `near` only those on responses of the study or its benchmark. Two queries.
    """
    answers = _loaded().filter(task__study__workspace__in=list(workspaces))
    if near is not None:
        same = Q(task__study=near)
        if near.benchmark_id is not None:
            same |= Q(task__study__benchmark=near.benchmark_id, task__study__workspace=near.workspace_id)
        answers = answers.filter(same)
    rows = list(answers.order_by().values_list("rater", "task__study").annotate(n=Count("task", distinct=True)))
    raters = Rater.objects.in_bulk({rater for rater, _study, _n in rows})
    studies = Study.objects.select_related("workspace", "benchmark").in_bulk({study for _rater, study, _n in rows})
    found = [LoadedVerdicts(raters[rater], studies[study], n) for rater, study, n in rows]
    return sorted(found, key=lambda one: (one.study != near, -one.n, one.judge.name, one.study.pk))


def loaded_named(found: Sequence[LoadedVerdicts], name: str) -> LoadedVerdicts:
    """Return the first of a judge with this name or id, or with the id of exactly these verdicts. Raises UserError."""
    for one in found:
        if name in (one.public_id, one.judge.public_id, one.judge.label):
            return one
    known = sorted({one.judge.name for one in found})
    raise UserError(NO_RUN_NOR_JUDGE(name=repr(name[:200]), known=", ".join(known) or "–"))


def scores_read_by(user: User, public_id: str, *, message: str = "") -> Scores:
    """Return the run, or the verdicts from a file, of this id; 404 for anybody who may not see them."""
    _judge, _dot, study = public_id.partition(".")
    workspaces = workspaces_read_by(user).filter(studies__public_id=study) if study else []
    found = next((one for one in loaded_in(workspaces) if one.public_id == public_id), None) if study else None
    return found or run_read_by(user, public_id, message=message)


def _loaded() -> QuerySet[Assignment]:
    return Assignment.objects.verdicts().believed().filter(task__kind=Task.Kind.SINGLE, planned_items=None)
