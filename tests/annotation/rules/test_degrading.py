"""Damaged copies: what is damaged, and that nothing else is."""

from collections import Counter
from random import Random

import pytest
from hypothesis import assume, given, strategies as st

from annotation.rules.degrading import Damage, TooShort, cut_end, degrade, double_paragraph, paragraphs, swap_sections

words = st.text(alphabet="abcdefgh", min_size=2, max_size=9)
sentences = st.lists(words, min_size=4, max_size=12).map(lambda some: " ".join(some).capitalize() + ".")
texts = st.lists(sentences, min_size=3, max_size=12, unique=True).map("\n\n".join)
randoms = st.integers(0, 2**32).map(Random)


@given(texts, randoms)
def test_cutting_keeps_a_beginning_and_ends_in_mid_sentence(text, random):
    cut = cut_end(text, random)
    assert text.startswith(cut)
    assert 0.35 * len(text) <= len(cut) <= 0.66 * len(text)
    assert not cut.endswith((".", "!", "?", "。"))


@given(texts, randoms)
def test_doubling_adds_one_paragraph_that_was_there(text, random):
    before, after = Counter(paragraphs(text)), Counter(paragraphs(double_paragraph(text, random)))
    extra = after - before
    assert not before - after
    assert extra.total() == 1
    assert next(iter(extra)) in before


@given(texts, randoms)
def test_swapping_keeps_every_paragraph_and_changes_their_order(text, random):
    swapped = swap_sections(text, random)
    assert Counter(paragraphs(swapped)) == Counter(paragraphs(text))
    assert paragraphs(swapped) != paragraphs(text)


@given(texts, st.sampled_from(list(Damage)), st.integers(0, 1000))
def test_the_same_seed_damages_alike(text, damage, seed):
    assert degrade(text, damage, Random(seed)) == degrade(text, damage, Random(seed)) != text


@given(st.text(max_size=300), st.sampled_from(list(Damage)), randoms)
def test_any_text_is_damaged_or_refused(text, damage, random):
    try:
        damaged = degrade(text, damage, random)
    except TooShort:
        return
    assume(text.split())
    assert damaged.split() != text.split()


def test_sections_under_headings_are_swapped_whole():
    text = "Intro.\n\n# One\n\nalpha\n\n# Two\n\nbeta"
    assert swap_sections(text, Random(1)) == "Intro.\n\n# Two\n\nbeta\n\n# One\n\nalpha"


def test_fenced_code_stays_in_one_piece():
    code = "```\na\n\nb\n```"
    assert paragraphs(f"Before.\n\n{code}\n\nAfter.") == ["Before.", code, "After."]


def test_chinese_text_without_paragraphs_is_doubled_by_sentence():
    text = "第一句话在这里说完了。第二句话比第一句话还要长一些。第三句。"
    doubled = double_paragraph(text, Random(3))
    assert len(doubled.replace(" ", "")) > len(text)


@pytest.mark.parametrize("damage", list(Damage))
@pytest.mark.parametrize("text", ["", "Short.", "   \n\n  "])
def test_too_little_text_is_refused(damage, text):
    with pytest.raises(TooShort):
        degrade(text, damage, Random(0))


def test_a_text_of_equal_sections_cannot_be_swapped():
    with pytest.raises(TooShort, match="alike"):
        swap_sections("same\n\nsame\n\nsame", Random(0))
