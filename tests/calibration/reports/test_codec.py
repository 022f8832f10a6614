"""Reports come back from storage as what they were made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray

from calibration.data.frames import NothingToRead
from calibration.reports.codec import Missing, part, read_back, stored


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float | None


@dataclass(frozen=True)
class Summary:
    name: str
    whole: Estimate | Missing
    rows: tuple[Estimate | Missing | None, ...]
    by_rater: Mapping[int, Estimate]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    path: list[tuple[float, float]]
    label: int | str | None


def summary() -> Summary:
    return Summary(
        name="overall",
        whole=Estimate(0.1 + 0.2, None),
        rows=(Estimate(1, 0.5), Missing("NothingToRead", "nobody has answered"), None),
        by_rater={7: Estimate(inf, -inf)},
        weights=np.array([0.5, 1 / 3]),
        counts=np.array([1, 2]),
        path=[(0.5, inf)],
        label="2",
    )


def test_every_digit_and_type_comes_back():
    report = summary()
    again = read_back(Summary, stored(report))
    assert again.whole == report.whole
    assert again.rows == (Estimate(1.0, 0.5), Missing("NothingToRead", "nobody has answered"), None)
    assert again.by_rater == {7: Estimate(inf, -inf)}
    assert again.weights.dtype == np.float64 and again.weights.tolist() == [0.5, 1 / 3]
    assert again.counts.dtype == np.int64 and again.counts.tolist() == [1, 2]
    assert again.path == [(0.5, inf)] and again.label == "2"


def test_storing_what_was_read_back_changes_nothing():
    values = stored(summary())
    assert stored(read_back(Summary, values)) == values


def test_a_whole_report_may_be_missing():
    def compute() -> Summary:
        raise NothingToRead("nobody has answered")

    assert read_back(Summary | Missing, stored(part(compute))) == Missing("NothingToRead", "nobody has answered")


def test_what_json_cannot_carry_is_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        stored(Estimate(float("nan"), None))


def test_another_shape_is_refused():
    with pytest.raises(Exception, match=r"low|value"):
        read_back(Estimate, {"why": "a"})
