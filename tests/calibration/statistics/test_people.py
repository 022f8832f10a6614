"""Statistics of people: coefficients with both intervals, named raters, severity, labels of items, sensitivity."""

import numpy as np
import pytest

from calibration.statistics.agreement.kappas import cohen_kappa, fleiss_kappa, gwet_ac1
from calibration.statistics.agreement.proportions import clustered_proportions, plain_proportion, share_ends_of_clusters
from calibration.statistics.agreement.rater_correlations import icc, rater_matrix
from calibration.statistics.agreement.such_correlations import icc_variance, pair_agreements, pair_correlation_variance
from calibration.statistics.agreement.such_raters import kappa_variance
from calibration.statistics.crossed import holm
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.populations import pooled_variance, such_raters, these_raters
from calibration.statistics.raters.consensus import dawid_skene
from calibration.statistics.raters.hints import hint_effect, hint_variance
from calibration.statistics.raters.posteriors import item_labels
from calibration.statistics.raters.reliability import accuracy_within_sigma
from calibration.statistics.raters.severity_spread import severity_spread
from calibration.statistics.raters.standing import standings
from calibration.statistics.raters.truth import label_rates, shown_labels
from tests.calibration.undefined import undefined


def scores_of(rng, instructions=40, pool=5, severity=0.4, taste=None):
    """Tasks, raters, instructions and scores of raters who all rate everything."""
    latent = rng.normal(size=(instructions, 1))
    taste = np.ones(pool) if taste is None else np.asarray(taste, dtype=float)
    seen = 3 + latent * taste + rng.normal(0, severity, pool) + rng.normal(0, 0.5, (instructions, pool))
    codes = np.repeat(np.arange(instructions), pool)
    return codes, np.tile(np.arange(pool), instructions), codes, np.clip(np.rint(seen), 1, 5).ravel()


def test_ac1_of_a_table_by_hand():
    """Gwet (2008), two raters and two labels: 80 agree on the first, 5 on the second, 15 differ; pe = 2 p (1 - p)."""
    first = np.array([0] * 80 + [1] * 5 + [0] * 10 + [1] * 5)
    second = np.array([0] * 80 + [1] * 5 + [1] * 10 + [0] * 5)
    found = gwet_ac1(np.repeat(np.arange(100), 2), np.column_stack([first, second]).ravel())
    share = (2 * 80 + 15) / 200
    assert found.observed == pytest.approx(0.85)
    assert found.expected == pytest.approx(2 * share * (1 - share))
    assert found.value == pytest.approx((0.85 - found.expected) / (1 - found.expected))
    assert (
        found.value
        > 2 * fleiss_kappa(np.repeat(np.arange(100), 2), np.column_stack([first, second]).ravel()).value * 0.9
    )


def test_ac1_takes_unequal_numbers_of_raters_and_lone_labels_for_chance_only():
    tasks = np.array([0, 0, 0, 1, 1, 2])
    labels = np.array([0, 0, 1, 1, 1, 2])
    found = gwet_ac1(tasks, labels)
    shares = np.array([2 / 3, 1 / 3 + 1, 1]) / 3
    assert found.observed == pytest.approx((1 / 3 + 1) / 2)
    assert found.expected == pytest.approx((shares * (1 - shares)).sum() / 2)


@pytest.mark.parametrize(("chance", "plain"), [("fleiss", fleiss_kappa), ("gwet", gwet_ac1)])
def test_kappas_of_both_populations_have_the_value_of_their_own_function(chance, plain):
    tasks, raters, instructions, scores = scores_of(np.random.default_rng(1))
    labels = scores.astype(int)
    kept = np.random.default_rng(2).random(tasks.size) < 0.7
    data = tasks[kept], labels[kept]
    found = kappa_variance(*data, raters[kept], instructions[kept], chance=chance)
    assert found.value[0] == pytest.approx(plain(*data).value, abs=1e-12)
    left = [plain(*(one[tasks[kept] != task] for one in data)).value for task in np.unique(data[0])]
    n = len(left)
    assert found.these[0] == pytest.approx((n - 1) / n * ((left - np.mean(left)) ** 2).sum(), rel=1e-9)


