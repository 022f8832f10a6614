"""Lines of the coverage benchmark on judges against people, their biases, and what a judge saves."""

from functools import cache

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, Widths, seed_of

from calibration.statistics.agreement.alternative_annotator import AgainstRaters, against_raters
from calibration.statistics.crossed import holm
from calibration.statistics.judges.agreement import LabelledTasks, beside_people, compare_judges, same_as_majority
from calibration.statistics.judges.correlations import ScoredResponses, judge_correlation
from calibration.statistics.judges.estimates import SIGNIFICANT, PeopleEstimate, SingleAnswers
from calibration.statistics.judges.people_biases import Answers, first_side_wins, longer_preferred
from calibration.statistics.judges.powered_rankings import JudgedPairs, LabelledPairs, powered_rankings
from calibration.statistics.judges.prediction_powered import (
    ModelScores,
    prediction_powered_difference,
    prediction_powered_mean,
)
from calibration.statistics.ranking.pairs import as_games, bradley_terry

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


TASKS, CRITERIA = 120, 5
SKILLS = (0.7, 1.0)
"""Between which raters' shares of labels that are no guesses lie, where the task is clear."""


def labelled_tasks(rng, raters: int, judges: int, skill: float) -> tuple[LabelledTasks, np.ndarray]:
    """Labels by some of `raters` raters, and those of judges (judges, TASKS) of this skill."""
    each = min(3, raters)
    truth = rng.integers(3, size=TASKS)
    clear = rng.choice([0.95, 0.6], size=TASKS // 2).repeat(2)
    skills = rng.uniform(*SKILLS, size=raters)
    rater = rng.random((TASKS, raters)).argsort(axis=1)[:, :each].ravel()
    task = np.arange(TASKS).repeat(each)
    right = rng.uniform(size=task.size) < clear[task] * skills[rater]
    label = np.where(right, truth[task], rng.integers(3, size=task.size))
    guessed = rng.uniform(size=(judges, TASKS)) >= skill * clear
    verdicts = np.where(guessed, rng.integers(3, size=(judges, TASKS)), truth)
    return LabelledTasks(task, label, rater, task // 2), verdicts


def equal_judges_design(raters: int) -> NullDesign:
    name = f"one of equal judges is best, {raters} raters"

    def draw(rng):
        people, verdicts = labelled_tasks(rng, raters, 4, 1.0)
        found = compare_judges(people, verdicts, seed=seed_of(rng))
        return {name: any(pair.p is not None and pair.p < SIGNIFICANT for pair in found.pairs)}

    return NullDesign(f"4 judges, 120 tasks of 60 instructions x {min(3, raters)} of {raters} raters", (name,), draw)


def criteria_design(raters: int) -> NullDesign:
    """On every criterion the judge is as skilled as the raters are on average."""
    name = f"a judge is with people otherwise than they are, {CRITERIA} criteria, {raters} raters"

    def draw(rng):
        studies = [labelled_tasks(rng, raters, 1, sum(SKILLS) / 2) for _ in range(CRITERIA)]
        found = [beside_people(people, verdicts[0], seed=seed_of(rng)).apart.p for people, verdicts in studies]
        corrected = holm(np.array([np.nan if p is None else p for p in found]))
        return {name: bool((corrected < SIGNIFICANT).any())}

    return NullDesign(f"120 tasks of 60 instructions x {min(3, raters)} of {raters} raters", (name,), draw)


# May a judge replace a rater: labels of five levels, raters who see them more or less clearly and severely.

RESPONSES_EACH = 3


def labelled(rng, instructions, pool, *, judge_noise=0.7) -> AgainstRaters:
    """A judge and 3 of `pool` raters on 3 responses to each instruction."""
    m, each = instructions * RESPONSES_EACH, min(3, pool)
    clear = np.repeat(rng.choice([0.4, 1.2], size=instructions), RESPONSES_EACH)
    quality = np.repeat(rng.normal(scale=0.9, size=instructions), RESPONSES_EACH) + rng.normal(scale=0.4, size=m)
    severity, skill = 0.5 * rng.normal(size=pool), np.exp(0.25 * rng.normal(size=pool))
    rater = rng.random((m, pool)).argsort(axis=1)[:, :each].ravel()
    item = np.repeat(np.arange(m), each)
    seen = quality[item] + severity[rater] + (clear[item] * skill[rater]) * rng.normal(size=item.size)
    cut = [-1.2, -0.4, 0.4, 1.2]
    judge = np.digitize(quality + judge_noise * clear * rng.normal(size=m), cut).astype(float)
    verdicts = dict(enumerate(judge.tolist()))
    least = min(30, max(1, m * each // (3 * pool)))
    return against_raters(
        item,
        np.digitize(seen, cut).astype(float),
        rater,
        verdicts,
        kind="categorical",
        clusters=item // RESPONSES_EACH,
        min_items=least,
        seed=seed_of(rng),
    )


@cache
def endless_advantage(pool: int) -> float:
    pools = range(max(12, 240 // pool))
    return float(np.mean([labelled(np.random.default_rng([SEED, n]), 400, pool).advantage.value for n in pools]))


def advantage_design(instructions: int, raters: int) -> Design:
    name = f"judge as good as one of raters like {raters}"

    def draw(rng, _resamples, _clustered):
        return {name: of_people(labelled(rng, instructions, raters).advantage, endless_advantage(raters))}

    text = f"{instructions} instructions x {RESPONSES_EACH} responses x {min(3, raters)} of {raters} raters"
    return Design(text, {name: AT_LEAST if raters < 5 else FIVE_RATERS}, draw, rows_fail=False)


# Pairs: raters like length and the first side more or less, and a judge is compared with their majority.

SWAYS = ("length bias rate of people", "first side's wins of people", "judge same as majority")


def swayed_raters(rng, instructions, pool):
    """Three preferences of `pool` raters on 2 pairs of each instruction, and a judge's: rates of people, the majority."""
    pairs, each = 2 * instructions, min(3, pool)
    pair = np.repeat(np.arange(pairs), each)
    rater = rng.random((pairs, pool)).argsort(axis=1)[:, :each].ravel()
    lengths = rng.integers(100, 900, size=(2, pairs)).astype(float)
    longer = np.sign(lengths[0] - lengths[1])
    quality = np.repeat(rng.normal(scale=0.5, size=instructions), 2) + rng.normal(scale=0.7, size=pairs)
    length, side = rng.normal(0.3, 0.4, size=pool)[rater], rng.normal(0.1, 0.3, size=pool)[rater]
    ahead = quality[pair] + length * longer[pair] + side + rng.logistic(scale=0.5, size=pair.size)
    points = np.where(np.abs(ahead) < 0.25, 0.5, (ahead > 0).astype(float))
    judge = (quality + rng.logistic(scale=0.5, size=pairs) > 0).astype(np.int64)
    answers, seed = Answers(rater, pair // 2), seed_of(rng)
    people = LabelledTasks(pair, (2 * points).astype(np.int64), rater, pair // 2)
    return (
        longer_preferred(lengths[0][pair], lengths[1][pair], points, answers, threshold=100, seed=seed),
        first_side_wins(points, answers, seed=seed),
        same_as_majority(people, 2 * judge, seed=seed),
    )


@cache
def endless_sways(pool: int) -> tuple[float, ...]:
    pools = range(max(12, 240 // pool))
    found = [[one.value for one in swayed_raters(np.random.default_rng([SEED, n]), 500, pool)] for n in pools]
    return tuple(np.mean(found, axis=0).tolist())


def sways_design(instructions: int, raters: int) -> Design:
    names = [f"{name}, raters like {raters}" for name in SWAYS]

    def draw(rng, _resamples, _clustered):
        found = swayed_raters(rng, instructions, raters)
        return {name: of_people(*one) for name, *one in zip(names, found, endless_sways(raters), strict=True)}

    text = f"{instructions} instructions x 2 pairs x {min(3, raters)} of {raters} raters"
    promise = AT_LEAST if raters < 5 else FIVE_RATERS
    return Design(text, dict.fromkeys(names, promise), draw, rows_fail=False)


# Win rates and strengths of three models from people's preferences on some instructions and a judge's on all.

POWERED = ("win rate with a judge", "strength with a judge")


def powered_study(rng, labelled, more, pool) -> tuple[LabelledPairs, JudgedPairs]:
    n, each = labelled + more, min(3, pool)
    first, second = np.tile([0, 0, 1], n), np.tile([1, 2, 2], n)
    instruction = np.repeat(np.arange(n), 3)
    liked = np.array([0.6, 0.0, -0.6])
    gap = liked[first] - liked[second] + np.repeat(rng.normal(size=(n, 3)), 3, axis=0)[np.arange(3 * n), first]
    judge = (gap + 0.3 * (first == 0) + 0.5 * rng.logistic(size=3 * n) > 0).astype(float)
    known = instruction < labelled
    pair = np.repeat(np.arange(3 * labelled), each)
    rater = rng.random((3 * labelled, pool)).argsort(axis=1)[:, :each].ravel()
    own = 0.3 * rng.normal(size=(pool, 3))
    ahead = gap[pair] + own[rater, first[pair]] - own[rater, second[pair]]
    points = (ahead + rng.logistic(size=pair.size) > 0).astype(float)
    sides = first[known], second[known], instruction[known], judge[known]
    return (
        LabelledPairs(*sides, pair=pair, rater=rater, points=points),
        JudgedPairs(first[~known], second[~known], instruction[~known], judge[~known]),
    )


@cache
def endless_powered(pool: int) -> tuple[float, float]:
    """The first model's win rate and strength in studies with instructions almost without end, over pools of raters."""
    rates, strengths = [], []
    for n in range(max(12, 240 // pool)):
        found, _ = powered_study(np.random.default_rng([SEED, n]), 1_000, 2, pool)
        first, second = found.first[found.pair], found.second[found.pair]
        rates.append(float(found.points[first == 0].mean()))
        fit = bradley_terry(as_games(first, second, found.points))
        strengths.append(float(fit.strength[[int(str(m)) for m in fit.models].index(0)]))
    return float(np.mean(rates)), float(np.mean(strengths))


def powered_design(raters: int) -> Design:
    names = [f"{name}, raters like {raters}" for name in POWERED]

    def draw(rng, _resamples, _clustered):
        found = powered_rankings(*powered_study(rng, 40, 160, raters), 3, seed=seed_of(rng))
        truth = endless_powered(raters)
        strength = found.strengths[0] if found.strengths else None
        return {names[0]: of_people(found.win_rates[0], truth[0]), names[1]: of_people(strength, truth[1])}

    promise = AT_LEAST if raters < 5 else FIVE_RATERS
    text = f"40 of 200 instructions x 3 pairs x {min(3, raters)} of {raters} raters"
    return Design(text, dict.fromkeys(names, promise), draw, rows_fail=False)


# Means of two models from people's scores of some instructions and a judge's of all: raters differ in severity, and in how
# much they like a model.

MEANS = ("mean with a judge", "difference with a judge")


def powered_means(rng, labelled: int, more: int, pool: int) -> list[ModelScores]:
    n, each = labelled + more, min(3, pool)
    level, severity = rng.normal(size=n), rng.normal(size=pool)
    found = []
    for mean in (6.0, 5.5):
        quality = mean + level + 0.7 * rng.normal(size=n)
        judge = quality + 1 + 0.5 * rng.normal(size=n)
        place = np.repeat(np.arange(labelled), each)
        rater = rng.random((labelled, pool)).argsort(axis=1)[:, :each].ravel()
        own = severity + 0.4 * rng.normal(size=pool)
        score = quality[place] + own[rater] + rng.normal(size=place.size)
        ones, first = np.ones(labelled), judge[:labelled]
        answers = SingleAnswers(
            place, rater, score, np.ones(place.size), first, ones, np.zeros(labelled, dtype=np.int64)
        )
        human = np.bincount(place, weights=score) / each
        found.append(
            ModelScores(human, first, np.arange(labelled), judge[labelled:], np.arange(labelled, n), answers=answers)
        )
    return found


def powered_means_design(raters: int) -> Design:
    names = [f"{name}, raters like {raters}" for name in MEANS]
    widths = Widths()

    def draw(rng, _resamples, _clustered):
        one, other = powered_means(rng, 40, 160, raters)
        found = prediction_powered_mean(one).powered, prediction_powered_difference(one, other).powered
        for name, estimate in zip(names, found, strict=True):
            widths.note(name, estimate.value, estimate.such_error)
        return {name: of_people(one, truth) for name, one, truth in zip(names, found, (6.0, 0.5), strict=True)}

    promise = AT_LEAST if raters < 5 else FIVE_RATERS
    text = f"40 of 200 instructions x 2 models x {min(3, raters)} of {raters} raters"
    return Design(text, dict.fromkeys(names, promise), draw, rows_fail=False, widths=widths)


def unequal_judge_design() -> NullDesign:
    """A rater's equal must not be shown worse, and a judge worse by epsilon must not be shown to replace one."""
    names = ("a rater's equal cannot replace one", "a judge worse by epsilon can replace a rater")

    def draw(rng):
        equal = _coin_study(rng, 0.0).test(0.15).shown == "does_not"
        return {names[0]: equal, names[1]: _coin_study(rng, 0.183).test(0.15).shown == "replaces"}

    return NullDesign("100 items x 4 raters", names, draw)


def _coin_study(rng, worse: float) -> AgainstRaters:
    """Two labels that each of 4 raters gets right in 4 of 5, the judge so much more seldom."""
    n, truth = 100, rng.integers(2, size=100)
    labels = np.where(rng.uniform(size=(n, 4)) < 0.2, 1 - truth[:, None], truth[:, None])
    judge = np.where(rng.uniform(size=n) < 0.2 + worse, 1 - truth, truth)
    item, rater = (axis.ravel() for axis in np.indices((n, 4)))
    return against_raters(
        item, labels.ravel(), rater, dict(enumerate(judge.tolist())), kind="categorical", seed=seed_of(rng)
    )


def designs() -> list[Design]:
    return [
        *(ways_design(40, raters) for raters in (3, 5, 8, 60)),
        *(advantage_design(60, raters) for raters in (3, 5, 8, 60)),
        *(sways_design(40, raters) for raters in (3, 5, 8, 60)),
        *(powered_design(raters) for raters in (2, 3, 5, 8, 60)),
        *(powered_means_design(raters) for raters in (2, 3, 5, 8, 60)),
    ]


def null_designs() -> list[NullDesign]:
    return [
        *(blind_design(raters) for raters in (3, 8, 60)),
        *(honest_design(raters) for raters in (3, 8, 60)),
        *(equal_judges_design(raters) for raters in (3, 8, 60)),
        *(criteria_design(raters) for raters in (3, 8, 60)),
        unequal_judge_design(),
    ]
