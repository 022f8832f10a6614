"""The effect of hints: by hand, under permutation, and where there is none to find."""

import numpy as np
import pytest

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.raters.hints import hint_effect


def test_a_hand_calculation():
    # Task 1: 2 and 2 with, 3 without; task 2: 1 with, 1 and 2 without; task 3 has no answer without and stays out.
    score = np.array([2, 2, 3, 1, 1, 2, 3], dtype=float)
    hinted = np.array([True, True, False, True, False, False, True])
    units = np.array([1, 1, 1, 2, 2, 2, 3])
    found = hint_effect(score, hinted, units, clusters=units)
    assert (found.units, found.shown, found.hidden) == (2, 1.5, 2.25)
    assert found.difference.value == pytest.approx(0.75)  # ((3 - 2) + (1.5 - 1)) / 2
    assert found.percent.value == pytest.approx(50)  # 100 * (2.25 / 1.5 - 1)
    assert found.percent.interval_kind == "none"


def test_the_interval_covers_a_known_effect_and_does_not_depend_on_the_order():
    rng = np.random.default_rng(1)
    tasks = np.repeat(np.arange(60), 4)
    hinted = np.tile([True, True, False, False], 60)
    score = 2 + rng.normal(0, 0.3, 60)[tasks] + np.where(hinted, 0, 0.2) + rng.normal(0, 0.2, 240)
    found = hint_effect(score, hinted, tasks, clusters=tasks, draws=400, seed=0)
    assert found.difference.interval_kind == "bootstrap95"
    assert 0.1 < found.difference.low < 0.2 < found.difference.high < 0.3
    assert found.percent.low < 10 < found.percent.high
    order = rng.permutation(240)
    again = hint_effect(score[order], hinted[order], tasks[order], clusters=tasks[order], draws=400, seed=0)
    assert again.difference.value == pytest.approx(found.difference.value)


def test_nothing_answered_both_ways_is_refused():
    with pytest.raises(TooFewRatings):
        hint_effect(np.ones(2), np.array([True, False]), np.array([1, 2]), clusters=np.array([1, 2]))
