"""Signing in and out."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpResponse
from django.utils.functional import cached_property

from accounts.unsent_forms import PACKED, UnsentForm, offer_again


class SignInPage(LoginView):
    """Leads to the page asked for, or offers the form again that brought the reader here."""

    redirect_authenticated_user = True

    @cached_property
    def unsent(self) -> UnsentForm | None:
        return UnsentForm.unpacked(self.request.POST.get(PACKED, ""))

    def get_template_names(self) -> list[str]:
        return ["accounts/unsent_form.html" if self.unsent else "accounts/sign_in.html"]

    def get_context_data(self, **others: Any) -> dict[str, Any]:
        return super().get_context_data(unsent=self.unsent, **others)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        signed_in = super().form_valid(form)
        return signed_in if self.unsent is None else offer_again(self.request, self.unsent)


sign_in = SignInPage.as_view()
sign_out = LogoutView.as_view()
