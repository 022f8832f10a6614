"""Effects of probes: found where planted, at the stated power, and never where nothing happens."""

import numpy as np
import pytest

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.probes import ProbedVerdicts, probe_effects


def probe(change, *, alone=None, changed=None, each=1, step=0.25):
    change = np.asarray(change, dtype=float)
    changed = np.abs(change) > 0 if changed is None else np.asarray(changed)
    alone = np.zeros(change.size) if alone is None else np.asarray(alone, dtype=float)
    return ProbedVerdicts(change, changed, alone, [n // each for n in range(change.size)], step)


def test_an_effect_by_hand():
    # 20 instructions: half change by .5, half by 0. The mean is .25; the cluster variance of the mean is
    # 20/19 * 20 * .25^2 / 20^2 = .0032895, the error .057354, and t(19) at 97.5 % is 2.093024.
    (effect,) = probe_effects([probe([0.5, 0.0] * 10)])
    assert effect.mean == pytest.approx(0.25)
    assert (effect.low, effect.high) == pytest.approx((0.25 - 0.120043, 0.25 + 0.120043), abs=1e-5)
    assert effect.changed.value == 0.5 and effect.alone.value == 0.0
    assert effect.found and effect.unsteady
    # t = .25/.057354 = 4.3589 has p = .000338 on 19 degrees of freedom; two tests of the same p, so twice that.
    assert effect.p == pytest.approx(2 * 0.000338, abs=2e-6)


def test_where_nothing_changes_the_bound_and_the_smallest_effect_are_stated():
    (effect,) = probe_effects([probe(np.zeros(60))])
    assert effect.ground == "bound" and not effect.found and effect.p == 1.0
    # Clopper and Pearson: with none of 60 changed, at most 1 - .025^(1/60) of the instructions change.
    assert effect.high == pytest.approx(1 - 0.025 ** (1 / 60)) and effect.low == -effect.high
    assert 0 < effect.detectable == pytest.approx(effect.detectable_share * 0.25)
    assert effect.changed.low == 0.0 < effect.changed.high < 0.1


def test_an_effect_that_never_varies_has_an_interval_all_the_same():
    (effect,) = probe_effects([probe(np.full(40, 0.25))])
    assert effect.low < 0.25 < effect.high and effect.found


def test_several_responses_of_an_instruction_are_one_unit():
    """The interval of doubled rows is that of the rows themselves, not narrower by the root of two."""
    rng = np.random.default_rng(4)
    once = rng.normal(0.05, 0.2, 50)
    (single,), (double,) = (probe_effects([one]) for one in (probe(once), probe(np.repeat(once, 2), each=2)))
    assert (double.low, double.high) == pytest.approx((single.low, single.high))


def test_under_twenty_instructions_nothing_is_stated():
    with pytest.raises(TooFewRatings):
        probe_effects([probe(np.zeros(19))])


def test_an_honest_but_noisy_judge_is_rarely_accused_and_the_detectable_effect_is_found():
    """The size of the correction over eight probes, and the power at the stated smallest effect."""
    rng = np.random.default_rng(11)
    accused, found, runs = 0, 0, 150
    for _ in range(runs):
        noise = [rng.choice([-0.25, 0.0, 0.25], 60, p=[0.15, 0.7, 0.15]) for _ in range(8)]
        alone = (rng.random(60) < 0.3).astype(float)
        effects = probe_effects([probe(one, alone=alone) for one in noise])
        accused += any(effect.found or effect.unsteady for effect in effects)
        planted = noise[0] + effects[0].detectable
        found += probe_effects([probe(planted, alone=alone), *(probe(one, alone=alone) for one in noise[1:])])[0].found
    assert accused / runs <= 0.09
    assert found / runs >= 0.75
