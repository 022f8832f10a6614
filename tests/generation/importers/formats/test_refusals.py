"""A file of another format, half of one, and rows that break: one sentence with the place and the remedy."""

import json

import pytest

from core.tables.bad_rows import BadRow
from generation.importers.formats.registry import FORMATS, not_recognised, read_format, recognised
from generation.importers.formats.source import Options, Source

TASK = {
    "id": 7,
    "data": {"text": "x", "model": "m"},
    "annotations": [
        {
            "completed_by": {"id": 4, "email": "ann@example.org"},
            "result": [{"type": "choices", "from_name": "ok", "to_name": "t", "value": {"choices": ["yes"]}}],
        }
    ],
}
ALPACA = {
    "instruction": "Say it.",
    "output_1": "a",
    "generator_1": "x",
    "output_2": "b",
    "generator_2": "y",
    "annotator": "judge",
    "preference": 1.2,
}


def read(tmp_path, key, content, name="file.json", **options):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    problems = []
    source = Source(path, problems.append, Options(**options))
    return list(read_format(FORMATS[key], source)), [str(one) for one in problems], source


def refused(tmp_path, key, content, name="file.json"):
    with pytest.raises(BadRow) as problem:
        read(tmp_path, key, content, name)
    return str(problem.value)


def test_a_file_of_another_format_is_refused_with_the_format_that_fits(tmp_path):
    assert refused(tmp_path, "arena", [ALPACA]) == (
        "file.json: this is not a file of Arena battles: there is no field model_a, model_b, winner; its fields are those "
        "of alpaca_eval annotations; choose that format."
    )
    assert "the fields are a, b" in refused(tmp_path, "arena", [{"a": 1, "b": 2}])
    assert "no format fits: its first row has the fields a, b" in str(not_recognised(tmp_path / "file.json"))
    assert recognised(tmp_path / "file.json") is None
    assert recognised(tmp_path / "none.json") is None


def test_a_file_without_a_row_says_why_it_has_none(tmp_path):
    def said(content, name="file.json"):
        path = tmp_path / name
        path.write_bytes(content)
        return str(not_recognised(path))

    assert said(b"[]").startswith("file.json: the file has no rows")
    assert "is not valid JSON" in said(b'[{"a": 1')
    assert "is empty" in said(b"")
    for name in ("half.zip", "half.eval"):
        assert "is only part of an archive" in said(b"PK\x03\x04\x14\x00\x00\x00\x08\x00\xff\xfe" * 40, name)


def test_half_a_file_gives_what_is_whole_and_says_where_it_ends(tmp_path):
    whole = json.dumps([TASK, {**TASK, "id": 8}])
    records, problems, _source = read(tmp_path, "label-studio", whole[:-40])
    assert len(records) == 2 and len(problems) == 1
    assert problems[0].startswith("file.json line 1: element 2 is not valid JSON")
    lines = json.dumps(ALPACA) + "\n" + json.dumps(ALPACA)[:-9]
    records, problems, _source = read(tmp_path, "alpaca-eval", lines, "file.jsonl")
    assert len(records) == 3 and problems == [
        "file.jsonl line 2: the line is not valid JSON; write one JSON object per line."
    ]
    assert refused(tmp_path, "arena", "[]").startswith("file.json: the file has no rows")
    assert "the file is empty" in refused(tmp_path, "arena", "")


def test_an_older_layout_is_named(tmp_path):
    old = [{"id": 1, "data": {"text": "x"}, "completions": []}]
    _records, problems, _source = read(tmp_path, "label-studio", old)
    assert problems == [
        "file.json line 1: element 1: this is the layout of Label Studio 0.8, which is not read; export it again with Label "
        "Studio 1."
    ]


@pytest.mark.parametrize(
    ("key", "row", "said"),
    [
        ("alpaca-eval", {**ALPACA, "preference": 3}, "the field preference is 3; write 1, 1.5, 2"),
        ("alpaca-eval", {**ALPACA, "preference": "A"}, "the field preference is 'A'"),
        ("alpaca-eval", {**ALPACA, "generator_2": "x"}, "both responses are of the model 'x'"),
        ("alpaca-eval", {**ALPACA, "instruction": " "}, "the field instruction is missing or empty"),
        (
            "arena",
            {"question_id": 1, "model_a": "a", "model_b": "b", "winner": "left"},
            "the field winner is 'left'; write model_a, model_b, tie, tie (bothbad)",
        ),
        (
            "arena",
            {
                "question_id": 1,
                "model_a": "a",
                "model_b": "b",
                "winner": "tie",
                "conversation_a": [{"role": "user", "content": "x"}],
            },
            "conversation_a has no reply of the assistant",
        ),
        (
            "label-studio",
            {
                **TASK,
                "annotations": [
                    {"result": [{"type": "choices", "from_name": "ok", "value": {"choices": ["yes", "no"]}}]}
                ],
            },
            "ok has 2 choices where one answer belongs; exclude the question ok",
        ),
        ("label-studio", {**TASK, "data": 3}, "the field data is missing or empty"),
        ("preference-pairs", {"prompt": "x", "chosen": "", "rejected": "y"}, "the field chosen is missing or empty"),
    ],
)
def test_a_broken_row_is_named_and_the_others_are_read(tmp_path, key, row, said):
    good = {
        "alpaca-eval": ALPACA,
        "arena": {"question_id": 2, "model_a": "a", "model_b": "b", "winner": "tie"},
        "label-studio": TASK,
        "preference-pairs": {"prompt": "x", "chosen": "z", "rejected": "y"},
    }[key]
    records, problems, _source = read(tmp_path, key, [good, row, good])
    assert len(problems) == 1 and problems[0].startswith("file.json line 1: element 2: ") and said in problems[0]
    assert records


def test_fields_that_are_not_known_are_listed(tmp_path):
    task = {**TASK, "mood": 1, "data": {**TASK["data"], "picture": "p"}}
    task["predictions"] = [{"model_version": "v", "score": 0.5, "result": [{"type": "brush", "value": {"rle": []}}]}]
    _records, _problems, source = read(tmp_path, "label-studio", [task])
    assert list(source.unread) == ["mood", "data.picture", "predictions.score", "result.type=brush"]
    _records, _problems, source = read(tmp_path, "alpaca-eval", [{**ALPACA, "colour": "red"}])
    assert list(source.unread) == ["colour"]


def test_a_dotted_path_names_a_field_anywhere(tmp_path):
    task = {**TASK, "data": {"turns": [{"text": "Ask."}], "out": {"a.b": "Reply."}, "who": "m"}}
    paths = {"prompt": "turns[0].text", "response": "out.a.b", "model": "who"}
    records, _problems, _source = read(tmp_path, "label-studio", [task], fields=paths)
    assert (records[0].instruction.text, records[0].text, records[0].model) == ("Ask.", "Reply.", "m")


def test_who_is_a_judge_can_be_said(tmp_path):
    def judges(**options):
        records, _problems, _source = read(tmp_path, "alpaca-eval", [ALPACA], **options)
        return [one.is_judge for one in records if hasattr(one, "is_judge")]

    assert judges() == [True]
    assert judges(judges=frozenset()) == [False]
    assert judges(judges=frozenset({"*"})) == [True]
    assert judges(judges=frozenset({"other"})) == [False]
