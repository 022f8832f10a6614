"""Permissions. Roles are per workspace; owners, leads and analysts may read results."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from accounts.models import Membership, User, Workspace
from core.read_once import once, read_once

LEADING = (Membership.Role.OWNER, Membership.Role.LEAD)
READING = (*LEADING, Membership.Role.ANALYST)
SAFE_METHODS = ("GET", "HEAD")
TAKING_PART = (*LEADING, Membership.Role.REVIEWER, Membership.Role.RATER)


def workspaces_led_by(user: User) -> QuerySet[Workspace]:
    """Return the workspaces in which the user may change studies and start runs."""
    return _workspaces_of(user, LEADING)


def workspaces_owned_by(user: User) -> QuerySet[Workspace]:
    """Return the workspaces whose members and limits of spending the user may change."""
    return _workspaces_of(user, (Membership.Role.OWNER,))


def workspaces_read_by(user: User) -> QuerySet[Workspace]:
    """Return the workspaces whose results the user may read."""
    return _workspaces_of(user, READING)


def member_workspaces(user: User) -> QuerySet[Workspace]:
    """Return the workspaces of which the user is a member, in whatever role."""
    return _workspaces_of(user, Membership.Role.values)


def workspaces_taken_part_in(user: User) -> QuerySet[Workspace]:
    """Return the workspaces in which the user may propose, vote and review, as all members but analysts may."""
    return _workspaces_of(user, TAKING_PART)


def _workspaces_of(user: User, roles: Sequence[str]) -> QuerySet[Workspace]:
    """Return the user's workspaces in these roles; for a request whose token is for one workspace, at most that one."""
    found = Workspace.objects.filter(memberships__user=user, memberships__role__in=roles).distinct()
    return found if user.limited_to is None else found.filter(pk=user.limited_to)


class OfWorkspace(Protocol):
    """A row that belongs to a workspace."""

    @property
    def workspace_id(self) -> int: ...


def _memberships(user: User) -> list[tuple[int, str]]:
    """Return the user's memberships as (workspace's primary key, role)."""
    mine = Membership.objects.filter(user=user)
    return once(("memberships", user.pk), lambda: list(mine.values_list("workspace_id", "role")))


def _in_roles(user: User, roles: Sequence[str]) -> frozenset[int]:
    """Return the primary keys of _workspaces_of."""
    mine = {workspace for workspace, role in _memberships(user) if role in roles}
    return frozenset(mine if user.limited_to is None else mine & {user.limited_to})


def led_by(user: User) -> frozenset[int]:
    """Return the primary keys of the workspaces in which the user may change studies and start runs."""
    return _in_roles(user, LEADING)


def leads_workspace_of(user: User, row: OfWorkspace) -> bool:
    """Return whether the user may change the row and what belongs to it."""
    return row.workspace_id in led_by(user)


def reads_workspace_of(user: User, row: OfWorkspace) -> bool:
    """Return whether the user may read the results of the workspace to which the row belongs."""
    return row.workspace_id in _in_roles(user, READING)


def takes_part_in_workspace_of(user: User, row: OfWorkspace) -> bool:
    """Return whether the user may propose, vote and review there, as all members but analysts may."""
    return row.workspace_id in _in_roles(user, TAKING_PART)


def roles_of(user: User) -> frozenset[str]:
    """Return the user's roles in all workspaces."""
    return frozenset(role for _workspace, role in _memberships(user))


def leads_somewhere(user: User) -> bool:
    return bool(_in_roles(user, READING))


def results_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view for signed-in members who may read results; everybody else sees a page that says so."""

    @login_required
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        assert isinstance(request.user, User)
        if request.method not in SAFE_METHODS:
            if not leads_somewhere(request.user):
                raise PermissionDenied
            return view(request, *args, **kwargs)
        with read_once():
            if not leads_somewhere(request.user):
                raise PermissionDenied
            return view(request, *args, **kwargs)

    return guarded
