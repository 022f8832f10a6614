"""Lines of the coverage benchmark on model means and rankings from scores and from pairs."""

from functools import cache

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, held, seed_of

from calibration.statistics.ranking.bradley_terry import bradley_terry
from calibration.statistics.ranking.comparisons import as_games, pair_indices
from calibration.statistics.ranking.populations import crossed_means, differences_shown, ranks_left, skewed_reach
from calibration.statistics.ranking.strength_populations import crossed_points, crossed_strengths, win_rates

SEVERITY, TASTE = 0.5, 0.15
"""Standard deviations of a rater's severity on a scale of 1 to 6 (.10 of it) and of a rater's liking of each model."""
LOG_TASTE = 0.25
SKEWED = (0.92, 1.0)
MODELS = 4
FEW = 5
POOLS = ((3, None), (5, None), (8, 3), (60, 3))


def scored(rng, instructions, raters, *, each=None, ceiling=False):
    """Scores, models, instructions and raters (n,); a rater of an instruction scores all of its models, which are equal."""
    m = min(raters, each or raters)
    severity, taste = rng.normal(scale=SEVERITY, size=raters), rng.normal(scale=TASTE, size=(raters, MODELS))
    rater = np.argsort(rng.random((instructions, raters)), axis=1)[:, :m]
    quality = rng.normal(scale=0.6, size=(instructions, 1, 1)) + rng.normal(scale=0.4, size=(instructions, 1, MODELS))
    score = (
        4 + quality + rng.normal(scale=0.5, size=(instructions, m, MODELS)) + severity[rater][:, :, None] + taste[rater]
    )
    if ceiling:
        score = np.minimum(score, 4.5)
    instruction = np.repeat(np.arange(instructions), m * MODELS)
    persons = np.unique(np.repeat(rater.ravel(), MODELS), return_inverse=True)[1]
    return score.ravel(), np.tile(np.arange(MODELS), instructions * m), instruction, persons


@cache
def mean_at_ceiling() -> float:
    """The mean of very many instructions and raters, whose scores end at 4.5."""
    many = [scored(np.random.default_rng(seed), 2_000, 2_000, each=3, ceiling=True)[0].mean() for seed in range(8)]
    return float(np.mean(many))


def means_design(instructions, raters, each, ceiling=False) -> Design:
    end = f", {raters} raters, {'ceiling' if ceiling else f'{instructions} instructions'}"
    names = f"model means, such raters{end}", f"differences of means, such raters{end}"
    promise = FIVE_RATERS if raters >= FEW else AT_LEAST
    truth = mean_at_ceiling() if ceiling else 4.0

    def draw(rng, resamples, clustered):
        score, model, instruction, rater = scored(rng, instructions, raters, each=each, ceiling=ceiling)
        means, between = crossed_means(score, model, instruction, rater)
        return {names[0]: held(*means.ends(such=True), truth), names[1]: held(*between.ends(such=True), 0.0)}

    text = f"{instructions} instructions x {MODELS} models x {min(raters, each or raters)} of {raters} raters"
    return Design(text, dict.fromkeys(names, promise), draw, rows_fail=False)


def skewed_design(instructions) -> Design:
    """Lognormal scores of one rater, for exactly this rater."""
    name = f"means of skewed scores, {instructions} instructions"

    def draw(rng, resamples, clustered):
        score = np.exp(rng.normal(size=instructions * 2))
        model, instruction = np.tile(np.arange(2), instructions), np.repeat(np.arange(instructions), 2)
        means, _ = crossed_means(score, model, instruction, None)
        below, above = skewed_reach(score, model, instruction, draws=resamples, seed=seed_of(rng))
        error = np.sqrt(means.these)
        return {name: held(means.value - below * error, means.value + above * error, np.exp(0.5))}

    return Design(f"{instructions} instructions, lognormal scores", {name: SKEWED}, draw, rows_fail=False)


def compared(rng, instructions, raters, truth, *, each=None, ties=0.2):
    """Games on six random pairs an instruction, and their raters, whose liking of a model differs by its logarithm."""
    m, k, pairs = min(raters, each or raters), len(truth), np.column_stack(pair_indices(len(truth)))
    taste, own = rng.normal(scale=LOG_TASTE, size=(raters, k)), rng.normal(scale=0.5, size=(instructions, k))
    chosen = pairs[np.argsort(rng.random((instructions, len(pairs))), axis=1)[:, :6]]
    rater = np.argsort(rng.random((instructions, raters)), axis=1)[:, :m]
    instruction = np.repeat(np.arange(instructions), chosen.shape[1] * m)
    first, second = (np.repeat(chosen[:, :, side].ravel(), m) for side in (0, 1))
    person = np.repeat(rater[:, None, :], chosen.shape[1], axis=1).ravel()
    ahead = truth[first] - truth[second] + own[instruction, first] - own[instruction, second]
    ahead = ahead + taste[person, first] - taste[person, second]
    won = rng.random(len(ahead)) < 1 / (1 + np.exp(-ahead))
    score = np.where(rng.random(len(ahead)) < ties, 0.5, won)
    return as_games(first, second, score, clusters=instruction), np.unique(person, return_inverse=True)[1]


