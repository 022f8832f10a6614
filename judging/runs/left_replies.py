"""Replies that a killed worker had received and not stored, as rows."""

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction

from core.text import storable
from generation.execution.write_ahead_log import Kept
from judging.models import JudgeRun, Reply
from judging.runs.recording import reply_row, store_reply


def store_replies(run: JudgeRun, replies: Sequence[Kept]) -> int:
    """Each reply once, whatever else came for its item meanwhile; how many were not stored before."""
    with transaction.atomic():
        items = run.items.in_bulk([one.item for one in replies])
        known = {
            (row.item_id, row.request_hash, row.text, row.seconds)
            for row in Reply.objects.filter(item__in=items, error="")
        }
        fresh = [
            one
            for one in replies
            if one.item in items and (one.item, one.request_hash, storable(one.text), one.seconds) not in known
        ]
        for one in fresh:
            item = items[one.item]
            store_reply(
                reply_row(
                    item, one.reply, request_hash=one.request_hash, attempt=item.attempts_before, cost=Decimal(one.cost)
                )
            )
    return len(fresh)
