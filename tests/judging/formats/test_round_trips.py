"""What a writer writes, the reader of the same format reads again: answers, texts and raters, whatever the texts hold."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from generation.importers.formats.registry import FORMATS, read_format, recognised
from generation.importers.formats.source import Source
from generation.importers.records import PreferenceRecord, RatingRecord, ResponseRecord
from judging.formats.answers import WriteOptions
from judging.formats.registry import WRITERS
from tests.generation.importers.formats import inspect_package
from tests.judging.formats.files import Texts, compared, rated

TEXT = st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and "\0" not in text)
HOSTILE = [
    '"}]\n{"annotations": []}',
    "=cmd|' /C calc'!A1",
    "</script><script>",
    "\u202e\u2066 reversed",
    "\ufeffmark",
    "e" + "\u0301" * 80,
    "[" * 500,
    "a\r\n\u2028",
]


@pytest.fixture(autouse=True)
def _inspect_package(monkeypatch):
    inspect_package.provide(monkeypatch)


def read(path, key, problems=None):
    source = Source(path, (problems if problems is not None else []).append)
    records = list(read_format(FORMATS[key], source))
    return records, source


def written(answered, key, path, name=""):
    files = Texts()
    rows = WRITERS[key].write(iter(answered), files, WriteOptions())
    path.write_text(files.texts[name], encoding="utf-8")
    return rows


def path_for(tmp_path, key):
    return tmp_path / f"file.{WRITERS[key].ending}"


def ratings(records):
    found = [one for one in records if isinstance(one, RatingRecord)]
    return [(one.item, one.rater, one.is_judge, one.criterion, one.value) for one in found]


def choices(records):
    return [
        (one.instruction or one.item, one.model_a, one.model_b, one.rater, one.is_judge, one.choice)
        for one in records
        if isinstance(one, PreferenceRecord)
    ]


def texts(records):
    return {(one.model, one.text) for one in records if isinstance(one, ResponseRecord)}


def prompts(records):
    return {one.instruction.text for one in records if isinstance(one, ResponseRecord)}


def test_label_studio_keeps_ratings_labels_reasons_and_judges(tmp_path):
    path = path_for(tmp_path, "label-studio")
    answered = [
        rated(1, value=4.0, reason="Clear.", seconds=3.5),
        rated(2, value=2.5, rater="r2"),
        rated(3, value=1.0, level="yes", rater="gpt", kind="judge"),
        rated(4, value=None),
        rated(5, value=2.0, rater="truth", kind="key"),
    ]
    assert written(answered, "label-studio", path) == 5
    records, source = read(path, "label-studio")
    assert ratings(records) == [
        ("i1", "r1", False, "quality", "4"),
        ("i2", "r2", False, "quality", "2.5"),
        ("i3", "gpt", True, "quality", "yes"),
        ("i5", "truth", False, "quality", "2"),
    ]
    found = [one for one in records if isinstance(one, RatingRecord)]
    assert (found[0].reason, found[0].seconds) == ("Clear.", 3.5)
    assert [one.is_key for one in found] == [False, False, False, True]
    assert texts(records) == {("m", "So.")} and prompts(records) == {"Why?"}
    assert source.unread == {} and recognised(path).format.key == "label-studio"


@pytest.mark.parametrize("key", ["label-studio", "alpaca-eval", "arena", "argilla"])
def test_comparisons_come_back_as_they_were(key, tmp_path):
    path = path_for(tmp_path, key)
    answered = [compared(1, choices=("a", "b", "tie")), compared(2, choices=("both_bad",), kind="judge")]
    written(answered, key, path)
    records, source = read(path, key)
    last = "both_bad" if key in ("arena", "argilla") else "tie"
    expected = [
        ("i1", "m1", "m2", "r0", False, "A"),
        ("i1", "m1", "m2", "r1", False, "B"),
        ("i1", "m1", "m2", "r2", False, "tie"),
        ("i2", "m1", "m2", "r0", True, last),
    ]
    assert choices(records) == expected
    assert texts(records) == {("m1", "A text"), ("m2", "B text")} and prompts(records) == {"Why?"}
    assert source.unread == {} and recognised(path).format.key == key


def test_argilla_keeps_ratings_labels_reasons_and_one_judge(tmp_path):
    """A question has one suggestion: that of the first judge of the file, or of the judge that was asked for."""
    path = path_for(tmp_path, "argilla")
    task, people = rated(1, value=4.0, reason="Clear.")
    people += rated(1, value=2.5, rater="r2")[1] + rated(1, value=None, rater="r3")[1]
    judges = [
        *rated(1, value=3.0, rater="gpt", kind="judge", reason="Fine.")[1],
        *rated(1, rater="qwen", kind="judge")[1],
    ]
    second = rated(2, value=1.0, level="yes", rater="qwen", kind="judge")
    third = rated(3, value=1.0, rater="truth", kind="key")
    answered = [(task, [*people, *judges]), second, third]
    assert written(answered, "argilla", path) == 3
    records, source = read(path, "argilla")
    assert ratings(records) == [
        ("i1", "r1", False, "quality", "4"),
        ("i1", "r2", False, "quality", "2.5"),
        ("i1", "gpt", True, "quality", "3"),
    ]
    assert [one.reason for one in records if isinstance(one, RatingRecord)] == ["Clear.", "", "Fine."]
    assert texts(records) == {("m", "So.")} and source.unread == {} and recognised(path).format.key == "argilla"
    files = Texts()
    assert WRITERS["argilla"].write(iter([second]), files, WriteOptions(judge="qwen")) == 1
    row = json.loads(files.texts[""])
    assert (row["quality.suggestion"], row["quality.suggestion.agent"]) == ("yes", "qwen")


def test_argilla_lists_the_users_and_states_of_each_response(tmp_path):
    """Rows have the columns that Argilla's own records have as rows."""
    path = path_for(tmp_path, "argilla")
    task, first = rated(1, value=4.0)
    written([(task, first + rated(1, value=None, rater="r2")[1] + rated(1, value=5.0, rater="r3")[1])], "argilla", path)
    row = json.loads(path.read_text())
    assert row == {
        "instruction_id": "i1",
        "prompt": "Why?",
        "id": "i1",
        "model": "m",
        "response": "So.",
        "quality.responses": [4, 5],
        "quality.responses.users": ["r1", "r3"],
        "quality.responses.status": ["submitted", "submitted"],
    }


