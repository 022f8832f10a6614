"""Lines of the coverage benchmark on what the planner promises."""

import numpy as np
from inference.design import Design, NullDesign

from calibration.statistics.design.decision_power import decide, scored_difference
from calibration.statistics.populations import such_raters
from calibration.statistics.stopping.instruction_values import mean_variance, model_points

RESPONSE, SEVERITY, TASTE, CORRELATION = 0.12, 0.1, 0.03, 0.5
QUALITY = float(np.hypot(0.1, RESPONSE))
WITHIN = 0.07
"""How far the promised power may lie from that of simulated studies."""
PLANS = ((100, 8, 3, 0.05), (100, 20, 3, 0.05), (200, 5, 2, 0.06), (40, 10, 3, 0.08))
"""Instructions, raters, raters per response, difference."""


def interval(rng, instructions, raters, overlap, difference):
    """The ends of the interval for raters like these, of one simulated study of two models."""
    severity, taste = rng.normal(scale=SEVERITY, size=raters), rng.normal(scale=TASTE, size=(raters, 2))
    shared = rng.normal(scale=0.1, size=(instructions, 1))
    quality = shared + rng.normal(scale=RESPONSE, size=(instructions, 2)) + np.array([difference / 2, -difference / 2])
    chosen = rng.random((instructions, 2, raters)).argsort(axis=2)[:, :, :overlap]
    rater = chosen.ravel()
    instruction = np.repeat(np.arange(instructions), 2 * overlap)
    model = np.tile(np.repeat([0, 1], overlap), instructions)
    error = np.sqrt(QUALITY**2 * (1 - CORRELATION) / CORRELATION - TASTE**2)
    points = (
        quality[instruction, model] + severity[rater] + taste[rater, model] + rng.normal(scale=error, size=rater.size)
    )
    found = model_points(instruction, rater, model, points, instructions=instructions, models=2).difference(0, 1)
    ends = such_raters(mean_variance(found, least_raters=2), "plain")
    return float(ends.low[0]), float(ends.high[0])


def power_design(instructions, raters, overlap, difference):
    """How often the interval excludes 0, promised within a few points of the planner's power."""
    components = scored_difference(
        response_sd=RESPONSE,
        correlation=CORRELATION,
        quality_sd=QUALITY,
        severity_sd=SEVERITY,
        taste_sd=TASTE,
        step=0.0,
    )
    power = decide(components, difference, instructions=instructions, raters=raters, overlap=overlap).power
    name = f"power as planned ({100 * power:.0f} %), {instructions} instructions, {raters} raters"

    def draw(rng, _resamples, _clustered):
        low, high = interval(rng, instructions, raters, overlap, difference)
        return {name: np.array([low > 0 or high < 0])}

    text = f"{instructions} instructions x 2 models x {overlap} of {raters} raters"
    return Design(text, {name: (power - WITHIN, power + WITHIN)}, draw, rows_fail=False)


def designs() -> list[Design]:
    return [power_design(*plan) for plan in PLANS]


def null_designs() -> list[NullDesign]:
    return []
