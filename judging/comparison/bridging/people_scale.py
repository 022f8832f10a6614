"""Two judges put on people's scale, where people gave overall scores to responses of the same benchmark.

Then no judge's scale has to be carried on: each judge is calibrated to people by itself, and both state people's means.
"""

from dataclasses import dataclass

from django.db.models import Count

from annotation.models import Criterion, Rater, Score, Study
from calibration.reports.codec import stored
from calibration.reports.registry import Plain
from core.errors import UserError
from judging.comparison.bridging.loaded import Scores, rater_of
from judging.comparison.judge_against_people import weighting_for
from judging.comparison.unrated_models import UnratedModels, unrated_models
from judging.models import JudgeRun


@dataclass(frozen=True)
class JudgeOnPeople:
    """A judge's calibration to people, or the error that says why there is none."""

    judge: str
    found: UnratedModels | None
    refusal: UserError | None


@dataclass(frozen=True)
class PeoplesScale:
    """Both judges on the scale of the overall scores of `study`."""

    study: Study
    old: JudgeOnPeople
    new: JudgeOnPeople

    @property
    def both(self) -> bool:
        return self.old.found is not None and self.new.found is not None


def peoples_scale(old: Scores, new: JudgeRun) -> PeoplesScale | None:
    """Return both judges on people's scale; None where nobody gave an overall score to the benchmark's responses."""
    study = _rated_study(new.study)
    if study is None:
        return None
    return PeoplesScale(study, _calibrated(study, rater_of(old)), _calibrated(study, rater_of(new)))


def _rated_study(near: Study) -> Study | None:
    """Return the study with the most overall scores of people among those of the benchmark."""
    if near.benchmark_id is None:
        return None
    of_people = Score.objects.filter(
        criterion__role=Criterion.Role.OVERALL,
        assignment__task__study__benchmark=near.benchmark_id,
        assignment__task__study__workspace=near.workspace_id,
        assignment__task__gold__isnull=True,
        assignment__task__drawing_probability__isnull=True,
        assignment__rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT],
    )
    counted = of_people.order_by().values_list("assignment__task__study").annotate(n=Count("pk"))
    counts = dict(counted)
    if not counts:
        return None
    most = max(counts, key=lambda pk: (counts[pk], -pk))
    return Study.objects.select_related("workspace", "benchmark").get(pk=most)


def _calibrated(study: Study, judge: Rater) -> JudgeOnPeople:
    try:
        return JudgeOnPeople(judge.name, unrated_models(study, judge, weighting_for(study)), None)
    except UserError as error:
        return JudgeOnPeople(judge.name, None, error)


def people_json(found: PeoplesScale | None) -> Plain | None:
    """Return both as JSON values: what the command and the API state beside the bridge."""
    if found is None:
        return None
    judges = {"old": found.old, "new": found.new}
    return {
        "study": found.study.slug,
        **{
            name: stored(one.found) if one.found else {"judge": one.judge, "reason": str(one.refusal)}
            for name, one in judges.items()
        },
    }
