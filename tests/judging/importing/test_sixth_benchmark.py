"""The reader shown in docs/contributing.md, run as it stands there, and all that the loader does with it."""

import json
import sys
from io import StringIO
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.importing.undo import undo_import
from annotation.models import Assignment, Rater, Rubric, Score, Study, Task
from core.tables.bad_rows import BadRow
from generation.library import loading
from generation.models import Benchmark, Category, Import, Instruction, LanguageModel, Response
from judging.importing import registry
from judging.importing.parts import PartLoader
from tests.annotation.tables import everything

pytestmark = pytest.mark.django_db
MODULE = "tests.judging.importing.tinybench"
TAXONOMY = {
    "slug": "tinybench",
    "name": {"en": "Tinybench"},
    "version": "1",
    "licence": "none",
    "source": "made up for this test",
    "categories": [{"key": "maths", "name": {"en": "Maths"}, "aliases": [], "count": None, "children": []}],
}


def code_shown():
    text = (settings.BASE_DIR / "docs" / "contributing.md").read_text(encoding="utf-8")
    shown = (
        text.split("as\nit stands here", 1)[1].split("    from ", 1)[1].split("\nand its line in the registry", 1)[0]
    )
    return dedent("    from " + shown)


@pytest.fixture
def files(tmp_path, monkeypatch):
    module = ModuleType(MODULE)
    exec(compile(code_shown(), "docs/contributing.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, MODULE, module)
    (tmp_path / "fixtures" / "taxonomies").mkdir(parents=True)
    (tmp_path / "fixtures" / "taxonomies" / "tinybench.json").write_text(json.dumps(TAXONOMY))
    entry = registry.Registered(
        "tinybench", "Tinybench", f"{MODULE}:Tinybench", "benchmarks/tinybench.md", fixtures=tmp_path / "fixtures"
    )
    monkeypatch.setitem(registry.BENCHMARKS, "tinybench", entry)
    root = tmp_path / "files"
    (root / "scores").mkdir(parents=True)
    questions = [{"id": f"q{number}", "question": f"What is {number}?", "topic": "maths"} for number in range(3)]
    lines(root / "questions.jsonl", [{**one, "level": 2} for one in questions])
    for model in ("a", "b"):
        answered = [
            {"id": f"q{number}", "answer": f"{model} says {number}", "marks": {"Anna": 4, "Bo": number + 1}}
            for number in range(3)
        ]
        lines(root / "scores" / f"{model}.jsonl", answered)
    return root


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def load(root, *arguments):
    output = StringIO()
    call_command("load_benchmark", "tinybench", str(root), "--json", *arguments, stdout=output)
    return json.loads(output.getvalue())


def test_it_is_loaded_with_its_study(files):
    found = load(files)
    assert {kind: found[kind]["created"] for kind in ("instructions", "responses", "ratings")} == {
        "instructions": 3,
        "responses": 6,
        "ratings": 12,
    }
    assert found["unknown"] == {"questions.jsonl: level": 3}
    assert found["studies"] == ["tinybench-teachers"]
    study = Study.objects.get()
    assert (study.names, study.kind, study.status) == ({"en": "Tinybench, marked by teachers"}, "stars", "closed")
    assert (study.benchmark.slug, study.source) == ("tinybench", "made up for this test")
    score = Score.objects.get(
        assignment__rater__label="Bo",
        assignment__task__response_a__model__name="b",
        assignment__task__response_a__instruction__external_id="q2",
    )
    assert (score.value, score.assignment.task.response_a.text) == (3.0, "b says 2")
    assert Instruction.objects.get(external_id="q1").category.key == "maths"


def test_loading_again_changes_nothing(files):
    load(files)
    before = everything()
    found = load(files)
    assert everything() == before
    assert (found["ratings"]["already_there"], found["responses"]["already_there"]) == (12, 6)


def test_a_refused_file_leaves_nothing_of_the_load(files):
    lines(files / "scores" / "b.jsonl", [{"id": "q0", "answer": "x", "marks": {"Anna": 4, "Bo": 9}}])
    with pytest.raises(CommandError) as refused:
        load(files)
    assert str(refused.value) == (
        "scores/b.jsonl line 1: '9' is off the scale of quality, 1 to 5; correct it, or leave out the bad rows. "
        "Nothing of these files was loaded; --on-error skip loads what can be read."
    )
    for model in (Assignment, Task, Study, Rater, Response, LanguageModel, Instruction, Category, Rubric, Benchmark):
        assert not model.objects.exists(), model
    (row,) = Import.objects.all()
    assert row.undone_at is not None


def test_a_refused_file_leaves_what_was_loaded_before(files):
    load(files)
    rows = {
        model: model.objects.count() for model in (Assignment, Task, Study, Response, Instruction, Category, Rubric)
    }
    rows_of_c = [{"id": f"q{n}", "answer": "x", "marks": {"Anna": mark}} for n, mark in enumerate((4, 9))]
    lines(files / "scores" / "c.jsonl", rows_of_c)
    with pytest.raises(CommandError, match=r"scores/c\.jsonl line 2"):
        load(files)
    assert rows == {model: model.objects.count() for model in rows}


def test_what_somebody_uses_by_now_stays_and_the_refusal_says_so(files, monkeypatch):
    """A study of the first answers is made while the second file is read."""
    lines(files / "scores" / "b.jsonl", [{"id": "q0", "answer": "x", "marks": {"Anna": 9}}])

    def used(loader, part, rows, store=PartLoader.store):
        if part.name.endswith("b.jsonl"):
            response = Response.objects.order_by("pk")[0]
            study, _made = Study.objects.get_or_create(
                workspace=response.instruction.benchmark.workspace, slug="mine", defaults={"kind": "stars"}
            )
            rubric = Task.objects.filter(response_a=response)[0].answer_rubric
            new = {"kind": "single", "response_a": response, "answer_rubric": rubric}
            Task.objects.get_or_create(study=study, key="1", defaults=new)
        return store(loader, part, rows)

    monkeypatch.setattr(PartLoader, "store", used)
    with pytest.raises(CommandError, match="What was loaded before it stays, because it is in use by now"):
        load(files)
    assert Response.objects.exists()


def test_with_skip_bad_rows_and_unreadable_files_are_reported(files, settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    with (files / "scores" / "a.jsonl").open("a") as file:
        file.write("{\n")
    (files / "scores" / "b.jsonl").write_bytes(b"")
    found = load(files, "--on-error", "skip")
    # The line is met by the part of the answers and by that of the marks, and so is the file that holds nothing.
    assert found["lines"]["skipped"] == 4
    assert (found["responses"]["created"], found["ratings"]["created"]) == (3, 6)
    assert "scores/b.jsonl,0,the file is empty" in Path(found["report"]).read_text(encoding="utf-8")


def test_rows_of_a_file_that_was_left_out_are_no_part_of_the_import(files, settings, tmp_path, monkeypatch):
    """Ids that were rolled back are given out again; undoing the import must not remove the rows that have them now."""
    settings.DATA_DIR = tmp_path / "data"
    monkeypatch.setattr(loading, "RECORDS_AT_ONCE", 1)  # so that some rows are written before the file ends early
    reader = sys.modules[MODULE].Tinybench
    answers = reader.answers

    def breaking(self, path, on_bad):
        yield from answers(self, path, on_bad)
        if path.stem == "b":
            raise BadRow("scores/b.jsonl", 0, "it ends early", "copy it again")

    monkeypatch.setattr(reader, "answers", breaking)
    monkeypatch.setattr(reader, "marks", lambda self, path, on_bad: iter(()))
    load(files, "--on-error", "skip")
    assert set(Response.objects.values_list("model__name", flat=True)) == {"a"}
    stranger = LanguageModel.objects.create(workspace=Benchmark.objects.get().workspace, name="a stranger")
    undo_import(Import.objects.get(), by=None, clock=timezone.now)
    assert list(LanguageModel.objects.all()) == [stranger]


def test_an_import_is_undone_whole(files):
    empty = everything()
    load(files)
    found = Import.objects.get()
    assert (found.command, found.about, found.file) == ("load_benchmark", "tinybench", "files")
    undo_import(found, by=None, clock=timezone.now)
    for model in (Benchmark, Instruction, Response, LanguageModel, Study, Assignment, Score, Rater):
        assert not model.objects.exists(), model
    assert len(everything()) == len(empty)


def test_a_category_that_the_benchmark_does_not_have_is_named(files):
    lines(files / "questions.jsonl", [{"id": "q0", "question": "Who?", "topic": "history"}])
    with pytest.raises(CommandError) as refused:
        load(files)
    assert str(refused.value) == (
        "questions.jsonl line 1: benchmark tinybench has no category 'history'; correct it to one of its categories, "
        "such as maths. Nothing of these files was loaded; --on-error skip loads what can be read."
    )
    assert not Instruction.objects.exists()


def test_a_clone_of_another_revision_is_said(files):
    load(files)
    lines(files / "questions.jsonl", [{"id": "q1", "question": "What is one?", "topic": "maths"}])
    found = load(files)
    assert found["differing"] == ["q1"]
    assert Instruction.objects.get(external_id="q1").text == "What is 1?"


def test_what_is_absent_is_listed(files):
    for path in (files / "scores").iterdir():
        path.unlink()
    assert load(files)["absent"] == ["scores/"]


def test_an_experiment_that_the_files_lack_is_refused(files):
    with pytest.raises(CommandError, match=r"These files have no experiment 'long'; they have: main\."):
        load(files, "--experiment", "long")


def test_a_folder_of_something_else_is_refused(tmp_path, files):
    with pytest.raises(
        CommandError, match=r"this is no copy of Tinybench; name the folder that holds questions\.jsonl"
    ):
        load(tmp_path)
    assert not Benchmark.objects.exists()
