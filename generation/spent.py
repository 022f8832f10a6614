"""What a generation run has cost so far, counted from its rows."""

from decimal import Decimal

from django.db.models import Sum

from generation.models import GenerationRun, Response
from generation.spending import Spend


def spent_of(run: GenerationRun) -> Spend:
    """Every attempt that was sent counts as a call, also one that failed."""
    calls = run.items.aggregate(n=Sum("attempts", default=0))["n"]
    sums = Response.objects.filter(run=run).aggregate(
        read=Sum("input_tokens", default=0),
        written=Sum("tokens", default=0),
        money=Sum("cost", default=Decimal(0)),
    )
    return Spend(calls, sums["read"] + sums["written"], Decimal(sums["money"]))
