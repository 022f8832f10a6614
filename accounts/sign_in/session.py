"""The session and the account of each request, read by prepared queries."""

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from accounts.sign_in.hashing import hashing_slot
from accounts.sign_in.limit import TooManyAttempts, begin_attempt, check_attempts, counted_for, forget_attempts
from accounts.sign_in.record import record_failure
from core.db.prepared import EXAMPLE_ID, EXAMPLE_NAME, EXAMPLE_TIME, Prepared

DEMONSTRATION_PASSWORD = "plumb line demo"  # nosec B105 # public, and refused in production
"""The public password of the accounts that the demo command creates."""
SIGN_IN_REFUSED = "sign_in_refused"
"""The attribute of a request that records that there were too many attempts to sign in."""

_SESSION = Prepared(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now).order_by(), EXAMPLE_NAME, EXAMPLE_TIME
)
_ACCOUNT = Prepared(lambda pk: User.objects.filter(pk=pk).order_by(), EXAMPLE_ID)


class SessionStore(DatabaseSessions):
    """Sessions in the database, in Django's format."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        found = _SESSION.first(self.session_key, timezone.now())
        if found is None:
            self._session_key = None
        return found


class Accounts(ModelBackend):
    """Accounts with a password, in Django's format.

    Attempts to sign in are limited, and production mode refuses demonstration accounts.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **others: Any
    ) -> Any:
        """Return the user or None. A program that signs in without a request is not limited.

        Who is over a limit takes no slot, and who finds no slot writes nothing. Raises HashingBusy.
        """
        if request is None or username is None or password is None:
            return super().authenticate(request, username=username, password=password, **others)
        counted = counted_for(request, username)
        try:
            check_attempts(counted, clock=timezone.now)
            with hashing_slot():
                attempt = begin_attempt(counted, clock=timezone.now)
                user = super().authenticate(request, username=username, password=password, **others)
        except TooManyAttempts:
            setattr(request, SIGN_IN_REFUSED, True)
            record_failure(username, "sign-in refused")
            raise PermissionDenied from None
        if user is None:
            record_failure(username, "sign-in failed", known_browser=bool(attempt.device))
        else:
            forget_attempts(attempt)
        return user

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) and (settings.LOCAL or not user.demonstration)

    def get_user(self, user_id: Any) -> User | None:
        user = _ACCOUNT.first(int(user_id))
        return user if user is not None and self.user_can_authenticate(user) else None
