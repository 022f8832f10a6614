"""Requests with an Idempotency-Key: carried out once, and answered the same when they are sent again.

The answer is stored in the transaction of what the request changes. So either both are there or neither is, and of two
requests with one key that arrive together the second waits for the first.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.bodies import body_hash
from accounts.api.lists import Unusable, asking
from accounts.models import AnsweredRequest, ApiToken
from core.clock import Clock

KEPT = timedelta(days=1)
LONGEST_KEY = 255
REPLAYED = "Idempotent-Replayed"
KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Any text of up to 255 characters, new for each request that is meant anew, such as a UUID. The same "
    "request with the same key is carried out once within 24 hours.",
)
View = TypeVar("View", bound=Callable[..., Response])


def once(view: View) -> View:
    """Decorate a view, below `needs`, so that it carries out a request with a known key only once.

    What the view changes must be undone with its transaction. Answers other than 2xx undo it, and are not kept.
    """

    @wraps(view)
    def carried_out(request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key")
        if key is None or request.method in SAFE_METHODS:
            return view(request, *args, **kwargs)
        if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise Unusable(
                _("The Idempotency-Key is empty, too long, or not ASCII. Send a shorter text, such as a UUID.")
            )
        return _answer(request, key, lambda: view(request, *args, **kwargs), clock=timezone.now)

    return carried_out  # type: ignore[return-value]


def _answer(request: Request, key: str, carry_out: Callable[[], Response], *, clock: Clock) -> Response:
    token = request.auth.pk if isinstance(request.auth, ApiToken) else 0
    said = "\n".join((request.method or "", request.get_full_path(), request.content_type or "", body_hash(request)))
    digest = hashlib.sha256(said.encode()).hexdigest()
    forget_old(clock)
    with transaction.atomic():
        row, first = AnsweredRequest.objects.get_or_create(
            user=asking(request), token=token, key=key, defaults={"digest": digest, "at": clock()}
        )
        if not first:
            return _again(row, digest)
        answer = carry_out()
        if answer.status_code >= 300:
            transaction.set_rollback(True)
            return answer
        row.status, row.body = answer.status_code, JSONRenderer().render(answer.data).decode()
        row.save(update_fields=["status", "body"])
    return answer


def _again(row: AnsweredRequest, digest: str) -> Response:
    """Return the stored answer. Raises Unusable (409)."""
    if row.digest != digest:
        raise Unusable(
            _("This Idempotency-Key was used for another request. Use a new key, or send the same request again."),
            status=409,
        )
    return Response(json.loads(row.body) if row.body else None, row.status, headers={REPLAYED: "true"})


def forget_old(clock: Clock) -> None:
    """Delete the answers that are older than a day."""
    old = AnsweredRequest.objects.filter(at__lt=clock() - KEPT)
    if old.exists():
        old.delete()
