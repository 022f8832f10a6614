"""Two rankings of the same models: published and other programs' values, by hand, and what few models allow."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.ranking.rank_correlations import best_of, rank_correlations

SEVEN = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [2.0, 1.0, 4.0, 3.0, 7.0, 5.0, 6.0]])


def some_scores(n, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, x + rng.normal(size=n)


@pytest.mark.parametrize("n", [3, 5, 8, 12, 40])
@pytest.mark.parametrize("rounded", [False, True])
def test_values_are_scipys(n, rounded):
    x, y = some_scores(n)
    if rounded:
        x, y = np.round(x), np.round(y)
    found = rank_correlations(x, y)
    expected = [pearsonr(x, y), spearmanr(x, y), kendalltau(x, y)]
    values = [found.pearson.value, found.spearman.value, found.kendall.value]
    assert values == pytest.approx([one.statistic for one in expected])
    assert found.n == n


def test_five_models_have_values_alone():
    found = rank_correlations(*some_scores(5))
    for one in (found.pearson, found.spearman, found.kendall):
        assert (one.p, one.low, one.high, one.kind) == (None, None, None, "none")


def test_exact_p_counts_all_orders_with_ties():
    x = np.array([1.0, 2.0, 2.0, 4.0, 5.0, 7.0])
    y = np.array([1.0, 1.0, 3.0, 2.0, 6.0, 5.0])
    found = rank_correlations(x, y)
    for name, statistic in (("pearson", pearsonr), ("spearman", spearmanr), ("kendall", kendalltau)):
        drawn = [abs(statistic(x, y[list(order)]).statistic) for order in permutations(range(6))]
        assert getattr(found, name).p == pytest.approx(
            np.mean(np.array(drawn) >= abs(statistic(x, y).statistic) - 1e-9)
        )


def test_kendalls_exact_p_is_scipys_where_nothing_is_tied():
    assert rank_correlations(*SEVEN).kendall.p == pytest.approx(kendalltau(*SEVEN, method="exact").pvalue)


def test_between_six_and_nine_the_range_leaves_one_model_out():
    found = rank_correlations(*SEVEN)
    left = [kendalltau(*np.delete(SEVEN, place, axis=1)).statistic for place in range(7)]
    assert found.kendall.kind == "leave_one_out_range"
    assert (found.kendall.low, found.kendall.high) == pytest.approx((min(left), max(left)))


def test_twelve_models_by_hand():
    # Pearson .9 of 12: atanh(.9) = 1.47222, standard error 1/3: tanh(1.47222 -+ .65332) = .67447, .97190, and z = 4.417.
    x = np.arange(12.0)
    noise = np.array([1, -1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1.0])
    noise -= np.polyval(np.polyfit(x, noise, 1), x)
    line, rest = (x - x.mean()) / np.linalg.norm(x - x.mean()), noise / np.linalg.norm(noise)
    found = rank_correlations(x, 0.9 * line + np.sqrt(1 - 0.81) * rest).pearson
    assert found.value == pytest.approx(0.9)
    assert (found.low, found.high) == pytest.approx((0.67447, 0.97190), abs=1e-5)
    assert found.p == pytest.approx(1.0e-5, rel=0.05)


def test_p_says_the_same_as_the_interval():
    for seed in range(60):
        found = rank_correlations(*some_scores(11, seed))
        for one in (found.pearson, found.spearman, found.kendall):
            assert (one.p < 0.05) == (not one.low < 0 < one.high)


def test_identical_orders_state_no_interval_and_the_share_of_such_orders():
    found = rank_correlations(np.arange(10.0), np.arange(10.0) ** 3)
    assert (found.kendall.value, found.kendall.kind, found.kendall.low) == (1.0, "none", None)
    assert found.spearman.p == pytest.approx(2 / 3628800)
    assert found.pearson.kind == "fisher95"


def test_permuting_models_changes_nothing_and_reversing_turns_the_sign():
    x, y = some_scores(8)
    order = np.random.default_rng(1).permutation(8)
    one, other, turned = rank_correlations(x, y), rank_correlations(x[order], y[order]), rank_correlations(x, -y)
    assert other.spearman.value == pytest.approx(one.spearman.value) and other.kendall.p == one.kendall.p
    assert turned.pearson.value == pytest.approx(-one.pearson.value) and turned.kendall.p == one.kendall.p


def test_the_best_are_of_the_reference_with_those_that_tie():
    assert best_of(np.array([3.0, 9.0, 5.0, 5.0, 1.0]), 2).tolist() == [1, 2, 3]
    assert best_of(np.array([3.0, 9.0]), 6).tolist() == [1, 0]


def test_what_has_no_correlation_says_why():
    with pytest.raises(TooFewRatings):
        rank_correlations(np.arange(2.0), np.arange(2.0))
    with pytest.raises(ConstantScores):
        rank_correlations(np.arange(4.0), np.ones(4))
