"""Error modes of long texts, on texts written for it."""

import pytest
from hypothesis import given, strategies as st

from core.errors import UserError
from generation.text_metrics.error_modes import (
    LENGTH,
    MEANINGLESS,
    REFUSAL,
    REPETITION,
    RULES,
    as_plain,
    errors_in,
    rules_from,
)

STORY = "The ferry left at nine. Mara counted the gulls on the rail. Nobody had told her where they were going. "
REFUSES = "Given the constraints of this platform, here is an outline instead of the whole essay."


def modes(text, rules=RULES, **about):
    return {found.mode: found for found in errors_in(text, rules, **about)}


def test_a_sentence_said_three_times_is_a_repetition_and_twice_is_none():
    assert modes(STORY * 2) == {}
    found = modes(STORY * 3)
    assert set(found) == {REPETITION}
    assert (found[REPETITION].passage, found[REPETITION].number) == ("The ferry left at nine.", 3)


def test_a_refusal_is_known_by_its_opening():
    assert set(modes(REFUSES)) == {REFUSAL}
    assert modes(STORY + REFUSES) == {}
    # Another list says what counts.
    other = rules_from({"refusals": ["The ferry"]}, place="rules.json")
    assert set(modes(STORY, other)) == {REFUSAL} and modes(REFUSES, other) == {}


@pytest.mark.parametrize(
    ("tail", "passage"),
    [
        ("2 * 2 , . - 1 ? * 2 , " * 20, "2 * 2 , ."),
        ("sun " * 25, "sun sun sun"),
        ("one two three four " * 40, "one two three four"),
        ("Lorem ipsum dolor sit amet.", "Lorem ipsum"),
    ],
)
def test_passages_without_meaning_are_found_and_shown(tail, passage):
    found = modes(STORY + tail)
    assert passage.lower() in found[MEANINGLESS].passage.lower()
    assert MEANINGLESS not in modes(STORY)


def test_a_line_of_signs_is_no_run_of_a_word():
    assert modes(STORY + "\n" + "-" * 30 + "\n" + STORY) == {}


def test_a_text_that_is_too_short_misses_its_length():
    assert modes(STORY, words=21, asked=2000)[LENGTH].number == 1979
    assert modes(STORY, words=2000, asked=2000) == modes(STORY, words=21) == {}


@given(st.text(max_size=400))
def test_no_text_breaks_it(text):
    for found in errors_in(text, words=1, asked=2):
        assert len(found.passage) <= 240


def test_rules_are_read_as_they_are_written():
    assert rules_from(as_plain(RULES), place="rules.json") == RULES


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"refusal": []}, "there is no rule 'refusal'"),
        ({"refusals": "sorry"}, "'refusals' must be a list of texts"),
        ({"refusals": [" "]}, "'refusals' must be a list of texts"),
        ({"repeated_times": "3"}, "'repeated_times' must be a number"),
        ({"repeated_times": 0}, "'repeated_times' must be a whole number of at least 1"),
        ({"least_words": 2}, "'least_words' must lie between 0 and 1"),
    ],
)
def test_rules_that_cannot_be_are_refused(given, reason):
    with pytest.raises(UserError, match=f"rules.json: {reason}"):
        rules_from(given, place="rules.json")
