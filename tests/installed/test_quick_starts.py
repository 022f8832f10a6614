"""The commands of the quick starts for researchers and engineers, typed beside an installed wheel, do what they say."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.installed.built_wheel import ROOT, bare_environment

pytestmark = pytest.mark.wheel

FOLDER = ROOT / "docs" / "quickstart"


def blocks(page):
    """The indented blocks of a page, each as a script of the shell."""
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r"(?<=\n\n)((?: {4}.*\n)+)", text)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for block in found]


@pytest.fixture(scope="module")
def shell(programs):
    """A function that runs a script where only the system's programs and the installed ones are found, on SQLite."""

    def run(script: str, folder: Path) -> str:
        environment = bare_environment(
            folder, PATH=f"{programs}{os.pathsep}{os.defpath}", PLUMBLINE_DATA_DIR=str(folder / "data"), LANG="C.UTF-8"
        )
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def migrated(shell, tmp_path_factory):
    """A folder in which the database is made, which takes longer than all else; each page begins with a copy of it."""
    folder = tmp_path_factory.mktemp("migrated")
    shell("plumbline migrate --verbosity 0", folder)
    return folder


@pytest.fixture
def typed(shell, migrated, tmp_path):
    """A function that types a page's commands beside the files that the page names; it returns what each block printed."""

    def typing(page):
        shutil.copytree(migrated / "data", tmp_path / "data")
        for name in re.findall(r"\]\(([\w.]+\.csv)\)", (FOLDER / f"{page}.md").read_text(encoding="utf-8")):
            shutil.copy(FOLDER / name, tmp_path)
        return [shell(block, tmp_path) for block in blocks(page)]

    return typing


def test_the_researchers_commands(typed, tmp_path):
    loaded, agreement, fit, archive = typed("researcher")
    assert "648 created" in loaded
    assert "for raters like these" in agreement and "for these raters" in agreement
    weights = {
        name: float(weight) for weight, name in re.findall(r"^ +([\d.]+)  .* (clear|complete)$", fit, re.MULTILINE)
    }
    assert 1.5 < weights["complete"] / weights["clear"] < 2.5
    assert "held-out instructions" in fit
    assert "all the same to the last digit" in archive and (tmp_path / "answers.zip").is_file()
    assert sum(1 for _line in (tmp_path / "ratings.csv").open()) == 1 + 216


def test_the_engineers_commands(typed, tmp_path):
    audit, loaded, added, judged, card = typed("engineer")
    assert "No finding" in audit and "What this file cannot say" in audit and (tmp_path / "audit.html").is_file()
    assert "4 created (instructions)" in loaded and "8 created (responses)" in loaded
    assert "my-judge has been added" in added
    assert "8 of 8 scored" in judged and "alder" in judged and "is a scripted judge" in judged
    assert "It is not shown what my-judge overall may be used for" in card
