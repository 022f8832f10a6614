import csv
import gzip

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest

from calibration.statistics.agreement.proportions import clustered_proportions, plain_proportion
from calibration.statistics.errors import NoStatistic, TooFewRatings, Undefined
from calibration.statistics.raters.reliability import accuracy_within_sigma, shrink_shares, summarise_groups


def test_accuracy_by_hand():
    # Item a: 1, 1, 4 (mean 2, squares 1 + 1 + 4 = 6); item b: 2, 3, 4 (mean 3, squares 1 + 0 + 1 = 2).
    # Pooled sigma = sqrt(8/6) = 1.1547: of a, |1-2| = 1 twice right, |4-2| = 2 wrong; of b 1, 0, 1 all right.
    found = accuracy_within_sigma(
        np.array([1, 1, 4, 2, 3, 4]), items=list("aaabbb"), raters=list("xyzxyz"), min_answers=1
    )
    assert found.sigma["all"] == pytest.approx((8 / 6) ** 0.5)
    assert {rater: share.value for rater, share in found.raters.items()} == {"x": 1, "y": 1, "z": 0.5}
    assert found.overall.value == pytest.approx(5 / 6)


def test_sigma_of_the_item_alone_by_hand():
    # Item a: sigma sqrt(6/3) = 1.414: 1 right twice, 2 wrong. Item b: sigma sqrt(2/3) = .816: only the 0 is right.
    found = accuracy_within_sigma(
        np.array([1, 1, 4, 2, 3, 4]), items=list("aaabbb"), raters=list("xyzxyz"), min_answers=1, spread="item"
    )
    assert {rater: share.value for rater, share in found.raters.items()} == {"x": 0.5, "y": 1, "z": 0}


@pytest.mark.parametrize("spread", ["pooled", "item"])
def test_unanimity_is_correct(spread):
    found = accuracy_within_sigma(
        np.full(10, 0.1 + 0.2), items=np.repeat(np.arange(5), 2), raters=np.tile([1, 2], 5), spread=spread
    )
    assert found.overall.value == 1


def test_exactly_one_sigma_away_is_not_within_it():
    # Two raters 1 and 3: mean 2, sigma 1, both exactly 1 away.
    scores = np.tile([1.0, 3.0], 5)
    found = accuracy_within_sigma(scores, items=np.repeat(np.arange(5), 2), raters=np.tile([1, 2], 5))
    assert found.overall.value == 0


def test_raters_with_few_items_are_counted_apart_but_count_in_means():
    scores = np.array([3.0] * 5 + [3.0] * 5 + [1.0])
    found = accuracy_within_sigma(scores, items=[0, 1, 2, 3, 4] * 2 + [0], raters=["a"] * 5 + ["b"] * 5 + ["c"])
    assert found.too_few == {"c": 1}
    assert set(found.raters) == {"a", "b"}
    # Item 0 has mean 7/3; squares (4/9 + 4/9 + 16/9) = 24/9 over 11 scores.
    assert found.sigma["all"] == pytest.approx((24 / 9 / 11) ** 0.5)


def test_judges_may_be_left_out_of_the_mean():
    scores = np.array([1.0, 1, 5, 2, 2, 5])
    people = np.array([True, True, False] * 2)
    arguments = {"items": [0, 0, 0, 1, 1, 1], "raters": ["a", "b", "judge"] * 2, "min_answers": 1}
    with_judge = accuracy_within_sigma(scores, **arguments)
    without = accuracy_within_sigma(scores, in_mean=people, **arguments)
    assert without.sigma["all"] == 0
    assert {name: share.value for name, share in without.raters.items()} == {"a": 1, "b": 1, "judge": 0}
    assert with_judge.sigma["all"] > 1


def test_items_without_a_mean_and_single_scores_are_counted():
    found = accuracy_within_sigma(
        np.array([1.0, 2, 3]),
        items=[0, 0, 1],
        raters=["a", "b", "judge"],
        in_mean=np.array([True, True, False]),
        min_answers=1,
    )
    assert (found.no_mean, found.alone) == (1, 1)
    assert found.too_few == {"judge": 0}


def test_accuracy_needs_enough_answers_and_finite_scores():
    with pytest.raises(TooFewRatings):
        accuracy_within_sigma(np.array([1.0, 2]), items=[0, 0], raters=["a", "b"])
    with pytest.raises(NoStatistic):
        accuracy_within_sigma(np.array([1.0, np.nan]), items=[0, 0], raters=["a", "b"])
    with pytest.raises(TooFewRatings):
        accuracy_within_sigma(np.array([]), items=[], raters=[])


ratings = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 1), st.integers(1, 6)),
    min_size=1,
    max_size=60,
    unique_by=lambda row: row[:3],
)


@settings(max_examples=60, deadline=None)
@given(ratings, st.integers(1, 9), st.integers(-5, 5), st.randoms(use_true_random=False))
def test_accuracy_does_not_depend_on_order_scale_or_origin(rows, factor, shift, random):
    def measure(lines, scale=1.0, origin=0.0):
        item, rater, criterion, score = np.array(lines).T
        try:
            found = accuracy_within_sigma(
                score * scale + origin, items=item, raters=rater, criteria=criterion, min_answers=1
            )
        except Undefined as error:
            if error.code != "NobodyToCompare":
                raise
            return None
        return {name: share.value for name, share in found.raters.items()}

    shuffled = list(rows)
    random.shuffle(shuffled)
    assert measure(rows) == measure(shuffled) == measure(rows, factor, shift)


