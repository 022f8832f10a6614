"""When the rest of the ratings is expected, from the recent periods."""

from math import sqrt

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from calibration.statistics.design.expected_end import expected_end
from calibration.statistics.errors import TooFewRatings


def test_an_even_pace_has_one_end():
    end = expected_end([10, 10, 10, 10], remaining=25)
    assert (end.mean, end.earliest, end.latest) == pytest.approx((10, 2.5, 2.5))


def test_the_range_by_hand():
    # 8, 10, 12: mean 10, s = 2, k = 3, t of 2 degrees of freedom at 0.9 = 1.8856. The earliest h has
    # 10 h + 1.8856 * 2 * sqrt(h + h^2 / 3) = 40, the latest the same with minus.
    end = expected_end([8, 10, 12], remaining=40)
    t = stats.t.ppf(0.9, 2)
    assert t == pytest.approx(1.8856, abs=1e-4)
    for h, side in ((end.earliest, 1), (end.latest, -1)):
        assert 10 * h + side * t * 2 * sqrt(h + h * h / 3) == pytest.approx(40)
    assert end.earliest < 4 < end.latest


def test_an_uneven_pace_has_no_latest_end():
    assert expected_end([30, 0, 0, 0], remaining=100).latest is None


@pytest.mark.parametrize("counts", [[], [20, 20], [3, 3, 3]])
def test_too_little_is_no_pace(counts):
    with pytest.raises(TooFewRatings):
        expected_end(counts, remaining=10)


@given(st.lists(st.integers(4, 60), min_size=3, max_size=24), st.integers(1, 5000), st.integers(1, 5000))
def test_more_to_do_never_ends_earlier(counts, some, more):
    first, second = expected_end(counts, remaining=some), expected_end(counts, remaining=some + more)
    assert first.earliest <= second.earliest + 1e-9
    assert first.latest is None or first.earliest <= first.latest + 1e-9
