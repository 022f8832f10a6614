"""Judge's instruction checks drawn at random for people, and how far people agree with the judge about them.

LongGenBench had 500 checked by hand (arXiv 2409.02076, 2.4). People see the part and the question, not the verdict.
"""

import random
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from annotation.models import Assignment, Rater, Score, Study, Task
from annotation.policies.policies import Selection, change_policies
from annotation.studies.life_cycle import create_study, prepare_and_open, request_launch
from calibration.data.frames import NothingToRead
from calibration.data.scores import score_frame
from calibration.statistics.agreement.kappas import Kappa, cohen_kappa
from calibration.statistics.agreement.proportions import Proportion, clustered_proportions
from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import BoolArray, IntArray
from core.errors import UserError
from judging.comparison.review_studies import verdicts_of_run
from judging.models import JudgeRun

SAMPLE = 500
RATERS = 1
DRAWS = 1000
ALL = "all"


class NothingToCheck(UserError):
    """The run is not of instruction checks, or it has no verdict yet."""


class NotDrawn(UserError):
    """The study was not drawn from a judge's checks."""


def make_check_study(
    run: JudgeRun, *, sample: int = SAMPLE, raters: int = RATERS, seed: int = 0, by: User | None
) -> Study:
    """Draw `sample` of the run's checks at random and open a study that asks `raters` people each.

    Every verdict has the same chance, so that the agreement is an estimate for all of them. Raises NothingToCheck,
    StudyRefused.
    """
    if run.study.kind != Study.Kind.CHECK:
        raise NothingToCheck(
            f"Run {run.public_id} is about study {run.study.slug}, which has no instruction checks; name a run about a "
            "study of instruction checks, or have its verdicts reviewed on the run's page."
        )
    verdicts = list(verdicts_of_run(run).order_by("pk").values_list("pk", flat=True))
    if not verdicts:
        raise NothingToCheck(f"Run {run.public_id} has no verdicts yet; draw the checks when it has.")
    drawn = sorted(random.Random(seed).sample(verdicts, min(sample, len(verdicts))))  # nosec B311 # a sample
    with transaction.atomic():
        study = create_study(
            workspace=run.study.workspace,
            names={
                "en": f"Checks by people: {run.study.names.get('en') or run.study.slug}"[:150],
                "zh-hans": f"人工检查：{run.study.names.get('zh-hans') or run.study.name}"[:150],
            },
            kind=Study.Kind.CHECK,
            benchmark=run.study.benchmark,
            by=by,
        )
        study.experiment = run.study.experiment
        study.source = f"Checks of run {run.public_id}, seed {seed}"
        study.save(update_fields=["experiment", "source"])
        change_policies(study, overlap=raters, selection={"reviewed": run.study_id, "verdicts": drawn})
        request_launch(study, by=by)
    prepare_and_open(study)
    study.refresh_from_db()
    return study


def check_studies_of(run: JudgeRun) -> QuerySet[Study]:
    """Return the studies drawn from this run's checks, newest first."""
    drawn = Study.objects.filter(kind=Study.Kind.CHECK, workspace=run.study.workspace)
    return drawn.filter(source__startswith=f"Checks of run {run.public_id},").order_by("-created_at")


@dataclass(frozen=True)
class Table:
    """Counts of checks with a yes from people and the judge, from the judge alone, from people alone, and from neither."""

    both: int
    judge_only: int
    people_only: int
    neither: int


@dataclass(frozen=True)
class CheckAgreement:
    """`agreement` and `tables` are by kind of check, with ALL for all of them; `kappa` is Cohen's, None without one.

    A check counts if people have answered it; several people's answers count by their majority. `even` are those on
    which they are divided, `waiting` those that nobody has answered. `judge_scripted`: the judge's verdicts are drawn.
    """

    judge: str
    drawn: int
    waiting: int
    even: int
    people: int
    agreement: Mapping[str, Proportion]
    tables: Mapping[str, Table]
    kappa: Kappa | None
    judge_scripted: bool = False


