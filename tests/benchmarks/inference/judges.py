"""Lines of the coverage benchmark on judges against people, their biases, and what a judge saves."""

from functools import cache

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, seed_of

from calibration.statistics.judges.agreement import LabelledTasks, compare_judges
from calibration.statistics.judges.correlations import ScoredResponses, judge_correlation
from calibration.statistics.judges.estimates import PeopleEstimate

SEED = 2410

# Scores: a response has three traits, which raters weigh by their own taste; they are more or less severe.

MODELS, EACH, TRAITS = 4, 3, 3
SEVERITY, TASTE = 0.10, 0.25
WAYS = ("over all", "within models", "within instructions", "judge's slope", "slopes apart", "one person")


def scored(rng, instructions, pool, *, honest=False, blind=False, each=EACH):
    """A judge and `each` of `pool` raters on 4 models' responses to instructions."""
    m = instructions * MODELS
    instruction, model = np.repeat(np.arange(instructions), MODELS), np.tile(np.arange(MODELS), instructions)
    trait = (
        0.5
        + 0.10 * rng.normal(size=(instructions, TRAITS))[instruction]
        + 0.05 * np.arange(MODELS)[model][:, None]
        + 0.15 * rng.normal(size=(m, TRAITS))
    )
    response = np.repeat(np.arange(m), each)
    rater = rng.random((m, pool)).argsort(axis=1)[:, :each].ravel()
    size = int(rater.max()) + 1
    weights = np.exp(TASTE * rng.normal(size=(size, TRAITS)))
    value = (weights[rater] * trait[response]).mean(axis=1) + SEVERITY * rng.normal(size=size)[rater]
    value += 0.1 * rng.normal(size=value.size)
    if honest:
        own = np.exp(TASTE * rng.normal(size=TRAITS))
        judge = (own * trait).mean(axis=1) + 0.1 * rng.normal(size=m)
    elif blind:
        judge = 0.15 * rng.normal(size=instructions)[instruction] + 0.1 * rng.normal(size=m)
    else:
        judge = 1.5 * trait.mean(axis=1) + 0.15 * rng.normal(size=instructions)[instruction] + 0.1 * rng.normal(size=m)
    return ScoredResponses(judge, instruction, model, response, rater, value)


def by_way(data, *, intervals=True, seed=0) -> dict[str, PeopleEstimate | None]:
    found = judge_correlation(data, intervals=intervals, seed=seed)
    slopes = found.slopes
    return dict(
        zip(
            WAYS,
            (found.pearson, found.within_models, found.within_instructions)
            + ((slopes.judge, slopes.apart) if slopes else (None, None))
            + (found.person,),
            strict=True,
        )
    )


@cache
def endless_ways(pool: int) -> dict[str, float]:
    """What studies of this design give on average over pools of raters, with instructions almost without end."""
    pools = range(max(12, 240 // pool))
    found = [by_way(scored(np.random.default_rng([SEED, n]), 1_000, pool), intervals=False) for n in pools]
    return {name: float(np.mean([one[name].value for one in found])) for name in WAYS}


def of_people(found: PeopleEstimate | None, truth: float, population: str = "such") -> np.ndarray:
    """Whether the interval held the truth; empty where none is stated for this population."""
    if found is None or found.interval_kind != "crossed95" or found.population != population:
        return np.array([])
    return np.atleast_1d(found.low <= truth <= found.high)


def named(way: str, raters: int) -> str:
    return f"judge, {way}, raters like {raters}"


def ways_design(instructions: int, raters: int) -> Design:
    promise = AT_LEAST if raters < 5 else FIVE_RATERS

    def draw(rng, _resamples, _clustered):
        truth = endless_ways(raters)
        found = by_way(scored(rng, instructions, raters), seed=seed_of(rng))
        return {named(way, raters): of_people(found[way], truth[way]) for way in WAYS}

    text = f"{instructions} instructions x {MODELS} models x {EACH} of {raters} raters"
    return Design(text, {named(way, raters): promise for way in WAYS}, draw, rows_fail=False)


def blind_design(raters: int) -> NullDesign:
    names = tuple(f"judge without relation, {way}, {raters} raters" for way in ("over all", "slope"))

    def draw(rng):
        found = judge_correlation(scored(rng, 40, raters, blind=True), seed=seed_of(rng))
        slope = found.slopes is not None and found.slopes.judge.excludes_zero
        return {names[0]: found.spearman.excludes_zero, names[1]: slope}

    return NullDesign(f"40 instructions x {MODELS} models x {EACH} of {raters} raters", names, draw)


def honest_design(raters: int) -> NullDesign:
    name = f"honest judge exaggerates, {raters} raters"

    def draw(rng):
        slopes = judge_correlation(scored(rng, 40, raters, honest=True), seed=seed_of(rng)).slopes
        return {name: slopes is not None and slopes.apart is not None and slopes.apart.excludes_zero}

    return NullDesign(f"40 instructions x {MODELS} models x {EACH} of {raters} raters", (name,), draw)


# Agreement: labels of three kinds, seen right more or less often; judges that are equally good, each in its own way.


def equal_judges_design(raters: int) -> NullDesign:
    name = f"one of equal judges is best, {raters} raters"

    def draw(rng):
        tasks, each = 120, min(3, raters)
        truth = rng.integers(3, size=tasks)
        clear = rng.choice([0.95, 0.6], size=tasks // 2).repeat(2)
        skill = rng.uniform(0.7, 1.0, size=raters)
        rater = rng.random((tasks, raters)).argsort(axis=1)[:, :each].ravel()
        task = np.arange(tasks).repeat(each)
        right = rng.uniform(size=task.size) < clear[task] * skill[rater]
        label = np.where(right, truth[task], rng.integers(3, size=task.size))
        verdicts = np.where(rng.uniform(size=(4, tasks)) < clear, truth, rng.integers(3, size=(4, tasks)))
        found = compare_judges(LabelledTasks(task, label, rater, task // 2), verdicts, seed=seed_of(rng))
        return {name: any(pair.p is not None and pair.p < 0.05 for pair in found.pairs)}

    return NullDesign(f"4 judges, 120 tasks of 60 instructions x 3 of {raters} raters", (name,), draw)


def designs() -> list[Design]:
    return [ways_design(40, raters) for raters in (3, 5, 8, 60)]


def null_designs() -> list[NullDesign]:
    return [
        *(blind_design(raters) for raters in (3, 8, 60)),
        *(honest_design(raters) for raters in (3, 8, 60)),
        *(equal_judges_design(raters) for raters in (3, 8, 60)),
    ]
