"""A rater's own page of a study, and the study's guideline as raters read it."""

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.assignment.leases import GIVEN
from annotation.assignment.next_task import has_more
from annotation.assignment.no_slot import look_again, next_seat_for, seat_wait
from annotation.assignment.rater_notes import note_for
from annotation.assignment.rater_progress import progress_of
from annotation.assignment.rater_status import APPEAL, late_note, stop_when_due, why_stopped
from annotation.models import Assignment, Flag, LateChange, Rater, Study
from annotation.policies.policies import Policies
from annotation.policies.quality_checks import TRAINING, plan_of
from annotation.questionnaires.asking import due_after
from annotation.recruitment.cohorts import QUOTA_FULL, UNFINISHED, completion_of
from annotation.recruitment.participants import in_this_submission
from annotation.recruitment.participation import rater_known, rater_page, study_to_rate
from annotation.texts.rendering import render_text
from annotation.web.rating.feedback import agreement_with_gold, with_own_time, worked_seconds
from core.messages.localized import localized

MOST_ANSWERS_SHOWN = 20


def _latest_answers(rater: Rater, study: Study) -> QuerySet[Assignment]:
    """The rater's latest answers that they may change: fewer than the gap of repeated tasks, to be answered afresh."""
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
    # A rater who finds all slots held before completing the study waits for one; this outcome has no code.
    short = completion is not None and completion.outcome == QUOTA_FULL
    waits = next_seat is not None and (short or not (progress and progress.submitted))
    own_quota = Policies.of(study).quota
    after = None
    if rater is not None and progress is not None and not more and not waits:
        after = due_after(rater, study, quota=own_quota, given=progress.submitted)
    if completion is not None and completion.outcome in UNFINISHED and (waits or (after is not None and after.holds)):
        completion = None
    context = {
        "study": study,
        "known": rater is not None,
        "progress": progress,
        "quota": own_quota,
        "after": after,
        "waits": waits,
        "uncounted": late_note(rater, study) if rater else "",
        "lead_note": note_for(rater) if rater else ("", ""),
        "more": more,
        "answered": _latest_answers(rater, study) if rater else [],
        "minutes": round(worked_seconds(rater) / 60) if rater else 0,
        "gold": agreement_with_gold(rater, study) if rater else None,
        "stopped": why_stopped(rater) if rater else "",
        "appealed": bool(rater) and Flag.objects.filter(rater=rater, kind=APPEAL, resolved_at=None).exists(),
        "may_move": getattr(rater, "participant", None) is not None,
        "completion": completion,
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
    context = {"study": study, "guideline": study.guideline, "text": render_text(localized(study.guideline.texts))}
    part = getattr(request, "htmx", False)
    return render(request, "annotation/guideline.html#text" if part else "annotation/guideline.html", context)
