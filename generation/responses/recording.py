"""Store the replies of a generation run, one response per item whatever is delivered twice, and count what they cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Sum

from core.messages.message import stored
from core.text import storable
from generation.execution.progress import sums_of
from generation.execution.write_ahead_log import LoggedReply
from generation.llm.protocol.prices import MILLIONTH, Prices, Spend
from generation.llm.protocol.wrapping import first_line_of, with_first_line
from generation.llm.requests import Reply
from generation.models import GenerationItem, GenerationRun, Response, SurplusReply
from generation.responses.plan import Prefill
from generation.text_metrics.counts import word_count

LONGEST_ERROR = 2_000


def record_response(item: GenerationItem, reply: Reply, prices: Prices, *, timed: bool = True) -> bool:
    """Store the reply at these prices, as `store_reply` does. `timed` is False if its seconds say nothing, as in a batch."""
    cost = prices.cost(reply.input_tokens, reply.output_tokens).quantize(MILLIONTH)
    return store_reply(item, reply, cost, timed=timed)


def store_reply(item: GenerationItem, reply: Reply, cost: Decimal, *, timed: bool = True) -> bool:
    """Store the reply as the item's response or, if the item has one already, as a surplus reply, because it was paid for.

    A prefilled first line stands before the reply's text.
    Return False if this reply, with the same text and duration, is stored already. Safe to run twice and from two
    workers: the unique constraint on instruction, model, sample and run decides.
    """
    columns, is_new = _columns(replace(reply, text=_whole_text(item, reply.text)), cost, timed), True
    place = {
        "run_id": item.run_id,
        "instruction_id": item.instruction_id,
        "model_id": item.model_id,
        "sample": item.sample,
    }
    try:
        with transaction.atomic():
            response = Response.objects.create(**place, **columns, words=word_count(columns["text"]))
    except IntegrityError:
        response = Response.objects.get(**place)
        is_new = not _is_stored(item, response, columns["text"], columns["seconds"])
        if is_new:
            SurplusReply.objects.create(run_id=item.run_id, item_id=item.pk, **columns)
    GenerationItem.objects.filter(pk=item.pk).update(
        status=GenerationItem.Status.DONE,
        response=response,
        attempts=F("attempts") + int(is_new),
        **stored("error", ""),
        leased_until=None,
        leased_by="",
    )
    return is_new


def _whole_text(item: GenerationItem, text: str) -> str:
    """Return the reply with the first line that its model was given to go on from, if its run gave it one."""
    first_line = first_line_of(item.instruction.messages or [])
    if not first_line or item.run.manifest.get("settings", {}).get("prefill") == Prefill.OFF:
        return text
    return with_first_line(first_line, text)


def _is_stored(item: GenerationItem, response: Response, text: str, seconds: float | None) -> bool:
    if (response.text, response.seconds) == (text, seconds):
        return True
    return SurplusReply.objects.filter(item_id=item.pk, text=text, seconds=seconds).exists()


def _columns(reply: Reply, cost: Decimal, timed: bool) -> dict[str, Any]:
    return {
        "text": storable(reply.text),
        "finish_reason": storable(reply.finish_reason)[:30],
        "input_tokens": reply.input_tokens,
        "tokens": reply.output_tokens,
        "seconds": reply.seconds if timed else None,
        "cost": cost,
    }


def record_broken(item: GenerationItem, reply: Reply, cost: Decimal) -> None:
    """Store what had arrived of a text when its call failed as a surplus reply: paid for, not read."""
    SurplusReply.objects.create(run_id=item.run_id, item_id=item.pk, **_columns(reply, cost, timed=True))


def record_surplus(item: GenerationItem, reply: Reply, prices: Prices) -> None:
    """Store a batch's reply to an item that has its response: one more call, paid for, not read."""
    cost = prices.cost(reply.input_tokens, reply.output_tokens).quantize(MILLIONTH)
    SurplusReply.objects.create(run_id=item.run_id, item_id=item.pk, **_columns(reply, cost, timed=False))
    GenerationItem.objects.filter(pk=item.pk).update(attempts=F("attempts") + 1)


def note_attempt(item: GenerationItem, error: str) -> None:
    """Count a call that brought no whole reply, and keep its error."""
    GenerationItem.objects.filter(pk=item.pk).update(
        attempts=F("attempts") + 1, **stored("error", error, LONGEST_ERROR)
    )


def record_failure(item: GenerationItem, error: str) -> None:
    """Mark a waiting item as failed; it can be retried."""
    waiting = GenerationItem.objects.filter(pk=item.pk, status=GenerationItem.Status.WAITING)
    waiting.update(
        status=GenerationItem.Status.FAILED, leased_until=None, leased_by="", **stored("error", error, LONGEST_ERROR)
    )


def store_replies(run: GenerationRun, replies: Sequence[LoggedReply]) -> int:
    """Store replies from a write-ahead log, as surplus if their items were answered meanwhile; return how many were new."""
    new = 0
    with transaction.atomic():
        items = run.items.in_bulk([logged.item for logged in replies])
        for logged in replies:
            if (item := items.get(logged.item)) is not None:
                new += store_reply(item, logged.reply, Decimal(logged.cost))
    return new


@dataclass(frozen=True)
class Paid:
    """Every attempt that was sent is a call, including failed ones; tokens and money of surplus replies count."""

    calls: int
    input_tokens: int
    output_tokens: int
    money: Decimal


def paid_for(run: GenerationRun) -> Paid:
    calls = run.items.aggregate(n=Sum("attempts", default=0))["n"]
    responses = sums_of(Response.objects.filter(run=run), written="tokens")
    surplus = sums_of(SurplusReply.objects.filter(run=run), written="tokens")
    return Paid(calls, *(responses[name] + surplus[name] for name in ("read", "written", "money")))


def spent_of(run: GenerationRun) -> Spend:
    paid = paid_for(run)
    return Spend(paid.calls, paid.input_tokens + paid.output_tokens, paid.money)
