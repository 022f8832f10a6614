"""REST API of leaderboards: a board, rankings beside each other, scores by length, and the tables of papers."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, checked
from calibration.reports.cache import SHOWN
from calibration.reports.codec import stored
from calibration.statistics.errors import NoStatistic
from core.errors import UserError
from generation.api import benchmark_to_read
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.leaderboards.filters import LONGEST_WEIGHTS, MOST_RIVALS, TAGS, Filters
from judging.leaderboards.lengths import LengthScore, scores_by_length
from judging.leaderboards.table import NO_BOARD, Leaderboard, requested_board
from judging.leaderboards.weighting import EQUAL
from judging.published.computed_tables import ComputedTable, shown_tables
from judging.published.ranking_comparison import (
    RankedScores,
    RankingComparison,
    compare_rankings,
    ranked_scores,
    read_scores,
)
from judging.published.registry import table_numbered, tables_of
from judging.scores.metrics import METRICS
from judging.web.leaderboards.paper_layout import failed_on, list_json, scripted_on

JUDGE = OpenApiParameter("judge", str, required=True, description="Name of a judge that has rated this benchmark.")
WEIGHTS = OpenApiParameter("weights", str, description="equal, published, or the id, name or study of a fit.")
EXPERIMENT = OpenApiParameter("experiment", str, description="Experiment; default: main.")
MARGIN = OpenApiParameter("margin", int, description="Of rewards: a slight win by more characters than this is a tie.")


class BoardQuerySerializer(serializers.Serializer[Any]):
    """The filters of a leaderboard, as on its page."""

    judge = serializers.CharField(max_length=200, help_text="Name of a judge that has rated this benchmark.")
    weights = serializers.CharField(
        default=EQUAL, max_length=200, help_text="equal, published, or the id, name or study of a fit."
    )
    experiment = serializers.CharField(default=MAIN_EXPERIMENT, max_length=50)
    measure = serializers.ChoiceField(choices=list(METRICS), required=False, help_text="Default: the judge's.")
    category = serializers.CharField(required=False, max_length=100, help_text="Key of a category.")
    language = serializers.CharField(required=False, max_length=20)
    tag = serializers.CharField(required=False, max_length=200)
    family = serializers.CharField(required=False, max_length=100, help_text="Only models of this family.")
    smallest = serializers.FloatField(required=False, min_value=0, help_text="Billions of parameters at least.")
    largest = serializers.FloatField(required=False, min_value=0, help_text="Billions of parameters at most.")
    least = serializers.IntegerField(
        required=False, min_value=0, max_value=10**9, help_text="Fewest judged responses of a model that is ranked."
    )
    margin = serializers.IntegerField(
        required=False, min_value=0, max_value=10**9, help_text="A slight win by more characters than this is a tie."
    )
    against = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        max_length=MOST_RIVALS,
        help_text="Only against these models.",
    )
    groups = serializers.ChoiceField(choices=[TAGS], required=False, help_text="tags: a column for each tag.")
    group_weights = serializers.CharField(
        required=False, max_length=LONGEST_WEIGHTS, help_text="Weights of the groups, such as coding=1.25."
    )
    discredited = serializers.BooleanField(
        required=False, help_text="Include verdicts of runs that failed their canary texts; nothing is ranked then."
    )
    excluded = serializers.ChoiceField(
        choices=[SHOWN], required=False, help_text="Count the answers of people that a lead excluded too."
    )


@extend_schema(parameters=[BoardQuerySerializer], responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def board(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The models of a benchmark ranked by a judge's verdicts, unrounded: the output of `manage.py leaderboard --json`."""
    return ApiResponse(board_asked(request, benchmark_to_read(request, workspace, slug)).as_json())


def board_asked(request: Request, benchmark: Benchmark, *, beside_people: bool = False) -> Leaderboard:
    """Return the board that the address asks for, with people's scores if wanted. Raises Unusable."""
    asked = checked(BoardQuerySerializer(data=request.query_params))
    against = tuple(dict.fromkeys(asked.pop("against", ())))
    try:
        return requested_board(benchmark, Filters(**asked, against=against), beside_people=beside_people)
    except (UserError, *NO_BOARD) as error:
        raise Unusable(str(error)) from error


