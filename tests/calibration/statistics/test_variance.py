import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.raters.consensus import dawid_skene, majority_consensus
from calibration.statistics.raters.decision import TargetOutOfReach, cheapest_design, decide
from calibration.statistics.raters.severity import fit_severity
from calibration.statistics.raters.variance import ConfoundedEffects, split_ratings, split_variance
from tests.calibration.undefined import undefined


def crossed(rng, items, raters, *, models=1, repeats=1, sd):
    """A complete design of planted standard deviations: scores, item, rater, model."""
    model, item, rater, _ = (axis.ravel() for axis in np.indices((models, items, raters, repeats)))
    cell = (model * items + item) * raters + rater
    scores = (
        3
        + rng.normal(scale=sd.get("model", 0), size=models)[model]
        + rng.normal(scale=sd.get("item", 0), size=items)[item]
        + rng.normal(scale=sd.get("response", 0), size=models * items)[model * items + item]
        + rng.normal(scale=sd.get("rater", 0), size=raters)[rater]
        + rng.normal(scale=sd.get("residual", 0), size=models * items * raters)[cell]
        + rng.normal(scale=sd.get("repeat", 0), size=cell.size)
    )
    return scores, item, rater, model


def test_balanced_two_way_is_the_analysis_of_variance():
    # Shrout and Fleiss (1979), table 2: mean squares 11.24 between targets, 32.49 judges, 1.02 residual.
    table = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    item, rater = (axis.ravel() for axis in np.indices(table.shape))
    found = split_ratings(table.ravel(), items=item, raters=rater).components
    n, k = table.shape
    between = k * table.mean(axis=1).var(ddof=1)
    judges = n * table.mean(axis=0).var(ddof=1)
    centred = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    residual = (centred**2).sum() / ((n - 1) * (k - 1))
    assert (between, judges, residual) == pytest.approx((11.24, 32.49, 1.02), abs=0.005)
    assert found["item"].variance == pytest.approx((between - residual) / k)
    assert found["rater"].variance == pytest.approx((judges - residual) / n)
    assert found["residual"].variance == pytest.approx(residual)


def test_variances_planted_in_an_unbalanced_design_are_recovered():
    rng = np.random.default_rng(1)
    sd = {"model": 0.5, "item": 0.6, "response": 0.7, "rater": 0.4, "residual": 0.5, "repeat": 0.3}
    scores, item, rater, model = crossed(rng, 60, 30, models=30, repeats=2, sd=sd)
    kept = rng.uniform(size=scores.size) < 0.3
    found = split_ratings(scores[kept], items=item[kept], raters=rater[kept], models=model[kept]).components
    for name, planted in sd.items():
        assert found[name].variance == pytest.approx(planted**2, rel=0.45), name
    assert found["repeat"].variance == pytest.approx(0.09, rel=0.05)
    assert sum(one.share for one in found.values()) == pytest.approx(1)


def test_moments_are_near_restricted_maximum_likelihood():
    rng = np.random.default_rng(2)
    scores, item, rater, _ = crossed(rng, 60, 20, sd={"item": 0.8, "rater": 0.5, "residual": 0.6})
    kept = rng.uniform(size=scores.size) < 0.6
    scores, item, rater = scores[kept], item[kept], rater[kept]
    found = split_ratings(scores, items=item, raters=rater).components
    tables = [np.eye(60)[item], np.eye(20)[rater]]
    names = [[[str(i) for i in range(table.shape[1])]] for table in tables]
    spec = VCSpec(["item", "rater"], names, [[table] for table in tables])
    model = MixedLM(scores, np.ones((scores.size, 1)), groups=np.zeros(scores.size), exog_vc=spec)
    reml = model.fit(reml=True)
    ours = [found[name].variance for name in ("item", "rater", "residual")]
    assert ours == pytest.approx([*reml.vcomp, reml.scale], rel=0.1)


