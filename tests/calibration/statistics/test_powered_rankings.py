"""Prediction-powered win rates and strengths: against the mean's formula, plain Bradley-Terry, and simulated truth."""

import numpy as np
import pytest

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.powered_rankings import (
    JudgedPairs,
    LabelledPairs,
    _tables,
    _without_groups,
    powered_rankings,
    rankings_of_people,
)
from calibration.statistics.judges.prediction_powered import ModelScores, prediction_powered_mean
from calibration.statistics.ranking.pairs import as_games, bradley_terry

STRENGTH = np.array([0.6, 0.0, -0.6])


def study(rng, *, labelled=40, more=200, raters=6, each=3, trust=1.0, taste=0.8):
    """Three models, one pair of each two per instruction; the judge sees what people like there, and is biased."""
    n = labelled + more
    first, second = np.tile([0, 0, 1], n), np.tile([1, 2, 2], n)
    instruction = np.repeat(np.arange(n), 3)
    taste = taste * rng.normal(size=3 * n)
    gap = STRENGTH[first] - STRENGTH[second]
    judge = (gap + trust * taste + 0.4 * (first == 0) + 0.3 * rng.logistic(size=3 * n) > 0).astype(float)
    known = instruction < labelled
    pair = np.repeat(np.arange(3 * labelled), each)
    rater = np.concatenate([rng.permutation(raters)[:each] for _ in range(3 * labelled)])
    own = 0.3 * rng.normal(size=(raters, 3))
    liking = own[rater, first[pair]] - own[rater, second[pair]]
    points = (gap[pair] + taste[pair] + liking + rng.logistic(size=pair.size) > 0).astype(float)
    sides = first[known], second[known], instruction[known], judge[known]
    return (
        LabelledPairs(*sides, pair=pair, rater=rater, points=points),
        JudgedPairs(first[~known], second[~known], instruction[~known], judge[~known]),
    )


def test_of_people_alone_they_are_shares_and_bradley_terry():
    labelled, _ = study(np.random.default_rng(0))
    found = rankings_of_people(labelled, 3)
    mean = np.bincount(labelled.pair, weights=labelled.points) / np.bincount(labelled.pair)
    won = [mean[labelled.first == m].sum() + (1 - mean[labelled.second == m]).sum() for m in range(3)]
    assert [one.value for one in found.win_rates] == pytest.approx([w / 80 for w in won])
    # Every pair has three raters, so that single preferences weigh as their means do.
    games = as_games(labelled.first[labelled.pair], labelled.second[labelled.pair], labelled.points)
    fit = bradley_terry(games)
    strength = dict(zip([int(m) for m in fit.models], fit.strength, strict=True))
    assert [one.value for one in found.strengths] == pytest.approx([strength[m] for m in range(3)], abs=1e-6)
    assert found.power == 0


def test_of_two_models_the_win_rate_is_the_prediction_powered_mean():
    rng = np.random.default_rng(1)
    n, more = 40, 160
    quality = rng.normal(size=n + more)
    judge = (quality + 0.3 * rng.normal(size=n + more) > 0.2).astype(float)
    points = (quality[:n] + 0.5 * rng.normal(size=n) > 0).astype(float)
    zeros = np.zeros(n, dtype=np.int64)
    labelled = LabelledPairs(zeros, zeros + 1, np.arange(n), judge[:n], np.arange(n), np.arange(n) % 4, points)
    further = np.zeros(more, dtype=np.int64)
    other = JudgedPairs(further, further + 1, np.arange(n, n + more), judge[n:])
    found = powered_rankings(labelled, other, 2)
    scores = ModelScores(points, judge[:n], np.arange(n), judge[n:], np.arange(n, n + more))
    mean = prediction_powered_mean(scores)
    assert found.power == pytest.approx(mean.power, abs=0.02)
    same = prediction_powered_mean(scores, power=found.power)
    assert found.win_rates[0].value == pytest.approx(same.powered.value)
    assert found.win_rates[0].value + found.win_rates[1].value == pytest.approx(1)
    # The interval for these raters is Wilson's, that of the mean Student's: at the middle nearly the same.
    width = found.win_rates[0].these_high - found.win_rates[0].these_low
    assert width == pytest.approx(mean.powered.high - mean.powered.low, rel=0.12)


