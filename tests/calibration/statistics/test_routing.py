"""Routing: probabilities by hand, an estimate that holds its mean however the draw is skewed, batches, and refusals."""

import numpy as np
import pytest

from calibration.statistics.errors import NoStatistic, TooFewRatings
from calibration.statistics.judges.routing import (
    chance_of_too_few,
    combined,
    draw,
    drawing_probabilities,
    expected_saving,
    routed_mean,
    simultaneous_ends,
    uniform_ends,
)
from tests.calibration.undefined import undefined


def pool(rng, n=200, *, helpful=True):
    """Judge, people and a spread that is (or is not) the size of what people add to the judge."""
    spread = rng.uniform(0.05, 2.0, n)
    judge = rng.normal(0, 1, n)
    size = spread if helpful else rng.permutation(spread)
    return judge, 1 + 0.5 * judge + rng.normal(0, 1, n) * size, spread


def test_probabilities_by_hand_follow_the_spread_of_a_stratum():
    """Strata with root mean square spreads 1, 2 and 3 of two each: 1 : 2 : 3 with sum 3, so .25, .5 and .75."""
    spread = np.array([1.0, 1.0, 0.0, 8**0.5, 3.0, 3.0])
    found = drawing_probabilities(spread, 3, strata=["a", "a", "b", "b", "c", "c"])
    assert found == pytest.approx([0.25, 0.25, 0.5, 0.5, 0.75, 0.75])


def test_no_probability_is_below_a_fifth_of_uniform_or_above_one_and_they_sum_to_the_budget():
    rng = np.random.default_rng(1)
    for budget in (5, 40, 99):
        spread = rng.exponential(1, 100) ** 3
        found = drawing_probabilities(spread, budget)
        assert found.sum() == pytest.approx(budget)
        assert found.min() >= 0.2 * budget / 100 - 1e-12 and found.max() <= 1
        assert (np.diff(found[np.argsort(spread)]) >= -1e-12).all()
    assert drawing_probabilities(np.zeros(10), 4) == pytest.approx(np.full(10, 0.4))
    assert drawing_probabilities(spread, 100) == pytest.approx(np.ones(100))
    nothing = np.repeat([0.0, 1.0], [90, 10])
    assert drawing_probabilities(nothing, 20)[:90] == pytest.approx(np.full(90, 0.2 * 20 / 100), abs=0.2)


def test_the_estimate_holds_the_mean_and_saves_labels_where_the_spread_says_who_differs():
    rng = np.random.default_rng(2)
    held, saved, plain = [], [], []
    for number in range(150):
        judge, people, spread = pool(rng)
        for how, found in ((saved, drawing_probabilities(spread, 60)), (plain, np.full(200, 0.3))):
            drawn = draw(found, number)
            stated = routed_mean(judge, np.where(drawn, people, np.nan), found, seed=number)
            how.append(stated.label_variance)
            held.append(stated.low <= 1 <= stated.high)
    assert np.mean(held) >= 0.93
    assert np.mean(saved) < 0.85 * np.mean(plain)


def test_a_spread_that_says_nothing_is_told_to_cost_labels_but_stays_right():
    rng = np.random.default_rng(3)
    found = []
    for number in range(80):
        judge, people, spread = pool(rng, helpful=False)
        pi = drawing_probabilities(spread, 60)
        found.append(routed_mean(judge, np.where(draw(pi, number), people, np.nan), pi))
    assert np.mean([one.low <= 1 <= one.high for one in found]) >= 0.93
    assert np.median([one.saved for one in found]) < -0.1
    helped = []
    for number in range(40):
        judge, people, spread = pool(rng)
        pi = drawing_probabilities(spread, 60)
        helped.append(routed_mean(judge, np.where(draw(pi, number), people, np.nan), pi).saved)
    assert np.median(helped) > 0.05


def test_weights_make_up_for_a_draw_that_prefers_high_scores():
    """People's mean is 1; those with high scores are drawn five times as often, and the judge knows nothing."""
    rng = np.random.default_rng(4)
    people = np.repeat([0.0, 2.0], 2_000)
    pi = np.repeat([0.1, 0.5], 2_000)
    seen = np.where(draw(pi, 5), people, np.nan)
    assert np.nanmean(seen) > 1.5
    assert routed_mean(rng.normal(0, 1, 4_000), seen, pi).value == pytest.approx(1, abs=0.1)


