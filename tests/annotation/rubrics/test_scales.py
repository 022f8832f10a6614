"""Scales as a user writes them, and values read on them."""

import pytest
from hypothesis import given, strategies as st

from annotation.models import Criterion
from annotation.rubrics.scales import Reading, describe, parse_scale, parse_scales, read_value
from core.errors import UserError


def on(scale, **fields):
    return Criterion(key="k", **parse_scale(scale).as_fields(), **fields)


@pytest.mark.parametrize(
    ("scale", "text", "reading"),
    [
        ("1:6", "3.3333", Reading(3.3333)),
        ("1:6", "6", Reading(6)),
        ("1:6", "0.99", None),
        ("1:6", "six", None),
        ("1:6", "inf", None),
        ("1:6", "1_1", None),
        ("0:10:0.5", "2.5", Reading(2.5)),
        ("0:10:0.5", "2.4", None),
        ("-1:1", "-0.5", Reading(-0.5)),
        ("1,3,5", "3.0", Reading(3, "3")),
        ("1,3,5", "2", None),
        ("0,1", "0", Reading(0, "0")),
        ("No,Unsure,Yes", "yes", Reading(2, "Yes")),
        ("No,Unsure,Yes", "1", Reading(1, "Unsure")),
        ("No,Unsure,Yes", "maybe", None),
        ("1:6", "n/a", None),
    ],
)
def test_values(scale, text, reading):
    assert read_value(on(scale), text) == reading


def test_what_does_not_apply():
    assert read_value(on("1:6", may_not_apply=True), "N/A") == Reading(None)


@pytest.mark.parametrize(
    ("scale", "words"), [("1:6", "1 to 6"), ("0:10:1", "0 to 10 in steps of 1"), ("1,3,5", "1, 3, 5")]
)
def test_descriptions(scale, words):
    assert describe(on(scale)) == words


@pytest.mark.parametrize("scale", ["", "1", "6:1", "1:1", "1:6:0", "1:6:1:1", "a:b", "1,1", "a,,b", "1:", "nan:1"])
def test_scales_that_make_no_sense(scale):
    with pytest.raises(UserError):
        parse_scale(scale)


def test_a_scale_needs_its_criterion():
    with pytest.raises(UserError, match="names no criterion"):
        parse_scales(["1:6"])
    assert set(parse_scales(["*=1:6", "a b=0,1"])) == {"*", "a b"}


@given(st.integers(-100, 100), st.integers(1, 100), st.floats(0, 1))
def test_every_value_between_the_ends_is_on_a_range(low, width, share):
    value = low + share * width
    assert read_value(on(f"{low}:{low + width}"), repr(value)) == Reading(value)
