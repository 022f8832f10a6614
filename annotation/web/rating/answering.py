"""Views for rating tasks: starting, showing a task, answering or skipping it, and moving to the next."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from annotation.answers import recording
from annotation.answers.recording import AnswerRefused, NotOpen, Outcome, TaskRemoved, drafts_of
from annotation.assignment.leases import GIVEN
from annotation.assignment.next_task import StudyNotOpen, has_more, next_assignment
from annotation.assignment.no_slot import next_seat_for
from annotation.assignment.rater_progress import NoTaskLeft, TooFast, progress_of
from annotation.assignment.rater_status import is_stopped
from annotation.assignment.slots import NEEDS_NO_SEAT
from annotation.models import Assignment, Rater, Study
from annotation.policies.policies import Policies
from annotation.policies.quality_checks import TRAINING
from annotation.questionnaires.asking import AFTER, BEFORE, due_after, due_before, given_answers
from annotation.recruitment.participants import in_this_submission
from annotation.recruitment.participation import rater_for, rater_page, study_to_rate
from annotation.web.rating.forms import PREFIX, SkipForm
from annotation.web.rating.open_task import keep_seat, show_now
from annotation.web.rating.screens import screen_of
from annotation.web.rating.task_page import conditions_of, form_for, own_assignment, page_so_far, screen_page


@rater_page
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Claim the next task and show it; a GET request shows the rater's study page instead."""
    study = study_to_rate(request, slug)
    if request.method != "POST":
        return redirect("annotation:done", study)
    rater = rater_for(request, study)
    if study.status == Study.Status.OPEN and due_before(rater, study) and has_more(study, rater, clock=timezone.now):
        return redirect("annotation:questionnaire", study, BEFORE)
    return begin_work(request, study, rater)


def begin_work(request: HttpRequest, study: Study, rater: Rater) -> HttpResponse:
    """Claim the rater's next task and go to it, or to their own page of the study if there is none."""
    try:
        assignment, _progress = next_assignment(
            rater, study, clock=timezone.now, conditions=conditions_of(study, rater)
        )
    except (NoTaskLeft, StudyNotOpen) as reason:
        _tell(request, reason)
        return redirect("annotation:done", study)
    return redirect("annotation:rate", assignment.public_id)


