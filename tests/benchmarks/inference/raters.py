"""Lines of the coverage benchmark on what is said about single raters and about the pool of raters."""

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, Widths, held, seed_of

from calibration.statistics.agreement.proportions import clustered_proportions
from calibration.statistics.errors import NoStatistic
from calibration.statistics.populations import pooled_variance, such_raters, these_raters
from calibration.statistics.raters.behaviour import side_preference
from calibration.statistics.raters.consensus import dawid_skene
from calibration.statistics.raters.decision import decide
from calibration.statistics.raters.hints import hint_variance
from calibration.statistics.raters.posteriors import item_labels
from calibration.statistics.raters.severity_spread import severity_spread
from calibration.statistics.raters.standing import standings
from calibration.statistics.raters.variance import sources_of, split_by, split_ratings
from calibration.statistics.raters.variance_populations import gain_of_rater_ends, of_more_raters, split_ends

RESPONSES = 2
SEVERITY, TASTE = 0.4, 0.25


def scored(rng, instructions, pool, per_task, *, severity=SEVERITY, inverted=0, random=0, spread=0.8):
    """Tasks, raters, instructions and scores 1 to 5; the last raters of the pool may invert the scale or guess."""
    latent = rng.normal(size=(instructions, 1)) * 0.7 + rng.normal(size=(instructions, RESPONSES)) * 0.7
    severe, taste = rng.normal(0, severity, pool), np.exp(rng.normal(0, TASTE, pool))
    taste[:inverted] *= -1
    taste[inverted : inverted + random] = 0
    chosen = np.argsort(rng.random((instructions, pool)), axis=1)[:, :per_task]
    raters = np.repeat(chosen, RESPONSES, axis=0)
    # A rater's answers to one instruction resemble each other.
    shared = np.repeat(rng.normal(0, 0.4, (instructions, per_task)), RESPONSES, axis=0)
    seen = 3 + taste[raters] * latent.reshape(-1, 1) + severe[raters] + shared + rng.normal(0, spread, raters.shape)
    tasks = np.repeat(np.arange(instructions * RESPONSES), per_task)
    scores = np.clip(np.rint(seen), 1, 5)
    return tasks, raters.ravel(), np.repeat(np.arange(instructions), per_task * RESPONSES), scores.ravel()


# Shares pooled over raters: accuracy, correct answers, consistency. Each rater has a chance of their own.


def pooled_design(rate: float, pool: int, instructions: int) -> Design:
    name, widths = f"share of answers at {rate:g}, {{}}, {pool} raters", Widths()
    sharp = 60.0 if rate < 0.9 else 400.0

    def draw(rng, _resamples, _clustered):
        chance = rng.beta(sharp * rate, sharp * (1 - rate), pool)
        raters = np.argsort(rng.random((instructions, pool)), axis=1)[:, : min(pool, 5)]
        # An instruction is harder or easier for everybody, by half of the chance to be wrong at most.
        hard = rng.uniform(0.5, 1.5, (instructions, 1))
        hit = rng.random(raters.shape) < 1 - (1 - chance[raters]) * hard
        codes = np.repeat(np.arange(instructions), raters.shape[1])
        found = pooled_variance(hit.ravel().astype(float), np.ones(hit.size), raters.ravel(), codes)
        such, these = such_raters(found, "share"), these_raters(found, "share")
        widths.note(name.format("such raters"), float(found.value[0]), float(np.sqrt(found.such[0])))
        return {
            name.format("such raters"): held(such.low, such.high, rate),
            name.format("these raters"): held(these.low, these.high, float(chance.mean())),
        }

    promise = AT_LEAST if pool < 5 else FIVE_RATERS
    promises = {name.format("such raters"): promise, name.format("these raters"): FIVE_RATERS}
    text = f"{instructions} instructions, {min(pool, 5)} of {pool} raters each"
    return Design(text, promises, draw, rows_fail=False, widths=widths)


def single_design(rate: float, tasks: int) -> Design:
    """Accuracy, sensitivity or specificity of one named rater, two answers to each task."""
    name = f"share of one rater at {rate:g}"

    def draw(rng, _resamples, _clustered):
        chance = rng.beta(40 * rate, 40 * (1 - rate), tasks)
        hit = rng.random((tasks, 2)) < chance[:, None]
        found = clustered_proportions(hit.ravel(), np.zeros(2 * tasks, dtype=np.int64), np.repeat(np.arange(tasks), 2))[
            0
        ]
        return {name: held(found.low, found.high, rate)}

    return Design(f"{tasks} tasks of two answers", {name: FIVE_RATERS}, draw, rows_fail=False)


