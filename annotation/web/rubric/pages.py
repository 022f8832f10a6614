"""The page on which a lead writes the questions of a draft study."""

from typing import Any, cast

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Criterion, Rubric, Study
from annotation.policies.policies import Policies
from annotation.rubrics.from_table import own_key
from annotation.studies.access import study_led_by
from annotation.studies.life_cycle import StudyRefused, drop_unchosen, log_event
from annotation.studies.provenance import provenance_of
from annotation.web.rubric.forms import MOST_QUESTIONS, RubricForm, same_criteria


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def write_rubric(request: HttpRequest, slug: str) -> HttpResponse:
    """Edit the study's questions and their scales. Changed questions are saved as a new version."""
    study = study_led_by(cast(User, request.user), slug)
    fixed = study.status != Study.Status.DRAFT or bool(Policies.of(study).launching)
    if study.kind == Study.Kind.REVIEW:
        messages.info(request, _("A review study uses the judge's questions and has no rubric of its own."))
        return redirect("annotation:setup", study)
    form = RubricForm(study, request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST" and not fixed:
        if request.POST.get("do") == "more":
            form = RubricForm(study, _with_rows(request, len(form.rows) + 3))
        elif form.is_valid():
            save_rubric(study, form.criteria_fields(), by=cast(User, request.user))
            messages.success(request, _("The questions have been saved."))
            return redirect("annotation:write_rubric", study)
        else:
            status = 422
    context = {
        "study": study,
        "can_lead": True,
        "provenance": provenance_of(study),
        "form": form,
        "fixed": fixed,
        "most": MOST_QUESTIONS,
        "asks_now": request.method == "POST" and status == 422,
    }
    return render(request, "annotation/write_rubric.html", context, status=status)


def _with_rows(request: HttpRequest, rows: int) -> Any:
    data = request.POST.copy()
    data["rows"] = str(min(rows, MOST_QUESTIONS))
    return data


def save_rubric(study: Study, criteria: list[dict[str, Any]], *, by: User) -> Rubric:
    """Save the questions as the study's own rubric, as a new version if they changed, and drop outdated tasks.

    Raises StudyRefused.
    """
    before = study.rubric
    if before is not None and before.study_id == study.pk and same_criteria(before, criteria):
        return before
    for _attempt in range(5):
        versions = Rubric.objects.filter(workspace=study.workspace_id, key=own_key(study)).order_by("-version")
        latest = versions.first()
        try:
            with transaction.atomic():
                rubric = Rubric.objects.create(
                    workspace_id=study.workspace_id,
                    study=study,
                    key=own_key(study),
                    names=study.names,
                    version=latest.version + 1 if latest else 1,
                )
                Criterion.objects.bulk_create(Criterion(rubric=rubric, **fields) for fields in criteria)
                study.rubric = rubric
                study.save(update_fields=["rubric"])
                log_event(
                    study,
                    by,
                    "change_rubric",
                    before={"rubric": str(before or "")},
                    after={"rubric": str(rubric), "questions": [one["key"] for one in criteria]},
                )
        except IntegrityError:  # saved at the same moment by somebody else
            continue
        if study.tasks.exists():
            drop_unchosen(study)
        return rubric
    raise StudyRefused(_("Someone else is changing the rubric. Try again."))
