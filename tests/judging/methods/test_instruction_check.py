"""instruction_check: one piece of a long text against one instruction."""

import pytest

from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.methods.prompts import Item, Level, Question
from judging.methods.scales import WrongScale
from judging.methods.single import instruction_check

ITEMS = (Item("si_1", "On day 12 the orchestra rehearses.", (Level(0, "No"), Level(1, "Yes"))),)
QUESTION = Question((("user", "Write a diary of 365 days."),), ("Day 12. The strings came at ten.",), ITEMS)


def test_the_prompt_shows_the_instruction_and_the_piece(stock_prompt):
    system, user = instruction_check.messages(stock_prompt("instruction_check.txt"), QUESTION, with_schema=True)
    assert "On day 12 the orchestra rehearses." in user["content"]
    assert "Day 12. The strings came at ten." in user["content"]
    assert '"enum":["no","yes"]' in user["content"]
    examples = [line for line in system["content"].splitlines() if line.startswith("{")]
    read = [instruction_check.parse(line, ITEMS, "stop") for line in examples]
    assert [verdict.answers[0].value for verdict in read] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ('{"si_1": {"reason": "They rehearse.", "fulfilled": "yes"}}', 1.0, "They rehearse."),
        ('{"reason": "Only a plan.", "fulfilled": "No."}', 0.0, "Only a plan."),
        ('{"fulfilled": true}', 1.0, ""),
        ("{'si_1': False}", 0.0, ""),
        ('{"answer": 1, "reason": "It does."}', 1.0, "It does."),
    ],
)
def test_yes_and_no_are_read(text, value, reason):
    assert instruction_check.parse(text, ITEMS, "stop") == Verdict((Answer("si_1", value, reason),))


@pytest.mark.parametrize(
    ("text", "finish", "why"),
    [
        ("Yes.", "stop", Why.PROSE),
        ('{"si_1": {"reason": "Partly.", "fulfilled": "partly"}}', "stop", Why.OFF_SCALE),
        ('{"si_1": {"reason": "Partly.", "fulfilled": 0.5}}', "stop", Why.OFF_SCALE),
        ('{"si_1": {"reason": "It does."}}', "stop", Why.MISSING),
        ('{"fulfilled": "yes", "fulfilled": "no"}', "stop", Why.DOUBLED),
        ('{"si_1": {"reas', "length", Why.CUT_OFF),
    ],
)
def test_anything_between_is_unscored(text, finish, why):
    outcome = instruction_check.parse(text, ITEMS, finish)
    assert isinstance(outcome, Unscored)
    assert outcome.why == why
    assert outcome.detail in instruction_check.correction(outcome)["content"]


def test_an_instruction_is_fulfilled_or_not(ten):
    with pytest.raises(WrongScale, match="fulfilled"):
        instruction_check.schema(ten)
    assert instruction_check.answer_tokens(ITEMS) >= 100
