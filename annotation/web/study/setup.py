"""The setup of a study in five steps, each with its own save, and its launch. Settings on which ratings depend are fixed at
launch."""

from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.masking.scan import is_decided, undecided
from annotation.models import Questionnaire, Study
from annotation.policies.policies import Policies, change_policies
from annotation.questionnaires.asking import current
from annotation.studies.access import study_led_by
from annotation.studies.fitting import unfitting_rubrics
from annotation.studies.life_cycle import (
    StudyRefused,
    is_large,
    log_event,
    prepare_and_open,
    request_launch,
    save_study,
    settings_of,
)
from annotation.studies.provenance import provenance_of
from annotation.web.study.forms import StudyForm
from annotation.web.study.setup_review import review_of, step_url
from annotation.web.study.setup_steps import BY_KEY, CHECKS, QUESTIONS, REVIEW, STEPS, Step, folds_of, shown_fields
from core.background import send_after_commit
from core.messages.rendering import for_reader


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


def launch_progress(study: Study) -> dict[str, Any]:
    """Progress of a launch: tasks created and planned; {} if no launch is running."""
    wanted = Policies.of(study).launching
    if study.status != Study.Status.DRAFT or not wanted:
        return {}
    made = study.tasks.filter(gold__isnull=True).count()
    return {"made": made, "wanted": wanted, "seats": made >= wanted}


def _step_asked(request: HttpRequest, study: Study) -> Step:
    """The step of ?step=; without it the review where a launch is under way or was refused, else the first."""
    policies = Policies.of(study)
    begun = study.status == Study.Status.DRAFT and (policies.launching or policies.refused)
    return BY_KEY.get(request.GET.get("step", ""), BY_KEY[REVIEW] if begun else STEPS[0])


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest, slug: str) -> HttpResponse:
    """Show and save a step of a study's setup beside its plan; a form sent without ?step= has the settings of all steps."""
    study = study_led_by(_user(request), slug)
    step = _step_asked(request, study)
    before = settings_of(study)
    whole = "step" not in request.GET
    form = StudyForm(study, request.POST or None, step=None if whole and request.POST else step)
    if request.method == "POST" and form.is_valid():
        form.apply()
        save_study(study, by=_user(request), before=before)
        return _after_saving(request, study, None if whole else step)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": True,
        "form": form,
        "step": step,
        "steps": STEPS,
        "next": _following(step),
        "fields": shown_fields(form, step, study),
        "folds": list(folds_of(form, step, study)),
        "launch": launch_progress(study),
        "refused": for_reader(Policies.of(study).refused),
        "naming": undecided(study),
        "is_draft": study.status == Study.Status.DRAFT,
    }
    if step.key == CHECKS:
        context["asked"] = _asked_in_words(study)
    if step.key == REVIEW and context["is_draft"]:
        context["review"] = review_of(study)
    if step.key == QUESTIONS and study.kind != Study.Kind.REVIEW:
        context |= {
            "unfitting": unfitting_rubrics(study),
            "criteria": list(study.rubric.criteria.all()) if study.rubric else [],
        }
    status = 422 if request.method == "POST" else 200
    return render(request, "annotation/setup.html", context, status=status)


def _asked_in_words(study: Study) -> str:
    """What the questionnaires ask raters now, in one line."""
    before, after = (current(study, moment) for moment in Questionnaire.Moment.values)
    if before is None and after is None:
        return _("Raters are not asked about themselves.")
    told = _("Questions before the first task: %(before)s; after the last one: %(after)s.")
    return told % {"before": len(before.questions) if before else 0, "after": len(after.questions) if after else 0}


def _following(step: Step) -> Step | None:
    place = STEPS.index(step) + 1
    return STEPS[place] if place < len(STEPS) else None


def _after_saving(request: HttpRequest, study: Study, step: Step | None) -> HttpResponse:
    """Do what the button says after the settings of a step, or of all, are saved."""
    match request.POST.get("do"):
        case "launch":
            _mask_if_asked(request, study)
            return _launched(request, study)
        case "preview":
            return redirect("annotation:preview", study)
        case "next" if step is not None and (following := _following(step)):
            return redirect(step_url(study, following.key))
    messages.success(request, _("Saved."))
    return redirect(step_url(study, step.key)) if step else redirect("annotation:setup", study)


def _mask_if_asked(request: HttpRequest, study: Study) -> None:
    """Mask the words by which responses say which model wrote them, if the lead launches with this choice."""
    if request.POST.get("mask_self_naming") and study.status == Study.Status.DRAFT and not is_decided(study):
        change_policies(study, mask_self_naming=True)
        log_event(
            study,
            _user(request),
            "mask_response",
            before={"masked": False, "kept": False},
            after={"masked": True, "kept": False},
        )


@results_page
@never_cache
@require_safe
def launching(request: HttpRequest, slug: str) -> HttpResponse:
    """The part of the setup page that shows launch progress. When the launch is done, redirect to the dashboard."""
    study = study_led_by(_user(request), slug)
    progress = launch_progress(study)
    if not progress:
        return redirect("annotation:desk" if study.status != Study.Status.DRAFT else "annotation:setup", study)
    return render(request, "annotation/setup.html#launching", {"study": study, "launch": progress})


@results_page
@require_POST
def launch(request: HttpRequest, slug: str) -> HttpResponse:
    """Create the study's tasks and slots and open it: at once if the study is small, otherwise in a worker."""
    return _launched(request, study_led_by(_user(request), slug))


def _launched(request: HttpRequest, study: Study) -> HttpResponse:
    try:
        if not Policies.of(study).launching:
            request_launch(study, by=_user(request))
    except StudyRefused as problem:
        messages.error(request, for_reader(problem))
        return redirect("annotation:setup", study)
    if is_large(study):
        send_after_commit("annotation.launch", study.pk)
        return redirect("annotation:setup", study)
    prepare_and_open(study)
    if study.status == Study.Status.OPEN:
        messages.success(
            request, _("The study is open. Create a cohort to invite raters, or let members of the workspace rate.")
        )
        return redirect("annotation:desk", study)
    return redirect("annotation:setup", study)
