"""Texts that a killed worker had received and not stored, as responses."""

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction

from generation.execution.write_ahead_log import Kept
from generation.models import GenerationRun
from generation.responses.recording import store_reply


def store_replies(run: GenerationRun, replies: Sequence[Kept]) -> int:
    """Each text once, as surplus where its item was answered meanwhile; how many were not stored before."""
    stored = 0
    with transaction.atomic():
        items = run.items.in_bulk([one.item for one in replies])
        for one in replies:
            item = items.get(one.item)
            if item is not None:
                stored += store_reply(item, one.reply, Decimal(one.cost))
    return stored
