"""A rater's pages. What is sent here names no model, no other rater and no judge."""

from typing import Any

from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, push_url, trigger_client_event

from annotation.answers import recording
from annotation.answers.recording import (
    LONGEST_DRAFT,
    AnswerRefused,
    NotOpen,
    Outcome,
    drafts_of,
    late_scores,
)
from annotation.assignment.leases import GIVEN, is_half_over, renew_lease
from annotation.assignment.next_task import (
    StudyNotOpen,
    assignment_of_user,
    has_more,
    hold_next,
    next_assignment,
    to_show,
)
from annotation.assignment.no_slot import look_again, next_seat_for, seat_wait
from annotation.assignment.rater_progress import NoTaskLeft, TooFast, progress_of
from annotation.assignment.rater_status import APPEAL, is_stopped, late_note, stop_when_due, why_stopped
from annotation.assignment.slots import NEEDS_NO_SEAT, needs_no_seat, regain_seat
from annotation.models import Assignment, Draft, Flag, LateChange, Rater, Score, Study, latest_scores
from annotation.policies.hints import CONDITION as HINT, hint_conditions
from annotation.policies.quality_checks import TRAINING, plan_of
from annotation.recruitment.cohorts import QUOTA_FULL, UNFINISHED, completion_of
from annotation.recruitment.participants import in_this_submission, is_of_earlier_submission
from annotation.recruitment.participation import is_mine, rater_for, rater_known, rater_page, study_to_rate
from annotation.rules.alignment import word_diff
from annotation.texts.rendering import RenderedText, render_text
from annotation.web.rating.feedback import agreement_with_gold, with_own_time, worked_seconds
from annotation.web.rating.forms import ENTERED, PREFIX, AnswerForm, SkipForm, entered
from annotation.web.rating.fresh_tasks import Frame, framed, render_fresh
from annotation.web.rating.question_panel import render_blank, render_questions
from annotation.web.rating.response_panes import render_panes
from annotation.web.rating.screens import Screen, screen_of
from core.messages.localized import localized
from core.text import storable
from generation.models import Instruction

MOST_ANSWERS_SHOWN = 20


def _own_assignment(request: HttpRequest, assignment_id: str) -> Assignment:
    """The visiting rater's assignment; 404 for anybody else's."""
    assignment = assignment_of_user(request.user.pk, assignment_id) if request.user.is_authenticated else None
    if assignment is None:
        own = Assignment.objects.filter(is_mine(request, "rater__"), public_id=assignment_id)
        assignment = to_show(own).select_related("rater__participant").first()
        if assignment is not None and is_of_earlier_submission(assignment):
            assignment = None
    if assignment is None:
        raise Http404
    return assignment


def _conditions(study: Study, rater: Rater) -> dict[str, Any]:
    """What the answer is given under, kept with it."""
    guideline = study.guideline
    told = {"guideline": f"{guideline.key} v{guideline.version}"} if guideline is not None else {}
    return {"language": get_language()} | told | hint_conditions(study, rater)


def _earlier_turns(instruction: Instruction) -> list[tuple[str, RenderedText]]:
    """What was said before the request that the response answers: (role, text)."""
    turns = list(instruction.messages or [])
    while turns and turns[-1].get("role") != "user":
        turns.pop()
    return [(str(turn.get("role", "")), render_text(str(turn.get("content", "")))) for turn in turns[:-1]]


def _form(screen: Screen, data: Any = None, initial: dict[str, str] | None = None) -> AnswerForm:
    return AnswerForm(screen.criteria, data, shown=screen.shown, initial=initial)


def _previous(assignment: Assignment) -> str:
    """The rater's answer before this open task, to go back to; '' where there is none."""
    if assignment.status != Assignment.Status.OPEN:
        return ""
    given = Assignment.objects.filter(GIVEN, in_this_submission(assignment.rater), rater=assignment.rater_id)
    given = given.exclude(conditions__has_key=TRAINING)
    return given.order_by("-submitted_at", "-pk").values_list("public_id", flat=True).first() or ""


