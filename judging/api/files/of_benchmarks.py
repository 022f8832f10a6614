"""Files of the pages of benchmarks: leaderboards, texts, and the tables of papers."""

from dataclasses import replace

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from rest_framework.request import Request

from accounts.api.lists import Unusable
from annotation.models import excluded_shown
from calibration.data.verdicts import failed_judges
from calibration.reports.cache import SHOWN
from generation.api import benchmark_to_read
from generation.web.library.api import COUNTED, texts_asked
from judging.api.files.page_files import PAGE, TYPES, PageFile, PageFiles, addresses, files_of_page, page_file
from judging.api.leaderboards.boards import (
    BY_LENGTH,
    RANKED,
    BoardQuerySerializer,
    board_asked,
    lengths_asked,
    rankings_asked,
    tables_asked,
)
from judging.api.leaderboards.pairs import ASKED, pair_asked
from judging.leaderboards.model_pairs import GAP
from judging.leaderboards.table import judge_named
from judging.published.computed_tables import ComputedTable
from judging.web.leaderboards.lengths import lengths_page
from judging.web.leaderboards.model_pair import ITEMS, pair_csv
from judging.web.leaderboards.page import board_file
from judging.web.leaderboards.paper_layout import table_name, title_of
from judging.web.leaderboards.paper_tables import file_names, paper_table_file
from judging.web.leaderboards.rankings import name_of, rankings_page
from judging.web.leaderboards.table import leaderboard_page
from judging.web.leaderboards.text_statistics import text_statistics_page

BOARD = "w/<str:workspace>/leaderboards/<str:slug>/"
BENCHMARK = "w/<str:workspace>/benchmarks/<str:slug>/"
WHOLE_BOARD = "board.json"


def _board(request: Request, workspace: str, slug: str) -> PageFiles:
    board = board_asked(request, benchmark_to_read(request, workspace, slug), beside_people=True)
    with excluded_shown(board.filters.excluded == SHOWN):
        page = leaderboard_page(board)
    found = files_of_page(page, board.benchmark.slug)
    whole = PageFile(WHOLE_BOARD, page.title, PAGE, TYPES["json"])
    return PageFiles(page.title, [*found.files, whole], lambda name: board_file(board, page, name))


def _rankings(request: Request, workspace: str, slug: str) -> PageFiles:
    found, boards = rankings_asked(request, workspace, slug)
    names = [name_of(board) for board in boards]  # the command and the JSON name boards by their slugs
    found = replace(found, name=names[0], other_name=names[1] if len(names) > 1 else found.other_name)
    failed = {row.judge.pk: row for board in boards for row in board.failed}
    return files_of_page(rankings_page(found, failed.values()), f"{boards[0].benchmark.slug}-rankings")


def _lengths(request: Request, workspace: str, slug: str) -> PageFiles:
    benchmark = benchmark_to_read(request, workspace, slug)
    rows = lengths_asked(request, benchmark)
    judge = judge_named(benchmark, request.query_params.get("judge", ""))
    return files_of_page(lengths_page(rows, judge, failed_judges(benchmark, judge)), f"{benchmark.slug}-lengths")


def _compared(request: Request, workspace: str, slug: str) -> PageFiles:
    pair = pair_asked(request, workspace, slug, GAP)
    title = _("%(first)s and %(second)s") % {"first": pair.first, "second": pair.second}

    def serve(name: str) -> HttpResponse:
        if name != ITEMS:
            raise Http404(_("This page has no such file."))
        return pair_csv(pair)

    return PageFiles(title, [page_file(ITEMS, title)], serve)


def _texts(request: Request, workspace: str, slug: str) -> PageFiles:
    benchmark, experiment, each = texts_asked(request, workspace, slug)
    page = text_statistics_page(benchmark, experiment, each)
    if page is None:
        raise Unusable(_("This benchmark has no responses with a text."))
    return files_of_page(page, benchmark.slug)


def _tables(request: Request, workspace: str, slug: str, number: str = "") -> PageFiles | None:
    benchmark = benchmark_to_read(request, workspace, slug)
    found = tables_asked(benchmark, number)
    if any(one.computed_at is None for one in found):
        return None
    one: ComputedTable | None = found[0] if number else None
    title = title_of(one.table) if one else _("Tables of the paper")
    files = [page_file(name, table_name(one.table) if one else title) for name, _label in file_names(one)]
    return PageFiles(title, files, lambda name: paper_table_file(benchmark, name, found, one))


OF_BENCHMARKS = [
    *addresses(BOARD, "board", "of a leaderboard", _board, parameters=[BoardQuerySerializer]),
    *addresses(f"{BOARD}rankings/", "rankings", "of two rankings beside each other", _rankings, parameters=RANKED),
    *addresses(f"{BOARD}lengths/", "lengths", "of scores by requested length", _lengths, parameters=BY_LENGTH),
    *addresses(f"{BOARD}compare/", "compared_models", "of two models", _compared, parameters=ASKED),
    *addresses(f"{BENCHMARK}texts/", "text_statistics", "of the statistics of texts", _texts, parameters=COUNTED),
    *addresses(f"{BENCHMARK}tables/", "paper_tables", "of the tables of a benchmark's paper", _tables, waits=True),
    *addresses(
        f"{BENCHMARK}tables/<str:number>/", "paper_table", "of a table of a benchmark's paper", _tables, waits=True
    ),
]
