"""The page of a leaderboard's ranking beside another: another board of the workspace, or scores from elsewhere."""

from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import urlencode

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page
from calibration.data.verdicts import JudgesVerdicts
from calibration.statistics.errors import NoStatistic
from calibration.web.blocks import ResultPage
from calibration.web.failed_judges import marking
from calibration.web.serving import file_of
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.library.access import benchmark_read_by
from generation.models import Benchmark
from judging.leaderboards.filters import Filters, read_filters
from judging.leaderboards.table import Leaderboard, verdicts_on
from judging.published.ranking_comparison import (
    LONGEST,
    RankedScores,
    RankingComparison,
    compare_rankings,
    ranked_scores,
    read_scores,
)
from judging.web.leaderboards.filter_menus import default_weights
from judging.web.leaderboards.page import board_or_reason, board_provenance, chosen_judge
from judging.web.leaderboards.ranking_blocks import blocks_of, opening_of

UPLOADED = "scores"
KEPT = "outside_scores"
"""The key of the session under which the last uploaded scores stand: their name and their text."""


class SmallFile(MemoryFileUploadHandler):
    """Keeps a short file in memory and refuses any other; this page alone has it."""

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, boundary: Any, encoding: Any = None
    ) -> None:
        if content_length > 4 * LONGEST:
            raise RequestDataTooBig("The scores are longer than this page takes.")
        super().handle_raw_input(input_data, META, content_length, boundary, encoding)


@csrf_exempt
def rankings_beside(request: HttpRequest, slug: str) -> HttpResponse:
    """Take a file from those who are signed in. The token of the form is checked next, once files can be read."""
    if request.method == "POST" and request.user.is_authenticated:
        request.upload_handlers = [SmallFile(request)]
    return _rankings_beside(request, slug)


@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def _rankings_beside(request: HttpRequest, slug: str) -> HttpResponse:
    """?other= is "benchmark/judge" or "scores", ?top= a number of models; the rest is the leaderboard's. ?file= is a file.

    What is posted are scores from elsewhere, as a file or as text; they are kept with the session.
    """
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    problem = ""
    if request.method == "POST":
        try:
            request.session[KEPT] = _posted(request)
        except UserError as error:
            problem = for_reader(error)
        else:
            query = request.GET.copy()
            query["other"] = UPLOADED
            return redirect(f"{request.path}?{query.urlencode()}")
    page, context = _context(request, benchmark)
    if "file" in request.GET:
        if page is None:
            raise Http404(gettext("This page has no such file."))
        return file_of(page, request.GET["file"], f"{benchmark.slug}-rankings")
    context["problem"] = problem
    return render(request, "judging/rankings_beside.html", context, status=400 if problem else 200)


def _posted(request: HttpRequest) -> list[str]:
    """Return the name and the text of the scores that were sent. Raises UserError."""
    file = request.FILES.get("file")
    name, text = gettext("Scores"), request.POST.get("text", "")
    if file is not None:
        name = str(file.name)[:100]
        text = file.read().decode("utf-8", errors="replace")
    read_scores(text, name)
    return [name, text]


def _context(request: HttpRequest, benchmark: Benchmark) -> tuple[ResultPage | None, dict[str, object]]:
    filters = read_filters(request.GET)
    board, reason = _board(benchmark, filters)
    other, other_board, why = _other(request, benchmark)
    top = _whole(request.GET.get("top", ""))
    page = None
    boards = [one for one in (board, other_board) if one is not None]
    failed = {row.judge.pk: row for one in boards for row in one.failed}
    if board is not None and other is not None:
        try:
            found = compare_rankings(ranked_scores(board, name_of(board)), other, top=top)
            page = rankings_page(found, failed.values())
        except NoStatistic as error:
            why = for_reader(error)
    query = request.GET.copy()
    query.pop("file", None)
    kept = [(name, value) for name, value in query.items() if name not in ("other", "top")]
    return page, {
        "benchmark": benchmark,
        "board": board,
        "board_name": name_of(board) if board else "",
        "board_address": urlencode(kept),
        "kept": kept,
        "page": page,
        "discredited": list(failed.values()),
        "path": request.path,
        "query": query.urlencode(),
        "others": _others(request, benchmark, board),
        "other": request.GET.get("other", ""),
        "top": top or "",
        "reason": reason or why,
        "provenance": sorted({kind for one in boards for kind in board_provenance(one)}),
    }


def rankings_page(found: RankingComparison, failed: Iterable[JudgesVerdicts]) -> ResultPage:
    """Return the page of two rankings, in which the judges that failed their canary texts are marked."""
    rows = list(failed)
    with marking(rows):
        blocks = blocks_of(found)
    names = [row.judge.name for row in rows]
    return ResultPage(gettext("Two rankings"), opening_of(found), blocks, [], failed=names)


def _board(benchmark: Benchmark, filters: Filters) -> tuple[Leaderboard | None, str]:
    judge = chosen_judge(verdicts_on(benchmark), filters.judge)
    if judge is None:
        return None, gettext("No judge has rated this benchmark yet.")
    weights = filters.weights or default_weights(benchmark)
    board, why = board_or_reason(benchmark, judge, weights, filters, beside_people=False)
    return board, why.get("reason", "")


def _other(request: HttpRequest, benchmark: Benchmark) -> tuple[RankedScores | None, Leaderboard | None, str]:
    """Return the other ranking, its board if it has one, and why there is none."""
    asked = request.GET.get("other", "")
    if asked == UPLOADED:
        name, text = request.session.get(KEPT) or ("", "")
        return (read_scores(text, name), None, "") if text else (None, None, gettext("Upload the scores again."))
    slug, _, judge = asked.partition("/")
    if not judge:
        return None, None, ""
    found = Benchmark.objects.filter(workspace=benchmark.workspace_id, slug=slug).first()
    if found is None:
        raise Http404(gettext("There is no such benchmark."))
    board, why = _board(found, Filters(judge=judge))
    return (ranked_scores(board, name_of(board)), board, "") if board else (None, None, why)


def _others(request: HttpRequest, benchmark: Benchmark, board: Leaderboard | None) -> list[tuple[str, str]]:
    """List the boards of the workspace besides this one, and the scores that were uploaded."""
    choices = []
    if kept := request.session.get(KEPT):
        choices.append((UPLOADED, gettext("Uploaded: %(name)s") % {"name": kept[0]}))
    for one in Benchmark.objects.filter(workspace=benchmark.workspace_id).order_by("slug"):
        for row in verdicts_on(one):
            if row.verdicts and not (board and one == board.benchmark and row.judge == board.judge):
                choices.append((f"{one.slug}/{row.judge.public_id}", f"{one.name} · {row.judge.name}"))
    return choices


def name_of(board: Leaderboard) -> str:
    """Return what a board is called beside another."""
    return f"{board.benchmark.name}, {board.judge.name}"


def _whole(written: str) -> int | None:
    return int(written) if written.isascii() and written.isdecimal() and 0 < int(written[:6]) < 100_000 else None
