"""Tables that a benchmark's paper printed about its raters and weights, shown for comparison with ours."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings

from generation.models import Benchmark

PUBLISHED = settings.BASE_DIR / "fixtures" / "published"


@dataclass(frozen=True)
class PrintedFit:
    """R2 and mean squared error of a category's published weights on the authors' own annotations."""

    r2: float
    mse: float


@dataclass(frozen=True)
class PrintedMatrix:
    """Printed correlations between raters, rows and columns in the order of `raters`."""

    raters: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    source: str


def printed_fits(benchmark: Benchmark | None) -> dict[str, PrintedFit]:
    """Map category keys to printed fits (HelloBench, table 19); empty if the benchmark's paper printed none."""
    found: Mapping[str, Mapping[str, float]] = _printed(benchmark).get("table_19", {})
    return {key: PrintedFit(row["r2"], row["mse"]) for key, row in found.items()}


def printed_matrix(benchmark: Benchmark | None) -> PrintedMatrix | None:
    """Return the rater-by-rater table that the benchmark's paper printed (HelloBench, table 18), or None."""
    printed = _printed(benchmark)
    if "table_18" not in printed:
        return None
    table: Mapping[str, Sequence[Any]] = printed["table_18"]
    rows = tuple(tuple(float(cell) for cell in row) for row in table["matrix"])
    return PrintedMatrix(tuple(table["raters"]), rows, "HelloBench (arXiv 2409.16191), table 18")


def _printed(benchmark: Benchmark | None) -> Mapping[str, Any]:
    return _read(benchmark.slug) if benchmark else {}


@cache
def _read(slug: str) -> Mapping[str, Any]:
    path = PUBLISHED / f"{slug}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
