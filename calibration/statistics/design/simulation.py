"""PURE simulated checklist ratings: raters whose agreement and fit follow stated or published statistics.

The model, for response i, item j and rater k: the answer is the true quality q_ij plus the rater's own view of the
whole response (a halo h_ki) plus a small error of the item, rounded to the nearest level; the overall score is the
weighted sum of the answers plus an error of the overall score, rounded to a whole number. The halo's
variance is chosen so that the overall scores of raters k and l correlate as l_k * l_l, the one-factor model whose
loadings are fitted to a published correlation matrix.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ITEM_ERROR = 0.08


@dataclass(frozen=True)
class SimulatedRatings:
    """answers (raters, responses, items) on the levels given; overall (raters, responses), whole numbers 0..10."""

    answers: Floats
    overall: Floats


def one_factor_loadings(correlations: Floats) -> Floats:
    """Loadings l, shape (k,), in [0, 1] that minimise the sum over i < j of (r_ij - l_i * l_j)^2.

    `correlations` is a symmetric (k, k) matrix, k >= 3, of correlations between raters.
    """
    from scipy.optimize import least_squares

    matrix = np.asarray(correlations, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 3:
        raise ValueError("loadings need a square matrix of at least three raters")
    upper = np.triu_indices(len(matrix), 1)

    def misfit(loadings: Floats) -> Floats:
        return np.asarray(matrix[upper] - np.outer(loadings, loadings)[upper], dtype=np.float64)

    start = np.full(len(matrix), np.sqrt(np.clip(matrix[upper].mean(), 0.01, 0.99)))
    return np.asarray(least_squares(misfit, start, bounds=(0.0, 1.0)).x, dtype=np.float64)


def simulate_checklist(
    quality: Floats, weights: Floats, *, loadings: Floats, overall_mse: float, levels: Floats, rng: np.random.Generator
) -> SimulatedRatings:
    """Ratings of each response by each rater.

    quality (responses, items) in [0, 1]; weights (items,) of any positive sum; loadings (raters,) in (0, 1];
    overall_mse on the 0..10 scale, as a fit of overall scores on answers would report it; levels ascending.
    """
    share = np.asarray(weights, dtype=np.float64) / np.sum(weights)
    truth = 10 * quality @ share
    spread = float(np.var(truth)) or 1.0
    raters, (responses, items) = len(loadings), quality.shape
    squared = np.clip(np.asarray(loadings, dtype=np.float64), 0.05, 1.0) ** 2
    # What the rest of the model adds to an overall score: its own error and rounding, the items' and theirs.
    step = float(np.diff(levels).max())
    other = overall_mse + 1 / 12 + 100 * float(share @ share) * (ITEM_ERROR**2 + step**2 / 12)
    halo_variance = np.maximum(spread * (1 - squared) / squared - other, 0.0)
    halo = rng.normal(size=(raters, responses)) * np.sqrt(halo_variance)[:, None] / 10
    error = rng.normal(scale=ITEM_ERROR, size=(raters, responses, items))
    seen = np.clip(quality[None] + halo[:, :, None] + error, 0.0, 1.0)
    nearest = np.abs(seen[..., None] - levels).argmin(axis=-1)
    overall = 10 * levels[nearest] @ share + rng.normal(scale=np.sqrt(overall_mse), size=(raters, responses))
    return SimulatedRatings(levels[nearest], np.clip(np.rint(overall), 0, 10))
