import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import t as student

from calibration.statistics.errors import NoStatistic, TooFewRatings
from calibration.statistics.judges.prediction_powered import (
    ModelScores,
    labels_to_separate,
    prediction_powered_difference,
    prediction_powered_mean,
)
from tests.calibration.undefined import undefined


def sample(rng, n=60, further=600, *, bias=0.0, noise=0.3, mean=3.0, responses=1):
    """A judge that follows people with a bias and noise; `responses` an instruction share its difficulty."""
    instructions = np.arange(n + further)
    level = rng.normal(size=n + further)
    truth = mean + np.repeat(level, responses) + rng.normal(scale=0.3, size=(n + further) * responses)
    labels = np.repeat(instructions, responses)
    judge = truth + bias + rng.normal(scale=noise, size=truth.size)
    cut = n * responses
    return ModelScores(truth[:cut], judge[:cut], labels[:cut], judge[cut:], labels[cut:])


def test_mean_by_the_formula_written_out():
    scores = sample(np.random.default_rng(1), bias=0.7)
    y, f, rest = scores.human, scores.judge, scores.judge_only
    n, far = y.size, rest.size
    # Tuned power: cov(Y, f) / (var f + n/N var f of the others).
    power = np.cov(y, f, ddof=0)[0, 1] / (f.var() + n / far * rest.var())
    value = (y - power * f).mean() + power * rest.mean()
    # Each cluster's error at the power tuned without it.
    y0, f0 = y - y.mean(), f - f.mean()
    far_square = (n / far) ** 2 * (rest - rest.mean()) @ (rest - rest.mean())
    own = [(y0 @ f0 - y0[i] * f0[i]) / (f0 @ f0 - f0[i] ** 2 + far_square) for i in range(n)]
    left = y0 - np.array(own) * f0
    error = (left @ left / (n - 1) / n + power**2 * rest.var(ddof=1) / far) ** 0.5
    found = prediction_powered_mean(scores)
    assert found.power == pytest.approx(power)
    assert found.powered.value == pytest.approx(value)
    assert found.powered.error == pytest.approx(error)
    assert found.human_only.value == pytest.approx(y.mean())
    assert found.human_only.error == pytest.approx((y.var(ddof=1) / n) ** 0.5)
    assert found.effective_n == pytest.approx(n * y.var(ddof=1) / n / error**2)
    assert found.effective_n > 3 * n
    assert found.powered.interval_kind == "crossed95"


def test_ppi_python_agrees():
    ppi = pytest.importorskip("ppi_py")
    scores = sample(np.random.default_rng(2))
    for power in (0.0, 0.5, 1.0):
        ours = prediction_powered_mean(scores, power=power).powered.value
        theirs = ppi.ppi_mean_pointestimate(scores.human, scores.judge, scores.judge_only, lam=power)
        assert ours == pytest.approx(float(np.squeeze(theirs)))
    # Their tuning pools the judge's variance over both samples and clips the power at 1; ours takes each sample's
    # own: the estimates differ by much less than their standard error.
    tuned = float(np.squeeze(ppi.ppi_mean_pointestimate(scores.human, scores.judge, scores.judge_only)))
    found = prediction_powered_mean(scores)
    assert found.powered.value == pytest.approx(tuned, abs=0.5 * found.powered.error)


def test_a_useless_judge_gets_no_power_and_a_perfect_one_nearly_all():
    rng = np.random.default_rng(3)
    base = sample(rng)
    useless = ModelScores(
        base.human, rng.normal(size=60), base.instructions, rng.normal(size=600), base.judge_only_instructions
    )
    assert prediction_powered_mean(useless).power < 0.25
    perfect = sample(rng, noise=0.0)
    found = prediction_powered_mean(perfect)
    assert found.power > 0.85
    assert found.effective_n > 8 * 60
    constant = ModelScores(base.human, np.ones(60), base.instructions, np.ones(600), base.judge_only_instructions)
    found = prediction_powered_mean(constant)
    assert (found.power, found.powered.value) == (0, pytest.approx(base.human.mean()))
    assert found.effective_n == pytest.approx(60)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(-5, 5), st.floats(0.2, 5))