def check_agreement(study: Study, *, draws: int = DRAWS, seed: int = 0) -> CheckAgreement:
    """Return people's agreement with the judge on a study that make_check_study drew, intervals over instructions.

    Raises NotDrawn, NothingToRead.
    """
    verdicts = Selection.of(study).verdicts
    if study.kind != Study.Kind.CHECK or not verdicts:
        raise NotDrawn(
            f"Study {study.slug} was not drawn from a judge's checks; draw one on the page of the judge's run."
        )
    rater, said = _verdicts(verdicts)
    tasks = {row.pk: row for row in Task.objects.filter(study=study, gold__isnull=True).select_related("response_a")}
    frame = score_frame(kinds=[Task.Kind.CHECK], study=study, judges=False, experiment=None)
    shares: dict[int, list[float]] = {}
    for task, value in zip(frame.task.tolist(), frame.value.tolist(), strict=True):
        if task in tasks:
            shares.setdefault(task, []).append(value)
    mean = {task: sum(values) / len(values) for task, values in shares.items()}
    decided = [pk for pk in sorted(mean) if mean[pk] != 0.5 and tasks[pk].key in said]
    if not decided:
        raise NothingToRead(f"Nobody has answered the checks of study {study.slug} yet, so there is no agreement.")
    people = np.array([mean[pk] > 0.5 for pk in decided], dtype=np.int64)
    judged = np.array([said[tasks[pk].key] for pk in decided], dtype=np.int64)
    kinds = [str((tasks[pk].part or {}).get("kind") or "whole") for pk in decided]
    clusters = np.array([tasks[pk].response_a.instruction_id for pk in decided], dtype=np.int64)
    return CheckAgreement(
        judge=rater.name if rater else "",
        drawn=len(tasks),
        waiting=len(tasks) - len(mean),
        even=sum(value == 0.5 for value in mean.values()),
        people=len(np.unique(frame.rater)),
        agreement=_by_kind(people == judged, kinds, clusters),
        tables={kind: _table(people, judged, kinds, kind) for kind in (ALL, *sorted(set(kinds)))},
        kappa=_kappa(people, judged, clusters, draws, seed),
        judge_scripted=rater is not None and rater.provenance == Rater.Provenance.SCRIPTED,
    )


def agreement_so_far(study: Study) -> Proportion | None:
    """Return the share of drawn checks on which people agree with the judge; None while nobody has answered."""
    try:
        return check_agreement(study, draws=0).agreement[ALL]
    except (NothingToRead, NotDrawn):
        return None


def _verdicts(pks: tuple[int, ...]) -> tuple[Rater | None, dict[str, bool]]:
    """Return the judge and its answer to each check, by the key of its task."""
    said: dict[str, bool] = {}
    for start in range(0, len(pks), 500):
        some = pks[start : start + 500]
        scores = Score.objects.filter(assignment__in=some, value__isnull=False).order_by("revision")
        for key, value in scores.values_list("assignment__task__key", "value"):
            said[key] = (value or 0.0) >= 0.5
    first = Assignment.objects.filter(pk__in=pks[:1]).select_related("rater").first()
    return first.rater if first else None, said


def _by_kind(equal: BoolArray, kinds: list[str], clusters: IntArray) -> dict[str, Proportion]:
    whole: dict[Hashable, Proportion] = clustered_proportions(equal, [ALL] * len(kinds), clusters)
    return {str(kind): share for kind, share in (whole | clustered_proportions(equal, kinds, clusters)).items()}


def _table(people: IntArray, judged: IntArray, kinds: list[str], kind: str) -> Table:
    mine = np.array([kind in (ALL, own) for own in kinds])
    yes, theirs = people[mine] == 1, judged[mine] == 1
    return Table(
        both=int((yes & theirs).sum()),
        judge_only=int((~yes & theirs).sum()),
        people_only=int((yes & ~theirs).sum()),
        neither=int((~yes & ~theirs).sum()),
    )


def _kappa(people: IntArray, judged: IntArray, clusters: IntArray, draws: int, seed: int) -> Kappa | None:
    try:
        return cohen_kappa(people, judged, draws=draws, seed=seed, clusters=clusters)
    except NoStatistic:
        return None
