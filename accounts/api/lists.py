"""Shared by all addresses of the API: pagination and the requesting user."""

from typing import Any, cast

from rest_framework import exceptions, serializers
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User


class Unusable(exceptions.APIException):
    """The request cannot be carried out; the message says why and what to do."""

    status_code = 400
    default_code = "unusable"


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