def test_preference_pairs_have_the_majority_of_people_and_no_even_pair(tmp_path):
    path = path_for(tmp_path, "preference-pairs")
    answered = [
        compared(1, choices=("b", "b", "a")),
        compared(2, choices=("a", "b")),
        compared(3, choices=("tie", "tie", "a")),
        compared(4, choices=("a",), kind="judge"),
        compared(5, first=None),
    ]
    assert written(answered, "preference-pairs", path) == 1
    row = json.loads(path.read_text())
    assert row["chosen"] == [{"role": "assistant", "content": "B text"}]
    assert (row["votes_chosen"], row["votes_rejected"]) == (2, 1)
    records, source = read(path, "preference-pairs")
    assert choices(records) == [("i1", "m2", "m1", "preference", False, "A")]
    assert texts(records) == {("m1", "A text"), ("m2", "B text")} and source.unread == {}


def test_inspect_scores_have_one_record_for_each_sample_in_a_file_for_each_model():
    """The scorer refuses two records with one id and epoch; the value is the mean over people."""
    first, second = rated(1, value=4.0, model="lab/a"), rated(1, value=2.0, model="lab/a", rater="r2")
    other = rated(1, value=5.0, model="lab a")
    judged = rated(2, value=1.0, kind="judge", rater="gpt", model="lab/a")
    files = Texts()
    both = first[0], [*first[1], *second[1]]
    assert WRITERS["inspect-scores"].write(iter([both, other, judged]), files, WriteOptions()) == 2
    assert set(files.texts) == {"lab-a.jsonl", "lab-a-2.jsonl"}
    record = json.loads(files.texts["lab-a.jsonl"])
    assert (record["id"], record["epoch"], record["value"]) == ("i1", 1, 3)
    assert [one["values"] for one in record["metadata"]["answers"]] == [{"quality": 4}, {"quality": 2}]


@pytest.mark.parametrize("key", ["label-studio", "alpaca-eval", "arena", "preference-pairs", "argilla"])
@settings(max_examples=40, deadline=None)
@given(prompt=TEXT | st.sampled_from(HOSTILE), first=TEXT | st.sampled_from(HOSTILE), second=TEXT)
def test_any_text_survives(key, tmp_path_factory, prompt, first, second):
    path = tmp_path_factory.mktemp("any") / f"file.{WRITERS[key].ending}"
    written([compared(1, prompt=prompt, first=first, second=second)], key, path)
    problems = []
    records, _source = read(path, key, problems)
    assert problems == [] and len(choices(records)) == 1
    assert texts(records) == {("m1", first), ("m2", second)}
    assert {text.strip() for text in prompts(records)} == {prompt.strip()}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("key", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_row_of_any_values_is_read_or_is_a_bad_row(key, tmp_path_factory, data):
    """Nothing but BadRow leaves a reader, whatever stands in the fields of the format."""
    own = [["q.responses", "q.responses.users", "q.suggestion"]]  # Argilla's fields have the names of the questions
    sign = data.draw(st.sampled_from([sorted(sign) for sign in FORMATS[key].signs] or own))
    more = ("id", "conversation_a", "output", "annotator", "completed_by", "score", "response", "vars", "custom_id")
    row = {name: data.draw(JSON) for name in dict.fromkeys([*sign, *more])}
    path = tmp_path_factory.mktemp("any") / "rows.jsonl"
    text = json.dumps(row, allow_nan=True) + "\n"
    if key == "inspect-log":  # whose samples stand in one object beside what the log says of all of them
        text = f'{{"eval": {json.dumps(data.draw(JSON))}, "samples": [{text}]}}'
    path.write_text(text, encoding="utf-8")
    problems = []
    source = Source(path, problems.append)
    records = list(FORMATS[key].read(source))
    assert records or problems or source.unread is not None
    for problem in problems:
        assert str(problem).startswith("rows.jsonl") and problem.reason and problem.remedy