def screen_context(
    assignment: Assignment,
    screen: Screen,
    form: AnswerForm,
    *,
    submitted: int,
    draft: Draft | None = None,
    previous: str = "",
) -> dict[str, Any]:
    """What the rating page shows of an assignment; that of a preview is not stored."""
    task = assignment.task
    study = task.study
    instruction = task.response_a.instruction
    questions = tuple(form.questions())
    return {
        "assignment": assignment,
        "study": study,
        "earlier": _earlier_turns(instruction),
        "instruction": render_text(instruction.text),
        "hint": render_text(instruction.hint)
        if assignment.conditions.get(HINT) and instruction.hint
        else None,
        "screen": screen,
        "panes": render_panes(screen, draft),
        "form": form,
        "questions": questions,
        "rail": render_questions(questions, starred=screen.shown.starred),
        "skip_form": SkipForm(),
        "submitted": submitted,
        "quota": study.policies.get("quota"),
        "recorded": assignment.status != Assignment.Status.OPEN,
        "late": _is_late(assignment),
        "uncounted": late_note(assignment.rater, study) if assignment.pk else "",
        "draft": draft,
        "previous": previous,
    }


def fresh_task(
    request: HttpRequest, assignment: Assignment, screen: Screen, *, submitted: int, previous: str
) -> SafeString:
    """The part of the rating page that HTMX asks for, of an open task in which nothing is entered yet."""
    task, study = assignment.task, assignment.task.study
    instruction = task.response_a.instruction
    texts = {"instruction": render_text(instruction.text)}
    turns = _earlier_turns(instruction)
    texts |= {f"turn{place}": turn for place, (_role, turn) in enumerate(turns)}
    if assignment.conditions.get(HINT) and instruction.hint:
        texts["hint"] = render_text(instruction.hint)
    shown = {name: framed(text, name) for name, text in texts.items()}
    frame = Frame(
        study=(study.name, study.slug, study.kind, study.guideline_id),
        layout=screen.layout,
        panes=screen.pane_names,
        near_duplicates=screen.near_duplicates,
        headed=screen.headed,
        questions=len(screen.criteria),
        quota=study.policies.get("quota"),
        has_previous=bool(previous),
        instruction=shown["instruction"],
        instruction_name="" if shown["instruction"].blocks else instruction.external_id,
        earlier=tuple((role, shown[f"turn{place}"]) for place, (role, _turn) in enumerate(turns)),
        hint=shown.get("hint"),
    )
    values: dict[str, str] = {name: mark_safe("".join(text.blocks)) for name, text in texts.items()}
    return render_fresh(
        frame,
        values
        | {
            "assignment": assignment.public_id,
            "submitted": str(submitted),
            "previous": previous,
            "panes": render_panes(screen),
            "rail": render_blank(screen.criteria, screen.shown),
            "csrf_token": get_token(request),
        },
    )


def _is_late(assignment: Assignment) -> bool:
    """Whether the task went to somebody else meanwhile."""
    return assignment.status == Assignment.Status.OPEN and not (
        assignment.seat_id or needs_no_seat(assignment)
    )


def _screen(
    request: HttpRequest,
    assignment: Assignment,
    screen: Screen,
    form: AnswerForm | None,
    *,
    submitted: int,
    draft: Draft | None = None,
    previous: str = "",
    status: int = 200,
) -> HttpResponse:
    """The rating page, or for HTMX its task alone, with the address of the task pushed; no form: nothing entered."""
    if not getattr(request, "htmx", False):
        form = form or _form(screen)
        context = screen_context(
            assignment, screen, form, submitted=submitted, draft=draft, previous=previous
        )
        return render(request, "annotation/rate.html", context, status=status)
    plain = assignment.status == Assignment.Status.OPEN and not _is_late(assignment)
    if form is None and plain and not late_note(assignment.rater, assignment.task.study):
        page = fresh_task(request, assignment, screen, submitted=submitted, previous=previous)
        response = HttpResponse(page)
    else:
        form = form or _form(screen)
        context = screen_context(
            assignment, screen, form, submitted=submitted, draft=draft, previous=previous
        )
        response = render(request, "annotation/rate.html#task", context, status=status)
    return push_url(response, reverse("annotation:rate", args=[assignment.public_id]))


