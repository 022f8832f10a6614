"""The rating page of one task. Nothing that is sent here names a model, another rater or a judge."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django_htmx.http import push_url

from annotation.answers.recording import drafts_of, late_scores
from annotation.assignment.next_task import assignment_of_user, to_show
from annotation.assignment.rater_notes import note_for
from annotation.assignment.rater_progress import Progress
from annotation.assignment.rater_status import late_note
from annotation.assignment.slots import needs_no_seat
from annotation.assignment.time_left import hours_words, own_pace, place_words, reading_seconds, words_a_task
from annotation.models import Assignment, Draft, Rater, Score, Study, latest_scores
from annotation.policies.hints import CONDITION as HINT, hint_conditions
from annotation.policies.policies import Policies
from annotation.recruitment.participants import is_of_earlier_submission
from annotation.recruitment.participation import is_mine
from annotation.texts.rendering import RenderedText, render_text
from annotation.web.rating.feedback import worked_seconds
from annotation.web.rating.forms import ENTERED, AnswerForm, SkipForm, entered
from annotation.web.rating.fresh_tasks import Frame, framed, render_fresh
from annotation.web.rating.question_panel import render_blank, render_questions
from annotation.web.rating.response_panes import render_panes
from annotation.web.rating.screens import Screen, screen_of
from generation.models import Instruction


def own_assignment(request: HttpRequest, assignment_id: str) -> Assignment:
    """Return the visitor's own assignment. Raises Http404 for any other."""
    assignment = assignment_of_user(request.user.pk, assignment_id) if request.user.is_authenticated else None
    if assignment is None:
        own = Assignment.objects.filter(is_mine(request, "rater__"), public_id=assignment_id)
        assignment = to_show(own).select_related("rater__participant").first()
        if assignment is not None and is_of_earlier_submission(assignment):
            assignment = None
    if assignment is None:
        raise Http404
    return assignment


def conditions_of(study: Study, rater: Rater) -> dict[str, Any]:
    """Return the conditions under which the answer is given, which are stored with it."""
    guideline = study.guideline
    told = {"guideline": f"{guideline.key} v{guideline.version}"} if guideline is not None else {}
    return {"language": get_language()} | told | hint_conditions(study, rater)


def earlier_turns(instruction: Instruction) -> list[tuple[str, str]]:
    """Return the turns before the request that the response answers, as (role, text)."""
    turns = list(instruction.messages or [])
    while turns and turns[-1].get("role") != "user":
        turns.pop()
    return [(str(turn.get("role", "")), str(turn.get("content", ""))) for turn in turns[:-1]]


def _rendered_turns(instruction: Instruction) -> list[tuple[str, RenderedText]]:
    return [(role, render_text(text)) for role, text in earlier_turns(instruction)]


def _place(assignment: Assignment, screen: Screen, progress: Progress) -> dict[str, str]:
    """Return how far the rater is and, where the study shows them, their hours and pay; at most two queries."""
    study = assignment.task.study
    policies = Policies.of(study)
    seconds = own_pace(progress)
    if seconds is None and policies.quota is not None and progress.submitted < policies.quota:
        words = words_a_task(study) + render_text(assignment.task.response_a.instruction.text).words
        seconds = reading_seconds(words, len(screen.criteria))
    worked = worked_seconds(assignment.rater) if policies.show_hours and assignment.pk else 0.0
    return {"place": place_words(progress, policies.quota, seconds or 0.0), "hours": hours_words(study, worked)}


def form_for(screen: Screen, data: Any = None, initial: dict[str, str] | None = None) -> AnswerForm:
    return AnswerForm(screen.criteria, data, shown=screen.shown, initial=initial)


def screen_context(
    assignment: Assignment,
    screen: Screen,
    form: AnswerForm,
    *,
    progress: Progress,
    draft: Draft | None = None,
    previous: str = "",
) -> dict[str, Any]:
    """Return the context of the rating page for an assignment; the assignment of a preview is not stored."""
    task = assignment.task
    study = task.study
    instruction = task.response_a.instruction
    questions = tuple(form.questions())
    return {
        "assignment": assignment,
        "study": study,
        "earlier": _rendered_turns(instruction),
        "instruction": render_text(instruction.text),
        "hint": render_text(instruction.hint) if assignment.conditions.get(HINT) and instruction.hint else None,
        "screen": screen,
        "panes": render_panes(screen, draft, instruction_words=render_text(instruction.text).words),
        "form": form,
        "questions": questions,
        "rail": render_questions(questions, starred=screen.shown.starred),
        "skip_form": SkipForm(),
        **_place(assignment, screen, progress),
        "recorded": assignment.status != Assignment.Status.OPEN,
        "late": _is_late(assignment),
        "uncounted": late_note(assignment.rater, study) if assignment.pk else "",
        "lead_note": note_for(assignment.rater) if assignment.pk else ("", ""),
        "draft": draft,
        "previous": previous,
    }


