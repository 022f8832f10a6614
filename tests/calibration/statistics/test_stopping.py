"""Confidence sequences by betting, decisions at every moment, and the values of instructions."""

import numpy as np
import pytest

from calibration.statistics.stopping.confidence_sequence import confidence_sequence, first_above, log_capital
from calibration.statistics.stopping.decisions import (
    against_threshold,
    better_than,
    leaders,
    leaders_needed,
    pair_error,
    threshold_needed,
)
from calibration.statistics.stopping.instruction_values import agreeing_pairs, mean_variance, model_points, weight_gains
from tests.calibration.undefined import undefined


def test_the_capital_of_two_values_by_hand():
    # 10 values, H0: mean <= 0.5, error 0.05. First bet: sqrt(2 log(40) * 1 / (0.25 * 10/3)) = 2.98, cut at 0.75/0.5 = 1.5.
    # After 1.0 the capital is 1 + 1.5 * 0.5 = 1.75; what is left has under H0 the mean (5 - 1)/9 = 0.4444.
    # The mean with half a value of 0.5 before is (0.5 + 1)/2 = 0.75 and the squares 0.25 + (1 - 0.75)^2 = 0.3125: the bet is
    # sqrt(2 log(40) * 2 / (0.3125 * 10/3)) = 3.76, cut at 0.75/0.4444 = 1.6875; 1.75 * (1 + 1.6875 * (0 - 0.4444)) = 0.4375.
    found = log_capital(np.array([[1.0], [0.0]]), np.array([0.5]), size=10, error=0.05)
    assert np.exp(found[:, 0]) == pytest.approx([1.75, 0.4375])


def test_the_capital_is_fair_over_every_order():
    # Under the true mean the expected capital is 1 after each draw: the mean over all 120 orders of five values.
    from itertools import permutations

    values = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    orders = np.array(list(permutations(values))).T
    capital = np.exp(log_capital(orders, np.full(120, 0.5), size=5, error=0.05))
    assert capital.mean(axis=1)[:4] == pytest.approx(1.0)


def test_when_all_are_drawn_the_interval_is_the_mean():
    values = np.random.default_rng(1).uniform(size=60)
    found = confidence_sequence(values, values, size=60)
    assert found.low[-1] == pytest.approx(values.mean())
    assert found.high[-1] == pytest.approx(values.mean())
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) <= 1e-12).all()
    assert (found.low <= found.high + 1e-12).all()


def test_mirrored_values_have_the_mirrored_interval():
    values = np.random.default_rng(2).uniform(size=40)
    found, mirrored = confidence_sequence(values, values, size=90), confidence_sequence(1 - values, 1 - values, size=90)
    assert found.low == pytest.approx(1 - mirrored.high)


def test_a_missing_value_counts_against_either_answer():
    values = np.ones(40)
    lowest, highest = values.copy(), values.copy()
    lowest[:20] = 0.0
    assert against_threshold(values, values, 0.5, size=60, error=0.05).above
    assert not np.isfinite(against_threshold(lowest, highest, 0.5, size=60, error=0.05).at)


def test_an_answer_below_the_threshold_is_an_answer():
    values = np.full(50, 0.2)
    found = against_threshold(values, values, 0.5, size=100, error=0.05)
    assert np.isfinite(found.at)
    assert not found.above


def test_a_smaller_error_answers_later():
    values = np.tile([1.0, 0.75, 0.5], 40)
    early, late = (against_threshold(values, values, 0.6, size=200, error=error).at for error in (0.1, 0.01))
    assert early < late


def test_a_value_off_its_range_is_refused():
    with undefined("OutOfRange"):
        first_above(np.array([[1.2]]), np.array([0.5]), size=5, error=0.05)


def test_the_leader_is_ahead_of_every_other_model():
    rng = np.random.default_rng(3)
    points = np.clip(np.array([0.4, 0.8, 0.42, 0.1]) + rng.normal(scale=0.1, size=(60, 4)), 0, 1)
    assert leaders(points, 1, size=80, error=0.05).leading == (1,)
    top = leaders(points, 3, size=80, error=0.05)
    assert top.leading == (0, 1, 2)
    assert pair_error(4, 1, 0.05) == pytest.approx(0.05 / 4)


def test_a_row_without_points_counts_against_every_model():
    points = np.tile([1.0, 0.0], (40, 1))
    assert np.isfinite(leaders(points, 1, size=60, error=0.05).at)
    points[:25] = np.nan
    assert not np.isfinite(leaders(points, 1, size=60, error=0.05).at)


def test_equal_models_have_no_leader():
    points = np.full((50, 3), 0.5)
    assert not np.isfinite(leaders(points, 1, size=50, error=0.05).at)


