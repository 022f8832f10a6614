"""What webhooks are told of: the events, and storing a message for each webhook in the transaction of what happened.

A message holds ids and names of studies, runs, monitors and reports and the pseudonyms of raters, never a text that
somebody rates, an answer or an identity.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Webhook, WebhookDelivery
from core.background import send_after_commit
from core.clock import Clock
from core.db.public_ids import new_public_id

TASK = "generation.send_webhooks"
LONGEST_NAME = 200


class EventName(models.TextChoices):
    STUDY_FINISHED = "study.finished", _("Study finished")
    RATER_PAUSED = "rater.paused", _("Rater paused")
    RUN_FINISHED = "run.finished", _("Run finished")
    REPORT_CHANGED = "report.changed", _("Report changed")
    DRIFT_FOUND = "drift.found", _("Drift found")


TEST = "test"
"""The event of a message that a lead sends to try a webhook; it is sent whatever the webhook's events are."""


class NamedStudy(Protocol):
    """A study, as messages name it."""

    @property
    def workspace_id(self) -> int: ...
    @property
    def public_id(self) -> str: ...
    @property
    def slug(self) -> str: ...
    @property
    def names(self) -> Any: ...


def listening(workspace: int, event: EventName) -> list[Webhook]:
    """Return the active webhooks of the workspace that are told of this event; one query."""
    hooks = Webhook.objects.filter(workspace_id=workspace, active=True).select_related("workspace").order_by("pk")
    return [hook for hook in hooks if event in hook.events]


def announce(workspace: int, event: EventName, about: Mapping[str, Any], *, clock: Clock = timezone.now) -> int:
    """Store a message for every webhook that listens, within the caller's transaction; return how many.

    A worker sends them once the transaction is committed; if it is rolled back, there is no message.
    """
    return store_messages(listening(workspace, event), event, about, clock=clock)


def announce_of_study(
    study: NamedStudy, event: EventName, about: Mapping[str, Any], *, clock: Clock = timezone.now
) -> int:
    """Do the same for something that happened in a study, which the message names."""
    return announce(study.workspace_id, event, {"study": named(study), **about}, clock=clock)


def named(study: NamedStudy) -> dict[str, str]:
    """Return what a message says of a study: id, address and name, in English where it has an English name."""
    names = study.names if isinstance(study.names, dict) else {}
    name = next((str(name) for name in (names.get("en"), *names.values()) if name), study.slug)
    return {"id": study.public_id, "slug": study.slug, "name": name[:LONGEST_NAME]}


def store_messages(hooks: Iterable[Webhook], event: str, about: Mapping[str, Any], *, clock: Clock) -> int:
    """Store one message with one event id for each of the webhooks, which belong to one workspace."""
    assert transaction.get_connection().in_atomic_block, "a message is stored in the transaction of what happened"
    event_id, now = new_public_id(), clock()
    rows = [_delivery(hook, event, event_id, about, now) for hook in hooks]
    WebhookDelivery.objects.bulk_create(rows)
    for row in rows:
        send_after_commit(TASK, row.webhook_id, kept=False)
    return len(rows)


def _delivery(hook: Webhook, event: str, event_id: str, about: Mapping[str, Any], now: datetime) -> WebhookDelivery:
    at = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    message = {"id": event_id, "event": event, "at": at, "workspace": hook.workspace.slug, **about}
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return WebhookDelivery(webhook=hook, event_id=event_id, event=event, body=body, made_at=now, next_at=now)
