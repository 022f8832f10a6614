"""The OpenID Connect provider: whose identity is whose account."""

import re
from typing import Any

from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.openid_connect import views as openid
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.members.changes import PeopleRefused
from accounts.members.invitations import InvitationClosed, accept_as_new, check_invitation, invitation_behind
from accounts.models import User

INVITATION = "invitation"
"""The key under which a started sign-in at the provider carries the invitation that it accepts."""


class ProviderIdentities(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """An identity of the provider is an account if its owner connected the two, verified the same e-mail address with
    both, or accepted an invitation with it. Nothing else makes or opens an account."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False

    def can_authenticate_by_email(self, login: Any, email: str) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Find the account of an identity that is new here. Raises ImmediateHttpResponse for a page that says no."""
        told = sociallogin.account.extra_data
        if "userinfo" in told and "id_token" in told and told["userinfo"].get("sub") != told["id_token"].get("sub"):
            raise PermissionDenied  # OpenID Connect Core 1.0, 5.3.2
        if sociallogin.is_existing or request.user.is_authenticated:
            return
        secret = (sociallogin.state.get("data") or {}).get(INVITATION)
        user = _who_accepts(request, sociallogin, secret) if secret else _who_verified(sociallogin)
        if user is not None:
            sociallogin.connect(request, user)


def _who_verified(sociallogin: Any) -> User | None:
    """Return the one account whose owner verified an address here that the provider has verified too."""
    verified = [one.email.lower() for one in sociallogin.email_addresses if str(one.verified).lower() == "true"]
    owners = EmailAddress.objects.filter(email__in=verified, verified=True).values_list("user", flat=True).distinct()
    users = list(User.objects.filter(pk__in=owners, is_active=True)[:2])
    return users[0] if len(users) == 1 else None


def _who_accepts(request: HttpRequest, sociallogin: Any, secret: str) -> User:
    """Return the account made for the person who accepts the invitation with this identity."""
    told = sociallogin.account.get_provider_account().get_user_data() or {}
    name = str(told.get("preferred_username") or told.get("email") or "").partition("@")[0]
    invitation = invitation_behind(secret)
    try:
        if invitation is None:
            raise InvitationClosed(_("This invitation has been withdrawn. Ask the person who sent it for a new one."))
        name = re.sub(r"[^\w.+-]", "", name)[:50] or "member"
        return accept_as_new(invitation=invitation, name=name, password=None, clock=timezone.now)
    except (InvitationClosed, PeopleRefused) as problem:
        page = render(request, "accounts/invitation.html", {"invitation": invitation, "why": str(problem)}, status=410)
        raise ImmediateHttpResponse(page) from None


@require_POST
def accept_with_provider(request: HttpRequest, token: str) -> HttpResponse:
    """Send the invited person to the provider; the account is made when they come back with an identity."""
    invitation = invitation_behind(token)
    if invitation is None or request.user.is_authenticated:
        raise Http404
    try:
        check_invitation(invitation, None, clock=timezone.now)
    except InvitationClosed as problem:
        return render(request, "accounts/invitation.html", {"invitation": invitation, "why": str(problem)}, status=410)
    (app,) = get_adapter(request).list_apps(request, provider="openid_connect")
    return _leave(
        request,
        app.get_provider(request).redirect(
            request, process=AuthProcess.LOGIN, next_url=reverse("home"), data={INVITATION: token}
        ),
    )


def to_provider(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the reader to the provider, if a form of ours asks for it."""
    return _leave(request, openid.login(request, provider_id))


def _leave(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return a page that goes on to the provider instead of a redirect.

    The Content-Security-Policy allows no form to lead to another site, and a provider may redirect to yet others.
    """
    target = response.get("Location", "")
    if not target.startswith(("https://", "http://")):
        return response
    return render(request, "socialaccount/leaving.html", {"target": target})
