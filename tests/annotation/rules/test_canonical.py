"""What is stored of a comparison does not depend on which response stood first."""

import pytest
from hypothesis import given, strategies as st

from annotation.rules.canonical import compares, letter_of, mirrored_level
from core.errors import UserError

VALUES = {"a_much": 2, "a": 1, "tie": 0, "b": -1, "b_much": -2, "both_bad": 0}
FIVE = [{"key": key, "value": value} for key, value in VALUES.items()]


@pytest.mark.parametrize(
    ("key", "opposite"),
    [("a_much", "b_much"), ("a", "b"), ("tie", "tie"), ("both_bad", "both_bad"), ("b", "a"), ("b_much", "a_much")],
)
def test_levels_and_their_opposites(key, opposite):
    assert mirrored_level(FIVE, key)["key"] == opposite


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8, unique=True))
def test_mirroring_twice_changes_nothing(values):
    levels = [{"key": str(v), "value": v} for one in values for v in (one, -one)] + [{"key": "0", "value": 0}]
    for level in levels:
        there = mirrored_level(levels, level["key"])
        assert there["value"] == -level["value"]
        assert mirrored_level(levels, there["key"]) == level


def test_a_scale_without_an_opposite_is_refused():
    with pytest.raises(UserError, match="no opposite of value -2"):
        mirrored_level([{"key": "a", "value": 2}, {"key": "b", "value": -1}], "a")
    with pytest.raises(UserError, match="no level 'c'"):
        mirrored_level(FIVE, "c")


def test_only_scales_with_opposite_ends_compare():
    assert compares(-2, 2)
    assert not compares(0, 4)
    assert not compares(1, 3)
    assert not compares(0, 0)


def test_panes_and_responses_change_places_together():
    assert [letter_of(one, mirrored=False) for one in "ab"] == ["a", "b"]
    assert [letter_of(one, mirrored=True) for one in "ab"] == ["b", "a"]