def test_the_judge_narrows_what_it_predicts_and_its_bias_does_not_enter():
    apart, ratios = [], []
    for seed in range(16):
        labelled, other = study(np.random.default_rng([2, seed]), taste=2.0)
        found, alone = powered_rankings(labelled, other, 3), rankings_of_people(labelled, 3)
        apart.append([one.value - two.value for one, two in zip(found.win_rates, alone.win_rates, strict=True)])
        ratios.append(np.ptp([found.strengths[0].these_low, found.strengths[0].these_high]))
        ratios[-1] /= np.ptp([alone.strengths[0].these_low, alone.strengths[0].these_high])
    assert np.median(ratios) < 0.93
    # The judge prefers the first model far more often than people do: on average that moves nothing.
    error = np.std(apart, axis=0) / 16**0.5
    assert np.all(np.abs(np.mean(apart, axis=0)) < 3 * error)


def test_a_judge_without_relation_gets_hardly_any_weight():
    powers = [powered_rankings(*study(np.random.default_rng([3, seed]), trust=0.0), 3).power for seed in range(5)]
    useful = [powered_rankings(*study(np.random.default_rng([3, seed])), 3).power for seed in range(5)]
    assert np.median(powers) < 0.2 < np.median(useful)


def test_raters_widen_the_interval_and_few_of_them_leave_it_for_these():
    labelled, other = study(np.random.default_rng(4))
    found = powered_rankings(labelled, other, 3)
    for one in (*found.win_rates, *found.strengths):
        assert one.population == "such" and one.low <= one.these_low < one.value < one.these_high <= one.high
    two = powered_rankings(*study(np.random.default_rng(4), raters=2, each=2), 3)
    for one in (*two.win_rates, *two.strengths):
        assert one.population == "such" and one.low <= one.these_low < one.value < one.these_high <= one.high
    few = powered_rankings(*study(np.random.default_rng(4), raters=1, each=1), 3)
    assert {one.why_not for one in few.win_rates} == {"few_raters"}
    short = powered_rankings(*study(np.random.default_rng(4), labelled=10), 3)
    assert {one.interval_kind for one in short.win_rates} == {"leave_one_out_range"}


def test_an_undefeated_model_has_a_win_rate_and_no_strength():
    labelled, other = study(np.random.default_rng(5))
    points = np.where(labelled.first[labelled.pair] == 0, 1.0, labelled.points)
    sides = labelled.first, labelled.second, labelled.instruction
    won = LabelledPairs(
        *sides, np.where(labelled.first == 0, 1.0, labelled.judge), labelled.pair, labelled.rater, points
    )
    found = rankings_of_people(won, 3)
    assert found.strengths is None
    assert found.win_rates[0].value == 1
    assert found.win_rates[0].low < 1
    with pytest.raises(TooFewRatings):
        powered_rankings(
            labelled, JudgedPairs(*(one[:3] for one in (other.first, other.second, other.instruction, other.judge))), 3
        )


def test_leaving_out_raters_is_the_same_as_not_having_asked_them():
    labelled, _ = study(np.random.default_rng(6), labelled=12, raters=5, each=2)
    # A pair that only one rater saw is missing without this rater, and so is an instruction that nobody else saw.
    kept = np.flatnonzero((labelled.pair >= 3) | (labelled.rater == labelled.rater[0]))
    seen = labelled.pair[kept], labelled.rater[kept], labelled.points[kept]
    sides = labelled.first, labelled.second, labelled.instruction, labelled.judge
    few = LabelledPairs(*sides, *seen)
    people, judge = _without_groups(few, 3, few.rater)
    for gone in range(5):
        rest = few.rater != gone
        alone = _tables(LabelledPairs(*sides, *(one[rest] for one in seen)), None, 3)
        assert people[gone] == pytest.approx(alone.people.mean(axis=0))
        assert judge[gone] == pytest.approx(alone.judge.mean(axis=0))
