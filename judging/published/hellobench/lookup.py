"""What HelloBench's tables are recomputed from: the benchmark, its judge's board, and the names of its models."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accounts.models import Workspace
from core.errors import UserError
from generation.models import Benchmark
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import Leaderboard, judges_of, leaderboard
from judging.leaderboards.weighting import PUBLISHED, UnknownWeights, weighting_named
from judging.published.columns import Published, plain_name
from judging.published.hellobench.reasons import MISPRINTS, NO_VERDICTS_IN, NO_WEIGHTS, NOT_HERE
from judging.published.tables import judges_of_paper, published_tables
from judging.scores.metrics import POINTS

SLUG = "hellobench"
CATEGORIES = ("open_ended_qa", "summarization", "chat", "text_completion", "heuristic_text_generation")


@dataclass(frozen=True)
class Absent:
    """Why something cannot be recomputed, with what to load, in the language of the reader."""

    reason: str


def printed_figures() -> Published:
    """Return what the paper printed: fixtures/published/hellobench.json."""
    found = published_tables(SLUG)
    assert found is not None
    return found


def benchmark_of(workspace: Workspace) -> Benchmark | Absent:
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=SLUG).first()
    return benchmark or Absent(NOT_HERE())


def board_of(benchmark: Benchmark, experiment: str) -> Leaderboard | Absent:
    """Return GPT-4o's points with the published weights, over all instructions of an experiment."""
    try:
        weighting = weighting_named(benchmark, PUBLISHED)
    except UnknownWeights:
        return Absent(NO_WEIGHTS())
    for judge in judges_of_paper(judges_of(benchmark), printed_figures()):
        try:
            board = leaderboard(benchmark, judge, weighting, filters=Filters(experiment=experiment, measure=POINTS))
        except UserError:
            continue
        if board.metric.name == POINTS:
            return board
    return Absent(NO_VERDICTS_IN(experiment=experiment))


def names_here(names: Iterable[str], printed: Iterable[str]) -> dict[str, str]:
    """Return our name of each printed model that is here, by the paper's name of it or by its folder."""
    folders: Mapping[str, str] = printed_figures()["model_folders"]
    known = {plain_name(name): name for name in sorted(names, reverse=True)}
    found = {}
    for name in printed:
        ours = known.get(plain_name(name)) or known.get(plain_name(folders.get(name, name)))
        if ours is not None:
            found[name] = ours
    return found


def misprint_of(model: str, column: str) -> str:
    """Return why a printed figure cannot be right, '' where it can."""
    found = MISPRINTS.get((model, column))
    return found() if found else ""
