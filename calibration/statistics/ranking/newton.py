"""Newton's method for many small concave problems at once. PURE.

A bootstrap of a ranking is a thousand likelihoods of the same dozen parameters: they are stepped together, and each
leaves the batch when it has converged.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from calibration.statistics.resampling import BoolArray, FloatArray, IntArray

Objective: TypeAlias = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray, FloatArray]]
"""Parameters (b, q) and those problems' numbers (b,) -> log-likelihood (b,), gradient (b, q), information (b, q, q)."""

STEP_ALLOWED = 1e-7
STEPS = 60
HALVINGS = 40


def maximise(objective: Objective, start: FloatArray, *, bound: float = np.inf) -> tuple[FloatArray, BoolArray]:
    """Parameters (b, q) of each maximum, and whether it was reached (b,).

    A step that lowers a likelihood is halved. The last step is under 1e-7, and as errors square from step to step
    the parameters are then exact to rounding. Whether a finite maximum exists is for the caller to know, or for
    a `bound` on the parameters to tell: a problem that passes it is given up.
    """
    found = np.array(start, dtype=np.float64)
    reached = np.zeros(len(found), dtype=np.bool_)
    active = np.arange(len(found))
    value, gradient, information = objective(found, active)
    for _ in range(STEPS):
        if not active.size:
            break
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        scale = np.ones(len(active))
        trial = found[active] + step
        now = objective(trial, active)
        for _ in range(HALVINGS):
            worse = now[0] < value - 1e-9 * (1 + np.abs(value))
            if not worse.any():
                break
            scale[worse] /= 2
            trial = found[active] + scale[:, None] * step
            now = objective(trial, active)
        found[active] = trial
        done = np.abs(step * scale[:, None]).max(axis=1) < STEP_ALLOWED
        reached[active[done]] = True
        go_on = ~done & (np.abs(trial).max(axis=1) < bound)
        active = active[go_on]
        value, gradient, information = (part[go_on] for part in now)
    return found, reached
