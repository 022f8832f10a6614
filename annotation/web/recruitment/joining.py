"""Joining a study: invitation, consent, guideline, training, qualification; later, appeals and time corrections."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.sign_in.client_address import client_address
from annotation.assignment.attention_checks import check_tasks
from annotation.assignment.next_task import has_more
from annotation.assignment.no_slot import look_again, seat_wait
from annotation.assignment.rater_status import appeal, ensure_standing, is_stopped, pass_mark, stage_of
from annotation.assignment.time_left import money
from annotation.models import GIVEN, Assignment, Cohort, MailedInvitation, Rater, Standing, Study, TimeCorrection
from annotation.policies.policies import Policies
from annotation.policies.quality_checks import QUALIFICATION, TRAINING
from annotation.recruitment.cohorts import (
    AlreadyIn,
    LinkClosed,
    NoCrowdId,
    agree,
    check_link,
    check_not_revoked,
    crowd_id,
    join,
    turn_away,
)
from annotation.recruitment.expected import part_of_one
from annotation.recruitment.join_limits import (
    JoinRefused,
    NoSeatFree,
    TooManyFromAddress,
    check_address,
    check_room,
    note_join,
    note_refusal,
)
from annotation.recruitment.mailing import check_unused, use_invitation
from annotation.recruitment.minimum import minimum_words
from annotation.recruitment.other_browsers import Arrival, arrive, refused_unsigned, who_is_here
from annotation.recruitment.participants import CrowdId, is_of_earlier_submission
from annotation.recruitment.participation import (
    CAME_COOKIE,
    browser_secret,
    is_mine,
    keep_secret,
    note_coming,
    rater_known,
    rater_page,
    remember_rater,
    study_to_rate,
)
from annotation.recruitment.signed_links import is_required
from annotation.rubrics.scales import number_text
from annotation.texts.rendering import render_text
from annotation.web.rating.feedback import feedback_on, seconds_open
from annotation.web.rating.forms import AppealForm, TimeForm
from core.errors import UserError
from core.messages.localized import localized
from core.text import storable


def consent_text(study: Study, cohort: Cohort | None = None) -> str:
    """The consent text: the cohort's, else the study's, else the default."""
    own = localized(cohort.consents) if cohort else ""
    own = own or localized(Policies.of(study).consent)
    return own or _(
        "You will read texts and answer questions about them. Your answers are stored under a pseudonym and used for "
        "research. Your identity is stored separately from them and can be erased on request. Taking part is "
        "voluntary, and you may stop at any time."
    )


def _expected(study: Study) -> dict[str, Any]:
    """The number of tasks that one rater is expected to do, their minutes, and the pay where the study shows it.

    Without a quota the number is an equal share of all ratings among the expected number of raters, if that is known.
    """
    part, shown = part_of_one(study), Policies.of(study).show_hours
    return {
        "expected": part.tasks,
        "shared": part.shared,
        "minutes": part.minutes,
        "hourly_pay": money(part.hourly_pay, part.currency) if part.hourly_pay and shown else "",
        "expected_pay": part.pay if shown else "",
    }


def _step(rater: Rater | None, cohort: Cohort) -> str:
    """The next step of joining: consent, guideline or begin."""
    standing = ensure_standing(rater) if rater else None
    if standing is None or standing.consented_at is None:
        return "consent"
    if cohort.study.guideline_id is not None and standing.guideline_read_at is None:
        return "guideline"
    return "begin"


def _page(request: HttpRequest, cohort: Cohort, rater: Rater | None, step: str, status: int = 200) -> HttpResponse:
    study = cohort.study
    mark, policies = pass_mark(study), Policies.of(study)
    context: dict[str, Any] = {
        "cohort": cohort,
        "study": study,
        "step": step,
        "consent": render_text(consent_text(cohort.study, cohort)),
        "payment": localized(policies.payment),
        "quota": policies.quota,
        "minimum": minimum_words(study) if cohort.kind == Cohort.Kind.CROWD else [],
        "asks_nickname": cohort.kind == Cohort.Kind.PUBLIC,
        "guideline": render_text(study.guideline.text) if step == "guideline" and study.guideline else None,
    }
    if step == "consent":
        context |= _expected(study)
    if step == "begin" and rater is not None:
        context |= {
            "stage": str(stage_of(rater, study)),
            "training": check_tasks(study, TRAINING).count() if policies.training else 0,
            "qualification": min(mark[0], check_tasks(study, QUALIFICATION).count()) if mark else 0,
            "needed": mark[1] if mark else 0,
        }
    return render(request, "annotation/join.html", context, status=status)


def _closed(request: HttpRequest, cohort: Cohort, why: str, status: int) -> HttpResponse:
    in_already = rater_known(request, cohort.study) is not None
    context = {"study": cohort.study, "cohort": cohort, "step": "closed", "why": why, "in_already": in_already}
    return render(request, "annotation/join.html", context, status=status)


def _let_in(request: HttpRequest, cohort: Cohort, crowd: CrowdId | None, invitation: MailedInvitation | None) -> Rater:
    """Somebody new who agreed, while the door is held for them; raises JoinRefused, AlreadyIn, LinkClosed."""
    user = request.user if isinstance(request.user, User) and crowd is None else None
    nickname = storable(request.POST.get("nickname", "")) if cohort.kind == Cohort.Kind.PUBLIC else ""
    if invitation is not None and not str(nickname).strip():
        nickname = invitation.name
    with transaction.atomic():
        _pass_door(request, cohort)
        check_room(cohort, clock=timezone.now)
        rater = join(
            cohort,
            consent=consent_text(cohort.study, cohort),
            clock=timezone.now,
            user=user,
            crowd=crowd,
            nickname=str(nickname),
            browser=browser_secret(request),
        )
        if invitation is not None:
            use_invitation(invitation, rater, clock=timezone.now)
        return rater


def _pass_door(request: HttpRequest, cohort: Cohort) -> None:
    """Count a newcomer from the visitor's network, one at a time; raises TooManyFromAddress."""
    Cohort.objects.select_for_update(no_key=True).get(pk=cohort.pk)
    address = client_address(request)
    check_address(cohort, address, clock=timezone.now)
    note_join(cohort, address, clock=timezone.now)


