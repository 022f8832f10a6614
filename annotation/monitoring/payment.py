"""Hours and money owed to raters, and whether a lead should look at a participation before paying it.

A rater is paid for what they gave, whether or not it counts in results: every answer once, repeats, quality checks and
practice included. A task that was undone and answered again is one answer, and open and skipped tasks are none. Time is
the active time that was measured or, where the rater corrected it, the latest correction, as on the rater's own page.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _, ngettext

from accounts.models import Event, User
from annotation.models import (
    COUNTED,
    GIVEN,
    Assignment,
    BonusBatch,
    BonusPayment,
    Cohort,
    Rater,
    Standing,
    Study,
    TimeCorrection,
)
from annotation.monitoring.checks import fails_checks
from annotation.monitoring.progress import checks_by_rater
from annotation.policies.policies import Policies
from annotation.recruitment.minimum import MinimumPart, minimum_of, shortfalls

CENT = Decimal("0.01")
SET_ASIDE = Q(status__in=[Assignment.Status.EXCLUDED, Assignment.Status.SURPLUS])
"""Given but not counted in results: excluded by a lead, surplus, or too late."""


class Decision(StrEnum):
    """What is suggested to a lead, who decides."""

    APPROVE = "approve"
    REVIEW = "review"
    REJECT = "reject"
    NOTHING = "nothing to pay"


@dataclass(frozen=True)
class Pay:
    """What is paid: `amount` for an hour of work or for a task; None where nothing is stated. `by_cohort`: the cohort
    states it, otherwise the study does."""

    amount: Decimal | None
    per: str
    currency: str
    by_cohort: bool

    def owed(self, answers: int, seconds: float) -> Decimal | None:
        """The money for so much work, to the cent."""
        if self.amount is None:
            return None
        work = Decimal(answers) if self.per == Cohort.PayPer.TASK else Decimal(str(round(seconds, 3))) / 3600
        return (self.amount * work).quantize(CENT, ROUND_HALF_UP)


@dataclass(frozen=True)
class BonusesSent:
    """Bonuses sent in one currency, '' where Prolific did not say which. Of `in_doubt` nobody knows whether it was sent."""

    currency: str
    amount: Decimal
    in_doubt: Decimal


@dataclass(frozen=True)
class RaterPayment:
    """One rater's work and pay. `aside` counts the answers among `answers` that are not in results.

    `platform_state` is the state of the rater's submission at Prolific when it was read last, '' where it never was.
    """

    rater: Rater
    pay: Pay
    answers: int
    seconds: float
    aside: int
    aside_seconds: float
    skipped: int
    submitted: datetime | None
    checks: int
    failed: int
    decision: Decision
    reason: str
    platform_state: str = ""
    bonuses: tuple[BonusesSent, ...] = ()

    @property
    def minutes(self) -> float:
        return self.seconds / 60

    @property
    def aside_minutes(self) -> float:
        return self.aside_seconds / 60

    @property
    def owed(self) -> Decimal | None:
        return self.pay.owed(self.answers, self.seconds)

    @property
    def owed_aside(self) -> Decimal | None:
        """The part of `owed` that is for answers that do not count in results."""
        return self.pay.owed(self.aside, self.aside_seconds)


@dataclass
class CohortPayment:
    """The raters of a cohort, or those without one (`cohort` is None), and their sums."""

    cohort: Cohort | None
    pay: Pay
    raters: list[RaterPayment] = field(default_factory=list)

    @property
    def answers(self) -> int:
        return sum(one.answers for one in self.raters)

    @property
    def aside(self) -> int:
        return sum(one.aside for one in self.raters)

    @property
    def hours(self) -> float:
        return sum(one.seconds for one in self.raters) / 3600

    @property
    def aside_hours(self) -> float:
        return sum(one.aside_seconds for one in self.raters) / 3600

    @property
    def owed(self) -> Decimal | None:
        """The sum of what is owed to each rater, each to the cent."""
        return self._sum(one.owed for one in self.raters)

    @property
    def owed_aside(self) -> Decimal | None:
        return self._sum(one.owed_aside for one in self.raters)

    @property
    def bonuses(self) -> list[BonusesSent]:
        """The bonuses of all its raters, one entry for each currency."""
        found: dict[str, BonusesSent] = {}
        for rater in self.raters:
            for one in rater.bonuses:
                before = found.get(one.currency, BonusesSent(one.currency, Decimal(0), Decimal(0)))
                found[one.currency] = BonusesSent(
                    one.currency, before.amount + one.amount, before.in_doubt + one.in_doubt
                )
        return list(found.values())

    def _sum(self, amounts: Iterable[Decimal | None]) -> Decimal | None:
        return None if self.pay.amount is None else sum((one for one in amounts if one is not None), Decimal(0))


def pay_of(study: Study, cohort: Cohort | None) -> Pay:
    """What the cohort states or, where it states nothing, the study's hourly pay."""
    expected = Policies.of(study).expected
    if cohort is not None and cohort.pay is not None and cohort.pay_per:
        return Pay(cohort.pay, cohort.pay_per, cohort.pay_currency or expected.currency, by_cohort=True)
    return Pay(expected.hourly_pay, Cohort.PayPer.HOUR, expected.currency, by_cohort=False)


