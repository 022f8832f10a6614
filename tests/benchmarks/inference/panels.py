"""Lines of the coverage benchmark: what a panel adds to its best judge, and length, format or further answers to one."""

from dataclasses import replace
from functools import cache

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, Widths, seed_of
from inference.judges import of_people

from calibration.statistics.judges.estimates import SIGNIFICANT, holm, people_estimate
from calibration.statistics.judges.panels import Beaten, JudgedAlike, panel_gain, panel_values, panel_variances

SEED = 2411
MODELS, EACH, TRAITS = 4, 3, 3
SEVERITY, TASTE, ERROR = 0.10, 0.25, 0.1
"""Standard deviations on the scale of people: of raters' severity, of the logarithm of the weights that raters and judges
give to a response's traits, and of a single verdict's error."""
JUDGES = 4
NAMES = ("R2 of a panel", "R2 of the best judge", "gain of a panel")
STUDIES = 400
ANSWERS, FORMATTED, PULL = 3, 0.4, 0.1
"""Answers of a judge that is asked again, the share of formatted responses, and what one standard deviation of length adds
on the scale of people."""
WAYS = ("length and format", "further answers")


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


def with_traits(rng, study: JudgedAlike, pull: float) -> JudgedAlike:
    """The first judge, the lengths of responses in standard deviations, and which are formatted; people go by length to
    the degree `pull`, on their scale, the judge goes by neither."""
    m = study.judges.shape[1]
    length, marks = rng.normal(size=m), (rng.random(m) < FORMATTED).astype(np.float64)
    value = study.value + pull * length[study.response]
    return replace(study, judges=np.vstack([study.judges[0], length, marks]), value=value)


def asked_again(rng, study: JudgedAlike, error: float) -> JudgedAlike:
    """The first judge's first answer and the mean of ANSWERS answers, each with an error of its own."""
    answers = study.judges[0] + error * rng.normal(size=(ANSWERS, study.judges.shape[1]))
    return replace(study, judges=np.vstack([answers[0], answers.mean(axis=0)]))


def ways(rng, instructions: int, pool: int) -> list[tuple[JudgedAlike, Beaten]]:
    study = judged(rng, instructions, pool, 1)
    return [(with_traits(rng, study, PULL), Beaten(free=2)), (asked_again(rng, study, ERROR), Beaten())]


@cache
def endless_ways(instructions: int, pool: int) -> tuple[float, ...]:
    """The gain of each way: the means over very many studies of this size."""
    studies = (ways(np.random.default_rng([SEED, n]), instructions, pool) for n in range(STUDIES))
    found = [[panel_values(one, over=over)[2] for one, over in study] for study in studies]
    return tuple(np.mean(found, axis=0).tolist())


def way_design(instructions: int, pool: int) -> Design:
    names = [f"gain of {way}, {pool} raters, {instructions} instructions" for way in WAYS]
    widths = Widths()

    def draw(rng, _resamples, _clustered):
        held = {}
        for name, (one, over), true in zip(
            names, ways(rng, instructions, pool), endless_ways(instructions, pool), strict=True
        ):
            seed = seed_of(rng)
            found = panel_variances(one, seed=seed, over=over)[2]
            held[name] = of_people(panel_gain(one, seed=seed, over=over).gain, true)
            widths.note(name, float(found.value[0]), float(found.such[0]) ** 0.5)
        return held

    promise = AT_LEAST if pool < 5 else FIVE_RATERS
    text = f"{instructions} instructions x {MODELS} models x {min(EACH, pool)} of {pool} raters, one judge"
    return Design(text, dict.fromkeys(names, promise), draw, rows_fail=False, widths=widths)


def no_way_design(pool: int) -> NullDesign:
    """Where people and four judges go by neither length nor format, the block on ways to save labels claims no gain."""
    name = f"length and format add to one of {JUDGES} judges, {pool} raters"

    def draw(rng):
        judges = judged(rng, 40, pool, JUDGES)
        study, seed = with_traits(rng, judges, 0.0), seed_of(rng)
        every = [replace(study, judges=np.vstack([one, study.judges[1:]])) for one in judges.judges]
        found = [panel_gain(one, seed=seed, over=Beaten(free=2)) for one in every]
        corrected = holm([one.gain.p for one in found])
        claimed = [one.better and p is not None and p < SIGNIFICANT for one, p in zip(found, corrected, strict=True)]
        return {name: any(claimed)}

    return NullDesign(f"40 instructions x {MODELS} models x {min(EACH, pool)} of {pool} raters", (name,), draw)


def designs() -> list[Design]:
    panels = [*(gain_design(40, pool) for pool in (3, 5, 8, 60)), gain_design(120, 8), gain_design(40, 8, informed=1)]
    return [*panels, *(way_design(40, pool) for pool in (3, 8, 60)), way_design(120, 8)]


def null_designs() -> list[NullDesign]:
    return [*(no_gain_design(pool) for pool in (3, 8, 60)), *(no_way_design(pool) for pool in (3, 8, 60))]