def test_a_judge_may_be_biased_and_scaled_as_it_likes(seed, bias, factor):
    scores = sample(np.random.default_rng(seed))
    other = ModelScores(
        scores.human,
        scores.judge * factor + bias,
        scores.instructions,
        scores.judge_only * factor + bias,
        scores.judge_only_instructions,
    )
    one, two = prediction_powered_mean(scores), prediction_powered_mean(other)
    assert one.powered.error <= one.human_only.error * 1.02
    # Well inside 0..1, so that the powers tuned without each cluster are not cut off either.
    if 0.1 < one.power / factor < 0.9 and one.power < 0.9:
        assert two.powered.value == pytest.approx(one.powered.value)
        assert two.powered.error == pytest.approx(one.powered.error)
    moved = ModelScores(
        scores.human + bias, scores.judge, scores.instructions, scores.judge_only, scores.judge_only_instructions
    )
    assert prediction_powered_mean(moved).powered.value == pytest.approx(one.powered.value + bias)


def test_repeating_every_row_changes_nothing():
    scores = sample(np.random.default_rng(4))
    repeated = ModelScores(*(np.repeat(part, 4) for part in vars(scores).values() if part is not None))
    one, four = prediction_powered_mean(scores), prediction_powered_mean(repeated)
    assert four.powered.error == pytest.approx(one.powered.error)
    assert four.clusters == one.clusters == 60


def test_a_difference_is_paired_by_instruction():
    rng = np.random.default_rng(5)
    one = sample(rng, mean=3.0)
    shift = rng.normal(scale=0.1, size=660)
    two = ModelScores(
        one.human - 0.2 + shift[:60],
        one.judge - 0.2 + shift[:60],
        one.instructions,
        one.judge_only - 0.2 + shift[60:],
        one.judge_only_instructions,
    )
    found = prediction_powered_difference(one, two)
    assert found.powered.value == pytest.approx(0.2, abs=0.05)
    assert found.powered.error < 0.3 * prediction_powered_mean(one).powered.error
    reverse = prediction_powered_difference(two, one)
    assert reverse.powered.value == pytest.approx(-found.powered.value)
    assert (reverse.powered.low, reverse.powered.high) == pytest.approx((-found.powered.high, -found.powered.low))


def test_more_labels_separate_as_many_as_the_formula_says():
    rng = np.random.default_rng(6)
    one, two = sample(rng, n=40, mean=3.02), sample(rng, n=40, mean=3.0)
    found = labels_to_separate(one, two)
    assert not found.separated
    assert found.more == found.total - 40 > 0
    assert found.total < found.alone
    # Human scores alone, shared instructions: (t + z of 80 %) * sd of the paired difference / sqrt(n) below the difference.
    sd = (one.human - two.human).std(ddof=1)
    assert found.alone == pytest.approx(((1.96 + 0.8416) * sd / found.difference) ** 2, rel=0.05)


def test_separated_models_need_no_more():
    rng = np.random.default_rng(7)
    found = labels_to_separate(sample(rng, mean=5.0), sample(rng, mean=3.0))
    assert (found.separated, found.more) == (True, 0)
    same = sample(rng)
    with undefined("NoDifference"):
        labels_to_separate(same, same)


def test_few_instructions_give_a_range():
    scores = sample(np.random.default_rng(8), n=3)
    found = prediction_powered_mean(scores, power=0.0).powered
    y = scores.human
    left = [(y.sum() - own) / 2 for own in y]
    assert (found.low, found.high) == pytest.approx((min(left), max(left)))
    assert found.interval_kind == "leave_one_out_range"


