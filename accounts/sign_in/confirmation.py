"""Checks of the password of a person who is signed in already, limited apart from signing in."""

from typing import Any

from django.contrib.auth.forms import PasswordChangeForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.sign_in.devices import forget_browsers
from accounts.sign_in.hashing import hashing_slot
from accounts.sign_in.limit import TooManyAttempts, begin_attempt, counted_for_confirming, forget_attempts, wait_seconds
from accounts.sign_in.record import SIGNED_IN, record, record_failure

TOO_MANY = "too_many"
FRESH_SECONDS = 600


def is_own_password(request: HttpRequest, user: User, password: str) -> bool:
    """Return whether the password is the user's, who is signed in. Raises TooManyAttempts and HashingBusy."""
    with hashing_slot():
        attempt = begin_attempt(counted_for_confirming(request, user), clock=timezone.now)
        correct = user.check_password(password)
    if correct:
        forget_attempts(attempt)
    else:
        record_failure(user.username, "password check failed")
    return correct


def why_not_confirmed(request: HttpRequest, user: User, password: str) -> str:
    """Return why it is not known that the user is at the keyboard, '' where it is: by the password or, for an account
    without one (OpenID Connect), by a sign-in within the last FRESH_SECONDS. Raises HashingBusy."""
    if not user.has_usable_password():
        signed_in = user.last_login
        fresh = signed_in is not None and (timezone.now() - signed_in).total_seconds() < FRESH_SECONDS
        return "" if fresh else _("Sign in again and repeat this within ten minutes.")
    try:
        return "" if is_own_password(request, user, password) else _("This is not your password.")
    except TooManyAttempts:
        return " ".join(too_many().messages)


def too_many() -> ValidationError:
    text = _("Too many failed attempts. Try again in %(n)s minutes.") % {"n": wait_seconds() // 60}
    return ValidationError(text, code=TOO_MANY)


class OwnPasswordForm(PasswordChangeForm):
    """A change of one's own password, whose check of the old one is limited."""

    def __init__(self, user: User, *args: Any, request: HttpRequest, **options: Any) -> None:
        super().__init__(user, *args, **options)
        self.request = request

    def clean_old_password(self) -> str:
        password = str(self.cleaned_data["old_password"])
        try:
            if is_own_password(self.request, self.user, password):
                return password
        except TooManyAttempts:
            raise too_many() from None
        raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")


def password_chosen(request: HttpRequest, user: User, *, how: str) -> None:
    """Record that the user has chosen a password, and revoke the device cookies of all other browsers."""
    record(user, "password changed", actor=user, after={"how": how})
    forget_browsers(user)
    if request.user == user:
        setattr(request, SIGNED_IN, user)


def retry_later(response: Any) -> Any:
    """Return the response as the answer to too many attempts."""
    response.status_code = 429
    response["Retry-After"] = str(wait_seconds())
    return response
