"""The dry run of a list of bonuses: who would get how much and why, and who would not. It changes nothing anywhere.

Prolific is asked which submissions there are, which of them are approved, and which bonuses it shows on them.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.bonuses.amounts import MOST_LINES, GivenAmount, for_answers, for_checks, for_owed, given_amounts, major
from annotation.bonuses.record import Allowance, Basis, Sent, allowance_of, already_sent, sent_to_raters
from annotation.models import Participant, ProlificStudy, Rater
from annotation.monitoring.payment import RaterPayment, payments_of
from annotation.prolific.client import Submission, bonuses_of, study_at_prolific, submissions_of
from annotation.prolific.studies import APPROVED
from annotation.recruitment.participants import keyed_hash
from core.errors import UserError

MOST_PAYMENTS = 500
AT_ONCE = 8
"""Requests to Prolific at the same time."""
CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True)
class BonusRequest:
    """What a lead asks for. Money is in minor units.

    `purpose` is what the bonus is for, in the lead's words. `text` are the given amounts. `with_unknown` takes in those for
    whom Prolific shows bonuses that are not in this record.
    """

    basis: str
    purpose: str
    text: str = ""
    above: int = 0
    each_minor: int = 0
    fewest: int = 5
    percent: int = 80
    amount_minor: int = 0
    with_unknown: bool = False

    @property
    def key(self) -> str:
        """What a bonus is paid for only once."""
        return f"{Basis.GIVEN}:{self.purpose.casefold()}"[:120] if self.basis == Basis.GIVEN else self.basis


@dataclass(frozen=True)
class Proposed:
    """One bonus that would be paid."""

    rater: Rater
    submission: str
    minor: int
    reason: dict[str, Any]
    already_minor: int
    shown: tuple[int, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """Who gets nothing, with the amount where there is one, and why."""

    who: str
    minor: int | None
    why: str


@dataclass(frozen=True)
class Proposal:
    """A list before anything is stored. `digest` changes with whatever a confirmation is bound to."""

    external_study: str
    currency: str
    bonuses: tuple[Proposed, ...]
    left_out: tuple[LeftOut, ...]
    allowance: Allowance
    digest: str

    @property
    def total(self) -> int:
        return sum(one.minor for one in self.bonuses)


@dataclass(frozen=True)
class _PaidPlace:
    """A rater's submission at Prolific, and how many of the rater's submissions there are approved."""

    rater: Rater
    submission: Submission
    approved: int


@dataclass(frozen=True)
class _Wish:
    """An amount for somebody, before it is known whether it can be paid."""

    who: str
    place: _PaidPlace | None
    minor: int | None
    reason: dict[str, Any]


def propose(attached: ProlificStudy, asked: BonusRequest) -> Proposal:
    """Return the list as it stands at this moment. Raises ProlificError and UserError."""
    study = attached.cohort.study
    details = study_at_prolific(attached.external_id)
    currency = _currency(details)
    places = _places(attached, submissions_of(attached.external_id))
    sent, allowance = sent_to_raters(study), allowance_of(study)
    if asked.basis == Basis.GIVEN:
        wishes = list(_given(asked, places))
    else:
        wishes = list(_by_rule(attached, asked, places, sent, currency, _reward(details)))
    bonuses, left_out = _sorted_out(wishes, asked, sent)
    if len(bonuses) > MOST_PAYMENTS:
        raise UserError(_("A list can have at most %(n)s bonuses. Divide it.") % {"n": MOST_PAYMENTS})
    payable, unknown = _with_shown(bonuses, asked, attached.external_id, sent)
    within, over = _within(payable, allowance.left)
    digest = _digest(attached, asked, currency, within)
    return Proposal(attached.external_id, currency, tuple(within), (*left_out, *unknown, *over), allowance, digest)


def shown_at_prolific(submissions: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the bonuses that Prolific shows on each submission, in minor units. Raises ProlificError."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {one: pool.submit(copy_context().run, bonuses_of, one) for one in submissions}
        return {one: tuple(answer.result()) for one, answer in asked.items()}


def _currency(details: dict[str, Any]) -> str:
    """The currency of the study at Prolific, '' where its answer does not say it."""
    for name in ("presentment_currency_code", "currency_code", "currency"):
        if CURRENCY.fullmatch(found := str(details.get(name, ""))):
            return found
    return ""


def _reward(details: dict[str, Any]) -> int | None:
    """What an approved submission is paid, in minor units; None where Prolific's answer does not say it."""
    reward = details.get("reward")
    if isinstance(reward, bool) or reward is None or not str(reward).removesuffix(".0").isdecimal():
        return None
    return int(str(reward).removesuffix(".0"))