# Named raters: correlation with the others' consensus.


def standing_design(instructions: int, pool: int) -> Design:
    name = f"correlation with the other raters, {pool} raters"

    def draw(rng, _resamples, _clustered):
        # The same raters rate many instructions: their true correlations with these others.
        seed = seed_of(rng)
        truth = standing_values(np.random.default_rng(seed), 3000, pool)
        found = standing_values(np.random.default_rng(seed), instructions, pool, rng)
        ends = [found[code] for code in sorted(found)]
        right = [truth[code].value for code in sorted(found)]
        return {name: held([one.low for one in ends], [one.high for one in ends], np.array(right))}

    return Design(f"{instructions} instructions, every rater", {name: FIVE_RATERS}, draw, rows_fail=False)


def standing_values(people, instructions, pool, rng=None):
    severe, taste = people.normal(0, SEVERITY, pool), np.exp(people.normal(0, TASTE, pool))
    rng = people if rng is None else rng
    latent = rng.normal(size=instructions)
    seen = 3 + taste * latent[:, None] + severe + rng.normal(0, 0.8, (instructions, pool))
    scores = np.clip(np.rint(seen), 1, 5).ravel()
    codes = np.repeat(np.arange(instructions), pool)
    return standings(scores, items=codes, raters=np.tile(np.arange(pool), instructions), instructions=codes)


def spread_of(scores, **arguments):
    """The spread of severity; None where it is not stated: too few shared answers."""
    try:
        return severity_spread(scores, **arguments)
    except NoStatistic:
        return None


def severity_design(instructions: int, pool: int, per_task: int) -> Design:
    """On a scale without ends, so that the true standard deviation is known."""
    name, widths = f"standard deviation of severity, {pool} such raters", Widths()

    def draw(rng, _resamples, _clustered):
        severe = rng.normal(0, SEVERITY, pool)
        raters = np.argsort(rng.random((instructions, pool)), axis=1)[:, :per_task]
        shared = rng.normal(0, 0.4, raters.shape)
        every = np.repeat(raters, RESPONSES, axis=0)
        level = np.repeat(rng.normal(size=instructions * RESPONSES), per_task).reshape(-1, per_task)
        scores = level + severe[every] + np.repeat(shared, RESPONSES, axis=0) + rng.normal(0, 0.8, every.shape)
        found = spread_of(
            scores.ravel(),
            items=np.repeat(np.arange(len(every)), per_task),
            raters=every.ravel(),
            clusters=np.repeat(np.arange(instructions), per_task * RESPONSES),
            worth=0.2,
        )
        return {name: held(found.low, found.high, SEVERITY) if found else np.array([])}

    promise = AT_LEAST if pool < 5 else FIVE_RATERS
    text = f"{instructions} instructions x {RESPONSES} responses, {per_task} of {pool} raters each"
    return Design(text, {name: promise}, draw, rows_fail=False, widths=widths)


# Hints: each rater answers some instructions with the hint and some without; raters react to it differently.


def hint_design(instructions: int, pool: int) -> Design:
    name, widths = f"effect of hints, {pool} such raters", Widths()

    def draw(rng, _resamples, _clustered):
        severe, react = rng.normal(0, SEVERITY, pool), 0.3 + rng.normal(0, 0.2, pool)
        level = 3 + rng.normal(0, 0.7, instructions)
        saw = np.argsort(rng.random((instructions, pool)), axis=1) < pool // 2
        scores = level[:, None] + severe + np.where(saw, 0.0, react) + rng.normal(0, 0.8, saw.shape)
        codes = np.repeat(np.arange(instructions), pool)
        people = np.tile(np.arange(pool), instructions)
        found = hint_variance(scores.ravel(), saw.ravel(), codes, raters=people, instructions=codes)
        ends = such_raters(found, "plain")
        widths.note(name, float(found.value[0]), float(np.sqrt(found.such[0])))
        return {name: held(ends.low[0], ends.high[0], 0.3)}

    promise = AT_LEAST if pool < 5 else FIVE_RATERS
    return Design(f"{instructions} instructions, every rater", {name: promise}, draw, rows_fail=False, widths=widths)


# What more raters and repeats do to the reliability of a response's score. Scales have ends, and the models are given.

EACH_MODEL = np.array([0.0, 0.4, -0.3, 0.2])


