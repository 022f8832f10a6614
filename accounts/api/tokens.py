"""API tokens for programs: shown once, stored as a digest, revocable at any time."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings

from accounts.models import ApiToken, User
from core.clock import Clock

OPENING = "plumbline_"
REMEMBER_USE_EVERY = timedelta(minutes=10)


def issue_token(*, user: User, name: str, may_change: bool = False) -> tuple[ApiToken, str]:
    """Create a token; return it with its secret, which cannot be read again. 256 bits, so a plain digest is enough."""
    secret = OPENING + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(user=user, name=name, digest=digest_of(secret), may_change=may_change)
    return token, secret


def token_behind(secret: str, *, clock: Clock) -> ApiToken | None:
    """Return a token that is known, not revoked, and belongs to a user who may sign in, or None.

    From time to time, store when the token was last used.
    """
    token = (
        ApiToken.objects.select_related("user")
        .filter(digest=digest_of(secret), revoked_at=None, user__is_active=True)
        .first()
    )
    if token is None or (token.user.demonstration and not settings.LOCAL):
        return None
    now = clock()
    if token.used_at is None or now - token.used_at > REMEMBER_USE_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(used_at=now)
    return token


def revoke_token(*, token: ApiToken, clock: Clock) -> None:
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock())


def revoke_all_tokens(user: User, *, clock: Clock) -> int:
    """Revoke all of the user's tokens; return how many were valid until now."""
    return ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=clock())


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
