"""Votes are counted, and a tie at the border is left to a person."""

import pytest
from hypothesis import given, strategies as st

from annotation.rules.voting import VoteResult, admits, count_votes, result_of


def test_a_ballot_counts_once_for_each_candidate():
    assert count_votes([1, 2, 3], [[1, 2], [1, 1], [9]]) == {1: 2, 2: 1, 3: 0}


@pytest.mark.parametrize(
    ("votes", "keeps", "expected"),
    [
        ({1: 5, 2: 3, 3: 9}, 2, VoteResult([3, 1], [], [2], 0)),
        ({1: 5, 2: 3, 3: 3, 4: 1}, 2, VoteResult([1], [2, 3], [4], 1)),
        ({1: 2, 2: 2}, 4, VoteResult([1, 2], [], [], 0)),
        ({1: 0, 2: 0, 3: 0}, 1, VoteResult([], [1, 2, 3], [], 1)),
        ({1: 4, 2: 4, 3: 1}, 2, VoteResult([1, 2], [], [3], 0)),
    ],
)
def test_those_with_the_most_votes_stay(votes, keeps, expected):
    assert result_of(votes, keeps) == expected


@given(st.dictionaries(st.integers(1, 20), st.integers(0, 5)), st.integers(1, 8))
def test_nobody_who_drops_out_has_as_many_votes_as_one_who_may_stay(votes, keeps):
    result = result_of(votes, keeps)
    assert sorted([*result.certain, *result.tied, *result.dropped]) == sorted(votes)
    assert len(result.certain) + result.free == min(keeps, len(votes))
    if result.tied:
        assert len(result.tied) > result.free
    staying = [votes[one] for one in (*result.certain, *result.tied)]
    assert all(votes[one] < min(staying) for one in result.dropped)


@pytest.mark.parametrize(
    ("chosen", "admitted"), [([4], True), ([4, 5], True), ([], False), ([4, 5, 6, 7], False), ([9], False)]
)
def test_from_four_to_six_stay_after_a_tie(chosen, admitted):
    result = VoteResult([1, 2, 3], [4, 5, 6, 7], [9], 2)
    assert admits(result, chosen, fewest=4, most=6) is admitted


def test_without_a_tie_nothing_is_chosen():
    assert admits(VoteResult([1, 2, 3, 4], [], [5], 0), [], fewest=4, most=6)
    assert not admits(VoteResult([1, 2, 3, 4], [], [5], 0), [5], fewest=4, most=6)
