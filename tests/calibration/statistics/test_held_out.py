"""R2 on held-out instructions with both intervals: by hand, what widens it, and what leaves it unstated."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.stats import t as student

from calibration.statistics.weights.certificates import certificate_from_dict, certificate_to_dict
from calibration.statistics.weights.fit import certify_weights
from calibration.statistics.weights.held_out import held_out_r2

INSTRUCTIONS, RATERS = 30, 5


def rows(seed=0, severity=1.0, raters=RATERS, instructions=INSTRUCTIONS):
    rng = np.random.default_rng(seed)
    instruction, rater = np.repeat(np.arange(instructions), raters), np.tile(np.arange(raters), instructions)
    x = rng.uniform(size=(instruction.size, 3))
    y = np.clip(
        x @ [2.0, 3.0, 2.0] + 1 + severity * rng.normal(size=raters)[rater] + rng.normal(size=x.shape[0]), 0, 10
    )
    return x, y, instruction, rater


def slow_unexplained(x, y, fold):
    """log(SSE/SST) of ten folds, each predicted by weights of at least 0.5 fitted to the others."""
    errors = 0.0
    for one in range(10):
        others = fold != one
        weights = lsq_linear(x[others], y[others], bounds=(0.5, np.inf), tol=1e-12).x
        errors += ((y[~others] - x[~others] @ weights) ** 2).sum()
    return np.log(errors / ((y - y.mean()) ** 2).sum())


def test_ends_for_these_raters_by_slow_refits():
    x, y, instruction, rater = rows()
    fold = (np.random.default_rng(7).permutation(INSTRUCTIONS) % 10)[instruction]
    left = [instruction != one for one in range(INSTRUCTIONS)]
    values = np.array([slow_unexplained(x[one], y[one], fold[one]) for one in left])
    variance = (INSTRUCTIONS - 1) / INSTRUCTIONS * ((values - values.mean()) ** 2).sum()
    half = student.ppf(0.975, INSTRUCTIONS - 1) * np.sqrt(variance)
    found = held_out_r2(0.4, x, y, instruction, rater, floor=0.5, seed=7)
    ends = 1 - 0.6 * np.exp(half), 1 - 0.6 * np.exp(-half)
    assert (found.these_low, found.these_high) == pytest.approx(ends, abs=1e-4)
    assert found.not_stated == "" and found.such_high - found.such_low > found.these_high - found.these_low


def test_the_certificate_states_it_around_the_value_and_severe_raters_widen_it():
    x, y, instruction, rater = rows(severity=0.0)
    alike = certify_weights(x, y, instructions=instruction, raters=rater, draws=0)
    apart = certify_weights(*rows(severity=2.0)[:2], instructions=instruction, raters=rater, draws=0)
    r2 = alike.out_of_sample["instruction"].r2
    assert alike.held_out.these_low < r2 < alike.held_out.these_high < 1
    assert apart.held_out.such_high - apart.held_out.such_low > 2 * (alike.held_out.such_high - alike.held_out.such_low)
    assert certificate_from_dict(certificate_to_dict(alike)).held_out == alike.held_out


@pytest.mark.parametrize(
    ("raters", "instructions", "why"), [(2, 30, "few_raters"), (5, 19, "few_instructions"), (0, 30, "positions")]
)
def test_what_is_too_little_leaves_it_unstated(raters, instructions, why):
    x, y, instruction, rater = rows(raters=raters or RATERS, instructions=instructions)
    found = held_out_r2(0.4, x, y, instruction, rater if raters else None, floor=0.5)
    assert (found.not_stated, found.such_low, found.such_high) == (why, None, None)
    assert (found.these_low is None) == (why == "few_instructions")