@rater_page
@never_cache
def rate(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """One task: shown on GET, answered on POST."""
    assignment = own_assignment(request, assignment_id)
    if request.method == "POST":
        return _answer(request, assignment)
    if assignment.status == Assignment.Status.SKIPPED:
        messages.info(request, _("You skipped that task, so it went to another rater."))
        return redirect("annotation:done", assignment.task.study)
    if assignment.status == Assignment.Status.OPEN:
        keep_seat(assignment)
    progress = progress_of(assignment.rater)
    return page_so_far(request, assignment, progress=progress, previous=_previous(assignment))


def _previous(assignment: Assignment) -> str:
    """The public id of the rater's previous answer, to go back to; '' if there is none."""
    if assignment.status != Assignment.Status.OPEN:
        return ""
    given = Assignment.objects.filter(GIVEN, in_this_submission(assignment.rater), rater=assignment.rater_id)
    given = given.exclude(conditions__has_key=TRAINING)
    return given.order_by("-submitted_at", "-pk").values_list("public_id", flat=True).first() or ""


def _answer(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    screen = screen_of(assignment)
    form = form_for(screen, request.POST)
    if form.is_valid():
        try:
            outcome = recording.record_answer(
                assignment=assignment,
                answers=form.answers(),
                clock=timezone.now,
                timing=form.timing(),
                criteria=screen.criteria,
                note=form.cleaned_data["note"],
            )
        except TaskRemoved as removed:
            return _removed(request, assignment, removed)
        except NotOpen:
            if "alone" in request.POST:
                return JsonResponse({"stored": assignment.public_id, "refused": True})
            messages.warning(request, _("You skipped that task, so it went to another rater."))
            return redirect("annotation:done", assignment.task.study)
        except AnswerRefused as refusal:
            for key, problem in refusal.problems.items():
                form.add_error(PREFIX + key, problem)
        else:
            _tell_outcome(request, outcome)
            if "alone" in request.POST:
                return JsonResponse({"stored": assignment.public_id})
            return _show_held(request, assignment, outcome) or _advance(request, assignment, outcome)
    return screen_page(request, assignment, screen, form, progress=progress_of(assignment.rater), status=422)


@rater_page
@require_POST
def skip_task(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """Give a task back with a reason, and go on to the next."""
    assignment = own_assignment(request, assignment_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose a reason for skipping this task."))
        return redirect("annotation:rate", assignment.public_id)
    try:
        recording.skip(
            assignment=assignment, reason=form.cleaned_data["reason"], clock=timezone.now, timing=form.timing()
        )
    except TaskRemoved as removed:
        return _removed(request, assignment, removed)
    except NotOpen:
        messages.info(request, _("You have already answered that task. You can change your answer instead."))
        return redirect("annotation:rate", assignment.public_id)
    return _show_held(request, assignment, None) or _advance(request, assignment, None)


def _removed(request: HttpRequest, assignment: Assignment, removed: TaskRemoved) -> HttpResponse:
    """Tell the rater that the task is gone, on their page of the study or, where that is gone as well, at home."""
    messages.warning(request, str(removed))
    if "alone" in request.POST:
        return JsonResponse({"stored": assignment.public_id, "refused": True})
    study = Study.objects.filter(pk=assignment.task.study.pk).first()
    return _go(request, reverse("annotation:done", args=[study]) if study else reverse("home"))


def _advance(request: HttpRequest, assignment: Assignment, outcome: Outcome | None) -> HttpResponse:
    """The response to an answer or a skip: the next task, or the rater's study page at the end of the work."""
    study = assignment.task.study
    if outcome is Outcome.TOLD:
        return _confirmed(_leave(request, study), assignment)
    if outcome not in (None, Outcome.LATE) and TRAINING in assignment.conditions:
        address = reverse("annotation:feedback", args=[assignment.public_id])
        told = HttpResponseClientRedirect(address) if getattr(request, "htmx", False) else redirect(address)
        return _confirmed(told, assignment)
    try:
        following, progress = next_assignment(
            assignment.rater, study, clock=timezone.now, conditions=conditions_of(study, assignment.rater)
        )
    except (NoTaskLeft, StudyNotOpen) as reason:
        _tell(request, reason)
        return _confirmed(_go(request, _after_the_last(reason, assignment.rater, study)), assignment)
    if not getattr(request, "htmx", False):
        return redirect("annotation:rate", following.public_id)
    show_now(following)
    screen = screen_of(following)
    draft = drafts_of(following).first() if progress.open else None
    form = form_for(screen, initial=draft.answers) if draft else None
    previous = assignment.public_id if outcome is not None else ""
    response = screen_page(request, following, screen, form, progress=progress, draft=draft, previous=previous)
    return _confirmed(response, assignment)


def _after_the_last(reason: Exception, rater: Rater, study: Study) -> str:
    """Where a rater without a further task goes: to the questions after the work if it is over, else to their own page."""
    if isinstance(reason, NoTaskLeft) and not isinstance(reason, TooFast):
        quota, given = Policies.of(study).quota, given_answers(rater)
        over = (quota is not None and given >= quota) or next_seat_for(study, rater, clock=timezone.now) is None
        if over and due_after(rater, study, quota=quota, given=given):
            return reverse("annotation:questionnaire", args=[study, AFTER])
    return reverse("annotation:done", args=[study])


def _leave(request: HttpRequest, study: Study) -> HttpResponse:
    """To the rater's own page of the study."""
    return _go(request, reverse("annotation:done", args=[study]))


def _go(request: HttpRequest, address: str) -> HttpResponse:
    return HttpResponseClientRedirect(address) if getattr(request, "htmx", False) else redirect(address)


def _tell_outcome(request: HttpRequest, outcome: Outcome) -> None:
    """Tell the rater on the next page what they must know about a stored answer."""
    if outcome is Outcome.LATE:
        messages.warning(
            request,
            _("Your answer is saved, but it does not count, because the study is closed or your work in it is paused."),
        )
    elif outcome is Outcome.TOLD:
        messages.warning(
            request,
            _(
                "You gave your latest answers faster than their texts can be read. Please read each text before you "
                "answer. If this continues, your work will be paused."
            ),
        )


def _tell(request: HttpRequest, reason: Exception) -> None:
    """Tell the rater why there is no task if the next page cannot know it."""
    if isinstance(reason, TooFast):
        messages.info(request, _("You have reached this study's limit of answers per hour. Please come back later."))


def _confirmed(response: HttpResponse, assignment: Assignment, following: str = "") -> HttpResponse:
    """Tells the page that the answer is stored, so that it may forget its own copy, and which held task it may show."""
    detail = {"assignment": assignment.public_id, "next": following}
    return trigger_client_event(response, "plumbline:stored", detail)


def _show_held(request: HttpRequest, assignment: Assignment, outcome: Outcome | None) -> HttpResponse | None:
    """After an answer or a skip whose page holds the next task already: that it may show it; None where it may not."""
    name = request.POST.get("held", "")
    in_training = outcome is not None and TRAINING in assignment.conditions
    if not name or not getattr(request, "htmx", False) or in_training or is_stopped(assignment.rater):
        return None
    if outcome is Outcome.TOLD:
        return None
    held = Assignment.objects.open_for(assignment.rater).filter(public_id=name, seat__isnull=False)
    checks = Assignment.objects.open_for(assignment.rater).filter(NEEDS_NO_SEAT, public_id=name)
    if assignment.task.study.status != Study.Status.OPEN:
        return None
    if not (held.update(shown_at=timezone.now()) or checks.update(shown_at=timezone.now())):
        return None
    return _confirmed(HttpResponse(status=204), assignment, name)
