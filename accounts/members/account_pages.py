"""The account page and one's password."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.api.tokens import valid_tokens
from accounts.members.changes import own_password_chosen
from accounts.models import User
from accounts.sign_in.confirmation import TOO_MANY, OwnPasswordForm, password_chosen, retry_later
from accounts.sign_in.devices import forget_browsers


class PasswordForm(OwnPasswordForm):
    """A new password, with the offer to revoke the tokens that were created under the old one, if there are any."""

    revoke_tokens = forms.BooleanField(
        label=gettext_lazy("Also revoke my API tokens"),
        help_text=gettext_lazy(
            "Leave this ticked if somebody else may know your password. Programs need new tokens then."
        ),
        required=False,
        initial=True,
    )

    def __init__(self, user: User, *args: Any, **options: Any) -> None:
        super().__init__(user, *args, **options)
        if user.password_given or not valid_tokens(user, clock=timezone.now).exists():
            del self.fields["revoke_tokens"]


@never_cache
@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    context = {
        "identity": settings.IDENTITY,
        "known_browsers": user.known_browsers.count(),
        "memberships": user.memberships.select_related("workspace").order_by("workspace__slug"),
    }
    return render(request, "accounts/account.html", context)


@login_required
@require_POST
def forget_known_browsers(request: HttpRequest) -> HttpResponse:
    """Revoke the user's device cookies in all browsers."""
    forget_browsers(cast(User, request.user))
    messages.success(request, _("No browser is known any more. The next sign-in makes one known again."))
    return redirect("accounts:account")


class PasswordPage(PasswordChangeView):
    template_name = "accounts/password.html"
    form_class = PasswordForm
    success_url = reverse_lazy("accounts:account")

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            response = super().form_valid(form)
            user, given = cast(User, self.request.user), form.cleaned_data.get("revoke_tokens", False)
            revoked = own_password_chosen(user, revoke_tokens=given)
            password_chosen(self.request, user, how="account page")
        sentence = _("Your password has been changed.")
        if revoked:
            tokens = ngettext("%(n)s API token has been revoked.", "%(n)s API tokens have been revoked.", revoked)
            sentence = f"{sentence} {tokens % {'n': revoked}}"
        messages.success(self.request, sentence)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        return retry_later(response) if form.has_error("old_password", TOO_MANY) else response


change_password = PasswordPage.as_view()
