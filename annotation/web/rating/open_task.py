"""Requests of an open task's page while its rater is at work, and how the rater keeps its slot.

Drafts and reading positions, heartbeats, the next task, and the differences of two near-duplicates.
"""

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.answers import recording
from annotation.answers.recording import LONGEST_DRAFT, NotOpen
from annotation.assignment.leases import is_half_over, renew_lease
from annotation.assignment.next_task import hold_next
from annotation.assignment.rater_progress import progress_of
from annotation.assignment.rater_status import is_stopped
from annotation.assignment.slots import needs_no_seat, regain_seat
from annotation.models import Assignment
from annotation.recruitment.participation import rater_page
from annotation.rules.alignment import word_diff
from annotation.web.rating.forms import ENTERED
from annotation.web.rating.screens import screen_of
from annotation.web.rating.task_page import conditions_of, own_assignment, page_so_far
from core.text import storable


def show_now(assignment: Assignment) -> None:
    """Start the time of a held task when it is shown."""
    if assignment.shown_at is None:
        assignment.shown_at = timezone.now()
        assignment.save(update_fields=["shown_at"])


def _prolong(assignment: Assignment) -> bool:
    """Renew the lease and return whether the rater still has the slot; a stopped rater's lease is not renewed."""
    return not is_stopped(assignment.rater) and renew_lease(assignment, clock=timezone.now)


def keep_seat(assignment: Assignment) -> None:
    """Renew a returning rater's lease when half of it is over, and regain the slot when it has expired."""
    show_now(assignment)
    if assignment.seat is None:
        if not is_stopped(assignment.rater):
            regain_seat(assignment, clock=timezone.now)
    elif is_half_over(assignment, timezone.now()):
        _prolong(assignment)


@rater_page
@never_cache
@require_POST
def hold(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """The task after this one, leased and sent ahead of need, not yet shown; empty where there is none to hold."""
    assignment = own_assignment(request, assignment_id)
    conditions = conditions_of(assignment.task.study, assignment.rater)
    held = hold_next(assignment, clock=timezone.now, conditions=conditions)
    if held is None:
        return HttpResponse(status=204)
    now = progress_of(assignment.rater)
    progress = replace(now, submitted=now.submitted + 1)
    return page_so_far(request, held, progress=progress, previous=assignment.public_id)


@rater_page
@never_cache
@require_safe
def differences(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """Where two near-copies differ, word by word."""
    assignment = own_assignment(request, assignment_id)
    screen = screen_of(assignment)
    if not screen.near_duplicates:
        raise Http404
    changes = word_diff(*screen.shown.texts)
    context = {"assignment": assignment, "changes": changes, "coarse": any(change.coarse for change in changes)}
    part = getattr(request, "htmx", False)
    return render(request, "annotation/differences.html#text" if part else "annotation/differences.html", context)


@rater_page
@require_POST
def save_draft(request: HttpRequest, assignment_id: str) -> JsonResponse:
    """Keep what is entered so far and renew the lease: {"kept": whether this draft is now the newest}."""
    assignment = own_assignment(request, assignment_id)
    answers = {
        name: storable(str(value)) for name, value in request.POST.items() if name.startswith(ENTERED) or name == "note"
    }
    serial, paragraph = request.POST.get("serial", ""), request.POST.get("paragraph", "0")
    paragraph_b = request.POST.get("paragraph_b", "0")
    if any(not (place.isdecimal() and place.isascii()) or len(place) > 6 for place in (paragraph, paragraph_b)):
        return JsonResponse({"error": _("A position in the text must be the number of a paragraph.")}, status=400)
    places = {"paragraph": int(paragraph), "paragraph_b": int(paragraph_b)}
    if "place" in request.POST:
        recording.save_place(assignment=assignment, **places)
        _prolong(assignment)
        return JsonResponse({"kept": False})
    sizes = sum(len(name) + len(str(value)) for name, value in answers.items())
    if not (serial.isdecimal() and serial.isascii()) or len(serial) > 15:
        return JsonResponse({"error": _("A draft needs a serial number.")}, status=400)
    if sizes > LONGEST_DRAFT:
        return JsonResponse({"error": _("This draft is too long to keep.")}, status=413)
    try:
        kept = recording.save_draft(
            assignment=assignment,
            answers={name: str(value) for name, value in answers.items()},
            serial=int(serial),
            **places,
        )
    except NotOpen:
        return JsonResponse({"error": _("This task no longer accepts answers.")}, status=409)
    _prolong(assignment)
    return JsonResponse({"kept": kept})


@rater_page
@require_POST
def keep_alive(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """Heartbeat of an open task's page: extend the lease up to its end; 409 if the slot is gone.

    Writes at most once a minute, however often it is called.
    """
    assignment = own_assignment(request, assignment_id)
    if assignment.status == Assignment.Status.OPEN and not _waits_behind(assignment):
        if needs_no_seat(assignment) or _prolong(assignment):
            return HttpResponse(status=204)
        return JsonResponse({"error": _("Your reservation of this task has expired.")}, status=409)
    return JsonResponse({"error": _("This task is not open.")}, status=409)


def _waits_behind(assignment: Assignment) -> bool:
    """Whether the task is held ready behind another open one; a browser may show it before the server knows."""
    shown = Assignment.objects.filter(rater=assignment.rater_id, status=Assignment.Status.OPEN, shown_at__isnull=False)
    return assignment.shown_at is None and shown.exists()
