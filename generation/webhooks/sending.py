"""Sending stored messages: one attempt at a time for each, again after longer and longer waits, at least once.

An attempt is claimed before it is made. If its worker dies, the claim runs out and the message is sent again, so a
receiver may get a message twice, with the same event id. Requests go the way of calls to endpoints: only to addresses that
the settings allow, resolved and checked for each connection, without following redirects.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from accounts.models import Webhook, WebhookDelivery
from core.background import send
from core.clock import Clock
from core.db.encrypted import Unreadable, decrypted
from core.db.public_ids import new_public_id
from core.messages.message import Wording, cut, stored
from core.text import storable
from core.workers.leaving import leaving
from generation.endpoints.grants import site_reach
from generation.llm.connections import Answer, Connections
from generation.llm.protocol.allowed_hosts import BadAddress, HostRefused
from generation.webhooks.events import TASK
from generation.webhooks.signing import signed_headers
from generation.webhooks.subscriptions import ADDRESS, PURPOSE

SECONDS = 10.0
"""From the beginning of an attempt to its end, whatever the receiver does meanwhile."""
LEASE = timedelta(minutes=2)
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 360, 720, 720))
"""The waits between attempts: there are eight, within about 33 hours."""
SECONDS_AT_ONCE = 60.0
"""After which a worker leaves the rest of a webhook's messages to another turn."""
LONGEST_REPLY = 500
LONGEST_PROBLEM = 500
MOST_WAITING = 10_000
"""Messages that may wait for one webhook; the oldest of more are given up."""
State = WebhookDelivery.State

NO_ANSWER = Wording("webhook.no_answer", "The receiver did not answer within %(seconds)s seconds.")
UNREACHABLE = Wording("webhook.unreachable", "The receiver could not be reached: %(words)s")
NOT_TAKEN = Wording("webhook.not_taken", "The receiver answered with status %(status)s instead of 2xx.")
REDIRECTED = Wording(
    "webhook.redirected",
    "The receiver answered with status %(status)s; redirects are not followed. Enter the address to which it leads.",
)
SECRET_LOST = Wording(
    "webhook.secret_lost",
    "The secret cannot be read, because the server's secret key has changed. Add the webhook again.",
)
TOO_MANY_WAIT = Wording(
    "webhook.too_many_wait", "More than %(most)s messages were waiting for this webhook, so the oldest were given up."
)


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt; `status` is None where nobody answered, and `problem` '' for a success."""

    status: int | None
    reply: str
    problem: str


def send_due(webhook: int, *, clock: Clock = timezone.now) -> int:
    """Send the messages of a webhook that are due, one after another; return the number of attempts.

    Ends early if nobody answers, and after SECONDS_AT_ONCE; the sweep has the rest sent.
    """
    begun, attempts = time.monotonic(), 0
    while time.monotonic() - begun < SECONDS_AT_ONCE and not leaving.is_set():
        delivery = claim(webhook, clock=clock)
        if delivery is None:
            break
        outcome = attempted(delivery, clock=clock)
        settle(delivery, outcome, clock=clock)
        attempts += 1
        if outcome.status is None:
            break
    return attempts


def claim(webhook: int, *, clock: Clock) -> WebhookDelivery | None:
    """Claim the message that has been due for the longest, which nobody else sends until then; None without one."""
    now = clock()
    if not Webhook.objects.filter(pk=webhook, active=True).exists():
        return None
    due = _due(clock).filter(webhook=webhook)
    for pk in due.order_by("next_at", "pk").values_list("pk", flat=True)[:20]:
        mine = new_public_id()
        if due.filter(pk=pk).update(claim=mine, claimed_until=now + LEASE, attempts=F("attempts") + 1):
            return WebhookDelivery.objects.select_related("webhook").filter(pk=pk, claim=mine).first()
    return None


def attempted(delivery: WebhookDelivery, *, clock: Clock) -> Outcome:
    """Sign the message with the present time and send it once."""
    import aiohttp

    body = delivery.body.encode()
    try:
        secret = decrypted(delivery.webhook.secret, purpose=PURPOSE)
    except Unreadable:
        return Outcome(None, "", SECRET_LOST())
    headers = signed_headers(secret, delivery.event_id, str(int(clock().timestamp())), body)
    try:
        answer = async_to_sync(_posted)(delivery.webhook.url, body, headers)
    except TimeoutError:
        return Outcome(None, "", NO_ANSWER(seconds=f"{SECONDS:g}"))
    except BadAddress:
        return Outcome(None, "", ADDRESS())
    except HostRefused as error:
        return Outcome(None, "", error.message)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Outcome(None, "", UNREACHABLE(words=cut(storable(str(error)), LONGEST_PROBLEM)))
    reply = storable(answer.text)[:LONGEST_REPLY]
    if answer.ok:
        return Outcome(answer.status, reply, "")
    redirected = 300 <= answer.status < 400
    return Outcome(answer.status, reply, (REDIRECTED if redirected else NOT_TAKEN)(status=answer.status))


async def _posted(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    async with asyncio.timeout(SECONDS):
        connections = Connections(base_url=url, key=None, timeout_seconds=SECONDS, connections=1, reach=site_reach())
        try:
            return await connections.notify(body, headers, 4 * LONGEST_REPLY)
        finally:
            await connections.close()


def settle(delivery: WebhookDelivery, outcome: Outcome, *, clock: Clock) -> bool:
    """Store what came of the attempt, unless its claim ran out and another attempt was begun; return whether it was."""
    now = clock()
    changes: dict[str, Any] = {
        "claim": "",
        "claimed_until": None,
        "tried_at": now,
        "http_status": outcome.status,
        "reply": outcome.reply,
        **stored("problem", outcome.problem, LONGEST_PROBLEM),
    }
    if not outcome.problem:
        changes |= {"state": State.DELIVERED}
    elif delivery.attempts > len(WAITS):
        changes |= {"state": State.FAILED}
    else:
        changes |= {"next_at": now + WAITS[delivery.attempts - 1]}
    return bool(WebhookDelivery.objects.filter(pk=delivery.pk, claim=delivery.claim).update(**changes))


def send_waiting(clock: Clock) -> None:
    """Have a worker send the messages that are due, of each webhook in a turn of its own; give up the oldest of too many."""
    _give_up_too_many()
    due = _due(clock).filter(webhook__active=True).order_by().values_list("webhook", flat=True).distinct()
    for webhook in due:
        send(TASK, webhook)


def _due(clock: Clock) -> QuerySet[WebhookDelivery]:
    now = clock()
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    return WebhookDelivery.objects.filter(free, state=State.WAITING, next_at__lte=now)


def _give_up_too_many() -> None:
    waiting = WebhookDelivery.objects.filter(state=State.WAITING)
    full = waiting.order_by().values("webhook").annotate(n=Count("pk")).filter(n__gt=MOST_WAITING)
    for webhook in full.values_list("webhook", flat=True):
        newest = waiting.filter(webhook=webhook).order_by("-pk").values_list("pk", flat=True)
        first_kept = newest[MOST_WAITING - 1]
        waiting.filter(webhook=webhook, pk__lt=first_kept, claim="").update(
            state=State.FAILED, **stored("problem", TOO_MANY_WAIT(most=MOST_WAITING))
        )
