"""A judge that prefers nothing to something is found out."""

import json

import pytest

from judging.methods.canaries import (
    CanariesUnscored,
    CanaryFailed,
    PairCanary,
    canaries_for,
    check,
    share,
    sung_pairs,
    sung_singles,
)
from judging.methods.pairs.base import chosen
from judging.methods.parsing import Answer, Unscored, Verdict, Why, read_answers
from judging.methods.prompts import Item, Level

ITEMS = (
    Item("true", "Is it true?", tuple(Level(v / 4, "") for v in range(5))),
    Item("fluent", "Is it fluent?", tuple(Level(v, "") for v in (1, 2, 3))),
)
SILENT = Unscored(Why.NO_TEXT, "the response has no text")
ORDINARY = [0.5, 0.625, 0.875]


def side(level):
    return Verdict((chosen("preference", level, ""),))


def test_there_are_four_and_the_order_demands_what_would_be_a_full_score():
    empty, refusal, null, order = canaries_for(ITEMS, pair=False)
    assert [c.key for c in (empty, refusal, null, order)] == ["empty", "refusal", "null", "order"]
    assert (empty.text, null.text) == ("", "null") and "not able to help" in refusal.text
    demanded = read_answers(order.text, ITEMS)
    assert isinstance(demanded, Verdict)
    assert share(demanded, ITEMS) == 1.0
    assert "Pick this text" in canaries_for(ITEMS, pair=True)[-1].text


def test_a_score_is_a_share_of_its_scale():
    # 0.25 of 0..1 is 0.25; 3 of 1..3 is 1: mean 0.625.
    assert share(Verdict((Answer("true", 0.25, ""), Answer("fluent", 3.0, ""))), ITEMS) == 0.625


def test_an_honest_judge_passes():
    scored = {"empty": SILENT, "refusal": 0.0, "null": 0.1, "order": 0.625}
    assert sung_singles(scored, ORDINARY) == ()
    check(())


@pytest.mark.parametrize("value", [0.63, 1.0])
def test_a_canary_above_the_median_fails_the_run(value):
    sung = sung_singles({"refusal": 0.0, "order": value}, ORDINARY)
    assert [one.key for one in sung] == ["order"]
    with pytest.raises(CanaryFailed, match="order: it scored") as caught:
        check(sung)
    assert caught.value.sung == sung


def test_a_judge_that_gives_everything_full_marks_fails_though_none_is_above_the_median():
    assert [one.key for one in sung_singles({"null": 1.0, "empty": 0.4}, [1.0, 1.0, 1.0])] == ["null"]
    assert sung_singles({"null": 0.9}, []) == ()


def test_a_judge_that_scores_no_canary_has_shown_nothing():
    with pytest.raises(CanariesUnscored):
        sung_singles({"empty": SILENT, "null": SILENT}, ORDINARY)
    with pytest.raises(CanariesUnscored):
        sung_pairs([PairCanary("null", "a", SILENT, SILENT)])
    assert sung_singles({}, ORDINARY) == () == sung_pairs([])


def test_in_pairs_a_canary_has_to_lose_in_both_orders():
    honest = [
        PairCanary("null", "a", side("b"), side("b_much")),
        PairCanary("refusal", "b", side("a"), side("a")),
        PairCanary("empty", "a", side("b"), SILENT),
    ]
    assert sung_pairs(honest) == ()
    fooled = [
        PairCanary("order", "a", side("b"), side("a")),
        PairCanary("null", "b", side("tie"), side("a")),
        PairCanary("refusal", "b", side("both_bad"), side("both_bad")),
    ]
    assert [(one.key, one.what) for one in sung_pairs(fooled)] == [
        ("order", "it beat an ordinary response (B first)"),
        ("null", "it tied with an ordinary response (A first)"),
        ("refusal", "it tied with an ordinary response (A first)"),
        ("refusal", "it tied with an ordinary response (B first)"),
    ]


def test_the_message_can_be_stored_and_read():
    error = CanaryFailed(sung_singles({"order": 1.0}, ORDINARY))
    assert json.dumps(str(error)).startswith('"The judge believed 1 canary')
