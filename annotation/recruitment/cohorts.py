"""Cohorts: the entry links by which raters join, their completion codes, and what is known about who joined.

A crowd worker's id, a nickname and an account's name stand in RaterIdentity, apart from every answer; erasing it
leaves the answers under their pseudonym.
"""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.members import changes
from accounts.models import Event, Membership, User
from annotation.assignment.rater_progress import Progress
from annotation.assignment.rater_status import ensure_standing, standing_of
from annotation.models import BonusPayment, Cohort, MailedInvitation, Rater, RaterIdentity, Standing, Study
from annotation.policies.policies import Minimum, Policies
from annotation.recruitment.join_limits import JOINS_AN_HOUR
from annotation.recruitment.minimum import lacks_tasks, minimum_of, part_of, shortfalls
from annotation.recruitment.participants import CODE_LETTERS, CrowdId, participant_of, take_in
from annotation.recruitment.participation import make_rater
from annotation.recruitment.signed_links import prolific_keys
from core.clock import Clock
from core.db.public_ids import new_public_id
from core.errors import UserError

CROWD_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONGEST_NICKNAME = 40
QUOTA_FULL = "quota_full"
OUTCOMES = ("pass", "fail", "screened_out", QUOTA_FULL, "too_little")
LONGEST_CODE = 40
UNFINISHED = ("pass", QUOTA_FULL, "too_little")
"""Outcomes that another task may still change."""
STAND_IN = {"quota_full": "screened_out", "too_little": "fail"}
"""Whose code is shown where a cohort has none for the outcome, as those from before have not."""
PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete"
MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"


class LinkClosed(UserError):
    """The invitation has expired or was withdrawn; the message is for the person who followed it."""


class NoCrowdId(UserError):
    """The parameters by which the crowd platform identifies its worker are missing from the link or damaged."""


class AlreadyIn(UserError):
    """This participant is already a rater of the study; the visitor must first prove that they are this participant."""


@dataclass(frozen=True)
class Completion:
    """The outcome of a crowd worker's participation, its completion code, and what is missing."""

    outcome: str
    code: str
    address: str
    lacking: tuple[str, ...] = ()


def crowd_id(parameters: Mapping[str, str]) -> CrowdId:
    """Identify the worker from Prolific's or MTurk's parameters. Raises NoCrowdId, also in a preview."""
    if parameters.get("assignmentId") == MTURK_PREVIEW:
        raise NoCrowdId(_("This is a preview. Accept the task on MTurk, then follow its link again."))
    layouts = {
        "prolific": ("PROLIFIC_PID", ("STUDY_ID", "SESSION_ID")),
        "mturk": ("workerId", ("assignmentId", "hitId")),
    }
    for platform, (worker, others) in layouts.items():
        named = parameters.get(worker, "")
        if not named:
            continue
        given = {name: parameters[name] for name in others if parameters.get(name)}
        if any(not CROWD_ID.fullmatch(value) for value in (named, *given.values())):
            raise NoCrowdId(_("The link from your platform is damaged. Open the study again from the platform's page."))
        return CrowdId(platform, f"{platform}:{named}", given)
    raise NoCrowdId(_("The link does not contain your participant ID. Open the study from the platform's page."))


def new_codes() -> dict[str, str]:
    """Draw a completion code for each outcome."""
    return {outcome: "".join(secrets.choice(CODE_LETTERS) for _place in range(8)) for outcome in OUTCOMES}


def make_cohort(
    study: Study,
    name: str,
    kind: str,
    *,
    consents: Mapping[str, str] | None = None,
    expires_at: datetime | None = None,
    joins_per_hour: int | None = JOINS_AN_HOUR,
    by: User | None = None,
) -> Cohort:
    """Create a cohort. Raises IntegrityError if the study already has a cohort of this name.

    `joins_per_hour` limits joining from one network address; None sets no limit. Raters on site may share one computer,
    so their entry link begins without a limit.
    """
    codes = new_codes() if kind == Cohort.Kind.CROWD else {}
    with transaction.atomic():
        cohort = Cohort.objects.create(
            study=study,
            name=name,
            kind=kind,
            consents=dict(consents or {}),
            codes=codes,
            expires_at=expires_at,
            joins_per_hour=None if kind == Cohort.Kind.ONSITE else joins_per_hour,
        )
        after = {"name": name, "kind": kind, "own_consent": bool(consents), **_door(cohort)}
        _log(cohort, by, "make_cohort", after=after)
    return cohort


def check_not_revoked(cohort: Cohort) -> None:
    """Raises LinkClosed where the lead took the link back: it answers nobody, who is in no more than who is new."""
    if cohort.revoked_at is not None:
        raise LinkClosed(
            _("This invitation has been withdrawn. If you expected to take part, ask the person who sent it.")
        )


def check_link(cohort: Cohort, *, clock: Clock) -> None:
    """Raise LinkClosed if nobody can join by the cohort's link any more."""
    check_not_revoked(cohort)
    if cohort.expires_at is not None and cohort.expires_at <= clock():
        raise LinkClosed(_("This invitation has expired. If you expected to take part, ask the person who sent it."))


