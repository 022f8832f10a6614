"""How far a run is, of generation and of judging alike: what both count, and what follows from it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Min, QuerySet, Sum

from core.clock import Clock
from core.messages.message import stored_text
from generation.llm.protocol.prices import MILLIONTH
from generation.run_fields import AnyRun

ERRORS_SHOWN = 8
LOOK_AGAIN = 2
COUNTING_SHARE = 20
"""Times as long as counting takes before it is done again."""


@dataclass(frozen=True)
class CallsNow:
    """What the run's workers said of their calls when they last looked: how many are under way, and when the next may
    be sent where a rate limit holds it back; `asked`: because the endpoint asked for the wait."""

    under_way: int = 0
    next_call_at: datetime | None = None
    asked: bool = False


def calls_now(run: AnyRun, clock: Clock) -> CallsNow:
    """Of the workers that are alive. A run waits for a rate limit while each of them does."""
    now = clock()
    shares = list(run.shares.filter(leased_until__gte=now).values_list("under_way", "next_call_at", "asked_to_wait"))
    waits = [(at, asked) for _under_way, at, asked in shares if at is not None and at > now]
    if not waits or len(waits) < len(shares):
        return CallsNow(sum(share[0] for share in shares))
    return CallsNow(sum(share[0] for share in shares), *min(waits))


@dataclass(frozen=True)
class RunProgress:
    """Counted from rows. `settled` items wait no more, whatever came of them; `busy` ones some worker holds, of which
    those are under way that `calls_now` says.

    errors are (words, how often), most frequent first; money in the prices' unit; counting took `counted_in` seconds.
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
        """Seconds after which a page that follows the run counts anew: a run of millions is not counted all the time."""
        return max(LOOK_AGAIN, round(COUNTING_SHARE * self.counted_in))

    @property
    def waiting(self) -> int:
        return self.total - self.settled

    @property
    def percent(self) -> int:
        return 100 * self.settled // self.total if self.total else 100

    @property
    def projected_money(self) -> Decimal | None:
        """What the whole run will have cost at the present rate."""
        return self.money * self.total / self.settled if self.settled else None


def sums_of(rows: "QuerySet[Any]", *, written: str, **more: Any) -> dict[str, Any]:
    """Of rows that each cost something: tokens `read` and `written`, `money`, and whatever `more` is asked for."""
    sums = rows.aggregate(
        read=Sum("input_tokens", default=0),
        written=Sum(written, default=0),
        money=Sum("cost", default=Decimal(0)),
        **more,
    )
    # SQLite adds up in binary fractions.
    return sums | {"money": Decimal(sums["money"]).quantize(MILLIONTH)}


def most_frequent(rows: "QuerySet[Any]") -> tuple[tuple[str, int], ...]:
    """The errors of these rows with how often each came, the most frequent first."""
    errors = rows.exclude(error="").order_by().values("error").annotate(n=Count("pk"), of=Min("pk"))
    shown = list(errors.order_by("-n", "error")[:ERRORS_SHOWN])
    first = rows.model._default_manager.only("error", "error_json").in_bulk([row["of"] for row in shown])
    return tuple((stored_text(first[row["of"]], "error"), row["n"]) for row in shown)
