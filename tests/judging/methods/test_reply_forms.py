"""Replies in forms that judges use beside the one asked for: read as meant, or told as what they are."""

import pytest

from judging.methods import messages as reply_messages
from judging.methods.parsing import Why, read_answers
from tests.judging.methods.test_parsing import ITEMS, values, why


@pytest.mark.parametrize(
    "reply",
    [
        '[{"name": "clear", "value": 1}, {"question": "right", "evaluation_score": 0.25}]',
        '[{"key": " clear", "score": 1}, {"key": "right ", "score": 0.25}]',
        '{" clear": 1, "right\\n": 0.25}',
        '{"clear": 1, " right ": 0.25}',
    ],
)
def test_other_names_and_spaces_around_them_are_read(reply):
    assert values(reply) == [1.0, 0.25]


def test_a_reason_is_kept_without_the_space_around_it_and_none_is_empty():
    found = read_answers('{"clear": {"reason": " plain\\n", "score": 1}, "right": {"reason": null, "score": 1}}', ITEMS)
    assert [answer.reason for answer in found.answers] == ["plain", ""]


@pytest.mark.parametrize(
    ("reply", "finish", "reason", "words"),
    [
        ("Well, I would say that", "length", Why.CUT_OFF, reply_messages.TOKENS_USED_UP()),
        ('[{"item": "clear", "score": 1}', "stop", Why.CUT_OFF, "breaks off"),
        ("{'clear': 1, 'clear': 0, 'right': 1}", "stop", Why.UNREADABLE, ""),
        ("  I will not judge this.\n", "refusal", Why.REFUSED, "I will not judge this."),
        (" \n", "refusal", Why.REFUSED, reply_messages.DECLINED()),
    ],
)
def test_what_is_no_answer_is_told_as_what_it_is(reply, finish, reason, words):
    found = why(reply, finish_reason=finish)
    assert found.why == reason
    assert str(words) in found.detail
    assert found.detail == found.detail.strip()
