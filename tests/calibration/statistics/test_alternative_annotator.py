import csv

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from calibration.statistics.agreement.alternative_annotator import alternative_annotator_test, benjamini_yekutieli
from calibration.statistics.errors import NoStatistic, OutOfRange, TooFewRatings


def dense(table):
    """Items, labels and raters of a complete table (items, raters)."""
    item, rater = (axis.ravel() for axis in np.indices(table.shape))
    return item, table.ravel(), rater


def plain_wins(table, judge, score):
    """The paper's W for judge and rater, by loops over items and left-out raters: (items, raters) each."""
    by_judge, by_rater = np.zeros(table.shape), np.zeros(table.shape)
    for i, row in enumerate(table):
        for j, own in enumerate(row):
            others = np.delete(row, j)
            for_judge, for_rater = score(judge[i], others), score(own, others)
            by_judge[i, j] = for_judge >= for_rater - 1e-9
            by_rater[i, j] = for_rater >= for_judge - 1e-9
    return by_judge, by_rater


SCORES = {
    "categorical": lambda own, others: np.mean(own == others),
    "numeric": lambda own, others: -np.sqrt(np.mean((own - others) ** 2)),
}


def test_one_item_by_hand():
    # Labels 1, 1, 2; judge 1. Rater 0 out: judge agrees with 1/2 of (1, 2), so does the rater: both win.
    # Rater 1 the same. Rater 2 out: judge agrees with 2/2 of (1, 1), the rater with none: the judge wins.
    table = np.array([[1, 1, 2]] * 2)
    found = alternative_annotator_test(
        *dense(table), {0: 1, 1: 1}, kind="categorical", epsilon=0.1, min_items=1, draws=0
    )
    assert [found.raters[j].judge_advantage for j in range(3)] == [1, 1, 1]
    assert [found.raters[j].rater_advantage for j in range(3)] == [1, 1, 0]
    # The differences are 0, 0, -1 on every item, all below epsilon without any chance.
    assert (found.winning_rate, found.passed, found.advantage) == (1, True, 1)


@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_p_values_are_those_of_the_paired_t_test_of_the_definition(kind):
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, size=80)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, size=(80, 4)), 1, 5)
    judge = np.clip(truth + rng.integers(-1, 2, size=80), 1, 5)
    found = alternative_annotator_test(
        *dense(table), dict(enumerate(judge.tolist())), kind=kind, epsilon=0.2, draws=100
    )
    by_judge, by_rater = plain_wins(table, judge, SCORES[kind])
    for j in range(4):
        assert found.raters[j].judge_advantage == pytest.approx(by_judge[:, j].mean())
        assert found.raters[j].rater_advantage == pytest.approx(by_rater[:, j].mean())
        expected = ttest_1samp(by_rater[:, j] - by_judge[:, j], 0.2, alternative="less").pvalue
        assert found.raters[j].p == pytest.approx(expected)
    assert found.advantage == pytest.approx(by_judge.mean())
    assert found.low <= found.advantage <= found.high
    won = multipletests([found.raters[j].p for j in range(4)], alpha=0.05, method="fdr_by")[0]
    assert [found.raters[j].won for j in range(4)] == won.tolist()
    assert found.winning_rate == won.mean()


def test_a_perfect_judge_passes_and_a_random_one_does_not():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, size=150)
    noisy = rng.uniform(size=(150, 5)) < 0.2
    table = np.where(noisy, rng.integers(0, 3, size=(150, 5)), truth[:, None])
    judges = {"perfect": truth, "random": rng.integers(0, 3, size=150)}
    found = {
        name: alternative_annotator_test(
            *dense(table), dict(enumerate(own.tolist())), kind="categorical", epsilon=0.1, draws=0
        )
        for name, own in judges.items()
    }
    assert found["perfect"].passed
    assert found["perfect"].winning_rate == 1
    assert not found["random"].passed
    assert found["random"].winning_rate == 0


