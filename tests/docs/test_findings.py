"""docs/findings.md: its counts are the sums of those of docs/benchmarks/README.md, and its commands work."""

import re
import shlex

import pytest
from django.conf import settings
from django.core.management import call_command

from tests.judging.documents.test_benchmark_pages import commands_of, said

DOCS = settings.BASE_DIR / "docs"
FINDINGS = (DOCS / "findings.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \[?([\w ]+)[^|]*\|(?: [^|]*\|)??((?: \d+ \|){5})$", re.MULTILINE)


def rows(text):
    return [
        (name.split()[0], [int(number) for number in re.findall(r"\d+", cells)]) for name, cells in ROW.findall(text)
    ]


def test_the_counts_are_those_of_the_benchmarks():
    sums = {}
    for name, cells in rows((DOCS / "benchmarks" / "README.md").read_text(encoding="utf-8")):
        sums[name] = [a + b for a, b in zip(sums.get(name, [0] * 5), cells, strict=True)]
    sums["all"] = [sum(column) for column in zip(*sums.values(), strict=True)]
    assert len(sums) == 5
    assert dict(rows(FINDINGS)) == sums


def test_the_sentences_repeat_the_counts():
    counts = dict(rows(FINDINGS))
    printed, _computed, equal, misprints, _differ = counts["LongGenBench"]
    assert f"{equal} of {printed} cells are equal. Of the {({3: 'three'})[misprints]} misprints" in " ".join(
        FINDINGS.split()
    )


@pytest.mark.django_db
@pytest.mark.one_database
def test_the_commands_work():
    call_command("load_library", verbosity=0)
    commands = commands_of(FINDINGS)
    assert len(commands) > 6
    for command in commands:
        assert said(*shlex.split(command)).strip(), command
