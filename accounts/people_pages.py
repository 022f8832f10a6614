"""The people of a workspace: who is there, in which role; adding, changing and removing them."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import Membership, User, Workspace
from accounts.people import (
    PeopleRefused,
    add_person,
    change_role,
    new_password,
    people_of,
    remove_person,
    roles_granted_by,
)
from accounts.permissions import workspaces_led_by


class PersonForm(forms.Form):
    username = forms.CharField(label=gettext_lazy("Name to sign in with"), max_length=150, strip=True)
    role = forms.ChoiceField(
        label=gettext_lazy("Role"), choices=Membership.Role.choices, initial=Membership.Role.ANALYST
    )

    def __init__(self, *args: object, roles: tuple[str, ...], **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        field = cast(forms.ChoiceField, self.fields["role"])
        field.choices = [(role, name) for role, name in Membership.Role.choices if role in roles]


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, slug: str = "") -> HttpResponse:
    """The people of one of the workspaces that the reader leads; a new person's password is shown on this page once."""
    workspace = _led(request, slug)
    user = cast(User, request.user)
    roles = roles_granted_by(user, workspace)
    form = PersonForm(request.POST or None, roles=roles)
    added, password = None, ""
    if request.method == "POST" and form.is_valid():
        try:
            added, password = add_person(workspace=workspace, by=user, **form.cleaned_data)
            form = PersonForm(roles=roles)
        except PeopleRefused as error:
            form.add_error("username", str(error))
    return _page(request, workspace, form=form, added=added, password=password)


@never_cache
@login_required
@require_POST
def change_person(request: HttpRequest, slug: str, public_id: str, verb: str) -> HttpResponse:
    """Another role, a new password, or out of the workspace."""
    workspace = _led(request, slug)
    user = cast(User, request.user)
    membership = get_object_or_404(people_of(workspace), user__public_id=public_id)
    name, password = membership.user.username, ""
    try:
        if verb == "role":
            change_role(membership=membership, role=request.POST.get("role", ""), by=user)
            messages.success(request, _("The role of %(name)s is changed.") % {"name": name})
        elif verb == "password":
            password = new_password(membership=membership, by=user)
        else:
            remove_person(membership=membership, by=user)
            messages.success(
                request, _("%(name)s does not belong to this workspace any more.") % {"name": name}
            )
    except PeopleRefused as error:
        messages.error(request, str(error))
    if password:
        form = PersonForm(roles=roles_granted_by(user, workspace))
        return _page(request, workspace, form=form, added=membership.user, password=password)
    return redirect("accounts:people_of", workspace.slug)


def _page(
    request: HttpRequest, workspace: Workspace, *, form: PersonForm, added: User | None, password: str
) -> HttpResponse:
    user = cast(User, request.user)
    roles = roles_granted_by(user, workspace)
    context = {
        "workspace": workspace,
        "workspaces": workspaces_led_by(user),
        "people": [(one, one.role in roles) for one in people_of(workspace)],
        "roles": [(role, name) for role, name in Membership.Role.choices if role in roles],
        "form": form,
        "added": added,
        "password": password,
    }
    return render(request, "accounts/people.html", context, status=422 if form.errors else 200)


def _led(request: HttpRequest, slug: str) -> Workspace:
    """The named workspace, unnamed the first that the reader leads; nobody else comes in."""
    led = workspaces_led_by(cast(User, request.user))
    if slug:
        return get_object_or_404(led, slug=slug)
    first = led.first()
    if first is None:
        raise PermissionDenied
    return first
