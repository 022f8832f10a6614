"""The rules of a curation, each by itself and in their order, and how a stated difficulty is read."""

import pytest

from generation.curation.rules.difficulty import rating_in
from generation.curation.rules.filters import CurationRules, InstructionFacts, Leaving, Reason, curated
from generation.importers.instructions import difficulty_rating


def facts(name="one", **changed):
    told = {"text": f"Tell me about {name} and its long history, please.", "words": 20, "turns": 1, **changed}
    return InstructionFacts(name=name, **told)


def reasons(*pool, **rules):
    return [leaving and leaving.reason for leaving in curated(pool, CurationRules(**rules))]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        ({"text": " "}, Reason.TEXT),
        ({"words": 9}, Reason.SHORT),
        ({"words": 10}, None),
        ({"words": 3000}, None),
        ({"words": 3001}, Reason.LONG),
        ({"turns": 5}, None),
        ({"turns": 6}, Reason.TURNS),
        ({"language": "de"}, Reason.LANGUAGE),
        ({"language": "en"}, None),
        ({"language": "zh-hans"}, None),
        ({"language": ""}, None),
        ({"tags": frozenset({"toxic", "Coding"})}, Reason.TAG),
        ({"ratings": (1, 2, 2)}, Reason.EASY),
        ({"ratings": (1, 3)}, None),
        ({"ratings": ()}, None),
        ({"decision": False}, Reason.PERSON),
        ({"decision": True, "words": 1, "turns": 9, "language": "de", "ratings": (1,)}, None),
    ],
)
def test_each_rule_by_itself(changed, reason):
    assert reasons(facts(**changed), languages=("en", "zh"), without_tags=("toxic",)) == [reason]


def test_a_rule_that_is_off_takes_nothing_out():
    poor = facts(words=1, turns=99, language="de", ratings=(1,), user="u")
    off = {"shortest": 0, "longest": 0, "most_turns": 0, "last_of_user": False, "difficulty": 0, "similarity": 0.0}
    assert reasons(poor, poor, **off) == [None, None]


def test_only_the_last_conversation_of_a_user_that_passes_stays():
    pool = [facts("a", user="u"), facts("b", user="v"), facts("c", user="u"), facts("d", user="u", words=1), facts("e")]
    found = curated(pool, CurationRules())
    assert found == [Leaving(Reason.USER, "c"), None, None, Leaving(Reason.SHORT, "1"), None]
    assert reasons(*pool, last_of_user=False) == [None, None, None, Reason.SHORT, None]


def test_of_near_duplicates_the_earlier_stays_unless_a_person_kept_the_later():
    text = "Explain in simple words how a tide comes about and why there are two a day."
    pool = [facts("a", text=text), facts("b", text=text), facts("c", text=text, decision=True)]
    assert curated(pool, CurationRules()) == [None, Leaving(Reason.DUPLICATE, "a", 1.0), None]


def test_what_an_earlier_rule_took_out_is_no_original():
    text = "Explain in simple words how a tide comes about and why there are two a day."
    pool = [facts("a", text=text, ratings=(1,)), facts("b", text=text, ratings=(5,))]
    assert reasons(*pool) == [Reason.EASY, None]


def test_a_drop_keeps_its_remark_and_progress_adds_up():
    steps = []
    pool = [facts("a", decision=False, remark="private"), facts("b"), facts("c", words=1)]
    assert curated(pool, CurationRules(), step=steps.append)[0] == Leaving(Reason.PERSON, "private")
    assert sum(steps) == 3


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("It needs algebra.\nDifficulty: hard", 4),
        ("**Difficulty:** Very Easy", 1),
        ("Difficulty: easy at first sight.\nDifficulty: very hard", 5),
        ("difficulty: 3", 3),
        ("需要推理。\n难度：很难", 5),
        ("难度：难", 4),
        ("I would call it hard.", None),
        ("Difficulty: 35", None),
        ("", None),
    ],
)
def test_a_reply_states_its_rating_last(reply, rating):
    assert rating_in(reply) == rating


def test_a_column_states_a_level_or_a_number():
    assert [difficulty_rating(text) for text in ("Very  Easy", "medium", "5", "很容易", "0", "6", "hardly")] == [
        *(1, 3, 5, 1),
        *(None, None, None),
    ]