def _refused(request: HttpRequest, cohort: Cohort, refusal: JoinRefused) -> HttpResponse:
    """What somebody reads who cannot join now: why, and when to look again. It is no answer and ends nothing."""
    context = {"study": cohort.study, "cohort": cohort, "step": "refused", "why": str(refusal)}
    if isinstance(refusal, TooManyFromAddress):
        note_refusal(cohort, client_address(request), clock=timezone.now)
        seconds = max(1, int((refusal.again - timezone.now()).total_seconds()))
        response = render(request, "annotation/join.html", context, status=429)
        response["Retry-After"] = str(seconds)
        return response
    response = render(request, "annotation/join.html", context | seat_wait(refusal.again), status=503)
    return look_again(response)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join_study(request: HttpRequest, token: str) -> HttpResponse:
    """One step of the way in: shown on GET, taken on POST. Who is in already goes on where they left off."""
    found = Cohort.objects.select_related("study__guideline", "study__workspace")
    invitation = MailedInvitation.objects.select_related("rater").filter(token=token).first()
    behind = {"pk": invitation.cohort_id} if invitation is not None else {"entry_token": token}
    cohort = get_object_or_404(found.exclude(study__status=Study.Status.DRAFT), **behind)
    crowd, garbled = None, ""
    try:
        check_not_revoked(cohort)
        if invitation is not None:
            check_unused(invitation, rater_known(request, cohort.study))
        if cohort.kind == Cohort.Kind.CROWD:
            crowd = crowd_id({name: str(value) for name, value in request.GET.items()})
    except LinkClosed as problem:
        return _closed(request, cohort, str(problem), 410)
    except NoCrowdId as problem:
        garbled = str(problem)
    arrival = arrive(request, cohort, crowd)
    rater = who_is_here(arrival)
    if isinstance(rater, HttpResponse):
        return rater
    refusal = _no_entry(arrival, garbled) if rater is None else None
    if refusal is not None:
        return refusal
    if request.method == "POST":
        return _take_step(request, cohort, rater, crowd, invitation)
    response = _look(request, cohort, rater)
    response.delete_cookie(CAME_COOKIE)
    if rater is not None:
        return _as(request, rater, response)
    return response if crowd is None or browser_secret(request) else keep_secret(response)


def _no_entry(arrival: Arrival, garbled: str) -> HttpResponse | None:
    """The page that says why a newcomer cannot join now; None if they can."""
    request, cohort = arrival.request, arrival.cohort
    if garbled:
        return _closed(request, cohort, garbled, 400)
    try:
        check_link(cohort, clock=timezone.now)
    except LinkClosed as problem:
        return _closed(request, cohort, str(problem), 410)
    if cohort.kind == Cohort.Kind.ONSITE and not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if is_required(cohort) and not arrival.signed:
        return _closed(request, cohort, refused_unsigned(), 403)
    if cohort.study.status != Study.Status.OPEN:
        return _closed(request, cohort, _("The study is not open at the moment. Follow the link again later."), 200)
    return None


def _look(request: HttpRequest, cohort: Cohort, rater: Rater | None) -> HttpResponse:
    """The page of the step that comes now; who is stopped reads so on their own page."""
    stopped = (Standing.State.PAUSED, Standing.State.FAILED, Standing.State.SCREENED_OUT)
    if rater is not None and ensure_standing(rater).state in stopped:
        return redirect("annotation:done", cohort.study)
    if rater is None:
        try:
            check_room(cohort, clock=timezone.now)
        except NoSeatFree as refusal:
            return _refused(request, cohort, refusal)
    return _page(request, cohort, rater, _step(rater, cohort))


def _take_step(
    request: HttpRequest,
    cohort: Cohort,
    rater: Rater | None,
    crowd: CrowdId | None,
    invitation: MailedInvitation | None,
) -> HttpResponse:
    step = _step(rater, cohort)
    try:
        if step == "consent" and request.POST.get("answer") == "no":
            return _declined(request, cohort, rater, crowd)
        if step == "consent" and request.POST.get("answer") == "yes":
            if rater is not None and is_stopped(rater):
                return redirect("annotation:done", cohort.study)
            if rater is None:
                rater = _let_in(request, cohort, crowd, invitation)
            else:
                agree(cohort, rater, consent=consent_text(cohort.study, cohort), clock=timezone.now)
    except JoinRefused as refusal:
        return _refused(request, cohort, refusal)
    except LinkClosed as problem:  # the invitation was used at this moment
        return _closed(request, cohort, str(problem), 410)
    except AlreadyIn:  # by another request at this moment, which may be somebody else's
        return redirect(request.get_full_path())
    if step == "guideline" and rater is not None and request.POST.get("read"):
        standing = ensure_standing(rater)
        standing.guideline_read_at = timezone.now()
        standing.save(update_fields=["guideline_read_at", "changed_at"])
    response = redirect(request.get_full_path())
    if rater is None:
        return response
    return _as(request, rater, note_coming(response, rater, request.get_full_path()))


def _declined(request: HttpRequest, cohort: Cohort, rater: Rater | None, crowd: CrowdId | None) -> HttpResponse:
    """A crowd worker who says no gets a code, and is known when they come again; of anybody else nothing is kept."""
    if crowd is None or rater is not None:
        return _closed(
            request, cohort, _("You did not take part in this study, and nothing about you has been stored."), 200
        )
    with transaction.atomic():
        _pass_door(request, cohort)
        away = turn_away(cohort, crowd, browser=browser_secret(request), clock=timezone.now)
    return _as(request, away, redirect("annotation:done", cohort.study))


def _as(request: HttpRequest, rater: Rater, response: HttpResponse) -> HttpResponse:
    """Who has no account is known by this browser from now on."""
    return response if rater.user_id is not None else remember_rater(request, response, rater)


@rater_page
@never_cache
@require_safe
def feedback(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """After a training task: what was expected, what was answered, and why."""
    mine = Assignment.objects.filter(is_mine(request, "rater__"), public_id=assignment_id)
    assignment = mine.select_related(
        "rater__standing", "rater__participant", "task__study", "task__answer_rubric", "task__response_a__instruction"
    ).first()
    if assignment is None or (assignment.task.gold or {}).get("purpose") != TRAINING:
        raise Http404
    if is_of_earlier_submission(assignment):
        raise Http404
    if assignment.status != Assignment.Status.CHECKED:
        return redirect("annotation:rate", assignment.public_id)
    study = assignment.task.study
    remaining = check_tasks(study, TRAINING).exclude(assignments__rater=assignment.rater).count()
    context = {
        "study": study,
        "assignment": assignment,
        "lines": feedback_on(assignment),
        "why": render_text(localized((assignment.task.gold or {}).get("why") or {})),
        "instruction": assignment.task.response_a.instruction,
        "remaining": remaining,
        "qualifies_next": remaining == 0 and pass_mark(study) is not None,
        "more": has_more(study, assignment.rater, clock=timezone.now),
    }
    return render(request, "annotation/feedback.html", context)


@rater_page
@require_POST
def appeal_pause(request: HttpRequest, slug: str) -> HttpResponse:
    """Send a paused rater's appeal to the lead."""
    study = study_to_rate(request, slug)
    rater = rater_known(request, study)
    if rater is None:
        raise Http404
    form = AppealForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Tell the lead why you should be allowed to continue. One sentence is enough."))
    else:
        try:
            appeal(rater, form.cleaned_data["text"])
        except UserError as problem:
            messages.info(request, str(problem))
        else:
            messages.success(request, _("Your appeal has been sent to the lead. Check this page again later."))
    return redirect("annotation:done", study)


@rater_page
@require_POST
def correct_time(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """Store a rater's correction of the measured time."""
    assignment = get_object_or_404(
        Assignment.objects.select_related("task__study", "rater__participant"),
        is_mine(request, "rater__"),
        Q(status__in=GIVEN),
        public_id=assignment_id,
    )
    if is_of_earlier_submission(assignment):
        raise Http404
    form = TimeForm(request.POST)
    if form.is_valid():
        said = 60 * form.cleaned_data["minutes"]
        passed = seconds_open(assignment)
        counted = said if passed is None else min(said, passed)
        above = counted < said
        TimeCorrection.objects.create(
            assignment=assignment, seconds=counted, claimed=said if above else None, reason=form.cleaned_data["reason"]
        )
        if above:
            told = _(
                "Only %(n)s minutes passed between opening this task and answering it, so no more than that is "
                "counted. The time you entered is also kept."
            )
            messages.warning(request, told % {"n": number_text(round(counted / 60, 1))})
        else:
            messages.success(request, _("Your correction is saved alongside the measured time."))
    else:
        messages.error(request, _("Enter the number of minutes, from 0 to 600, and a reason."))
    return redirect(reverse("annotation:done", args=[assignment.task.study]) + "#answers")
