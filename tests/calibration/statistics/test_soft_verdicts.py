"""Graded verdicts against people's shares: by hand, against scipy, and over generated data."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import linregress

from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.judges.calibration import soft_verdicts
from tests.calibration.undefined import undefined

LEVELS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


def test_by_hand():
    # Three verdicts of 0.2 where people say 0, 0.1, 0.2 (mean 0.1) and one of 0.8 where they say 0.5:
    # error (3 x 0.1 + 1 x 0.3)/4 = 0.15, offset (1.4 - 0.8)/4 = 0.15, slope (0.5 - 0.1)/(0.8 - 0.2) = 2/3.
    found = soft_verdicts(np.array([0.2, 0.2, 0.8, 0.2]), np.array([0.0, 0.1, 0.5, 0.2]))
    assert [(one.low, one.high, one.n) for one in found.groups] == [(0.2, 0.2, 3), (0.8, 0.8, 1)]
    assert found.groups[0].people.value == pytest.approx(0.1)
    assert found.error.value == pytest.approx(0.15) and found.offset.value == pytest.approx(0.15)
    assert found.slope.value == pytest.approx(2 / 3) and found.slope.interval_kind == "none"


def test_many_different_verdicts_are_grouped_by_tenths():
    x = np.linspace(0, 1, 101)
    found = soft_verdicts(x, x**2)
    assert [(one.low, one.high) for one in found.groups][:2] == [(0.0, 0.1), (0.1, 0.2)]
    assert sum(one.n for one in found.groups) == 101 and found.groups[-1].n == 11
    assert found.slope.value == pytest.approx(linregress(x, x**2).slope)


def test_a_calibrated_judge_and_one_that_exaggerates_are_told_apart():
    rng = np.random.default_rng(4)
    verdict = rng.choice(LEVELS, 2000)
    instruction = np.repeat(np.arange(200), 10)
    honest = soft_verdicts(verdict, rng.binomial(8, verdict) / 8.0, clusters=instruction, draws=500, seed=1)
    loud = soft_verdicts(verdict, rng.binomial(8, 0.25 + verdict / 2) / 8.0, clusters=instruction, draws=500, seed=1)
    assert honest.slope.low < 1 < honest.slope.high and honest.error.value < 0.02
    assert loud.slope.high < 0.6 and loud.slope.low < 0.5 < loud.slope.high and loud.error.value > 0.1
    assert loud.groups[0].people.low < 0.25 < loud.groups[0].people.high


def test_intervals_draw_whole_clusters():
    # Copies of the same twenty answers say no more than the twenty.
    rng = np.random.default_rng(2)
    x, y, cluster = rng.choice(LEVELS, 20), rng.random(20), np.arange(20)
    once = soft_verdicts(x, y, clusters=cluster, draws=400)
    often = soft_verdicts(np.tile(x, 5), np.tile(y, 5), clusters=np.tile(cluster, 5), draws=400)
    assert once.slope.low == pytest.approx(often.slope.low) and once.slope.clusters == 20


@given(arrays(np.float64, (2, 30), elements=st.sampled_from(LEVELS.tolist())))
def test_seen_from_the_other_side_the_error_is_the_same(shares):
    x, y = shares
    if np.ptp(x) == 0:
        return
    one, other = soft_verdicts(x, y), soft_verdicts(1 - x, 1 - y)
    assert one.error.value == pytest.approx(other.error.value)
    assert one.slope.value == pytest.approx(other.slope.value)
    assert one.offset.value == pytest.approx(-other.offset.value)
    assert 0 <= one.error.value <= 1


def test_what_cannot_be_said_is_named():
    with pytest.raises(TooFewRatings):
        soft_verdicts(np.array([0.5]), np.array([0.5]))
    with pytest.raises(ConstantScores):
        soft_verdicts(np.full(5, 0.5), np.linspace(0, 1, 5))
    with undefined("OutOfRange"):
        soft_verdicts(np.array([0.0, 1.5]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="as many"):
        soft_verdicts(np.array([0.0, 1.0]), np.array([0.0]))
