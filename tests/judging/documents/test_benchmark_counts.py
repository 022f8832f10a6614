"""The counts of cells that docs/benchmarks/README.md states, from the files that it names."""

import csv
import gzip
import re

import pytest

from generation.models import Benchmark
from judging.published.paper_table import Status
from judging.published.registry import table_numbered
from tests.conftest import shared_path
from tests.factories import make_workspace
from tests.generation.importers.wildbench_files import put, score_row, scores_of
from tests.judging.documents.test_benchmark_pages import text_of
from tests.judging.loading import loaded_benchmark
from tests.judging.published.test_hellobench_tables import twelve_models  # noqa: F401 # a fixture

pytestmark = pytest.mark.django_db


def stated(name):
    """The numbers of a row: printed cells, computed, equal, misprint, differs."""
    row = re.search(rf"^\| {re.escape(name)} \| [^|]+ \|((?: \d+ \|){{5}})$", text_of("README"), re.MULTILINE)
    return tuple(map(int, re.findall(r"\d+", row[1])))


def counted(benchmark, number, workspace, column=""):
    cells = [cell for cell in table_numbered(benchmark, number).compute(workspace) if cell.column.endswith(column)]
    printed = [cell for cell in cells if cell.printed is not None]
    computed = [cell for cell in printed if cell.recomputed is not None]
    statuses = [
        sum(cell.status == status for cell in printed) for status in (Status.EQUAL, Status.MISPRINT, Status.DIFFERS)
    ]
    return (len(printed), len(computed), *statuses)


def rows_of(benchmark):
    names = re.findall(rf"^\| ({benchmark}[^|]*?) \| [^|]+ \|(?: \d+ \|){{5}}$", text_of("README"), re.MULTILINE)
    return set(names)


def test_hellobenchs_counts(twelve_models):  # noqa: F811
    workspace = Benchmark.objects.get(slug="hellobench").workspace
    assert rows_of("HelloBench") == {
        "HelloBench 2, scores",
        "HelloBench 2, words",
        *(f"HelloBench {number}" for number in (3, 7, 17, 23)),
    }
    assert counted("hellobench", "2", workspace, "_S") == stated("HelloBench 2, scores")
    assert counted("hellobench", "2", workspace, "_WC") == stated("HelloBench 2, words")
    for number in ("3", "7", "17", "23"):
        assert counted("hellobench", number, workspace) == stated(f"HelloBench {number}"), number


def test_hrefs_counts():
    assert rows_of("HREF") == {"HREF, section 4.3"}
    assert counted("href", "section 4.3", make_workspace()) == stated("HREF, section 4.3")


def test_wildbenchs_counts(tmp_path):
    rows = {}
    with gzip.open(shared_path("wildbench/score.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["model"], []).append(score_row(row["session_id"], row["score"].removesuffix(".0"), "x"))
    for model, own in rows.items():
        put(tmp_path, scores_of(model), own)
    workspace = loaded_benchmark("wildbench", tmp_path).workspace
    assert rows_of("WildBench") == {"WildBench 2", "WildBench 3"}
    for number in ("2", "3"):
        assert counted("wildbench", number, workspace) == stated(f"WildBench {number}"), number


def test_longgenbenchs_counts(shared_data):
    workspace = loaded_benchmark("longgenbench", shared_data("longgenbench/sample_repo")).workspace
    assert rows_of("LongGenBench") == {"LongGenBench 2"}
    assert counted("longgenbench", "2", workspace) == stated("LongGenBench 2")
