"""Intervals for raters like these: what is left out, what it adds up to, and how often the intervals hold."""

import numpy as np
import pytest

from calibration.statistics.agreement.alpha import krippendorff_alpha
from calibration.statistics.agreement.leave_one_out import leave_one_out
from calibration.statistics.agreement.such_raters import agreement_variance, alpha_variance
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import crossed_variance, such_raters, these_raters

METRICS = ("nominal", "ordinal", "interval", "ratio")


def ratings(rng, instructions, pool, per_task, *, severity=0.5, responses=1):
    """Tasks, raters, instructions (n,) and scores 1 to 5 of raters who differ in severity and in how far they spread."""
    latent = (rng.normal(size=(instructions, 1)) + rng.normal(size=(instructions, responses))).ravel() * 0.7
    severe, spread = rng.normal(0, severity, pool), np.exp(rng.normal(0, 0.25, pool))
    chosen = np.array([rng.choice(pool, per_task, replace=False) for _ in range(instructions)])
    raters = np.repeat(chosen, responses, axis=0)
    noise = rng.normal(0, 0.8, raters.shape)
    scores = np.clip(np.rint(3 + spread[raters] * latent[:, None] + severe[raters] + noise), 1, 5)
    tasks = np.repeat(np.arange(len(latent)), per_task)
    return tasks, raters.ravel(), np.repeat(np.arange(instructions), per_task * responses), scores.ravel()


def jackknife(values):
    return (len(values) - 1) / len(values) * ((values - np.mean(values)) ** 2).sum()


@pytest.mark.parametrize("metric", METRICS)
def test_the_variance_for_these_raters_is_that_of_leaving_out_each_instruction(metric):
    tasks, raters, instructions, scores = ratings(np.random.default_rng(1), 25, 6, 4, responses=2)

    def alpha(kept):
        return krippendorff_alpha(tasks[kept], scores[kept], metric=metric).value

    found = alpha_variance(tasks, scores, raters, instructions, metric=metric)
    assert found.value[0] == pytest.approx(alpha(tasks >= 0), abs=1e-12)
    left = np.array([alpha(instructions != one) for one in range(25)])
    assert found.these[0] == pytest.approx(jackknife(left), rel=1e-9)


def test_leaving_out_raters_and_cells_equals_computing_without_them():
    tasks, raters, instructions, scores = ratings(np.random.default_rng(2), 60, 6, 6, severity=1.0)

    def alpha(kept):
        return krippendorff_alpha(tasks[kept], scores[kept], metric="interval").value

    by_rater = np.array([alpha(raters != one) for one in range(6)])
    cells = sorted(set(zip(instructions.tolist(), raters.tolist(), strict=True)))
    by_cell = np.array([alpha(~((instructions == i) & (raters == r))) for i, r in cells])
    found = alpha_variance(tasks, scores, raters, instructions, metric="interval")
    assert found.raters[0] == pytest.approx(6 / 5 * (jackknife(by_rater) - jackknife(by_cell)), rel=1e-9)
    assert found.such[0] == pytest.approx(found.these[0] + found.raters[0], rel=1e-12)


def test_leave_one_out_agreement_has_the_value_of_its_own_function():
    tasks, raters, instructions, scores = ratings(np.random.default_rng(3), 30, 5, 5)
    found = agreement_variance(tasks, scores.astype(int), raters, instructions)
    assert found.value[0] == pytest.approx(leave_one_out(tasks, scores.astype(int)).rate, abs=1e-12)


@pytest.mark.parametrize("statistic", ["alpha", "leave_one_out"])
def test_codes_with_gaps_and_lines_in_any_order_change_nothing(statistic):
    rng = np.random.default_rng(4)
    tasks, raters, instructions, scores = ratings(rng, 30, 6, 3)

    def variance(tasks, raters, instructions, scores):
        if statistic == "alpha":
            return alpha_variance(tasks, scores, raters, instructions, metric="ordinal")
        return agreement_variance(tasks, scores.astype(int), raters, instructions)

    order = rng.permutation(len(tasks))
    plain = variance(tasks, raters, instructions, scores)
    other = variance(tasks[order] * 7 + 3, raters[order] * 5 + 11, instructions[order] * 3 + 2, scores[order])
    assert other.such[0] == pytest.approx(plain.such[0], rel=1e-9)
    assert other.freedom[0] == pytest.approx(plain.freedom[0], rel=1e-9)


def test_lone_ratings_are_left_out():
    tasks, raters, instructions, scores = ratings(np.random.default_rng(5), 30, 6, 3)
    plain = alpha_variance(tasks, scores, raters, instructions, metric="interval")
    more = alpha_variance(
        np.append(tasks, 900),
        np.append(scores, 5.0),
        np.append(raters, 77),
        np.append(instructions, 901),
        metric="interval",
    )
    assert (more.n_raters, more.n_instructions) == (6, 30)
    assert more.such[0] == pytest.approx(plain.such[0], rel=1e-12)


