"""The way in: invitation, consent, guideline, training, qualification; and a rater's own words afterwards."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.localized import localized
from accounts.models import User
from annotation.check_plan import QUALIFICATION, TRAINING
from annotation.cohorts import (
    CrowdId,
    LinkClosed,
    NoCrowdId,
    TooManyKnocks,
    check_link,
    crowd_id,
    join,
    knock,
    known_worker,
    turn_away,
)
from annotation.controls import check_tasks
from annotation.feedback import feedback_on, seconds_open
from annotation.forms import AppealForm, TimeForm, number_text
from annotation.handout import has_more
from annotation.models import Assignment, Cohort, Rater, Standing, Study, TimeCorrection
from annotation.participation import is_mine, rater_known, rater_page, remember_rater, study_to_rate
from annotation.qualification import CannotAppeal, appeal, ensure_standing, pass_mark, stage_of
from annotation.rendering import render_text
from generation.models import Response


def _address_of(request: HttpRequest) -> str:
    """The visitor's network address: behind a proxy, the one that the nearest proxy saw."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if forwarded and not settings.LOCAL:
        return str(forwarded.rsplit(",", 1)[-1].strip())
    return str(request.META.get("REMOTE_ADDR", ""))


def _known_here(request: HttpRequest, cohort: Cohort, crowd: CrowdId | None) -> Rater | None:
    """The visitor's rater of this cohort: the worker the link names, else who this browser or account is."""
    if crowd is not None:
        return known_worker(cohort, crowd) or _turned_away_here(request, cohort)
    rater = rater_known(request, cohort.study)
    if cohort.kind == Cohort.Kind.CROWD and rater is not None and rater.cohort_id != cohort.pk:
        return None
    return rater


def _turned_away_here(request: HttpRequest, cohort: Cohort) -> Rater | None:
    """Somebody who said no in this browser keeps their code for it."""
    mine = Rater.objects.filter(is_mine(request), cohort=cohort, identity=None)
    return mine.filter(standing__state=Standing.State.SCREENED_OUT).select_related("standing").first()


def consent_text(study: Study, cohort: Cohort | None = None) -> str:
    """What who joins agrees to: the cohort's text, else the study's, else ours."""
    own = localized(cohort.consents) if cohort else ""
    own = own or localized(study.policies.get("consent", {}))
    return own or _(
        "You are asked to read texts and to answer questions about them. Your answers are kept under a made-up name "
        "and used for research; who you are is kept apart from them and can be erased on request. Taking part is "
        "voluntary, and you may stop at any time."
    )


def _minutes(study: Study) -> int | None:
    """Roughly how long a rater reads for the whole of their part; None where no text's length is known."""
    known = Response.objects.filter(tasks_as_a__study=study, words__gt=0).values_list("words", flat=True)
    words = [n or 0 for n in known[:200]]
    quota = study.policies.get("quota")
    if not words or quota is None:
        return None
    pair = 2 if study.kind == Study.Kind.PAIR else 1
    return max(1, round(sum(words) / len(words) * pair * int(quota) / 230))


def _step(rater: Rater | None, cohort: Cohort) -> str:
    """Which part of the way in comes now: consent, guideline, or begin."""
    standing = ensure_standing(rater) if rater else None
    if standing is None or standing.consented_at is None:
        return "consent"
    if cohort.study.guideline_id is not None and standing.guideline_read_at is None:
        return "guideline"
    return "begin"


def _page(
    request: HttpRequest, cohort: Cohort, rater: Rater | None, step: str, status: int = 200
) -> HttpResponse:
    study = cohort.study
    mark = pass_mark(study)
    context: dict[str, Any] = {
        "cohort": cohort,
        "study": study,
        "step": step,
        "consent": render_text(consent_text(cohort.study, cohort)),
        "payment": localized(study.policies.get("payment", {})),
        "quota": study.policies.get("quota"),
        "minutes": _minutes(study) if step != "guideline" else None,
        "asks_nickname": cohort.kind == Cohort.Kind.PUBLIC,
        "guideline": render_text(study.guideline.text) if step == "guideline" and study.guideline else None,
    }
    if step == "begin" and rater is not None:
        context |= {
            "stage": str(stage_of(rater, study)),
            "training": check_tasks(study, TRAINING).count() if study.policies.get("training") else 0,
            "qualification": min(mark[0], check_tasks(study, QUALIFICATION).count()) if mark else 0,
            "needed": mark[1] if mark else 0,
        }
    return render(request, "annotation/join.html", context, status=status)


def _closed(request: HttpRequest, cohort: Cohort, why: str, status: int) -> HttpResponse:
    context = {"study": cohort.study, "cohort": cohort, "step": "closed", "why": why}
    return render(request, "annotation/join.html", context, status=status)


