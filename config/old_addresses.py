"""Addresses from before they named a workspace: they lead to the row of that slug which the reader can see.

Where the reader can see several, a page or an answer of the API (409) asks which. Redirects are temporary, because what a
reader can see changes.
"""

from collections.abc import Callable
from typing import Any, cast

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, get_script_prefix, path, resolve
from django.utils.encoding import escape_uri_path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import asking
from accounts.models import User
from accounts.permissions import results_page
from annotation.recruitment.participation import rater_page, studies_to_rate
from annotation.studies.access import studies_read_by
from generation.library.access import benchmarks_read_by

View = Callable[..., HttpResponse]
Find = Callable[[HttpRequest], "QuerySet[Any]"]
SAFE_METHODS = ("GET", "HEAD")


def _studies(request: HttpRequest) -> "QuerySet[Any]":
    return studies_read_by(cast(User, request.user))


def _benchmarks(request: HttpRequest) -> "QuerySet[Any]":
    return benchmarks_read_by(cast(User, request.user))


def _found(rows: "QuerySet[Any]", slug: str) -> list[Any]:
    return list(rows.filter(slug=slug).order_by("workspace__slug"))


def _whole(request: HttpRequest, path_: str) -> str:
    query = request.META.get("QUERY_STRING", "")
    return escape_uri_path(path_) + (f"?{query}" if query else "")


def _page(find: Find, place: str, guard: Callable[[View], View], kept: str = "") -> View:
    """A view of the old addresses of rows that stand at /w/<workspace>/<place>/<slug>/<kept><rest> now."""

    @guard
    @never_cache
    def view(request: HttpRequest, slug: str, rest: str = "") -> HttpResponse:
        rows = _found(find(request), slug)
        fronts = [f"{get_script_prefix()}w/{row.workspace.slug}/{place}/{slug}/{kept}" for row in rows]
        if not rows or not _exists(fronts[0] + rest):
            raise Http404
        safe = request.method in SAFE_METHODS
        if len(rows) == 1:
            return redirect(_whole(request, fronts[0] + rest), preserve_request=not safe)
        # What a form sent is stored nowhere yet; its address alone may show no page.
        ways = [_whole(request, front + rest) if safe else front for front in fronts]
        context = {"choices": list(zip(rows, ways, strict=True)), "sent": not safe}
        return render(request, "which_workspace.html", context, status=300)

    return view


def _exists(path_: str) -> bool:
    try:
        resolve(path_.replace(get_script_prefix(), "/", 1))
    except Resolver404:
        return False
    return True


def _both(old: str, view: View) -> list[Any]:
    """The address itself and whatever stands below it."""
    return [path(old, view), path(f"{old}<path:rest>", view)]


_own_page = _page(studies_to_rate, "studies", rater_page, "done/")
urlpatterns = [
    path("studies/<slug:slug>/rate/", _page(studies_to_rate, "studies", rater_page, "rate/")),
    path("studies/<slug:slug>/guideline/", _page(studies_to_rate, "studies", rater_page, "guideline/")),
    *_both("studies/<slug:slug>/", _page(_studies, "studies", results_page)),
    *_both("done/<slug:slug>/", _own_page),
    *_both("library/benchmarks/<slug:slug>/", _page(_benchmarks, "library/benchmarks", results_page)),
    *_both("leaderboards/<slug:slug>/", _page(_benchmarks, "leaderboards", results_page)),
]


def _api(rows_of: Callable[[User], "QuerySet[Any]"], place: str) -> View:
    @extend_schema(exclude=True)
    @api_view(["GET"])
    @needs(Scope.READ)
    def view(request: Request, slug: str, rest: str = "") -> Any:
        rows = _found(rows_of(asking(request)), slug)
        front = request.path.partition(f"/{place}/")[0]
        ways = [f"{front}/w/{row.workspace.slug}/{place}/{slug}/{rest}" for row in rows]
        if not rows or not _exists(ways[0]):
            raise NotFound(f"There is no {slug!r} in your workspaces, or this address does not exist.")
        if len(rows) == 1:
            return redirect(_whole(request, ways[0]))
        found = [
            {"workspace": row.workspace.slug, "slug": slug, "address": request.build_absolute_uri(_whole(request, way))}
            for row, way in zip(rows, ways, strict=True)
        ]
        detail = _("Several of your workspaces have %(slug)s. Ask for one of the addresses in candidates.")
        return Response({"detail": detail % {"slug": slug}, "candidates": found}, status=409)

    return cast(View, view)


api_urlpatterns = [
    *_both("studies/<slug:slug>/", _api(studies_read_by, "studies")),
    *_both("benchmarks/<slug:slug>/", _api(benchmarks_read_by, "benchmarks")),
    *_both("leaderboards/<slug:slug>/", _api(benchmarks_read_by, "leaderboards")),
]
