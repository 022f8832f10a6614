"""The serving of result pages: the report comes from the cache or a worker, and becomes a page or one of its files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Study, excluded_shown
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.data.verdicts import JudgesVerdicts, failed_among, judges_by_verdicts, judges_without_verdict
from calibration.figures.export import pdf, png, standalone_svg
from calibration.reports.freshness import BUILD, Freshness, shown_report
from calibration.reports.registry import ReportKind, Settings
from calibration.web.answer_notes import answer_notes, are_excluded_asked
from calibration.web.blocks import Block, ResultPage
from calibration.web.failed_judges import marking
from calibration.web.freshness import not_yet, unchanged
from calibration.web.table_files import TABLE_FORMATS, page_as_json

R = TypeVar("R")
SUFFIXES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "tex": "text/x-tex; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
}

FIGURE_FORMATS: Mapping[str, Callable[[str], str | bytes]] = {"svg": standalone_svg, "png": png, "pdf": pdf}


@dataclass(frozen=True)
class PageKind(Generic[R]):
    """A page: its report, the settings that the address asks for, and the function that turns a report into a page.

    `build` is the background task that computes a report that takes long; `links` are related pages as (URL name,
    text). A page `about_judges` marks the judges that failed their canary texts and says whose verdicts it leaves out.
    """

    report: ReportKind[R]
    settings: Callable[[Study, Mapping[str, str]], Settings]
    page: Callable[[Study, R], ResultPage]
    title: Callable[[], str]
    build: str = BUILD
    links: Callable[[], Sequence[tuple[str, str]]] = tuple
    about_judges: bool = False


def result_view(kind: PageKind[Any]) -> Callable[..., HttpResponse]:
    """What an address with a study's slug leads to, for members who may read the study's results."""

    @require_safe
    @results_page
    def view(request: HttpRequest, slug: str) -> HttpResponse:
        return serve(request, study_read_by(cast(User, request.user), slug), kind)

    return view


def serve(request: HttpRequest, study: Study, kind: PageKind[Any]) -> HttpResponse:
    """Serve the page of a study's report, one of its files (?file=), or a note that it is being computed."""
    with excluded_shown(are_excluded_asked(request, study)):
        settings = kind.settings(study, request.GET.dict())
        shown = shown_report(study, kind.report, settings, build=kind.build)
        if (nothing_new := unchanged(request, shown.freshness)) is not None:
            return nothing_new
        judges = judges_by_verdicts(study) if kind.about_judges else []
        failed = failed_among(judges)
        page = _page(study, shown.report, kind, failed) if shown.report is not None else None
    if "file" in request.GET:
        return file_of(page, request.GET["file"], study.slug, shown.freshness) if page is not None else not_yet()
    query = request.GET.copy()
    query.pop("waiting", None)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "page": page,
        "page_title": kind.title(),
        "query": query.urlencode(),
        "path": request.path,
        "freshness": shown.freshness,
        "links": [(reverse(name, args=[study]), words) for name, words in kind.links()],
        "discredited": failed,
        "unusable": judges_without_verdict(study, judges) if kind.about_judges else [],
        **answer_notes(request, study),
    }
    template = "calibration/result.html"
    if request.htmx:  # type: ignore[attr-defined]
        template += "#result"
    return render(request, template, context)


def result_of(
    study: Study, kind: PageKind[Any], query: Mapping[str, str], *, excluded: bool = False
) -> tuple[ResultPage | None, Freshness]:
    """Return what the page shows for this query and how old it is; None while it is computed for the first time.

    With `excluded` it counts the answers that a lead excluded.
    """
    with excluded_shown(excluded):
        shown = shown_report(study, kind.report, kind.settings(study, query), build=kind.build)
        failed = failed_among(judges_by_verdicts(study)) if kind.about_judges else []
        page = _page(study, shown.report, kind, failed) if shown.report is not None else None
    return page, shown.freshness


def _page(study: Study, report: Any, kind: PageKind[Any], failed: Sequence[JudgesVerdicts]) -> ResultPage:
    with marking(failed):
        page = kind.page(study, report)
    return replace(page, failed=[row.judge.name for row in failed]) if failed else page


def file_of(page: ResultPage, name: str, of: str, freshness: Freshness | None = None) -> HttpResponse:
    """Serve a block's figure as '<block>.svg', '.png' or '.pdf', its table as '.csv', '.json', '.tex' or '.md'.

    404 if it has none. 'page.json' is the whole page: its answer and every block with its exact values. `of` is the short
    name of what the page is about, with which the name of the download begins. The headers say when its numbers were
    computed.
    """
    freshness = freshness or Freshness()
    key, _, suffix = name.rpartition(".")
    block = page.block(key)
    content: str | bytes | None = page_as_json(page, freshness.values()) if name == "page.json" else None
    if block and suffix in SUFFIXES:
        content = _content(block, suffix)
    if content is None:
        raise Http404(gettext("This page has no such file."))
    response = HttpResponse(content, content_type=SUFFIXES[suffix])
    stem = slugify(f"{of}-{key}") or "figure"
    response["Content-Disposition"] = f'attachment; filename="{stem}.{suffix}"'
    for header, value in freshness.headers().items():
        response[header] = value
    return response


def _content(block: Block, suffix: str) -> str | bytes | None:
    if suffix in TABLE_FORMATS:
        return TABLE_FORMATS[suffix](block.table) if block.table else None
    if not block.figure:
        return None
    return FIGURE_FORMATS[suffix](block.figure)