def test_order_is_a_source():
    rng = np.random.default_rng(3)
    scores, item, rater, _ = crossed(rng, 80, 20, sd={"item": 0.8, "rater": 0.5, "residual": 0.6})
    order = rng.integers(0, 8, size=scores.size)
    shown = scores + np.array([-0.6, -0.4, -0.2, -0.1, 0.1, 0.2, 0.4, 0.6])[order]
    found = split_ratings(shown, items=item, raters=rater, orders=order)
    # The squares of the eight effects sum to 1.14: over 7 they are .163.
    for name, planted in (("item", 0.64), ("rater", 0.25), ("order", 0.163), ("residual", 0.36)):
        assert found.components[name].variance == pytest.approx(planted, rel=0.4), name


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 10), st.floats(-50, 50))
def test_a_split_scales_with_the_square_and_ignores_the_origin(seed, factor, shift):
    rng = np.random.default_rng(seed)
    scores, item, rater, _ = crossed(rng, 8, 5, sd={"item": 1, "rater": 1, "residual": 1})
    one = split_ratings(scores, items=item, raters=rater)
    other = split_ratings(scores * factor + shift, items=item, raters=rater)
    for name, component in one.components.items():
        assert component.variance >= 0
        assert other.components[name].variance == pytest.approx(component.variance * factor**2, rel=1e-6, abs=1e-9)


def test_a_negative_estimate_becomes_zero_and_stays_visible():
    # Each item's two scores differ by as much as possible: items vary less than chance.
    scores = np.array([1.0, 5, 5, 1, 1, 5, 5, 1])
    found = split_variance(scores, {"item": [0, 0, 1, 1, 2, 2, 3, 3]}).components
    assert found["item"].raw < 0
    assert found["item"].variance == 0
    assert found["residual"].variance == pytest.approx(scores.var(ddof=1))


def test_degenerate_designs_are_named():
    with pytest.raises(ConfoundedEffects, match="item and rater"):
        split_ratings(np.array([1.0, 2, 3, 5]), items=[1, 1, 2, 2], raters=["a", "a", "b", "b"])
    with pytest.raises(ConstantScores):
        split_ratings(np.ones(6), items=[1, 1, 2, 2, 3, 3], raters=[1, 2] * 3)
    with pytest.raises(TooFewRatings):
        split_ratings(np.array([1.0, 2]), items=[1, 2], raters=[1, 1])
    one_rater = split_ratings(np.array([1.0, 2, 3, 2]), items=[1, 1, 2, 2], raters=[1] * 4)
    assert one_rater.single == ("rater",)
    # Within items (1, 2) and (3, 2): squares .5 + .5 over 2 degrees of freedom.
    assert one_rater.components["repeat"].variance == pytest.approx(0.5)


def test_decision_by_hand():
    # Signal 1; error with 1 rater .5 + .25 = .75, 2 raters .375, 1 rater twice .5 + .125 = .625.
    found = decide({"response": 1, "residual": 0.5, "repeat": 0.25}, budget=4)
    assert found.best.raters == 4
    assert found.best.reliability == pytest.approx(1 / (1 + 0.75 / 4))
    assert found.gain_of_rater == pytest.approx(1 / 1.375 - 1 / 1.75)
    assert found.gain_of_repeat == pytest.approx(1 / 1.625 - 1 / 1.75)
    # 1/(1 + .75/R) >= .9 needs R >= 6.75.
    assert cheapest_design(found, 0.9).raters == 7
    with pytest.raises(TargetOutOfReach):
        cheapest_design(found, 0.999)


def test_repeats_pay_where_raters_are_dear_and_noise_is_within_them():
    found = decide({"response": 1, "residual": 0.05, "repeat": 1}, budget=12, rater_cost=4)
    assert found.best.repeats > 1
    # Where raters do not differ, five raters and one rater asked five times are equals.
    assert decide({"item": 1, "repeat": 1}, budget=5).best.raters == 5
    assert decide({"item": 1, "rater": 9}, budget=2, same_raters=True).best.reliability == 1
    with undefined("OutOfRange"):
        decide({"residual": 1}, budget=3)
    with undefined("OutOfRange"):
        decide({"response": 1}, budget=0.5)


def test_severity_is_that_of_statsmodels():
    rng = np.random.default_rng(7)
    scores, item, rater, _ = crossed(rng, 30, 10, sd={"item": 0.8, "rater": 0.6, "residual": 0.5})
    kept = rng.uniform(size=scores.size) < 0.7
    scores, item, rater = scores[kept], item[kept], rater[kept]
    found = fit_severity(scores, items=item, raters=rater)
    tables = [np.eye(10)[rater], np.eye(30)[item]]
    names = [[[f"{part}{i}" for i in range(table.shape[1])]] for part, table in zip("ri", tables, strict=True)]
    spec = VCSpec(["rater", "item"], names, [[table] for table in tables])
    fit = MixedLM(scores, np.ones((scores.size, 1)), groups=np.zeros(scores.size), exog_vc=spec).fit(reml=True)
    effects = np.asarray(fit.random_effects[0])[:10]
    assert [found.raters[i].severity for i in range(10)] == pytest.approx(-effects, abs=1e-4)
    assert found.mean == pytest.approx(float(fit.fe_params[0]), abs=1e-4)
    assert found.estimator == "reml"
    assert found.raters[0].drift == 0


