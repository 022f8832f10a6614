"""Ridge and partial least squares beside fitted weights, under the same grouped cross-validation."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.weights.least_squares import cluster_sums
from calibration.statistics.weights.rivals import METHODS, partial_least_squares, ridge, rival_methods


def rows(weights, instructions=40, *, raters=5, noise=0.5, seed=0, intercept=0.0):
    rng = np.random.default_rng(seed)
    instruction = np.repeat(np.arange(instructions), raters)
    x = rng.uniform(size=(len(instruction), len(weights)))
    y = np.clip(intercept + x @ np.array(weights) + rng.normal(scale=noise, size=len(instruction)), 0, 10)
    return x, y, instruction, np.tile(np.arange(raters), instructions)


def sums_of(x, y):
    return cluster_sums(np.column_stack([np.ones(len(y)), x]), y, np.zeros(len(y), dtype=np.int64), 1)


@pytest.mark.parametrize("penalty", [0.01, 1.0, 50.0])
def test_ridge_is_scikit_learns(penalty):
    x, y, *_ = rows((3.0, 1.0, 2.0))
    known = Ridge(alpha=penalty).fit(x, y)
    assert ridge(sums_of(x, y), penalty)[0] == pytest.approx([known.intercept_, *known.coef_], abs=1e-9)


def test_partial_least_squares_is_scikit_learns_with_every_number_of_components():
    x, y, *_ = rows((3.0, 1.0, 2.0, 0.5))
    x[:, 3] = 0.7 * x[:, 0] + 0.3 * x[:, 3]
    path = partial_least_squares(sums_of(x, y))
    for components in range(1, 5):
        known = PLSRegression(n_components=components, scale=False).fit(x, y)
        assert path[components - 1, 0, 1:] == pytest.approx(known.coef_.ravel(), abs=1e-7)
        predicted = path[components - 1, 0, 0] + x @ path[components - 1, 0, 1:]
        assert predicted == pytest.approx(known.predict(x).ravel(), abs=1e-7)


def test_components_beyond_what_the_answers_hold_change_nothing():
    x, y, *_ = rows((3.0, 1.0, 2.0))
    x[:, 2] = x[:, 1]
    path = partial_least_squares(sums_of(x, y))
    assert path[2, 0] == pytest.approx(path[1, 0], abs=1e-6)


def test_an_intercept_is_found_by_the_methods_that_have_one():
    found = rival_methods(*rows((2.0, 1.0, 0.5), intercept=5.0, instructions=60))
    assert found.best in ("ridge", "pls") and found.r2["weights"] < found.r2["ridge"]
    # Ridge and partial least squares predict nearly alike, so that neither is certain to be the best.
    assert not found.certain and found.p is not None and found.p > 0.05


def test_equal_truth_without_an_intercept_is_predicted_best_by_equal_weights():
    found = rival_methods(*rows((2.0, 2.0, 2.0), noise=1.0, instructions=30, seed=3))
    assert found.best == "equal" and set(found.mse) == set(METHODS)
    assert found.gain.such_low is not None and found.gain.value > 0


def test_without_an_interval_nothing_is_certain():
    found = rival_methods(*rows((9.0, 0.6, 0.6), instructions=12, noise=0.1))
    assert found.p is None and not found.certain and found.gain.interval_kind == "leave_one_out_range"


def test_two_instructions_are_refused():
    with pytest.raises(TooFewRatings):
        rival_methods(*rows((2.0, 1.0), instructions=2))