def _places(attached: ProlificStudy, submissions: list[Submission]) -> dict[str, _PaidPlace]:
    """The place of each participant who is a rater, by the rater's name, the participant's id and the submission's id.

    Who was erased is not found: their pseudonym is no longer led back to the platform's id.
    """
    study = attached.cohort.study
    known = Participant.objects.filter(study=study, rater__identity__isnull=False).exclude(submission="")
    by_mark = {one.mark: one for one in known.select_related("rater")}
    by_participant: dict[str, list[Submission]] = {}
    for one in submissions:
        by_participant.setdefault(one.participant, []).append(one)
    found: dict[str, _PaidPlace] = {}
    for participant_id, own in by_participant.items():
        participant = by_mark.get(keyed_hash(study, "participant", f"prolific:{participant_id}"))
        if participant is None:
            continue

        def fit(one: Submission, current: str = participant.submission) -> tuple[bool, bool, str]:
            return one.status == APPROVED, keyed_hash(study, "submission", one.id) == current, one.id

        approved = sum(one.status == APPROVED for one in own)
        place = _PaidPlace(participant.rater, max(own, key=fit), approved)
        found |= dict.fromkeys((participant.rater.name, participant_id), place)
        found |= {one.id: _PaidPlace(participant.rater, one, approved) for one in own}
    return found


def _given(asked: BonusRequest, places: dict[str, _PaidPlace]) -> Iterator[_Wish]:
    amounts = given_amounts(asked.text)
    if not amounts:
        raise UserError(_("Enter at least one rater with an amount."))
    if len(amounts) > MOST_LINES:
        raise UserError(_("A list can have at most %(n)s lines. Divide it.") % {"n": MOST_LINES})
    for one in amounts:
        yield _Wish(_line(one), places.get(one.name), one.minor, {"code": "given"})


def _line(one: GivenAmount) -> str:
    return _("line %(n)s: %(name)s") % {"n": one.line, "name": one.name}


def _by_rule(
    attached: ProlificStudy,
    asked: BonusRequest,
    places: dict[str, _PaidPlace],
    sent: dict[int, Sent],
    currency: str,
    reward: int | None,
) -> Iterator[_Wish]:
    """A wish for each participant of the study at Prolific, from what the page of hours and pay says of them."""
    if asked.basis == Basis.HOURS and reward is None:
        raise UserError(_("Prolific did not say what it pays for a submission. Enter the amounts yourself."))
    by_rater = {place.rater.pk: places[place.rater.name] for place in places.values()}
    for group in payments_of(attached.cohort.study):
        for payment in group.raters:
            place = by_rater.get(payment.rater.pk)
            if place is None:
                continue
            if asked.basis == Basis.HOURS and (not currency or currency != payment.pay.currency):
                raise UserError(
                    _(
                        "The pay is stated in %(ours)s and the study at Prolific pays in %(theirs)s. Enter the amounts "
                        "yourself."
                    )
                    % {"ours": payment.pay.currency or "?", "theirs": currency or "?"}
                )
            minor, reason = _by_work(asked, payment, place, sent.get(payment.rater.pk), reward or 0)
            yield _Wish(payment.rater.name, place, minor, reason)


def _by_work(
    asked: BonusRequest, payment: RaterPayment, place: _PaidPlace, sent: Sent | None, reward: int
) -> tuple[int, dict[str, Any]]:
    """What the rule gives a rater beyond what it has sent before, and why."""
    already = already_sent(sent, asked.basis, asked.key)
    if asked.basis == Basis.ANSWERS:
        counted = payment.answers - payment.aside
        minor = for_answers(counted, asked.above, asked.each_minor)
        reason = {"code": "answers", "n": counted, "above": asked.above, "each": str(major(asked.each_minor))}
        return max(0, minor - already), reason
    if asked.basis == Basis.HOURS:
        paid = reward * place.approved
        owed = payment.owed
        minor = for_owed(owed, paid + already) if owed is not None else 0
        return minor, {
            "code": "hours",
            "owed": str(owed if owed is not None else "0.00"),
            "reward": str(major(paid)),
            "sent": str(major(already)),
        }
    checks = for_checks(
        payment.checks, payment.failed, fewest=asked.fewest, percent=asked.percent, amount_minor=asked.amount_minor
    )
    reason = {"code": "checks", "n": payment.checks, "passed": payment.checks - payment.failed}
    return max(0, checks - already), reason


