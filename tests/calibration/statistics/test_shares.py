"""Means and shares over whole clusters: a share's ends are honest where nearly all entries hold, or none."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from calibration.statistics.agreement.proportions import clustered_proportions, wilson_ends_of_clusters
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.bias import position_bias, score_gaps, swap_agreement
from calibration.statistics.shares import mean_shares


def proportion_of(hit, clusters):
    """The proportion of all entries together."""
    return clustered_proportions(hit, np.zeros(len(hit), dtype=np.int64), clusters)[0]


def test_no_flip_in_forty_pairs_leaves_room_for_some():
    """Wilson's upper end at 0 of n is z^2 / (n + z^2): 3.8415 / 43.8415 = 0.0876; a bootstrap would say 0 to 0."""
    same = np.tile([1.0, 0.0], 20)
    found = swap_agreement(same, 1 - same, clusters=np.arange(40), draws=200)
    assert (found.flip_rate.value, found.flip_rate.low) == (0, 0)
    assert found.flip_rate.high == pytest.approx(0.0876, abs=1e-4)
    assert found.agreement.low == pytest.approx(1 - 0.0876, abs=1e-4)
    assert {found.flip_rate.interval_kind, found.agreement.interval_kind} == {"wilson95"}
    assert found.flip_rate.clusters == 40


def test_shares_have_wilsons_ends_and_means_a_bootstraps():
    rng = np.random.default_rng(0)
    points = rng.choice([0.0, 0.5, 1.0], 90)
    clusters = np.repeat(np.arange(30), 3)
    found = position_bias(points, clusters=clusters, draws=100)
    assert (found.first_wins.interval_kind, found.first_points.interval_kind) == ("wilson95", "bootstrap95")
    gaps = score_gaps(points * 4, np.zeros(90), ["c"] * 90, clusters=clusters, draws=100)[0]
    assert {share.interval_kind for share in gaps.shares} == {"wilson95"}
    assert gaps.mean_gap.interval_kind == "bootstrap95"


@pytest.mark.parametrize(
    ("clusters", "draws", "kind"), [(19, 100, "leave_one_out_range"), (30, 0, "none"), (1, 100, "none")]
)
def test_where_no_interval_is_stated_a_share_has_none_either(clusters, draws, kind):
    hit = np.arange(60) % 3 == 0
    (found,) = mean_shares([hit], np.arange(60) % clusters, draws=draws, seed=0)
    assert found.interval_kind == kind
    assert found.low <= found.value <= found.high


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=20, max_size=40))
def test_a_shares_ends_are_those_of_a_clustered_proportion(rows):
    hit = np.array([one for row in rows for one in row])
    clusters = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    (share,) = mean_shares([hit], clusters, draws=20, seed=0)
    whole = proportion_of(hit, clusters)
    assert (share.low, share.high) == pytest.approx((whole.low, whole.high))
    assert share.low <= share.value <= share.high
    (other,) = mean_shares([~hit], clusters, draws=20, seed=0)
    assert (1 - other.high, 1 - other.low) == pytest.approx((share.low, share.high))


def test_a_rare_share_is_covered():
    """3 % in 60 clusters of one entry: a bootstrap of them covers 80 %."""
    kept = 0
    for seed in range(300):
        hit = np.random.default_rng(seed).random(60) < 0.03
        (share,) = mean_shares([hit], np.arange(60), draws=2, seed=seed)
        kept += share.low <= 0.03 <= share.high
    assert kept / 300 >= 0.92


def test_ends_of_few_clusters_are_refused():
    with pytest.raises(TooFewRatings):
        wilson_ends_of_clusters(np.ones(19), np.ones(19))
