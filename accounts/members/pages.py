"""The members of a workspace and their roles; creating accounts, inviting, changing and removing members."""

from dataclasses import dataclass, field
from typing import cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.members.changes import (
    LED_BY_LEADS,
    NewAccount,
    PeopleRefused,
    change_role,
    make_accounts,
    new_password,
    people_of,
    remove_person,
    renewable,
    roles_granted_by,
)
from accounts.members.invitations import MOST_DAYS, invite, open_invitations, send_invitation, withdraw
from accounts.models import Membership, User, Workspace
from accounts.permissions import workspaces_led_by


class RoleForm(forms.Form):
    """A form that gives one of `roles`."""

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Membership.Role.choices)

    def __init__(self, *args: object, roles: tuple[str, ...], **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        known = cast(forms.ChoiceField, self.fields["role"])
        known.choices = [(role, name) for role, name in Membership.Role.choices if role in roles]


class AccountsForm(RoleForm):
    """Names of accounts to create, one per line."""

    names = forms.CharField(
        label=gettext_lazy("Names, one per line"), max_length=10_000, widget=forms.Textarea(attrs={"rows": 5})
    )
    field_order = ["names", "role"]

    def clean_names(self) -> list[str]:
        """Return the names in order, each once."""
        lines = (line.strip() for line in self.cleaned_data["names"].splitlines())
        return list(dict.fromkeys(line for line in lines if line))


class InvitationForm(RoleForm):
    note = forms.CharField(
        label=gettext_lazy("Recipient"),
        max_length=100,
        help_text=gettext_lazy("Only owners and leads see this. It helps you tell your invitations apart."),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days until the link expires"), min_value=1, max_value=MOST_DAYS, initial=7
    )
    email = forms.EmailField(
        label=gettext_lazy("Send the link by e-mail to"),
        required=False,
        help_text=gettext_lazy("Leave this empty to pass the link on yourself."),
    )
    field_order = ["note", "role", "days", "email"]

    def __init__(self, *args: object, roles: tuple[str, ...], **options: object) -> None:
        super().__init__(*args, roles=roles, **options)
        if not settings.IDENTITY.mail:
            del self.fields["email"]


@dataclass(frozen=True)
class Result:
    """What a form has just created, with secrets that are shown once."""

    made: list[NewAccount] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    renewed: bool = False
    link: str = ""
    note: str = ""


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, slug: str = "") -> HttpResponse:
    """List the members of a workspace that the visitor leads; new passwords and links are shown here once."""
    workspace = _led(request, slug)
    user = cast(User, request.user)
    roles = roles_granted_by(user, workspace)
    match request.POST.get("do") if request.method == "POST" else "":
        case "":
            return _page(request, workspace)
        case "accounts":
            form: RoleForm = AccountsForm(request.POST, roles=_given_roles(roles), prefix="accounts")
        case "invite":
            form = InvitationForm(request.POST, roles=roles, prefix="invite")
        case _:
            raise Http404
    result = Result()
    if form.is_valid():
        try:
            result = _carry_out(request, workspace, form)
        except PeopleRefused as error:
            form.add_error(None, str(error))
    return _page(request, workspace, form=form, result=result)


def _carry_out(request: HttpRequest, workspace: Workspace, form: RoleForm) -> Result:
    """Carry out what the form asks for. Raises PeopleRefused."""
    user = cast(User, request.user)
    if isinstance(form, AccountsForm):
        made, known = make_accounts(workspace=workspace, by=user, **form.cleaned_data)
        return Result(made=made, known=known)
    email = form.cleaned_data.pop("email", "")
    invitation, secret = invite(workspace=workspace, by=user, clock=timezone.now, **form.cleaned_data)
    link = request.build_absolute_uri(reverse("accounts:invitation", args=[secret]))
    if email and send_invitation(invitation, link, email):
        messages.success(request, _("The invitation has been sent to %(address)s.") % {"address": email})
        return Result()
    if email:
        messages.error(request, _("The e-mail could not be sent. Pass the link on yourself."))
    return Result(link=link, note=form.cleaned_data["note"])


@never_cache
@login_required
@require_POST
def change_person(request: HttpRequest, slug: str, public_id: str, verb: str) -> HttpResponse:
    """Change a member's role, give them a new password, or remove them from the workspace."""
    workspace = _led(request, slug)
    user = cast(User, request.user)
    membership = get_object_or_404(people_of(workspace), user__public_id=public_id)
    name = membership.user.username
    try:
        if verb == "role":
            change_role(membership=membership, role=request.POST.get("role", ""), by=user)
            messages.success(request, _("The role of %(name)s has been changed.") % {"name": name})
        elif verb == "password":
            account = NewAccount(name, new_password(membership=membership, by=user))
            return _page(request, workspace, result=Result(made=[account], renewed=True))
        else:
            remove_person(membership=membership, by=user)
            messages.success(request, _("%(name)s is no longer a member of this workspace.") % {"name": name})
    except PeopleRefused as error:
        messages.error(request, str(error))
    return redirect("accounts:people_of", workspace.slug)


@login_required
@require_POST
def withdraw_invitation(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Withdraw an invitation, so that its link stops working."""
    workspace = _led(request, slug)
    invitation = get_object_or_404(workspace.invitations, public_id=public_id)
    try:
        withdraw(invitation=invitation, by=cast(User, request.user), clock=timezone.now)
    except PeopleRefused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The invitation has been withdrawn."))
    return redirect("accounts:people_of", workspace.slug)


def _page(
    request: HttpRequest, workspace: Workspace, *, form: RoleForm | None = None, result: Result | None = None
) -> HttpResponse:
    user = cast(User, request.user)
    roles = roles_granted_by(user, workspace)
    members = list(people_of(workspace))
    own = renewable(workspace, members)
    refused = form is not None and bool(form.errors)
    forms_shown: dict[str, RoleForm] = {
        "accounts": AccountsForm(roles=_given_roles(roles), prefix="accounts", initial={"role": "rater"}),
        "invite": InvitationForm(roles=roles, prefix="invite", initial={"role": "analyst"}),
    }
    if refused and form is not None:
        forms_shown[str(form.prefix)] = form
    context = {
        "workspace": workspace,
        "workspaces": workspaces_led_by(user),
        "people": [(one, one.role in roles, one.role in roles and one.user_id in own) for one in members],
        "owns": Membership.Role.OWNER in roles,
        "roles": [(role, name) for role, name in Membership.Role.choices if role in roles],
        "invitations": [(one, one.role in roles) for one in open_invitations(workspace, clock=timezone.now)],
        "forms": forms_shown,
        "result": result,
    }
    return render(request, "accounts/people.html", context, status=422 if refused else 200)


def _given_roles(roles: tuple[str, ...]) -> tuple[str, ...]:
    """Return the roles for accounts with a handed-out password; owners and leads must choose their own password."""
    return tuple(role for role in roles if role in LED_BY_LEADS)


def _led(request: HttpRequest, slug: str) -> Workspace:
    """Return the named workspace, or the first that the reader leads if none is named. Raises Http404."""
    led = workspaces_led_by(cast(User, request.user))
    if slug:
        return get_object_or_404(led, slug=slug)
    first = led.first()
    if first is None:
        raise PermissionDenied
    return first