def fresh_task(
    request: HttpRequest, assignment: Assignment, screen: Screen, *, progress: Progress, previous: str
) -> SafeString:
    """Return the part of the rating page that HTMX requests, for an open task without entries."""
    task, study = assignment.task, assignment.task.study
    instruction = task.response_a.instruction
    texts = {"instruction": render_text(instruction.text)}
    turns = _rendered_turns(instruction)
    texts |= {f"turn{place}": turn for place, (_role, turn) in enumerate(turns)}
    if assignment.conditions.get(HINT) and instruction.hint:
        texts["hint"] = render_text(instruction.hint)
    shown = {name: framed(text, name) for name, text in texts.items()}
    frame = Frame(
        study=(study.name, study.workspace.slug, study.slug, study.kind, study.guideline_id),
        layout=screen.layout,
        panes=screen.pane_names,
        near_duplicates=screen.near_duplicates,
        headed=screen.headed,
        single=screen.single,
        one_key=screen.one_key,
        questions=len(screen.criteria),
        has_previous=bool(previous),
        instruction=shown["instruction"],
        instruction_name="" if shown["instruction"].blocks else instruction.external_id,
        earlier=tuple((role, shown[f"turn{place}"]) for place, (role, _turn) in enumerate(turns)),
        hint=shown.get("hint"),
    )
    values: dict[str, str] = {name: mark_safe("".join(one.blocks)) for name, one in texts.items()}  # nosec B703 # sanitised
    return render_fresh(
        frame,
        values
        | {
            "assignment": assignment.public_id,
            **_place(assignment, screen, progress),
            "previous": previous,
            "panes": render_panes(screen, instruction_words=texts["instruction"].words),
            "rail": render_blank(screen.criteria, screen.shown),
            "csrf_token": get_token(request),
        },
    )


def _is_late(assignment: Assignment) -> bool:
    """Return whether the task has gone to another rater in the meantime."""
    return assignment.status == Assignment.Status.OPEN and not (assignment.seat_id or needs_no_seat(assignment))


def screen_page(
    request: HttpRequest,
    assignment: Assignment,
    screen: Screen,
    form: AnswerForm | None,
    *,
    progress: Progress,
    draft: Draft | None = None,
    previous: str = "",
    status: int = 200,
) -> HttpResponse:
    """Return the rating page, or only its task for HTMX, which also pushes the task's URL; no form means no entries."""
    if not getattr(request, "htmx", False):
        form = form or form_for(screen)
        context = screen_context(assignment, screen, form, progress=progress, draft=draft, previous=previous)
        return render(request, "annotation/rate.html", context, status=status)
    plain = assignment.status == Assignment.Status.OPEN and not _is_late(assignment)
    told = late_note(assignment.rater, assignment.task.study) or note_for(assignment.rater)[0]
    if form is None and plain and not told:
        page = fresh_task(request, assignment, screen, progress=progress, previous=previous)
        response = HttpResponse(page)
    else:
        form = form or form_for(screen)
        context = screen_context(assignment, screen, form, progress=progress, draft=draft, previous=previous)
        response = render(request, "annotation/rate.html#task", context, status=status)
    return push_url(response, reverse("annotation:rate", args=[assignment.public_id]))


def _says_the_same(draft: Draft, recorded: Mapping[str, str]) -> bool:
    """Return whether a draft holds nothing but the recorded answer, as one that arrived after it does."""
    written = {name: value for name, value in draft.answers.items() if value and name.startswith(ENTERED)}
    return written == dict(recorded) and not draft.answers.get("note")


def page_so_far(
    request: HttpRequest, assignment: Assignment, *, progress: Progress, previous: str = ""
) -> HttpResponse:
    """Return the page of the task with what has been entered or recorded so far."""
    screen = screen_of(assignment)
    draft = drafts_of(assignment).first()
    initial: dict[str, str] = {}
    if assignment.status != Assignment.Status.OPEN:
        scores = latest_scores(Score.objects.filter(assignment=assignment))
        initial = entered(screen.criteria, scores | late_scores(assignment), screen.shown)
    if draft and initial and _says_the_same(draft, initial):
        draft = None
    initial |= draft.answers if draft else {}
    form = form_for(screen, initial=initial) if draft or initial else None
    return screen_page(request, assignment, screen, form, progress=progress, draft=draft, previous=previous)
