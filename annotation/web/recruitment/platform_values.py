"""The page with what a lead enters at Prolific or MTurk."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Cohort
from annotation.recruitment.platform_values import mturk_values, prolific_values
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of


@results_page
@never_cache
@require_safe
def platform_values(request: HttpRequest, slug: str, cohort_id: int) -> HttpResponse:
    """Show the values of a crowd cohort, each with a button that copies it."""
    study = study_led_by(cast(User, request.user), slug)
    cohort = get_object_or_404(study.cohorts.filter(kind=Cohort.Kind.CROWD), pk=cohort_id)
    address = request.build_absolute_uri(reverse("annotation:join", args=[cohort.entry_token]))
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "cohort": cohort,
        "platforms": [
            (key, name, [(f"{key}-{place}", one) for place, one in enumerate(values(study, cohort, address))])
            for key, name, values in (("prolific", "Prolific", prolific_values), ("mturk", "MTurk", mturk_values))
        ],
    }
    return render(request, "annotation/platform_values.html", context)