def _advance(request: HttpRequest, assignment: Assignment, outcome: Outcome | None) -> HttpResponse:
    """After an answer or a skip: the next task in the same response, or the end of the work."""
    study = assignment.task.study
    if outcome is Outcome.TOLD:
        return _confirmed(_leave(request, study), assignment)
    if outcome not in (None, Outcome.LATE) and TRAINING in assignment.conditions:
        address = reverse("annotation:feedback", args=[assignment.public_id])
        told = HttpResponseClientRedirect(address) if getattr(request, "htmx", False) else redirect(address)
        return _confirmed(told, assignment)
    try:
        following, progress = next_assignment(
            assignment.rater, study, clock=timezone.now, conditions=_conditions(study, assignment.rater)
        )
    except (NoTaskLeft, StudyNotOpen) as reason:
        _tell(request, reason)
        return _confirmed(_leave(request, study), assignment)
    if not getattr(request, "htmx", False):
        return redirect("annotation:rate", following.public_id)
    _show_now(following)
    screen = screen_of(following)
    draft = drafts_of(following).first() if progress.open else None
    form = _form(screen, initial=draft.answers) if draft else None
    previous = assignment.public_id if outcome is not None else ""
    response = _screen(
        request, following, screen, form, submitted=progress.submitted, draft=draft, previous=previous
    )
    return _confirmed(response, assignment)


def _leave(request: HttpRequest, study: Study) -> HttpResponse:
    """To the rater's own page of the study."""
    address = reverse("annotation:done", args=[study.slug])
    return HttpResponseClientRedirect(address) if getattr(request, "htmx", False) else redirect(address)


def _tell_outcome(request: HttpRequest, outcome: Outcome) -> None:
    """What the rater must know of an answer that was kept; it stands on the next page they see."""
    if outcome is Outcome.LATE:
        messages.warning(
            request,
            _(
                "Your answer is kept, but it does not count: the study is closed, or your work in it is paused."
            ),
        )
    elif outcome is Outcome.TOLD:
        messages.warning(
            request,
            _(
                "Your latest answers came sooner than their texts can be read. Please read each text before you answer. "
                "If this goes on, your work will be paused."
            ),
        )


def _tell(request: HttpRequest, reason: Exception) -> None:
    """Why there is no task, where the page that follows cannot know it."""
    if isinstance(reason, TooFast):
        messages.info(
            request,
            _(
                "You have given as many answers in the last hour as this study asks for. Come back in a while."
            ),
        )


def _confirmed(response: HttpResponse, assignment: Assignment, following: str = "") -> HttpResponse:
    """Tells the page that the answer is stored, so that it may forget its own copy, and which held task it may show."""
    detail = {"assignment": assignment.public_id, "next": following}
    return trigger_client_event(response, "plumbline:stored", detail)


def _show_now(assignment: Assignment) -> None:
    """The time of a task that was held begins when it is shown."""
    if assignment.shown_at is None:
        assignment.shown_at = timezone.now()
        assignment.save(update_fields=["shown_at"])


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