def test_everything_rated_is_the_mean_itself_with_no_variance_of_labels():
    rng = np.random.default_rng(5)
    judge, people, _ = pool(rng)
    found = routed_mean(judge, people, np.ones(200))
    assert found.value == pytest.approx(people.mean())
    assert found.label_variance == 0 and found.n == found.pool == 200
    assert found.pool_variance == pytest.approx(people.var(ddof=1) / 200)
    assert found.saved == pytest.approx(0)


def test_batches_are_weighted_by_the_inverse_of_their_variance_and_share_the_pools():
    rng = np.random.default_rng(6)
    judge, people, spread = pool(rng)
    drawings = [drawing_probabilities(spread, 40), np.full(200, 0.3)]
    batches = [routed_mean(judge, np.where(draw(pi, place), people, np.nan), pi) for place, pi in enumerate(drawings)]
    found = combined(batches)
    weight = np.array([1 / one.label_variance for one in batches])
    assert found.value == pytest.approx(weight @ [one.value for one in batches] / weight.sum())
    assert found.label_variance == pytest.approx(1 / weight.sum())
    assert found.pool_variance >= min(one.pool_variance for one in batches)
    assert found.n == sum(one.n for one in batches) and combined(batches[:1]) == batches[0]


def test_what_is_missing_is_a_sentence_with_the_number_needed():
    rng = np.random.default_rng(7)
    judge, people, spread = pool(rng, n=40)
    with pytest.raises(TooFewRatings, match="19 instructions that were drawn and rated where at least 20"):
        routed_mean(judge, np.where(np.arange(40) < 19, people, np.nan), np.full(40, 0.5))
    with undefined("OutOfRange", match="Probabilities"):
        routed_mean(judge, people, np.where(np.arange(40) < 1, 0.0, 0.5))
    with undefined("OutOfRange", match="between 0 and 40, found 41"):
        drawing_probabilities(spread, 41)
    with pytest.raises(NoStatistic, match="0 or more"):
        drawing_probabilities(-spread, 4)
    with pytest.raises(NoStatistic, match="no batch"):
        combined([])


def test_the_saving_to_be_expected_by_hand():
    """pi .2, .6 and spreads 1, 3: p = .4; at best 1 - .4 (1/.2 + 9/.6)/10 = .2; unrelated 1 - .4 (5 + 5/3)/2 = -1/3."""
    found = expected_saving(np.array([1.0, 3.0]), np.array([0.2, 0.6]))
    assert found.at_best == pytest.approx(0.2) and found.if_unrelated == pytest.approx(-1 / 3)
    assert found.measured is None and found.n == 0
    few = expected_saving(np.array([1.0, 3.0]), np.array([0.2, 0.6]), np.ones(19), np.full(19, 0.2))
    assert few.measured is None and few.n == 19
    # Squared deviations of 1 and 9 in turn: the spread is exactly right, so what is measured is the best.
    squared, rated = np.tile([1.0, 9.0], 20), np.tile([0.2, 0.6], 20)
    enough = expected_saving(np.array([1.0, 3.0]), np.array([0.2, 0.6]), squared, rated)
    assert enough.measured == pytest.approx(0.2) and enough.low < 0.2 < enough.high and enough.n == 40


def test_the_chance_of_too_few_is_that_of_the_binomial_distribution():
    from scipy.stats import binom

    assert chance_of_too_few(np.full(60, 0.4)) == pytest.approx(binom.cdf(19, 60, 0.4))
    assert chance_of_too_few(np.ones(30)) == 0 and chance_of_too_few(np.ones(10)) == 1


def test_a_uniform_draw_has_the_ends_that_stand_beside_it_as_its_own():
    judge, people, _spread = pool(np.random.default_rng(8))
    pi = np.full(200, 0.3)
    found = routed_mean(judge, np.where(draw(pi, 1), people, np.nan), pi)
    low, high = uniform_ends(found)
    assert simultaneous_ends(found) == pytest.approx((found.low, found.high))
    assert high - low == pytest.approx(found.high - found.low, rel=0.05)
    wider = simultaneous_ends(found, of=3)
    assert wider[0] < found.low and wider[1] > found.high
