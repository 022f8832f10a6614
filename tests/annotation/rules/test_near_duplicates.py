"""Texts that say nearly the same are grouped by their words."""

import pytest
from hypothesis import given, strategies as st

from annotation.rules.near_duplicates import groups_of, similarity, words_of


def test_common_words_and_a_plural_do_not_count():
    assert words_of("The response covers all the key points") == {"cover", "all", "key", "point"}
    assert words_of("glass classes 3") == {"glass", "classe", "3"}
    assert words_of("内容丰富") == {"内容", "容丰", "丰富"}
    assert words_of("好") == {"好"}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("key points", "key point", 1.0), ("key points", "main points", 0.5), ("depth", "tone", 0.0), ("the", "a", 0.0)],
)
def test_similarity_is_dices_coefficient(one, other, expected):
    assert similarity(words_of(one), words_of(other)) == expected


def test_near_duplicates_stand_together_and_the_rest_apart():
    texts = [
        ("Coverage", "Covers every key point of the question."),
        ("Depth", "Gives details and examples."),
        ("Completeness", "The key points of the question are all covered, every one."),
        ("depth", "Goes below the surface."),
        ("覆盖面", "回答涵盖问题的所有要点"),
        ("全面", "回答涵盖了问题的所有要点"),
    ]
    assert groups_of(texts) == [[0, 2], [1, 3], [4, 5]]


def test_a_chain_of_small_differences_joins_nothing_that_differs():
    texts = [("", "alpha beta gamma"), ("", "beta gamma delta"), ("", "gamma delta epsilon zeta")]
    assert groups_of(texts) == [[0, 1], [2]]


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=40)), max_size=12))
def test_every_text_is_in_one_group(texts):
    groups = groups_of(texts)
    assert sorted(place for group in groups for place in group) == list(range(len(texts)))
    assert all(group == sorted(group) for group in groups)
