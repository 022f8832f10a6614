"""Responses that were generated elsewhere become rows, once, with their instructions."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from generation.models import GenerationRun, Instruction, Response
from tests.generation.test_sampling import make_benchmark

pytestmark = pytest.mark.django_db
ROWS = [
    {"instruction": "a", "model": "m", "response": "One two three.", "prompt": "Write.", "words_asked": 100},
    {"instruction": "a", "model": "n", "response": "Four."},
    {"instruction": "b", "model": "m", "response": ""},
]


def write(tmp_path, rows, name="rows.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def load(path, *words):
    out = io.StringIO()
    call_command("load_responses", str(path), "--benchmark", "made", *words, stdout=out)
    return out.getvalue()


def test_responses_come_with_their_instructions_and_only_once(tmp_path):
    path = write(tmp_path, ROWS)
    assert "3 created" in load(path)
    run = GenerationRun.objects.get()
    assert (run.status, run.experiment, run.name) == ("imported", "main", "made main")
    first = Response.objects.get(instruction__external_id="a", model__name="m")
    # three words and the full stop
    assert (first.text, first.words, first.instruction.words_asked) == ("One two three.", 4, 100)
    assert Instruction.objects.get(external_id="a").text == "Write."
    assert Instruction.objects.get(external_id="b").messages is None
    assert "3 already there" in load(path)
    assert Response.objects.count() == 3


def test_another_sample_is_another_run_and_other_columns_are_named(tmp_path):
    make_benchmark(1, "made")
    path = tmp_path / "rows.csv"
    path.write_text("id,output\nmade-0,Hello there.\n")
    for run in ("first", "second"):
        named = ("--column", "instruction=id", "--column", "response=output")
        assert "1 created" in load(path, "--model", "m", "--run", run, *named)
    assert Response.objects.filter(instruction__external_id="made-0", model__name="m").count() == 2


@pytest.mark.parametrize(
    ("rows", "words", "why"),
    [
        ([{"instruction": "a", "response": "x"}], (), "Say who wrote"),
        ([ROWS[0], ROWS[0]], (), "line 2: m has answered 'a' in an earlier row"),
        ([{"instruction": " ", "model": "m", "response": "x"}], (), "line 1: it names no instruction"),
        (
            [{"instruction": "a", "model": "m", "response": "x", "words_asked": "many"}],
            (),
            "no number of words",
        ),
        ([{"instruction": "a", "model": "m"}], (), "no column 'response'"),
        (ROWS, ("--column", "writer=x"), "is not NAME=COLUMN"),
        (ROWS, ("--benchmark", "my essays/1"), "must be letters, digits, - and _"),
        (ROWS, ("--run", "r" * 101), "--run is too long"),
        (ROWS, ("--experiment", "e" * 51), "--experiment is too long"),
        ([], (), "empty"),
    ],
)
def test_what_cannot_be_taken_is_told_and_nothing_is_kept(tmp_path, rows, words, why):
    with pytest.raises(CommandError, match=why):
        load(write(tmp_path, rows), *words)
    assert not Response.objects.exists() and not GenerationRun.objects.exists()


def test_bad_rows_can_be_left_out_with_a_report(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    said = load(
        write(tmp_path, [*ROWS, {"instruction": "", "model": "m", "response": "x"}]), "--on-error", "skip"
    )
    assert "3 created, 1 skipped" in said and "skipped-made" in said


def test_a_run_that_was_generated_here_takes_no_imports(tmp_path):
    GenerationRun.objects.create(benchmark=make_benchmark(1, "made"), name="main 1", status="finished")
    with pytest.raises(CommandError, match="name another with --run"):
        load(write(tmp_path, ROWS), "--run", "main 1")
