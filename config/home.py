"""The home page: a rater's studies and checklists, and a lead's studies with the runs in progress."""

from typing import cast

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import workspaces_led_by
from annotation.authoring.access import checklists_to_work_on
from annotation.monitoring.progress import study_rows
from annotation.recruitment.participation import participations
from annotation.studies.access import studies_listed
from config.home_changes import changes_since, note_visit, waiting_in
from generation.execution.progress import with_counts
from judging.models import JudgeRun, PlannedItem
from judging.runs.access import runs_read_by
from judging.web.monitoring.pages import flagged_watches
from judging.web.study_steps import steps_of

MOST_STUDIES = 8


def runs_in_progress(user: User) -> QuerySet[JudgeRun]:
    """Return the unfinished runs with their `items` and `done` counts; runs one query."""
    status = JudgeRun.Status
    going = runs_read_by(user).filter(status__in=[status.PLANNED, status.RUNNING, status.PAUSED])
    runs = going.select_related("study__workspace", "judge__rater")
    return with_counts(runs, PlannedItem.objects.all(), PlannedItem.Status.WAITING)


@login_required
@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    studies = list(studies_listed(user)[: MOST_STUDIES + 1])
    to_rate = participations(user)
    if studies:  # a reader of results finds the other studies below, each with its own link to rate
        to_rate = [participation for participation in to_rate if participation.submitted or participation.has_open]
    shown = studies[:MOST_STUDIES]
    steps = steps_of(shown) if shown else {}
    rows = study_rows(shown) if shown else []
    context = {
        "participations": to_rate,
        "rows": [(row, steps[row.study.pk]) for row in rows],
        "more_studies": len(studies) > MOST_STUDIES,
        "runs": list(runs_in_progress(user)) if studies else [],
        "checklists": checklists_to_work_on(user),
        "waiting": waiting_in(shown) if shown else [],
        "changes": changes_since(user, note_visit(user, timezone.now())) if shown else [],
        "watches": flagged_watches(user) if studies else [],
        "to_begin_in": [] if studies else list(workspaces_led_by(user)),
    }
    return render(request, "home.html", context)