def change_pay(cohort: Cohort, *, amount: Decimal | None, per: str, currency: str, by: User | None) -> None:
    """State what a cohort is paid, or nothing (None); logged."""
    before = {"pay": str(cohort.pay) if cohort.pay is not None else None, "per": cohort.pay_per}
    cohort.pay, cohort.pay_per = amount, per if amount is not None else ""
    cohort.pay_currency = currency if amount is not None else ""
    after = {"pay": str(amount) if amount is not None else None, "per": cohort.pay_per, "currency": cohort.pay_currency}
    with transaction.atomic():
        cohort.save(update_fields=["pay", "pay_per", "pay_currency"])
        Event.objects.create(
            workspace_id=cohort.study.workspace_id,
            actor=by,
            verb="change_pay",
            object_type="cohort",
            object_id=str(cohort.pk),
            before=before,
            after=after,
        )


def payments_of(study: Study, cohort: Cohort | None = None) -> list[CohortPayment]:
    """The payments of the study's cohorts, or of one cohort; raters by name. Six queries for any number of raters."""
    raters = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON)
    if cohort is not None:
        raters = raters.filter(cohort=cohort)
    work, checks, bonuses = _work(study), checks_by_rater(study), _bonuses(study)
    cohorts: list[Cohort] = [cohort] if cohort is not None else list(study.cohorts.select_related("prolific_study"))
    found: dict[int | None, CohortPayment] = {one.pk: CohortPayment(one, pay_of(study, one)) for one in cohorts}
    for rater in sorted(
        raters.select_related("standing", "identity", "participant"), key=lambda one: (one.name, one.pk)
    ):
        if rater.cohort_id not in found:
            found[rater.cohort_id] = CohortPayment(None, pay_of(study, None))
        group = found[rater.cohort_id]
        paid = _payment(study, rater, group.pay, work.get(rater.pk, {}), checks.get(rater.pk, (0, 0)))
        group.raters.append(replace(paid, bonuses=tuple(bonuses.get(rater.pk, ()))))
    return list(found.values())


