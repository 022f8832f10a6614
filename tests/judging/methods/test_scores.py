"""overall, overall_with_checklist, graded_score: prompts, schemas, and replies as judges write them."""

import json
from dataclasses import replace

import pytest

from core.errors import UserError
from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.methods.prompts import BadTemplate, Item, Question
from judging.methods.scales import WrongScale, range_levels
from judging.methods.single import graded_score, overall, overall_with_checklist

ONE_TO_TEN = (Item("overall", "How good is it?", range_levels(1, 10, 1)),)
METHODS = [overall.METHOD, overall_with_checklist.METHOD, graded_score.METHOD]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.KEY)
def test_the_stock_prompt_shows_text_conversation_and_scale(method, single, stock_prompt):
    system, user = method.messages(stock_prompt(method.TEMPLATE), single, with_schema=False)
    assert [system["role"], user["role"]] == ["system", "user"]
    assert "Cleaning, pickling, weeding." in user["content"]
    assert "Name three uses of vinegar. It costs $2." in user["content"]
    assert "8 to 9: Very good" in user["content"]
    assert "JSON schema" not in user["content"]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.KEY)
def test_the_schema_is_written_out_where_the_endpoint_takes_none(method, single, stock_prompt):
    user = method.messages(stock_prompt(method.TEMPLATE), single, with_schema=True)[-1]["content"]
    written = json.loads(user[user.index("Its JSON schema: ") + len("Its JSON schema: ") :])
    assert written == method.schema(single.items)


@pytest.mark.parametrize("method", [overall_with_checklist.METHOD, graded_score.METHOD], ids=lambda m: m.KEY)
def test_a_method_guided_by_a_checklist_shows_it_and_insists_on_it(method, single, stock_prompt):
    template = stock_prompt(method.TEMPLATE)
    assert "2. Does each of them work?" in method.messages(template, single, with_schema=False)[-1]["content"]
    with pytest.raises(UserError, match="no checklist"):
        method.messages(template, replace(single, guides=()), with_schema=False)
    with pytest.raises(BadTemplate, match="checklist"):
        method.messages(template.replace("$checklist", ""), single, with_schema=False)


def test_a_plain_question_without_guidance_can_be_asked(single, stock_prompt):
    plain = Question(single.conversation, single.responses, single.items)
    assert overall.METHOD.messages(stock_prompt("overall.txt"), plain, with_schema=False)


def test_the_schema_argues_before_it_decides(ten):
    member = overall_with_checklist.METHOD.schema(ten)["properties"]["overall"]
    assert list(member["properties"]) == ["analysis", "reason", "score"]
    assert member["properties"]["score"]["enum"] == [float(n) for n in range(11)]
    assert member["additionalProperties"] is False


GOOD = [
    ('{"overall": {"reason": "Two of three uses are right.", "score": 6}}', 6.0, "Two of three uses are right."),
    ('{"reason": "Short but right.", "score": "7"}', 7.0, "Short but right."),
    ('```json\n{"overall": {"reason": "Fine.", "evaluation_score": 8,}}\n```\nHope that helps!', 8.0, "Fine."),
    ("{'reason': 'Nothing to fault.', 'score': 10}", 10.0, "Nothing to fault."),
    ('{"overall": 4}', 4.0, ""),
    ('[{"item": "overall", "reason": "Thin.", "score": 3}]', 3.0, "Thin."),
    (
        '{"score": 9, "reason": "draft"}\nOn reflection:\n{"score": 5, "reason": "One claim is false."}',
        5.0,
        "One claim is false.",
    ),
    ('{"result": {"overall": {"reason": "Nested.", "score": 2}}}', 2.0, "Nested."),
]


@pytest.mark.parametrize(("text", "value", "reason"), GOOD)
def test_a_reply_with_one_score_is_read_whatever_its_form(text, value, reason, ten):
    assert overall.METHOD.parse(text, ten, "stop") == Verdict((Answer("overall", value, reason),))


BAD = [
    ("I would give it seven out of ten.", "stop", Why.PROSE),
    ("", "stop", Why.PROSE),
    ("{\n" + " " * 500, "length", Why.CUT_OFF),
    ('{"overall": {"reason": "The text beg', "length", Why.CUT_OFF),
    ('{"overall": {"reason": "Good.", "score": 11}}', "stop", Why.OFF_SCALE),
    ('{"overall": {"reason": "Good.", "score": 7.5}}', "stop", Why.OFF_SCALE),
    ('{"overall": {"reason": "Good.", "score": "7/10"}}', "stop", Why.OFF_SCALE),
    ('{"overall": {"reason": "Good.", "score": null}}', "stop", Why.OFF_SCALE),
    ('{"overall": {"reason": "Good.", "score": true}}', "stop", Why.OFF_SCALE),
    ('{"overall": {"reason": "Good.", "score": NaN}}', "stop", Why.OFF_SCALE),
    ('{"overall": {"reason": "Good."}}', "stop", Why.MISSING),
    ('{"overall": {"score": 3, "score": 9}}', "stop", Why.DOUBLED),
    ('{"overall": {"score": 3}, "overall": {"score": 9}}', "stop", Why.DOUBLED),
    ('[{"item": "overall", "score": 3}, {"item": "overall", "score": 9}]', "stop", Why.DOUBLED),
    ('{"verdict": "fine"}', "stop", Why.UNREADABLE),
    ("I can't grade this.", "refusal", Why.REFUSED),
]


@pytest.mark.parametrize(("text", "finish", "why"), BAD)
def test_a_reply_without_one_usable_score_says_why(text, finish, why, ten):
    outcome = overall.METHOD.parse(text, ten, finish)
    assert isinstance(outcome, Unscored)
    assert outcome.why == why
    correction = overall.METHOD.correction(outcome)
    assert correction["role"] == "user" and outcome.detail in correction["content"]


def test_strengths_and_weaknesses_become_the_reason():
    text = '{"overall": {"strengths": "Three uses.", "weaknesses": "No amounts.", "score": 8}}'
    answer = graded_score.METHOD.parse(text, ONE_TO_TEN, "stop")
    assert answer == Verdict((Answer("overall", 8.0, "Strengths: Three uses. Weaknesses: No amounts."),))
    assert isinstance(graded_score.METHOD.parse(text.replace("8", "0"), ONE_TO_TEN, "stop"), Unscored)


def test_one_question_is_asked_at_a_time(single, ten, stock_prompt):
    with pytest.raises(WrongScale, match="one question"):
        overall.METHOD.messages(stock_prompt("overall.txt"), replace(single, items=ten * 2), with_schema=False)


def test_a_range_becomes_levels():
    assert [level.value for level in range_levels(0, 1, 0.25)] == [0, 0.25, 0.5, 0.75, 1]
    for minimum, maximum, step in ((0, 10, 0), (0, 10, 3), (5, 5, 1), (0, 1e6, 1)):
        with pytest.raises(WrongScale):
            range_levels(minimum, maximum, step)
