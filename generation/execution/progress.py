"""The progress of a run: what every kind of run counts, and what follows from it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar, cast

from django.db.models import Count, IntegerField, Min, Model, OuterRef, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from core.clock import Clock
from core.messages.message import stored_text
from generation.llm.protocol.prices import MILLIONTH
from generation.run_fields import AnyRun

ERRORS_SHOWN = 8
LOOK_AGAIN = 2
COUNTING_SHARE = 20
"""The page waits this many times as long as counting took before it counts again."""

R = TypeVar("R", bound=Model)


@dataclass(frozen=True)
class CallsNow:
    """What the run's workers last reported: the calls under way, and when the next may be sent if a rate limit delays it.

    `asked`: the endpoint asked for the wait.
    """

    under_way: int = 0
    next_call_at: datetime | None = None
    asked: bool = False


def calls_now(run: AnyRun, clock: Clock) -> CallsNow:
    """Return the calls of the workers that are alive. A run waits for a rate limit while all of them do."""
    now = clock()
    shares = list(run.shares.filter(leased_until__gte=now).values_list("under_way", "next_call_at", "asked_to_wait"))
    waits = [(at, asked) for _under_way, at, asked in shares if at is not None and at > now]
    if not waits or len(waits) < len(shares):
        return CallsNow(sum(share[0] for share in shares))
    return CallsNow(sum(share[0] for share in shares), *min(waits))


@dataclass(frozen=True)
class RunProgress:
    """Counts of a run's rows. `settled` items no longer wait; workers hold the `busy` ones.

    errors are (message, count), most frequent first; money is in the unit of the prices; counting took `counted_in`
    seconds.
    """

    total: int
    settled: int
    busy: int
    calls_now: CallsNow
    errors: tuple[tuple[str, int], ...]
    calls: int
    input_tokens: int
    output_tokens: int
    money: Decimal
    counted_in: float

    @property
    def look_again(self) -> int:
        """Seconds after which the page of the run counts again: longer for a run of millions of items."""
        return max(LOOK_AGAIN, round(COUNTING_SHARE * self.counted_in))

    @property
    def waiting(self) -> int:
        return self.total - self.settled

    @property
    def percent(self) -> int:
        return 100 * self.settled // self.total if self.total else 100

    @property
    def projected_money(self) -> Decimal | None:
        """The cost of the whole run at the present rate; None before the first item is settled."""
        return self.money * self.total / self.settled if self.settled else None


def sums_of(rows: "QuerySet[Any]", *, written: str, **more: Any) -> dict[str, Any]:
    """Return the sums of rows that have a cost: tokens `read` and `written`, `money`, and the aggregates in `more`."""
    sums = rows.aggregate(
        read=Sum("input_tokens", default=0),
        written=Sum(written, default=0),
        money=Sum("cost", default=Decimal(0)),
        **more,
    )
    # SQLite adds up in binary fractions.
    return sums | {"money": Decimal(sums["money"]).quantize(MILLIONTH)}


def most_frequent(rows: "QuerySet[Any]") -> tuple[tuple[str, int], ...]:
    """Return the errors of these rows with their counts, the most frequent first."""
    errors = rows.exclude(error="").order_by().values("error").annotate(n=Count("pk"), of=Min("pk"))
    shown = list(errors.order_by("-n", "error")[:ERRORS_SHOWN])
    first = rows.model._default_manager.only("error", "error_json").in_bulk([row["of"] for row in shown])
    return tuple((stored_text(first[row["of"]], "error"), row["n"]) for row in shown)


def with_counts(runs: "QuerySet[R]", items: "QuerySet[Model]", waiting: str) -> "QuerySet[R]":
    """Annotate runs with `total` and `done`, the numbers of their `items` and of those that are not `waiting`.

    Subqueries count them: in a join, every item would carry the manifest of its run.
    """
    counted = runs.annotate(total=_count(items), done=_count(items.exclude(status=waiting)))
    return cast("QuerySet[R]", counted)


def _count(items: "QuerySet[Model]") -> Coalesce:
    counted = items.filter(run=OuterRef("pk")).order_by().values("run").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))
