"""The account page: one's password, and the tokens with which one's programs use the API."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.api.tokens import issue_token, revoke_token
from accounts.members.changes import own_password_chosen
from accounts.models import User
from accounts.permissions import leads_somewhere
from accounts.sign_in.confirmation import TOO_MANY, OwnPasswordForm, password_chosen, retry_later
from accounts.sign_in.devices import forget_browsers


class TokenForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("What is it for?"),
        max_length=100,
        help_text=gettext_lazy("A name that helps you tell tokens apart, such as the script that uses this one."),
    )
    may_change = forms.BooleanField(
        label=gettext_lazy("Allow changes, such as pausing and resuming runs"), required=False
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """List the user's tokens; the secret of a new token is shown once, in the response that creates it."""
    user = cast(User, request.user)
    may_have = leads_somewhere(user)
    form, secret = TokenForm(request.POST or None), ""
    if request.method == "POST" and may_have and form.is_valid():
        _token, secret = issue_token(user=user, **form.cleaned_data)
        form = TokenForm()
    context = {
        "identity": settings.IDENTITY,
        "known_browsers": user.known_browsers.count(),
        "form": form,
        "secret": secret,
        "may_have_tokens": may_have,
        "tokens": user.api_tokens.filter(revoked_at=None),
        "memberships": user.memberships.select_related("workspace").order_by("workspace__slug"),
    }
    status = 422 if form.errors else 200
    return render(request, "accounts/account.html", context, status=status)


@login_required
@require_POST
def revoke(request: HttpRequest, public_id: str) -> HttpResponse:
    """Revoke one of the user's own tokens."""
    token = get_object_or_404(cast(User, request.user).api_tokens, public_id=public_id)
    revoke_token(token=token, clock=timezone.now)
    messages.success(request, _("The token %(name)s has been revoked.") % {"name": token.name})
    return redirect("accounts:account")


@login_required
@require_POST
def forget_known_browsers(request: HttpRequest) -> HttpResponse:
    """Revoke the user's device cookies in all browsers."""
    forget_browsers(cast(User, request.user))
    messages.success(request, _("No browser is known any more. The next sign-in makes one known again."))
    return redirect("accounts:account")


class PasswordPage(PasswordChangeView):
    form_class = OwnPasswordForm
    template_name = "accounts/password.html"
    success_url = reverse_lazy("accounts:account")

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Your password has been changed."))
        response = super().form_valid(form)
        user = cast(User, self.request.user)
        own_password_chosen(user)
        password_chosen(self.request, user, how="account page")
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        return retry_later(response) if form.has_error("old_password", TOO_MANY) else response


change_password = PasswordPage.as_view()
