"""Permissions. Roles are per workspace; owners, leads and analysts may read results."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from accounts.models import Membership, User, Workspace

LEADING = (Membership.Role.OWNER, Membership.Role.LEAD)
READING = (*LEADING, Membership.Role.ANALYST)
TAKING_PART = (*LEADING, Membership.Role.REVIEWER, Membership.Role.RATER)


def workspaces_led_by(user: User) -> QuerySet[Workspace]:
    """Return the workspaces in which the user may change studies and start runs."""
    return _workspaces_of(user, LEADING)


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


def leads_workspace_of(user: User, row: OfWorkspace) -> bool:
    """Return whether the user may change the row and what belongs to it."""
    return workspaces_led_by(user).filter(pk=row.workspace_id).exists()


def reads_workspace_of(user: User, row: OfWorkspace) -> bool:
    """Return whether the user may read the results of the workspace to which the row belongs."""
    return workspaces_read_by(user).filter(pk=row.workspace_id).exists()


def takes_part_in_workspace_of(user: User, row: OfWorkspace) -> bool:
    """Return whether the user may propose, vote and review there, as all members but analysts may."""
    return workspaces_taken_part_in(user).filter(pk=row.workspace_id).exists()


def roles_of(user: User) -> frozenset[str]:
    """Return the user's roles in all workspaces."""
    return frozenset(Membership.objects.filter(user=user).values_list("role", flat=True))


def leads_somewhere(user: User) -> bool:
    return workspaces_read_by(user).exists()


def results_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view for signed-in members who may read results; everybody else sees a page that says so."""

    @login_required
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        assert isinstance(request.user, User)
        if not leads_somewhere(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded
