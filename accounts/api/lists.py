"""Shared by all addresses of the API: pagination, the requesting user, and what was sent."""

from collections.abc import Mapping
from typing import Any, cast

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions, serializers
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User, Workspace
from accounts.permissions import workspaces_led_by, workspaces_read_by

SIZE = OpenApiParameter("size", int, description="Rows per page (default 100, at most 1000).")
CURSOR = OpenApiParameter("cursor", str, description="Where the previous page ended; contained in its `next`.")


class Unusable(exceptions.APIException):
    """The request cannot be carried out; the message says why and what to do. It is answered with `status`."""

    def __init__(self, detail: str, status: int = 400) -> None:
        super().__init__(detail, "unusable")
        self.status_code = status


class Pages(CursorPagination):
    """Pages of lists in order of creation, by cursor: no row is skipped when others are added."""

    ordering = "pk"
    page_size = 100
    max_page_size = 1000
    page_size_query_param = "size"


def paged(request: Request, rows: Any, serializer: type[serializers.Serializer[Any]]) -> Response:
    """One page of `rows` as {"next", "previous", "results"}."""
    pages = Pages()
    found: list[Any] | None = pages.paginate_queryset(rows, request)
    return pages.get_paginated_response(serializer(found, many=True).data)


def asking(request: Request) -> User:
    """Return the signed-in person or the owner of the token; permissions ensure that there is one."""
    return cast(User, request.user)


def workspace_to_read(request: Request, slug: str) -> Workspace:
    """Return the workspace, for somebody who may read its results; else 404."""
    found = workspaces_read_by(asking(request)).filter(slug=slug).first()
    if found is None:
        raise exceptions.NotFound(
            _("There is no workspace %(slug)s whose results you may read.") % {"slug": repr(slug)}
        )
    return found


def workspace_to_change(request: Request, slug: str) -> Workspace:
    """Return the workspace, for an owner or lead of it; 404 where it cannot be read, 403 where it cannot be changed."""
    found = workspace_to_read(request, slug)
    if not workspaces_led_by(asking(request)).filter(pk=found.pk).exists():
        raise exceptions.PermissionDenied(_("Only owners and leads of this workspace can do this."))
    return found


def checked(asked: serializers.Serializer[Any]) -> dict[str, Any]:
    """Return what was sent. Raises Unusable with the first problem, such as kind: "poll" is not a valid choice."""
    if not asked.is_valid():
        raise Unusable(first_problem(asked.errors))
    return dict(asked.validated_data)


def first_problem(errors: Mapping[str, Any] | list[Any]) -> str:
    """Return the first error of a serializer with its field; a list's errors are by position."""
    field, found = next(iter(errors.items())) if isinstance(errors, Mapping) else ("", errors)
    while isinstance(found, Mapping):
        found = next(iter(found.values()))
    while isinstance(found, list) and found and isinstance(found[0], list | Mapping):
        found = found[0] if isinstance(found[0], list) else list(found[0].values())
    said = str(found[0] if isinstance(found, list) else found)
    return f"{field}: {said}" if field else said