def _let_in(request: HttpRequest, cohort: Cohort, crowd: CrowdId | None) -> Rater:
    """Somebody new who agreed; raises TooManyKnocks."""
    user = request.user if isinstance(request.user, User) and crowd is None else None
    if user is None and crowd is None:
        knock(cohort, _address_of(request), clock=timezone.now)
    nickname = request.POST.get("nickname", "") if cohort.kind == Cohort.Kind.PUBLIC else ""
    return join(
        cohort,
        consent=consent_text(cohort.study, cohort),
        clock=timezone.now,
        user=user,
        crowd=crowd,
        nickname=str(nickname),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join_study(request: HttpRequest, token: str) -> HttpResponse:
    """One step of the way in: shown on GET, taken on POST. Who is in already goes on where they left off."""
    found = Cohort.objects.select_related("study__guideline", "study__workspace")
    cohort = get_object_or_404(found.exclude(study__status=Study.Status.DRAFT), entry_token=token)
    crowd = None
    try:
        if cohort.kind == Cohort.Kind.CROWD:
            crowd = crowd_id({name: str(value) for name, value in request.GET.items()})
        rater = _known_here(request, cohort, crowd)
        if rater is None:
            check_link(cohort, clock=timezone.now)
    except NoCrowdId as problem:
        rater = _known_here(request, cohort, None)
        if rater is None:
            return _closed(request, cohort, str(problem), 400)
    except LinkClosed as problem:
        return _closed(request, cohort, str(problem), 410)
    if rater is None and cohort.kind == Cohort.Kind.ONSITE and not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if rater is None and cohort.study.status != Study.Status.OPEN:
        return _closed(request, cohort, _("The study is not open now. Follow the link again later."), 200)
    if request.method == "POST":
        return _take_step(request, cohort, rater, crowd)
    if rater is not None and ensure_standing(rater).state in (
        Standing.State.PAUSED,
        Standing.State.FAILED,
        Standing.State.SCREENED_OUT,
    ):
        return _as(request, rater, redirect("annotation:done", cohort.study.slug))
    response = _page(request, cohort, rater, _step(rater, cohort))
    return _as(request, rater, response) if rater else response


def _take_step(
    request: HttpRequest, cohort: Cohort, rater: Rater | None, crowd: CrowdId | None
) -> HttpResponse:
    step = _step(rater, cohort)
    if step == "consent" and request.POST.get("answer") == "no":
        return _declined(request, cohort, rater)
    if step == "consent" and request.POST.get("answer") == "yes":
        try:
            rater = _let_in(request, cohort, crowd)
        except TooManyKnocks as problem:
            return _closed(request, cohort, str(problem), 429)
    elif step == "guideline" and rater is not None and request.POST.get("read"):
        standing = ensure_standing(rater)
        standing.guideline_read_at = timezone.now()
        standing.save(update_fields=["guideline_read_at", "changed_at"])
    response = redirect(request.get_full_path())
    return _as(request, rater, response) if rater else response


def _declined(request: HttpRequest, cohort: Cohort, rater: Rater | None) -> HttpResponse:
    """A crowd worker who says no gets a code; of anybody else nothing is kept."""
    if cohort.kind != Cohort.Kind.CROWD or rater is not None:
        return _closed(
            request, cohort, _("You did not take part in this study, and nothing about you is kept."), 200
        )
    return _as(request, turn_away(cohort), redirect("annotation:done", cohort.study.slug))


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
        "rater__standing", "task__study", "task__answer_rubric", "task__response_a__instruction"
    ).first()
    if assignment is None or (assignment.task.gold or {}).get("purpose") != TRAINING:
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
    """Tell the lead why one should go on."""
    study = study_to_rate(request, slug)
    rater = rater_known(request, study)
    if rater is None:
        raise Http404
    form = AppealForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Write to the lead why you should go on; a sentence is enough."))
    else:
        try:
            appeal(rater, form.cleaned_data["text"])
        except CannotAppeal as problem:
            messages.info(request, str(problem))
        else:
            messages.success(request, _("Your appeal is with the lead. Look here again later."))
    return redirect("annotation:done", study.slug)


@rater_page
@require_POST
def correct_time(request: HttpRequest, assignment_id: str) -> HttpResponse:
    """Put one's own word beside the time that the page measured."""
    given = [Assignment.Status.SUBMITTED, Assignment.Status.SURPLUS, Assignment.Status.CHECKED]
    assignment = get_object_or_404(
        Assignment.objects.select_related("task__study"),
        is_mine(request, "rater__"),
        Q(status__in=given),
        public_id=assignment_id,
    )
    form = TimeForm(request.POST)
    if form.is_valid():
        said = 60 * form.cleaned_data["minutes"]
        passed = seconds_open(assignment)
        counted = said if passed is None else min(said, passed)
        above = counted < said
        TimeCorrection.objects.create(
            assignment=assignment,
            seconds=counted,
            claimed=said if above else None,
            reason=form.cleaned_data["reason"],
        )
        if above:
            told = _(
                "%(n)s minutes passed between opening this task and answering it. Your time counts up to that; what you "
                "wrote is kept beside it."
            )
            messages.warning(request, told % {"n": number_text(round(counted / 60, 1))})
        else:
            messages.success(request, _("Your time is kept beside the measured one."))
    else:
        messages.error(request, _("Give the minutes, from 0 to 600, and a reason."))
    return redirect(reverse("annotation:done", args=[assignment.task.study.slug]) + "#answers")
