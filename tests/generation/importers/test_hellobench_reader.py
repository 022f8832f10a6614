"""A clone of HelloBench's repository, read without a database."""

import json

import pytest
from hypothesis import given, strategies as st

from core.tables.bad_rows import BadRow
from generation.importers.hellobench import LONGEST_LITERAL, Clone, read_evaluation, summary_kind
from generation.importers.records import MAIN, ItemVerdict
from tests.conftest import shared_path

GOOD = [{"checklist_id": 0, "reason": "why", "evaluation_score": 1.0}, {"checklist_id": 1, "evaluation_score": 0.5}]
READ = (ItemVerdict(0, 1.0, "why"), ItemVerdict(1, 0.5, ""))


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        json.dumps(GOOD),
        repr(GOOD),
        list(reversed(GOOD)),
        [{**GOOD[0], "checklist_id": "0", "evaluation_score": "1.0"}, GOOD[1]],
        [{**GOOD[0], "checklist_id": 1}, {**GOOD[1], "checklist_id": 2}],
    ],
)
def test_a_verdict_may_be_spelt_in_several_ways(value):
    assert read_evaluation(value) == READ


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no evaluation"),
        ("", "no list of items"),
        ("I cannot judge this.", "no list of items"),
        ("__import__('os').system('true')", "no list of items"),
        ({"checklist_id": 0}, "no list of items"),
        ([], "no items"),
        ([{"checklist_id": 0}], "item 0 has no number or no score"),
        ([{"checklist_id": 0, "evaluation_score": "good"}], "item 0 has no number or no score"),
        ([{"checklist_id": 0, "evaluation_score": float("nan")}], "item 0 has no number or no score"),
        (
            "[" + "1," * LONGEST_LITERAL + "]",
            "no JSON, and more than 50,000 characters, which is too long for a Python literal",
        ),
        ('"' + "a" * LONGEST_LITERAL + '"', "no list of items"),
        (["fine"], "item 0 has no number or no score"),
        ([GOOD[0], GOOD[0]], "items are numbered 0, 0"),
        ([GOOD[1], {**GOOD[1], "checklist_id": 3}], "items are numbered 1, 3"),
    ],
)
def test_an_unusable_verdict_says_why(value, reason):
    assert read_evaluation(value) == reason


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner)))
def test_whatever_a_judge_wrote_is_a_verdict_or_a_reason(value):
    assert isinstance(read_evaluation(value), tuple | str)


@pytest.mark.parametrize(
    ("first_line", "kind"),
    [
        ("Summarize the following academic article to an abstract.", "academic_article"),
        ("Summarize the following report.", "report"),
        ("Summarize the following dialogue in short.", "long_dialogue"),
        ("Summarize the following News to a summary.", "news"),
        ("Summarize the following blog.", "blogs"),
        ("Summarize this.", ""),
    ],
)
def test_the_kind_of_a_summary_is_read_from_the_first_line(first_line, kind):
    assert summary_kind(f"{first_line}\nA news report on a blog.") == kind


def test_what_is_absent_or_empty_is_listed(tmp_path):
    (tmp_path / "data" / "main_data").mkdir(parents=True)
    (tmp_path / "data" / "main_data" / "chat.jsonl").touch()
    folder = tmp_path / "results" / "generations" / "main_exp" / "m1"
    folder.mkdir(parents=True)
    (folder / "chat_results.jsonl").write_text('{"id": "chat_000"}\n')
    (folder / "notes.txt").write_text("?")
    clone = Clone(tmp_path)
    assert clone.instruction_files(MAIN) == []
    (file,) = clone.result_files(MAIN)
    assert (file.model, file.task, file.verdicts) == ("m1", "chat", None)
    assert clone.weights() == []
    assert clone.absent[:2] == ["data/main_data/open_ended_qa.jsonl", "data/main_data/summarization.jsonl"]
    assert "data/main_data/chat.jsonl (empty)" in clone.absent
    assert "results/generations/main_exp/m1/notes.txt (its name is not understood)" in clone.absent
    assert "weighted_scores.txt" in clone.absent


def test_length_constrained_instructions_are_named_after_their_length(tmp_path):
    line = json.dumps({"id": "heuristic_text_generation_001", "category": "story_writing", "instruction": "Write."})
    path = tmp_path / "data" / "length_constrained_data" / "heuristic_text_generation_16k.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    clone = Clone(tmp_path)
    (found,) = clone.instruction_files("length-16k")
    (record,) = clone.instructions(*found)
    assert (record.external_id, record.words_asked) == ("heuristic_text_generation_001@16k", 16000)
    assert (record.category, record.parent) == ("story_writing", "heuristic_text_generation")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "the line is not valid JSON; write one JSON object per line"),
        ('{"instruction": "x"}', "'id' is missing or no text; restore the line from the repository"),
        ('{"id": 3, "instruction": "x"}', "'id' is missing or no text; restore the line from the repository"),
        ('{"id": "chat_000"}', "'instruction' is missing or no text; restore the line from the repository"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    path = tmp_path / "data" / "main_data" / "chat.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(line, encoding="utf-8")
    clone = Clone(tmp_path)
    with pytest.raises(BadRow) as refused:
        list(clone.instructions(path, "chat", ""))
    assert str(refused.value) == f"data/main_data/chat.jsonl line 1: {message}."
    problems = []
    assert list(clone.instructions(path, "chat", "", problems.append)) == []
    assert len(problems) == 1


@pytest.mark.parametrize("content", ["import os", "X = open('/etc/passwd')", "X = {'a': ['b']}", "X = (", "X = 3"])
def test_weights_are_read_and_never_run(tmp_path, content):
    (tmp_path / "data").mkdir()
    (tmp_path / "weighted_scores.txt").write_text(content)
    with pytest.raises(BadRow, match=r"weighted_scores\.txt: this is no table of weights; restore it"):
        Clone(tmp_path).weights()


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": 3}'])
def test_a_broken_checklist_file_is_named(tmp_path, content):
    (tmp_path / "data").mkdir()
    (tmp_path / "checklists").mkdir()
    (tmp_path / "checklists" / "chat_checklist.json").write_text(content)
    with pytest.raises(BadRow, match=r"checklists/chat_checklist\.json: this is not a checklist file; restore it"):
        list(Clone(tmp_path).rubrics())


def test_a_folder_that_is_no_clone_is_refused(tmp_path):
    with pytest.raises(BadRow, match="this is no clone of HelloBench; name the folder that holds data/ and results/"):
        Clone(tmp_path)


def test_the_sample_repository():
    clone = Clone(shared_path("hellobench/sample_repo"))
    asked = [record for found in clone.instruction_files(MAIN) for record in clone.instructions(*found)]
    files = clone.result_files(MAIN)
    verdicts = [verdict for file in files for verdict in clone.verdicts(file)]
    assert (len(asked), len(files), len(verdicts)) == (40, 10, 90)
    assert sum(len(list(clone.responses(file))) for file in files) == 90
    assert all(verdict.items and not verdict.unusable for verdict in verdicts)
    assert "data/main_data/summarization.jsonl" in clone.absent
    assert len(list(clone.rubrics())) == len(clone.weights()) == 38
    weights = json.loads(shared_path("hellobench/weights.json").read_text(encoding="utf-8"))
    assert {record.category: list(record.weights) for record in clone.weights()} == weights
    kinds = {v.response.instruction.external_id: v.response.instruction.category for v in verdicts}
    assert kinds["summarization_000"] == "academic_article"
    assert kinds["summarization_020"] == "news"