def rated_twice(rng, instructions, pool, per_task):
    """Scores 1 to 5 with their instruction, model and rater; raters answer some of the tasks a second time."""
    models = EACH_MODEL.size
    level = EACH_MODEL + rng.normal(0, 0.5, (instructions, 1)) + rng.normal(0, 0.6, (instructions, models))
    severe, taste = rng.normal(0, SEVERITY, pool), np.exp(rng.normal(0, TASTE, pool))
    raters = np.argsort(rng.random((instructions, models, pool)), axis=2)[:, :, :per_task]
    seen = 3 + taste[raters] * level[:, :, None] + severe[raters] + rng.normal(0, 0.6, raters.shape)
    again = rng.random(raters.shape) < 0.25
    item, model, _place = np.indices(raters.shape)
    columns = [np.concatenate([array[again], array.ravel()]) for array in (seen, item, model, raters)]
    scores = np.clip(np.rint(columns[0] + rng.normal(0, 0.4, columns[0].size)), 1, 5)
    return scores, *columns[1:]


SOURCES = ("item", "response", "rater", "residual", "repeat")


def split_values(scores, items, models, raters):
    """The components, then the gain of a second rater, that of a repeat, and the reliability of five raters."""
    found = split_ratings(scores, items=items, raters=raters, models=models)
    variances = {name: found.components[name].variance for name in SOURCES}
    study = decide(variances | {"model": found.components["model"].variance}, budget=5)
    return np.array([*variances.values(), study.gain_of_rater, study.gain_of_repeat, study.best.reliability])


def reliability_design(instructions: int, pool: int, per_task: int) -> Design:
    """The true values are the means over three studies of 300 raters and 1,000 instructions."""
    what = [f"variance of {source}" for source in SOURCES]
    what += ["gain of a second rater", "gain of a repeat", "reliability of five raters"]
    names = [f"{one}, {pool} such raters" for one in what]
    large = [split_values(*rated_twice(np.random.default_rng(seed), 1000, 300, per_task)) for seed in range(3)]
    truth = np.mean(large, axis=0)

    def draw(rng, _resamples, _clustered):
        scores, items, models, raters = rated_twice(rng, instructions, pool, per_task)
        sources = sources_of(items=items, raters=raters, models=models)
        split = split_by(scores, sources)
        found = split_ends(scores, sources, split, instructions=items, raters=raters, seed=seed_of(rng))
        single = found.reliability[1]
        ends = [*(found.components[source] for source in SOURCES), gain_of_rater_ends(single), found.gain_of_repeat]
        ends = [one.such for one in [*ends, of_more_raters(single, 5)]]
        return {name: held(*pair, true) for name, pair, true in zip(names, ends, truth, strict=True)}

    promise = AT_LEAST if pool < 5 else FIVE_RATERS
    text = f"{instructions} instructions x {EACH_MODEL.size} models, {per_task} of {pool} raters each"
    return Design(text, dict.fromkeys(names, promise), draw, rows_fail=False)


# Labels of items: raters with errors of their own, as the model of Dawid and Skene says.


def labelled(rng, items, pool, accuracy=(0.65, 0.95)):
    """Item, rater and answer (n,), the true tables and the true probability of label 1 for each item."""
    tables = np.empty((pool, 2, 2))
    right = rng.uniform(*accuracy, size=(pool, 2))
    tables[:, 0, 0], tables[:, 0, 1] = right[:, 0], 1 - right[:, 0]
    tables[:, 1, 1], tables[:, 1, 0] = right[:, 1], 1 - right[:, 1]
    truth = (rng.random(items) < 0.4).astype(np.int64)
    answers = (rng.random((items, pool)) < tables[np.arange(pool)[None, :], truth[:, None], 1]).astype(np.int64)
    odds = np.log(0.4 / 0.6) + np.log(tables[np.arange(pool), 1, answers] / tables[np.arange(pool), 0, answers]).sum(
        axis=1
    )
    codes = np.repeat(np.arange(items), pool)
    return codes, np.tile(np.arange(pool), items), answers.ravel(), 1 / (1 + np.exp(-odds))


def posterior_design(items: int, pool: int) -> Design:
    name = f"probability of an item's label, {pool} raters"

    def draw(rng, _resamples, _clustered):
        codes, raters, answers, truth = labelled(rng, items, pool)
        found = item_labels(dawid_skene(codes, answers, raters), codes, answers, raters, seed=seed_of(rng))
        true = np.array([truth[one.item] if one.label == 1 else 1 - truth[one.item] for one in found.items])
        return {name: held([one.low for one in found.items], [one.high for one in found.items], true)}

    return Design(f"{items} items, every rater", {name: AT_LEAST}, draw, rows_fail=False)