def restricted_likelihood(scores, random, variances, error):
    """The logarithm of the restricted likelihood by its definition, with the whole covariance of the scores."""
    covariance = error * np.eye(scores.size)
    for table, variance in zip(random, variances, strict=True):
        covariance += variance * table @ table.T
    ones = np.ones((scores.size, 1))
    inverse = np.linalg.inv(covariance)
    middle = ones.T @ inverse @ ones
    left = scores - (ones @ np.linalg.solve(middle, ones.T @ inverse @ scores[:, None])).ravel()
    return -0.5 * (np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(middle)[1] + left @ inverse @ left)


@pytest.mark.parametrize("planted", [0.0, 0.05, 0.7])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_variances_near_those_found_are_likelier(planted, seed):
    rng = np.random.default_rng(seed)
    scores, item, rater, _ = crossed(rng, 25, 8, sd={"item": planted, "rater": planted, "residual": 0.5})
    kept = rng.uniform(size=scores.size) < 0.6
    scores, item, rater = scores[kept], item[kept], rater[kept]
    found = fit_severity(scores, items=item, raters=rater)
    random = [np.eye(8)[rater], np.eye(25)[item]]
    best = restricted_likelihood(scores, random, [found.rater_variance, found.item_variance], found.error_variance)
    for part in range(3):
        for step in (-0.01, -0.001, 0.001, 0.01):
            near = np.array([found.rater_variance, found.item_variance, found.error_variance])
            near[part] = max(near[part] + step, 0.0)
            assert restricted_likelihood(scores, random, near[:2], near[2]) <= best + 1e-6


@pytest.mark.parametrize("estimator", ["reml", "moments"])
def test_planted_severity_and_drift_are_recovered(estimator):
    rng = np.random.default_rng(8)
    severity = np.array([1.0, -1, 0.5, -0.5, 0, 0.8, -0.8, 0.3, -0.3, 0])
    items, raters = np.tile(np.arange(40), 10), np.repeat(np.arange(10), 40)
    place = np.concatenate([rng.permutation(40) for _ in range(10)])
    scores = rng.normal(size=40)[items] - severity[raters] + 0.5 * place / 39 + rng.normal(scale=0.4, size=400)
    found = fit_severity(scores, items=items, raters=raters, positions=place, estimator=estimator)
    ours = np.array([found.raters[i].severity for i in range(10)])
    assert ours == pytest.approx(severity - severity.mean(), abs=0.3)
    assert found.common_drift_low < 0.5 < found.common_drift_high
    assert found.raters[0].severity_low < 1 - severity.mean() < found.raters[0].severity_high


def test_a_drift_of_one_rater_is_told_from_the_common_one():
    rng = np.random.default_rng(9)
    items, raters = np.tile(np.arange(50), 8), np.repeat(np.arange(8), 50)
    place = np.concatenate([rng.permutation(50) for _ in range(8)])
    slope = np.array([2.0, 0, 0, 0, 0, 0, 0, -2.0])
    scores = rng.normal(size=50)[items] + slope[raters] * place / 49 + rng.normal(scale=0.4, size=400)
    found = fit_severity(scores, items=items, raters=raters, positions=place)
    assert found.raters[0].drift == pytest.approx(2, abs=0.5)
    assert found.raters[7].drift_high < -0.9
    assert abs(found.raters[3].drift) < 0.5
    assert found.drift_variance > 0.3


@pytest.mark.parametrize("seed", range(1, 80, 2))
def test_raters_who_each_give_one_number_have_a_severity_and_no_error(seed):
    """The better the fit the larger the ratio to the error's variance, which has no largest value here."""
    rng = np.random.default_rng(seed)
    orders, places = [], []
    for _ in range(3):
        orders.append(rng.permutation(17))
        places.append(np.cumsum(rng.exponential(0.01, size=17)))
    raters = np.repeat(np.arange(3), 17)
    found = fit_severity(
        0.25 + 0.25 * raters,
        items=np.concatenate(orders),
        raters=raters,
        positions=np.concatenate(places),
        estimator="reml",
    )
    assert [found.raters[i].severity for i in range(3)] == pytest.approx([0.25, 0, -0.25], abs=1e-4)
    assert found.error_variance < 1e-6 * found.rater_variance


