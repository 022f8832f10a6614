"""The cost of a run so far, counted from its replies; reused replies cost nothing."""

from decimal import Decimal

from django.db.models import Q, Sum

from generation.execution.progress import sums_of
from generation.llm.protocol.prices import Spend
from judging.models import JudgeRun, Reply

PAID = Sum("calls", filter=Q(reused_from=None), default=0)


def spent_of(run: JudgeRun) -> Spend:
    """Every attempt that was sent counts as a call, including failed ones."""
    sums = sums_of(Reply.objects.filter(item__run=run), written="output_tokens", calls=PAID)
    return Spend(sums["calls"], sums["read"] + sums["written"], Decimal(sums["money"]))
