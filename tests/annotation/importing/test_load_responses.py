"""Responses that were generated elsewhere become rows, once, with their instructions."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from generation.models import GenerationRun, Instruction, Response
from tests.generation.responses.test_sampling import make_benchmark

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
    out, err = io.StringIO(), io.StringIO()
    call_command("load_responses", str(path), "--benchmark", "made", *words, stdout=out, stderr=err)
    return out.getvalue() + err.getvalue()


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
        ([{"instruction": "a", "response": "x"}], (), "Name the model that wrote"),
        ([ROWS[0], ROWS[0]], (), "line 2: m has answered 'a' in an earlier row"),
        ([{"instruction": " ", "model": "m", "response": "x"}], (), "line 1: it names no instruction"),
        ([{"instruction": "a", "model": "m", "response": "x", "words_asked": "many"}], (), "no number of words"),
        ([{"instruction": "a", "model": "m"}], (), "no column 'response'"),
        ([{**ROWS[0], "words_asked": "²"}], (), "no number of words"),
        ([{**ROWS[0], "words_asked": 10**30}], (), "no number of words"),
        ([{**ROWS[0], "category": "c" * 101}], (), "is too long"),
        ([{**ROWS[0], "n": "first"}], ("--column", "sample=n"), "'first' is no number of a sample"),
        ([{**ROWS[0], "t": -1}], ("--column", "seconds=t"), "'-1' is no number of seconds"),
        ([{**ROWS[0], "t": 1.5}], ("--column", "tokens=t"), "'1.5' is no number of tokens"),
        (ROWS, ("--column", "writer=x"), "must have the form NAME=COLUMN"),
        (ROWS, ("--column", "model=model", "--column", "model=prompt"), "names two columns for model"),
        (ROWS, ("--benchmark", "my essays/1"), "at most 100 letters, digits, - and _"),
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
    said = load(write(tmp_path, [*ROWS, {"instruction": "", "model": "m", "response": "x"}]), "--on-error", "skip")
    assert "3 created, 1 skipped" in said and "skipped-made" in said


def test_a_run_that_was_generated_here_takes_no_imports(tmp_path):
    GenerationRun.objects.create(benchmark=make_benchmark(1, "made"), name="main 1", status="finished")
    with pytest.raises(CommandError, match="name another with --run"):
        load(write(tmp_path, ROWS), "--run", "main 1")


def test_samples_and_what_is_known_of_each_come_along_where_their_columns_are_named(tmp_path):
    rows = [
        {"instruction": "a", "model": "m", "response": f"Text {n}.", "n": n, "end": "stop", "out": 3, "t": 1.5}
        for n in range(2)
    ]
    named = [f"--column={one}" for one in ("sample=n", "finish_reason=end", "tokens=out", "seconds=t")]
    assert "2 created" in load(write(tmp_path, rows), *named)
    second = Response.objects.get(sample=1)
    assert (second.text, second.finish_reason, second.tokens, second.seconds) == ("Text 1.", "stop", 3, 1.5)
    assert "2 already there" in load(write(tmp_path, rows), *named)


def test_instructions_may_come_as_parts_and_other_texts_than_the_stored_are_told(tmp_path):
    row = {"instruction": "a", "model": "m", "response": "x", "t": "Sum it up.", "task": "summarization"}
    load(write(tmp_path, [row]), "--column", "task=t")
    assert Instruction.objects.get().text == "Sum it up."
    said = load(write(tmp_path, [{**row, "model": "n", "prompt": "Sing."}]))
    assert "1 created" in said and "1 instructions differs from the stored one, which was kept: a." in said


def test_a_response_that_says_who_wrote_it_is_told_once(tmp_path):
    rows = [*ROWS, {"instruction": "b", "model": "Zephyr-7B", "response": "Well, I am Zephyr and I like it."}]
    said = load(write(tmp_path, rows))
    assert "Responses that say which model wrote them: 1, such as 'Well, I am Zephyr and I like it.'" in said
    assert "says which model" not in load(write(tmp_path, rows))


def test_a_file_of_which_no_row_can_be_taken_leaves_nothing(tmp_path):
    with pytest.raises(CommandError, match=r"No row can be loaded\. The first problem: rows\.jsonl line 1"):
        load(write(tmp_path, [{"instruction": "", "model": "m", "response": "x"}]), "--on-error", "skip")
    assert not GenerationRun.objects.exists()