TRUTH = np.array([0.6, 0.2, -0.2, -0.6])
LOPSIDED = np.array([4.5, 0.2, -0.2, -4.5])


@cache
def true_strengths() -> np.ndarray:
    """Bradley-Terry strengths of very many instructions and raters, of whom no two like the models alike."""
    many = [compared(np.random.default_rng(seed), 2_000, 2_000, TRUTH, each=3)[0] for seed in range(8)]
    return np.mean([bradley_terry(games).strength for games in many], axis=0)


@cache
def true_win_rates(lopsided: bool) -> np.ndarray:
    """Points per comparison of the models over very many instructions and raters."""
    truth = LOPSIDED if lopsided else TRUTH
    many = [
        compared(np.random.default_rng(seed), 2_000, 2_000, truth, each=3, ties=0.02 if lopsided else 0.2)[0]
        for seed in range(8)
    ]
    return np.mean([crossed_points(games, None).value for games in many], axis=0)


def win_rates_design(instructions, raters, each, *, lopsided=False) -> Design:
    """Win rates, a tie counting half; lopsided, the best model hardly ever loses."""
    end = f"{raters} raters, {'near 0 and 1' if lopsided else f'{instructions} instructions'}"
    name = f"win rates, such raters, {end}"

    def draw(rng, resamples, clustered):
        truth = LOPSIDED if lopsided else TRUTH
        games, rater = compared(rng, instructions, raters, truth, each=each, ties=0.02 if lopsided else 0.2)
        found = win_rates(games, rater)
        return {name: held(found.such_low, found.such_high, true_win_rates(lopsided))}

    promise = FIVE_RATERS if raters >= FEW else AT_LEAST
    text = f"{instructions} instructions x 6 pairs x {min(raters, each or raters)} of {raters} raters"
    return Design(text, {name: promise}, draw, rows_fail=False)


def strengths_design(instructions, raters, each) -> Design:
    name = f"Bradley-Terry differences, such raters, {raters} raters, {instructions} instructions"
    endless = true_strengths()
    i, j = pair_indices(MODELS)

    def draw(rng, resamples, clustered):
        games, rater = compared(rng, instructions, raters, TRUTH, each=each)
        found = crossed_strengths(games, rater, bradley_terry(games)).part(slice(MODELS, None))
        return {name: held(*found.ends(such=True), endless[i] - endless[j])}

    promise = FIVE_RATERS if raters >= FEW else AT_LEAST
    text = f"{instructions} instructions x 6 pairs x {min(raters, each or raters)} of {raters} raters"
    return Design(text, {name: promise}, draw, rows_fail=False)


def claims(found) -> tuple[bool, bool]:
    """Whether a model is called the leader, and whether any pair is called different."""
    ranked = np.ones(MODELS, dtype=bool)
    rows = differences_shown(found, ranked, positions=False)
    return bool((ranks_left(rows, ranked)[1] == 1).any()), any(row.shown for row in rows)


def equal_models(raters, each) -> list[NullDesign]:
    scores = f"leader by scores, {raters} raters", f"differences by scores, {raters} raters"
    pairs = f"leader by pairs, {raters} raters", f"differences by pairs, {raters} raters"

    def by_scores(rng):
        return dict(zip(scores, claims(crossed_means(*scored(rng, 40, raters, each=each))[1]), strict=True))

    def by_pairs(rng):
        games, rater = compared(rng, 40, raters, np.zeros(MODELS), each=each)
        found = crossed_strengths(games, rater, bradley_terry(games)).part(slice(MODELS, None))
        return dict(zip(pairs, claims(found), strict=True))

    text = f"{MODELS} equal models, 40 instructions, {raters} raters"
    return [NullDesign(f"{text}, scores", scores, by_scores), NullDesign(f"{text}, pairs", pairs, by_pairs)]


def designs() -> list[Design]:
    lines = [means_design(n, raters, each) for raters, each in POOLS for n in (30, 60, 200)]
    lines += [means_design(60, raters, each, ceiling=True) for raters, each in POOLS]
    lines += [skewed_design(n) for n in (20, 30, 50)]
    lines += [win_rates_design(n, raters, each) for raters, each in POOLS for n in (40, 100)]
    lines += [win_rates_design(40, raters, each, lopsided=True) for raters, each in POOLS]
    return lines + [strengths_design(n, raters, each) for raters, each in POOLS for n in (40, 100)]


def null_designs() -> list[NullDesign]:
    return [design for raters, each in ((2, None), *POOLS) for design in equal_models(raters, each)]