def test_intraclass_correlations_of_a_complete_table_are_those_of_the_analysis_of_variance():
    tasks, raters, instructions, scores = scores_of(np.random.default_rng(3))
    plain = icc(tasks, raters, scores)
    found = icc_variance(tasks, raters, scores, instructions)
    assert found.value == pytest.approx([plain.icc1, plain.icc21, plain.icc2k], abs=1e-10)
    assert (found.such >= found.these).all()
    left = np.array([icc(tasks[tasks != one], raters[tasks != one], scores[tasks != one]).icc21 for one in range(40)])
    assert found.these[1] == pytest.approx(39 / 40 * ((left - left.mean()) ** 2).sum(), rel=1e-9)


def test_the_mean_correlation_is_that_of_the_matrix():
    tasks, raters, instructions, scores = scores_of(np.random.default_rng(4))
    matrix = rater_matrix(tasks, raters, scores).pearson
    found = pair_correlation_variance(tasks, raters, scores, instructions)
    assert found.value[0] == pytest.approx(matrix[np.triu_indices(5, 1)].mean(), abs=1e-10)


def test_pairs_have_the_coefficients_of_their_own_functions_and_no_interval_of_few_instructions():
    tasks, raters, instructions, scores = scores_of(np.random.default_rng(5))
    pairs = pair_agreements(tasks, raters, scores, instructions, weights="quadratic")
    assert [(one.first, one.second) for one in pairs][:2] == [(0, 1), (0, 2)]
    one, two = scores[raters == 0], scores[raters == 1]
    assert pairs[0].pearson == pytest.approx(np.corrcoef(one, two)[0, 1])
    assert pairs[0].kappa == pytest.approx(cohen_kappa(one.astype(int), two.astype(int), weights="quadratic").value)
    assert pairs[0].pearson_low < pairs[0].pearson < pairs[0].pearson_high
    few = tasks < 19
    assert np.isnan(pair_agreements(tasks[few], raters[few], scores[few], instructions[few])[0].pearson_low)


def test_a_pooled_share_widens_by_its_raters_and_keeps_width_at_one():
    rng = np.random.default_rng(6)
    chance = np.array([0.5, 0.95, 0.6, 0.9, 0.7])
    hit = rng.random((60, 5)) < chance
    codes, raters = np.repeat(np.arange(60), 5), np.tile(np.arange(5), 60)
    found = pooled_variance(hit.ravel().astype(float), np.ones(300), raters, codes)
    assert found.value[0] == pytest.approx(hit.mean())
    such, these = such_raters(found, "share"), these_raters(found, "share")
    assert such.high[0] - such.low[0] > 2 * (these.high[0] - these.low[0])
    everything = pooled_variance(np.ones(300), np.ones(300), raters, codes)
    assert such_raters(everything, "share").low[0] < 0.95
    assert such_raters(everything, "share").high[0] == 1


def test_shares_of_clusters_keep_width_at_the_ends():
    for share in (0.0, 1.0):
        low, high = share_ends_of_clusters(np.full(30, share), np.ones(30))
        assert high - low > 0.1


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([])).size == 0


def test_an_inverted_and_a_guessing_rater_are_named_and_ordinary_ones_are_not():
    tasks, raters, instructions, scores = scores_of(
        np.random.default_rng(7), instructions=80, pool=7, taste=[1, 1, -1, 1, 0, 1, 1]
    )
    found = standings(scores, items=tasks, raters=raters, instructions=instructions)
    assert {rater: one.verdict for rater, one in found.items() if one.verdict} == {2: "inverted", 4: "random"}
    assert found[2].high < 0 < found[4].high
    assert found[2].p < 0.001 < found[4].p


def test_a_rater_alone_has_nobody_to_compare_with():
    tasks = np.concatenate([np.repeat(np.arange(30), 2), np.arange(100, 130)])
    raters = np.concatenate([np.tile([0, 1], 30), np.full(30, 9)])
    scores = np.random.default_rng(8).integers(1, 6, 90).astype(float)
    found = standings(scores, items=tasks, raters=raters, instructions=tasks)
    assert found[9].unstated == "nobody"
    assert found[0].unstated == ""
    accurate = accuracy_within_sigma(scores, items=tasks, raters=raters)
    assert accurate.nobody == (9,)
    assert 9 not in accurate.raters
    with undefined("NobodyToCompare"):
        severity_spread(scores, items=tasks, raters=tasks, clusters=tasks, worth=0.2)
    with undefined("NobodyToCompare"):
        accuracy_within_sigma(scores[60:], items=tasks[60:], raters=tasks[60:] % 3)


