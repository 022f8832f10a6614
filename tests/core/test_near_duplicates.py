"""Near-duplicates by words: what is found is what comparing every pair finds, and the earlier text stays.

Short texts that say nearly the same are grouped by their content words.
"""

import random

import pytest
from hypothesis import given, strategies as st

from core.near_duplicates import content_words, groups_alike, near_duplicates, words_in


def sequences(text, size):
    words = words_in(text)
    if not words:
        return set()
    return {tuple(words[start : start + size]) for start in range(max(1, len(words) - size + 1))}


def by_every_pair(texts, threshold, size):
    """The definition, text by text: the first earlier text that stays and is similar enough."""
    sets = [sequences(text, size) for text in texts]
    found = {}
    for place, own in enumerate(sets):
        for other in range(place):
            union = own | sets[other]
            if other not in found and own and sets[other] and len(own & sets[other]) / len(union) >= threshold - 1e-9:
                found[place] = (other, len(own & sets[other]) / len(union))
                break
    return found


def drawn_texts(seed, count=120):
    """Texts of few words, many of which are an earlier one with a word or two changed."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(25)]
    texts = []
    for _ in range(count):
        if texts and draw.random() < 0.6:
            changed = draw.choice(texts).split()
            for _ in range(draw.randrange(3)):
                if changed:
                    changed[draw.randrange(len(changed))] = draw.choice(words)
            texts.append(" ".join(changed))
        else:
            texts.append(" ".join(draw.choices(words, k=draw.randrange(0, 15))))
    return texts


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.7, 0.9, 1.0])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_what_comparing_every_pair_finds(threshold, size, seed):
    texts = drawn_texts(seed)
    found = near_duplicates(texts, threshold=threshold, size=size)
    expected = by_every_pair(texts, threshold, size)
    assert {place: one.earlier for place, one in found.items()} == {
        place: other for place, (other, _) in expected.items()
    }
    for place, one in found.items():
        assert one.similarity == pytest.approx(expected[place][1])


def test_one_changed_word_of_many_is_a_near_duplicate_and_the_earlier_stays():
    asked = "Write me a short letter to my landlord about the broken window in the kitchen, please."
    texts = [asked, "Something else entirely, about a river.", asked.replace("broken", "dirty"), asked.upper()]
    found = near_duplicates(texts, threshold=0.6)
    assert {place: one.earlier for place, one in found.items()} == {2: 0, 3: 0}
    # 16 words have 14 sequences of three, of which the changed word is in three: 11 of 17 are common.
    assert found[2].similarity == pytest.approx(11 / 17)
    assert found[3].similarity == 1


def test_what_goes_is_not_held_against_later_texts():
    """b is like a and c is like b, but c is not like a: c stays."""
    a, b, c = "p q r s t u", "q r s t u v", "r s t u v w"
    assert set(near_duplicates([a, b, c], threshold=0.6)) == {1}
    assert set(near_duplicates([a, c], threshold=0.6)) == set()


def test_a_protected_text_stays_and_later_ones_are_held_against_it():
    text = "one two three four"
    found = near_duplicates([text, text, text], threshold=0.7, protected={1})
    assert {place: one.earlier for place, one in found.items()} == {2: 0}


def test_chinese_texts_are_compared_by_character_and_marks_and_case_do_not_count():
    found = near_duplicates(["请写一首关于河流的诗。", "请写一首关于河流的诗！", "请写一封信。"], threshold=0.9)
    assert {place: one.earlier for place, one in found.items()} == {1: 0}
    assert words_in("Ab, cd—请写 x1_y") == ["ab", "cd", "请", "写", "x1_y"]


def test_texts_without_words_repeat_nothing():
    assert near_duplicates(["", "", "...", "?"], threshold=0.5) == {}
    assert near_duplicates([], threshold=0.5) == {}


def test_short_texts_are_one_sequence():
    assert set(near_duplicates(["thank you", "thank you!", "thank"], threshold=0.5)) == {1}


@pytest.mark.parametrize("threshold", [0, -1, 1.1])
def test_a_threshold_must_be_a_share(threshold):
    with pytest.raises(ValueError, match="threshold"):
        near_duplicates(["a"], threshold=threshold)


def test_common_words_and_a_plural_do_not_count_as_content():
    assert content_words("The response covers all the key points") == {"cover", "all", "key", "point"}
    assert content_words("glass classes 3") == {"glass", "classe", "3"}
    assert content_words("内容丰富") == {"内容", "容丰", "丰富"}
    assert content_words("好") == {"好"}


def test_texts_that_say_the_same_stand_together_and_the_rest_apart():
    texts = [
        ("Coverage", "Covers every key point of the question."),
        ("Depth", "Gives details and examples."),
        ("Completeness", "The key points of the question are all covered, every one."),
        ("depth", "Goes below the surface."),
        ("覆盖面", "回答涵盖问题的所有要点"),
        ("全面", "回答涵盖了问题的所有要点"),
    ]
    assert groups_alike(texts) == [[0, 2], [1, 3], [4, 5]]


def test_a_chain_of_small_differences_joins_nothing_that_differs():
    texts = [("", "alpha beta gamma"), ("", "beta gamma delta"), ("", "gamma delta epsilon zeta")]
    assert groups_alike(texts) == [[0, 1], [2]]


def by_half_of_the_words(texts):
    """The definition: Dice's coefficient 2 |A & B| / (|A| + |B|) of at least one half with every member of a group."""
    names = [content_words(name) for name, _more in texts]
    wholes = [content_words(f"{name} {more}") for name, more in texts]

    def near(a, b):
        size = len(wholes[a]) + len(wholes[b])
        half = bool(size) and 2 * len(wholes[a] & wholes[b]) / size >= 0.5
        return half or (bool(names[a]) and names[a] == names[b])

    groups = []
    for place in range(len(texts)):
        home = next((group for group in groups if all(near(place, member) for member in group)), None)
        if home is None:
            groups.append([place])
        else:
            home.append(place)
    return groups


few_words = st.lists(
    st.sampled_from(["key", "point", "depth", "tone", "detail", "the", "要点", "style", "fact"]), max_size=6
).map(" ".join)


@given(st.lists(st.tuples(few_words, few_words), max_size=14))
def test_half_of_the_words_in_common_with_every_member_makes_a_group(texts):
    groups = groups_alike(texts)
    assert groups == by_half_of_the_words(texts)
    assert sorted(place for group in groups for place in group) == list(range(len(texts)))


def test_nothing_makes_no_group():
    assert groups_alike([]) == []
    assert groups_alike([("", "the"), ("", "")]) == [[0], [1]]
