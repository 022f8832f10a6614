"""The page on which a new installation opens: it makes the first owner, and is closed as soon as there is an account."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.members.changes import PeopleRefused
from accounts.members.first_owner import (
    CodeRefused,
    OwnerKnown,
    counted_for_code,
    has_no_account,
    keep_code_in_log,
    make_first_owner,
    needs_code,
)
from accounts.models import User
from accounts.sign_in.confirmation import TOO_MANY, retry_later, too_many
from accounts.sign_in.limit import TooManyAttempts, begin_attempt, forget_attempts


class FirstOwnerForm(SetPasswordForm):  # type: ignore[type-arg]
    """The name and the password of the first owner, and the one-time code where one is needed."""

    code = forms.CharField(
        label=gettext_lazy("One-time code"),
        help_text=gettext_lazy(
            "The server printed it when it started, or wrote it to its log. It can be used once, within an hour."
        ),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, widget=forms.TextInput(attrs={"autocomplete": "username"})
    )
    field_order = ["code", "name", "new_password1", "new_password2"]

    def __init__(self, *args: Any, with_code: bool, **options: Any) -> None:
        super().__init__(User(), *args, **options)
        if not with_code:
            del self.fields["code"]

    def clean_name(self) -> str:
        """Return the name, which the check of the password also needs because the two must differ."""
        self.user.username = self.cleaned_data["name"].strip()
        return str(self.user.username)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """Make the first owner and sign them in; once there is an account, lead to the start page."""
    if not has_no_account():
        return redirect("home")
    with_code = needs_code(request)
    sent = request.POST if request.method == "POST" else None
    if with_code and sent is None:
        keep_code_in_log(clock=timezone.now)
    form = FirstOwnerForm(sent, with_code=with_code)
    if sent is not None and form.is_valid():
        try:
            return _made(request, form, with_code=with_code)
        except OwnerKnown as problem:
            messages.info(request, str(problem))
            return redirect("accounts:sign_in")
        except CodeRefused as problem:
            form.add_error("code", str(problem))
        except PeopleRefused as problem:
            form.add_error("name", str(problem))
        except TooManyAttempts:
            form.add_error("code", too_many())
    response = render(request, "accounts/begin.html", {"form": form}, status=422 if form.errors else 200)
    return retry_later(response) if with_code and form.has_error("code", TOO_MANY) else response


def _made(request: HttpRequest, form: FirstOwnerForm, *, with_code: bool) -> HttpResponse:
    """Make the owner. Raises OwnerKnown, CodeRefused, PeopleRefused and TooManyAttempts."""
    attempt = begin_attempt(counted_for_code(request), clock=timezone.now) if with_code else None
    user = make_first_owner(
        name=form.cleaned_data["name"],
        password=form.cleaned_data["new_password1"],
        code=form.cleaned_data["code"] if with_code else None,
        clock=timezone.now,
    )
    if attempt is not None:
        forget_attempts(attempt)
    login(request, user, backend="accounts.signed_in.Accounts")
    messages.success(
        request,
        _("You are the owner of this installation. From now on, sign in as %(name)s.") % {"name": user.username},
    )
    return redirect("home")