def test_severity_of_degenerate_designs_is_named():
    with pytest.raises(TooFewRatings, match="raters of any one item"):
        fit_severity(np.array([1.0, 2, 3, 4]), items=[1, 2, 3, 4], raters=[1, 1, 2, 2])
    with pytest.raises(TooFewRatings):
        fit_severity(np.array([1.0, 2]), items=[1, 2], raters=[1, 1])
    with pytest.raises(ConstantScores):
        fit_severity(np.ones(4), items=[1, 1, 2, 2], raters=[1, 2, 1, 2])


def test_majority_by_hand():
    found = majority_consensus([1, 1, 1, 2, 2, 3], ["a", "b", "a", "a", "b", "b"])
    assert found.labels == {1: "a", 3: "b"}
    assert (found.tied, found.alone) == ((2,), 1)


def planted_labels(rng, m, tables, prevalence):
    true = rng.choice(len(prevalence), size=m, p=prevalence)
    items = np.tile(np.arange(m), len(tables))
    raters = np.repeat(np.arange(len(tables)), m)
    answers = np.concatenate([[rng.choice(len(prevalence), p=table[label]) for label in true] for table in tables])
    return true, items, answers, raters


def test_dawid_skene_recovers_what_was_planted_and_beats_the_majority():
    rng = np.random.default_rng(10)
    good = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    poor = np.array([[0.4, 0.3, 0.3], [0.5, 0.3, 0.2], [0.5, 0.2, 0.3]])
    true, items, answers, raters = planted_labels(rng, 1500, [good, good, poor, poor, poor], [0.5, 0.3, 0.2])
    found = dawid_skene(items, answers, raters)
    chosen = np.array([found.chosen[i] for i in range(1500)])
    majority = majority_consensus(items, answers).labels
    by_majority = np.array([majority.get(i, -1) for i in range(1500)])
    assert (chosen == true).mean() > 0.88
    assert (chosen == true).mean() > (by_majority == true).mean() + 0.1
    order = [found.labels.index(label) for label in range(3)]
    assert found.prevalence[order] == pytest.approx([0.5, 0.3, 0.2], abs=0.04)
    assert found.confusion[0][np.ix_(order, order)] == pytest.approx(good, abs=0.06)
    assert found.accuracy[0] > 0.85 > found.accuracy[4]
    assert found.posterior.sum(axis=1) == pytest.approx(np.ones(1500))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
@example(4664)  # two pairs of raters are each other's mirror image
def test_consensus_does_not_depend_on_names_or_order(seed):
    rng = np.random.default_rng(seed)
    table = np.array([[0.8, 0.2], [0.3, 0.7]])
    _, items, answers, raters = planted_labels(rng, 25, [table] * 4, [0.6, 0.4])
    if np.unique(answers).size < 2:
        return
    one = dawid_skene(items, answers, raters, max_iterations=20_000)
    order = rng.permutation(items.size)
    names = np.array(["no", "yes"])
    other = dawid_skene(items[order], names[answers[order]].tolist(), raters[order], max_iterations=20_000)
    for place, item in enumerate(one.items):
        line = other.items.index(item)
        for column, label in enumerate(one.labels):
            theirs = other.posterior[line, other.labels.index(str(names[label]))]
            assert one.posterior[place, column] == pytest.approx(theirs, abs=1e-3)


def test_consensus_that_cannot_be_found_is_named():
    with undefined("NoDisagreementPossible"):
        dawid_skene([1, 1], ["a", "a"], [1, 2])
    with pytest.raises(TooFewRatings):
        dawid_skene([1, 2], ["a", "b"], [1, 1])
    rng = np.random.default_rng(11)
    table = np.array([[0.6, 0.4], [0.4, 0.6]])
    _, items, answers, raters = planted_labels(rng, 60, [table] * 3, [0.5, 0.5])
    with undefined("NotConverged"):
        dawid_skene(items, answers, raters, max_iterations=2)
