"""Lines of the coverage benchmark on fitted weights and their R2, for raters like these and for exactly these."""

from functools import cache

import numpy as np
from inference.design import AT_LEAST, FIVE_RATERS, Design, NullDesign, held

from calibration.statistics.weights.fit import certify_weights, fit_weights, pool_weights
from calibration.statistics.weights.gains import left_out_errors
from calibration.statistics.weights.held_out import held_out_r2
from calibration.statistics.weights.populations import TheseEnds, WeightPopulations, weight_populations
from calibration.statistics.weights.rivals import rival_methods

PLAIN = (1.2, 1.8, 2.4, 0.9, 1.5)
AT_FLOOR = (0.5, 2.0, 0.5, 2.5, 2.0)
CEILING = (2.0, 2.5, 3.0, 1.5, 2.5)
EQUAL = (1.6,) * 5
SEVERITY, TASTE = 1.0, 0.25
"""Standard deviations of a rater's severity on 0..10 (.10 of the scale) and of the logarithm of a rater's weights."""
FEW = 5


def rated(rng, instructions, raters, weights, *, each=None, ceiling=False, responses=2):
    """Answers (n, p), overall (n,), instruction and rater codes (n,): `each` of the raters on every response, or all."""
    p, m = len(weights), min(raters, each or raters)
    severity = rng.normal(scale=SEVERITY, size=raters)
    taste = np.exp(rng.normal(scale=TASTE, size=(raters, p)))
    instruction = np.repeat(np.arange(instructions), responses * m)
    rater = np.argsort(rng.random((instructions * responses, raters)), axis=1)[:, :m].ravel()
    x = 0.5 + rng.uniform(-0.15, 0.15, size=(instructions, 1, 1, p))
    x = x + rng.uniform(-0.2, 0.2, size=(instructions, responses, 1, p))
    x = (x + rng.uniform(-0.15, 0.15, size=(instructions, responses, m, p))).reshape(-1, p)
    x = np.clip(x + (0.25 if ceiling else 0.0), 0, 1)
    own = np.repeat(rng.normal(scale=0.5, size=instructions), responses * m)
    own = own + np.repeat(rng.normal(scale=0.4, size=instructions * responses), m)
    y = (x * (np.array(weights) * taste[rater])).sum(axis=1) + severity[rater] + own
    y = y + rng.normal(scale=0.4, size=len(rater))
    return x, np.clip(y, 0, 10), instruction, np.unique(rater, return_inverse=True)[1]


@cache
def truth(weights, ceiling) -> tuple[np.ndarray, float]:
    """The weights and R2 of very many instructions and raters."""
    x, y, *_ = rated(np.random.default_rng(2409), 4_000, 4_000, weights, each=20, ceiling=ceiling)
    fit = fit_weights(x, y)
    return fit.weights, fit.r2


