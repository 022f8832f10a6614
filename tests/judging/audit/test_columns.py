"""Columns are found by name and content, with the reason; where two readings are possible both are named."""

import pytest

from core.errors import UserError
from judging.audit.auditing import audit
from judging.audit.families import family_of
from judging.audit.roles import AuditOptions, AuditTable, find_layout
from tests.judging.audit.tables import write


def layout(columns, asked=None, rows=4):
    values = {name: given if isinstance(given, list) else [given] * rows for name, given in columns.items()}
    return find_layout(AuditTable("t.csv", values, list(range(2, 2 + rows))), asked or AuditOptions())


SCORES = ["1", "2", "3", "4"]
IDS = ["a", "b", "c", "d"]


def test_a_wide_table_of_scores():
    found = layout(
        {"question_id": IDS, "llm_name": IDS, "human": SCORES, "gpt4": SCORES, "response_length": SCORES, "note": IDS}
    )
    assert (found.shape, found.item, found.model, found.people, found.judges, found.lengths) == (
        "wide",
        "question_id",
        "llm_name",
        ("human",),
        ("gpt4",),
        ("response_length",),
    )
    reasons = {choice.role: str(choice.reason) for choice in found.choices}
    assert reasons["judge"] == "the name says so, and the values are scores or verdicts"
    assert reasons["item"] == "the name says so"


def test_a_wide_table_of_pairs():
    found = layout(
        {
            "id": IDS,
            "model_a": IDS,
            "model_b": IDS,
            "rater_1": ["1", "2", "0", "1"],
            "judge": ["1", "2", "2", "1"],
            "response_a": IDS,
            "response_b": IDS,
        }
    )
    assert found.sides == ("model_a", "model_b") and found.texts == ("response_a", "response_b")
    assert found.people == ("rater_1",) and found.judges == ("judge",)


def test_a_long_table_with_judges_by_name_by_kind_and_by_option():
    base = {"item_id": IDS, "annotator": ["ann", "bob", "gpt-4o", "x1"], "criterion": IDS, "rating": SCORES}
    found = layout(base)
    assert (found.shape, found.rater, found.score, found.criterion) == ("long", "annotator", "rating", "criterion")
    assert found.people == ("ann", "bob", "x1") and found.judges == ("gpt-4o",)
    assert layout({**base, "rater_kind": ["human", "human", "llm", "llm"]}).judges == ("gpt-4o", "x1")
    assert layout(base, AuditOptions(judges=("x1",))).judges == ("x1",)
    assert layout(base, AuditOptions(people=("ann",))).judges == ("bob", "gpt-4o", "x1")


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        (
            {"item_id": IDS, "item": IDS, "human": SCORES, "gpt4": SCORES},
            ("item_id is the column of items", "item is the column of items"),
        ),
        (
            {"item_id": IDS, "annotator": IDS, "score": SCORES, "human_1": SCORES, "gpt4": SCORES},
            ("one rating in each row", "one column for each rater"),
        ),
        (
            {
                "item_id": IDS,
                "model_1": IDS,
                "model_2": IDS,
                "system_1": IDS,
                "system_2": IDS,
                "human": SCORES,
                "gpt4": SCORES,
            },
            ("model_1, model_2", "system_1, system_2"),
        ),
    ],
)
def test_two_readings_are_both_named(columns, named):
    with pytest.raises(UserError, match="can be read in two ways") as refused:
        layout(columns)
    assert all(words in str(refused.value) for words in named)


def test_an_option_decides_between_two_readings():
    columns = {"item_id": IDS, "item": IDS, "human": SCORES, "gpt4": SCORES}
    assert layout(columns, AuditOptions(columns={"item": "item"})).item == "item"


def test_zero_and_one_of_a_pair_are_two_readings(tmp_path):
    rows = [{"id": i, "model_1": "a", "model_2": "b", "human": i % 2, "judge_x": (i + 1) % 2} for i in range(30)]
    with pytest.raises(UserError, match=r"0 is a tie.*0 is the second"):
        audit(write(tmp_path / "t.csv", rows), AuditOptions())


def test_the_names_of_the_models_are_verdicts_and_so_are_degrees_of_preference(tmp_path):
    rows = [
        {"id": i, "model_1": "a", "model_2": "b", "human": "ab"[i % 2], "judge_x": 1.1 if i % 2 == 0 else 1.9}
        for i in range(30)
    ]
    report = audit(write(tmp_path / "t.csv", rows), AuditOptions())
    assert report.kind == "pairs" and report.unreadable == 0 and report.judges == ("judge_x",)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            AuditOptions(people=("nobody",), judges=("gpt4",)),
            "there is no column 'nobody'; the columns are item_id, human, gpt4",
        ),
        (AuditOptions(columns={"item": "nothing"}), "there is no column 'nothing'"),
        (AuditOptions(columns={"colour": "human"}), "is not ROLE=COLUMN; the roles are item"),
        (AuditOptions(people=("human",), judges=("human",)), "'human' is given for people and for judges"),
    ],
)
def test_an_option_that_cannot_be_followed_is_refused(asked, sentence):
    with pytest.raises(UserError) as refused:
        layout({"item_id": IDS, "human": SCORES, "gpt4": SCORES}, asked)
    assert sentence in str(refused.value)


def test_a_table_without_any_rater_is_refused_with_its_columns():
    with pytest.raises(UserError, match=r"no column for judges was found.* The columns are item_id, colour"):
        layout({"item_id": IDS, "colour": IDS})


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o", "OpenAI"),
        ("judge_gpt35", "OpenAI"),
        ("gpt4_score", "OpenAI"),
        ("cerebras-gpt-6.7B", ""),
        ("Claude 3.5 Sonnet", "Anthropic"),
        ("meta-llama/Llama-3-8B", "Meta"),
        ("adopted", ""),
        ("Qwen2.5-7B", "Alibaba"),
        ("o1-mini", "OpenAI"),
    ],
)
def test_families_by_words_of_names(name, family):
    assert family_of(name) == family
