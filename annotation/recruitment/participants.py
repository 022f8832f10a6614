"""Crowd participants: one participant is one rater, and what shows that a browser may go on as that rater.

A platform's participant id is no credential: every requester who ever worked with a person knows it. The first browser
that brings the id keeps a secret. Another browser goes on where the platform's signature holds, the same submission's id
comes with it, the first browser's code is entered, or the lead agrees. Ids and secrets are kept as keyed hashes.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from accounts.models import Event, User
from annotation.models import Assignment, BrowserRequest, Cohort, Participant, Rater, RaterIdentity, Study
from core.clock import Clock
from core.errors import UserError

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
CODE_MINUTES = 10
MOST_TRIES = 5
SHORTEST_SUBMISSION = 16
"""A shorter submission id can be guessed, so that it shows nothing; the platforms' own have 24 and 30 characters."""
MOST_REQUESTS = 5
REQUEST_HOURS = 48


class Proof(StrEnum):
    """What proves that a browser may continue as a rater."""

    BROWSER = "browser"
    SIGNATURE = "signature"
    SUBMISSION = "submission"
    CODE = "code"
    LEAD = "lead"


class ProofRefused(UserError):
    """The code entered is wrong, used or expired, or too many browsers wait for the lead's answer; the message is for the
    person who asked."""


@dataclass(frozen=True)
class CrowdId:
    """A worker as their platform names them: a key to recognise them by, and the rest of the link's parameters."""

    platform: str
    key: str
    particulars: dict[str, str]

    @property
    def submission(self) -> str:
        """The platform's id of this very submission, '' where the link lacks it."""
        name = {"prolific": "SESSION_ID", "mturk": "assignmentId"}[self.platform]
        return self.particulars.get(name, "")


def keyed_hash(study: Study, kind: str, text: str) -> str:
    """What is kept of an id or a secret: a hash with the server's key, another in every study; '' of nothing."""
    if not text:
        return ""
    named = f"{kind}:{study.pk}:{text}"
    return hmac.new(settings.SECRET_KEY.encode(), named.encode(), hashlib.sha256).hexdigest()


def participant_of(study: Study, crowd: CrowdId) -> Participant | None:
    """The participant of this id in the study, by whichever cohort they came in; those from before have it made here."""
    mark = keyed_hash(study, "participant", crowd.key)
    known = Participant.objects.filter(study=study, mark=mark)
    found = known.select_related("study", "rater__standing", "rater__cohort").first()
    if found is not None:
        return found
    identity = (
        RaterIdentity.objects.filter(rater__study=study, key=crowd.key).select_related("rater__study", "cohort").first()
    )
    if identity is None or Participant.objects.filter(rater=identity.rater).exists():
        return None
    before = CrowdId(crowd.platform, crowd.key, identity.particulars)
    try:
        with transaction.atomic():
            return take_in(identity.rater, before, identity.cohort, browser="")
    except IntegrityError:  # made by another request at this moment
        return known.select_related("study", "rater__standing", "rater__cohort").first()


def take_in(
    rater: Rater, crowd: CrowdId, cohort: Cohort | None, *, browser: str, clock: Clock | None = None
) -> Participant:
    """Bind a participant's id to the rater, the browser and the submission; raises IntegrityError where it is taken."""
    assert rater.study is not None
    return Participant.objects.create(
        study=rater.study,
        rater=rater,
        cohort=cohort,
        mark=keyed_hash(rater.study, "participant", crowd.key),
        submission=keyed_hash(rater.study, "submission", crowd.submission),
        browser=keyed_hash(rater.study, "browser", browser),
        began_at=clock() if clock else None,
    )


def is_new_submission(participant: Participant, crowd: CrowdId, cohort: Cohort) -> bool:
    """Whether the link is of another submission than the one under way, or by another cohort, as far as both are known."""
    submission = keyed_hash(participant.study, "submission", crowd.submission)
    if submission and participant.submission:
        return submission != participant.submission
    return participant.cohort_id not in (None, cohort.pk)


def proof_of(participant: Participant, crowd: CrowdId, *, browser: str, signed: bool) -> Proof | None:
    """What shows, before anything is asked, that this browser may go on as the participant; None where nothing does."""
    secret = keyed_hash(participant.study, "browser", browser)
    if secret and hmac.compare_digest(secret, participant.browser):
        return Proof.BROWSER
    if signed:
        return Proof.SIGNATURE
    if _is_same_submission(participant, crowd):
        return Proof.SUBMISSION
    admitted = participant.requests.filter(browser=secret, state=BrowserRequest.State.ADMITTED)
    return Proof.LEAD if secret and admitted.exists() else None


def _is_same_submission(participant: Participant, crowd: CrowdId) -> bool:
    """Whether the submission's id is this participant's, too long to guess, and not one that several came with."""
    submission = keyed_hash(participant.study, "submission", crowd.submission)
    if len(crowd.submission) < SHORTEST_SUBMISSION or submission != participant.submission:
        return False
    others = Participant.objects.filter(study=participant.study_id, submission=participant.submission)
    return not others.exclude(pk=participant.pk).exists()


