"""Crowd participants: one participant is one rater, and a browser must prove that it may continue as that rater.

A platform's participant id is not a credential, because every requester who ever worked with a person knows it. The
first browser that presents the id keeps a secret. Another browser may continue if the platform's signature is valid,
the id of the same submission is presented, the code of the first browser is entered, or the lead agrees. Ids and
secrets are stored as keyed hashes.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
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
"""A shorter submission id can be guessed and therefore proves nothing; those of the platforms have 24 and 30
characters.
"""
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
    """The code entered is wrong, used or expired, or too many browsers wait for the lead's answer.

    The message is for the person who asked.
    """


@dataclass(frozen=True)
class CrowdId:
    """A worker's id at the platform: the key that identifies the worker, and the other parameters of the link."""

    platform: str
    key: str
    particulars: dict[str, str]

    @property
    def submission(self) -> str:
        """The platform's id of this submission, or '' if the link has none."""
        name = {"prolific": "SESSION_ID", "mturk": "assignmentId"}[self.platform]
        return self.particulars.get(name, "")


def keyed_hash(study: Study, kind: str, text: str) -> str:
    """Return the stored form of an id or secret: a hash with the server's key, different in every study; '' for ''."""
    if not text:
        return ""
    named = f"{kind}:{study.pk}:{text}"
    return hmac.new(settings.SECRET_KEY.encode(), named.encode(), hashlib.sha256).hexdigest()


def participant_of(study: Study, crowd: CrowdId) -> Participant | None:
    """Return the participant with this id in the study, from any cohort; create the row for a participant from before."""
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
    except IntegrityError:  # another request created it at the same moment
        return known.select_related("study", "rater__standing", "rater__cohort").first()


def take_in(
    rater: Rater, crowd: CrowdId, cohort: Cohort | None, *, browser: str, clock: Clock | None = None
) -> Participant:
    """Bind a participant's id to the rater, the browser and the submission. Raises IntegrityError if it is taken."""
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
    """Return whether the link belongs to another submission or cohort than the current one, as far as both are known."""
    submission = keyed_hash(participant.study, "submission", crowd.submission)
    if submission and participant.submission:
        return submission != participant.submission
    return participant.cohort_id not in (None, cohort.pk)


def proof_of(participant: Participant, crowd: CrowdId, *, browser: str, signed: bool) -> Proof | None:
    """Return what proves, without a question, that this browser may continue as the participant, or None."""
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
    """Return whether the submission id is this participant's, too long to guess, and presented by nobody else."""
    submission = keyed_hash(participant.study, "submission", crowd.submission)
    if len(crowd.submission) < SHORTEST_SUBMISSION or submission != participant.submission:
        return False
    others = Participant.objects.filter(study=participant.study_id, submission=participant.submission)
    return not others.exclude(pk=participant.pk).exists()


def go_on(participant: Participant, crowd: CrowdId, cohort: Cohort, proof: Proof, *, clock: Clock) -> None:
    """Record that another browser continues, and begin the link's submission if it is new."""
    rater = participant.rater
    renewed = is_new_submission(participant, crowd, cohort)
    with transaction.atomic():
        if renewed:
            participant.submission = keyed_hash(participant.study, "submission", crowd.submission)
            participant.began_at, participant.cohort, participant.submission_state = clock(), cohort, ""
            participant.save(update_fields=["submission", "submission_state", "began_at", "cohort"])
            RaterIdentity.objects.filter(rater=rater).update(particulars=crowd.particulars)
        if proof is not Proof.BROWSER or renewed:
            _log(rater, None, "go_on", {"by": str(proof), "new_submission": renewed})


def in_this_submission(rater: Rater) -> Q:
    """Return a filter for the assignments that the rater finished in the current submission; all if there is none."""
    if rater.user_id is not None:  # an account is not a crowd participant, so there is nothing to look up
        return Q()
    participant = getattr(rater, "participant", None)
    began = participant.began_at if participant is not None else None
    return Q(submitted_at__gte=began) if began is not None else Q()


def is_of_earlier_submission(assignment: Assignment) -> bool:
    """Return whether the answer belongs to an earlier submission and is therefore not shown in this one."""
    participant = getattr(assignment.rater, "participant", None)
    began = participant.began_at if participant is not None else None
    given = assignment.submitted_at
    return began is not None and given is not None and bool(given < began)


def new_code(participant: Participant, *, clock: Clock) -> tuple[str, datetime]:
    """Return a code for another browser and the time until which it is valid; an earlier code becomes invalid."""
    code = "".join(secrets.choice(CODE_LETTERS) for _place in range(CODE_LENGTH))
    until = clock() + timedelta(minutes=CODE_MINUTES)
    Participant.objects.filter(pk=participant.pk).update(
        code=keyed_hash(participant.study, "code", code), code_until=until, code_tries=0
    )
    return f"{code[:4]}-{code[4:]}", until


def spend_code(participant: Participant, entered: str, *, clock: Clock) -> None:
    """Use the code of the first browser, which works once. Raises ProofRefused.

    Every attempt is counted before the code is checked.
    """
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
    """Return the request that this browser has sent to the lead, or None."""
    secret = keyed_hash(participant.study, "browser", browser)
    return participant.requests.filter(browser=secret).first() if secret else None


def ask_lead(participant: Participant, browser: str, *, clock: Clock) -> BrowserRequest:
    """Ask the lead to let this browser continue; asking again changes nothing. Raises ProofRefused."""
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
    except IntegrityError:  # two requests were sent at once
        return participant.requests.get(browser=keyed_hash(participant.study, "browser", browser))


def settle(request: BrowserRequest, *, admit: bool, by: User | None) -> bool:
    """Let a waiting browser continue as the rater or refuse it, and log this. Return False if it no longer waits."""
    state = BrowserRequest.State.ADMITTED if admit else BrowserRequest.State.REFUSED
    with transaction.atomic():
        waiting = BrowserRequest.objects.filter(pk=request.pk, state=BrowserRequest.State.WAITING)
        if not waiting.update(state=state):
            return False
        verb = "admit_browser" if admit else "refuse_browser"
        _log(request.participant.rater, by, verb, {"request": request.number})
    return True


def requests_waiting(study: Study) -> QuerySet[BrowserRequest]:
    """Return the browsers that wait for the lead's answer, with their raters."""
    waiting = BrowserRequest.objects.filter(participant__study=study, state=BrowserRequest.State.WAITING)
    return waiting.select_related("participant__rater")


def waiting_requests(study: Study) -> list[BrowserRequest]:
    """Return up to a hundred of them, the latest first; runs one query."""
    return list(requests_waiting(study).order_by("-at")[:100])


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
