"""Juries, both orders and repeats."""

import pytest
from hypothesis import given, strategies as st

from core.errors import UserError
from judging.methods.combining import How, Part, Scale, both_orders, combined, derived
from judging.methods.pairs.base import MIRROR, SCORES, canonical, chosen
from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.methods.prompts import Item, Level

SCORE = Scale(Item("overall", "How good?", tuple(Level(v, "") for v in range(11))))
ITEMS = tuple(Scale(Item(key, "?", tuple(Level(v / 4, "") for v in range(5)))) for key in ("x", "y"))
FOUR = Scale(Item("p", "?", tuple(Level(v, "") for v in (-1, 0, 0, 1))), is_preference=True)
FIVE = Scale(Item("p", "?", tuple(Level(v, "") for v in (-2, -1, 0, 1, 2))), is_preference=True)
SILENT = Unscored(Why.PROSE, "no JSON")
LEVELS = st.sampled_from(sorted(SCORES))


def score(value):
    return Verdict((Answer("overall", float(value), f"because {value}"),))


def side(level):
    return Verdict((chosen("p", level, ""),))


def level(outcome):
    assert isinstance(outcome, Verdict), outcome
    return outcome.answers[0].level


@pytest.mark.parametrize(("how", "value"), [(How.MEAN, 6.75), (How.MEDIAN, 8.0), (How.MAJORITY, 8.0)])
def test_a_jury_of_scores(how, value):
    # 2 + 8 + 8 + 9 = 27 over 4; the middle two are 8 and 8; 8 comes twice.
    assert combined([score(n) for n in (8, 2, 9, 8)], [SCORE], how).answers[0].value == value


def test_scores_without_a_majority_take_the_median_of_the_most_frequent():
    assert combined([score(2), score(4), score(9)], [SCORE], How.MAJORITY).answers[0].value == 4


def test_every_item_is_combined_by_itself():
    one, other = (Verdict((Answer("x", a, ""), Answer("y", b, ""))) for a, b in ((0, 1), (0.5, 0)))
    found = combined([one, other], ITEMS, How.MEAN)
    assert [(a.key, a.value) for a in found.answers] == [("x", 0.25), ("y", 0.5)]


def test_the_reason_tells_what_was_combined():
    reason = combined([score(8), SILENT, score(6)], [SCORE], How.MEAN).answers[0].reason
    assert reason == "The mean of 8, 6 (1 of 3 gave no verdict). [1] because 8 [2] because 6"


def test_a_jury_of_which_half_is_silent_gives_no_verdict():
    outcome = combined([score(8), SILENT], [SCORE], How.MEAN)
    assert isinstance(outcome, Unscored)
    assert outcome.detail.startswith("1 of 2 gave a verdict, 2 are needed")
    assert isinstance(combined([score(8), SILENT], [SCORE], How.MEAN, least=1), Verdict)
    assert isinstance(combined([SILENT], [SCORE], How.MEAN, least=0), Unscored)
    with pytest.raises(UserError):
        combined([], [SCORE], How.MEAN)


@pytest.mark.parametrize(
    ("levels", "mean", "middle", "majority"),
    [
        (["a", "a", "b"], "tie", "a", "a"),
        (["a", "a", "a", "b"], "tie", "a", "a"),
        (["a", "a", "a", "tie"], "a", "a", "a"),
        (["a", "b"], "tie", "tie", "tie"),
        (["a_much", "a", "b"], "a", "a", "a"),
        (["a_much", "a_much", "b"], "a", "a_much", "a_much"),
        (["tie", "both_bad", "both_bad"], "both_bad", "both_bad", "both_bad"),
        (["tie", "both_bad"], "tie", "tie", "tie"),
        (["both_bad", "both_bad", "a"], "both_bad", "both_bad", "both_bad"),
        (["b", "tie"], "tie", "tie", "tie"),
    ],
)
def test_a_jury_of_preferences(levels, mean, middle, majority):
    scale = FOUR if "both_bad" in levels else FIVE
    found = [level(combined([side(one) for one in levels], [scale], how)) for how in How]
    assert found == [mean, middle, majority]


@given(st.lists(LEVELS, min_size=1, max_size=7), st.sampled_from(list(How)))
def test_a_jury_does_not_care_what_the_sides_are_called(levels, how):
    straight = level(combined([side(one) for one in levels], [FIVE], how))
    turned = level(combined([side(MIRROR[one]) for one in levels], [FIVE], how))
    assert turned == MIRROR[straight]


@pytest.mark.parametrize(
    ("straight", "swapped", "result"),
    [
        ("a", "a", "a"),
        ("a", "b", "tie"),
        ("a", "tie", "tie"),
        ("tie", "tie", "tie"),
        ("both_bad", "both_bad", "both_bad"),
        ("both_bad", "tie", "tie"),
        ("both_bad", "b", "tie"),
        ("a_much", "a", "a"),
        ("b", "b_much", "b"),
        ("a_much", "b_much", "tie"),
    ],
)
def test_a_pair_whose_verdict_flips_is_a_tie(straight, swapped, result):
    assert level(both_orders(side(straight), side(swapped))) == result


def test_a_judge_that_always_takes_the_first_text_ties_everything():
    always_first = side("a")
    assert level(both_orders(canonical(always_first, "a"), canonical(always_first, "b"))) == "tie"


def test_a_pair_with_an_unusable_order_is_unscored():
    assert both_orders(side("a"), SILENT) is SILENT
    assert both_orders(SILENT, side("a")) is SILENT


def test_orders_come_before_repeats_and_repeats_before_the_jury():
    # Juror 0: repeats tie (flip), a, a -> a. Juror 1: a. Juror 2: b. Two of three: a.
    parts = [
        Part(0, 0, "a", side("a")),
        Part(0, 0, "b", side("b")),
        Part(0, 1, "a", side("a")),
        Part(0, 1, "b", side("a")),
        Part(0, 2, "a", side("a")),
        Part(0, 2, "b", side("a")),
        Part(1, 0, "a", side("a")),
        Part(1, 0, "b", side("a")),
        Part(2, 0, "a", side("b")),
        Part(2, 0, "b", side("b")),
    ]
    assert level(derived(parts, [FOUR], How.MAJORITY)) == "a"
    assert level(derived(list(reversed(parts)), [FOUR], How.MAJORITY)) == "a"
    assert level(derived(parts, [FOUR], How.MEAN)) == "tie"


def test_repeats_of_scores_are_averaged_within_a_juror():
    parts = [Part(0, n, None, score(value)) for n, value in enumerate((2, 4, 6))] + [Part(1, 0, None, score(10))]
    assert derived(parts, [SCORE], How.MEAN).answers[0].value == 7
    assert derived(parts[:1], [SCORE], How.MEDIAN) == score(2)
    with pytest.raises(UserError):
        derived([], [SCORE], How.MEAN)