def designs() -> list[Design]:
    found = [pooled_design(0.75, pool, n) for n in (30, 200) for pool in (3, 5, 8, 60)]
    found += [pooled_design(rate, pool, n) for rate in (0.97, 0.99, 0.995) for pool, n in ((5, 20), (8, 200))]
    found += [single_design(rate, n) for rate in (0.97, 0.99, 0.995) for n in (20, 60, 200)]
    found += [standing_design(40, 5), standing_design(100, 5)]
    found += [severity_design(n, pool, per) for n in (30, 100) for pool, per in ((3, 3), (5, 5), (8, 3), (60, 3))]
    found += [hint_design(n, pool) for n in (30, 100) for pool in (4, 8)]
    found += [reliability_design(n, pool, per) for n in (30, 100) for pool, per in ((3, 3), (5, 3), (8, 3), (60, 3))]
    return [*found, posterior_design(100, 5), posterior_design(200, 8)]


# Nothing to find: raters who are equal, apart from the taste and severity that a finding is not about.


def equal_severity(instructions: int, pool: int, per_task: int) -> NullDesign:
    name = f"raters differ in severity, {pool} raters"

    def draw(rng):
        tasks, raters, clusters, scores = scored(rng, instructions, pool, per_task, severity=0.0)
        found = spread_of(scores, items=tasks, raters=raters, clusters=clusters, worth=0.2)
        return {name: found is not None and found.shown}

    return NullDesign(f"{instructions} instructions, {per_task} of {pool} raters each, equal", (name,), draw)


def ordinary_raters(instructions: int, pool: int, per_task: int) -> NullDesign:
    """Raters without one who inverts the scale or guesses; they hardly agree."""
    name = f"a rater inverts the scale or guesses, {pool} raters"

    def draw(rng):
        tasks, raters, clusters, scores = scored(rng, instructions, pool, per_task, spread=1.6)
        found = standings(scores, items=tasks, raters=raters, instructions=clusters)
        return {name: any(one.verdict for one in found.values())}

    return NullDesign(f"{instructions} instructions, {per_task} of {pool} raters each", (name,), draw)


def unrelated_raters(instructions: int, pool: int) -> NullDesign:
    """Nobody agrees with anybody: no rater is the odd one."""
    name = f"a rater inverts the scale among unrelated ones, {pool} raters"

    def draw(rng):
        scores = rng.integers(1, 6, instructions * pool).astype(float)
        codes = np.repeat(np.arange(instructions), pool)
        found = standings(scores, items=codes, raters=np.tile(np.arange(pool), instructions), instructions=codes)
        return {name: any(one.verdict for one in found.values())}

    return NullDesign(f"{instructions} instructions, every rater", (name,), draw)


def clear_guideline(items: int, pool: int) -> NullDesign:
    name = f"a task splits the raters, {pool} raters"

    def draw(rng):
        codes, raters, answers, _ = labelled(rng, items, pool)
        found = item_labels(dawid_skene(codes, answers, raters), codes, answers, raters, seed=seed_of(rng))
        return {name: any(one.split for one in found.items)}

    return NullDesign(f"{items} items, every rater, errors independent", (name,), draw)


def no_side(instructions: int, pool: int) -> NullDesign:
    name = f"a rater prefers a side, {pool} raters"

    def draw(rng):
        # Sides are shown at random; a rater's answers to an instruction depend on each other.
        chance = rng.beta(1.5, 1.5, (pool, instructions))
        side = np.where(rng.random((3, pool, instructions)) < chance, 1, 2)
        raters = np.broadcast_to(np.arange(pool)[None, :, None], side.shape).ravel()
        clusters = np.broadcast_to(np.arange(instructions)[None, None, :], side.shape).ravel()
        found = side_preference(side.ravel(), raters=raters, clusters=clusters)
        return {name: any(one.preferred for one in found.values())}

    return NullDesign(f"{instructions} instructions x 3 comparisons, every rater", (name,), draw)


def null_designs() -> list[NullDesign]:
    found = [equal_severity(n, pool, per) for n in (30, 100) for pool, per in ((3, 3), (5, 5), (8, 3), (60, 3))]
    found += [ordinary_raters(60, 5, 5), ordinary_raters(60, 8, 3), unrelated_raters(40, 5), unrelated_raters(40, 12)]
    return [*found, clear_guideline(100, 5), clear_guideline(100, 11), no_side(30, 5), no_side(60, 20)]
