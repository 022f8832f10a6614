"""Two models on the same instructions: by hand, and the interval's coverage."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from calibration.statistics.errors import TooFewRatings
from judging.scores.paired_difference import paired_difference
from judging.scores.points import HELLOBENCH, PointsRule


def test_by_hand():
    # Columns: gaps 10, 20 -> 15; gap -5 -> -5. Mean of columns 5, times 4: 20. Pooled: 25/3 times 4.
    column, gap = np.array([1, 1, 2]), np.array([10.0, 20.0, -5.0])
    found = paired_difference(column, gap, HELLOBENCH)
    assert found.overall.value == pytest.approx(20)
    assert (found.overall.n, found.overall.first, found.overall.second, found.overall.ties) == (3, 2, 1, 0)
    assert {key: one.value for key, one in found.columns.items()} == {1: 60.0, 2: -20.0}
    assert found.kind == "leave_one_out_range"
    pooled = paired_difference(column, gap, PointsRule(75, 4, pooled=True))
    assert pooled.overall.value == pytest.approx(100 / 3)
    turned = paired_difference(column, -gap, HELLOBENCH)
    assert turned.overall.value == pytest.approx(-20)
    assert turned.p is None and found.p is None


def test_what_is_shared_cancels_and_the_interval_covers():
    rng = np.random.default_rng(3)
    held, small = 0, 0
    for _ in range(200):
        gap = rng.normal(1.0, 4.0, 80)
        found = paired_difference(np.arange(80) % 2, gap, PointsRule(0, 1))
        low, high = found.overall.interval.low, found.overall.interval.high
        held += low <= 1.0 <= high
        small += found.p < 0.05
        assert (found.p < 0.05) == (low > 0 or high < 0)
    assert 0.90 <= held / 200 <= 0.99
    # Power of a t test at d = .25, n = 80 is .60.
    assert small / 200 == pytest.approx(0.6, abs=0.12)


def test_student_and_welch_by_scipy():
    gap = np.random.default_rng(5).normal(1.0, 4.0, 40)
    one = paired_difference(np.zeros(40, dtype=int), gap, PointsRule(0, 1))
    tested = ttest_1samp(gap, 0)
    assert one.p == pytest.approx(tested.pvalue)
    assert (one.overall.interval.low, one.overall.interval.high) == pytest.approx(tuple(tested.confidence_interval()))
    # The mean of two columns' means is half of their sum, whose t is Welch's of one and minus the other.
    column = np.arange(40) % 3 == 0
    two = paired_difference(column.astype(int), gap, PointsRule(0, 1))
    assert two.p == pytest.approx(ttest_ind(gap[column], -gap[~column], equal_var=False).pvalue)


def test_few_instructions_and_equal_differences():
    few = paired_difference(np.zeros(19, dtype=int), np.arange(1.0, 20.0), PointsRule(0, 1))
    assert (few.p, few.kind) == (None, "leave_one_out_range")
    assert (few.overall.interval.low, few.overall.interval.high) == pytest.approx((171 / 18, 189 / 18))
    alike = paired_difference(np.zeros(20, dtype=int), np.ones(20), PointsRule(0, 1))
    assert alike.p == pytest.approx(2 * 0.5**20)
    assert paired_difference(np.zeros(20, dtype=int), np.zeros(20), PointsRule(0, 1)).p == 1


def test_nothing_shared_is_a_named_error():
    with pytest.raises(TooFewRatings, match="both models"):
        paired_difference(np.array([], dtype=int), np.array([]), HELLOBENCH)