@cache
def held_out_truth(instructions, raters, weights, ceiling, each) -> float:
    """R2 on an instruction that weights fitted in a study of this size, but by very many raters, have not seen."""
    _, y, *_ = rated(np.random.default_rng(2409), 4_000, 4_000, weights, each=20, ceiling=ceiling)
    drawn = (
        rated(np.random.default_rng([2409, seed]), instructions, 4_000, weights, each=each or raters, ceiling=ceiling)
        for seed in range(max(60, 18_000 // instructions))
    )
    return 1 - float(np.mean([held_out_errors(*one).mean() for one in drawn])) / float(y.var())


def held_out_errors(x, y, instructions, raters) -> np.ndarray:
    keys = [str(place) for place in range(x.shape[1])]
    return left_out_errors((x, y, keys, instructions), {}, floor=0.5, raters=raters).errors["own"]


def intervals(x, y, instructions, raters) -> WeightPopulations:
    fit = fit_weights(x, y)
    none = TheseEnds(fit.weights, fit.weights, fit.r2, fit.r2, "none")
    return weight_populations(x, y, instructions, raters, floor=0.5, at_floor=fit.at_floor, these=none)


def weights_held(found: WeightPopulations, true: np.ndarray) -> np.ndarray:
    """Which weights' intervals for such raters held the truth; empty where the data allow none."""
    return held(found.such_low, found.such_high, true) if len(found.such_low) else np.array([])


def like_these_design(instructions, raters, weights, ceiling, each, end) -> Design:
    names = f"weights, such raters{end}", f"R2, such raters{end}", f"R2 held out, such raters{end}"
    promise = FIVE_RATERS if raters >= FEW else AT_LEAST

    def draw(rng, resamples, clustered):
        x, y, *codes = rated(rng, instructions, raters, weights, each=each, ceiling=ceiling)
        found = intervals(x, y, *codes)
        r2 = 1 - held_out_errors(x, y, *codes).mean() / y.var()
        unseen = held_out_r2(float(r2), x, y, *codes, floor=0.5)
        true, r2 = truth(weights, ceiling)
        out = held_out_truth(instructions, raters, weights, ceiling, each) if raters > 2 else 0.0
        on_r2 = np.array([]) if found.such_r2_low is None else held(found.such_r2_low, found.such_r2_high, r2)
        on_unseen = np.array([]) if unseen.such_low is None else held(unseen.such_low, unseen.such_high, out)
        return {names[0]: weights_held(found, true), names[1]: on_r2, names[2]: on_unseen}

    promises = dict.fromkeys(names if raters > 2 else names[:1], promise)
    return Design(f"{instructions} instructions x 2 responses x {raters} raters", promises, draw, rows_fail=False)


def pooled_design(instructions, raters) -> Design:
    """Three categories of the same items and truth, pooled; weights of the first."""
    name = f"pooled weights, such raters, {raters} raters"

    def draw(rng, resamples, clustered):
        x, y, instruction, rater = rated(rng, 3 * instructions, raters, PLAIN, each=3)
        of = instruction % 3
        keys = [str(place) for place in range(x.shape[1])]
        rows = {str(c): (x[of == c], y[of == c], keys, instruction[of == c]) for c in range(3)}
        found = pool_weights(rows, raters={str(c): rater[of == c] for c in range(3)}).categories["0"].populations
        assert found is not None
        return {name: weights_held(found, truth(PLAIN, False)[0])}

    text = f"3 categories x {instructions} instructions x 2 responses x 3 of {raters} raters"
    return Design(text, {name: FIVE_RATERS}, draw, rows_fail=False)


def floor_design(instructions) -> Design:
    """Weights that the floor holds, for exactly these raters: their truth is the floor's share of 100."""
    name = f"weights at the floor, these raters, {instructions} instructions"

    def draw(rng, resamples, clustered):
        x, y, instruction, rater = rated(rng, instructions, 60, AT_FLOOR, each=3)
        # Sixty raters of whom three answer each response are like independent errors, which these raters' interval holds.
        found = certify_weights(x, y, instructions=instruction, raters=rater, draws=resamples).populations
        assert found is not None
        true = truth(AT_FLOOR, False)[0]
        return {name: held(found.these_low, found.these_high, true)[[0, 2]]}

    return Design(
        f"{instructions} instructions x 2 responses x 3 of 60 raters", {name: AT_LEAST}, draw, rows_fail=False
    )


def unrelated_design(raters) -> NullDesign:
    """Checklist answers that say nothing beyond their sum: all items weigh the same for everybody."""
    findings = (f"better than equal weights, {raters} raters", f"one method predicts best, {raters} raters")

    def draw(rng):
        x, y, instruction, rater = rated(rng, 40, raters, EQUAL, each=3)
        found = certify_weights(x, y, instructions=instruction, raters=rater, draws=0)
        # Fitted and equal weights predict alike here, and so do the others: no claim of a single best is true.
        best = rival_methods(x, y, instruction, rater)
        return {findings[0]: found.better, findings[1]: best.certain and best.best == "weights"}

    return NullDesign(f"40 instructions x 2 responses x 3 of {raters} raters, equal weights", findings, draw)


def designs() -> list[Design]:
    pools = ((2, None), (3, None), (5, None), (8, 3), (60, 3))
    lines = [
        like_these_design(n, raters, PLAIN, False, each, f", {raters} raters, {n} instructions")
        for raters, each in pools
        for n in (30, 60, 200)
    ]
    for name, weights, ceiling in (("floor", AT_FLOOR, False), ("ceiling", CEILING, True)):
        lines += [
            like_these_design(60, raters, weights, ceiling, each, f", {raters} raters, {name}")
            for raters, each in pools
        ]
    return [*lines, pooled_design(20, 5), pooled_design(20, 60), floor_design(60)]


def null_designs() -> list[NullDesign]:
    return [unrelated_design(raters) for raters in (3, 8, 60)]
