"""Codes from counting are those that sorting gives, whether the numbers lie close together or far apart."""

import numpy as np
from hypothesis import given, strategies as st

from calibration.statistics.codes import numbered, numbered_by_appearance
from calibration.statistics.ties import mean_ranks

WHOLE = st.one_of(st.integers(-3, 12), st.integers(-(2**60), 2**60))


@given(st.lists(WHOLE, max_size=40))
def test_numbers_are_coded_in_ascending_order(values: list[int]) -> None:
    given_values = np.array(values, dtype=np.int64)
    codes, known = numbered(given_values)
    assert known.tolist() == sorted(set(values))
    assert known[codes].tolist() == values
    assert codes.dtype == known.dtype == np.int64


@given(st.lists(WHOLE, max_size=40))
def test_or_in_order_of_their_first_appearance(values: list[int]) -> None:
    codes, many = numbered_by_appearance(np.array(values, dtype=np.int64))
    order = list(dict.fromkeys(values))
    assert (codes.tolist(), many) == ([order.index(value) for value in values], len(order))


@given(st.lists(st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.0, 7.0]), min_size=1, max_size=30))
def test_equal_values_share_the_mean_of_their_ranks(values: list[float]) -> None:
    ordered = sorted(values)
    wanted = [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
    assert mean_ranks(np.array(values)).tolist() == wanted
