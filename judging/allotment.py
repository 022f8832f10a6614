"""A run's budget shared by its workers: each sets aside in the database what it may spend before it sends anything.

What the replies cost and what all shares still hold never exceed the budget together. A worker that dies takes
nothing with it but its share's time: the share ends with its lease.
"""

from decimal import Decimal

from django.db import transaction
from django.db.models import F

from annotation.handout import Clock
from generation.leases import LEASE
from generation.spending import Ceiling, Spend
from judging.models import BudgetShare, JudgeRun
from judging.spent import spent_of

PARTS = ("calls", "tokens", "money")


def ceiling_of(run: JudgeRun) -> Ceiling:
    return Ceiling(run.budget_calls, run.budget_tokens, run.budget_money)


def grant(run: JudgeRun, worker: str, wanted: Spend, clock: Clock) -> Ceiling:
    """Adds to the worker's share up to `wanted` more, as far as the budget goes; what was added."""
    with transaction.atomic():
        locked = JudgeRun.objects.select_for_update().get(pk=run.pk)
        ceiling = ceiling_of(locked)
        if not ceiling.limited:
            return ceiling
        now = clock()
        locked.shares.filter(leased_until__lt=now).exclude(worker=worker).delete()
        # Locked before the replies are counted: a reply that is stored in between would be in neither.
        shares = list(locked.shares.select_for_update())
        held = {part: sum(getattr(share, part) or 0 for share in shares) for part in PARTS}
        spent = spent_of(locked)
        added: dict[str, int | Decimal | None] = {}
        for part in PARTS:
            limit = getattr(ceiling, part)
            if limit is None:
                added[part] = None
                continue
            free = limit - getattr(spent, part) - held[part]
            added[part] = max(type(limit)(0), min(getattr(wanted, part), free))
        share, _made = BudgetShare.objects.get_or_create(
            run=locked,
            worker=worker,
            defaults={
                "leased_until": now + LEASE,
                **{part: None if added[part] is None else 0 for part in PARTS},
            },
        )
        for part, more in added.items():
            setattr(share, part, None if more is None else (getattr(share, part) or 0) + more)
        share.leased_until = now + LEASE
        share.save()
    return Ceiling(**added)  # type: ignore[arg-type]


def record_spent(run: JudgeRun, worker: str, spent: Spend) -> None:
    """Takes from the share what the replies stored in the same transaction have cost."""
    share = BudgetShare.objects.filter(run=run, worker=worker)
    for part in PARTS:
        limited = share.filter(**{f"{part}__isnull": False})
        # An answer that was dearer than its reservation leaves nothing, rather than less than nothing. This comes
        # first: asked afterwards, it would take away what the subtraction has left.
        limited.filter(**{f"{part}__lt": getattr(spent, part)}).update(**{part: 0})
        limited.filter(**{f"{part}__gte": getattr(spent, part)}).update(
            **{part: F(part) - getattr(spent, part)}
        )


def renew_share(run: JudgeRun, worker: str, clock: Clock) -> None:
    BudgetShare.objects.filter(run=run, worker=worker).update(leased_until=clock() + LEASE)


def give_back(run: JudgeRun, worker: str) -> None:
    """Ends the worker's share; what is left of it is there for others."""
    BudgetShare.objects.filter(run=run, worker=worker).delete()


def shares_held(run: JudgeRun, clock: Clock) -> bool:
    """Whether some worker still holds a share, and so may go on."""
    return BudgetShare.objects.filter(run=run, leased_until__gte=clock()).exists()
