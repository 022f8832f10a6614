"""Lines of the coverage benchmark on agreement among people, for these raters and for raters like these."""

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, Widths, held

from calibration.statistics.agreement.rater_correlations import icc
from calibration.statistics.agreement.such_correlations import icc_variance, pair_correlation_variance
from calibration.statistics.agreement.such_raters import agreement_variance, alpha_variance, kappa_variance
from calibration.statistics.populations import such_raters, these_raters

SEED = 71
RESPONSES = 2
SEVERITY, TASTE = 0.4, 0.25
"""Standard deviations between raters: of their scores on 1 to 5 (a tenth of its range), and of the log of their spread."""

SHAPES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "ceiling": lambda rng, size: 1.6 + rng.normal(size=size),
    "skew": lambda rng, size: np.exp(rng.normal(scale=0.8, size=size)) - 2.0,
}


def rated(rng, shape, instructions, pool, per_task):
    """Tasks, raters, instructions and scores 1 to 5 (n,) of raters with a severity and a taste of their own."""
    latent = SHAPES[shape](rng, (instructions, 1)) * 0.7 + rng.normal(size=(instructions, RESPONSES)) * 0.7
    severe, spread = rng.normal(0, SEVERITY, pool), np.exp(rng.normal(0, TASTE, pool))
    chosen = np.argsort(rng.random((instructions, pool)), axis=1)[:, :per_task] if per_task < pool else None
    of_instruction = np.tile(np.arange(pool), (instructions, 1)) if chosen is None else chosen
    raters = np.repeat(of_instruction, RESPONSES, axis=0)
    seen = 3 + spread[raters] * latent.reshape(-1, 1) + severe[raters] + rng.normal(0, 0.8, raters.shape)
    tasks = np.repeat(np.arange(instructions * RESPONSES), per_task)
    scores = np.clip(np.rint(seen), 1, 5)
    return tasks, raters.ravel(), np.repeat(np.arange(instructions), per_task * RESPONSES), scores.ravel()


def variances(drawn, complete):
    """Every coefficient's variances by its name, and the scale of its interval."""
    tasks, raters, instructions, scores = drawn
    labels = scores.astype(np.int64)
    found = {
        "alpha, ordinal": (alpha_variance(tasks, scores, raters, instructions, metric="ordinal"), "correlation"),
        "alpha, nominal": (alpha_variance(tasks, scores, raters, instructions, metric="nominal"), "correlation"),
        "leave-one-out": (agreement_variance(tasks, labels, raters, instructions), "share"),
        "Fleiss' kappa": (kappa_variance(tasks, labels, raters, instructions, chance="fleiss"), "correlation"),
        "AC1": (kappa_variance(tasks, labels, raters, instructions, chance="gwet"), "correlation"),
    }
    if complete:
        found["ICC"] = (icc_variance(tasks, raters, scores, instructions), "correlation")
        found["mean correlation of two raters"] = (
            pair_correlation_variance(tasks, raters, scores, instructions),
            "correlation",
        )
    return found


def truths(shape, pool, per_task):
    """The values that endless instructions and raters would give."""
    rng = np.random.default_rng(SEED)
    many = variances_of_many(rated(rng, shape, 3000, 3000, per_task))
    if pool > per_task:
        return many
    tasks, raters, _, scores = rated(rng, shape, 2000, 400, 400)
    found = icc(tasks, raters, scores)
    rest = 1 / found.icc21 - 1
    severity = rater_share(tasks, raters, scores) * (1 + rest)
    error = rest - severity
    one_way = (pool - severity) / (pool + error + (pool - 1) * rest)
    many["ICC"] = np.array([one_way, found.icc21, pool / (pool + rest)])
    table = np.zeros((4000, 400))
    table[tasks, raters] = scores
    many["mean correlation of two raters"] = (np.corrcoef(table.T).sum() - 400) / (400 * 399)
    return many


def rater_share(tasks, raters, scores):
    """The part of the variance of scores that raters' means add."""
    table = np.zeros((int(tasks.max()) + 1, int(raters.max()) + 1))
    table[tasks, raters] = scores
    between = table.mean(axis=0).var(ddof=1)
    rest = (table - table.mean(axis=0) - table.mean(axis=1)[:, None]).var()
    severity = between - rest / len(table)
    within = severity + rest * table.shape[1] / (table.shape[1] - 1)
    return severity / (table.mean(axis=1).var() - rest / table.shape[1] + within)


