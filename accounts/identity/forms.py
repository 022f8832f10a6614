"""Forms of django-allauth that check a password, with our limits, and those that reset one."""

from typing import Any

from allauth.account.forms import ReauthenticateForm, ResetPasswordForm, ResetPasswordKeyForm
from allauth.account.models import EmailAddress
from allauth.core import context
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.api.tokens import revoke_all_tokens
from accounts.members.changes import own_password_chosen
from accounts.sign_in.client_address import client_address
from accounts.sign_in.confirmation import is_own_password, password_chosen, too_many
from accounts.sign_in.limit import Counted, TooManyAttempts, begin_attempt, keyed


class ConfirmPassword(ReauthenticateForm):  # type: ignore[misc]
    """The password of a person who is signed in, before a change of how they sign in."""

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        try:
            if is_own_password(context.request, self.user, password):
                return password
        except TooManyAttempts:
            raise too_many() from None
        raise ValidationError(_("The password is incorrect."), code="incorrect_password")


class AskForReset(ResetPasswordForm):  # type: ignore[misc]
    """Sends a link to an address that the owner of an account has verified; the answer is the same for any address."""

    def clean_email(self) -> str:
        email = str(self.cleaned_data["email"]).lower()
        counted = Counted(visitor=keyed("reset", email), address=keyed("reset", client_address(context.request)))
        try:
            begin_attempt(counted, clock=timezone.now)
        except TooManyAttempts:
            raise too_many() from None
        verified = EmailAddress.objects.filter(email=email, verified=True, user__is_active=True)
        self.users = [address.user for address in verified.select_related("user")]
        return email

    def save(self, request: HttpRequest, **others: Any) -> str:
        return str(super().save(request, **others)) if self.users else self.cleaned_data["email"]


class ResetPassword(ResetPasswordKeyForm):  # type: ignore[misc]
    """A new password by a link from an e-mail. It ends the account's sessions, tokens and device cookies."""

    def save(self) -> None:
        super().save()
        own_password_chosen(self.user)
        revoke_all_tokens(self.user, clock=timezone.now)
        password_chosen(context.request, self.user, how="e-mail")
