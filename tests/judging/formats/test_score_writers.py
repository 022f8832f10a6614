"""What is written for tools that take scores: fields as they read them, and what a format has no room for."""

import json

import pytest

from core.errors import UserError
from generation.importers.formats.registry import FORMATS, read_format
from generation.importers.formats.source import Source
from judging.formats.answers import WriteOptions
from judging.formats.registry import WRITERS
from tests.judging.formats.files import Texts, rated


def written(key, answered, **options):
    files = Texts()
    rows = WRITERS[key].write(iter(answered), files, WriteOptions(**options))
    return rows, files.texts


def answered():
    first, mine = rated(1, value=4.0, reason="Clear.", submitted_at="2026-01-02T03:04:05+00:00")
    judged = rated(1, value=2.0, rater="gpt", kind="judge")[1]
    second, other = rated(2, value=1.0, level="poor", rater="r2")
    return [(first, [*mine, *judged]), (second, other)]


def test_langfuse_scores_come_back_as_they_were(tmp_path):
    rows, files = written("langfuse", answered())
    path = tmp_path / "scores.jsonl"
    path.write_text(files[""], encoding="utf-8")
    source = Source(path)
    found = list(read_format(FORMATS["langfuse"], source))
    assert [(one.item, one.rater, one.is_judge, one.criterion, one.value, one.reason) for one in found] == [
        ("i1", "r1", False, "quality", "4", "Clear."),
        ("i1", "gpt", True, "quality", "2", ""),
        ("i2", "r2", False, "quality", "poor", ""),
    ]
    assert rows == 3 and source.unread == {}
    bodies = [json.loads(line) for line in files[""].splitlines()]
    assert [body["dataType"] for body in bodies] == ["NUMERIC", "NUMERIC", "CATEGORICAL"]
    assert len({body["id"] for body in bodies}) == 3
    assert written("langfuse", answered())[1] == files  # sending again overwrites


def test_mlflow_tells_people_from_judges():
    _rows, files = written("mlflow", answered())
    first, second, _third = map(json.loads, files[""].splitlines())
    assert first["source"] == {"source_type": "HUMAN", "source_id": "r1"}
    assert second["source"] == {"source_type": "LLM_JUDGE", "source_id": "gpt"}
    assert (first["trace_id"], first["name"], first["value"], first["rationale"]) == ("i1", "quality", 4, "Clear.")


def test_opentelemetry_events_are_log_records():
    _rows, files = written("opentelemetry", answered())
    records = [json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0] for line in files[""].splitlines()]
    assert {record["eventName"] for record in records} == {"gen_ai.evaluation.result"}
    attributes = {one["key"]: one["value"] for one in records[0]["attributes"]}
    assert attributes["gen_ai.evaluation.name"] == {"stringValue": "quality"}
    assert attributes["gen_ai.evaluation.score.value"] == {"doubleValue": 4.0}
    assert attributes["gen_ai.evaluation.explanation"] == {"stringValue": "Clear."}
    assert attributes["gen_ai.response.id"] == {"stringValue": "i1"}
    assert records[0]["timeUnixNano"] == "1767323045000000000"


def test_cje_has_the_judges_score_and_the_mean_of_people():
    task, mine = rated(1, value=4.0)
    more = rated(1, value=1.0, rater="r2")[1]
    judged = rated(1, value=2.0, rater="gpt", kind="judge")[1]
    alone = rated(2, value=3.0, rater="gpt", kind="judge")
    rows, files = written("cje", [(task, [*mine, *more, *judged]), alone, rated(3)])
    assert rows == 2 and list(files) == ["m_responses.jsonl"]
    first, second = map(json.loads, files["m_responses.jsonl"].splitlines())
    assert first == {
        "prompt_id": "i1",
        "prompt": "Why?",
        "response": "So.",
        "judge_score": 2,
        "oracle_label": 2.5,
        "draw_idx": 0,
    }
    assert second["judge_score"] == 3 and "oracle_label" not in second


def test_alt_test_has_labels_by_rater_and_item():
    rows, files = written("alt-test", answered())
    assert rows == 3
    assert json.loads(files["humans.json"]) == {"r1": {"i1 | m | 0": 4}, "r2": {"i2 | m | 0": "poor"}}
    assert json.loads(files["judge.json"]) == {"i1 | m | 0": 2}


@pytest.mark.parametrize("key", ["cje", "alt-test"])
def test_of_several_judges_one_must_be_named(key):
    task, judged = rated(1, rater="gpt", kind="judge")
    both = [(task, [*judged, *rated(1, rater="claude", kind="judge")[1]])]
    with pytest.raises(UserError, match="name one of the judges gpt, claude"):
        written(key, both)
    assert written(key, both, judge="claude")[0] == 1
    with pytest.raises(UserError, match="no scores of the judge 'x'; its judges are gpt, claude"):
        written(key, both, judge="x")


def test_a_batch_asks_each_instruction_once_of_each_model():
    again = rated(1, rater="r2")
    rows, files = written("openai-batch", [rated(1), again, rated(2, model="lab/n"), rated(3, prompt=None)])
    assert rows == 2 and set(files) == {"m.jsonl", "lab-n.jsonl"}
    assert json.loads(files["m.jsonl"]) == {
        "custom_id": "i1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m", "messages": [{"role": "user", "content": "Why?"}]},
    }
