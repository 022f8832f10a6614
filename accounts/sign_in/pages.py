"""Signing in and out."""

from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.sign_in.confirmation import TOO_MANY, retry_later
from accounts.sign_in.limit import wait_seconds
from accounts.sign_in.session import DEMONSTRATION_PASSWORD, SIGN_IN_REFUSED
from core.web.unsent_forms import PACKED, UnsentForm, offer_again

KEPT_FORM = "kept_form"
"""The session's copy of an unsent form while its sender gives a second factor."""


class SignInForm(AuthenticationForm):
    """Shows the same error for a wrong password, an unknown name and a disabled account."""

    def get_invalid_login_error(self) -> ValidationError:
        if getattr(self.request, SIGN_IN_REFUSED, False):
            return ValidationError(
                _(
                    "Too many failed sign-in attempts. Try again in %(n)s minutes. If you have forgotten your "
                    "password, ask the lead of your study."
                )
                % {"n": wait_seconds() // 60},
                code=TOO_MANY,
            )
        if not settings.LOCAL and self.cleaned_data.get("password") == DEMONSTRATION_PASSWORD:
            return ValidationError(
                _(
                    "Demo accounts are not allowed in production mode. The server administrator can create an account "
                    "for you with the command add_person."
                ),
                code="demonstration",
            )
        return ValidationError(
            _("The name or the password is incorrect. Both are case-sensitive."), code="invalid_login"
        )


class SignInPage(LoginView):
    """Redirect to the requested page, or offer the form again that brought the reader here."""

    authentication_form = SignInForm
    redirect_authenticated_user = True

    @cached_property
    def unsent(self) -> UnsentForm | None:
        return UnsentForm.unpacked(self.request.POST.get(PACKED, ""))

    def get(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """Show the page, or lead to the one that makes the first owner while there is no account."""
        return super().get(request, *args, **options) if User.objects.exists() else redirect("accounts:begin")

    def get_template_names(self) -> list[str]:
        return ["accounts/unsent_form.html" if self.unsent else "accounts/sign_in.html"]

    def get_context_data(self, **others: Any) -> dict[str, Any]:
        return super().get_context_data(unsent=self.unsent, identity=settings.IDENTITY, **others)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        if settings.IDENTITY:
            return self._go_on_with_other_factors(form)
        signed_in = super().form_valid(form)
        return signed_in if self.unsent is None else offer_again(self.request, self.unsent)

    def _go_on_with_other_factors(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in, or ask for the second factor of an account that has one, and keep the unsent form until then."""
        from allauth.account.internal.flows.login import perform_password_login
        from allauth.account.models import Login

        target = self.get_success_url()
        if self.unsent is not None:
            self.request.session[KEPT_FORM] = self.unsent.packed
            target = reverse("kept_form")
        login = Login(user=form.get_user(), redirect_url=target)
        credentials = {"username": form.get_user().get_username()}
        response: HttpResponse = perform_password_login(self.request, credentials, login)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        response = self.render_to_response(self.get_context_data(form=form))
        return retry_later(response) if form.has_error("__all__", TOO_MANY) else response


@never_cache
@require_safe
def administration_sign_in(request: HttpRequest) -> HttpResponse:
    """Lead to the sign-in page, which has the limits; only staff may enter the administration."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@require_safe
def kept_form(request: HttpRequest) -> HttpResponse:
    """Offer a form again that was kept while its sender signed in with a second factor."""
    form = UnsentForm.unpacked(request.session.pop(KEPT_FORM, "")) if request.user.is_authenticated else None
    return redirect("home") if form is None else offer_again(request, form)


sign_in = SignInPage.as_view()
sign_out = LogoutView.as_view()