@rater_page
@never_cache
def rate(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """One task: shown on GET, answered on POST."""
    assignment = _own_assignment(request, assignment_id)
    if request.method == "POST":
        return _answer(request, assignment)
    if assignment.status == Assignment.Status.SKIPPED:
        messages.info(request, _("You skipped that task; it went to somebody else."))
        return redirect("annotation:done", assignment.task.study.slug)
    if assignment.status == Assignment.Status.OPEN:
        _keep_seat(assignment)
    submitted = progress_of(assignment.rater).submitted
    return _shown(request, assignment, submitted=submitted, previous=_previous(assignment))


def _shown(
    request: HttpRequest, assignment: Assignment, *, submitted: int, previous: str = ""
) -> HttpResponse:
    """The task with what was entered or recorded so far."""
    screen = screen_of(assignment)
    draft = drafts_of(assignment).first()
    initial: dict[str, str] = {}
    if assignment.status != Assignment.Status.OPEN:
        scores = latest_scores(Score.objects.filter(assignment=assignment))
        initial = entered(screen.criteria, scores | late_scores(assignment), screen.shown)
    initial |= draft.answers if draft else {}
    form = _form(screen, initial=initial) if draft or initial else None
    return _screen(request, assignment, screen, form, submitted=submitted, draft=draft, previous=previous)


@rater_page
@never_cache
@require_POST
def hold(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """The task after this one, leased and sent ahead of need, not yet shown; empty where there is none to hold."""
    assignment = _own_assignment(request, assignment_id)
    conditions = _conditions(assignment.task.study, assignment.rater)
    held = hold_next(assignment, clock=timezone.now, conditions=conditions)
    if held is None:
        return HttpResponse(status=204)
    submitted = progress_of(assignment.rater).submitted + 1
    return _shown(request, held, submitted=submitted, previous=assignment.public_id)


@rater_page
@never_cache
@require_safe
def differences(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """Where two near-copies differ, word by word."""
    assignment = _own_assignment(request, assignment_id)
    screen = screen_of(assignment)
    if not screen.near_duplicates:
        raise Http404
    changes = word_diff(*screen.shown.texts)
    context = {
        "assignment": assignment,
        "changes": changes,
        "coarse": any(change.coarse for change in changes),
    }
    part = getattr(request, "htmx", False)
    return render(
        request, "annotation/differences.html#text" if part else "annotation/differences.html", context
    )


def _keep_seat(assignment: Assignment) -> None:
    """A returning rater's lease is renewed when half of it is gone, and regained when it ran out."""
    _show_now(assignment)
    if assignment.seat is None:
        if not is_stopped(assignment.rater):
            regain_seat(assignment, clock=timezone.now)
    elif is_half_over(assignment, timezone.now()):
        _prolong(assignment)


def _answer(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    screen = screen_of(assignment)
    form = _form(screen, request.POST)
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
        except NotOpen:
            if "alone" in request.POST:
                return JsonResponse({"stored": assignment.public_id, "refused": True})
            messages.warning(request, _("You skipped that task; it went to somebody else."))
            return redirect("annotation:done", assignment.task.study.slug)
        except AnswerRefused as refusal:
            for key, problem in refusal.problems.items():
                form.add_error(PREFIX + key, problem)
        else:
            _tell_outcome(request, outcome)
            if "alone" in request.POST:
                return JsonResponse({"stored": assignment.public_id})
            return _show_held(request, assignment, outcome) or _advance(request, assignment, outcome)
    submitted = progress_of(assignment.rater).submitted
    return _screen(request, assignment, screen, form, submitted=submitted, status=422)


@rater_page
@require_POST
def skip_task(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """Give a task back with a reason, and go on to the next."""
    assignment = _own_assignment(request, assignment_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose why you skip this task."))
        return redirect("annotation:rate", assignment.public_id)
    try:
        recording.skip(
            assignment=assignment,
            reason=form.cleaned_data["reason"],
            clock=timezone.now,
            timing=form.timing(),
        )
    except NotOpen:
        messages.info(request, _("That task is already answered; you can change the answer instead."))
        return redirect("annotation:rate", assignment.public_id)
    return _show_held(request, assignment, None) or _advance(request, assignment, None)


@rater_page
@require_POST
def save_draft(request: HttpRequest, assignment_id: str) -> JsonResponse:
    """Keep what is entered so far and renew the lease: {"kept": whether this draft is now the newest}."""
    assignment = _own_assignment(request, assignment_id)
    answers = {
        name: storable(str(value))
        for name, value in request.POST.items()
        if name.startswith(ENTERED) or name == "note"
    }
    serial, paragraph = request.POST.get("serial", ""), request.POST.get("paragraph", "0")
    paragraph_b = request.POST.get("paragraph_b", "0")
    if any(
        not (place.isdecimal() and place.isascii()) or len(place) > 6 for place in (paragraph, paragraph_b)
    ):
        return JsonResponse({"error": _("A place in the text is the number of a paragraph.")}, status=400)
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
        return JsonResponse({"error": _("This task takes no answer any more.")}, status=409)
    _prolong(assignment)
    return JsonResponse({"kept": kept})


@rater_page
@require_POST
def keep_alive(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """The page of an open task is before its rater: the lease grows, up to its end. 409 where the seat is gone.

    However often it is asked, at most one write a minute comes of it.
    """
    assignment = _own_assignment(request, assignment_id)
    if assignment.status == Assignment.Status.OPEN and not _waits_behind(assignment):
        if needs_no_seat(assignment) or _prolong(assignment):
            return HttpResponse(status=204)
        return JsonResponse({"error": _("The seat of this task went back to the study.")}, status=409)
    return JsonResponse({"error": _("This task is not open.")}, status=409)


def _waits_behind(assignment: Assignment) -> bool:
    """Whether the task is held ready behind another open one; a browser may show it before the server knows."""
    shown = Assignment.objects.filter(
        rater=assignment.rater_id, status=Assignment.Status.OPEN, shown_at__isnull=False
    )
    return assignment.shown_at is None and shown.exists()


def _prolong(assignment: Assignment) -> bool:
    """Whether the seat is still the rater's; who is stopped keeps none from others."""
    return not is_stopped(assignment.rater) and renew_lease(assignment, clock=timezone.now)


@rater_page
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Claim the next task and show it; a plain visit shows the rater's page of the study instead."""
    study = study_to_rate(request, slug)
    if request.method != "POST":
        return redirect("annotation:done", study.slug)
    try:
        rater = rater_for(request, study)
        assignment, _progress = next_assignment(
            rater, study, clock=timezone.now, conditions=_conditions(study, rater)
        )
    except (NoTaskLeft, StudyNotOpen) as reason:
        _tell(request, reason)
        return redirect("annotation:done", study.slug)
    return redirect("annotation:rate", assignment.public_id)


def _latest_answers(rater: Rater, study: Study) -> QuerySet[Assignment]:
    """The rater's latest answers, to change: fewer than may come back as probes, which are to be given afresh."""
    shown = max(1, min(MOST_ANSWERS_SHOWN, plan_of(study).gap - 1))
    own = Assignment.objects.filter(GIVEN, in_this_submission(rater), rater=rater)
    given = with_own_time(own.exclude(conditions__has_key=TRAINING))
    given = given.annotate(changed_late=Exists(LateChange.objects.filter(assignment=OuterRef("pk"))))
    latest: QuerySet[Assignment] = given.select_related("task__response_a__instruction")
    return latest.order_by("-submitted_at", "-pk")[:shown]


@rater_page
@never_cache
@require_safe
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """A rater's own page of a study: thanks, what they did, their answers to change, and going on."""
    study = study_to_rate(request, slug)
    rater = rater_known(request, study)
    progress = progress_of(rater) if rater else None
    more = has_more(study, rater, clock=timezone.now)
    if rater is not None and not more:
        stop_when_due(rater)
    next_seat = None if more else next_seat_for(study, rater, clock=timezone.now)
    completion = completion_of(rater, study, progress, more=more) if rater and progress else None
    # Who finds all seats held before their part is complete waits for one; that is no end that has a code.
    short = completion is not None and completion.outcome == QUOTA_FULL
    waits = next_seat is not None and (short or not (progress and progress.submitted))
    context = {
        "study": study,
        "progress": progress,
        "waits": waits,
        "uncounted": late_note(rater, study) if rater else "",
        "more": more,
        "answered": _latest_answers(rater, study) if rater else [],
        "minutes": round(worked_seconds(rater) / 60) if rater else 0,
        "gold": agreement_with_gold(rater, study) if rater else None,
        "stopped": why_stopped(rater) if rater else "",
        "appealed": bool(rater) and Flag.objects.filter(rater=rater, kind=APPEAL, resolved_at=None).exists(),
        "may_move": getattr(rater, "participant", None) is not None,
        "completion": None if waits and completion and completion.outcome in UNFINISHED else completion,
    }
    context |= seat_wait(next_seat) if next_seat else {}
    response = render(request, "annotation/done.html", context)
    return look_again(response) if waits else response


@rater_page
@require_safe
def guideline(request: HttpRequest, slug: str) -> HttpResponse:
    """The study's guideline: a page, or the part of it that the rating page shows in a panel."""
    study = study_to_rate(request, slug)
    if study.guideline is None:
        raise Http404
    context = {
        "study": study,
        "guideline": study.guideline,
        "text": render_text(localized(study.guideline.texts)),
    }
    part = getattr(request, "htmx", False)
    return render(request, "annotation/guideline.html#text" if part else "annotation/guideline.html", context)
