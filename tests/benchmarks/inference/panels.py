"""Lines of the coverage benchmark on what a panel of judges adds to the best of them."""

from functools import cache

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, Widths, seed_of
from inference.judges import of_people

from calibration.statistics.judges.estimates import people_estimate
from calibration.statistics.judges.panels import JudgedAlike, panel_gain, panel_values, panel_variances

SEED = 2411
MODELS, EACH, TRAITS = 4, 3, 3
SEVERITY, TASTE, ERROR = 0.10, 0.25, 0.1
"""Standard deviations on the scale of people: of raters' severity, of the logarithm of the weights that raters and judges
give to a response's traits, and of a single verdict's error."""
JUDGES = 4
NAMES = ("R2 of a panel", "R2 of the best judge", "gain of a panel")
STUDIES = 400


def judged(rng, instructions: int, pool: int, informed: int) -> JudgedAlike:
    """Four judges, of whom `informed` see what people see, each in its own way; the others' verdicts are chance."""
    m, each = instructions * MODELS, min(EACH, pool)
    instruction, model = np.repeat(np.arange(instructions), MODELS), np.tile(np.arange(MODELS), instructions)
    trait = 0.1 * rng.normal(size=(instructions, TRAITS))[instruction] + 0.05 * model[:, None]
    trait = trait + 0.15 * rng.normal(size=(m, TRAITS))
    response = np.repeat(np.arange(m), each)
    rater = rng.random((m, pool)).argsort(axis=1)[:, :each].ravel()
    taste = np.exp(TASTE * rng.normal(size=(pool, TRAITS)))
    value = (taste[rater] * trait[response]).mean(axis=1) + SEVERITY * rng.normal(size=pool)[rater]
    value += ERROR * rng.normal(size=value.size)
    # Judges are taken as given: their tastes are those of one draw.
    own = np.exp(TASTE * np.random.default_rng(SEED).normal(size=(JUDGES, TRAITS)))
    judges = ERROR * rng.normal(size=(JUDGES, m))
    judges[:informed] += (own[:informed, None, :] * trait[None]).mean(axis=2)
    return JudgedAlike(judges, instruction, model, response, rater, value)


@cache
def endless(instructions: int, pool: int, informed: int) -> tuple[float, ...]:
    """R2 of the panel, R2 of the best judge, and the gain: the means over very many studies of this size."""
    studies = (judged(np.random.default_rng([SEED, n]), instructions, pool, informed) for n in range(STUDIES))
    found = [panel_values(study)[:3] for study in studies]
    return tuple(np.mean(found, axis=0).tolist())


def gain_design(instructions: int, pool: int, informed: int = JUDGES) -> Design:
    who = "" if informed == JUDGES else f", {informed} informed"
    names = [f"{name}{who}, {pool} raters, {instructions} instructions" for name in NAMES]
    widths = Widths()

    def draw(rng, _resamples, _clustered):
        found = panel_variances(judged(rng, instructions, pool, informed), seed=seed_of(rng))
        held = {}
        for name, one, true in zip(names, found, endless(instructions, pool, informed), strict=False):
            held[name] = of_people(people_estimate(one, "plain", left_out=np.zeros(0)), true)
            widths.note(name, float(one.value[0]), float(one.such[0]) ** 0.5)
        return held

    promise = AT_LEAST if pool < 5 else FIVE_RATERS
    text = f"{instructions} instructions x {MODELS} models x {min(EACH, pool)} of {pool} raters, {JUDGES} judges"
    return Design(text, dict.fromkeys(names, promise), draw, rows_fail=False, widths=widths)


def no_gain_design(pool: int) -> NullDesign:
    """Where one judge sees all that the panel sees, or none sees anything, the panel's opening sentence claims no gain."""
    names = tuple(f"panel gains over {which}, {pool} raters" for which in ("its one informed judge", "blind judges"))

    def draw(rng):
        found = [panel_gain(judged(rng, 40, pool, informed), seed=seed_of(rng)) for informed in (1, 0)]
        return {name: one.better for name, one in zip(names, found, strict=True)}

    return NullDesign(f"40 instructions x {MODELS} models x {min(EACH, pool)} of {pool} raters", names, draw)


def designs() -> list[Design]:
    return [*(gain_design(40, pool) for pool in (3, 5, 8, 60)), gain_design(120, 8), gain_design(40, 8, informed=1)]


def null_designs() -> list[NullDesign]:
    return [no_gain_design(pool) for pool in (3, 8, 60)]
