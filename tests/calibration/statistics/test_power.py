"""Paired tests over growing numbers of tasks: against scipy and statsmodels, by hand, and as properties."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_rel

from calibration.statistics.errors import TooFewRatings, Undefined
from calibration.statistics.ranking.power import paired_p, power_curve, shared_ranks


def planted(tasks=600, gaps=(0.0, 0.15, 0.4, 0.9), seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(tasks, 1)) + rng.normal(size=(tasks, len(gaps))) + np.array(gaps)


def test_paired_p_equals_scipy():
    scores = planted()
    p = paired_p(scores)
    for i, j in combinations(range(4), 2):
        expected = ttest_rel(scores[:, i], scores[:, j]).pvalue
        assert p[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-14)
        assert p[j, i] == p[i, j]
    assert np.diag(p).tolist() == [1] * 4


def test_paired_p_by_hand():
    # Differences 1, 2, 3: mean 2, deviation 1, t = 2 * sqrt(3) = 3.464 with 2 degrees; p = .0742 in the tables.
    assert paired_p(np.array([[1, 0], [2, 0], [3, 0]]))[0, 1] == pytest.approx(0.0742, abs=1e-4)


def test_models_without_any_difference_and_with_a_constant_one():
    p = paired_p(np.array([[1, 1, 2], [0.3, 0.3, 1.3], [7, 7, 8]]))
    assert p[0, 1] == 1
    assert p[0, 2] == 0
    assert p[1, 2] == 0


@settings(deadline=None)
@given(arrays(np.float64, (8, 3), elements=st.integers(0, 4).map(float)), st.floats(0.1, 10), st.floats(-5, 5))
def test_p_ignores_scale_and_task_difficulty(scores, scale, shift):
    p = paired_p(scores)
    moved = scores * scale + shift + np.arange(8)[:, None]
    assert paired_p(moved) == pytest.approx(p, abs=1e-6)
    assert ((p >= 0) & (p <= 1)).all()
    assert paired_p(scores[:, ::-1]) == pytest.approx(p[::-1, ::-1])


def test_last_point_of_the_curve_is_the_test_on_all_tasks():
    scores = planted()
    curve = power_curve(scores, sizes=[50, 200, 600], repeats=7)
    values = [ttest_rel(scores[:, i], scores[:, j]).pvalue for i, j in combinations(range(4), 2)]
    assert curve.mean[-1] == pytest.approx(np.mean(values))
    assert curve.quantiles[-1] == pytest.approx(np.quantile(values, [0.8, 0.9]))
    assert (curve.pairs, curve.models, curve.tasks) == (6, 4, 600)
    assert (np.diff(curve.mean) < 0).all()


def test_middle_point_of_the_curve_tests_random_subsets():
    scores = planted(tasks=40)
    curve = power_curve(scores, sizes=[25], repeats=3, seed=9)
    place = np.random.default_rng(9).random((3, 40)).argsort(axis=1).argsort(axis=1)
    values = [
        [ttest_rel(scores[line < 25, i], scores[line < 25, j]).pvalue for i, j in combinations(range(4), 2)]
        for line in place
    ]
    assert curve.mean[0] == pytest.approx(np.mean(values))
    assert curve.quantiles[0] == pytest.approx(np.quantile(values, [0.8, 0.9], axis=1).mean(axis=1))


def test_separating_sizes_and_projection():
    curve = power_curve(planted(tasks=2000), repeats=10)
    assert curve.separating[0.8] <= curve.separating[0.9]
    place = curve.sizes.tolist().index(curve.separating[0.9])
    assert (curve.quantiles[place:, 1] < 0.05).all()
    assert curve.quantiles[place - 1, 1] >= 0.05
    # The weakest of six pairs is .15 apart with deviation sqrt(2): t reaches 1.96 at about (1.96 * 1.414/.15)^2 = 342.
    assert 150 < curve.projected[0.9] < 900
    assert curve.projected[0.8] <= curve.projected[0.9]


def test_twin_models_are_never_separated():
    scores = planted(tasks=300, gaps=(0.0, 1.0))
    twins = np.column_stack([scores, scores[:, 0], scores[:, 1]])
    curve = power_curve(twins, repeats=3)
    # Two of six pairs are twins, a third: neither 80 nor 90 % can be told apart.
    assert curve.separating == {}
    assert curve.projected == {}
    assert curve.quantiles[-1].tolist() == [1, 1]


def test_the_seed_decides_the_curve():
    scores = planted(tasks=100)
    assert power_curve(scores, seed=1).mean.tolist() == power_curve(scores, seed=1).mean.tolist()
    assert power_curve(scores, seed=1).mean.tolist() != power_curve(scores, seed=2).mean.tolist()


def test_equal_models_are_significant_as_often_as_promised():
    # 600 pairs of equal models: about 5 % have p < .05.
    rng = np.random.default_rng(3)
    p = np.array([paired_p(rng.normal(size=(30, 2)))[0, 1] for _ in range(600)])
    assert 0.03 <= (p < 0.05).mean() <= 0.07


def test_shared_ranks_by_hand():
    # b and c differ by noise around nothing, a is far ahead of both, d far behind: 1, 2, 2, 4.
    noise = np.array([0.1, -0.1] * 10)
    scores = np.column_stack([5 + 0 * noise, 2 + noise, 2.01 - noise, 0 * noise + np.arange(20) % 3 * 0.1])
    result = shared_ranks(scores, ["a", "b", "c", "d"])
    assert result.models == ("a", "c", "b", "d")
    assert result.rank.tolist() == [1, 2, 2, 4]
    assert result.leader_p[[0, 1, 3]].tolist() == [1, 1, 1]
    assert result.leader_p[2] == pytest.approx(ttest_rel(scores[:, 1], scores[:, 2]).pvalue)


@settings(deadline=None)
@given(arrays(np.float64, (10, 5), elements=st.integers(0, 3).map(float)))
def test_shared_ranks_descend_and_start_at_one(scores):
    result = shared_ranks(scores, range(5))
    assert result.rank[0] == 1
    assert (np.diff(result.mean) <= 0).all()
    assert (np.diff(result.rank) >= 0).all()
    assert (result.rank <= np.arange(1, 6)).all()
    # A rank is the place of its leader.
    assert all(result.leader_p[rank - 1] == 1 for rank in result.rank)


@pytest.mark.parametrize(
    ("scores", "error"),
    [
        (np.ones((1, 3)), TooFewRatings),
        (np.ones((5, 1)), TooFewRatings),
        (np.array([[1, np.nan], [1, 2]]), Undefined),
        (np.ones(4), ValueError),
    ],
)
def test_tables_that_cannot_be_tested(scores, error):
    for statistic in (paired_p, power_curve):
        with pytest.raises(error):
            statistic(scores)


def test_sizes_beyond_the_tasks_are_refused():
    with pytest.raises(ValueError, match="between 2 and 600"):
        power_curve(planted(), sizes=[601])
    with pytest.raises(ValueError, match="3 models for 4 columns"):
        shared_ranks(planted(), ["a", "b", "c"])
