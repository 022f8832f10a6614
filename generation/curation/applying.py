"""Applying the rules of a curation: at once, or by a worker where a benchmark is large."""

from dataclasses import asdict

from accounts.models import User
from core.background import send_after_commit
from generation.curation.curating import Tagged, apply_curation, checked_tag, curation_of
from generation.curation.rules.filters import CurationRules
from generation.models import Benchmark

MOST_INSTRUCTIONS = 5_000
"""More are curated by a worker, without a list of what would go."""


def is_large(benchmark: Benchmark) -> bool:
    return benchmark.instructions.count() > MOST_INSTRUCTIONS


def apply_rules(benchmark: Benchmark, rules: CurationRules, tag: str, *, by: User) -> Tagged | None:
    """Tag the instructions that pass the rules; None where a worker does so. Raises UserError."""
    if is_large(benchmark):
        send_after_commit("generation.curate", benchmark.pk, asdict(rules), checked_tag(tag), by.pk)
        return None
    return apply_curation(curation_of(benchmark, rules), tag, by=by)


def number_tagged(benchmark: Benchmark, tag: str) -> int:
    """How many instructions have the tag now."""
    tags = benchmark.instructions.order_by().values_list("tags", flat=True)
    return sum(tag in (some or ()) for some in tags.iterator())
