"""The tokens with which one's programs use the API: creating, listing and revoking them."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.api.tokens import issue_token, revoke_token
from accounts.models import ApiToken, User, Workspace
from accounts.permissions import results_page, workspaces_read_by


class TokenForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("What is it for?"),
        max_length=100,
        help_text=gettext_lazy("A name that helps you tell tokens apart, such as the script that uses this one."),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What may it do?"),
        choices=ApiToken.Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[ApiToken.Scope.READ],
    )
    workspace = forms.ModelChoiceField(
        Workspace.objects.none(),
        label=gettext_lazy("Workspace"),
        required=False,
        empty_label=gettext_lazy("All workspaces whose results I may read"),
    )

    def __init__(self, user: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        cast("forms.ModelChoiceField[Workspace]", self.fields["workspace"]).queryset = workspaces_read_by(user)
        most = settings.TOKEN_DAYS_MOST
        self.fields["days"] = forms.IntegerField(
            label=gettext_lazy("Days until it expires"),
            help_text=_("At most %(n)s.") % {"n": most},
            initial=settings.TOKEN_DAYS,
            min_value=1,
            max_value=most,
        )


@never_cache
@results_page
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """List the user's tokens; the secret of a new token is shown once, in the response that creates it."""
    user = cast(User, request.user)
    form, secret = TokenForm(user, request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        _token, secret = issue_token(user=user, clock=timezone.now, **form.cleaned_data)
        form = TokenForm(user)
    context = {
        "form": form,
        "secret": secret,
        "tokens": user.api_tokens.filter(revoked_at=None).select_related("workspace"),
        "now": timezone.now(),
    }
    return render(request, "accounts/tokens.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def revoke(request: HttpRequest, public_id: str) -> HttpResponse:
    """Revoke one of the user's own tokens."""
    token = get_object_or_404(cast(User, request.user).api_tokens, public_id=public_id)
    revoke_token(token=token, clock=timezone.now)
    messages.success(request, _("The token %(name)s has been revoked.") % {"name": token.name})
    return redirect("accounts:tokens")
