"""Which models are ranked, by the number of instructions that each was judged on."""

import numpy as np
import pytest

from calibration.statistics.ranking.coverage import Unranked, unranked
from calibration.statistics.ranking.scores import mean_scores


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ({}, {}),
        ({"a": 3, "b": 3}, {}),
        ({"a": 100, "b": 100, "c": 50}, {}),
        ({"a": 100, "b": 100, "c": 49}, {"c": Unranked.FEW}),
        ({"a": 30, "b": 30, "c": 19}, {"c": Unranked.NO_INTERVAL}),
        ({"a": 20, "b": 30, "c": 30}, {}),
        # Nobody has an interval, so that none is asked for.
        ({"a": 19, "b": 19, "c": 10}, {}),
        ({"a": 1, "b": 10}, {"a": Unranked.FEW}),
    ],
)
def test_a_model_is_ranked_from_half_of_the_median_and_with_an_interval_where_others_have_one(instructions, expected):
    assert unranked(instructions) == expected


def test_ranks_among_some_models_leave_the_others_out():
    # The second model has the highest mean, from one instruction; between the others nothing is left open.
    rng = np.random.default_rng(2)
    one, two = 8 + rng.normal(0, 0.1, 30), 6 + rng.normal(0, 0.1, 30)
    found = mean_scores(
        np.concatenate([one, [9.5], two]), [1] * 30 + [2] + [3] * 30, clusters=[*range(30), 0, *range(30)]
    )
    assert found.rank.tolist() == [2, 1, 3]
    rank, low, high = found.ranks_among(np.array([True, False, True]))
    assert (rank.tolist(), low.tolist(), high.tolist()) == ([1, 2], [1, 2], [1, 2])
