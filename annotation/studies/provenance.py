"""Whether the results on a page come from real raters and judges or from simulated and scripted ones."""

from django.db.models import Exists, OuterRef, Q

from annotation.models import Assignment, Rater, Study


def provenance_of(study: Study) -> list[str]:
    """'simulated' and 'scripted' if raters of that provenance answered in the study, sorted. One query."""
    answered = Assignment.objects.filter(rater=OuterRef("pk"), task__study=study)
    raters = Rater.objects.filter(
        Q(study=study) | Q(study=None, workspace=study.workspace_id), Exists(answered)
    ).exclude(provenance="")
    return sorted(set(raters.order_by().values_list("provenance", flat=True)))
