import csv

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from calibration.statistics.agreement import alternative_annotator
from calibration.statistics.agreement.alternative_annotator import (
    against_raters,
    alternative_annotator_test,
    benjamini_yekutieli,
    items_needed,
)
from calibration.statistics.errors import NoStatistic, TooFewRatings
from tests.calibration.undefined import undefined


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
    found = alternative_annotator_test(*dense(table), {0: 1, 1: 1}, kind="categorical", epsilon=0.1, min_items=1)
    assert [found.raters[j].judge_advantage for j in range(3)] == [1, 1, 1]
    assert [found.raters[j].rater_advantage for j in range(3)] == [1, 1, 0]
    # The differences are 0, 0, -1 on both items: with a mean of .1 or more that has a chance of at most .9^2, .9^2, .45^2.
    assert [found.raters[j].p for j in range(3)] == pytest.approx([0.81, 0.81, 0.2025])
    assert (found.winning_rate, found.passed, found.shown, found.advantage.value) == (0, False, "not_shown", 1)


def test_what_never_differs_is_shown_only_from_enough_items_on():
    """Judge and raters say the same of everything: with a mean of .1 or more, n items do so with a chance of .9^n."""
    for n, won in ((30, False), (60, True)):
        found = alternative_annotator_test(
            *dense(np.ones((n, 3))), dict.fromkeys(range(n), 1.0), kind="categorical", epsilon=0.1
        )
        assert found.raters[0].p == pytest.approx(0.9**n) and found.passed is won
        assert found.advantage.low < 1 == found.advantage.high


@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_p_values_are_those_of_the_paired_t_test_of_the_definition(kind):
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, size=80)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, size=(80, 4)), 1, 5)
    judge = np.clip(truth + rng.integers(-1, 2, size=80), 1, 5)
    found = alternative_annotator_test(*dense(table), dict(enumerate(judge.tolist())), kind=kind, epsilon=0.2)
    by_judge, by_rater = plain_wins(table, judge, SCORES[kind])
    for j in range(4):
        assert found.raters[j].judge_advantage == pytest.approx(by_judge[:, j].mean())
        assert found.raters[j].rater_advantage == pytest.approx(by_rater[:, j].mean())
        expected = ttest_1samp(by_rater[:, j] - by_judge[:, j], 0.2, alternative="less").pvalue
        assert found.raters[j].p == pytest.approx(expected)
        against = ttest_1samp(by_rater[:, j] - by_judge[:, j], 0.2, alternative="greater").pvalue
        assert found.raters[j].p_worse == pytest.approx(against)
    assert found.advantage.value == pytest.approx(by_judge.mean())
    such, low, high = (found.advantage.low, found.advantage.high), found.advantage.these_low, found.advantage.these_high
    assert such[0] < low < found.advantage.value < high < such[1]
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
        name: alternative_annotator_test(*dense(table), dict(enumerate(own.tolist())), kind="categorical", epsilon=0.1)
        for name, own in judges.items()
    }
    assert found["perfect"].passed
    assert found["perfect"].winning_rate == 1
    assert found["random"].shown == "does_not"
    assert found["random"].winning_rate == 0


def test_a_judge_like_the_raters_is_not_refused_for_lack_of_items():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, size=2_000)
    table = np.where(rng.uniform(size=(2_000, 4)) < 0.3, rng.integers(0, 3, size=(2_000, 4)), truth[:, None])
    people, judge = table[:, :3], dict(enumerate(table[:, 3].tolist()))
    few = alternative_annotator_test(*dense(people[:60]), judge, kind="categorical", epsilon=0.1)
    assert (few.passed, few.shown) == (False, "not_shown")
    assert few.needed > 60
    many = alternative_annotator_test(*dense(people), judge, kind="categorical", epsilon=0.1)
    assert (many.shown, many.needed) == ("replaces", None)