@pytest.mark.parametrize(
    ("instructions", "pool", "per_task", "reason"),
    [(19, 5, 5, "few_instructions"), (20, 2, 2, "few_raters"), (20, 5, 5, None)],
)
def test_too_few_of_either_leave_it_unstated(instructions, pool, per_task, reason):
    data = ratings(np.random.default_rng(6), instructions, pool, per_task)
    found = alpha_variance(data[0], data[3], data[1], data[2], metric="ordinal")
    assert found.not_stated == reason
    assert np.isnan(such_raters(found, "correlation").low[0]) == (reason is not None)


def test_it_is_unstated_where_one_rater_is_in_every_pair():
    """Without rater 0 no task has two raters, so that nothing tells how much that rater matters."""
    tasks = np.repeat(np.arange(30), 2)
    raters = np.column_stack([np.zeros(30, dtype=int), 1 + np.arange(30) % 4]).ravel()
    scores = np.random.default_rng(7).integers(1, 6, 60).astype(float)
    found = alpha_variance(tasks, scores, raters, tasks, metric="interval")
    assert found.not_stated == "undefined_without_one"
    assert these_raters(found, "correlation").not_stated is None


def test_what_does_not_vary_has_no_statistic():
    tasks = np.repeat(np.arange(30), 3)
    with pytest.raises(NoStatistic):
        alpha_variance(tasks, np.full(90, 3.0), np.tile(np.arange(3), 30), tasks, metric="interval")


def test_full_agreement_is_not_stated_as_certain():
    tasks = np.repeat(np.arange(30), 3)
    found = agreement_variance(tasks, tasks % 4, np.tile(np.arange(3), 30), tasks)
    ends = such_raters(found, "share")
    assert found.value[0] == 1
    assert ends.low[0] < 0.9
    assert ends.high[0] == 1


def test_large_data_are_left_out_in_groups_with_nearly_the_same_result():
    tasks, raters, instructions, scores = ratings(np.random.default_rng(8), 2500, 40, 3)
    grouped = alpha_variance(tasks, scores, raters, instructions, metric="interval")
    left = np.array(
        [
            krippendorff_alpha(
                tasks[instructions % 500 != one], scores[instructions % 500 != one], metric="interval"
            ).value
            for one in range(500)
        ]
    )
    assert grouped.these[0] == pytest.approx(jackknife(left), rel=0.35)
    assert grouped.raters[0] > grouped.these[0]


@pytest.mark.parametrize(("pool", "per_task"), [(5, 5), (8, 3), (60, 3)])
@pytest.mark.parametrize("statistic", ["alpha", "leave_one_out"])
def test_the_intervals_hold_the_value_of_many_such_raters(pool, per_task, statistic):
    """150 data sets: with true coverage of 95 %, fewer than 88 % are seen once in 20,000 times; these raters' miss it."""
    rng = np.random.default_rng(9)
    many = ratings(rng, 4000, 4000, per_task)

    def variance(tasks, raters, instructions, scores):
        if statistic == "alpha":
            return alpha_variance(tasks, scores, raters, instructions, metric="interval")
        return agreement_variance(tasks, scores.astype(int), raters, instructions)

    truth = variance(*many).value[0]
    held = {"such": 0, "these": 0}
    for _ in range(150):
        found = variance(*ratings(rng, 100, pool, per_task))
        for name, ends in (("such", such_raters), ("these", these_raters)):
            low, high = (end[0] for end in (ends(found, "share").low, ends(found, "share").high))
            held[name] += low <= truth <= high
    assert held["such"] >= 0.88 * 150
    if pool == 5:
        assert held["these"] < 0.88 * 150


def test_a_statistic_of_several_values_keeps_them_apart():
    from calibration.statistics.populations import TaskSums

    scores = np.random.default_rng(10).normal(size=(40, 4, 2)) + np.arange(4)[None, :, None] * np.array([0.0, 1.0])
    lines = scores.reshape(160, 2)

    def whole(start, end):
        return np.column_stack([scores[start:end].mean(axis=1), np.ones(end - start)])

    def without(start, end):
        task = np.arange(start, end) // 4
        return np.column_stack([(scores[task].sum(axis=1) - lines[start:end]) / 3, np.ones(end - start)])

    sums = TaskSums(np.arange(40), np.tile(np.arange(4), 40), np.arange(0, 161, 4), 3, whole, without)
    found = crossed_variance(sums, lambda m: (m[:, :2] / m[:, 2:], m[:, 2] > 0.5))
    assert found.value == pytest.approx(scores.mean(axis=(0, 1)))
    assert found.these == pytest.approx(scores.mean(axis=1).var(axis=0, ddof=1) / 40)
    assert found.raters[1] > 10 * found.raters[0]
    assert found.raters[1] == pytest.approx(scores.mean(axis=0)[:, 1].var(ddof=1) / 4, rel=0.2)
