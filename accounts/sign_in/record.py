"""Sign-ins, failed ones and changes of passwords as events of the account, without addresses."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import Event, User
from accounts.sign_in.devices import known_browser

SIGNED_IN = "signed_in"
"""The attribute of a request whose browser is given a device cookie."""
FAILURES_EVERY = timedelta(hours=1)
"""However often somebody guesses at an account, its log grows by one event of each kind in this time."""


def record(user: User, verb: str, *, actor: User | None = None, after: dict[str, Any] | None = None) -> None:
    Event.objects.create(actor=actor, verb=verb, object_type="accounts.User", object_id=user.public_id, after=after)


def record_failure(name: str, verb: str, **after: Any) -> None:
    """Record a failed attempt at the account of this name, if it exists and none was recorded lately.

    The same queries run for a name that nobody has, so the time does not tell whether an account exists; the one row in
    an hour cannot be measured.
    """
    user = User.objects.filter(username=name).first()
    since = timezone.now() - FAILURES_EVERY
    recorded = Event.objects.filter(
        object_type="accounts.User", object_id=user.public_id if user else "", verb=verb, at__gt=since
    ).exists()
    if user is not None and not recorded:
        record(user, verb, after=after or None)


def _record_sign_in(sender: object, request: HttpRequest | None, user: Any, **others: Any) -> None:
    if request is None or request.method is None or not isinstance(user, User):  # a program
        return
    methods = [step.get("method") for step in request.session.get("account_authentication_methods", [])]
    known = bool(known_browser(request, user.username))
    record(user, "signed in", actor=user, after={"by": methods or ["password"], "known_browser": known})
    setattr(request, SIGNED_IN, user)


def watch_sign_ins() -> None:
    """Record every sign-in: Django's signal is the one place that all ways to sign in pass."""
    user_logged_in.connect(_record_sign_in, dispatch_uid="accounts.sign_in.record")
