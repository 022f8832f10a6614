"""docs/security.md names a test for every line, or says that there is none yet."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| attempt", "|---"))
]
ACTORS = (
    "A rater",
    "A crowd worker with scripts",
    "A lead of another workspace",
    "An analyst",
    "A public visitor",
    "A malicious response text",
    "A malicious model endpoint",
    "A stolen token",
    "An operator's mistake",
)


def named_in(path: Path) -> set[str]:
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {node.name, *(f"{node.name}::{one.name}" for one in node.body if isinstance(one, ast.FunctionDef))}
    return names


def test_every_actor_of_the_threat_model_has_a_section_with_lines():
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert [actor for actor in ACTORS if "\n| " not in sections.get(actor, "")] == []


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_every_line_names_tests_that_exist(row):
    assert len(row) == 3, row
    named = re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", row[2])
    assert named, row[0]
    assert row[2].count("`") == 2 * len(named), row[2]
    missing = [
        f"{path}::{test}"
        for path, test in named
        if test not in named_in(ROOT / path) or not test.startswith(("test", "Test"))
    ]
    assert not missing
