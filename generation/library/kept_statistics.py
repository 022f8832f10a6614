"""Text statistics and errors of a benchmark's responses, kept until a response is added or removed."""

from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

from django.core.cache import cache
from django.db.models import Count, Max

from generation.library.error_modes import ModelErrors, error_modes
from generation.library.error_phrases import rules_of
from generation.library.text_statistics import ModelTexts, responses_of, text_statistics
from generation.models import Benchmark

T = TypeVar("T")
READ_OF_EACH = (20, 50, 200)
"""How many responses of each model may be read."""
KEPT_SECONDS = 7 * 24 * 3600


def kept_statistics(benchmark: Benchmark, experiment: str, each: int) -> list[ModelTexts]:
    return _kept(
        f"text-statistics-{_state(benchmark, experiment)}-{each}",
        lambda: text_statistics(benchmark, experiment=experiment, each=each),
    )


def kept_errors(benchmark: Benchmark, experiment: str, each: int) -> list[ModelErrors]:
    """Return the models' errors by the workspace's rules. Raises UserError if these cannot be read."""
    rules = rules_of(benchmark.workspace)
    named = sha256(repr(rules).encode()).hexdigest()[:16]
    return _kept(
        f"error-modes-{_state(benchmark, experiment)}-{each}-{named}",
        lambda: error_modes(benchmark, experiment=experiment, each=each, rules=rules),
    )


def _state(benchmark: Benchmark, experiment: str) -> str:
    state = responses_of(benchmark, experiment).aggregate(n=Count("pk"), last=Max("pk"))
    return f"{benchmark.pk}-{experiment}-{state['n']}-{state['last']}"


def _kept(key: str, compute: Callable[[], list[T]]) -> list[T]:
    known: list[T] | None = cache.get(key)
    if known is None:
        known = compute()
        cache.set(key, known, KEPT_SECONDS)
    return list(known)
