"""What a generation run has cost so far, counted from its rows."""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Sum

from generation.execution.progress import sums_of
from generation.llm.protocol.prices import Spend
from generation.models import GenerationRun, Response, SurplusReply


@dataclass(frozen=True)
class Paid:
    """Every attempt that was sent is a call, also one that failed; tokens and money of surplus replies count, too."""

    calls: int
    input_tokens: int
    output_tokens: int
    money: Decimal


def paid_for(run: GenerationRun) -> Paid:
    calls = run.items.aggregate(n=Sum("attempts", default=0))["n"]
    kept = sums_of(Response.objects.filter(run=run), written="tokens")
    surplus = sums_of(SurplusReply.objects.filter(run=run), written="tokens")
    return Paid(
        calls,
        kept["read"] + surplus["read"],
        kept["written"] + surplus["written"],
        Decimal(kept["money"]) + Decimal(surplus["money"]),
    )


def spent_of(run: GenerationRun) -> Spend:
    paid = paid_for(run)
    return Spend(paid.calls, paid.input_tokens + paid.output_tokens, paid.money)
