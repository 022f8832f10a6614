"""Who is signed in, asked at every request: the session and the account, by prepared queries."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.models import User
from accounts.prepared import EXAMPLE_ID, EXAMPLE_NAME, EXAMPLE_TIME, Prepared

_SESSION = Prepared(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now).order_by(),
    EXAMPLE_NAME,
    EXAMPLE_TIME,
)
_ACCOUNT = Prepared(lambda pk: User.objects.filter(pk=pk).order_by(), EXAMPLE_ID)


class SessionStore(DatabaseSessions):
    """Sessions in the database, as Django keeps them."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        found = _SESSION.first(self.session_key, timezone.now())
        if found is None:
            self._session_key = None
        return found


class Accounts(ModelBackend):
    """Accounts with a password, as Django keeps them."""

    def get_user(self, user_id: Any) -> User | None:
        user = _ACCOUNT.first(int(user_id))
        return user if user is not None and self.user_can_authenticate(user) else None
