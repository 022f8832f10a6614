"""Two models on the same instructions: by hand, and the interval's coverage."""

import numpy as np
import pytest

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
    assert turned.p == found.p


def test_what_is_shared_cancels_and_the_interval_covers():
    rng = np.random.default_rng(3)
    held, small = 0, 0
    for _ in range(200):
        gap = rng.normal(1.0, 4.0, 80)
        found = paired_difference(np.arange(80) % 2, gap, PointsRule(0, 1), draws=400)
        held += found.overall.interval.low <= 1.0 <= found.overall.interval.high
        small += found.p < 0.05
    assert 0.90 <= held / 200 <= 0.99
    # Power of a t test at d = .25, n = 80 is .60.
    assert small / 200 == pytest.approx(0.6, abs=0.12)


def test_nothing_shared_is_a_named_error():
    with pytest.raises(TooFewRatings, match="both models"):
        paired_difference(np.array([], dtype=int), np.array([]), HELLOBENCH)
