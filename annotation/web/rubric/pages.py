"""The page on which a lead writes the questions of a draft study."""

from typing import Any, cast

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by
from annotation.models import Criterion, Rubric, Study
from annotation.policies.policies import Policies
from annotation.rubrics.from_table import own_key
from annotation.rubrics.offered_scales import OFFERS
from annotation.rubrics.question_table import TableRead
from annotation.studies.access import study_led_by
from annotation.studies.life_cycle import StudyRefused, drop_unchosen, log_event
from annotation.studies.provenance import provenance_of
from annotation.studies.selection import fitting_rubrics, planned_tasks
from annotation.web.rubric import editing
from annotation.web.rubric.forms import MOST_QUESTIONS, RubricForm, same_criteria
from core.web.access import visible_or_404
from core.web.uploaded_files import takes_files

MOST_OFFERED = 200


def _leads(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and workspaces_led_by(request.user).exists()


@takes_files(_leads)
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
    table: TableRead | None = None
    moved_to = ""
    if request.method == "POST" and not fixed:
        do, _sep, place = request.POST.get("do", "").partition("-")
        edited, table, moved_to = _edited(
            request, study, do, int(place) if place.isdecimal() and len(place) < 4 else -1
        )
        if edited is not None:
            form = RubricForm(study, edited)
        elif do == "more":
            form = RubricForm(study, _with_rows(request, len(form.rows) + 3))
        elif form.is_valid():
            save_rubric(study, form.criteria_fields(), by=cast(User, request.user))
            if do == "preview" and planned_tasks(study).tasks:
                return redirect("annotation:preview_rate", 1, study.public_id)
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
        "library": [] if fixed else list(fitting_rubrics(study).filter(study=None)[:MOST_OFFERED]),
        "offers": [(name, title) for name, title, _role in OFFERS[Study.Kind(study.kind)]],
        "table": table,
        "moved_to": moved_to,
        "asks_now": request.method == "POST" and status == 422,
    }
    return render(request, "annotation/write_rubric.html", context, status=status)


def _edited(request: HttpRequest, study: Study, do: str, place: int) -> tuple[QueryDict | None, TableRead | None, str]:
    """What a button makes of the rows that were sent, without saving: the rows or None, a table read, the button to keep."""
    match do:
        case "up" | "down":
            by = -1 if do == "up" else 1
            return editing.moved(request.POST, place, by), None, f"{do}-{place + by}"
        case "drop":
            return editing.without(request.POST, place), None, ""
        case "copy":
            wanted = request.POST.get("copy_from", "")
            found = fitting_rubrics(study).filter(pk=int(wanted)) if wanted.isdecimal() and len(wanted) < 19 else None
            rubric = visible_or_404(found) if found is not None else None
            if rubric is None:
                return request.POST.copy(), None, ""
            return editing.of_rubric(request.POST, study, rubric.criteria.all(), rubric.pk), None, ""
        case "import":
            sent = request.FILES.get("table")
            if sent is None or (sent.size or 0) > editing.LARGEST_TABLE:
                told = _("Choose a table of at most 1 MB.")
                return request.POST.copy(), TableRead(bad=[(0, told)]), ""
            table = editing.questions_of_file(sent, study.kind)
            return editing.with_questions(request.POST, table.questions), table, ""
    return None, None, ""


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
