"""Correlations of many subsets at once against scipy and numpy, subset by subset."""

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr

from calibration.statistics import masked_rows

LEVELS = {"ties": 4, "none": 1_000_000}


def drawn(seed, levels, *, n=60, rows=30):
    """x (n,), y (rows, n) and a mask that leaves out a few scores of each row, and all but one of the last."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(levels, size=n) / 4, rng.integers(levels, size=(rows, n)) / 4
    mask = rng.random((rows, n)) < 0.8
    mask[0] = True
    mask[-1] = np.arange(n) == 3
    return x, y, mask, rng.integers(5, size=n) * 3


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
class TestAgainstScipy:
    def test_product_and_ranks(self, levels):
        x, y, mask, _ = drawn(1, levels)
        plain = masked_rows.product(x, y, mask)
        own, theirs = masked_rows.ranks(x, mask), masked_rows.ranks(y, mask)
        by_rank = masked_rows.product(own, theirs, mask)
        for row in range(len(mask) - 1):
            kept = mask[row]
            assert plain[row] == pytest.approx(pearsonr(x[kept], y[row, kept]).statistic, abs=1e-12)
            assert by_rank[row] == pytest.approx(spearmanr(x[kept], y[row, kept]).statistic, abs=1e-12)
            assert theirs[row, kept].tolist() == rankdata(y[row, kept]).tolist()
        assert np.isnan(plain[-1]) and np.isnan(by_rank[-1])

    @pytest.mark.parametrize("n", [40, masked_rows.MOST_FOR_SIGNS + 1])
    def test_tau(self, levels, n):
        x, y, mask, _ = drawn(2, levels, n=n, rows=6)
        found = masked_rows.tau(x, y, mask)
        for row in range(len(mask) - 1):
            kept = mask[row]
            assert found[row] == pytest.approx(kendalltau(x[kept], y[row, kept]).statistic, abs=1e-12)
        assert np.isnan(found[-1])

    def test_slopes_and_what_is_left_within_groups(self, levels):
        x, y, mask, groups = drawn(3, levels)
        over, within = masked_rows.slope(x, y, mask), masked_rows.slope(x, y, mask, groups)
        left = masked_rows.product_within(x, y, mask, groups)
        for row in range(len(mask) - 1):
            kept = mask[row]
            own, theirs, of = x[kept], y[row, kept], groups[kept]
            assert over[row] == pytest.approx(np.polyfit(own, theirs, 1)[0], abs=1e-9)
            a, b = (values - np.array([values[of == one].mean() for one in of]) for values in (own, theirs))
            assert within[row] == pytest.approx(a @ b / (a @ a), abs=1e-12)
            assert left[row] == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-12)
        assert np.isnan([over[-1], within[-1], left[-1]]).all()


def test_nothing_within_a_single_group_or_of_equal_scores():
    x, y, mask, groups = drawn(4, 4)
    assert np.isnan(masked_rows.product_within(x, y, mask, 0 * groups)).all()
    assert np.isnan(masked_rows.product(0 * x, y, mask)).all()
    assert np.isnan(masked_rows.tau(x, 0 * y, mask)).all()
    assert np.isnan(masked_rows.slope(0 * x, y, mask)).all()


def test_mean_difference():
    x, y, mask, _ = drawn(5, 4)
    mask[-1] = False
    found = masked_rows.mean_difference(x, y, mask)
    assert found[:-1] == pytest.approx(
        [(x[kept] - row[kept]).mean() for row, kept in zip(y[:-1], mask[:-1], strict=True)]
    )
    assert np.isnan(found[-1])
