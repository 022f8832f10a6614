import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm, t as student

from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import bootstrap_counts, cluster_codes, cluster_intervals, percentile_ends


def mean_of(values):
    def statistic(counts):
        return ((counts @ values) / counts.sum(axis=1))[:, None], np.ones(len(counts), dtype=bool)

    return statistic


@given(st.lists(st.integers(-3, 3) | st.text(max_size=2), min_size=1, max_size=30))
def test_codes_number_labels_in_order_of_appearance(labels):
    codes, k = cluster_codes(labels)
    assert k == len(set(labels)) == codes.max() + 1
    assert list(dict.fromkeys(codes.tolist())) == list(range(k))
    assert all((labels[i] == labels[j]) == (codes[i] == codes[j]) for i in range(len(labels)) for j in range(i))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_integer_arrays_are_numbered_like_lists(labels):
    from_array, k = cluster_codes(np.array(labels))
    from_list, k_list = cluster_codes(labels)
    assert k == k_list
    assert from_array.tolist() == from_list.tolist()


def test_every_draw_holds_as_many_clusters_as_there_are():
    counts = bootstrap_counts(7, 500, np.random.default_rng(3))
    assert counts.shape == (500, 7)
    assert (counts.sum(axis=1) == 7).all()
    # Each cluster enters a draw of 7 once on average, with variance 7 * (1/7) * (6/7) = .857; over 500 draws the
    # standard error of its mean is .041.
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * 0.041


def test_bootstrap_interval_of_a_mean_is_near_the_t_interval():
    values = np.random.default_rng(0).normal(size=200)
    point, ends = cluster_intervals(mean_of(values), 200, draws=4000, seed=1)
    half = student.ppf(0.975, 199) * values.std(ddof=1) / np.sqrt(200)
    assert point[0] == pytest.approx(values.mean())
    assert (ends.kind, ends.clusters, ends.draws) == ("bootstrap95", 200, 4000)
    assert ends.low[0] == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert ends.high[0] == pytest.approx(values.mean() + half, abs=0.15 * half)


def test_quantiles_are_widened_as_hesterberg_2015_gives_them():
    # His level solves z(level) * sqrt((n-1)/n) = t(.025; n-1). For n = 20: z = -sqrt(20/19) * 2.0930 = -2.1474,
    # and Phi(-2.1474) = .0159.
    sample = np.arange(100_001)[:, None] / 100_000
    low, high = percentile_ends(sample, 20)
    assert low[0] == pytest.approx(norm.cdf(-np.sqrt(20 / 19) * 2.0930240544), abs=1e-5)
    assert low[0] == pytest.approx(0.0159, abs=1e-4)
    assert high[0] == pytest.approx(1 - low[0])


def test_under_twenty_clusters_only_the_range_is_given():
    # Leaving out 1, 2 or 9 of (1, 2, 9) leaves means 5.5, 5 and 1.5.
    point, ends = cluster_intervals(mean_of(np.array([1.0, 2.0, 9.0])), 3, draws=1000, seed=0)
    assert point[0] == 4
    assert (ends.kind, ends.draws) == ("leave_one_out_range", 0)
    assert (ends.low[0], ends.high[0]) == (1.5, 5.5)


@pytest.mark.parametrize(("clusters", "draws"), [(1, 100), (50, 0)])
def test_no_interval_is_stated_without_draws_or_with_one_cluster(clusters, draws):
    point, ends = cluster_intervals(mean_of(np.arange(1.0, clusters + 1)), clusters, draws=draws, seed=0)
    assert ends.kind == "none"
    assert ends.low[0] == ends.high[0] == point[0]


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(5).normal(size=30)
    first, second, other = (
        cluster_intervals(mean_of(values), 30, draws=200, seed=seed)[1].low[0] for seed in (1, 1, 2)
    )
    assert first == second != other


def test_draws_without_the_quantity_are_dropped_and_counted():
    # Only cluster 0 defines it; a draw of 20 misses it with probability (19/20)^20 = .358.
    def statistic(counts):
        return np.ones((len(counts), 1)), counts[:, 0] > 0

    _, ends = cluster_intervals(statistic, 20, draws=2000, seed=0)
    assert ends.kind == "bootstrap95"
    assert ends.draws == pytest.approx(2000 * (1 - 0.358), abs=100)


def test_a_quantity_undefined_on_the_data_has_no_interval():
    with pytest.raises(NoStatistic, match="undefined"):
        cluster_intervals(lambda c: (np.zeros((len(c), 1)), np.zeros(len(c), dtype=bool)), 30, draws=10, seed=0)
