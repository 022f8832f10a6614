"""What further columns add to one named judge: length and format, the other order, further answers; and nothing in noise."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.statistics.errors import ConstantScores
from calibration.statistics.judges.estimates import following_skew, people_estimate
from calibration.statistics.judges.panels import Beaten, JudgedAlike, panel_gain, panel_values
from calibration.statistics.populations import CrossedVariance
from calibration.statistics.weights.least_squares import Sums, floored_solve, partly_floored_solve

INSTRUCTIONS, MODELS, RATERS = 40, 4, 4


def responses(seed=0, *, of_length=0.0, of_answer=0.5, answers=1):
    """People value a truth and each response's length; every answer of the judge is the truth and an error of its own."""
    rng = np.random.default_rng(seed)
    n = INSTRUCTIONS * MODELS
    truth, length, marks = rng.normal(size=n), rng.normal(size=n), (rng.random(n) < 0.4).astype(np.float64)
    judge = truth + of_answer * rng.normal(size=(answers, n))
    response = np.repeat(np.arange(n), RATERS)
    value = (truth + of_length * length)[response] + 0.5 * rng.normal(size=n * RATERS)
    return JudgedAlike(
        judges=np.vstack([judge, length, marks]),
        instructions=np.repeat(np.arange(INSTRUCTIONS), MODELS),
        models=np.tile(np.arange(MODELS), INSTRUCTIONS),
        response=response,
        rater=np.tile(np.arange(RATERS), n),
        value=value,
    )


def first_and_mean(given, answers):
    return replace(given, judges=np.vstack([given.judges[0], given.judges[:answers].mean(axis=0)]))


@pytest.mark.parametrize("sign", [1, -1])
def test_length_adds_what_the_judge_misses_whatever_its_sign(sign):
    given = responses(of_length=sign * 0.6)
    found = panel_gain(given, over=Beaten(free=2))
    assert found.better and found.gain.value > 0.1
    assert found.panel.value == pytest.approx(found.single.value + found.gain.value)
    assert found.members == ()
    turned = replace(given, judges=given.judges * np.array([[1], [-1], [1]]))
    assert panel_gain(turned, over=Beaten(free=2)).gain.value == pytest.approx(found.gain.value)


def test_a_covariate_and_its_negative_at_weights_not_below_zero_are_a_free_one():
    given = responses(of_length=-0.6)
    both = replace(given, judges=np.vstack([given.judges, -given.judges[1:]]))
    assert panel_values(given, over=Beaten(free=2)) == pytest.approx(panel_values(both, over=Beaten()), abs=1e-6)


def test_noise_beside_a_judge_is_not_claimed_to_add():
    claimed = [panel_gain(responses(seed), over=Beaten(free=2)).better for seed in range(6)]
    assert not any(claimed)


def test_the_judge_to_beat_is_the_named_one_though_a_column_is_better():
    """A judge of chance beside a covariate that people go by: alone is the judge, not the best column."""
    rng = np.random.default_rng(4)
    given = responses(of_length=3.0)
    given = replace(given, judges=np.vstack([rng.normal(size=given.judges.shape[1]), given.judges[1:]]))
    found = panel_gain(given, over=Beaten(free=2))
    assert found.single.value < 0.05 and found.panel.value > 0.7
    second = replace(given, judges=given.judges[::-1])
    assert panel_gain(second, over=Beaten(row=2)).single.value == pytest.approx(found.single.value)


def test_both_orders_of_a_judge_that_prefers_the_first_side_are_better_than_one():
    rng = np.random.default_rng(3)
    n = 120
    first = rng.integers(0, 3, n)
    second = (first + rng.integers(1, 3, n)) % 3
    truth = rng.normal(size=n)
    shown, bias = rng.choice([-1.0, 1.0], n), 1.5
    orders = np.array([np.sign(truth + bias * side + 0.3 * rng.normal(size=n)) for side in (shown, -shown)])
    response = np.repeat(np.arange(n), 3)
    value = np.sign(truth[response] + 0.3 * rng.normal(size=3 * n))
    judges = np.vstack([orders[0], orders.mean(axis=0)])
    pairs = JudgedAlike(judges, np.arange(n), first, response, np.tile(np.arange(3), n), value, rivals=second)
    found = panel_gain(pairs, over=Beaten())
    assert found.better and found.gain.value > 0.1


