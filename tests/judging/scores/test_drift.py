"""Whether a judge has changed: by hand, and how often the test is wrong."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from calibration.statistics.errors import TooFewRatings
from judging.scores.drift import change, level_of_look, mean_level


def test_the_levels_of_all_looks_add_up():
    # 1/(k (k + 1)) is 1/k - 1/(k + 1), so the first n looks sum to 1 - 1/(n + 1).
    spent = sum(2 * level_of_look(look, 2) for look in range(1, 1000))
    assert spent == pytest.approx(0.05 * (1 - 1 / 1000))
    with pytest.raises(ValueError, match="counted from 1"):
        level_of_look(0, 1)


def test_with_one_task_an_instruction_it_is_the_paired_t_test():
    rng = np.random.default_rng(2)
    first, now = rng.normal(0.5, 0.2, 40), rng.normal(0.55, 0.2, 40)
    found = change(first, now, np.arange(40), look=1, tests=1)
    assert found.p == pytest.approx(ttest_rel(now, first).pvalue)
    assert found.alpha == 0.025
    assert found.value == pytest.approx((now - first).mean())
    assert found.low < found.value < found.high
    assert found.flagged == (abs(found.value) > found.reach)


def test_tasks_of_one_instruction_are_no_more_than_one_witness():
    gap = np.repeat([0.3, 0.1, 0.2, 0.1], 25)
    rows = change(np.zeros(100), gap, np.arange(100), look=1, tests=1)
    whole = change(np.zeros(100), gap, np.repeat(np.arange(4), 25), look=1, tests=1)
    assert whole.clusters == 4
    assert whole.p > 100 * rows.p


def test_where_all_moved_alike_the_number_of_instructions_decides():
    for k, flagged in ((5, False), (8, True)):
        found = change(np.zeros(k), np.full(k, 0.25), np.arange(k), look=1, tests=1)
        # 2 of 2^k patterns of signs are as extreme.
        assert found.p == 2 ** (1 - k)
        assert found.flagged is flagged
    assert change(np.ones(5), np.ones(5), np.arange(5), look=1, tests=1).p == 1.0
    with pytest.raises(TooFewRatings):
        mean_level(np.ones(3), np.zeros(3, dtype=int))


def test_a_judge_that_never_changes_is_rarely_flagged_over_a_whole_year_of_days():
    rng = np.random.default_rng(11)
    watches, rounds, tasks = 400, 60, 50
    false = 0
    for _ in range(watches):
        difficulty = rng.uniform(0.3, 0.9, tasks)
        said = np.clip(difficulty + rng.normal(0, 0.1, (rounds, tasks)), 0, 1)
        false += any(
            change(said[0], said[look], np.arange(tasks), look=look, tests=1).flagged for look in range(1, rounds)
        )
    assert 0.005 < false / watches < 0.075


def test_a_judge_that_changed_by_a_twentieth_of_the_scale_is_found():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(100):
        difficulty = rng.uniform(0.3, 0.9, 200)
        first, now = difficulty + rng.normal(0, 0.1, (2, 200))
        found += change(first, now - 0.05, np.arange(200), look=10, tests=3).flagged
    assert found >= 80