def revoke_link(cohort: Cohort, *, clock: Clock, by: User | None) -> None:
    """Close the link to newcomers; raters who have joined stay."""
    before = _door(cohort)
    with transaction.atomic():
        Cohort.objects.filter(pk=cohort.pk, revoked_at=None).update(revoked_at=clock())
        cohort.refresh_from_db(fields=["revoked_at"])
        _log(cohort, by, "revoke_link", before=before, after=_door(cohort))


def renew_link(cohort: Cohort, *, expires_at: datetime | None, by: User | None) -> None:
    """Give the cohort a new address; the old one stops working."""
    before = _door(cohort)
    cohort.entry_token, cohort.revoked_at, cohort.expires_at = new_public_id(), None, expires_at
    with transaction.atomic():
        cohort.save(update_fields=["entry_token", "revoked_at", "expires_at"])
        _log(cohort, by, "renew_link", before=before, after=_door(cohort))


def change_codes(cohort: Cohort, codes: Mapping[str, str], *, by: User | None) -> None:
    """Give the cohort other completion codes."""
    before = dict(cohort.codes)
    cohort.codes = dict(codes)
    if cohort.codes == before:
        return
    with transaction.atomic():
        cohort.save(update_fields=["codes"])
        _log(cohort, by, "change_codes", before=before, after=cohort.codes)


def _door(cohort: Cohort) -> dict[str, Any]:
    """Whom the link lets in, for the log; never the link itself."""
    times = {"expires_at": cohort.expires_at, "revoked_at": cohort.revoked_at}
    return {name: at.isoformat(timespec="seconds") if at else None for name, at in times.items()}