def variances_of_many(drawn):
    return {name: found.value[0] for name, (found, _) in variances(drawn, False).items()}


def people_design(shape: str, pool: int, per_task: int, instructions: int) -> Design:
    complete = pool == per_task
    truth: dict[str, np.ndarray] = {}
    widths = Widths()
    names = ["alpha, ordinal", "alpha, nominal", "leave-one-out", "Fleiss' kappa", "AC1"]
    names += ["ICC", "mean correlation of two raters"] if complete else []
    end = f", {pool} such raters, {shape}"

    def draw(rng, _resamples, _clustered):
        if not truth:
            truth.update(truths(shape, pool, per_task))
        found = {}
        for name, (variance, scale) in variances(rated(rng, shape, instructions, pool, per_task), complete).items():
            such = such_raters(variance, scale)
            assert such.not_stated is None
            found[f"{name}{end}"] = held(such.low, such.high, truth[name])
            widths.note(f"{name}{end}", variance.value[-1], float(np.sqrt(variance.such[-1])))
        return found

    promise = AT_LEAST if pool < 5 else FIVE_RATERS
    text = f"{instructions} instructions x {RESPONSES} responses, {per_task} of {pool} raters each"
    return Design(text, {f"{name}{end}": promise for name in names}, draw, rows_fail=False, widths=widths)


# Labels on which nearly everybody agrees: each rater errs on its own, and an error is rare.


def near_one_design(rate: float, instructions: int, pool: int) -> Design:
    """Three raters of `pool` a task; a rater's chance to err differs by a factor of some e^.25."""
    name = f"leave-one-out at {rate:g}, {{}} raters"
    truth: dict[str, float] = {}

    def errors(rng, pool):
        # With three raters, one error costs two thirds of a task.
        return np.minimum((1 - rate) / 2 * np.exp(rng.normal(-(0.25**2) / 2, 0.25, pool)), 0.5)

    def draw_labels(rng, instructions, pool):
        raters = np.argsort(rng.random((instructions, pool)), axis=1)[:, :3]
        wrong = rng.random((instructions, 3)) < errors(rng, pool)[raters]
        labels = np.where(wrong, 1, 0) ^ rng.integers(0, 2, size=(instructions, 1))
        tasks = np.repeat(np.arange(instructions), 3)
        return tasks, labels.ravel(), raters.ravel(), tasks

    def draw(rng, _resamples, _clustered):
        if not truth:
            tasks, labels, _, _ = draw_labels(np.random.default_rng(SEED), 20_000, 60)
            many = [agreement_variance(tasks, labels, np.tile(np.arange(3), 20_000), tasks).value[0]]
            for seed in range(40):
                tasks, labels, _, _ = draw_labels(np.random.default_rng([SEED, seed]), 20_000, 60)
                many.append(agreement_variance(tasks, labels, np.tile(np.arange(3), 20_000), tasks).value[0])
            truth["rate"] = float(np.mean(many))
        variance = agreement_variance(*draw_labels(rng, instructions, pool))
        such, these = such_raters(variance, "share"), these_raters(variance, "share")
        return {
            name.format("such"): held(such.low, such.high, truth["rate"]),
            name.format("these"): held(these.low, these.high, truth["rate"]),
        }

    promises = {name.format(who): FIVE_RATERS for who in ("such", "these")}
    return Design(f"{instructions} tasks, 3 of {pool} raters each", promises, draw, rows_fail=False)


def designs() -> list[Design]:
    found = [
        people_design(shape, pool, per_task, instructions)
        for shape, instructions in (("normal", 30), ("normal", 200), ("ceiling", 60), ("skew", 60))
        for pool, per_task in ((3, 3), (5, 5), (8, 3), (60, 3))
    ]
    return found + [
        near_one_design(rate, instructions, pool)
        for rate in (0.97, 0.99, 0.995)
        for instructions, pool in ((20, 5), (60, 5), (200, 8))
    ]


def null_designs() -> list[NullDesign]:
    return []
