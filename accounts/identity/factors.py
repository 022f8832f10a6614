"""Second factors: how their secrets are stored, and the limits of their codes."""

from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import User
from accounts.sign_in.confirmation import too_many
from accounts.sign_in.limit import TooManyAttempts, begin_attempt, counted_for, forget_attempts
from accounts.sign_in.record import record_failure
from core.db.encrypted import decrypted, encrypted

PURPOSE = "second-factor"


class SecondFactors(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets of second factors are encrypted with keys made of the server's secret keys."""

    def encrypt(self, text: str) -> str:
        return encrypted(text, purpose=PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypted(encrypted_text, purpose=PURPOSE)

    def _get_user_identifier(self, user: User) -> str:
        return user.username


class SecondFactorCode(AuthenticateForm):  # type: ignore[misc]
    """A code of an authenticator app or a recovery code; wrong ones are limited as wrong passwords are."""

    def clean_code(self) -> str:
        name = self.user.username
        try:
            attempt = begin_attempt(counted_for(context.request, name, what="code"), clock=timezone.now)
        except TooManyAttempts:
            record_failure(name, "second factor refused")
            raise too_many() from None
        try:
            code = str(super().clean_code())
        except ValidationError:
            record_failure(name, "second factor failed")
            raise
        forget_attempts(attempt)
        return code


class ConfirmByCode(SecondFactorCode, ReauthenticateForm):  # type: ignore[misc]
    """The same for a person who is signed in."""
