"""What a run has cost so far, counted from its replies; what was reused cost nothing."""

from decimal import Decimal

from django.db.models import Count, Q, Sum

from generation.spending import Spend
from judging.models import JudgeRun, Reply


def spent_of(run: JudgeRun) -> Spend:
    """Every attempt that was sent counts as a call, also one that failed."""
    sums = Reply.objects.filter(item__run=run).aggregate(
        calls=Count("pk", filter=Q(reused_from=None)),
        read=Sum("input_tokens", default=0),
        written=Sum("output_tokens", default=0),
        money=Sum("cost", default=Decimal(0)),
    )
    return Spend(sums["calls"], sums["read"] + sums["written"], Decimal(sums["money"]))