def test_several_answers_of_a_noisy_judge_are_better_than_one():
    studies = [first_and_mean(responses(seed, of_answer=1.0, answers=4), 4) for seed in range(20)]
    assert panel_gain(studies[0], over=Beaten()).better
    # Of the truth's variance, one answer explains 1/(1 + 1) and four 1/(1 + 1/4); people's means add noise of 1/16.
    found = np.mean([panel_values(study, over=Beaten()) for study in studies], axis=0)
    assert found[:2] == pytest.approx([1 / 1.25 / (1 + 1 / 16), 1 / 2 / (1 + 1 / 16)], abs=0.04)


def variance_estimate(rng, size):
    """An estimate s^2 of a variance of 1 from `size` numbers, with its own variance and third moment as s^2 gives them."""
    found = float(rng.chisquare(size - 1)) / (size - 1)
    square, missing = np.array([2 * found**2 / (size - 1)]), np.full(1, np.nan)
    crossed = CrossedVariance(np.array([found]), square, missing, missing, missing, size, 1, "few_raters")
    return people_estimate(crossed, "plain", left_out=np.zeros(0)), crossed, 8 * found**3 / (size - 1) ** 2


def test_the_upper_end_is_farther_out_where_draws_are_skewed_upwards():
    rng = np.random.default_rng(4)
    studies = [variance_estimate(rng, 40) for _ in range(1_000)]
    followed = [following_skew(*study) for study in studies]
    too_low = [np.mean([one.high < 1 for one in found]) for found in ([study[0] for study in studies], followed)]
    assert too_low[0] > 0.055 and too_low[1] < 0.03
    assert all(one.low == two[0].low and one.p == two[0].p for one, two in zip(followed, studies, strict=True))
    assert following_skew(*studies[0][:2], -0.1) == studies[0][0]


def test_below_zero_p_is_that_of_an_upper_end_there():
    missing = np.full(1, np.nan)
    crossed = CrossedVariance(np.array([-0.21]), np.array([0.01]), missing, missing, missing, 40, 1, "few_raters")
    plain = people_estimate(crossed, "plain", left_out=np.zeros(0))
    followed = following_skew(plain, crossed, 0.0006)
    assert plain.p < 0.05 and plain.high < 0 and followed.p > 0.05 and followed.high > 0
    assert (followed.these_low, followed.these_high) == (followed.low, followed.high)


def test_answers_that_say_the_same_gain_nothing():
    given = responses()
    found = panel_gain(replace(given, judges=given.judges[[0, 0]]), over=Beaten())
    assert found.gain.value == pytest.approx(0, abs=1e-9) and not found.better


def test_a_covariate_without_differences_adds_nothing_and_a_judge_without_them_is_named():
    given = responses()
    plain = replace(given, judges=np.vstack([given.judges[:2], np.ones(given.judges.shape[1])]))
    one = replace(given, judges=given.judges[:2])
    wanted = panel_values(one, over=Beaten(free=1))
    assert panel_values(plain, over=Beaten(free=2)) == pytest.approx(wanted)
    with pytest.raises(ConstantScores, match="differences of judge 1"):
        panel_gain(replace(given, judges=plain.judges[::-1]), over=Beaten(free=2))


def test_a_judge_that_is_the_length_has_no_weight_beside_it():
    given = responses(of_length=1.0)
    found = panel_gain(replace(given, judges=given.judges[[1, 1, 2]]), over=Beaten(free=2))
    assert found.gain.value == pytest.approx(0, abs=0.02) and not found.better


def test_free_weights_are_least_squares_where_the_floor_does_not_bind():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(50, 4))
    y = x @ np.array([1.0, 2.0, -3.0, 0.5])
    none = np.zeros(1)
    sums = Sums((x.T @ x)[None], (x.T @ y)[None], np.array([y @ y]), none, none)
    assert partly_floored_solve(sums, 2)[0] == pytest.approx([1, 2, -3, 0.5])
    assert partly_floored_solve(sums, 0)[0] == pytest.approx(floored_solve(sums, 0.0)[0])
    # Where it binds, the rest is fitted without the floored column.
    turned = Sums(sums.gram, (x.T @ -y)[None], sums.yy, none, none)
    found = partly_floored_solve(turned, 2)[0]
    assert found[:2] == pytest.approx([0, 0])
    assert found[2:] == pytest.approx(np.linalg.lstsq(x[:, 2:], -y, rcond=None)[0])
