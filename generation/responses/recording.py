"""Storing what came back: one response an item, whatever is delivered twice."""

from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from core.messages.message import stored
from core.text import storable
from generation.llm.protocol.prices import MILLIONTH, Prices
from generation.llm.requests import Reply
from generation.models import GenerationItem, Response, SurplusReply
from generation.text_metrics.counts import word_count

LONGEST_ERROR = 2_000


def record_response(item: GenerationItem, reply: Reply, prices: Prices, *, timed: bool = True) -> bool:
    """Stores the reply at these prices; see store_reply. Not `timed` where its seconds say nothing, as in a batch."""
    cost = prices.cost(reply.input_tokens, reply.output_tokens).quantize(MILLIONTH)
    return store_reply(item, reply, cost, timed=timed)


def store_reply(item: GenerationItem, reply: Reply, cost: Decimal, *, timed: bool = True) -> bool:
    """The reply as the item's response; where there is one already, that stays, and this is kept as surplus, since it
    was paid for. False where this very reply is stored: one of the same text that took as long.

    Safe to run twice and from two workers: the unique constraint on instruction, model, sample and run decides.
    """
    paid, fresh = _columns(reply, cost, timed), True
    place = {
        "run_id": item.run_id,
        "instruction_id": item.instruction_id,
        "model_id": item.model_id,
        "sample": item.sample,
    }
    try:
        with transaction.atomic():
            response = Response.objects.create(**place, **paid, words=word_count(paid["text"]))
    except IntegrityError:
        response = Response.objects.get(**place)
        fresh = not _is_stored(item, response, paid["text"], paid["seconds"])
        if fresh:
            SurplusReply.objects.create(run_id=item.run_id, item_id=item.pk, **paid)
    GenerationItem.objects.filter(pk=item.pk).update(
        status=GenerationItem.Status.DONE,
        response=response,
        attempts=F("attempts") + int(fresh),
        **stored("error", ""),
        leased_until=None,
        leased_by="",
    )
    return fresh


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
    """What had come of a text when its call failed, as surplus: paid for, unread."""
    SurplusReply.objects.create(run_id=item.run_id, item_id=item.pk, **_columns(reply, cost, timed=True))


def record_surplus(item: GenerationItem, reply: Reply, prices: Prices) -> None:
    """A reply of a batch to an item that has its response: one more call, paid for, unread."""
    cost = prices.cost(reply.input_tokens, reply.output_tokens).quantize(MILLIONTH)
    SurplusReply.objects.create(run_id=item.run_id, item_id=item.pk, **_columns(reply, cost, timed=False))
    GenerationItem.objects.filter(pk=item.pk).update(attempts=F("attempts") + 1)


def note_attempt(item: GenerationItem, words: str) -> None:
    """A call that brought no whole reply: counted, its words kept."""
    GenerationItem.objects.filter(pk=item.pk).update(
        attempts=F("attempts") + 1, **stored("error", words, LONGEST_ERROR)
    )


def record_failure(item: GenerationItem, words: str) -> None:
    """No response will come of itself; the item can be tried again. What is done stays done."""
    waiting = GenerationItem.objects.filter(pk=item.pk, status=GenerationItem.Status.WAITING)
    waiting.update(
        status=GenerationItem.Status.FAILED, leased_until=None, leased_by="", **stored("error", words, LONGEST_ERROR)
    )
