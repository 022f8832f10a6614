"""BLEU, ROUGE-L, METEOR, length error and refusals: by hand, against nltk, and as properties."""

import math

import pytest
from hypothesis import assume, given, settings, strategies as st
from nltk.translate.bleu_score import corpus_bleu
from nltk.translate.meteor_score import exact_match, stem_match

from generation.text_metrics.overlap import NoPairs, bleu, mean_absolute_length_error, meteor, rouge_l, words
from generation.text_metrics.refusals import OPENINGS, opens_with_refusal

VOCABULARY = ["the", "cat", "cats", "sat", "on", "a", "mat", "while", "running", "runs", "ran"]
TEXTS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=14)


def test_words_are_lower_case_and_characters_stand_alone():
    assert words("The CAT, it's 2 猫。") == ["the", "cat", "it", "s", "2", "猫"]


def test_bleu_by_hand():
    # "the cat sat on the mat" against "the cat sat on a mat":
    # 1-grams: the(clipped 1), cat, sat, on, mat: 5 of 6; 2-grams: the cat, cat sat, sat on: 3 of 5;
    # 3-grams: the cat sat, cat sat on: 2 of 4; 4-grams: the cat sat on: 1 of 3; equal length, so no penalty.
    expected = (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert bleu(["the cat sat on the mat"], [["the cat sat on a mat"]]) == pytest.approx(expected, rel=1e-12)


def test_bleu_is_penalised_for_brevity_by_the_closest_reference():
    # all n-grams of "the cat sat on" are in the reference of 6 words: exp(1 - 6/4)
    short = bleu(["the cat sat on"], [["the cat sat on a mat"]])
    assert short == pytest.approx(math.exp(1 - 6 / 4), rel=1e-12)
    assert bleu(["the cat sat on"], [["the cat sat on a mat", "the cat sat on"]]) == 1.0


def test_bleu_without_a_shared_four_gram_is_zero_and_without_texts_refused():
    assert bleu(["the cat"], [["the cat"]]) == 0.0
    assert bleu([""], [["the cat"]]) == 0.0
    for texts, references in (([], []), (["a"], []), (["a"], [[]])):
        with pytest.raises(NoPairs):
            bleu(texts, references)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4))
def test_bleu_is_nltks_corpus_bleu(cases):
    # nltk counts one n-gram in a text too short to have any; the definition, and we, count none.
    assume(all(len(text) >= 4 for text, _, _ in cases))
    texts = [" ".join(text) for text, _, _ in cases]
    references = [[" ".join(one), " ".join(other)] for _, one, other in cases]
    ours = bleu(texts, references)
    if ours:
        theirs = corpus_bleu([[r.split() for r in several] for several in references], [t.split() for t in texts])
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_rouge_l_by_hand():
    # longest common subsequence of "a b c d e" and "a c x e": a c e, 3 of 5 and 3 of 4
    found = rouge_l("a b c d e", "a c x e")
    assert (found.precision, found.recall) == (3 / 5, 3 / 4)
    assert found.f1 == pytest.approx(2 * 0.6 * 0.75 / 1.35, rel=1e-12)
    assert rouge_l("", "a").f1 == rouge_l("a", "").f1 == rouge_l("a", "b").f1 == 0.0


def test_meteor_by_hand():
    whole = meteor("the cat sat on the mat", "the cat sat on the mat")
    # one chunk of six: 1 - 0.5 * (1/6)^3
    assert (whole.matches, whole.chunks) == (6, 1)
    assert whole.score == pytest.approx(1 - 0.5 / 216, rel=1e-12)
    # "on the mat sat the cat": chunks are "on the mat", "sat", "the cat": 1 - 0.5 * (3/6)^3
    turned = meteor("on the mat sat the cat", "the cat sat on the mat")
    assert (turned.matches, turned.chunks) == (6, 3)
    assert turned.score == pytest.approx(1 - 0.5 * (3 / 6) ** 3, rel=1e-12)


def test_meteor_finds_stems_after_exact_words_and_says_which_stages_it_did():
    found = meteor("the dogs were running", "a dog was running")
    # running by itself, dogs as dog: 2 of 4 on both sides in 2 chunks
    assert (found.matches, found.chunks) == (2, 2)
    assert found.score == pytest.approx(0.5 * (1 - 0.5), rel=1e-12)
    assert found.stages == ("exact", "stem")
    assert meteor("", "a").score == meteor("a", "b").score == 0.0


def test_meteor_weighs_recall_nine_times():
    # 2 of 2 words, 2 of 4 of the reference, one chunk: P = 1, R = .5; PR / (.9P + .1R) = .5/.95
    found = meteor("the cat", "the cat sat down")
    assert found.score == pytest.approx(0.5 / 0.95 * (1 - 0.5 * (1 / 2) ** 3), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS)
def test_meteor_matches_as_many_words_as_nltks_two_stages(one, other):
    exact, rest, rest_other = exact_match(one, other)
    stems, _, _ = stem_match([w for _, w in rest], [w for _, w in rest_other])
    assert meteor(" ".join(one), " ".join(other)).matches == len(exact) + len(stems)


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_a_text_is_like_itself(text):
    whole = " ".join(text)
    assert rouge_l(whole, whole).f1 == 1.0
    assert meteor(whole, whole).matches == len(text)
    if len(text) >= 4:
        assert bleu([whole], [[whole]]) == 1.0


def test_length_error_by_hand():
    # |1500 - 2000| and |2600 - 2000|: 550
    assert mean_absolute_length_error([1500, 2600], [2000, 2000]) == 550
    for written, asked in (([], []), ([1], [])):
        with pytest.raises(NoPairs):
            mean_absolute_length_error(written, asked)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("I'm sorry, but I can't write that.", True),
        ("**I’m sorry, but** no.", True),
        ("  > As an AI model, I ...", True),
        ("很抱歉，我不能这样做。", True),
        ("我无法完成。", True),
        ("Given the constraints of this platform, here is a summary.", True),
        ("The knight said: I'm sorry, but I must go.", False),
        ("I canoe every morning.", False),
        ("", False),
    ],
)
def test_refusals_are_told_by_their_opening(text, refused):
    assert opens_with_refusal(text) is refused


def test_the_list_of_openings_can_be_replaced():
    assert opens_with_refusal("Nope, not today", ("Nope",))
    assert not opens_with_refusal("I cannot", ("Nope",))
    assert all(opening == opening.lower() for opening in OPENINGS)