def go_on(participant: Participant, crowd: CrowdId, cohort: Cohort, proof: Proof, *, clock: Clock) -> None:
    """Enter that another browser goes on, and begin the link's submission where it is a new one."""
    rater = participant.rater
    renewed = is_new_submission(participant, crowd, cohort)
    with transaction.atomic():
        if renewed:
            participant.submission = keyed_hash(participant.study, "submission", crowd.submission)
            participant.began_at, participant.cohort = clock(), cohort
            participant.save(update_fields=["submission", "began_at", "cohort"])
            RaterIdentity.objects.filter(rater=rater).update(particulars=crowd.particulars)
        if proof is not Proof.BROWSER or renewed:
            _log(rater, None, "go_on", {"by": str(proof), "new_submission": renewed})


def in_this_submission(rater: Rater) -> Q:
    """A filter for the assignments that the rater ended since the submission under way began; all without one."""
    if rater.user_id is not None:  # an account is no crowd participant: nothing to look up
        return Q()
    participant = getattr(rater, "participant", None)
    began = participant.began_at if participant is not None else None
    return Q(submitted_at__gte=began) if began is not None else Q()


def is_of_earlier_submission(assignment: Assignment) -> bool:
    """Whether the answer was given in an earlier submission of the participant's, and is not shown in this one."""
    participant = getattr(assignment.rater, "participant", None)
    began = participant.began_at if participant is not None else None
    given = assignment.submitted_at
    return began is not None and given is not None and bool(given < began)


def new_code(participant: Participant, *, clock: Clock) -> tuple[str, datetime]:
    """A code for another browser, and until when it works; an earlier one works no more."""
    code = "".join(secrets.choice(CODE_LETTERS) for _place in range(CODE_LENGTH))
    until = clock() + timedelta(minutes=CODE_MINUTES)
    Participant.objects.filter(pk=participant.pk).update(
        code=keyed_hash(participant.study, "code", code), code_until=until, code_tries=0
    )
    return f"{code[:4]}-{code[4:]}", until


def spend_code(participant: Participant, entered: str, *, clock: Clock) -> None:
    """Take the code that the first browser shows, once; raises ProofRefused. Every try is counted before it is looked at."""
    mine = Participant.objects.filter(pk=participant.pk)
    live = mine.exclude(code="").filter(code_until__gt=clock(), code_tries__lt=MOST_TRIES)
    if not live.update(code_tries=F("code_tries") + 1):
        raise ProofRefused(
            _("There is no valid code, or it has expired. Get a new one in the browser in which you began.")
        )
    typed = "".join(letter for letter in entered.upper() if letter in CODE_LETTERS)[:100]
    given = keyed_hash(participant.study, "code", typed)
    if not given or not mine.filter(code=given, code_until__gt=clock()).update(code="", code_until=None):
        raise ProofRefused(
            _("This code is incorrect. After %(n)s wrong attempts you need a new one.") % {"n": MOST_TRIES}
        )


def request_of(participant: Participant, browser: str) -> BrowserRequest | None:
    """What this browser has asked the lead for, where it has."""
    secret = keyed_hash(participant.study, "browser", browser)
    return participant.requests.filter(browser=secret).first() if secret else None


def ask_lead(participant: Participant, browser: str, *, clock: Clock) -> BrowserRequest:
    """Ask the lead to let this browser go on; raises ProofRefused. Asking again changes nothing."""
    before = request_of(participant, browser)
    if before is not None:
        return before
    participant.requests.filter(
        state=BrowserRequest.State.WAITING, at__lt=clock() - timedelta(hours=REQUEST_HOURS)
    ).delete()
    if participant.requests.filter(state=BrowserRequest.State.WAITING).count() >= MOST_REQUESTS:
        raise ProofRefused(
            _("Several requests for this participant are waiting for the lead. Contact the lead on your platform.")
        )
    try:
        with transaction.atomic():
            return BrowserRequest.objects.create(
                participant=participant,
                browser=keyed_hash(participant.study, "browser", browser),
                number=f"{secrets.randbelow(10_000):04d}",
                at=clock(),
            )
    except IntegrityError:  # asked twice at once
        return participant.requests.get(browser=keyed_hash(participant.study, "browser", browser))


def settle(request: BrowserRequest, *, admit: bool, by: User | None) -> bool:
    """Let a waiting browser go on as the rater, or refuse it; entered into the log. False where it waits no more."""
    state = BrowserRequest.State.ADMITTED if admit else BrowserRequest.State.REFUSED
    with transaction.atomic():
        waiting = BrowserRequest.objects.filter(pk=request.pk, state=BrowserRequest.State.WAITING)
        if not waiting.update(state=state):
            return False
        verb = "admit_browser" if admit else "refuse_browser"
        _log(request.participant.rater, by, verb, {"request": request.number})
    return True


def waiting_requests(study: Study) -> list[BrowserRequest]:
    """The browsers that wait for the lead's answer, the latest first; one query."""
    waiting = BrowserRequest.objects.filter(participant__study=study, state=BrowserRequest.State.WAITING)
    return list(waiting.select_related("participant__rater").order_by("-at")[:100])


def _log(rater: Rater, by: User | None, verb: str, after: dict[str, str | bool]) -> None:
    Event.objects.create(
        workspace_id=rater.workspace_id,
        actor=by,
        verb=verb,
        object_type="rater",
        object_id=rater.public_id,
        before=None,
        after=after,
    )