@extend_schema(operation_id="paper_tables", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def paper_tables(request: Request, workspace: str, slug: str) -> ApiResponse:
    """The tables of a benchmark's paper with their numbers of cells: `manage.py published_table BENCHMARK --json`.

    Counts of a table that is still being computed are null.
    """
    benchmark = benchmark_to_read(request, workspace, slug)
    return ApiResponse(list_json(benchmark.slug, tables_asked(benchmark)))


def tables_asked(benchmark: Benchmark, number: str = "") -> Sequence[ComputedTable]:
    """Return the tables of the benchmark's paper, or the one of this number, as far as computed. Raises Unusable."""
    try:
        tables = [table_numbered(benchmark.slug, number)] if number else tables_of(benchmark.slug)
    except UserError as error:
        raise Unusable(str(error)) from error
    return shown_tables(benchmark.workspace, tables)


@extend_schema(operation_id="paper_table", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def paper_table(request: Request, workspace: str, slug: str, number: str) -> ApiResponse:
    """One of them printed beside recomputed, cell by cell: `manage.py published_table BENCHMARK NUMBER --json`.

    202 while it is being computed for the first time.
    """
    benchmark = benchmark_to_read(request, workspace, slug)
    (found,) = tables_asked(benchmark, number)
    if found.computed_at is None:
        return ApiResponse({"detail": "This table is being computed; ask again in a moment."}, status=202)
    if found.error:
        raise Unusable(str(found.error))
    failed = [row.judge.name for row in failed_on(benchmark.workspace, found.table)]
    return ApiResponse(found.as_json(failed, scripted_on(benchmark.workspace, found)))


RANKED = [
    JUDGE,
    WEIGHTS,
    OpenApiParameter("measure", str, description="Score to rank by, if not the judge's default."),
    EXPERIMENT,
    OpenApiParameter("tag", str, description="Only instructions with this tag, on both boards."),
    MARGIN,
    OpenApiParameter("with_judge", str, description="Judge of the other board."),
    OpenApiParameter("with_benchmark", str, description="Benchmark of the other board; default: this one."),
    OpenApiParameter("with_measure", str, description="Score of the other board."),
    OpenApiParameter("scores", str, description="Instead of another board: lines of a model and its score."),
    OpenApiParameter("top", int, description="Also over this many best models of the other ranking."),
]


@extend_schema(operation_id="rankings", parameters=RANKED, responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def rankings(request: Request, workspace: str, slug: str) -> ApiResponse:
    """A board's ranking beside another board's, or beside scores: `manage.py compare_rankings --json`."""
    found, _boards = rankings_asked(request, workspace, slug)
    return ApiResponse(stored(found))


def rankings_asked(request: Request, workspace: str, slug: str) -> tuple[RankingComparison, list[Leaderboard]]:
    """Return the two rankings that the address names, and the boards that they are of. Raises Unusable."""
    benchmark = benchmark_to_read(request, workspace, slug)
    asked = request.query_params
    top = asked.get("top", "")
    if top and not (top.isascii() and top.isdecimal() and 0 < int(top[:6]) < 100_000):
        raise Unusable("top must be a whole number above 0.")
    if bool(asked.get("scores")) == bool(asked.get("with_judge")):
        raise Unusable("Say with what to compare: either scores or with_judge.")
    if not _is_whole(asked.get("margin", "")):
        raise Unusable("margin must be a whole number of characters.")
    other = benchmark_to_read(request, workspace, asked.get("with_benchmark") or slug)
    try:
        board, one = _ranked(benchmark, asked.get("judge", ""), asked.get("measure", ""), request)
        boards = [board]
        if asked.get("scores"):
            second = read_scores(asked["scores"], "scores")
        else:
            board, second = _ranked(other, asked["with_judge"], asked.get("with_measure", ""), request)
            boards.append(board)
        return compare_rankings(one, second, top=int(top) if top else None), boards
    except (UserError, NoStatistic) as error:
        raise Unusable(str(error)) from error


def _is_whole(text: str) -> bool:
    return not text or (text.isascii() and text.isdecimal() and len(text) <= 6)


def _ranked(benchmark: Benchmark, judge: str, measure: str, request: Request) -> tuple[Leaderboard, RankedScores]:
    asked = request.query_params
    filters = Filters(
        judge=judge,
        weights=asked.get("weights") or EQUAL,
        measure=measure,
        experiment=asked.get("experiment") or MAIN_EXPERIMENT,
        tag=asked.get("tag", ""),
        margin=int(asked["margin"]) if asked.get("margin") else None,
    )
    board = requested_board(benchmark, filters)
    return board, ranked_scores(board, f"{benchmark.slug}, {judge}")


BY_LENGTH = [JUDGE, WEIGHTS]


@extend_schema(operation_id="lengths", parameters=BY_LENGTH, responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def lengths(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Each model's score by requested length: the output of `manage.py length_scores --json`."""
    rows = lengths_asked(request, benchmark_to_read(request, workspace, slug))
    return ApiResponse([asdict(row) for row in rows])


def lengths_asked(request: Request, benchmark: Benchmark) -> list[LengthScore]:
    """Return the scores by length of the judge that the address names. Raises Unusable."""
    asked = request.query_params
    try:
        return scores_by_length(benchmark, asked.get("judge", ""), asked.get("weights") or EQUAL)
    except (UserError, NoStatistic) as error:
        raise Unusable(str(error)) from error
