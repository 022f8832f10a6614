"""What a table holds is recognised from its columns and its first rows."""

import pytest

from annotation.uploads.kinds import CRITERION, KINDS
from annotation.uploads.recognition import FirstRows, first_rows, recognised_columns, recognised_kind


@pytest.mark.parametrize(
    ("columns", "kind", "held"),
    [
        (
            ["id", "prompt", "category"],
            "instructions",
            {"id": "instruction", "prompt": "prompt", "category": "category"},
        ),
        (
            ["Question ID", "Question", "topic"],
            "instructions",
            {"Question ID": "instruction", "Question": "prompt", "topic": "category"},
        ),
        (
            ["instruction", "system", "output"],
            "responses",
            {"instruction": "instruction", "system": "model", "output": "response"},
        ),
        (
            ["item_id", "annotator", "criterion", "score"],
            "ratings",
            {"item_id": "item", "annotator": "rater", "criterion": "criterion", "score": "value"},
        ),
        (
            ["item", "rater", "model_1", "model_2", "winner"],
            "preferences",
            {"item": "item", "rater": "rater", "model_1": "model_a", "model_2": "model_b", "winner": "choice"},
        ),
        (["instruction", "question", "numbers"], "checks", None),
        (["item", "gold_label"], "truth", {"item": "item", "gold_label": "value"}),
        (["when", "where"], "", None),
    ],
)
def test_the_kind_and_the_columns_by_their_names(columns, kind, held):
    first = FirstRows(columns, [["x"] * len(columns)])
    assert recognised_kind(first) == kind
    if held is not None:
        assert recognised_columns(KINDS[kind], first) == held


def test_columns_of_numbers_are_the_criteria_of_ratings():
    first = FirstRows(["item", "rater", "fluency", "truthful", "note"], [["a", "r1", "3", "4.5", "good"]])
    assert recognised_kind(first) == "ratings"
    held = recognised_columns(KINDS["ratings"], first)
    assert held == {"item": "item", "rater": "rater", "fluency": CRITERION, "truthful": CRITERION}


def test_the_first_rows_are_few_and_short(tmp_path):
    (tmp_path / "a.csv").write_text("id,prompt\n" + f"a,{'x' * 900}\n" * 20)
    first = first_rows(tmp_path / "a.csv")
    assert first.columns == ["id", "prompt"] and len(first.rows) == 5
    assert {len(row[1]) for row in first.rows} == {200}
