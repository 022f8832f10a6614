"""Variances for these and for such raters: by hand, by refits and in closed form, and what they leave unstated."""

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import t as student

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.crossed import CellSums, crossed_ratios, crossed_refits, holm
from calibration.statistics.design.needed import detectable, needed_for

INSTRUCTIONS, RATERS = 30, 6


def table(seed=0, severity=0.5):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(INSTRUCTIONS, 1))
        + severity * rng.normal(size=RATERS)
        + rng.normal(size=(INSTRUCTIONS, RATERS))
    )


def codes():
    return np.repeat(np.arange(INSTRUCTIONS), RATERS), np.tile(np.arange(RATERS), INSTRUCTIONS)


def by_refits(values):
    def without_each(groups, g):
        sums = sum_by(groups, g, values), sum_by(groups, g, np.ones_like(values))
        return ((values.sum() - sums[0]) / (len(values) - sums[1]))[:, None], np.ones(g, dtype=bool)

    instructions, raters = codes()
    return crossed_refits(instructions, raters, without_each, np.array([values.mean()]))


def by_ratios(values):
    instructions, raters = codes()
    sums = sum_by(instructions, INSTRUCTIONS, values)[:, None]
    sizes = np.full((INSTRUCTIONS, 1), float(RATERS))
    return crossed_ratios(CellSums(sums, sizes, values[:, None], np.ones((len(values), 1)), instructions, raters))


@pytest.mark.parametrize("variances", [by_refits, by_ratios])
def test_a_mean_of_a_full_table_by_hand(variances):
    values = table()
    found = variances(values.ravel())
    v_i = values.mean(axis=1).var(ddof=1) / INSTRUCTIONS
    v_r = values.mean(axis=0).var(ddof=1) / RATERS
    v_c = values.var(ddof=1) / values.size
    such = v_i + RATERS / (RATERS - 1) * max(v_r - v_c, v_r - v_i, 0)
    freedom = such**2 / (v_i**2 / (INSTRUCTIONS - 1) + v_r**2 / (RATERS - 1))
    assert (found.these[0], found.such[0]) == pytest.approx((v_i, such))
    assert found.freedom[0] == pytest.approx(np.clip(freedom, RATERS - 1, INSTRUCTIONS - 1))
    low, high = found.ends(such=True)
    half = student.ppf(0.975, found.freedom[0]) * np.sqrt(such)
    assert (low[0], high[0]) == pytest.approx((values.mean() - half, values.mean() + half))


def test_p_is_below_a_twentieth_just_where_the_interval_leaves_out_zero():
    for seed in range(40):
        found = by_ratios((table(seed) + 0.3).ravel())
        for such in (True, False):
            low, high = found.ends(such=such)
            assert (found.p_values(such=such)[0] < 0.05) == (low[0] > 0 or high[0] < 0)


def test_severe_raters_widen_the_interval_for_such_raters_only():
    alike, differing = by_ratios(table(severity=0.0).ravel()), by_ratios(table(severity=2.0).ravel())
    assert differing.such[0] > 5 * alike.such[0] and differing.these[0] == pytest.approx(alike.these[0])


def test_one_rater_and_few_instructions_leave_it_unstated():
    instructions = np.arange(25)
    ones = np.ones((25, 1))
    values = table()[:25, :1]
    alone = crossed_ratios(CellSums(values, ones, values, ones, instructions, np.zeros(25, dtype=np.int64)))
    assert alone.not_stated == ("few_raters",) and np.isnan(alone.such[0]) and alone.these[0] > 0
    few = crossed_ratios(CellSums(values[:19], ones[:19], values[:19], ones[:19], np.arange(19), np.arange(19) % 3))
    assert few.not_stated == ("few_instructions",)


def test_one_rater_a_response_counts_the_raters_once():
    """Each instruction has a rater of its own: clusters of both kinds coincide, and V = V_I = V_R = V_C."""
    instructions = np.arange(40)
    values = np.random.default_rng(1).normal(size=(40, 1))
    found = crossed_ratios(CellSums(values, np.ones((40, 1)), values, np.ones((40, 1)), instructions, instructions))
    assert found.such[0] == pytest.approx(values.var(ddof=1) / 40) and found.raters[0] == pytest.approx(0)


def test_holm_by_hand():
    # .01 x 4, .02 x 3, then .04 x 2, and .9: each at least as large as the one before. nan does not count.
    assert holm(np.array([0.02, 0.9, np.nan, 0.01, 0.04])) == pytest.approx(
        np.array([0.06, 0.9, np.nan, 0.04, 0.08]), nan_ok=True
    )


def test_how_many_would_do_has_the_power_it_says():
    # A difference of .3 with variance 1 per instruction: (1.96 + .8416)^2 / .09 = 87.2.
    assert needed_for(0.3, 1 / 40, 40) == 88
    rng = np.random.default_rng(3)
    means = rng.normal(0.3, np.sqrt(1 / 88), size=20_000)
    assert np.mean(np.abs(means) > 1.96 * np.sqrt(1 / 88)) == pytest.approx(0.8, abs=0.01)
    assert needed_for(0.3, 1 / 40, 40, fixed=0.02) is None and needed_for(0.0, 1 / 40, 40) is None


@pytest.mark.parametrize(("freedom", "level"), [(1, 0.05), (2, 0.05), (4, 0.05), (4, 0.001), (60, 0.05)])
def test_a_detectable_effect_is_found_in_eighty_percent(freedom, level):
    rng = np.random.default_rng(4)
    size, draws = detectable(2.0, freedom, level=level), 40_000
    error = 2.0 * np.sqrt(rng.chisquare(freedom, draws) / freedom)
    found = np.abs(rng.normal(size, 2.0, draws)) / error > stdtrit(freedom, 1 - level / 2)
    assert found.mean() == pytest.approx(0.8, abs=0.01)
