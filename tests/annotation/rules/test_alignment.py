"""Sections of two responses that answer each other, and the words in which near-copies differ."""

import random
import time
from difflib import SequenceMatcher

import pytest
from hypothesis import given, strategies as st

from annotation.rules import alignment
from annotation.rules.alignment import (
    Comparison,
    Work,
    align_sections,
    is_near_duplicate,
    plain_heading,
    shared_words,
    word_diff,
)

HEADINGS = st.lists(st.text(alphabet="abc 1.", max_size=6), max_size=7)


@pytest.mark.parametrize(
    ("heading", "plain"),
    [
        ("1. Introduction", "introduction"),
        ("Chapter 2: The Harbour", "the harbour"),
        ("II. Costs", "costs"),
        ("第三章、结论", "结 论"),
        ("2.1 Who pays?", "who pays"),
        ("3", "3"),
        ("Civil law", "civil law"),
    ],
)
def test_headings_are_compared_without_numbering(heading, plain):
    assert plain_heading(heading) == plain


def test_sections_are_paired_in_order_with_gaps():
    a = ["Introduction", "Costs", "Benefits", "Conclusion"]
    b = ["1. Introduction", "History", "2. Benefits", "3. Conclusions", "Sources"]
    assert align_sections(a, b) == [(0, 0), (1, None), (None, 1), (2, 2), (3, 3), (None, 4)]


def test_a_pairing_never_crosses():
    """Costs and benefits changed places: one of them is paired, not both."""
    pairs = align_sections(["Costs", "Benefits"], ["Benefits", "Costs"])
    assert sum(a is not None and b is not None for a, b in pairs) == 1


def test_headings_without_words_are_not_alike():
    assert align_sections(["--"], ["--"]) == [(0, None), (None, 0)]


@given(HEADINGS, HEADINGS)
def test_every_section_is_named_once_and_in_order(a, b):
    pairs = align_sections(a, b)
    assert [i for i, _ in pairs if i is not None] == list(range(len(a)))
    assert [j for _, j in pairs if j is not None] == list(range(len(b)))


@given(st.lists(st.sampled_from(["Costs", "Benefits", "Conclusion", "History of it"]), max_size=6))
def test_a_text_aligned_with_itself(headings):
    assert align_sections(headings, headings) == [(i, i) for i in range(len(headings))]


def test_shared_words_by_hand():
    """Multisets {a, b, b, c} and {b, c, d}: two in common of four and three, 2 * 2 / 7."""
    assert shared_words("a b b c", "b C d") == pytest.approx(4 / 7)
    assert shared_words("", "") == 0


def test_only_near_copies_are_worth_a_diff():
    text = " ".join(f"word{i}" for i in range(300))
    assert is_near_duplicate(text, text.replace("word7 ", "term7 "))
    assert not is_near_duplicate(text, text + " " + text)
    assert not is_near_duplicate(text, " ".join(reversed(text.split())) + " and more besides of other things")
    assert not is_near_duplicate("", "")


def test_a_diff_by_hand():
    changes = word_diff("The red fox ran.\nIt slept.", "The brown fox ran.\nIt slept.")
    assert [(change.kind, change.text) for change in changes] == [
        ("same", "The "),
        ("only_a", "red"),
        ("only_b", "brown"),
        ("same", " fox ran.\nIt slept."),
    ]


def test_chinese_is_compared_sign_by_sign():
    changes = word_diff("城市很热。", "城市不热。")
    different = [(change.kind, change.text) for change in changes if change.kind != "same"]
    assert different == [("only_a", "很"), ("only_b", "不")]


TEXTS = st.text(alphabet="ab \n树é", max_size=60)


@given(TEXTS, TEXTS)
def test_a_diff_holds_both_texts(a, b):
    changes = word_diff(a, b)
    assert "".join(change.text for change in changes if change.kind != "only_b") == a
    assert "".join(change.text for change in changes if change.kind != "only_a") == b


def test_ten_thousand_words_are_compared_quickly():
    lines = [" ".join(f"w{(i * 7 + j) % 900}" for j in range(50)) for i in range(200)]
    changed = [line.replace("w7 ", "x7 ") for line in lines]
    started = time.perf_counter()
    assert is_near_duplicate("\n".join(lines), "\n".join(changed))
    word_diff("\n".join(lines), "\n".join(changed))
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize(("few_pairs", "most_listed"), [(250, 1_000), (-1, 1_000), (-1, 0), (20, 20), (10_000, 0)])
def test_steps_are_those_of_difflib(few_pairs, most_listed, monkeypatch):
    """However many pairs go through arrays, and whether or not places are listed beforehand."""
    monkeypatch.setattr(alignment, "FEW_PAIRS", few_pairs)
    monkeypatch.setattr(alignment, "MOST_LISTED", most_listed)
    drawn = random.Random(7)
    for number in range(300):
        alphabet, most = drawn.choice((1, 2, 8, 40)), drawn.choice((3, 30, 300))
        a, b = ([str(drawn.randrange(alphabet)) for _ in range(drawn.randrange(most))] for _ in "ab")
        if number % 2:
            b = ["x" if drawn.random() < 0.1 else piece for piece in a]
        autojunk = number % 3 == 0
        expected = SequenceMatcher(None, a, b, autojunk=autojunk)
        found = Comparison(a, b, WorkWithoutEnd(), autojunk=autojunk)
        assert found.get_opcodes() == expected.get_opcodes()
        ranges = [sorted(drawn.randrange(len(one) + 1) for _ in range(2)) for one in (a, b)]
        (alo, ahi), (blo, bhi) = ranges
        assert found.find_longest_match(alo, ahi, blo, bhi) == expected.find_longest_match(alo, ahi, blo, bhi)


class WorkWithoutEnd(Work):
    def take(self, comparisons):
        pass
