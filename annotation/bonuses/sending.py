"""Sending a list of bonuses, once: set up at Prolific, confirmed by the lead, paid, and what is known of it afterwards.

Prolific's documentation says of its request to pay that it is not idempotent: the same payment asked for twice is paid
twice. So a list is asked for at most once, ever. It is PAYING in the database before the request leaves, and nothing
leads back from there: an answer of success makes it SENT, a refusal REFUSED, and everything else, a crash included, leaves
it uncertain. What is uncertain counts as spent, is shown as such, and is never sent again by anything. Only what Prolific
shows on the submissions, or a lead who looked there, settles it.

The states are moved by conditional updates, so that of two requests one moves them and the other finds that it did not.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import Event, User
from annotation.bonuses.amounts import major
from annotation.bonuses.proposals import BonusRequest, Proposal, propose, shown_at_prolific
from annotation.bonuses.record import IN_DOUBT, State, allowance_of, already_sent, sent_to_raters
from annotation.models import BonusBatch, BonusPayment, ProlificStudy, Study
from annotation.prolific.client import (
    ProlificError,
    ProlificRefused,
    is_prolific_set_up,
    pay_bonuses,
    set_up_bonuses,
    submissions_of,
)
from annotation.prolific.studies import APPROVED
from core.clock import Clock
from core.errors import UserError

logger = logging.getLogger(__name__)
SETTING_UP = timedelta(minutes=10)
CONFIRMABLE = timedelta(hours=1)
"""How long a list that was set up waits for its confirmation."""
ANSWERING = timedelta(minutes=5)
"""After so long no request to Prolific is under way any more."""
LOOKING = timedelta(days=1)
"""How long the sweep asks Prolific about an uncertain list."""


class ListChanged(UserError):
    """The list is not the one that the lead saw; `proposal` is the list as it stands."""

    def __init__(self, message: str, proposal: Proposal) -> None:
        super().__init__(message)
        self.proposal = proposal


def prepare(attached: ProlificStudy, asked: BonusRequest, digest: str, *, by: User, clock: Clock) -> BonusBatch:
    """Store the list that the lead saw (`digest`) and set it up at Prolific, which pays nothing.

    Raises ListChanged, ProlificError and UserError. Where Prolific refuses or sets up something
    else, the list is REFUSED: no money moves before `confirm`.
    """
    proposal = propose(attached, asked)
    if proposal.digest != digest:
        raise ListChanged(_("The list has changed since you saw it. Check it again."), proposal)
    if not proposal.bonuses:
        raise UserError(_("There is nothing to pay in this list."))
    batch = _store(attached, asked, proposal, by=by, clock=clock)
    try:
        payment = set_up_bonuses(attached.external_id, [(one.submission, one.minor) for one in proposal.bonuses])
    except ProlificError as error:
        _move(batch, State.PREPARING, State.REFUSED, clock, by=by, verb="bonuses_refused", problem=str(error))
        raise
    if payment.study != attached.external_id or payment.amount != batch.total_minor:
        problem = _("Prolific set up another sum than was asked for. Nothing was sent.")
        _move(batch, State.PREPARING, State.REFUSED, clock, by=by, verb="bonuses_refused", problem=problem)
        raise UserError(problem)
    try:
        held: dict[str, Any] = {"external_id": payment.id, "charged": payment.charged}
        moved = _move(batch, State.PREPARING, State.PREPARED, clock, by=by, verb="prepare_bonuses", **held)
    except IntegrityError:
        problem = _("Prolific gave the ID of another payment. Nothing was sent.")
        _move(batch, State.PREPARING, State.REFUSED, clock, by=by, verb="bonuses_refused", problem=problem)
        raise UserError(problem) from None
    if not moved:
        raise UserError(_("Setting up took too long. Nothing was sent; begin again."))
    return batch


def _store(attached: ProlificStudy, asked: BonusRequest, proposal: Proposal, *, by: User, clock: Clock) -> BonusBatch:
    now = clock()
    with transaction.atomic():
        batch = BonusBatch.objects.create(
            study=attached.cohort.study,
            cohort=attached.cohort,
            external_study=attached.external_id,
            basis=asked.basis,
            key=asked.key,
            purpose=asked.purpose,
            currency=proposal.currency,
            total_minor=proposal.total,
            made_at=now,
            made_by=by,
            changed_at=now,
        )
        BonusPayment.objects.bulk_create(
            BonusPayment(
                batch=batch,
                rater=one.rater,
                submission=one.submission,
                minor=one.minor,
                reason=one.reason,
                already_minor=one.already_minor,
                shown=list(one.shown),
            )
            for one in proposal.bonuses
        )
    return batch


def confirm(batch: BonusBatch, typed_minor: int | None, *, by: User, clock: Clock) -> BonusBatch:
    """Send the list: the lead who set it up has typed its total, in minor units. Returns it with its new state.

    Everything that the list rests on is looked at again; where it changed, the list is dropped. Raises UserError and
    ProlificError before anything is sent, and nothing afterwards: the state says what became of it.
    """
    _check_confirmable(batch, typed_minor, by=by, clock=clock)
    payments = list(batch.payments.all())
    if change := _changed_at_prolific(batch, payments):
        drop(batch, by=by, clock=clock, problem=change)
        raise UserError(change)
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=batch.study_id)
        change = _changed_here(batch, payments, study)
        if not change:
            confirmed: dict[str, Any] = {"confirmed_at": clock(), "confirmed_by": by}
            moved = _move(batch, State.PREPARED, State.PAYING, clock, by=by, verb="confirm_bonuses", **confirmed)
            if not moved:
                batch.refresh_from_db()
                return batch
    if change:
        drop(batch, by=by, clock=clock, problem=change)
        raise UserError(change)
    _pay(batch, by=by, clock=clock)
    return batch


def _check_confirmable(batch: BonusBatch, typed_minor: int | None, *, by: User, clock: Clock) -> None:
    if batch.state != State.PREPARED:
        raise UserError(
            _("This list cannot be confirmed. Its state: %(state)s.") % {"state": batch.get_state_display()}
        )
    if batch.made_by_id != by.pk:
        raise UserError(_("Only the lead who set up this list can confirm it."))
    if batch.changed_at < clock() - CONFIRMABLE:
        problem = _("The list waited for longer than an hour. Begin again.")
        drop(batch, by=by, clock=clock, problem=problem)
        raise UserError(problem)
    if typed_minor != batch.total_minor:
        raise UserError(_("This is not the total of the list. Nothing was sent."))


def _changed_at_prolific(batch: BonusBatch, payments: Sequence[BonusPayment]) -> str:
    """What is not as it was when the list was made, in a sentence; '' where all is. Raises ProlificError."""
    if any(not one.submission for one in payments):
        return _("The data of a rater in the list were erased. The list was dropped.")
    states = {one.id: one.status for one in submissions_of(batch.external_study)}
    if any(states.get(one.submission) != APPROVED for one in payments):
        return _("A submission in the list is no longer approved. The list was dropped.")
    shown = shown_at_prolific([one.submission for one in payments])
    if any(list(shown[one.submission]) != one.shown for one in payments):
        return _("Prolific shows other bonuses than when the list was made. The list was dropped.")
    return ""


def _changed_here(batch: BonusBatch, payments: Sequence[BonusPayment], study: Study) -> str:
    """The same of our own record, with the study locked."""
    allowance, sent = allowance_of(study), sent_to_raters(study)
    others = BonusBatch.objects.filter(external_study=batch.external_study, state=State.PAYING)
    if others.exists():
        return _("Another list is being sent to this study at Prolific. The list was dropped; begin again later.")
    for one in payments:
        before = sent.get(one.rater_id)
        in_doubt = before is not None and before.in_doubt
        if in_doubt or already_sent(before, batch.basis, batch.key) != one.already_minor:
            return _("Bonuses were sent to a rater of the list in the meantime. The list was dropped.")
    if batch.total_minor > allowance.left:
        return _("The cap of the study no longer allows this list. The list was dropped.")
    return ""


def _pay(batch: BonusBatch, *, by: User, clock: Clock) -> None:
    """Ask Prolific to pay, once. The list is PAYING; whoever ends this process leaves it so, which counts as uncertain."""
    try:
        pay_bonuses(batch.external_id)
    except ProlificRefused as error:
        _move(batch, State.PAYING, State.REFUSED, clock, by=by, verb="bonuses_refused", problem=str(error))
    except ProlificError as error:
        _move(batch, State.PAYING, State.UNCERTAIN, clock, by=by, verb="bonuses_uncertain", problem=str(error))
    else:
        # Others may have called it uncertain, or not paid, while the answer was on its way.
        for state in (*IN_DOUBT, State.FOUND_UNPAID):
            if _move(batch, state, State.SENT, clock, by=by, verb="bonuses_sent"):
                break


def drop(batch: BonusBatch, *, by: User | None, clock: Clock, problem: str = "") -> bool:
    """Give up a list that was not confirmed; return False if it is none."""
    return any(
        _move(batch, state, State.DROPPED, clock, by=by, verb="drop_bonuses", problem=problem)
        for state in (State.PREPARED, State.PREPARING)
    )


def settle(batch: BonusBatch, *, paid: bool, by: User, clock: Clock) -> bool:
    """Store what a lead found at Prolific about an uncertain list; return False if it is none.

    A list that was not paid is never sent: its raters can be in another list. It goes on counting against the cap.
    """
    mark_abandoned(batch, clock)
    found = State.FOUND_PAID if paid else State.FOUND_UNPAID
    return _move(batch, State.UNCERTAIN, found, clock, by=by, verb="settle_bonuses", problem="")


def look(batch: BonusBatch, clock: Clock, *, by: User | None = None) -> bool:
    """Ask Prolific about an uncertain list: where every submission shows the bonus, it was sent. Raises ProlificError.

    A bonus that is not shown proves nothing, because Prolific pays some minutes later.
    """
    payments = [one for one in batch.payments.all() if one.submission]
    shown = shown_at_prolific([one.submission for one in payments])
    there = sum(_is_shown(one, shown[one.submission]) for one in payments)
    if payments and there == batch.payments.count():
        return _move(batch, State.UNCERTAIN, State.SENT, clock, by=by, verb="bonuses_sent", problem="")
    problem = _("Prolific shows %(n)s of %(all)s bonuses of this list.") % {"n": there, "all": batch.payments.count()}
    BonusBatch.objects.filter(pk=batch.pk, state=State.UNCERTAIN).update(problem=problem[:300])
    return False


def _is_shown(payment: BonusPayment, shown: Sequence[int]) -> bool:
    return bool((Counter(shown) - Counter(payment.shown))[payment.minor])


def mark_abandoned(batch: BonusBatch, clock: Clock) -> bool:
    """Call a list uncertain that has been PAYING for longer than any request takes."""
    if batch.state != State.PAYING or batch.changed_at > clock() - ANSWERING:
        return False
    problem = _("The program ended while the list was sent.")
    return _move(batch, State.PAYING, State.UNCERTAIN, clock, by=None, verb="bonuses_uncertain", problem=problem)


def sweep(clock: Clock) -> None:
    """Drop what was never confirmed, mark what was abandoned, and ask Prolific about what is uncertain. Sends nothing."""
    unconfirmed = BonusBatch.objects.filter(state=State.PREPARING, changed_at__lt=clock() - SETTING_UP)
    unconfirmed |= BonusBatch.objects.filter(state=State.PREPARED, changed_at__lt=clock() - CONFIRMABLE)
    for batch in unconfirmed.select_related("study"):
        drop(batch, by=None, clock=clock)
    for batch in BonusBatch.objects.filter(state=State.PAYING).select_related("study"):
        mark_abandoned(batch, clock)
    if not is_prolific_set_up():
        return
    lately = BonusBatch.objects.filter(state=State.UNCERTAIN, confirmed_at__gt=clock() - LOOKING)
    for batch in lately.select_related("study"):
        try:
            look(batch, clock)
        except ProlificError as error:
            logger.warning("Prolific: %s", error)


def _move(
    batch: BonusBatch,
    before: str,
    after: str,
    clock: Clock,
    *,
    by: User | None,
    verb: str,
    problem: str = "",
    **held: Any,
) -> bool:
    """Move the list from one state to the next, with its event; return False if it was not in the first."""
    with transaction.atomic():
        values = {"state": after, "changed_at": clock(), "problem": problem[:300], **held}
        if not BonusBatch.objects.filter(pk=batch.pk, state=before).update(**values):
            return False
        said: dict[str, Any] = {
            "list": batch.public_id,
            "total": f"{batch.currency} {major(batch.total_minor)}".strip(),
            "raters": batch.payments.count(),
            "payment": held.get("external_id") or batch.external_id,
        }
        Event.objects.create(
            workspace_id=batch.study.workspace_id,
            actor=by,
            verb=verb,
            object_type="cohort",
            object_id=str(batch.cohort_id),
            before={"state": str(before)},
            after={"state": str(after), **said},
        )
    for name, value in values.items():
        setattr(batch, name, value)
    return True