def test_clusters_of_one_item_are_the_plain_test_and_larger_ones_are_less_sure():
    rng = np.random.default_rng(3)
    truth = np.repeat(rng.integers(1, 6, size=30), 4)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, size=(120, 3)), 1, 5)
    judge = dict(enumerate(np.clip(truth + np.repeat(rng.integers(-1, 2, size=30), 4), 1, 5).tolist()))
    item, labels, rater = dense(table)
    arguments = {"kind": "numeric", "epsilon": 0.2, "draws": 0}
    plain = alternative_annotator_test(item, labels, rater, judge, **arguments)
    same = alternative_annotator_test(item, labels, rater, judge, clusters=item, **arguments)
    clustered = alternative_annotator_test(item, labels, rater, judge, clusters=item // 4, **arguments)
    assert plain == same
    assert clustered.raters[0].clusters == 30
    assert clustered.raters[0].p > plain.raters[0].p


def test_lonely_ratings_unjudged_items_and_idle_raters_are_counted():
    item, labels, rater = dense(np.tile([1, 2, 2], (6, 1)))
    found = alternative_annotator_test(
        [*item, 77, 0],
        [*labels, 1, 1],
        [*rater, 0, 9],
        {**dict.fromkeys(range(5), 2), 77: 1},
        kind="categorical",
        epsilon=0.1,
        min_items=2,
        draws=0,
    )
    assert (found.alone, found.unjudged, found.left_out) == (1, 3, {9: 1})
    assert found.raters[0].n == 5


def test_degenerate_input_is_named():
    item, labels, rater = dense(np.ones((40, 2)))
    judge = dict.fromkeys(range(40), 1)
    with pytest.raises(TooFewRatings, match="raters with 30 shared items"):
        alternative_annotator_test(item, labels, rater, judge, kind="categorical", epsilon=0.1)
    with pytest.raises(OutOfRange):
        alternative_annotator_test(item, labels, rater, judge, kind="categorical", epsilon=2)
    with pytest.raises(NoStatistic, match="more than once"):
        alternative_annotator_test([1, 1], [1, 2], [1, 1], judge, kind="numeric", epsilon=0.1)
    with pytest.raises(TooFewRatings):
        alternative_annotator_test([], [], [], judge, kind="numeric", epsilon=0.1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.01, 0.2))
def test_the_false_discovery_rate_is_held_as_statsmodels_holds_it(p, q):
    assert benjamini_yekutieli(np.array(p), q).tolist() == multipletests(p, alpha=q, method="fdr_by")[0].tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.5, 5), st.floats(-9, 9))
def test_numbers_may_be_shifted_scaled_and_raters_permuted(seed, factor, shift):
    rng = np.random.default_rng(seed)
    table, judge = rng.integers(1, 6, size=(12, 4)).astype(float), rng.integers(1, 6, size=12).astype(float)
    arguments = {"kind": "numeric", "epsilon": 0.15, "min_items": 2, "draws": 0}
    one = alternative_annotator_test(*dense(table), dict(enumerate(judge)), **arguments)
    order = rng.permutation(4)
    other = alternative_annotator_test(
        *dense(table[:, order] * factor + shift), dict(enumerate(judge * factor + shift)), **arguments
    )
    assert other.winning_rate == one.winning_rate
    for place, j in enumerate(order):
        assert other.raters[place].judge_advantage == one.raters[j].judge_advantage


def test_a_real_judge_is_weaker_than_three_raters_who_were_filtered_for_agreement(shared_data):
    with shared_data("pandalm_wide.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["judge_pandalm7b"]]
    table = np.array([[int(row[f"annotator{k}"]) for k in (1, 2, 3)] for row in rows])
    judge = np.array([int(row["judge_pandalm7b"]) for row in rows])
    found = alternative_annotator_test(
        *dense(table), dict(enumerate(judge.tolist())), kind="categorical", epsilon=0.1, draws=0
    )
    by_judge, _ = plain_wins(table, judge, SCORES["categorical"])
    assert found.advantage == pytest.approx(by_judge.mean())
    assert not found.passed