def test_accuracy_of_real_raters_is_that_of_a_plain_loop(shared_data):
    with gzip.open(shared_data("recipes.csv.gz"), "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["criterion"] == "overall"]
    items, raters = [row["item_id"] for row in rows], [row["annotator"] for row in rows]
    scores = np.array([float(row["score"]) for row in rows])
    found = accuracy_within_sigma(scores, items=items, raters=raters)
    by_item = {}
    for item, score in zip(items, scores, strict=True):
        by_item.setdefault(item, []).append(score)
    means = {item: sum(own) / len(own) for item, own in by_item.items()}
    sigma = (sum((s - means[i]) ** 2 for i, s in zip(items, scores, strict=True)) / len(scores)) ** 0.5
    one = raters[0]
    own = [(i, s) for i, r, s in zip(items, raters, scores, strict=True) if r == one]
    assert found.sigma["all"] == pytest.approx(sigma)
    assert found.raters[one].hits == sum(abs(s - means[i]) < sigma for i, s in own)
    assert (len(found.raters), len(found.too_few)) == (88, 0)
    assert found.raters[one].n == 12


def test_wilson_is_scipys():
    for hits, n in ((0, 10), (3, 10), (10, 10), (450, 500)):
        ours = plain_proportion(hits, n)
        theirs = binomtest(hits, n).proportion_ci(method="wilson")
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def proportion_of(hit, clusters):
    """The proportion of all entries together."""
    return clustered_proportions(hit, np.zeros(len(hit), dtype=np.int64), clusters)[0]


def test_repeating_every_answer_does_not_narrow_a_clustered_interval():
    hit = np.random.default_rng(1).uniform(size=60) < 0.7
    plain = proportion_of(hit, np.arange(60))
    doubled = proportion_of(np.repeat(hit, 5), np.repeat(np.arange(60), 5))
    assert doubled.effective_n == pytest.approx(59)
    assert doubled.high - doubled.low > plain.high - plain.low
    assert doubled.interval_kind == "wilson95"


def test_few_clusters_give_a_range_and_one_gives_none():
    # Clusters (1, 1), (1, 0), (0, 0): 3 of 6; without each: 1/4, 2/4, 3/4.
    found = proportion_of(np.array([1, 1, 1, 0, 0, 0], dtype=bool), [1, 1, 2, 2, 3, 3])
    assert (found.low, found.value, found.high) == (0.25, 0.5, 0.75)
    assert found.interval_kind == "leave_one_out_range"
    assert proportion_of(np.array([True, False]), [1, 1]).interval_kind == "none"


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 30)), min_size=1, max_size=120))
def test_a_proportion_lies_within_its_ends(rows):
    hit, group, cluster = (np.array(column) for column in zip(*rows, strict=True))
    for share in clustered_proportions(hit, group, cluster).values():
        assert 0 <= share.low <= share.value <= share.high <= 1
        assert 1 <= share.effective_n <= share.n


def shares_of(counts):
    return {str(place): plain_proportion(hits, n) for place, (hits, n) in enumerate(counts)}


def test_shrinkage_recovers_a_planted_law():
    rng = np.random.default_rng(3)
    true = rng.beta(0.8 * 20, 0.2 * 20, size=600)
    found = shrink_shares(shares_of((int(rng.binomial(30, p)), 30) for p in true))
    assert found.mean == pytest.approx(0.8, abs=0.01)
    assert found.concentration == pytest.approx(20, rel=0.2)
    shrunk = np.array([found.raters[str(place)].value for place in range(600)])
    covered = np.mean([found.raters[str(i)].low <= p <= found.raters[str(i)].high for i, p in enumerate(true)])
    assert 0.93 <= covered <= 0.97
    raw = np.array([found.raters[str(i)].value for i in range(600)])
    assert ((shrunk - true) ** 2).mean() <= ((raw - true) ** 2).mean() + 1e-12


def test_raters_who_differ_by_chance_alone_are_taken_as_alike():
    found = shrink_shares(shares_of([(8, 10)] * 12))
    assert found.concentration == float("inf")
    assert {one.value for one in found.raters.values()} == {0.8}
    assert found.raters["0"].low == pytest.approx(plain_proportion(96, 120).low)
    perfect = shrink_shares(shares_of([(10, 10)] * 5))
    assert perfect.raters["0"].value == 1
    assert perfect.raters["0"].low < 1


def test_shrinkage_draws_small_raters_more_and_needs_three():
    found = shrink_shares(shares_of([(90, 100), (40, 100), (60, 100), (2, 2), (20, 100)]))
    assert 0.85 < found.raters["0"].value < 0.9
    assert found.raters["3"].value < 0.85
    with pytest.raises(TooFewRatings):
        shrink_shares(shares_of([(1, 2), (1, 2)]))


def test_groups_have_their_minimum_and_mean():
    rates = shares_of([(9, 10), (5, 10), (7, 10), (10, 10)])
    found = summarise_groups(
        rates,
        {"0": "onsite", "1": "onsite", "2": "onsite", "3": "judge", "late": "onsite"},
        too_few={"late": 3},
        draws=50,
    )
    onsite = found["onsite"]
    assert (onsite.n, onsite.too_few, onsite.minimum, onsite.lowest) == (3, 1, 0.5, "1")
    assert onsite.mean == pytest.approx(0.7)
    assert onsite.rates == (0.5, 0.7, 0.9)
    # Leaving one of 0.9, 0.5, 0.7 out: means 0.6, 0.8, 0.7.
    assert (onsite.low, onsite.high) == pytest.approx((0.6, 0.8))
    assert onsite.interval_kind == "leave_one_out_range"
    assert found["judge"].shrunk == {}
    assert found["judge"].interval_kind == "none"
