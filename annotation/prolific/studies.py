"""A cohort's study at Prolific: draft or attach it, free what left submissions hold, approve and reject."""

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import Event, User
from annotation.models import Cohort, Participant, ProlificStudy, Rater, Seat
from annotation.prolific.client import (
    ProlificError,
    Submission,
    approve,
    create_draft,
    is_prolific_set_up,
    reject,
    study_at_prolific,
    submissions_of,
)
from annotation.recruitment.expected import part_of_one
from annotation.recruitment.participants import keyed_hash
from annotation.recruitment.platform_values import codes_of, prolific_link
from annotation.studies.life_cycle import release_rater
from core.clock import Clock

logger = logging.getLogger(__name__)
AWAITING = "AWAITING REVIEW"
APPROVED = "APPROVED"
LEFT = ("RETURNED", "TIMED-OUT")
CATEGORIES = (
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
)
MOST_PLACES = 10_000
SHORTEST_MESSAGE = 100
"""Characters that Prolific asks of the message of a rejection."""


@dataclass(frozen=True)
class Reviewed:
    """What became of a review: submissions that were done, that no longer waited, and refusals by Prolific."""

    done: int
    gone: int
    refused: list[str]


def draft_for(cohort: Cohort, *, address: str, places: int, by: User, clock: Clock) -> ProlificStudy:
    """Create a draft at Prolific for the cohort's entry link and remember it. Raises ProlificError.

    The draft is published by the lead at Prolific. The reward is in whole minor units of the currency of Prolific's account.
    """
    part = part_of_one(cohort.study)
    if not part.pay_minor or not part.minutes:
        raise ProlificError(
            _("State the hourly pay, and the number of tasks or of raters, in the study's setup first.")
        )
    _check_free(cohort)
    types = {"pass": "COMPLETED", "screened_out": "SCREENED_OUT"}  # nosec B105 # names of outcomes
    codes = [
        {"code": code, "code_type": types.get(outcome, "OTHER"), "actions": [{"action": "MANUALLY_REVIEW"}]}
        for outcome, code in codes_of(cohort).items()
    ]
    fields: dict[str, Any] = {
        "name": cohort.study.name,
        "internal_name": f"{cohort.study.slug} {cohort.name}"[:100],
        "description": cohort.study.name,
        "external_study_url": prolific_link(address),
        "prolific_id_option": "url_parameters",
        "completion_codes": codes,
        "estimated_completion_time": part.minutes,
        "reward": part.pay_minor,
        "total_available_places": places,
    }
    return _remember(cohort, create_draft(fields), "draft_prolific_study", by=by, clock=clock)


def attach(cohort: Cohort, study_id: str, *, address: str, by: User, clock: Clock) -> ProlificStudy:
    """Attach a study of the operator's account whose study URL is the cohort's entry link. Raises ProlificError.

    The URL is what shows that the study is this lead's: the token reads every study of the account.
    """
    _check_free(cohort)
    found = study_at_prolific(study_id)
    if str(found.get("external_study_url", "")).partition("?")[0] != address:
        raise ProlificError(_("This study at Prolific does not lead to the entry link of this cohort."))
    return _remember(cohort, study_id, "attach_prolific_study", by=by, clock=clock)


def _check_free(cohort: Cohort) -> None:
    if ProlificStudy.objects.filter(cohort=cohort).exists():
        raise ProlificError(_("This cohort has a study at Prolific already."))


def _remember(cohort: Cohort, study_id: str, verb: str, *, by: User, clock: Clock) -> ProlificStudy:
    with transaction.atomic():
        made, _new = ProlificStudy.objects.get_or_create(
            cohort=cohort, defaults={"external_id": study_id, "made_at": clock()}
        )
        _log(cohort, by, verb, {"study": study_id})
    return made


def free_left(attached: ProlificStudy, submissions: Collection[Submission]) -> int:
    """Free the slots held for submissions that were returned or timed out; return how many slots that were."""
    study = attached.cohort.study
    marks = [keyed_hash(study, "submission", one.id) for one in submissions if one.status in LEFT]
    freed = 0
    for start in range(0, len(marks), 500):
        gone = Participant.objects.filter(study=study, submission__in=marks[start : start + 500]).values("rater")
        held = Seat.objects.filter(study=study, state=Seat.State.HELD, holder__in=gone)
        for rater in Rater.objects.filter(pk__in=held.values("holder")).order_by("pk"):
            freed += release_rater(study, rater.pk, by=None)
    return freed


def keep_states(attached: ProlificStudy, submissions: Collection[Submission]) -> None:
    """Store the state of each participant's current submission, for the page of hours and pay."""
    study = attached.cohort.study
    by_state: dict[str, list[str]] = {}
    for one in submissions:
        by_state.setdefault(one.status[:30], []).append(keyed_hash(study, "submission", one.id))
    for state, marks in by_state.items():
        for start in range(0, len(marks), 500):
            mine = Participant.objects.filter(study=study, submission__in=marks[start : start + 500])
            mine.exclude(submission_state=state).update(submission_state=state)


def sweep(clock: Clock) -> int:
    """Free what left submissions hold, in every attached study; return how many slots that were."""
    if not is_prolific_set_up():
        return 0
    freed = 0
    for attached in ProlificStudy.objects.select_related("cohort__study__workspace").order_by("pk"):
        try:
            submissions = submissions_of(attached.external_id)
            keep_states(attached, submissions)
            freed += free_left(attached, submissions)
            problem = ""
        except ProlificError as error:
            logger.warning("Prolific: %s", error)
            problem = str(error)[:300]
        ProlificStudy.objects.filter(pk=attached.pk).update(looked_at=clock(), problem=problem)
    return freed


def review(
    attached: ProlificStudy, chosen: Collection[str], action: str, *, by: User, category: str = "", message: str = ""
) -> Reviewed:
    """Approve or reject ("approve", "reject") those of the chosen submissions that still wait. Raises ProlificError.

    Prolific's own list decides: an id that is not of this study or no longer awaits review is left alone, so that
    sending the form again does nothing.
    """
    if action == "reject" and (category not in CATEGORIES or len(message) < SHORTEST_MESSAGE):
        raise ProlificError(
            _("Choose a reason, and write at least %(n)s characters to the participant.") % {"n": SHORTEST_MESSAGE}
        )
    known = {one.id: one for one in submissions_of(attached.external_id)}
    waiting = {one.id for one in known.values() if one.status == AWAITING}
    done, refused = [], []
    for submission in sorted(waiting & set(chosen)):
        try:
            if action == "approve":
                approve(submission)
            else:
                reject(submission, category=category, message=message)
        except ProlificError as error:
            refused.append(f"{submission}: {error}")
        else:
            done.append(submission)
    state = APPROVED if action == "approve" else "REJECTED"
    keep_states(attached, [replace(known[submission], status=state) for submission in done])
    _log(attached.cohort, by, f"{action}_submissions", {"count": len(done), "refused": len(refused)})
    return Reviewed(len(done), len(set(chosen) - waiting), refused)


def _log(cohort: Cohort, by: User, verb: str, after: dict[str, Any]) -> None:
    Event.objects.create(
        workspace_id=cohort.study.workspace_id,
        actor=by,
        verb=verb,
        object_type="cohort",
        object_id=str(cohort.pk),
        after=after,
    )
