"""The decision as whom a browser that follows an entry link may continue, and the pages that ask for proof.

A GET request changes nothing here: a link that is previewed, or opened by a page of another site, binds a browser to
nobody.
"""

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.models import Assignment, Cohort, Participant, Rater
from annotation.recruitment.participants import (
    CODE_MINUTES,
    CrowdId,
    Proof,
    ProofRefused,
    ask_lead,
    go_on,
    is_new_submission,
    new_code,
    participant_of,
    proof_of,
    request_of,
    spend_code,
)
from annotation.recruitment.participation import (
    browser_secret,
    end_sessions,
    is_coming,
    keep_secret,
    note_coming,
    rater_known,
    rater_page,
    raters_held,
    remember_rater,
    study_to_rate,
)
from annotation.recruitment.signed_links import PARAMETER, is_signed

PAGE = "annotation/other_browser.html"


@dataclass(frozen=True)
class Arrival:
    """A visitor at an entry link: what the link says about them, who is known by it, and who this browser is already."""

    request: HttpRequest
    cohort: Cohort
    crowd: CrowdId | None
    signed: bool = False
    held: list[Rater] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.request.get_full_path()

    @property
    def wants(self) -> str:
        """What a form of these pages asks for; '' for viewing and for the forms of the entry steps."""
        return self.request.POST.get("do", "") if self.request.method == "POST" else ""

    def page(self, step: str, status: int = 200, **context: Any) -> HttpResponse:
        study = self.cohort.study
        context |= {"step": step, "study": study, "cohort": self.cohort, "address": self.address}
        return render(self.request, PAGE, context, status=status)


def arrive(request: HttpRequest, cohort: Cohort, crowd: CrowdId | None) -> Arrival:
    """Return what is known about the visitor who follows the link."""
    signed = crowd is not None and is_signed(
        cohort, crowd, request.GET.get(PARAMETER, ""), host=request.get_host(), path=request.path
    )
    return Arrival(request, cohort, crowd, signed, raters_held(request, cohort.study))


def who_is_here(arrival: Arrival) -> HttpResponse | Rater | None:
    """Return the rater as whom this browser continues, None for a new one, or the page that asks first."""
    participant = participant_of(arrival.cohort.study, arrival.crowd) if arrival.crowd else None
    if arrival.crowd is None or participant is None:
        return _by_browser(arrival)
    return _by_platform(arrival, arrival.crowd, participant)


def _by_browser(arrival: Arrival) -> HttpResponse | Rater | None:
    """Handle a visitor without a known platform id, by the raters of this browser or account."""
    request, cohort = arrival.request, arrival.cohort
    rater = next(iter(arrival.held), None)
    if arrival.crowd is None and cohort.kind != Cohort.Kind.CROWD:
        rater = rater_known(request, cohort.study)
    if arrival.wants == "anew":
        return _begin_anew(arrival, rater)
    if rater is None:
        return None
    if arrival.wants == "continue":
        return _in(arrival, rater)
    if is_coming(request, rater) or (request.method == "POST" and arrival.crowd is None):
        return rater
    return arrival.page("choose", rater=rater)


def _begin_anew(arrival: Arrival, rater: Rater | None) -> HttpResponse:
    """End the sessions of this browser and of the account in the study, and redirect to the entry link."""
    request = arrival.request
    onsite = arrival.cohort.kind == Cohort.Kind.ONSITE
    if request.user.is_authenticated and (onsite or (rater is not None and rater.user_id is not None)):
        logout(request)
    response = redirect_to_login(arrival.address) if onsite else redirect(arrival.address)
    return end_sessions(request, response, arrival.held)


def _by_platform(arrival: Arrival, crowd: CrowdId, participant: Participant) -> HttpResponse | Rater:
    """Handle a known participant: let them continue as their rater if there is proof that it is they."""
    rater = participant.rater
    renewed = is_new_submission(participant, crowd, arrival.cohort)
    if rater in arrival.held and not renewed:
        return rater
    secret = browser_secret(arrival.request)
    proof = Proof.BROWSER if rater in arrival.held else None
    proof = proof or proof_of(participant, crowd, browser=secret, signed=arrival.signed)
    if proof is None:
        return _ask_for_proof(arrival, crowd, participant, secret)
    if arrival.wants == "continue":
        return _admit(arrival, crowd, participant, proof)
    others = [one for one in arrival.held if one != rater]
    return arrival.page("go_on", rater=rater, renewed=renewed, others=others, proof=str(proof))


def _ask_for_proof(arrival: Arrival, crowd: CrowdId, participant: Participant, secret: str) -> HttpResponse:
    """Return a page that says what to do until there is proof, and nothing else."""
    asked, wrong = request_of(participant, secret), ""
    try:
        if arrival.wants == "code":
            spend_code(participant, arrival.request.POST.get("code", ""), clock=timezone.now)
            return _admit(arrival, crowd, participant, Proof.CODE)
        if arrival.wants == "ask" and secret:
            ask_lead(participant, secret, clock=timezone.now)
            return redirect(arrival.address)
    except ProofRefused as problem:
        wrong = str(problem)
    response = arrival.page("prove", status=403, asked=asked, wrong=wrong, minutes=CODE_MINUTES)
    return response if secret else keep_secret(response)


def _admit(arrival: Arrival, crowd: CrowdId, participant: Participant, proof: Proof) -> HttpResponse:
    go_on(participant, crowd, arrival.cohort, proof, clock=timezone.now)
    return _in(arrival, participant.rater)


def _in(arrival: Arrival, rater: Rater) -> HttpResponse:
    """Let the browser continue as this rater of the study and no other, to the next entry step or to their page."""
    begun = Assignment.objects.filter(rater=rater).exists()
    own_page = reverse("annotation:done", args=[arrival.cohort.study])
    response = note_coming(redirect(own_page if begun else arrival.address), rater, arrival.address)
    if rater.user_id is not None:
        return response
    others = [one.public_id for one in arrival.held if one != rater]
    return remember_rater(arrival.request, response, rater, forget=others)


@rater_page
@never_cache
@require_POST
def other_browser(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a code by which this rater can continue in another browser."""
    study = study_to_rate(request, slug)
    rater = rater_known(request, study)
    participant = getattr(rater, "participant", None)
    if rater is None or participant is None:
        raise Http404
    code, until = new_code(participant, clock=timezone.now)
    context = {"step": "code", "study": study, "code": code, "until": until, "minutes": CODE_MINUTES}
    return render(request, PAGE, context)


def refused_unsigned() -> str:
    """A message that says why an unsigned link is refused, and who can help."""
    return _(
        "This study accepts only links signed by Prolific. This link is unsigned, or its signature has expired. "
        "Open the study from Prolific again; if that does not help, contact the study's lead there."
    )
