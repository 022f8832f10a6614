"""Access to the API, for the owner of a token or a session who may read results."""

from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from accounts.api.limit import accept, count_failure, seconds_closed
from accounts.api.tokens import token_behind
from accounts.models import ApiToken, User
from accounts.permissions import leads_somewhere

if TYPE_CHECKING:
    from rest_framework.views import APIView


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer TOKEN`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != b"bearer":
            return None
        secret = parts[1].decode("latin-1") if len(parts) == 2 else ""
        closed = seconds_closed(request, secret)
        if closed:
            raise exceptions.Throttled(closed)
        token = token_behind(secret, clock=timezone.now)
        if token is None:
            count_failure(request, secret)
            raise exceptions.AuthenticationFailed(
                _("This token is unknown or has been revoked. Create a new one on your account page.")
            )
        accept(secret)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class ReadsResults(BasePermission):
    """A permission for owners, leads and analysts.

    Raters never have it, because the API returns answers and the names of models.
    """

    message = "Only owners, leads and analysts of a workspace may use this address."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.user, User) or not leads_somewhere(request.user):
            return False
        token = request.auth
        if request.method not in SAFE_METHODS and isinstance(token, ApiToken) and not token.may_change:
            self.message = "This token may only read; make one that may change things."
            return False
        return True