def _sorted_out(
    wishes: list[_Wish], asked: BonusRequest, sent: dict[int, Sent]
) -> tuple[list[Proposed], list[LeftOut]]:
    bonuses: dict[int, Proposed] = {}
    left_out: list[LeftOut] = []
    for wish in wishes:
        before = sent.get(wish.place.rater.pk) if wish.place else None
        why = _why_not(wish, asked, before, taken=wish.place is not None and wish.place.rater.pk in bonuses)
        if why or wish.place is None or wish.minor is None:
            rater_name = wish.place.rater.name if wish.place else ""
            who = wish.who if rater_name in wish.who else f"{wish.who} ({rater_name})"
            left_out.append(LeftOut(who, wish.minor, why))
            continue
        already = already_sent(before, asked.basis, asked.key)
        rater = wish.place.rater
        bonuses[rater.pk] = Proposed(rater, wish.place.submission.id, wish.minor, wish.reason, already)
    return sorted(bonuses.values(), key=lambda one: (len(one.rater.name), one.rater.name, one.rater.pk)), left_out


def _why_not(wish: _Wish, asked: BonusRequest, sent: Sent | None, *, taken: bool) -> str:
    if wish.minor is None:
        return _("The amount is not a number with a point and at most two decimals, such as 1.50.")
    if wish.minor < 0:
        return _("The amount is negative.")
    if wish.place is None:
        return _("This is no participant of the study at Prolific who has joined here and was not erased.")
    if taken:
        return _("The rater is in the list twice; the first line counts.")
    if wish.place.submission.status != APPROVED:
        return _("The submission is not approved: %(state)s.") % {"state": wish.place.submission.status}
    if sent is not None and sent.in_doubt:
        return _("Nobody knows whether an earlier bonus was sent. Settle that list first.")
    if asked.basis == Basis.GIVEN and sent is not None and (already := sent.by_key.get(asked.key, 0)):
        return _("A bonus for this purpose has been sent before: %(sum)s.") % {"sum": major(already)}
    if not wish.minor:
        return _("There is nothing to pay.")
    return ""


def _with_shown(
    bonuses: list[Proposed], asked: BonusRequest, external_study: str, sent: dict[int, Sent]
) -> tuple[list[Proposed], list[LeftOut]]:
    """The bonuses with what Prolific shows on their submissions, without those of which this record knows too little."""
    shown = shown_at_prolific([one.submission for one in bonuses])
    payable, unknown = [], []
    for one in bonuses:
        found = replace(one, shown=shown[one.submission])
        before = sent.get(one.rater.pk)
        known = before.by_external_study.get(external_study, 0) if before else 0
        more = sum(found.shown) - known
        if more > 0 and not asked.with_unknown:
            why = _("Prolific shows bonuses of %(sum)s that are not in this record.") % {"sum": major(more)}
            unknown.append(LeftOut(one.rater.name, one.minor, why))
        else:
            payable.append(found)
    return payable, unknown


def _within(bonuses: list[Proposed], left: int) -> tuple[list[Proposed], list[LeftOut]]:
    """Those that the cap allows in their order, and the others."""
    within: list[Proposed] = []
    over: list[LeftOut] = []
    for one in bonuses:
        if one.minor <= left:
            within.append(one)
            left -= one.minor
        else:
            over.append(LeftOut(one.rater.name, one.minor, _("The cap of the study does not allow it.")))
    return within, over


def _digest(attached: ProlificStudy, asked: BonusRequest, currency: str, bonuses: list[Proposed]) -> str:
    rows = [[one.rater.pk, one.submission, one.minor, one.already_minor, list(one.shown)] for one in bonuses]
    exact = [attached.cohort_id, attached.external_id, asked.key, asked.purpose, currency, rows]
    return hashlib.sha256(json.dumps(exact).encode()).hexdigest()