def _work(study: Study) -> dict[int, dict[str, Any]]:
    """Each rater's answers and seconds, in all and of those set aside; corrections replace measured times."""
    given = Q(status__in=GIVEN)
    rows = (
        Assignment.objects.filter(rater__study=study)
        .order_by()
        .values("rater_id")
        .annotate(
            answers=Count("pk", filter=given),
            seconds=Coalesce(Sum("active_seconds", filter=given), 0.0),
            aside=Count("pk", filter=SET_ASIDE),
            aside_seconds=Coalesce(Sum("active_seconds", filter=SET_ASIDE), 0.0),
            skipped=Count("pk", filter=Q(status=Assignment.Status.SKIPPED)),
            submitted=Max("submitted_at", filter=given),
        )
    )
    found = {row["rater_id"]: dict(row) for row in rows}
    corrections = TimeCorrection.objects.filter(assignment__rater__study=study, assignment__status__in=GIVEN)
    columns = ("assignment_id", "assignment__rater_id", "assignment__status", "assignment__active_seconds", "seconds")
    latest = {row[0]: row[1:] for row in corrections.order_by("pk").values_list(*columns)}
    for rater, status, measured, seconds in latest.values():
        more = seconds - (measured or 0.0)
        found[rater]["seconds"] += more
        if status in (Assignment.Status.EXCLUDED, Assignment.Status.SURPLUS):
            found[rater]["aside_seconds"] += more
    return found


def _bonuses(study: Study) -> dict[int, list[BonusesSent]]:
    """What each rater was sent or may have been sent, by currency."""
    uncertain = Q(batch__state__in=[BonusBatch.State.PAYING, BonusBatch.State.UNCERTAIN])
    rows = BonusPayment.objects.filter(batch__study=study, batch__state__in=COUNTED).order_by("batch__currency")
    summed = rows.values_list("rater_id", "batch__currency").annotate(
        sent=Sum("minor"), in_doubt=Coalesce(Sum("minor", filter=uncertain), 0)
    )
    found: dict[int, list[BonusesSent]] = {}
    for rater, currency, total, in_doubt in summed:
        sent = BonusesSent(currency, Decimal(total).scaleb(-2), Decimal(in_doubt).scaleb(-2))
        found.setdefault(rater, []).append(sent)
    return found


def _payment(study: Study, rater: Rater, pay: Pay, work: Mapping[str, Any], checks: tuple[int, int]) -> RaterPayment:
    answers, skipped = work.get("answers", 0), work.get("skipped", 0)
    seconds, aside = work.get("seconds", 0.0), work.get("aside", 0)
    decision, reason = _suggested(study, rater, answers, skipped, seconds, aside, checks)
    participant = getattr(rater, "participant", None)
    return RaterPayment(
        rater=rater,
        pay=pay,
        answers=answers,
        seconds=seconds,
        aside=aside,
        aside_seconds=work.get("aside_seconds", 0.0),
        skipped=skipped,
        submitted=work.get("submitted"),
        checks=checks[0],
        failed=checks[1],
        decision=decision,
        reason=reason,
        platform_state=participant.submission_state if participant is not None else "",
    )


def _suggested(
    study: Study, rater: Rater, answers: int, skipped: int, seconds: float, aside: int, checks: tuple[int, int]
) -> tuple[Decision, str]:
    """The suggestion and its reasons. One check, or one excluded answer, never suggests a rejection."""
    of, failed = checks
    if not answers:
        return Decision.NOTHING, _("No answer was given.")
    said = {"failed": failed, "all": of}
    if fails_checks(failed, of):
        return Decision.REJECT, _("Failed %(failed)s of %(all)s checks, more than a careful rater would.") % said
    reasons = []
    standing = getattr(rater, "standing", None)
    if standing is not None and standing.state in (Standing.State.PAUSED, Standing.State.FAILED):
        reasons.append(_("The rater is stopped: %(state)s.") % {"state": standing.get_state_display()})
    minimum = minimum_of(study)
    if shortfalls(MinimumPart(answers, skipped, seconds / 60, (of - failed, of)), minimum):
        reasons.append(_("The minimum for completion is not reached."))
    if aside:
        told = ngettext("%(n)s answer does not count in results.", "%(n)s answers do not count in results.", aside)
        reasons.append(told % {"n": aside})
    if reasons:
        return Decision.REVIEW, " ".join(reasons)
    if not of:
        return Decision.APPROVE, _("Nothing speaks against it; no checks were answered.")
    return Decision.APPROVE, _("Nothing speaks against it; %(failed)s of %(all)s checks failed.") % said