def _log(
    cohort: Cohort,
    by: User | None,
    verb: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    Event.objects.create(
        workspace_id=cohort.study.workspace_id,
        actor=by,
        verb=verb,
        object_type="cohort",
        object_id=str(cohort.pk),
        before=dict(before) if before is not None else None,
        after=dict(after) if after is not None else None,
    )


def change_platform_workspace(cohort: Cohort, workspace: str, *, by: User | None) -> None:
    """Take in only whom Prolific's signature names, from studies of this Prolific workspace; '' takes in anybody.

    Raises UserError where this server has no keys to verify signatures.
    """
    before = cohort.platform_workspace
    try:
        if workspace:
            prolific_keys()
    except UserError as problem:
        raise UserError(
            _(
                "This server cannot verify signed links. Its operator must set PLUMBLINE_PROLIFIC_KEYS to the"
                " path of the file with Prolific's public keys."
            )
        ) from problem
    if workspace == before:
        return
    cohort.platform_workspace = workspace
    with transaction.atomic():
        cohort.save(update_fields=["platform_workspace"])
        names = {"before": {"prolific_workspace": before}, "after": {"prolific_workspace": workspace}}
        _log(cohort, by, "change_platform_workspace", **names)


def join(
    cohort: Cohort,
    *,
    consent: str,
    clock: Clock,
    user: User | None = None,
    crowd: CrowdId | None = None,
    nickname: str = "",
    browser: str = "",
) -> Rater:
    """Admit a person who agreed to `consent`: create a rater under a pseudonym and, separately, their identity.

    An account that has already joined stays the same rater. Raises AlreadyIn for a known participant, since their id
    alone does not prove who is asking.
    """
    study = cohort.study
    try:
        with transaction.atomic():
            rater = make_rater(study, user=user, cohort=cohort)
            if crowd:
                take_in(rater, crowd, cohort, browser=browser, clock=clock)
            if crowd or nickname or user:
                RaterIdentity.objects.create(
                    rater=rater,
                    cohort=cohort,
                    key=crowd.key if crowd else "",
                    particulars=crowd.particulars if crowd else {},
                    name=nickname.strip()[:LONGEST_NICKNAME] if not user else str(user)[:100],
                )
    except IntegrityError:
        known = Rater.objects.filter(study=study, user=user).first() if user else None
        if known is None and crowd is not None and participant_of(study, crowd) is not None:
            raise AlreadyIn from None
        if known is None:
            raise
        rater = known
        if rater.cohort_id is None:
            rater.cohort = cohort
            rater.save(update_fields=["cohort"])
    _note_consent(rater, study, consent, clock)
    return rater


def agree(cohort: Cohort, rater: Rater, *, consent: str, clock: Clock) -> None:
    """Record the consent of an existing rater of the study, who is not counted as new in the cohort."""
    if rater.cohort_id is None:
        rater.cohort = cohort
        rater.save(update_fields=["cohort"])
    _note_consent(rater, cohort.study, consent, clock)


def _note_consent(rater: Rater, study: Study, consent: str, clock: Clock) -> None:
    """Record once what the rater agreed to and when; a rater without training or qualification may rate at once."""
    standing = ensure_standing(rater)
    if standing.consented_at is None:
        standing.consented_at = clock()
        standing.consent_hash = hashlib.sha256(consent.encode()).hexdigest()
        policies = Policies.of(study)
        asks = policies.training or "qualification" in policies.stated
        if standing.state == Standing.State.JOINING and not asks:
            standing.state = Standing.State.RATING
        standing.save()


def turn_away(cohort: Cohort, crowd: CrowdId, *, browser: str, clock: Clock) -> Rater:
    """A place in the statistics for somebody who did not agree: a pseudonym, and a keyed hash of the platform's id.

    By the hash the same participant is known who comes again. Raises AlreadyIn as joining does.
    """
    try:
        with transaction.atomic():
            rater = make_rater(cohort.study, cohort=cohort)
            take_in(rater, crowd, cohort, browser=browser, clock=clock)
            standing = ensure_standing(rater)
            standing.state = Standing.State.SCREENED_OUT
            standing.save()
    except IntegrityError:
        if participant_of(cohort.study, crowd) is None:
            raise
        raise AlreadyIn from None
    return rater


def completion_of(rater: Rater, study: Study, progress: Progress, *, more: bool) -> Completion | None:
    """The completion code for a crowd worker; None for other raters, and while their work is not complete.

    Who was stopped gets the code of a failure at once, so that nobody waits for an appeal to be paid. A part that
    comes to less than the study's minimum has a code of its own, and another where the study had no more tasks.
    """
    participant = getattr(rater, "participant", None)
    cohort = participant.cohort if participant is not None and participant.cohort else rater.cohort
    if cohort is None or cohort.kind != Cohort.Kind.CROWD:
        return None
    standing = standing_of(rater)
    state = standing.state if standing else Standing.State.RATING
    lacking: list[str] = []
    if state == Standing.State.SCREENED_OUT:
        outcome = "screened_out"
    elif state in (Standing.State.FAILED, Standing.State.PAUSED):
        outcome = "fail"
    elif more:
        return None
    else:
        part = part_of(rater)
        minimum = _minimum_left(minimum_of(study), study, progress.submitted - part.answered)
        lacking = shortfalls(part, minimum)
        outcome = "pass"
        if lacking:
            outcome = "quota_full" if lacks_tasks(part, minimum) else "too_little"
        if lacking and study.status == Study.Status.PAUSED:
            return None
    return _completion(cohort, rater, outcome, lacking)


def _minimum_left(minimum: Minimum, study: Study, before: int) -> Minimum:
    """The minimum with no more answers than the quota left to this submission, after `before` in earlier ones."""
    quota = Policies.of(study).quota
    if minimum.answers is None or quota is None:
        return minimum
    return replace(minimum, answers=max(1, min(minimum.answers, quota - before)))


def _completion(cohort: Cohort, rater: Rater, outcome: str, lacking: list[str]) -> Completion | None:
    code = str(cohort.codes.get(outcome) or cohort.codes.get(STAND_IN.get(outcome, ""), ""))
    if not code:
        return None
    identity = RaterIdentity.objects.filter(rater=rater).first()
    prolific = identity is not None and identity.key.startswith("prolific:")
    address = f"{PROLIFIC_RETURN}?{urlencode({'cc': code})}" if prolific else ""
    return Completion(outcome, code, address, tuple(lacking))


def erase_identity(rater: Rater, *, by: User | None) -> bool:
    """Erase the rater's identity; their answers stay under the pseudonym. Returns False if nothing was known.

    A keyed hash of the platform's id stays, so that the same participant does not become a second rater.
    """
    with transaction.atomic():
        erased, _rows = RaterIdentity.objects.filter(rater=rater).delete()
        BonusPayment.objects.filter(rater=rater).update(submission="")
        mailed = MailedInvitation.objects.filter(rater=rater).exclude(address="", name="")
        erased += mailed.update(address="", name="", reason="")
        linked = Rater.objects.filter(pk=rater.pk, user__isnull=False).update(user=None)
        renamed = Rater.objects.filter(pk=rater.pk).exclude(pseudonym="").update(label=rater.pseudonym)
        if erased or linked:
            Event.objects.create(
                workspace_id=rater.workspace_id,
                actor=by,
                verb="erase_identity",
                object_type="rater",
                object_id=rater.public_id,
                before={"identity": bool(erased), "account": bool(linked)},
                after={"identity": False, "account": False, "renamed": bool(renamed)},
            )
    return bool(erased or linked)


def make_accounts(cohort: Cohort, names: list[str], *, by: User | None) -> tuple[list[changes.NewAccount], list[str]]:
    """Accounts for raters on site, members of the study's workspace, and the names that it has accounts of already.

    Nothing changes about an account that exists. Raises changes.PeopleRefused.
    """
    members = Membership.objects.filter(workspace_id=cohort.study.workspace_id)
    with transaction.atomic():
        before = members.count()
        made, known = changes.make_accounts(
            workspace=cohort.study.workspace, names=names, role=Membership.Role.RATER, by=by
        )
        after = {"accounts_made": len(made), "members": members.count()}
        _log(cohort, by, "make_accounts", before={"members": before}, after=after)
    return made, known