def test_each_rater_falls_in_four_fifths_of_studies_with_the_items_needed():
    rng = np.random.default_rng(6)

    def study(n):
        truth = rng.integers(0, 2, size=n)
        table = np.where(rng.uniform(size=(n, 4)) < 0.25, 1 - truth[:, None], truth[:, None])
        return *dense(table[:, :3]), dict(enumerate(table[:, 3].tolist()))

    endless = against_raters(*study(50_000), kind="categorical")
    n = items_needed(list(endless.contests.values()), 0.1, 0.05)
    p = [
        contest.p
        for _ in range(150)
        for contest in alternative_annotator_test(*study(n), kind="categorical", epsilon=0.1).raters.values()
    ]
    # The second of three raters falls below 2/3 of .05/(1 + 1/2 + 1/3).
    assert 0.72 < np.mean(np.array(p) < 2 / 3 * 0.05 / (1 + 1 / 2 + 1 / 3)) < 0.88


@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_leaving_out_a_rater_leaves_it_out_among_the_others_too(kind, monkeypatch):
    rng = np.random.default_rng(8)
    table, judge = rng.integers(1, 5, size=(30, 4)).astype(float), rng.integers(1, 5, size=30).astype(float)
    seen = {}
    kept = alternative_annotator.estimates_of

    def noted(sums, statistic, scales, **more):
        seen.update(sums=sums, statistic=statistic)
        return kept(sums, statistic, scales, **more)

    monkeypatch.setattr(alternative_annotator, "estimates_of", noted)
    alternative_annotator_test(*dense(table), dict(enumerate(judge)), kind=kind, epsilon=0.1)
    sums, lines = seen["sums"], len(seen["sums"].rater)
    whole, without = sums.whole(0, 30), sums.without(0, lines)
    for gone in range(4):
        left = whole.sum(axis=0) - sum(
            whole[line // 4] - without[line] for line in range(lines) if sums.rater[line] == gone
        )
        by_judge, _ = plain_wins(np.delete(table, gone, axis=1), judge, SCORES[kind])
        assert seen["statistic"](left[None])[0][0, 0] == pytest.approx(by_judge.mean())
    cell = whole.sum(axis=0) - whole[7] + without[4 * 7 + 2]
    wins = plain_wins(table, judge, SCORES[kind])[0]
    shares = [np.delete(wins[:, j], 7).sum() for j in range(4)]
    fewer = plain_wins(np.delete(table[7:8], 2, axis=1), judge[7:8], SCORES[kind])[0][0]
    expected = [(shares[j] + one) / 30 for j, one in zip((0, 1, 3), fewer, strict=True)] + [shares[2] / 29]
    assert seen["statistic"](cell[None])[0][0, 0] == pytest.approx(np.mean(expected))


def test_clusters_of_one_item_are_the_plain_test_and_larger_ones_are_less_sure():
    rng = np.random.default_rng(3)
    truth = np.repeat(rng.integers(1, 6, size=30), 4)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, size=(120, 3)), 1, 5)
    judge = dict(enumerate(np.clip(truth + np.repeat(rng.integers(-1, 2, size=30), 4), 1, 5).tolist()))
    item, labels, rater = dense(table)
    arguments = {"kind": "numeric", "epsilon": 0.2}
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
    )
    assert (found.alone, found.unjudged, found.left_out) == (1, 3, {9: 1})
    assert found.raters[0].n == 5


def test_degenerate_input_is_named():
    item, labels, rater = dense(np.ones((40, 2)))
    judge = dict.fromkeys(range(40), 1)
    with pytest.raises(TooFewRatings, match="raters with 30 shared items"):
        alternative_annotator_test(item, labels, rater, judge, kind="categorical", epsilon=0.1)
    with undefined("OutOfRange"):
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
    arguments = {"kind": "numeric", "epsilon": 0.15, "min_items": 2}
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
    found = alternative_annotator_test(*dense(table), dict(enumerate(judge.tolist())), kind="categorical", epsilon=0.1)
    by_judge, _ = plain_wins(table, judge, SCORES["categorical"])
    assert found.advantage.value == pytest.approx(by_judge.mean())
    assert found.shown == "does_not"
