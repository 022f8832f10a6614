"""Rates of people for raters like these: the variance by leaving out instructions, raters and cells, done by hand."""

import numpy as np
import pytest
from scipy.stats import t as student

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.agreement import LabelledTasks, same_as_majority
from calibration.statistics.judges.bias import length_bias, position_bias, swap_agreement
from calibration.statistics.judges.comparison import accuracy_against_majority
from calibration.statistics.judges.people_biases import Answers, first_side_wins, longer_preferred, swap_rates


def preferences(seed=0, instructions=30, pool=6):
    """Three of a pool's raters on two pairs of every instruction; some like what is longer more than others."""
    rng = np.random.default_rng(seed)
    pair = np.repeat(np.arange(2 * instructions), 3)
    rater = np.concatenate([rng.permutation(pool)[:3] for _ in range(2 * instructions)])
    lengths = rng.integers(100, 900, size=(2, 2 * instructions))[:, pair]
    liking = rng.normal(0.5, 0.5, size=pool)[rater]
    ahead = liking * np.sign(lengths[0] - lengths[1]) + rng.normal(size=pair.size)
    points = np.where(np.abs(ahead) < 0.3, 0.5, (ahead > 0).astype(float))
    return lengths.astype(float), points, Answers(rater, pair // 2)


def spread(values):
    return (len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()


def left_out(statistic, groups):
    return np.array([statistic(groups != one) for one in np.unique(groups)])


def both_variances(statistic, answers):
    """V_I and V_I + R/(R - 1) times V_R - V_C of a mean of single answers (populations.py), with its freedom."""
    cells = answers.instruction * 1000 + answers.rater
    v_i, v_r, v_c = (spread(left_out(statistic, one)) for one in (answers.instruction, answers.rater, cells))
    i, r = len(np.unique(answers.instruction)), len(np.unique(answers.rater))
    own = r / (r - 1) * max(v_r - v_c, 0.0, v_r - v_i)
    return v_i, v_i + own, min(i, r) - 1


def test_the_length_bias_rate_has_both_variances():
    lengths, points, answers = preferences()
    found = longer_preferred(*lengths, points, answers, threshold=100)
    far = np.abs(lengths[0] - lengths[1]) >= 100
    longer = np.where(lengths[0] > lengths[1], points, 1 - points)
    given = (longer == 1).astype(float) - (longer == 0)
    v_i, such, freedom = both_variances(lambda kept: given[kept & far].mean(), answers)
    assert found.value == pytest.approx(length_bias(*lengths, points, threshold=100).rate.value)
    reach = student.ppf(0.975, 29) * v_i**0.5
    assert (found.these_low, found.these_high) == pytest.approx((found.value - reach, found.value + reach))
    reach = student.ppf(0.975, freedom) * such**0.5
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))
    assert found.population == "such"
    assert found.p == pytest.approx(2 * student.sf(abs(found.value) / such**0.5, freedom))


def test_wins_of_the_first_side_and_swaps_are_the_pooled_shares():
    _, points, answers = preferences()
    wins = first_side_wins(points, answers)
    assert wins.value == pytest.approx(position_bias(points).first_wins.value)
    assert 0 < wins.low < wins.these_low < wins.value < wins.these_high < wins.high < 1
    again = np.random.default_rng(3).permutation(points)
    swapped, rates = swap_agreement(points, again), swap_rates(points, again, answers)
    assert rates.agreement.value == pytest.approx(swapped.agreement.value)
    assert rates.flip_rate.value == pytest.approx(swapped.flip_rate.value)


def test_without_persons_or_with_few_raters_only_these_raters_stand():
    _, points, answers = preferences()
    slots = first_side_wins(points, Answers(answers.rater, answers.instruction, positions=True))
    assert (slots.population, slots.why_not) == ("these", "positions")
    alone = first_side_wins(points, Answers(0 * answers.rater, answers.instruction))
    assert (alone.population, alone.why_not) == ("these", "few_raters")
    with pytest.raises(TooFewRatings):
        first_side_wins(np.full(3, 0.5), Answers(np.arange(3), np.arange(3)))


def wilson(share, variance, reach):
    """Wilson's ends for as many independent answers as would be as uncertain."""
    alike = share * (1 - share) / variance
    middle = (share + reach**2 / (2 * alike)) / (1 + reach**2 / alike)
    half = reach * (variance + reach**2 / (4 * alike**2)) ** 0.5 / (1 + reach**2 / alike)
    return middle - half, middle + half


def majority_of(people, verdicts, kept=None):
    """The share by loops, without the labels of which `kept` is false."""
    right = []
    for task in np.unique(people.task):
        labels = people.label[(people.task == task) & (True if kept is None else kept)]
        counts = np.bincount(labels, minlength=4)
        if verdicts[task] >= 0 and counts.max() > 0 and (counts == counts.max()).sum() == 1:
            right.append(counts.argmax() == verdicts[task])
    return np.mean(right)


def test_accuracy_against_the_majority_leaves_out_raters_with_their_votes():
    rng = np.random.default_rng(1)
    task = np.repeat(np.arange(60), 4)
    rater = np.concatenate([rng.permutation(6)[:4] for _ in range(60)])
    truth = rng.integers(3, size=60)
    people = LabelledTasks(
        task, np.where(rng.uniform(size=240) < 0.6, truth[task], rng.integers(3, size=240)), rater, task // 2
    )
    verdicts = np.where(rng.uniform(size=60) < 0.7, truth, 3)
    verdicts[:3] = -1
    found = same_as_majority(people, verdicts)
    counted = accuracy_against_majority(verdicts, task, people.label)
    assert found.value == pytest.approx(counted.rate) == pytest.approx(majority_of(people, verdicts))
    judged = np.unique(people.instruction[people.task >= 3])
    v_i = spread(np.array([majority_of(people, verdicts, people.instruction != one) for one in judged]))
    seen = {}

    def noted(sums, statistic, scales, **more):
        seen.update(sums=sums, statistic=statistic)
        return [found]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("calibration.statistics.judges.agreement.estimates_of", noted)
        same_as_majority(people, verdicts)
    sums, statistic = seen["sums"], seen["statistic"]
    lines, all_of_them = len(sums.rater), sums.whole(0, 57)
    line_task = np.repeat(np.arange(57), np.diff(sums.first))
    without = sums.without(0, lines)
    for gone in range(6):
        taken = sum(all_of_them[line_task[at]] - without[at] for at in range(lines) if sums.rater[at] == gone)
        value = statistic((all_of_them.sum(axis=0) - taken)[None])[0][0, 0]
        assert value == pytest.approx(majority_of(people, verdicts, people.rater != gone))
    assert (found.these_low, found.these_high) == pytest.approx(wilson(found.value, v_i, student.ppf(0.975, 28)))
    assert found.low < found.these_low < found.value < found.these_high < found.high
