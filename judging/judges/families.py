"""The family of models that each judge of a study belongs to, as far as it is known."""

from django.db.models import QuerySet

from annotation.models import Assignment, Rater, Study
from calibration.reports.judges import judges_beside
from generation.models import LanguageModel
from judging.models import Judge


def judge_families(study: Study, beside: QuerySet[Assignment] | None = None) -> dict[str, str]:
    """Return the family of each judge's model by the judge's public id; for an imported judge, that of the model with
    the same name. `beside` are the answers of judges_beside, if they are known.
    """
    answers = judges_beside(study) if beside is None else beside
    raters = list(Rater.objects.filter(pk__in=answers.values("rater")).order_by("pk").values_list("public_id", "label"))
    own = Judge.objects.filter(rater__public_id__in=[public_id for public_id, _label in raters])
    found = dict(own.exclude(language_model=None).values_list("rater__public_id", "language_model__family"))
    models = LanguageModel.objects.filter(workspace=study.workspace_id, name__in={label for _id, label in raters})
    named = dict(models.values_list("name", "family"))
    for public_id, label in raters:
        found.setdefault(public_id, named.get(label, ""))
    return {public_id: family for public_id, family in sorted(found.items()) if family}