def by_category(rng, sizes, *, answers=1, further=30):
    """Human and judge scores of `sizes` instructions of each category, pseudo-values whose mean is the mean of means."""
    human, judge, label, stratum, rest, rest_label, rest_stratum = [], [], [], [], [], [], []
    total = sum(sizes)
    for place, size in enumerate(sizes):
        level = rng.normal(scale=2, size=(size + further, 1))
        truth = (level + rng.normal(size=(size + further, answers)) + place).ravel()
        seen, cut = truth + rng.normal(size=truth.size), size * answers
        # As corrected scores make them: category means weigh the same however many instructions they have.
        weight = total / (len(sizes) * size)
        human.append(truth[:cut].mean() + weight * (truth[:cut] - truth[:cut].mean()))
        judge.append(weight * (seen[:cut] - seen[:cut].mean()))
        rest.append(seen[cut:] - seen[cut:].mean())
        names = np.repeat(np.arange(size + further) + 1000 * place, answers)
        label.append(names[:cut])
        rest_label.append(names[cut:])
        stratum.append(np.full(cut, place))
        rest_stratum.append(np.full(names.size - cut, place))
    parts = (human, judge, label, rest, rest_label, stratum, rest_stratum)
    return ModelScores(*(np.concatenate(part) for part in parts))


def test_the_variance_of_a_mean_of_categories_is_that_of_its_strata():
    scores = by_category(np.random.default_rng(9), (12, 12, 12))
    found = prediction_powered_mean(scores, power=0.0).human_only
    # (1/3)^2 of the sum of s^2/12; the degrees of freedom of Welch and Satterthwaite.
    each = [scores.human[scores.strata == place].var(ddof=1) / 12 / 9 for place in range(3)]
    assert found.error == pytest.approx(sum(each) ** 0.5)
    freedom = sum(each) ** 2 / sum(one**2 / 11 for one in each)
    reach = float(student.ppf(0.975, freedom)) * found.error
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))


def test_leaving_one_instruction_out_keeps_the_other_categories():
    scores = by_category(np.random.default_rng(10), (3, 2))
    found = prediction_powered_mean(scores, power=0.0).human_only
    first, second = scores.human[:3], scores.human[3:]
    weighed = [first.sum() - first, second.sum() - second]
    left = [(weighed[0] / 2 * 3 + second.sum()) / 5, (first.sum() + weighed[1] * 2) / 5]
    every = np.concatenate(left)
    assert found.interval_kind == "leave_one_out_range"
    assert (found.low, found.high) == pytest.approx((every.min(), every.max()))


def test_a_category_with_a_single_instruction_states_no_interval():
    rng = np.random.default_rng(11)
    lonely = prediction_powered_mean(by_category(rng, (30, 1)))
    assert lonely.clusters == 31
    assert lonely.powered.interval_kind == "leave_one_out_range"
    assert lonely.powered.low < lonely.powered.value < lonely.powered.high
    with pytest.raises(TooFewRatings, match="one category"):
        prediction_powered_mean(by_category(rng, (1,) * 25))


def test_an_instruction_of_two_strata_is_an_error():
    y = np.arange(4.0)
    with pytest.raises(ValueError, match="belongs to one"):
        prediction_powered_mean(ModelScores(y, y, [1, 1, 2, 2], y, [3, 4, 5, 6], [1, 2, 1, 1], [1, 1, 1, 1]))
    with pytest.raises(ValueError, match="strata for"):
        prediction_powered_mean(ModelScores(y, y, [1, 1, 2, 2], y, [3, 4, 5, 6], [1, 1], [1, 1, 1, 1]))


def test_models_are_never_called_separated_by_a_range():
    rng = np.random.default_rng(12)
    few = sample(rng, n=8, mean=9.0), sample(rng, n=8, mean=3.0)
    found = labels_to_separate(*few)
    assert prediction_powered_difference(*few).powered.low > 0
    assert (found.separated, found.total, found.more) == (False, 20, 12)


def test_degenerate_input_is_named():
    y = np.array([1.0, 2, 3])
    with pytest.raises(TooFewRatings, match="instructions"):
        prediction_powered_mean(ModelScores(y, y, [1, 1, 1], y, [2, 3, 4]))
    with pytest.raises(TooFewRatings, match="further"):
        prediction_powered_mean(ModelScores(y, y, [1, 2, 3], np.array([]), []))
    with pytest.raises(NoStatistic):
        prediction_powered_mean(ModelScores(y, np.array([1, np.nan, 2]), [1, 2, 3], y, [4, 5, 6]))
    with pytest.raises(ValueError, match="differ in number"):
        prediction_powered_mean(ModelScores(y, y[:2], [1, 2, 3], y, [4, 5, 6]))
