"""Figures and tables of pages as files for programs: two addresses for each page, of the list and of one file.

The files are those that the page offers for download, made by the same code.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from calibration.reports.freshness import Freshness
from calibration.web.blocks import ResultPage
from calibration.web.freshness import RETRY_SECONDS
from calibration.web.serving import SUFFIXES, file_of

FIGURE, TABLE, PAGE = "figure", "table", "page"
FIGURES = ("svg", "png", "pdf")
TYPES = {suffix: kind.partition(";")[0] for suffix, kind in SUFFIXES.items()}
"""The types of the files by how their names end, as the schema and the lists state them."""


@dataclass(frozen=True)
class PageFile:
    """A file of a page; `title` is that of what it shows, `type` its content type."""

    name: str
    title: str
    kind: str
    type: str


@dataclass(frozen=True)
class PageFiles:
    """The files of a page, and what serves the one of a name, which raises Http404 for a name that none has."""

    title: str
    files: Sequence[PageFile]
    serve: Callable[[str], HttpResponse]


class PageFileSerializer(serializers.Serializer[PageFile]):
    name = serializers.CharField(help_text="By which the address of the file ends.")
    title = serializers.CharField(help_text="What it shows.")
    kind = serializers.ChoiceField(
        choices=[FIGURE, TABLE, PAGE], help_text="page: everything that the page says, as JSON."
    )
    type = serializers.ChoiceField(choices=sorted(TYPES.values()), help_text="The content type.")


class PageFilesSerializer(serializers.Serializer[PageFiles]):
    """The files of a page."""

    title = serializers.CharField(help_text="That of the page.")
    files = PageFileSerializer(many=True)


class AnyType(DefaultContentNegotiation):
    """Takes any Accept: a file has the one type that its name says, and errors are JSON."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, str(first.media_type)


def page_file(name: str, title: str) -> PageFile:
    """Return the file of a table, figure or page by how its name ends."""
    suffix = name.rpartition(".")[2]
    return PageFile(name, title, FIGURE if suffix in FIGURES else TABLE, TYPES[suffix])


def files_of_page(page: ResultPage, of: str, freshness: Freshness | None = None) -> PageFiles:
    """Return the files of each block with its figure and table, and of the whole page; `of` begins their names."""
    files = [page_file(f"{block.key}.{suffix}", block.title) for block in page.blocks for suffix, _name in block.files]
    files.append(PageFile("page.json", page.title, PAGE, TYPES["json"]))
    return PageFiles(page.title, files, lambda name: file_of(page, name, of, freshness))


def addresses(
    form: str,
    name: str,
    what: str,
    find: Callable[..., PageFiles | None],
    *,
    scope: Scope = Scope.READ,
    parameters: Sequence[Any] = (),
    waits: bool = False,
) -> list[URLPattern]:
    """Return `form`files/ and `form`files/NAME/, called `name`_files and `name`_file.

    `find` takes the request and the parts of the address and returns the files of `what`; where it `waits`, None while a
    worker computes what they show. `parameters` are those of the page.
    """

    def listing(request: Request, **parts: str) -> ApiResponse:
        found = find(request, **parts)
        return _computing() if found is None else ApiResponse(PageFilesSerializer(found).data)

    def one(request: Request, name: str, **parts: str) -> HttpResponse | ApiResponse:
        found = find(request, **parts)
        return _computing() if found is None else found.serve(name)

    pause = "\n\n202 while a worker computes what they show for the first time." if waits else ""
    listing.__doc__ = f"List the figures and tables {what}, which are served as files.{pause}"
    one.__doc__ = (
        f"Return a figure {what} as SVG, PNG or PDF, or a table as CSV, JSON, LaTeX (booktabs) or Markdown.{pause}"
    )
    answers: dict[Any, Any] = {(200, kind): OpenApiTypes.BINARY for kind in sorted(TYPES.values())}
    answers[200, TYPES["json"]] = OpenApiTypes.OBJECT
    named = OpenApiParameter("name", str, "path", description="As the list states it, such as scores.svg.")
    views = [
        _view(listing, f"{name}_files", scope, parameters, {200: PageFilesSerializer}, waits),
        _view(one, f"{name}_file", scope, [*parameters, named], answers, waits),
    ]
    return [
        path(f"{form}files/", views[0], name=f"{name}_files"),
        path(f"{form}files/<str:name>/", views[1], name=f"{name}_file"),
    ]


def _view(
    called: Callable[..., Any],
    operation: str,
    scope: Scope,
    parameters: Sequence[Any],
    answers: dict[Any, Any],
    waits: bool,
) -> Any:
    """Return the view of an address with what the schema says of it."""
    view: Any = api_view(["GET"])(needs(scope)(called))
    view.cls.content_negotiation_class = AnyType
    told = {**answers, **({202: OpenApiTypes.OBJECT} if waits else {})}
    return extend_schema(operation_id=operation, parameters=[*parameters], responses=told)(view)


def _computing() -> ApiResponse:
    detail = _("This is being computed; ask again in a moment.")
    return ApiResponse({"detail": detail}, status=202, headers={"Retry-After": str(RETRY_SECONDS)})
