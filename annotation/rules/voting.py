"""Counts an approval vote and says which candidates stay, which tie for the last places, and which drop out. PURE."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class VoteResult:
    """Candidates by votes, the most first: those that stay in any case, those that tie for the `free` places, the rest."""

    certain: list[int]
    tied: list[int]
    dropped: list[int]
    free: int


def count_votes(candidates: Sequence[int], ballots: Iterable[Collection[int]]) -> dict[int, int]:
    """Return the votes of each candidate, in the order of the candidates; a ballot counts once for each."""
    counted = Counter(choice for ballot in ballots for choice in set(ballot))
    return {candidate: counted[candidate] for candidate in candidates}


def result_of(votes: Mapping[int, int], keeps: int) -> VoteResult:
    """Say who stays if the `keeps` candidates with the most votes do.

    Candidates with as many votes as the last one that would stay tie, unless all of them find a place.
    """
    ranked = sorted(votes, key=lambda candidate: -votes[candidate])
    if len(ranked) <= keeps:
        return VoteResult(ranked, [], [], 0)
    border = votes[ranked[keeps - 1]]
    if votes[ranked[keeps]] < border:
        return VoteResult(ranked[:keeps], [], ranked[keeps:], 0)
    certain = [one for one in ranked if votes[one] > border]
    tied = [one for one in ranked if votes[one] == border]
    return VoteResult(certain, tied, ranked[len(certain) + len(tied) :], keeps - len(certain))


def admits(result: VoteResult, chosen: Collection[int], *, fewest: int, most: int) -> bool:
    """Whether these of the tied candidates may stay: nothing else is chosen, and with the certain ones there are from
    `fewest` to `most`.

    Without a tie nothing is chosen. Where all candidates together are fewer than `fewest`, they all stay.
    """
    if not result.tied:
        return not chosen
    return set(chosen) <= set(result.tied) and fewest <= len(result.certain) + len(set(chosen)) <= most
