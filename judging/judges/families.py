"""The family of models that each judge of a study belongs to, as far as it is known."""

from annotation.models import Rater, Study
from calibration.reports.judges import judges_beside
from generation.models import LanguageModel
from judging.models import Judge


def judge_families(study: Study) -> dict[str, str]:
    """Return the family of each judge's model by the judge's public id; for an imported judge, that of the model with
    the same name.
    """
    raters = Rater.objects.filter(pk__in=judges_beside(study).values("rater"))
    own = Judge.objects.filter(rater__in=raters, language_model__isnull=False)
    found = dict(own.values_list("rater__public_id", "language_model__family"))
    named = dict(
        LanguageModel.objects.filter(workspace=study.workspace, name__in=raters.values("label")).values_list(
            "name", "family"
        )
    )
    for public_id, label in raters.order_by("pk").values_list("public_id", "label"):
        found.setdefault(public_id, named.get(label, ""))
    return {public_id: family for public_id, family in sorted(found.items()) if family}
