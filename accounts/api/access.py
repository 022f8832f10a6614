"""Access to the API, for the owner of a token or a session who may read results, within the scopes of the token."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.api.limit import accept, count_failure, seconds_closed
from accounts.api.tokens import UnusableToken, token_behind
from accounts.models import ApiToken, User
from accounts.permissions import leads_somewhere

if TYPE_CHECKING:
    from rest_framework.views import APIView

Scope = ApiToken.Scope
View = TypeVar("View", bound=Callable[..., Any])


class ScopeMissing(exceptions.PermissionDenied):
    """The token may not be used for this address; the answer names the scope, also as RFC 6750 says."""

    def __init__(self, scope: str) -> None:
        super().__init__(
            _("This token lacks the scope %(scope)s. Create a token with this scope on the page API tokens.")
            % {"scope": scope}
        )
        self.auth_header = f'Bearer error="insufficient_scope", scope="{scope}"'


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
        try:
            token = token_behind(secret, clock=timezone.now)
        except UnusableToken as error:
            count_failure(request, secret)
            raise exceptions.AuthenticationFailed(str(error)) from error
        accept(secret)
        token.user.limited_to = token.workspace_id
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class ReadsResults(BasePermission):
    """A permission for owners, leads and analysts, whose token has the scope that the address needs.

    Raters never have it, because the API returns answers and the names of models. No token opens an address that states
    no scope; a person in a browser may do there what their role allows.
    """

    message = "Only owners, leads and analysts of a workspace may use this address."
    scope: Scope | None = None
    by_verb: Mapping[str, Scope] = {}

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.user, User) or not leads_somewhere(request.user):
            return False
        if isinstance(request.auth, ApiToken):
            verb = view.kwargs.get("verb") or str(request.method).lower()
            needed = self.by_verb.get(verb, self.scope)
            if needed is None or needed not in request.auth.scopes:
                raise ScopeMissing(needed or "none")
        return True


def needing(scope: Scope, **by_verb: Scope) -> type[ReadsResults]:
    """Return the permission for addresses that need `scope`, or that of `by_verb` where the address has this verb.

    A verb is the last part of the address where it has one, else the method in small letters, such as post.
    """
    return type("ReadsInScope", (ReadsResults,), {"scope": scope, "by_verb": by_verb})


def needs(scope: Scope, **by_verb: Scope) -> Callable[[View], View]:
    """Decorate a view, below `api_view`, with the scope that its address needs."""

    def stated(view: View) -> View:
        vars(view)["permission_classes"] = [needing(scope, **by_verb)]
        return view

    return stated
