"""Correlations of a judge with people: values, intervals for these and for such raters, p, slopes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr, t as student

from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.judges.correlations import (
    ScoredResponses,
    compare_methods,
    judge_correlation,
    judge_minus_people,
    people_correlation,
)
from calibration.statistics.judges.estimates import best_of_pairs, holm, opposite_sides

COEFFICIENTS = ("spearman", "kendall", "pearson")


def by_one(judge, people, instruction=None, model=None):
    """Responses that a judge and one person scored."""
    places = np.arange(len(judge))
    return ScoredResponses(
        np.asarray(judge, dtype=float),
        places if instruction is None else np.asarray(instruction),
        0 * places if model is None else np.asarray(model),
        places,
        0 * places,
        np.asarray(people, dtype=float),
    )


def by_several(rng, instructions=30, each=2, pool=6, raters=3, noise=0.5, severity=0.3):
    """Responses with a quality of their own, which the judge and three of six raters see with errors."""
    m = instructions * each
    quality = rng.normal(size=instructions).repeat(each) + rng.normal(size=m)
    judge = quality + noise * rng.normal(size=m)
    rater = rng.random((m, pool)).argsort(axis=1)[:, :raters].ravel()
    value = quality.repeat(raters) + severity * rng.normal(size=pool)[rater] + noise * rng.normal(size=m * raters)
    instruction = np.arange(instructions).repeat(each)
    return ScoredResponses(
        judge, instruction, np.tile(np.arange(each), instructions), np.arange(m).repeat(raters), rater, value
    )


def test_hanna(shared_data):
    """Mean human Coherence and one judge's, story by story; the slots are positions and no persons."""
    human = pd.read_csv(shared_data("hanna_human.csv.gz"))
    judges = pd.read_csv(shared_data("hanna_judges.csv.gz"))
    people = human[human["criterion"] == "Coherence"].groupby("item_id")["score"].mean()
    chosen = (judges["judge"] == "Beluga-13B") & (judges["prompt"] == 1) & (judges["criterion"] == "Coherence")
    judge = judges[chosen].set_index("item_id")["score"]
    found = people_correlation(by_one(judge.loc[people.index].to_numpy(), people.to_numpy()))
    assert found.n == 1056
    assert found.pearson.value == pytest.approx(0.5198, abs=5e-5)
    assert found.spearman.value == pytest.approx(0.4540, abs=5e-5)
    assert found.kendall.value == pytest.approx(0.3561, abs=5e-5)
    for name in COEFFICIENTS:
        one = getattr(found, name)
        assert (one.interval_kind, one.population, one.why_not) == ("crossed95", "these", "few_raters")
        assert one.low < one.value < one.high and one.p < 1e-20


def test_by_hand():
    # x 1 2 3 4 against y 1 3 2 4: rho = 1 - 6*2/(4*15) = .8 = r, as values are ranks; tau = (5 - 1)/6.
    found = people_correlation(by_one([1, 2, 3, 4], [1, 3, 2, 4]))
    assert [getattr(found, name).value for name in COEFFICIENTS] == pytest.approx([0.8, 4 / 6, 0.8])
    assert {getattr(found, name).p for name in COEFFICIENTS} == {None}
    assert found.pearson.interval_kind == "leave_one_out_range"


def test_under_20_instructions_the_range_is_that_of_leaving_one_out():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 18).astype(float)
    y = np.clip(x + rng.integers(-2, 3, 18), 0, 4)
    labels = np.arange(18) // 2
    found = people_correlation(by_one(x, y, labels))
    for name, function in zip(COEFFICIENTS, (spearmanr, kendalltau, pearsonr), strict=True):
        left = [function(x[labels != label], y[labels != label]).statistic for label in range(9)]
        one = getattr(found, name)
        assert (one.low, one.high) == pytest.approx((min(left), max(left))) and one.clusters == 9


