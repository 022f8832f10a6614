"""Biases of raters (length, position, own family) and gaps between a judge's scores and people's. PURE.

Preferences are points of the side shown first: 1 it is preferred, 0.5 tie (or both bad), 0 the other is. Every share
has ends over whole clusters: "wilson95" for shares, "bootstrap95" for means and differences, the
"leave_one_out_range" with fewer than 20 clusters, "none" without draws.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings, out_of_range
from calibration.statistics.resampling import BoolArray, FloatArray, Labels, cluster_codes
from calibration.statistics.shares import Share, chosen, mean_shares

LENGTH_THRESHOLDS = (100, 300)
GAPS = (1.0, 2.0, 3.0, 4.0)
ROUNDING = 1e-9


@dataclass(frozen=True)
class LengthBias:
    """How often the longer response wins, ties and loses where lengths differ by at least `threshold` characters.

    `wins` + `ties` + `losses` = `n`; `n_closer` pairs had a smaller difference. `rate` is the share preferring
    the longer minus the share preferring the shorter, the length bias rate: 0 is none.
    """

    threshold: int
    n: int
    n_closer: int
    wins: int
    ties: int
    losses: int
    win_share: Share
    tie_share: Share
    loss_share: Share
    rate: Share


@dataclass(frozen=True)
class PositionBias:
    """How often the side shown first wins.

    `first_points` is its mean points (a tie is half), 0.5 without bias when sides are dealt at random;
    `first_wins` is its share of the `n_decided` pairs that were not tied.
    """

    n: int
    n_decided: int
    first_points: Share
    first_wins: Share


@dataclass(frozen=True)
class SwapAgreement:
    """The same `n` pairs judged twice by the same rater, the sides swapped the second time.

    `agreement` is the share with the same verdict on the responses, `flip_rate` the share in which the preferred
    response changed to the other one; the remaining pairs changed between a tie and a preference. Flips were
    `first_both_times` or `second_both_times`, counts of pairs.
    """

    n: int
    agreement: Share
    flip_rate: Share
    first_both_times: int
    second_both_times: int


@dataclass(frozen=True)
class SelfPreference:
    """A judge's points for responses of its own family against other families, beside a reference's for the same.

    `judge` and `reference` are mean points of the family's side over the `n` pairs with exactly one side of it;
    `lift` is judge minus reference, 0 where the judge favours its family no more than the reference does.
    """

    n: int
    judge: Share
    reference: Share
    lift: Share


@dataclass(frozen=True)
class ScoreGaps:
    """How often a judge's score of one criterion differs from people's by at least given numbers of points.

    `shares[t]` belongs to `at_least[t]`, `counts[t]` of `n` scores; `mean_gap` is judge minus people.
    """

    criterion: Hashable
    n: int
    at_least: tuple[float, ...]
    counts: tuple[int, ...]
    shares: tuple[Share, ...]
    mean_gap: Share


def length_bias(
    first_chars: FloatArray,
    second_chars: FloatArray,
    points: FloatArray,
    *,
    threshold: int = 1,
    clusters: Labels | None = None,
    draws: int = 0,
    seed: int = 0,
) -> LengthBias:
    """LLMEval (arXiv 2312.07398), table 3, for one group of raters; `rate` is HREF's (arXiv 2412.15524), appendix J.

    Lengths (n,) in characters. HREF's rate takes every pair of unequal length, the threshold 1. Raises TooFewRatings
    where no pair differs enough.
    """
    if threshold < 1:
        raise ValueError(f"The threshold must be at least 1 character, found {threshold}; equals have no longer side.")
    score = _check_points(points)
    ahead = np.asarray(first_chars, dtype=np.float64) - np.asarray(second_chars, dtype=np.float64)
    if ahead.shape != score.shape:
        raise ValueError(f"{ahead.size} length differences for {score.size} preferences; give one for each.")
    far = np.abs(ahead) >= threshold
    longer = np.where(ahead > 0, score, 1 - score)[far]
    if not longer.size:
        raise TooFewRatings(0, 1, "pairs whose lengths differ enough")
    won, tied, lost = longer == 1, longer == 0.5, longer == 0
    parts = [won, tied, lost, won.astype(np.float64) - lost]
    win, tie, loss, rate = mean_shares(parts, chosen(clusters, far), draws=draws, seed=seed)
    return LengthBias(
        threshold=threshold,
        n=longer.size,
        n_closer=int((~far).sum()),
        wins=int(won.sum()),
        ties=int(tied.sum()),
        losses=int(lost.sum()),
        win_share=win,
        tie_share=tie,
        loss_share=loss,
        rate=rate,
    )


def position_bias(points: FloatArray, *, clusters: Labels | None = None, draws: int = 0, seed: int = 0) -> PositionBias:
    """Win share of the side shown first. Raises TooFewRatings if every pair was tied."""
    score = _check_points(points)
    decided = score != 0.5
    if not decided.any():
        raise TooFewRatings(0, 1, "pairs that were not tied")
    (overall,) = mean_shares([score], clusters, draws=draws, seed=seed)
    (wins,) = mean_shares([score[decided] == 1], chosen(clusters, decided), draws=draws, seed=seed)
    return PositionBias(n=score.size, n_decided=int(decided.sum()), first_points=overall, first_wins=wins)


def swap_agreement(
    points: FloatArray, swapped_points: FloatArray, *, clusters: Labels | None = None, draws: int = 0, seed: int = 0
) -> SwapAgreement:
    """Agreement of a rater with itself under swapped sides; both arrays (n,) are points of the side shown first."""
    once, again = _check_points(points), _check_points(swapped_points)
    if once.shape != again.shape:
        raise ValueError(f"{once.size} verdicts for {again.size} with sides swapped; give both of each pair.")
    first, second = (once == 1) & (again == 1), (once == 0) & (again == 0)
    agreement, flips = mean_shares([once == 1 - again, first | second], clusters, draws=draws, seed=seed)
    return SwapAgreement(once.size, agreement, flips, int(first.sum()), int(second.sum()))


def self_preference(
    first_is_own: BoolArray,
    second_is_own: BoolArray,
    judge_points: FloatArray,
    reference_points: FloatArray,
    *,
    clusters: Labels | None = None,
    draws: int = 0,
    seed: int = 0,
) -> SelfPreference:
    """A judge's lift for its own family over a reference, people or other judges, on the same pairs of responses.

    reference_points (n,) may be means over raters, 0..1. Pairs with both sides or neither of the family say nothing
    about it and are left out. Raises TooFewRatings where none is left.
    """
    judged = _check_points(judge_points)
    reference = np.asarray(reference_points, dtype=np.float64)
    own_first, own_second = np.asarray(first_is_own, dtype=bool), np.asarray(second_is_own, dtype=bool)
    if not judged.shape == reference.shape == own_first.shape == own_second.shape:
        raise ValueError(f"{judged.size} verdicts need as many references and families of both sides.")
    _check_unit(reference)
    one = own_first != own_second
    if not one.any():
        raise TooFewRatings(0, 1, "pairs between the judge's family and another")
    side = own_first[one]
    mine = np.where(side, judged[one], 1 - judged[one])
    theirs = np.where(side, reference[one], 1 - reference[one])
    judge, people, lift = mean_shares([mine, theirs, mine - theirs], chosen(clusters, one), draws=draws, seed=seed)
    return SelfPreference(int(one.sum()), judge, people, lift)


def score_gaps(
    judge: FloatArray,
    people: FloatArray,
    criteria: Labels,
    *,
    at_least: Sequence[float] = GAPS,
    clusters: Labels | None = None,
    draws: int = 0,
    seed: int = 0,
) -> tuple[ScoreGaps, ...]:
    """Gaps |judge - people| of at least the given points, for each criterion in order of appearance.

    Scores (n,) on the criterion's own scale. LLMEval (arXiv 2312.07398), tables 4 and 5; its "correctness >= 3:
    12.98 %" is a misprint and holds for >= 2. A gap 1e-9 short of a limit reaches it. Raises TooFewRatings, Undefined.
    """
    one, other = np.asarray(judge, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1 or len(criteria) != one.size:
        raise ValueError(f"{one.size} judge scores need as many scores of people and criteria.")
    if one.size == 0:
        raise TooFewRatings(0, 1, "scores by both judge and people")
    for scores in (one, other):
        if not np.isfinite(scores).all():
            raise out_of_range("Scores", -np.inf, np.inf, float(scores[~np.isfinite(scores)][0]))
    codes, kinds = cluster_codes(criteria)
    found = []
    for kind in range(kinds):
        mask = codes == kind
        gap = one[mask] - other[mask]
        over = [np.abs(gap) >= limit - ROUNDING for limit in at_least]
        *shares, mean = mean_shares([*over, gap], chosen(clusters, mask), draws=draws, seed=seed)
        label = criteria[int(np.flatnonzero(mask)[0])]
        found.append(
            ScoreGaps(
                criterion=label.item() if isinstance(label, np.generic) else label,
                n=int(mask.sum()),
                at_least=tuple(float(limit) for limit in at_least),
                counts=tuple(int(part.sum()) for part in over),
                shares=tuple(shares),
                mean_gap=mean,
            )
        )
    return tuple(found)


def _check_points(points: FloatArray) -> FloatArray:
    score = np.asarray(points, dtype=np.float64)
    if score.ndim != 1 or score.size == 0:
        raise TooFewRatings(score.size, 1, "preferences")
    if not np.isin(score, (0.0, 0.5, 1.0)).all():
        raise ValueError("A preference is 1, 0.5 or 0 for the side shown first; map other values onto these.")
    return score


def _check_unit(values: FloatArray) -> None:
    for found in (float(values.min()), float(values.max())):
        if not 0 <= found <= 1:
            raise out_of_range("Reference points", 0.0, 1.0, found)
