"""What one rater of a study may expect: how many tasks, how long they take, and what is paid for them."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from math import ceil

from annotation.assignment.time_left import money, rounded_minutes, seconds_a_task
from annotation.models import Study
from annotation.policies.policies import Policies


@dataclass(frozen=True)
class ExpectedPart:
    """One rater's part of a study. `tasks` is None where nothing limits it; `seconds` is 0.0 where it is unknown.

    `shared`: the tasks are an equal share of all ratings, because the study sets no quota. `hourly_pay` is in units of
    `currency` (12.50), None where the study states none.
    """

    tasks: int | None
    shared: bool
    seconds: float
    hourly_pay: Decimal | None
    currency: str

    @property
    def minutes(self) -> int | None:
        """Whole minutes, rounded up as raters read them; None where they are unknown."""
        return rounded_minutes(self.seconds) if self.seconds else None

    @property
    def pay_minor(self) -> int | None:
        """The pay for the expected time in whole minor units (cents, pence); None where it is unknown."""
        if not self.hourly_pay or not self.seconds:
            return None
        return int((100 * self.hourly_pay * Decimal(self.seconds) / 3600).quantize(Decimal(1), ROUND_HALF_UP))

    @property
    def pay(self) -> str:
        """The pay for the expected time with its currency, or ''."""
        return money(Decimal(self.pay_minor) / 100, self.currency) if self.pay_minor is not None else ""


def part_of_one(study: Study) -> ExpectedPart:
    """Return what one rater may expect of the study."""
    policies = Policies.of(study)
    tasks, shared = policies.quota, False
    if tasks is None and policies.expected.raters:
        tasks, shared = ceil(study.seats.count() / policies.expected.raters), True
    seconds = tasks * seconds_a_task(study) if tasks else 0.0
    return ExpectedPart(tasks, shared, seconds, policies.expected.hourly_pay, policies.expected.currency)
