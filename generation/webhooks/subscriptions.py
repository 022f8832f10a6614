"""The webhooks of a workspace: adding, changing and removing them, trying one, and sending a message again."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import Event, User, Webhook, WebhookDelivery, Workspace
from core.background import send_after_commit
from core.clock import Clock
from core.db.encrypted import encrypted
from core.errors import UserError
from core.messages.message import Wording
from generation.endpoints.grants import site_reach
from generation.endpoints.registration import ServingRefused, checked_base_url
from generation.llm.protocol.allowed_hosts import HostRefused, origin_of
from generation.webhooks.events import TASK, TEST, EventName, store_messages
from generation.webhooks.signing import new_secret

PURPOSE = "webhook"
MOST = 20
"""Webhooks of one workspace."""
AT_ONCE, BATCHES = 500, 20

ADDRESS = Wording(
    "webhook.address",
    "The address must be like https://example.org/hooks, with a plain host name or address and no password, ? or # in it.",
)
NO_EVENT = Wording("webhook.no_event", "Choose at least one event.")
UNKNOWN_EVENT = Wording("webhook.unknown_event", "There is no event %(event)s; there are: %(known)s.", between=", ")
TOO_MANY = Wording("webhook.too_many", "A workspace can have at most %(most)s webhooks; remove one first.")
UNDER_WAY = Wording("webhook.under_way", "This message is being sent at the moment. Try again in a minute.")
SWITCHED_OFF = Wording(
    "webhook.switched_off", "This webhook is switched off, so nothing is sent to it. Switch it on first."
)


def checked_address(url: str) -> str:
    """Return the address if it is plain and the settings allow it, as far as it tells unresolved. Raises UserError."""
    try:
        address = checked_base_url(url)
    except ServingRefused as error:
        raise UserError(ADDRESS()) from error
    try:
        site_reach().check(origin_of(address))
    except HostRefused as error:
        raise UserError(*error.args) from error
    return address


def checked_events(events: Collection[str]) -> list[str]:
    """Return the events, each once and in the order of EventName. Raises UserError."""
    if unknown := [event for event in events if event not in EventName.values]:
        raise UserError(UNKNOWN_EVENT(event=repr(unknown[0][:50]), known=list(EventName.values)))
    if not events:
        raise UserError(NO_EVENT())
    return [event for event in EventName.values if event in events]


def add_webhook(
    *, workspace: Workspace, url: str, events: Collection[str], by: User | None = None
) -> tuple[Webhook, str]:
    """Store a webhook and return it with its secret, which cannot be read again. Raises UserError."""
    url, events, secret = checked_address(url), checked_events(events), new_secret()
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        if workspace.webhooks.count() >= MOST:
            raise UserError(TOO_MANY(most=MOST))
        hook = Webhook.objects.create(
            workspace=workspace, url=url, events=events, created_by=by, secret=encrypted(secret, purpose=PURPOSE)
        )
        _log(hook, by, "webhook added", after=_plain(hook))
    return hook, secret


def change_webhook(
    hook: Webhook,
    *,
    url: str | None = None,
    events: Collection[str] | None = None,
    active: bool | None = None,
    by: User | None = None,
) -> None:
    """Change what is given. Raises UserError."""
    before = _plain(hook)
    if url is not None and url.strip() != hook.url:
        hook.url = checked_address(url)
    if events is not None:
        hook.events = checked_events(events)
    if active is not None:
        hook.active = active
    if _plain(hook) == before:
        return
    with transaction.atomic():
        hook.save(update_fields=["url", "events", "active"])
        _log(hook, by, "webhook changed", before=before, after=_plain(hook))
        if hook.active:
            send_after_commit(TASK, hook.pk, kept=False)


def remove_webhook(hook: Webhook, *, by: User | None = None) -> None:
    """Remove the webhook with its messages, also those that wait."""
    with transaction.atomic():
        _log(hook, by, "webhook removed", before=_plain(hook))
        hook.delete()


def send_test(hook: Webhook, *, clock: Clock = timezone.now) -> WebhookDelivery:
    """Store a message that tells of nothing, for a worker to send. Raises UserError."""
    if not hook.active:
        raise UserError(SWITCHED_OFF())
    with transaction.atomic():
        store_messages([hook], TEST, {}, clock=clock)
    return hook.deliveries.filter(event=TEST).order_by("-pk")[0]


def send_again(delivery: WebhookDelivery, *, clock: Clock = timezone.now) -> None:
    """Have a message sent now, with the same event id and all its attempts before it. Raises UserError."""
    if not delivery.webhook.active:
        raise UserError(SWITCHED_OFF())
    now = clock()
    free = WebhookDelivery.objects.filter(Q(claimed_until=None) | Q(claimed_until__lt=now), pk=delivery.pk)
    with transaction.atomic():
        if not free.update(state=WebhookDelivery.State.WAITING, attempts=0, next_at=now, claim="", claimed_until=None):
            raise UserError(UNDER_WAY())
        send_after_commit(TASK, delivery.webhook_id, kept=False)


def remove_old_messages(clock: Clock) -> int:
    """Delete the messages that are older than WEBHOOK_DAYS, in whatever state; return how many."""
    old = WebhookDelivery.objects.filter(made_at__lt=clock() - timedelta(days=settings.WEBHOOK_DAYS))
    total = 0
    for _batch in range(BATCHES):
        pks = list(old.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
        if not pks:
            break
        total += WebhookDelivery.objects.filter(pk__in=pks).delete()[0]
    return total


def _plain(hook: Webhook) -> dict[str, Any]:
    return {"url": hook.url, "events": list(hook.events), "active": hook.active}


def _log(hook: Webhook, by: User | None, verb: str, **states: Any) -> None:
    Event.objects.create(
        workspace_id=hook.workspace_id,
        actor=by,
        verb=verb,
        object_type="accounts.Webhook",
        object_id=hook.public_id,
        **states,
    )
