"""embedding, perplexity and the heuristics: preferences without a prompt."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from core.errors import UserError
from judging.methods.guided import GuidedQuestion
from judging.methods.pairs import embedding, heuristics, perplexity
from judging.methods.pairs.base import canonical, in_order
from judging.methods.pairs.heuristics import Rule
from judging.methods.pairs.perplexity import By, LogProbability, NoLogProbabilities, not_served
from judging.methods.parsing import Unscored, Verdict, Why
from judging.methods.scales import WrongScale
from judging.methods.single import overlap


def level(outcome):
    assert isinstance(outcome, Verdict), outcome
    return outcome.answers[0].level


class TestEmbedding:
    def test_what_is_embedded_is_the_reference_and_both_texts_as_shown(self, pair):
        assert embedding.texts(pair) == (pair.reference, *pair.responses)

    def test_the_nearer_text_is_preferred(self, pair):
        # Cosines with (1, 0): 3/5 for (3, 4), 4/5 for (8, 6): length does not matter, direction does.
        outcome = embedding.decide(pair, [(1, 0), (3, 4), (8, 6)])
        assert level(outcome) == "b"
        assert outcome.answers[0].reason == "Cosine with the reference: 0.600000 for A, 0.800000 for B."
        assert level(embedding.decide(pair, [(1, 0), (8, 6), (3, 4)])) == "a"

    def test_equally_near_is_a_tie(self, pair):
        assert level(embedding.decide(pair, [(1, 0), (1, 2), (10, -20)])) == "tie"

    @pytest.mark.parametrize(
        "vectors",
        [
            [(1, 0), (0, 1)],
            [(1, 0), (0, 1), (1,)],
            [(1, 0), (0, 0), (1, 1)],
            [(1, 0), (math.nan, 1), (1, 1)],
            [(), (), ()],
        ],
    )
    def test_vectors_that_cannot_be_compared_are_unscored(self, pair, vectors):
        assert embedding.decide(pair, vectors).why == Why.UNREADABLE

    def test_without_reference_or_text_nothing_is_asked(self, pair):
        assert embedding.problem_with(pair) is None
        assert "reference" in embedding.problem_with(replace(pair, reference="")).detail
        assert "empty" in embedding.problem_with(replace(pair, responses=("x", " "))).detail
        assert embedding.decide(replace(pair, reference=""), [(1,), (1,), (1,)]).why == Why.NO_TEXT
        with pytest.raises(UserError):
            embedding.texts(replace(pair, reference=""))

    def test_it_answers_on_a_scale_with_plain_sides(self, pair, ten):
        with pytest.raises(WrongScale, match="no level -1"):
            embedding.decide(replace(pair, items=ten), [(1, 0), (0, 1), (1, 0)])


# As a server gives it: null for the first token, then one entry a token, the token that stands there first.
PROMPT_LOGPROBS = [
    None,
    {"128000": {"logprob": -9.5, "rank": 4, "decoded_token": "user"}},
    {"11": {"logprob": -0.5, "rank": 1, "decoded_token": "Use"}},
    {
        "12": {"logprob": -1.5, "rank": 2, "decoded_token": " it"},
        "13": {"logprob": -0.1, "rank": 1, "decoded_token": "."},
    },
]


class TestPerplexity:
    def test_the_requests_end_with_the_conversation_and_with_the_reference(self, pair):
        assert perplexity.prefix_messages(pair) == [{"role": "user", "content": pair.conversation[0][1]}]
        assert perplexity.scoring_messages(pair)[-1] == {"role": "assistant", "content": pair.reference}
        with pytest.raises(UserError):
            perplexity.scoring_messages(replace(pair, reference=""))

    def test_only_the_references_tokens_count(self):
        found = perplexity.reference_log_probability(PROMPT_LOGPROBS, 2)
        assert found == LogProbability(-2.0, 2)
        assert found.perplexity == pytest.approx(math.e)
        assert perplexity.reference_log_probability([None, -3.0, -0.25], 2) == LogProbability(-0.25, 1)

    @pytest.mark.parametrize(
        ("given", "prefix"),
        [
            (None, 1),
            ([], 1),
            (PROMPT_LOGPROBS, 4),
            (PROMPT_LOGPROBS, 0),
            ([None, None], 1),
            ([None, {}], 1),
            ([None, "x"], 1),
            ([None, math.nan], 1),
            ([None, -math.inf], 1),
            ([None, 0.7], 1),
            ([None, True], 1),
        ],
    )
    def test_an_answer_without_them_is_refused(self, given, prefix):
        with pytest.raises(NoLogProbabilities):
            perplexity.reference_log_probability(given, prefix)

    def test_the_writer_with_the_lower_perplexity_is_preferred(self, pair):
        # Per token -0.5 against -0.4, in total -5 against -8: the two rules differ.
        first, second = LogProbability(-5.0, 10), LogProbability(-8.0, 20)
        assert level(perplexity.decide(pair, first, second)) == "b"
        assert level(perplexity.decide(pair, first, second, by=By.TOTAL)) == "a"
        assert level(perplexity.decide(pair, second, first)) == "a"
        assert level(perplexity.decide(pair, first, first)) == "tie"

    def test_a_writer_that_nobody_serves_leaves_the_pair_unscored(self, pair):
        outcome = perplexity.decide(pair, LogProbability(-5.0, 10), not_served("gpt-x"))
        assert isinstance(outcome, Unscored)
        assert outcome.reason.startswith("endpoint: model not served: gpt-x")
        assert perplexity.decide(pair, not_served("a"), not_served("b")).detail.startswith("model not served: a ")
        assert perplexity.decide(replace(pair, reference=""), *[LogProbability(-1, 1)] * 2).why == Why.NO_TEXT


class TestOverlap:
    def test_by_hand(self):
        # "the cat sat" and "the cat lay down": 2 shared of 3 and 4 words, in order: 2*2/(3+4).
        assert overlap.rouge_1("The cat sat.", "the cat lay down") == pytest.approx(4 / 7)
        assert overlap.rouge_l("The cat sat.", "the cat lay down") == pytest.approx(4 / 7)
        # Reversed order shares all words but a subsequence of one.
        assert overlap.rouge_1("a b c", "c b a") == 1.0
        assert overlap.rouge_l("a b c", "c b a") == pytest.approx(1 / 3)
        # A repeated word counts as often as both have it: 1 shared of 3 and 1.
        assert overlap.rouge_1("a a a", "a") == pytest.approx(0.5)

    def test_chinese_is_compared_by_character(self):
        assert overlap.words("用GPT4写的诗_2") == ["用", "gpt4", "写", "的", "诗", "2"]
        assert overlap.rouge_l("今天下雨", "今天晴") == pytest.approx(4 / 7)

    def test_nothing_shares_nothing(self):
        assert overlap.rouge_l("", "") == overlap.rouge_1("", "a") == overlap.rouge_l("b", "a") == 0.0

    @given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
    def test_the_bits_count_what_the_table_counts(self, one, other):
        table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
        for i, a in enumerate(one):
            for j, b in enumerate(other):
                table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
        assert overlap.common_subsequence(one, other) == table[-1][-1]

    def test_many_words_are_counted_as_with_subtraction_at_every_step(self):
        drawn = random.Random(2)
        for size in (400, 1_100):
            one, other = (drawn.choices("abcdefgh", k=size) for _ in "ab")
            unmatched = full = (1 << size) - 1
            for word in other:
                matches = unmatched & sum(1 << place for place in range(size) if one[place] == word)
                unmatched = ((unmatched + matches) | (unmatched - matches)) & full
            assert overlap.common_subsequence(one, other) == size - unmatched.bit_count()
            ends = ["x", "y"], ["y", "x"]
            assert (
                overlap.common_subsequence([*ends[0], *one, *ends[1]], [*ends[0], *other, *ends[1]])
                == size - unmatched.bit_count() + 4
            )


class TestHeuristics:
    @pytest.mark.parametrize(
        ("rule", "wins"),
        [
            (Rule.SHORTER, "b"),
            (Rule.LONGER, "a"),
            (Rule.ROUGE, "a"),
            (Rule.ROUGE_1, "a"),
            (Rule.FIRST, "a"),
            (Rule.SECOND, "b"),
        ],
    )
    def test_each_rule_by_what_it_counts(self, pair, rule, wins):
        question = replace(pair, responses=("to clean and to pickle, I think", "to dye"))
        assert level(heuristics.decide(rule, question, seed=0)) == wins

    @pytest.mark.parametrize("rule", [Rule.SHORTER, Rule.LONGER, Rule.ROUGE, Rule.ROUGE_1])
    def test_equal_texts_tie_and_order_does_not_matter(self, pair, rule):
        equal = replace(pair, responses=("same", "same "))
        assert level(heuristics.decide(rule, equal, seed=0)) == "tie"
        turned = canonical(heuristics.decide(rule, in_order(pair, "b"), seed=0), "b")
        assert level(turned) == level(heuristics.decide(rule, pair, seed=0))

    def test_the_side_rules_follow_the_side(self, pair):
        for rule in (Rule.FIRST, Rule.SECOND):
            straight = level(heuristics.decide(rule, pair, seed=0))
            assert level(canonical(heuristics.decide(rule, in_order(pair, "b"), seed=0), "b")) != straight

    def test_chance_is_even_and_repeatable(self, pair):
        drawn = [
            level(heuristics.decide(Rule.RANDOM, replace(pair, responses=(f"text {n}", "other")), seed=7))
            for n in range(2000)
        ]
        # Binomial(2000, 1/2) lies within 1000 +- 100 but for 8 in a million seeds.
        assert 900 < drawn.count("a") < 1100 and set(drawn) == {"a", "b"}
        again = heuristics.decide(Rule.RANDOM, replace(pair, responses=("text 5", "other")), seed=7)
        assert level(again) == drawn[5]
        other = [level(heuristics.decide(Rule.RANDOM, pair, seed=seed)) for seed in range(20)]
        assert set(other) == {"a", "b"}

    def test_rouge_needs_a_reference_and_length_does_not(self, pair):
        bare = GuidedQuestion(pair.conversation, pair.responses, pair.items)
        assert heuristics.decide(Rule.ROUGE, bare, seed=0).why == Why.NO_TEXT
        assert level(heuristics.decide(Rule.LONGER, bare, seed=0)) == "a"
