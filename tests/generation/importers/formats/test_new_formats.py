"""Formats of scores and responses: files of the shapes that the tools write, and what is read of them."""

import json
import math

import pytest

from generation.importers.formats.registry import FORMATS, read_format, recognised
from generation.importers.formats.source import Options, Source
from generation.importers.records import PreferenceRecord, RatingRecord, ResponseRecord


def read(tmp_path, key, content, name="file.json", **options):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    found = recognised(path)
    assert found is not None and found.format.key == key
    problems = []
    source = Source(path, problems.append, Options(**options))
    records = list(read_format(FORMATS[key], source))
    ratings = [
        (one.item, one.rater, one.is_judge, one.criterion, one.value, one.reason)
        for one in records
        if isinstance(one, RatingRecord)
    ]
    responses = [one for one in records if isinstance(one, ResponseRecord)]
    texts = [(one.instruction.external_id, one.instruction.text, one.model, one.text) for one in responses]
    return ratings, texts, list(source.unread), [str(one) for one in problems]


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


ARGILLA = {
    "id": "r1",
    "_server_id": "x",
    "status": "completed",
    "prompt": "Ask.",
    "response": "Reply.",
    "model": "m",
    "quality.responses": [4, 2, 5],
    "quality.responses.users": ["u1", "u2", "u3"],
    "quality.responses.status": ["submitted", "draft", "discarded"],
    "tone.responses": ["kind"],
    "tone.responses.users": ["u1"],
    "tone.responses.status": ["submitted"],
    "quality.suggestion": 3,
    "quality.suggestion.agent": "gpt",
    "quality.suggestion.score": 0.5,
    "spans.responses": [[{"start": 0, "end": 3, "label": "x"}]],
    "spans.responses.users": ["u1"],
    "spans.responses.status": ["submitted"],
    "group": "b",
}


def test_argilla_responses_are_peoples_and_suggestions_judges(tmp_path):
    ratings, texts, unread, problems = read(tmp_path, "argilla", [ARGILLA])
    assert ratings == [
        ("r1", "u1", False, "quality", "4", ""),
        ("r1", "u2", False, "", "", ""),
        ("r1", "u3", False, "", "", ""),
        ("r1", "u1", False, "tone", "kind", ""),
        ("r1", "gpt", True, "quality", "3", ""),
    ]
    assert texts == [("r1", "Ask.", "m", "Reply.")] and problems == []
    assert unread == ["group", "spans", "quality.suggestion.score"]


def test_argilla_refuses_answers_that_belong_to_nobody_and_its_first_version(tmp_path):
    several = {**ARGILLA, "tone.responses": [["kind", "dry"]]}
    uneven = {**ARGILLA, "quality.responses.users": ["u1"]}
    *_rest, problems = read(tmp_path, "argilla", [several, uneven])
    assert "tone has 2 choices where one answer belongs; exclude the question tone" in problems[0]
    assert "the number of users of quality is 1 and that of its answers 3" in problems[1]
    *_rest, problems = read(tmp_path, "argilla", [{"text": "x", "q": [], "q-suggestion": "y"}])
    assert "this is the layout of Argilla 1, which is not read; export it again with Argilla 2" in problems[0]


def test_argilla_reasons_belong_to_the_other_answers_of_their_rater(tmp_path):
    row = {
        "id": "r1",
        "prompt": "Ask.",
        "response": "Reply.",
        "quality.responses": [4, 2],
        "quality.responses.users": ["u1", "u2"],
        "quality.responses.status": ["submitted", "submitted"],
        "reason.responses": ["Clear.", "No answer."],
        "reason.responses.users": ["u1", "u3"],
        "reason.responses.status": ["submitted", "submitted"],
    }
    ratings, _texts, unread, problems = read(tmp_path, "argilla", [row])
    assert ratings == [("r1", "u1", False, "quality", "4", "Clear."), ("r1", "u2", False, "quality", "2", "")]
    assert unread == ["reason.responses"] and problems == []
    only = {name: value for name, value in row.items() if not name.startswith("quality")}
    ratings, *_rest = read(tmp_path, "argilla", [only])
    assert [one[3:5] for one in ratings] == [("reason", "Clear."), ("reason", "No answer.")]


def test_argilla_chooses_between_two_responses_by_the_question_preference(tmp_path):
    row = {
        "id": "r1",
        "prompt": "Ask.",
        "response_a": "One.",
        "response_b": "Two.",
        "preference.responses": ["response_b", "tie", "neither of them"],
        "preference.responses.users": ["u1", "u2", "u3"],
        "preference.suggestion": "a",
        "preference.suggestion.agent": "gpt",
    }
    path = tmp_path / "file.json"
    path.write_text(json.dumps([row]))
    records = list(read_format(FORMATS["argilla"], Source(path)))
    found = [(one.rater, one.is_judge, one.choice) for one in records if isinstance(one, PreferenceRecord)]
    assert found == [("u1", False, "B"), ("u2", False, "tie"), ("gpt", True, "A")]
    assert [(one.rater, one.value) for one in records if isinstance(one, RatingRecord)] == [("u3", "neither of them")]


@pytest.mark.parametrize("arguments", [{"gen_args_0": {"arg_0": "2+2=", "arg_1": {}}}, [["2+2=", {}]]])
def test_lm_eval_metrics_are_criteria_and_the_harness_is_the_judge(tmp_path, arguments):
    row = {
        "doc_id": 3,
        "doc": {"q": "2+2"},
        "target": "4",
        "arguments": arguments,
        "resps": [["4"]],
        "filtered_resps": ["4"],
        "filter": "strict",
        "metrics": ["exact_match", "bits"],
        "doc_hash": "a",
        "prompt_hash": "b",
        "target_hash": "c",
        "exact_match": 1.0,
        "bits": [1, 2],
    }
    name = "samples_arith_2026-01-02T03-04-05.678.jsonl"
    ratings, texts, unread, problems = read(tmp_path, "lm-eval", lines(row), name, model="lab/m")
    assert ratings == [("arith-3", "lm-evaluation-harness", True, "exact_match", "1.0", "")]
    assert texts == [("arith-3", "2+2=", "lab/m", "4")]
    assert unread == ["bits"] and problems == []