def test_the_p_value_inverts_the_interval():
    """By hand from the replicates of Pearson's r, one person a response: Fisher's scale, t with I - 1 degrees of freedom."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    y = 0.2 * x + rng.normal(size=60)
    labels = np.arange(60) // 2
    one = people_correlation(by_one(x, y, labels)).pearson
    left = np.array([pearsonr(x[labels != label], y[labels != label]).statistic for label in range(30)])
    error = np.sqrt(29 / 30 * ((left - left.mean()) ** 2).sum()) / (1 - one.value**2)
    assert one.p == pytest.approx(2 * student.sf(np.arctanh(one.value) / error, 29))
    assert one.low == pytest.approx(np.tanh(np.arctanh(one.value) - student.ppf(0.975, 29) * error))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(2, 40))
        found = people_correlation(by_one(x, y + 0.3 * x, np.arange(40) // 2)).spearman
        assert (found.p < 0.05) == found.excludes_zero


def test_independent_rows_would_say_too_much():
    """Instructions shift judge and people alike: what is one observation to the clusters is ten to the rows."""
    rng = np.random.default_rng(6)
    shared = rng.normal(size=(2, 40, 1))
    x, y = (shared + 0.3 * rng.normal(size=(2, 40, 10))).reshape(2, -1)
    labels = np.repeat(np.arange(40), 10)
    alone, together = people_correlation(by_one(x, y)).pearson, people_correlation(by_one(x, y, labels)).pearson
    assert together.value == pytest.approx(alone.value)
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert alone.p < 0.05 < 0.3 < together.p


def test_raters_like_these_have_the_wider_interval():
    found = judge_correlation(by_several(np.random.default_rng(2)))
    for one in (found.spearman, found.pearson, found.within_instructions):
        assert one.population == "such" and one.low <= one.these_low < one.these_high <= one.high
    few = judge_correlation(by_several(np.random.default_rng(2), pool=2, raters=2)).pearson
    assert (few.population, few.why_not, few.low) == ("these", "few_raters", few.these_low)
    slots = judge_correlation(replace(by_several(np.random.default_rng(2)), positions=True)).pearson
    assert (slots.population, slots.why_not) == ("these", "positions")


def test_the_three_ways_turn_round_where_good_models_get_low_scores():
    """Within every model the judge follows people; over models it is the other way round (Simpson)."""
    rng = np.random.default_rng(3)
    model, instruction = np.tile(np.arange(4), 40), np.arange(40).repeat(4)
    own = rng.normal(size=160)
    found = judge_correlation(by_one(own - 4 * model, own + 4 * model + 0.2 * rng.normal(size=160), instruction, model))
    assert found.pearson.value < -0.8 and found.pearson.high < 0
    assert found.within_models.value > 0.9 and found.within_models.low > 0
    assert found.within_instructions.high < 0
    assert opposite_sides([found.pearson, found.within_models])
    assert not opposite_sides([found.pearson, found.within_instructions, None])


def test_within_groups_is_the_correlation_of_what_is_left():
    data = by_several(np.random.default_rng(4))
    frame = pd.DataFrame({"x": data.judge, "i": data.instruction, "y": data.value.reshape(-1, 3).mean(axis=1)})
    left = frame[["x", "y"]] - frame.groupby("i")[["x", "y"]].transform("mean")
    assert judge_correlation(data).within_instructions.value == pytest.approx(left["x"].corr(left["y"]))


def test_slopes_of_the_judge_and_of_a_typical_person():
    data = by_several(np.random.default_rng(5), instructions=400)
    found = judge_correlation(data, intervals=False).slopes
    mean = data.value.reshape(-1, 3).mean(axis=1)
    assert found.judge.value == pytest.approx(np.polyfit(data.judge, mean, 1)[0])
    # Quality has variance 2, own errors .25: others' score rises by 2/2.25 with one's own, but for raters' severity.
    assert found.person.value == pytest.approx(2 / 2.25, abs=0.03) == found.judge.value
    loud = judge_correlation(replace(data, judge=3 * data.judge), intervals=False).slopes
    assert loud.judge.value == pytest.approx(found.judge.value / 3) and loud.person == found.person


def test_a_copy_of_a_person_has_no_interval_at_1():
    rng = np.random.default_rng(7)
    y = rng.normal(size=40)
    found = judge_correlation(by_one(y, y)).pearson
    assert (found.value, found.interval_kind, found.p, found.why_not) == (pytest.approx(1), "none", None, "extreme")


def test_one_rater_a_response_says_nothing_of_a_person():
    rng = np.random.default_rng(8)
    data = by_one(*rng.normal(size=(2, 40)))
    found = judge_correlation(replace(data, rater=np.arange(40) % 5))
    assert found.person is None and found.person_n == 0 and found.slopes.person is None
    assert found.pearson.population == "such"


def test_bias_is_the_mean_difference():
    data = by_several(np.random.default_rng(9))
    mean = data.value.reshape(-1, 3).mean(axis=1)
    found = judge_minus_people(data)
    assert found.value == pytest.approx((data.judge - mean).mean()) and found.low < found.value < found.high
    flat = judge_minus_people(replace(data, judge=np.zeros(60)))
    assert flat.value == pytest.approx(-mean.mean())


def test_refusals():
    with pytest.raises(ConstantScores, match="All scores compared equal 2"):
        people_correlation(by_one([2, 2, 2], [1, 2, 3]))
    with pytest.raises(ConstantScores, match="compared against"):
        people_correlation(by_one([1, 2, 3], [0.1, 0.1, 0.1]))
    with pytest.raises(TooFewRatings):
        people_correlation(by_one([1, 2], [2, 1]))
    with pytest.raises(NoStatistic, match="finite"):
        people_correlation(by_one([1, 2, np.nan], [1, 2, 3]))


def test_holm_steps_down():
    assert holm([0.01, 0.04, 0.03, None]) == [pytest.approx(0.04), pytest.approx(0.09), pytest.approx(0.09), None]


def test_methods_are_compared_on_the_same_responses():
    data = by_several(np.random.default_rng(10), instructions=60)
    rng = np.random.default_rng(11)
    noise = rng.normal(size=data.judge.size)
    found = compare_methods(data, np.array([noise, data.judge, data.judge + 3 * noise]))
    assert found.rho[1].value == pytest.approx(people_correlation(data).spearman.value)
    assert [(pair.one, pair.other) for pair in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert best_of_pairs(found.pairs, 3) == 1
    alike = compare_methods(data, np.array([data.judge, data.judge + 1e-3 * noise]))
    assert best_of_pairs(alike.pairs, 2) is None
