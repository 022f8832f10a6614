"""The power and the width that a plan promises, from variance components."""

import numpy as np
import pytest
from scipy.stats import t as student

from calibration.statistics.design.decision_power import (
    Components,
    Judged,
    decide,
    judge_against_people,
    preferred_difference,
    scored_difference,
    smooth_widths,
)
from calibration.statistics.errors import NoStatistic
from tests.calibration.undefined import undefined

PLAN = {"instructions": 100, "raters": 10, "overlap": 3}


def test_without_raters_who_differ_it_is_the_paired_t_test_by_hand():
    # V = 0.04/100 = 0.0004, sd 0.02; 99 degrees of freedom: the half width is t(.975, 99) x 0.02 = 1.984 x 0.02 = 0.0397.
    found = decide(Components(0.04, 0.0, 0.0), 0.05, **PLAN)
    assert found.half_width == pytest.approx(student.ppf(0.975, 99) * 0.02)
    assert found.raters_share == 0
    # The noncentral t with shift 2.5 beyond 1.984 has the probability 0.697 (as of a t test with effect 0.25 and n 100).
    assert found.power == pytest.approx(0.697, abs=0.001)


def test_nothing_to_show_is_shown_as_often_as_the_error_allows():
    for error in (0.01, 0.05):
        assert decide(Components(0.04, 0.0, 0.0), 0.0, error=error, **PLAN).power == pytest.approx(error, abs=1e-6)


def test_power_grows_smoothly_with_instructions_and_raters_limit_it():
    components = scored_difference(
        response_sd=0.12, correlation=0.5, quality_sd=0.17, severity_sd=0.1, taste_sd=0.05, step=0.1
    )
    powers = [decide(components, 0.06, instructions=n, raters=5, overlap=2).power for n in range(20, 2000, 20)]
    assert (np.diff(powers) > 0).all()
    assert powers[-1] < 0.6
    assert decide(components, 0.06, instructions=2000, raters=60, overlap=2).power > 0.9


def test_a_judge_takes_off_what_it_can_save_at_most():
    plain = decide(Components(0.04, 0.0, 0.0), 0.05, **PLAN)
    judged = decide(Components(0.04, 0.0, 0.0), 0.05, judged=Judged(400, 0.6), **PLAN)
    # rho^2 (1 - n/N) = 0.36 x 0.75 = 0.27
    assert judged.half_width / plain.half_width == pytest.approx(np.sqrt(1 - 0.27))
    assert decide(Components(0.04, 0.0, 0.0), 0.05, judged=Judged(100, 0.9), **PLAN) == plain


def test_raters_who_agree_more_need_fewer_labels():
    rough, close = (
        decide(
            scored_difference(response_sd=0.1, correlation=r, quality_sd=0.2, severity_sd=0, taste_sd=0, step=0.1),
            0.05,
            **PLAN,
        )
        for r in (0.3, 0.8)
    )
    assert close.half_width < rough.half_width


def test_pairs_and_judges_have_components():
    assert preferred_difference(decided=0.8, correlation=0.5, taste_sd=0.0).instruction == pytest.approx(0.4)
    few, many = (judge_against_people(agreement=0.6, judge=0.55, rater_sd=0.05, tasks=n) for n in (1, 5))
    assert many.instruction < few.instruction


def test_a_plan_without_enough_is_refused():
    with pytest.raises(NoStatistic):
        decide(Components(1, 1, 1), 0.1, instructions=1, raters=5, overlap=1)
    with undefined("OutOfRange"):
        decide(Components(1, 1, 1), 0.1, instructions=10, raters=5, overlap=1, judged=Judged(50, 1.4))


def test_widths_are_smoothed_towards_their_law():
    overlaps = (1, 2, 3, 4, 6, 8, 10)
    noise = np.random.default_rng(1).normal(scale=0.01, size=len(overlaps))
    noisy = [(m, float(np.sqrt(0.01 + 0.09 / m) + more)) for m, more in zip(overlaps, noise, strict=True)]
    smooth = smooth_widths(noisy)
    assert (np.diff([width for _m, width in smooth]) <= 0).all()
    assert [width for _m, width in smooth] == pytest.approx([np.sqrt(0.01 + 0.09 / m) for m in overlaps], abs=0.02)
    assert smooth_widths(noisy[:3]) == [(float(m), width) for m, width in noisy[:3]]
