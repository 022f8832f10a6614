"""What the ends of an interval are said to be: the sentence must fit the number of clusters behind it."""

import numpy as np

from calibration.statistics.resampling import cluster_intervals
from calibration.web.messages.statistics import interval_meaning


def test_a_range_of_many_clusters_is_not_blamed_on_their_number():
    few = interval_meaning("leave_one_out_range", 12, "instructions")
    assert few.startswith("A 95 % interval needs at least 20 instructions, and there are only 12.")

    def statistic(drawn):
        # A mean over three of forty clusters, all of which it needs: 26 % of draws have them.
        return drawn[:, :1], (drawn[:, :3] > 0).all(axis=1)

    _, ends = cluster_intervals(statistic, 40, draws=200, seed=1)
    assert (ends.kind, ends.clusters) == ("leave_one_out_range", 40)
    many = interval_meaning(ends.kind, ends.clusters, "instructions")
    assert many.startswith(
        "No 95 % interval is stated because the value cannot be computed on most bootstrap draws of the 40"
    )
    assert "too few" not in many
    assert np.isfinite(ends.low).all()
