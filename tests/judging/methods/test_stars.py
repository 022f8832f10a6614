"""stars and stars_objective, on the levels that LLMEval's data have."""

from dataclasses import replace

import pytest

from core.errors import UserError
from judging.methods.parsing import Unscored, Verdict, Why
from judging.methods.single import stars
from tests.judging.methods.conftest import rubric_items

ITEMS = rubric_items("llmeval2", "subjective", "item")
OBJECTIVE = rubric_items("llmeval2", "objective", "item")


def test_every_criterion_is_shown_with_its_own_stars(single, stock_prompt):
    question = replace(single, items=ITEMS)
    user = stars.SUBJECTIVE.messages(stock_prompt("stars.txt"), question, with_schema=False)[-1]["content"]
    for item in ITEMS:
        assert f"{item.key}: {item.question}" in user
        for level in item.levels:
            assert level.description in user
    assert "Cleaning, cooking, killing weeds." in user


def test_a_subjective_question_may_lack_a_hint_and_an_objective_may_not(single, stock_prompt):
    without = replace(single, items=ITEMS, hint="")
    user = stars.SUBJECTIVE.messages(stock_prompt("stars.txt"), without, with_schema=False)[-1]["content"]
    assert "\n(none)\n" in user
    with pytest.raises(UserError, match="no hint"):
        stars.OBJECTIVE.messages(
            stock_prompt("stars_objective.txt"), replace(without, items=OBJECTIVE), with_schema=False
        )


def test_the_objective_prompt_holds_the_right_result(single, stock_prompt):
    question = replace(single, items=OBJECTIVE, hint="42 litres")
    user = stars.OBJECTIVE.messages(stock_prompt("stars_objective.txt"), question, with_schema=True)[-1]["content"]
    assert "42 litres" in user and "JSON schema" in user


def test_the_schema_holds_each_criterion_to_its_own_stars():
    members = stars.SUBJECTIVE.schema(ITEMS)["properties"]
    assert members["accuracy"]["properties"]["score"]["enum"] == [1, 3, 5]
    assert members["fluency"]["properties"]["score"]["enum"] == [1, 2, 3]


def test_stars_are_read_with_or_without_reasons():
    text = '{"correctness": {"reason": "Ends on 41.", "score": 1}, "explanation_correctness": 2}'
    verdict = stars.OBJECTIVE.parse(text, OBJECTIVE, "stop")
    assert isinstance(verdict, Verdict)
    assert [(a.key, a.value) for a in verdict.answers] == [("correctness", 1), ("explanation_correctness", 2)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"correctness": 2, "explanation_correctness": 2}', Why.OFF_SCALE),
        ('{"correctness": 3}', Why.MISSING),
        ('{"correctness": 3, "explanation_correctness": 2, "style": 3}', Why.UNKNOWN),
        ('{"correctness": 3, "correctness": 1, "explanation_correctness": 2}', Why.DOUBLED),
        ("Correctness: *** Explanation: **", Why.PROSE),
    ],
)
def test_stars_of_another_scale_or_criterion_are_not_scores(text, why):
    outcome = stars.OBJECTIVE.parse(text, OBJECTIVE, "stop")
    assert isinstance(outcome, Unscored)
    assert outcome.why == why
