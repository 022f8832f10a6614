"""Storing what came back: one response an item, whatever is delivered twice."""

from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import F

from generation import chat
from generation.interchange.table import storable
from generation.models import GenerationItem, Response
from generation.spending import Prices
from generation.textmetrics import word_count

LONGEST_ERROR = 2_000
MILLIONTH = Decimal("0.000001")


def record_response(item: GenerationItem, reply: chat.Reply, prices: Prices, *, timed: bool = True) -> bool:
    """The reply as the item's response; False where there was one already, which stays.

    Not `timed` where the reply's seconds say nothing, as in a batch.

    Safe to run twice and from two workers: the unique constraint on instruction, model, sample and run decides.
    """
    text = storable(reply.text)
    fresh = True
    try:
        with transaction.atomic():
            response = Response.objects.create(
                run_id=item.run_id,
                instruction_id=item.instruction_id,
                model_id=item.model_id,
                sample=item.sample,
                text=text,
                words=word_count(text),
                tokens=reply.output_tokens,
                input_tokens=reply.input_tokens,
                finish_reason=reply.finish_reason[:30],
                seconds=reply.seconds if timed else None,
                cost=prices.cost(reply.input_tokens, reply.output_tokens).quantize(MILLIONTH),
            )
    except IntegrityError:
        fresh = False
        response = Response.objects.get(
            run_id=item.run_id,
            instruction_id=item.instruction_id,
            model_id=item.model_id,
            sample=item.sample,
        )
    GenerationItem.objects.filter(pk=item.pk).update(
        status=GenerationItem.Status.DONE,
        response=response,
        attempts=F("attempts") + int(fresh),
        error="",
        leased_until=None,
        leased_by="",
    )
    return fresh


def note_attempt(item: GenerationItem, words: str) -> None:
    """A call that brought nothing: counted, its words kept."""
    GenerationItem.objects.filter(pk=item.pk).update(
        attempts=F("attempts") + 1, error=storable(words)[:LONGEST_ERROR]
    )


def record_failure(item: GenerationItem, words: str) -> None:
    """No response will come of itself; the item can be tried again. What is done stays done."""
    waiting = GenerationItem.objects.filter(pk=item.pk, status=GenerationItem.Status.WAITING)
    waiting.update(
        status=GenerationItem.Status.FAILED,
        error=storable(words)[:LONGEST_ERROR],
        leased_until=None,
        leased_by="",
    )
