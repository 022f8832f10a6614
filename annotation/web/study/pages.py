"""Pages for creating and running a study: new study, guideline, state and history."""

from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Membership, User
from accounts.permissions import results_page, workspaces_led_by
from annotation.models import Guideline, Study
from annotation.studies.access import study_led_by
from annotation.studies.fitting import begin_with_rubric
from annotation.studies.guidelines import save_guideline
from annotation.studies.history import EventLine, event_lines, events_of
from annotation.studies.life_cycle import StudyRefused, create_study, set_status
from annotation.studies.provenance import provenance_of
from annotation.texts.rendering import render_text
from annotation.web.study.new_study import NewStudyForm
from annotation.web.study.texts import GuidelineForm
from core.errors import UserError
from core.messages.rendering import for_reader

EVENTS_A_PAGE = 100


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_study(request: HttpRequest) -> HttpResponse:
    """Create a study. All other settings are on the setup page."""
    user = _user(request)
    workspaces = workspaces_led_by(user)
    if not workspaces.exists():
        raise Http404
    form = NewStudyForm(workspaces, request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            study = create_study(
                workspace=data["workspace"], names=form.names(), kind=data["kind"], benchmark=data["benchmark"], by=user
            )
        except StudyRefused as problem:
            form.add_error("name_en", for_reader(problem))
        else:
            begin_with_rubric(study, by=user)
            return redirect("annotation:setup", study)
    status = 422 if request.method == "POST" else 200
    return render(request, "annotation/new_study.html", {"form": form}, status=status)


@results_page
@require_POST
def change_status(request: HttpRequest, slug: str) -> HttpResponse:
    """Open or pause a launched study; closing it is asked for on a page of its own."""
    study = study_led_by(_user(request), slug)
    if request.POST.get("status") == Study.Status.CLOSED:
        return redirect("annotation:close_study", study)
    try:
        set_status(study, str(request.POST.get("status", "")), by=_user(request))
    except StudyRefused as problem:
        messages.error(request, for_reader(problem))
    return redirect("annotation:desk", study)


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def edit_guideline(request: HttpRequest, slug: str) -> HttpResponse:
    """Edit the guideline beside its preview. A changed text is saved as a new version."""
    study = study_led_by(_user(request), slug)
    texts = study.guideline.texts if study.guideline else {}
    initial = {"text_en": texts.get("en", ""), "text_zh": texts.get("zh-hans", "")}
    form = GuidelineForm(request.POST or None, initial=initial)
    status = 200
    if request.method == "POST":
        if form.is_valid() and request.POST.get("do") != "preview":
            try:
                save_guideline(study, form.texts(), by=_user(request))
            except UserError as refused:
                messages.error(request, for_reader(refused))
                study, status = study_led_by(_user(request), slug), 409
            else:
                messages.success(request, _("Saved as %(version)s.") % {"version": study.guideline})
                return redirect("annotation:edit_guideline", study)
        elif not form.is_valid():
            status = 422
    shown = [
        (language, render_text(str(form[name].value() or "")))
        for language, name in (("en", "text_en"), ("zh-hans", "text_zh"))
    ]
    context = {"study": study, "can_lead": True, "form": form, "shown": shown, "versions": _versions(study)}
    part = getattr(request, "htmx", False)
    template = "annotation/edit_guideline.html#preview" if part else "annotation/edit_guideline.html"
    return render(request, template, context, status=200 if part else status)


def _versions(study: Study) -> QuerySet[Guideline]:
    if study.guideline is None:
        return Guideline.objects.none()
    return Guideline.objects.filter(workspace=study.workspace_id, key=study.guideline.key).order_by("-version")


@results_page
@never_cache
@require_safe
def history(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who did what in the study, latest first."""
    study = study_led_by(_user(request), slug)
    page = Paginator(events_of(study), EVENTS_A_PAGE).get_page(request.GET.get("page"))
    lines: list[EventLine] = event_lines(study, list(page.object_list))
    context = {"study": study, "can_lead": True, "provenance": provenance_of(study), "page": page, "lines": lines}
    owners = study.workspace.memberships.filter(user=_user(request), role=Membership.Role.OWNER)
    context["owns"] = owners.exists()
    return render(request, "annotation/history.html", context)