RESULT = {
    "promptIdx": 0,
    "testIdx": 2,
    "promptId": "p",
    "provider": {"id": "openai:x", "label": ""},
    "vars": {"a": 1},
    "prompt": {"raw": "Say 1.", "label": "l"},
    "response": {"output": {"n": 1}, "cached": False},
    "success": True,
    "score": 0.5,
    "latencyMs": 1500,
    "namedScores": {},
    "testCase": {"vars": {}},
    "gradingResult": {
        "pass": True,
        "score": 0.5,
        "reason": "All good",
        "componentResults": [
            {"pass": True, "score": 1, "reason": "has it", "assertion": {"type": "contains", "value": "1"}},
            {"pass": False, "score": 0, "reason": "no", "assertion": {"type": "contains", "value": "2"}},
            {"pass": True, "score": 1, "reason": "fine", "comment": "I like it", "assertion": {"type": "human"}},
        ],
    },
}


@pytest.mark.parametrize("form", ["whole", "lines", "one line"])
def test_promptfoo_assertions_are_criteria_and_a_viewer_is_a_person(tmp_path, form):
    whole = {"evalId": "e", "results": {"version": 3, "prompts": [{"raw": "x"}], "results": [RESULT], "stats": {}}}
    content = {"whole": json.dumps(whole, indent=2), "lines": lines(RESULT, RESULT), "one line": json.dumps(whole)}[
        form
    ]
    name = "results.jsonl" if form == "lines" else "results.json"
    ratings, texts, unread, problems = read(tmp_path, "promptfoo", content, name)
    assert ratings[:4] == [
        ("test-2-prompt-0", "promptfoo", True, "score", "0.5", "All good"),
        ("test-2-prompt-0", "promptfoo", True, "contains", "1", "has it"),
        ("test-2-prompt-0", "promptfoo", True, "contains 2", "0", "no"),
        ("test-2-prompt-0", "promptfoo viewer", False, "human", "1", "I like it"),
    ]
    assert texts[0] == ("test-2-prompt-0", "Say 1.", "openai:x", '{"n": 1}')
    assert (unread, problems) == ([], [])


def test_half_a_file_of_promptfoo_is_said(tmp_path):
    whole = json.dumps({"results": {"version": 3, "results": [RESULT, RESULT]}}, indent=2)
    ratings, _texts, _unread, problems = read(tmp_path, "promptfoo", whole[: len(whole) // 2 + 300])
    assert len(ratings) == 4
    assert len(problems) == 1 and "element 2 is not valid JSON" in problems[0]


def test_replies_of_a_batch_are_responses_and_failed_requests_bad_rows(tmp_path):
    chat = {
        "id": "b1",
        "custom_id": "q1",
        "error": None,
        "response": {
            "status_code": 200,
            "request_id": "r",
            "body": {
                "model": "gpt-x",
                "choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 2},
            },
        },
    }
    newer = {
        "id": "b2",
        "custom_id": "q2",
        "error": None,
        "response": {
            "status_code": 200,
            "body": {
                "model": "gpt-x",
                "output": [{"type": "reasoning"}, {"content": [{"type": "output_text", "text": "No."}]}],
            },
        },
    }
    failed = {"id": "b3", "custom_id": "q3", "response": None, "error": {"message": "too long"}}
    ratings, texts, unread, problems = read(tmp_path, "openai-batch", lines(chat, newer, failed), "out.jsonl")
    assert texts == [("q1", None, "gpt-x", "Yes."), ("q2", None, "gpt-x", "No.")]
    assert (ratings, unread) == ([], [])
    assert problems == [
        "out.jsonl line 3: the request 'q3' failed: too long; send that request again, or leave out the bad rows."
    ]


def test_scores_of_langfuse_are_peoples_where_they_are_annotations(tmp_path):
    def score(**more):
        return {"id": "1", "traceId": "t1", "name": "ok", "value": 1, "dataType": "NUMERIC", "source": "EVAL", **more}

    content = {
        "data": [
            score(),
            score(source="ANNOTATION", authorUserId="u9", dataType="BOOLEAN", value=True, comment="Good."),
            score(dataType="CATEGORICAL", value=0, stringValue="fine", observationId="o1"),
            score(dataType="TEXT", value="words"),
            score(traceId=None, sessionId=None),
        ],
        "meta": {"page": 1},
    }
    ratings, texts, unread, problems = read(tmp_path, "langfuse", content)
    assert ratings == [
        ("t1", "EVAL", True, "ok", "1", ""),
        ("t1", "u9", False, "ok", "1", "Good."),
        ("o1", "EVAL", True, "ok", "fine", ""),
    ]
    assert unread == ["dataType=TEXT"] and texts == []
    assert len(problems) == 1 and "element 5: the field observationId / traceId / sessionId is missing" in problems[0]


def test_a_value_that_is_no_number_is_no_score(tmp_path):
    row = {"doc_id": 1, "doc": {}, "resps": [], "metrics": ["acc"], "acc": math.nan}
    ratings, *_rest = read(tmp_path, "lm-eval", lines(row), "samples_x.jsonl")
    assert ratings == [("samples_x-1", "lm-evaluation-harness", True, "acc", "", "")]
