"""What the record says of bonuses: the cap, what counts as sent, and the words for why a bonus is paid."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.utils.translation import gettext as _, ngettext

from accounts.models import User
from annotation.models import AGAINST_CAP, COUNTED, BonusBatch, BonusCap, BonusPayment, Study
from annotation.studies.life_cycle import log_event
from core.clock import Clock

State = BonusBatch.State
Basis = BonusBatch.Basis
IN_DOUBT = (State.PAYING, State.UNCERTAIN)


@dataclass(frozen=True)
class Allowance:
    """What a study may send, in minor units: by the operator, by its lead (None where none is set), and what is spent."""

    operator: int
    lead: int | None
    spent: int

    @property
    def cap(self) -> int:
        return min(self.operator, self.lead or 0)

    @property
    def left(self) -> int:
        return max(0, self.cap - self.spent)


@dataclass
class Sent:
    """What counts as sent to one rater, in minor units. `in_doubt`: for part of it nobody knows whether it was."""

    by_key: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_external_study: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    total: int = 0
    in_doubt: int = 0


def allowance_of(study: Study) -> Allowance:
    """Return the caps of a study and what counts against them: all that was sent or may have been, whatever its currency."""
    spent = BonusBatch.objects.filter(study=study, state__in=AGAINST_CAP).aggregate(total=Sum("total_minor"))["total"]
    lead = BonusCap.objects.filter(study=study).values_list("minor", flat=True).first()
    return Allowance(100 * int(settings.BONUS_CAP), lead, spent or 0)


def change_cap(study: Study, minor: int, *, by: User, clock: Clock) -> None:
    """Set the lead's cap; logged with the one before."""
    before = BonusCap.objects.filter(study=study).values_list("minor", flat=True).first()
    BonusCap.objects.update_or_create(study=study, defaults={"minor": minor, "changed_at": clock()})
    log_event(study, by, "change_bonus_cap", before={"minor_units": before}, after={"minor_units": minor})


def sent_to_raters(study: Study) -> dict[int, Sent]:
    """Return what counts as sent to each rater who got a bonus, by the rater's key; one query."""
    rows = BonusPayment.objects.filter(batch__study=study, batch__state__in=COUNTED).order_by("pk")
    found: dict[int, Sent] = defaultdict(Sent)
    columns = ("rater_id", "minor", "batch__key", "batch__external_study", "batch__state")
    for rater, minor, key, external, state in rows.values_list(*columns):
        one = found[rater]
        one.by_key[key] += minor
        one.by_external_study[external] += minor
        one.total += minor
        one.in_doubt += minor if state in IN_DOUBT else 0
    return dict(found)


def already_sent(sent: Sent | None, basis: str, key: str) -> int:
    """What a list of this kind takes off a rater's amount: for what is owed all bonuses, otherwise those of its key."""
    if sent is None:
        return 0
    return sent.total if basis == Basis.HOURS else sent.by_key.get(key, 0)


def reason_words(reason: Mapping[str, Any]) -> str:
    """Return why a bonus is paid, in the reader's language."""
    match reason.get("code"):
        case "answers":
            told = ngettext(
                "%(n)s counted answer, %(each)s for each above %(above)s.",
                "%(n)s counted answers, %(each)s for each above %(above)s.",
                int(reason["n"]),
            )
            return told % reason
        case "hours":
            return _("%(owed)s owed, %(reward)s paid as the reward, %(sent)s as bonuses.") % reason
        case "checks":
            told = ngettext(
                "%(passed)s of %(n)s quality check passed.",
                "%(passed)s of %(n)s quality checks passed.",
                int(reason["n"]),
            )
            return told % reason
    return _("An amount that the lead gave.")
