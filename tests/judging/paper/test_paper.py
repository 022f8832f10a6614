"""A study's paper: its files stand together, its text holds the study's own numbers, and it compiles."""

import json
import re
import shutil
import subprocess
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Study
from generation.models import LanguageModel
from judging.paper.latex import document
from judging.paper.references import ENTRIES, bibtex, cited
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Three people and a judge on two models; names and the slug hold what LaTeX reads as commands."""
    study = make_checklist_study(instructions=6, models=2)
    Study.objects.filter(pk=study.pk).update(names={"en": "50 % of {this} & _that_ \\ #1 ~ ^ $x$"})
    LanguageModel.objects.filter(name="model0").update(name="a_b & c%")
    people, judge = [make_rater(study) for _ in range(3)], make_judge_rater(study.workspace, "stern")
    for place, task in enumerate(study.tasks.order_by("pk")):
        for number, rater in enumerate(people):
            values = {"overall": float((place * 3 + number) % 9), "item0": (place % 3) / 2, "item1": (number % 2) / 2}
            make_answer(task, rater, values)
        make_answer(task, judge, {"item0": 0.5})
    Assignment.objects.filter(rater=people[0], task=study.tasks.first()).update(status="excluded")
    study.refresh_from_db()
    return study


@pytest.fixture
def folder(study, tmp_path):
    call_command("paper", study.slug, str(tmp_path / "paper"), stdout=StringIO())
    return tmp_path / "paper"


def test_every_file_that_the_text_names_is_there_and_every_group_is_closed(folder):
    text = (folder / "main.tex").read_text("utf-8")
    named = re.findall(r"\\input\{(.+?)\}", text) + re.findall(r"\\includegraphics\[[^]]*\]\{(.+?)\}", text)
    assert len(named) > 5 and all((folder / name).is_file() for name in named)
    tables = [text, *(path.read_text("utf-8") for path in (folder / "tables").glob("*.tex"))]
    for one in tables:
        bare = re.sub(r"\\[\\{}%&#$_]", "", one)
        assert bare.count("{") == bare.count("}")
        for name in set(re.findall(r"\\begin\{(\w+)\}", one)):
            assert one.count(rf"\begin{{{name}}}") == one.count(rf"\end{{{name}}}")
    for path in (folder / "tables").glob("*.tex"):
        assert {path.with_suffix(suffix).is_file() for suffix in (".csv", ".json", ".md")} == {True}
    for path in (folder / "figures").glob("*.svg"):
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_methods_and_limitations_state_the_studys_own_numbers(folder):
    facts = json.loads((folder / "facts.json").read_text("utf-8"))
    assert (facts["instructions"], facts["models"], facts["responses"], facts["tasks"]) == (6, 2, 12, 12)
    assert (facts["raters"], facts["answers"], facts["excluded"], facts["once"]) == (3, 35, 1, 0)
    text = (folder / "main.tex").read_text("utf-8")
    assert r"50 \% of \{this\} \& \_that\_ \textbackslash{} \#1" in text
    assert (
        "has 12 tasks; what is rated was written by 2 models for 6 instructions (12 responses), each rated on 4 criteria."
        in text
    )
    assert "3 raters gave 35 answers that count" in text
    assert "1 answer was excluded by a lead and counts nowhere." in text
    assert "The study has 6 instructions, and a 95 \\% interval needs at least 20" in text
    assert "recompute FILE" in (folder / "README.md").read_text("utf-8")


def test_it_compiles(folder):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    for program in (["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main"], ["bibtex", "main"]):
        done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]


def test_references_are_those_that_the_pages_name():
    numbers, others = cited(
        ["HelloBench (arXiv 2409.16191), Eq. 1", "Brysbaert (2019)", "HelloBench (arXiv 2409.16191)"]
    )
    assert (numbers, others) == (["2409.16191"], ["Brysbaert (2019)"])
    assert bibtex(numbers).count("@misc{que2024hellobench,") == 1
    assert len({key for key, *_rest in ENTRIES.values()}) == len(ENTRIES)


def test_a_folder_with_something_in_it_is_left_alone_and_nothing_half_done_stays(study, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(CommandError, match="not empty"):
        call_command("paper", study.slug, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    empty = make_checklist_study(slug="empty", instructions=1, models=1, workspace=study.workspace)
    with pytest.raises(CommandError, match="no results yet"):
        call_command("paper", empty.slug, str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    with pytest.raises(CommandError, match="no study 'none'"):
        call_command("paper", "none", str(tmp_path / "new"))


def test_text_of_others_cannot_give_a_command():
    text = document(
        r"\input{/etc/passwd}", [r"\write18{rm}"], ["%"], [], {"methods": "M", "limitations": "L", "results": "R"}
    )
    assert r"\input{/etc" not in text and r"\write18" not in text and r"\textbackslash{}write18\{rm\}" in text
