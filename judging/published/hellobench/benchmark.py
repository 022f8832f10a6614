"""HelloBench's tables of its instructions and weights: 7, 8, 17 and 19."""

from collections.abc import Sequence

from django.db.models import Count, QuerySet

from accounts.models import Workspace
from calibration.models import CategoryFit, Fit, FittedWeight, fitted_kind
from generation.library.prompts import worded_for_length
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import Benchmark, Instruction
from generation.text_metrics.counts import word_count
from judging.leaderboards.weighting import PRINTED_DIGITS, most_exact
from judging.published.hellobench.lookup import Absent, benchmark_of, printed_figures
from judging.published.hellobench.reasons import (
    FITTED_TO,
    NO_EXACT_WEIGHTS,
    NO_FIT,
    NO_INSTRUCTION,
    NOT_ALL_TEXTS,
    THESE_INSTRUCTIONS,
    UNKNOWN_WEIGHT,
    UNTRAINED,
)
from judging.published.paper_table import Cell, compared


def instruction_counts(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 7: instructions by category and subcategory, without those worded for a length."""
    benchmark = benchmark_of(workspace)
    counts: dict[str, int] = {}
    if isinstance(benchmark, Benchmark):
        rows = _instructions(benchmark).order_by().values_list("category__key", "category__parent__key")
        for leaf, parent, n in rows.annotate(n=Count("pk")):
            for key in {leaf, parent} - {None}:
                counts[key] = counts.get(key, 0) + n
    missing = benchmark.reason if isinstance(benchmark, Absent) else NO_INSTRUCTION()
    reason = THESE_INSTRUCTIONS()
    return [
        compared(key, "Nums", printed, counts.get(key), digits=0, missing=missing, reason=reason)
        for key, printed in printed_figures()["table_7"]["counts"].items()
    ]


def instruction_words(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 8: the least, most and mean words of an instruction, where all of a category have a text."""
    benchmark = benchmark_of(workspace)
    published = printed_figures()
    cells = []
    for key, values in published["table_8"]["categories"].items():
        found = [] if isinstance(benchmark, Absent) else _words(benchmark, key)
        whole = published["table_7"]["counts"][key]
        complete = len(found) >= whole
        ours = (min(found), max(found), sum(found) / len(found)) if complete else (None, None, None)
        missing = benchmark.reason if isinstance(benchmark, Absent) else NOT_ALL_TEXTS(n=len(found), whole=whole)
        reason = UNTRAINED()
        for column, printed, value in zip(published["table_8"]["columns"], values, ours, strict=True):
            digits = 2 if column == "mean" else 0
            cells.append(compared(key, column, printed, value, digits=digits, missing=missing, reason=reason))
    return cells


def weights(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 17: the repository's weights beside the printed ones, item by item."""
    benchmark = benchmark_of(workspace)
    exact = {} if isinstance(benchmark, Absent) else _exact_weights(benchmark)
    missing = benchmark.reason if isinstance(benchmark, Absent) else NO_EXACT_WEIGHTS()
    return [
        compared(
            key, str(place + 1), printed, exact.get((key, place)), digits=2, missing=missing, reason=UNKNOWN_WEIGHT()
        )
        for key, values in printed_figures()["table_17"].items()
        for place, printed in enumerate(values)
    ]


def fits(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 19: R squared and mean squared error of the newest weights fitted to people's scores here."""
    benchmark = benchmark_of(workspace)
    fit = None
    if isinstance(benchmark, Benchmark):
        fit = Fit.objects.filter(study__benchmark=benchmark, kind=fitted_kind()).order_by("-created_at", "-pk").first()
    rows = {
        row.category.key: row for row in CategoryFit.objects.filter(fit=fit).select_related("category") if row.category
    }
    missing = benchmark.reason if isinstance(benchmark, Absent) else NO_FIT()
    cells = []
    for key, printed in printed_figures()["table_19"].items():
        row = rows.get(key)
        reason = FITTED_TO(n=row.n) if row else ""
        for column in ("r2", "mse"):
            value = getattr(row, column) if row else None
            cells.append(compared(key, column, printed[column], value, digits=2, missing=missing, reason=reason))
    return cells


def _instructions(benchmark: Benchmark) -> QuerySet[Instruction]:
    return Instruction.objects.filter(benchmark=benchmark).exclude(worded_for_length(*LENGTHS))


def _words(benchmark: Benchmark, key: str) -> list[int]:
    """Count the words of the last message of each instruction of a category that has a text."""
    found = _instructions(benchmark).filter(category__parent__key=key, messages__isnull=False).order_by("pk")
    return [word_count(row[-1]["content"]) for row in found.values_list("messages", flat=True).iterator() if row]


def _exact_weights(benchmark: Benchmark) -> dict[tuple[str, int], float]:
    """Return the published weights by category and position, unless they have only the digits that the paper printed."""
    fit = most_exact(list(Fit.objects.filter(kind=Fit.Kind.PUBLISHED, benchmark=benchmark)))
    rows = FittedWeight.objects.filter(category_fit__fit=fit, category_fit__category__isnull=False)
    found = {
        (key, position): weight
        for key, position, weight in rows.values_list("category_fit__category__key", "position", "weight")
    }
    exact = any(abs(weight - round(weight, PRINTED_DIGITS)) > 1e-9 for weight in found.values())
    return found if exact else {}
