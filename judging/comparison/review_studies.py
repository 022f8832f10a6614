"""Studies in which people review a run's verdicts: drawn, launched, and shown without the judge or the model."""

import random
from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from annotation.models import Assignment, Criterion, Score, Study
from annotation.policies.policies import change_policies
from annotation.studies.life_cycle import create_study, prepare_and_open, request_launch
from calibration.statistics.design.spread_sample import Marks, spread_sample
from core.errors import UserError
from judging.models import JudgeRun
from judging.runs.aggregation import is_panel

SAMPLE = 200
REVIEWERS = 3
LARGEST_SAMPLE, MOST_PEOPLE = 5_000, 50
"""What may be asked for, of reviews and of checks."""
LEVELS = 5
DRAWN_FIRST = 4_000
"""Of a large run, how many verdicts are drawn at random before the sample is spread over what they are about."""


class NothingToReview(UserError):
    """The run has no verdict yet."""


def verdicts_of_run(run: JudgeRun) -> QuerySet[Assignment]:
    """The answers that the run gave: its judge's own, or those that its jury's or its repeats' come to."""
    asked = run.items.filter(canary="")
    if is_panel(run):
        derived = Assignment.objects.filter(rater=run.judge.rater, status=Assignment.Status.DERIVED)
        return derived.filter(task__in=asked.values("task"))
    given = Assignment.objects.filter(status=Assignment.Status.SUBMITTED, repeat=0)
    return given.filter(pk__in=asked.filter(assignment__isnull=False).values("assignment"))


def drawn_verdicts(run: JudgeRun, sample: int, *, seed: int) -> list[int]:
    """Ids of verdicts, spread over models, categories and how good the judge found the response."""
    pks = list(verdicts_of_run(run).order_by("pk").values_list("pk", flat=True))
    if len(pks) > DRAWN_FIRST:
        pks = sorted(random.Random(seed).sample(pks, max(DRAWN_FIRST, sample)))
    return spread_sample(_marks(pks), sample, seed=seed)


def _marks(pks: Sequence[int]) -> dict[int, Marks]:
    """Of each verdict: the model that wrote response A, the category, and the fifth of its scale, 0 to 4."""
    found: dict[int, Marks] = {}
    for start in range(0, len(pks), 500):
        some = pks[start : start + 500]
        levels = _levels(some)
        for pk, model, category in Assignment.objects.filter(pk__in=some).values_list(
            "pk", "task__response_a__model", "task__response_a__instruction__category"
        ):
            found[pk] = (model, category, levels.get(pk, 0))
    return found


def _levels(pks: Sequence[int]) -> dict[int, int]:
    shares: dict[int, list[float]] = defaultdict(list)
    ends: dict[int, tuple[float, float]] = {}
    scores = Score.objects.filter(assignment__in=pks, value__isnull=False).order_by()
    rows = list(scores.values_list("assignment", "criterion", "value"))
    for criterion in Criterion.objects.filter(pk__in={row[1] for row in rows}):
        ends[criterion.pk] = criterion.ends
    for pk, criterion_pk, value in rows:
        low, high = ends[criterion_pk]
        shares[pk].append(((value or 0.0) - low) / (high - low))
    return {pk: min(LEVELS - 1, int(LEVELS * sum(own) / len(own))) for pk, own in shares.items()}


def make_review_study(
    run: JudgeRun, *, sample: int = SAMPLE, reviewers: int = REVIEWERS, seed: int = 0, by: User | None
) -> Study:
    """A study of `sample` of the run's verdicts, `reviewers` people each, opened where nothing stands against it.

    Its name says nothing of the judge, which reviewers are not to know. Raises NothingToReview, StudyRefused.
    """
    with transaction.atomic():
        verdicts = drawn_verdicts(run, sample, seed=seed)
        if not verdicts:
            raise NothingToReview(f"Run {run.public_id} has no verdicts yet; start the review when it has.")
        study = create_study(
            workspace=run.study.workspace,
            names={
                "en": f"Review of verdicts: {run.study.names.get('en') or run.study.slug}"[:150],
                "zh-hans": f"判断复核：{run.study.names.get('zh-hans') or run.study.name}"[:150],
            },
            kind=Study.Kind.REVIEW,
            benchmark=run.study.benchmark,
            by=by,
        )
        change_policies(study, overlap=reviewers, selection={"reviewed": run.study_id, "verdicts": verdicts})
        study.source = f"Verdicts of run {run.public_id}, seed {seed}"
        study.save(update_fields=["source"])
        request_launch(study, by=by)
    prepare_and_open(study)
    return study


def review_studies_of(run: JudgeRun) -> QuerySet[Study]:
    """Those made of this run's verdicts, newest first."""
    reviewed = Study.objects.filter(kind=Study.Kind.REVIEW, workspace=run.study.workspace)
    return reviewed.filter(source__contains=run.public_id).order_by("-created_at")