def test_severity_is_shown_with_an_interval_where_there_is_some():
    rng = np.random.default_rng(9)
    severe = np.array([-0.8, -0.3, 0.0, 0.4, 0.9, -0.2])
    scores = rng.normal(size=(50, 1)) + severe + rng.normal(0, 0.5, (50, 6))
    codes, raters = np.repeat(np.arange(50), 6), np.tile(np.arange(6), 50)
    found = severity_spread(scores.ravel(), items=codes, raters=raters, clusters=codes, worth=0.2)
    assert found.shown and found.p < 0.001
    assert found.low < severe.std(ddof=1) < found.high
    assert found.sd == pytest.approx(scores.mean(axis=0).std(ddof=1), rel=0.05)
    equal = severity_spread((scores - severe).ravel(), items=codes, raters=raters, clusters=codes, worth=0.2)
    assert not equal.shown
    assert (equal.low, equal.p > 0.025) == (0, True)
    assert equal.needed > 0
    with pytest.raises(TooFewRatings):
        severity_spread(scores[:19].ravel(), items=codes[:114], raters=raters[:114], clusters=codes[:114], worth=0.2)


def test_hints_have_the_same_value_for_both_populations():
    rng = np.random.default_rng(10)
    codes, raters = np.repeat(np.arange(40), 6), np.tile(np.arange(6), 40)
    saw = rng.random(240) < 0.5
    scores = 3 + rng.normal(size=40)[codes] * 0.5 + np.where(saw, 0.0, 0.4) + rng.normal(0, 0.3, 240)
    plain = hint_effect(scores, saw, codes, clusters=codes)
    found = hint_variance(scores, saw, codes, raters=raters, instructions=codes)
    assert found.value == pytest.approx([plain.difference.value, plain.percent.value])
    ends = such_raters(found, "plain")
    assert ends.low[0] < 0.4 < ends.high[0]


def test_a_task_on_which_everybody_splits_is_named_and_the_others_have_sure_labels():
    rng = np.random.default_rng(11)
    truth = np.arange(60) % 2
    wrong = rng.random((60, 10)) < 0.05
    answers = truth[:, None] ^ wrong
    answers[7] = np.arange(10) % 2
    codes, raters = np.repeat(np.arange(60), 10), np.tile(np.arange(10), 60)
    found = item_labels(dawid_skene(codes, answers.ravel(), raters), codes, answers.ravel(), raters)
    assert [one.item for one in found.items if one.split] == [7]
    assert found.items[0].item == 7
    assert (found.items[0].first, found.items[0].second, found.items[0].answers) == (5, 5, 10)
    assert 2 < found.raters_needed < 12
    assert all(one.low <= one.probability <= one.high for one in found.items)
    sure = [one for one in found.items if one.second == 0]
    assert min(one.low for one in sure) > 0.95


def test_sensitivity_and_specificity_by_hand():
    truth = np.array([1.0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    labels = np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 0, 1])
    (found,) = label_rates(labels, truth, raters=["a"] * 10, clusters=list(range(10)))
    assert (found.label, found.sensitivity.hits, found.sensitivity.n) == (1.0, 3, 4)
    assert found.sensitivity == plain_proportion(3, 4)
    assert (found.specificity.hits, found.specificity.n) == (5, 6)
    assert shown_labels(np.array([0.0, 2, 1])) == [0.0, 1.0, 2.0]
    alone = label_rates(labels[:4], truth[:4], raters=["a"] * 4, clusters=list(range(4)))
    assert alone[0].specificity is None


def test_categories_of_different_raters_may_reverse_what_holds_in_each():
    """Simpson: within each category nobody agrees beyond chance; together they do, because the categories differ."""
    rng = np.random.default_rng(12)
    first = rng.choice([0, 1], p=[0.9, 0.1], size=(200, 3))
    second = rng.choice([0, 1], p=[0.1, 0.9], size=(200, 3))
    both = np.concatenate([first, second])
    tasks, raters = np.repeat(np.arange(400), 3), np.tile(np.arange(3), 400)
    together = kappa_variance(tasks, both.ravel(), raters, tasks, chance="fleiss")
    assert these_raters(together, "correlation").low[0] > 0.4
    for part in (slice(0, 600), slice(600, 1200)):
        own = kappa_variance(tasks[part], both.ravel()[part], raters[part], tasks[part], chance="fleiss")
        assert these_raters(own, "correlation").low[0] < 0.05


def test_one_proportion_near_one_is_never_certain():
    found = clustered_proportions(np.ones(40, dtype=bool), ["a"] * 40, np.repeat(np.arange(20), 2))["a"]
    assert found.low < 0.9