def test_what_is_needed_shrinks_with_the_distance():
    rng = np.random.default_rng(4)
    near, far = (np.clip(centre + rng.normal(scale=0.3, size=20), 0, 1) for centre in (0.56, 0.65))
    needed = [threshold_needed(one, one, 0.5, size=200, error=0.05) for one in (near, far)]
    assert needed[0].median > needed[1].median
    assert needed[1].low <= needed[1].median <= needed[1].high
    assert threshold_needed(near[:5], near[:5], 0.5, size=200, error=0.05) is None
    assert leaders_needed(np.column_stack([far, 1 - far]), 1, size=100, error=0.05).median >= 0


def test_gains_are_claimed_only_when_positive():
    rng = np.random.default_rng(5)
    assert np.isfinite(better_than(np.clip(rng.normal(0.1, 0.1, size=200), -1, 1), np.ones(200), error=0.05))
    assert not np.isfinite(better_than(np.zeros(200), np.zeros(200), error=0.05))
    assert not np.isfinite(better_than(np.zeros(0), np.zeros(0), error=0.05))


def test_agreeing_pairs_by_hand():
    # Instruction 0: unit 0 with labels 1 1 2 (pairs 3, agreeing 1), unit 1 with 2 2 (1 of 1): 2/4. Instruction 1: 0/1.
    # Without rater 0: unit 0 leaves 1 2 (0 of 1), unit 1 one label: 0/1. Without rater 2: 1/1 and 1/1: 2/2.
    found = agreeing_pairs(
        np.array([0, 0, 0, 0, 0, 1, 1]),
        np.array([0, 0, 0, 1, 1, 2, 2]),
        np.array([0, 1, 2, 0, 1, 0, 1]),
        np.array([1.0, 1, 2, 2, 2, 0, 1]),
        instructions=3,
    )
    assert found.values[:2, 0] == pytest.approx([0.5, 0.0])
    assert np.isnan(found.values[2, 0])
    by_cell = dict(
        zip(zip(found.instruction.tolist(), found.rater.tolist(), strict=True), found.without[:, 0], strict=True)
    )
    assert by_cell[0, 0] == 0.0
    assert by_cell[0, 2] == 1.0
    assert np.isnan(by_cell[1, 0])


def test_points_by_hand():
    found = model_points(
        np.array([0, 0, 0]),
        np.array([7, 8, 7]),
        np.array([0, 0, 1]),
        np.array([1.0, 0.5, 0.25]),
        instructions=1,
        models=2,
    )
    assert found.values[0] == pytest.approx([0.75, 0.25])
    without_seven = found.without[found.rater == 0][0]
    assert without_seven[0] == 0.5
    assert np.isnan(without_seven[1])
    assert found.difference(0, 1).values[0, 0] == pytest.approx(0.5)


def test_weights_are_fitted_on_earlier_instructions_only():
    rng = np.random.default_rng(6)
    answers = rng.uniform(size=(1500, 3))
    overall = np.clip(answers @ np.array([8.0, 1.0, 1.0]), 0, 10)
    instruction, rater = np.repeat(np.arange(250), 6), np.tile(np.arange(6), 250)
    whole, bounds = weight_gains(instruction, rater, answers, overall, instructions=250, floor=0.5)
    assert whole.values[:5, 0] == pytest.approx(0.0)  # the sixth is the first with 30 rows before it
    assert whole.values[10:, 0].mean() > 0.01
    assert (np.abs(whole.values[:, 0]) <= bounds + 1e-12).all()
    assert np.isfinite(better_than(whole.values[:, 0], bounds, error=0.05))
    changed = overall.copy()
    changed[instruction == 249] = 0.0
    again, _bounds = weight_gains(instruction, rater, answers, changed, instructions=250, floor=0.5)
    assert again.values[:249, 0] == pytest.approx(whole.values[:249, 0])


def test_raters_who_differ_have_the_larger_part_of_the_variance():
    rng = np.random.default_rng(7)
    instruction, rater = np.repeat(np.arange(100), 4), np.tile(np.arange(4), 100)
    taste = np.array([0.1, 0.9, 0.3, 0.8])
    points = np.clip(taste[rater] + rng.normal(scale=0.02, size=400), 0, 1)
    lines = [np.concatenate([one, one]) for one in (instruction, rater)]
    model = np.repeat([0, 1], 400)
    found = model_points(*lines, model, np.concatenate([points, 1 - points]), instructions=100, models=2).difference(
        0, 1
    )
    variance = mean_variance(found, least_raters=2)
    assert variance.raters[0] / variance.such[0] > 0.9
