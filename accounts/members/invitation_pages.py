"""The page of an invitation, which is accepted with an existing account or a new one."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.members.changes import PeopleRefused, own_password_chosen
from accounts.members.invitations import InvitationClosed, accept, accept_as_new, check_invitation, invitation_behind
from accounts.models import Invitation, User
from accounts.sign_in.confirmation import password_chosen


class NewAccountForm(SetPasswordForm):  # type: ignore[type-arg]
    """A name and a password that the invited person chooses."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, widget=forms.TextInput(attrs={"autocomplete": "username"})
    )
    field_order = ["name", "new_password1", "new_password2"]

    def __init__(self, invitation: Invitation, *args: Any, **options: Any) -> None:
        super().__init__(User(), *args, **options)
        self.fields["name"].help_text = _("You will sign in with this name followed by @%(workspace)s.") % {
            "workspace": invitation.workspace.slug
        }

    def clean_name(self) -> str:
        """Return the name, which the check of the password also needs because the two must differ."""
        self.user.username = self.cleaned_data["name"]
        return str(self.cleaned_data["name"])


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show who invites the reader to what, and make the reader a member when they post the form."""
    found = get_object_or_404(Invitation, pk=getattr(invitation_behind(token), "pk", None))
    user = request.user if isinstance(request.user, User) else None
    sent = request.POST if request.method == "POST" else None
    form: SetPasswordForm[User] | None
    if user is None:
        form = NewAccountForm(found, sent)
    else:
        form = SetPasswordForm(user, sent) if user.password_given else None
    try:
        check_invitation(found, user, clock=timezone.now)
        if sent is not None and (form is None or form.is_valid()):
            return _let_in(request, found, user, form)
    except InvitationClosed as problem:
        return _page(request, found, why=str(problem), status=410)
    except PeopleRefused as problem:
        assert form is not None
        form.add_error("name", str(problem))
    return _page(request, found, form=form, status=422 if form is not None and form.errors else 200)


def _let_in(
    request: HttpRequest, found: Invitation, user: User | None, form: "SetPasswordForm[User] | None"
) -> HttpResponse:
    """Make the reader a member. Raises InvitationClosed, and PeopleRefused for an invalid name."""
    if user is None:
        assert form is not None
        user = accept_as_new(
            invitation=found,
            name=form.cleaned_data["name"],
            password=form.cleaned_data["new_password1"],
            clock=timezone.now,
        )
        login(request, user, backend="accounts.signed_in.Accounts")
        messages.success(
            request,
            _("You are now a member of %(workspace)s. From now on, sign in as %(name)s. Make a note of this name.")
            % {"workspace": found.workspace.name, "name": user.username},
        )
        return redirect("home")
    with transaction.atomic():
        if form is not None:
            form.save()
            own_password_chosen(user)
        accept(invitation=found, user=user, clock=timezone.now)
    if form is not None:
        update_session_auth_hash(request, user)
        password_chosen(request, user, how="invitation")
    messages.success(request, _("You are now a member of %(workspace)s.") % {"workspace": found.workspace.name})
    return redirect("home")


def _page(
    request: HttpRequest,
    found: Invitation,
    *,
    form: "SetPasswordForm[User] | None" = None,
    why: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {"invitation": found, "form": form, "why": why, "identity": settings.IDENTITY}
    return render(request, "accounts/invitation.html", context, status=status)
