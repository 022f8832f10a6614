"""API tokens for programs: shown once, stored as a digest, limited in time, scope and workspace, revocable at any time."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import ApiToken, Event, User, Workspace
from core.clock import Clock
from core.errors import UserError

OPENING = "plumbline_"
REMEMBER_USE_EVERY = timedelta(minutes=10)


class UnusableToken(UserError):
    """The token gives no access; the message says why and what to do."""


def issue_token(
    *,
    user: User,
    name: str,
    scopes: Iterable[str] = (ApiToken.Scope.READ,),
    workspace: Workspace | None = None,
    days: int | None = None,
    clock: Clock = timezone.now,
) -> tuple[ApiToken, str]:
    """Create a token; return it with its secret, which cannot be read again. 256 bits, so a plain digest is enough.

    Without `days`, it lives as long as the setting says; `workspace` None stands for all of the user's.
    """
    secret = OPENING + secrets.token_urlsafe(32)
    granted = set(scopes)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name,
            digest=digest_of(secret),
            scopes=[scope for scope in ApiToken.Scope.values if scope in granted],
            workspace=workspace,
            expires_at=clock() + timedelta(days=days or settings.TOKEN_DAYS),
        )
        after = {"scopes": token.scopes, "expires_at": token.expires_at.isoformat()}
        _log(token, "token created", after=after)
    return token, secret


def token_behind(secret: str, *, clock: Clock) -> ApiToken:
    """Return a token that is known, valid, and belongs to a user who may sign in. Raises UnusableToken.

    From time to time, store when the token was last used.
    """
    token = (
        ApiToken.objects.select_related("user")
        .filter(digest=digest_of(secret), revoked_at=None, user__is_active=True)
        .first()
    )
    if token is None or (token.user.demonstration and not settings.LOCAL):
        raise UnusableToken(_("This token is unknown or has been revoked. Create a new one on the page API tokens."))
    now = clock()
    if token.expires_at <= now:
        day = date_format(token.expires_at, "Y-m-d H:i")
        raise UnusableToken(
            _("This token expired on %(day)s (UTC). Create a new one on the page API tokens.") % {"day": day}
        )
    if token.used_at is None or now - token.used_at > REMEMBER_USE_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(used_at=now)
    return token


def valid_tokens(user: User, *, clock: Clock) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=clock())


def revoke_token(*, token: ApiToken, clock: Clock) -> None:
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock()):
            _log(token, "token revoked")


def revoke_all_tokens(user: User, *, clock: Clock, workspace: Workspace | None = None) -> int:
    """Revoke the user's tokens, or those for `workspace` alone; return how many gave access until now."""
    found = valid_tokens(user, clock=clock)
    return (found if workspace is None else found.filter(workspace=workspace)).update(revoked_at=clock())


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _log(token: ApiToken, verb: str, *, after: dict[str, object] | None = None) -> None:
    Event.objects.create(
        workspace=token.workspace,
        actor=token.user,
        verb=verb,
        object_type="accounts.ApiToken",
        object_id=token.public_id,
        after=after,
    )
