"""A judge panel's scores for labels saved: stacked on people's scores of the labelled instructions, cross-fitted. PURE.

What a panel predicts of an instruction never rests on what people said of it: the labelled instructions are split into
folds, and each fold is predicted with the weights of the others (Zrnic and Candes 2024, Cross-prediction-powered inference).
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.panels import FOLDS
from calibration.statistics.resampling import FloatArray


@dataclass(frozen=True)
class Panel:
    """`labelled` (n, models) and `others` (N - n, models): the panel's scores; `weights` (judges,): the folds' mean."""

    labelled: FloatArray
    others: FloatArray
    weights: FloatArray


def stacked_panel(
    people: FloatArray,
    labelled: FloatArray,
    others: FloatArray,
    *,
    single: bool = False,
    folds: int = FOLDS,
    seed: int = 0,
) -> Panel:
    """Stack judges on people's scores (n, models), from theirs (judges, n, models) and (judges, N - n, models).

    With `single` each fold takes the one judge that predicts the other folds best instead, with the weight 1. Raises
    TooFewRatings under two instructions a fold.
    """
    n = len(people)
    if n < 2 * folds:
        raise TooFewRatings(n, 2 * folds, "labelled instructions")
    fold = np.random.default_rng(seed).permutation(n) % folds
    weights = np.array(
        [_weights(people[fold != k], labelled[:, fold != k], single=single) for k in range(folds)], dtype=np.float64
    )
    own = np.einsum("nj,jnm->nm", weights[fold], labelled)
    mean = weights.mean(axis=0)
    return Panel(own, np.einsum("j,jnm->nm", mean, others), mean)


def _weights(people: FloatArray, judges: FloatArray, *, single: bool) -> FloatArray:
    from scipy.optimize import nnls

    y = _centred(people).ravel()
    x = np.column_stack([_centred(one).ravel() for one in judges])
    if not single:
        return np.asarray(nnls(x, y)[0], dtype=np.float64)
    size = np.sqrt((x**2).sum(axis=0))
    chosen = int(np.argmax(np.where(size > 0, (x.T @ y) / np.where(size > 0, size, 1.0), -np.inf)))
    return np.asarray(np.arange(x.shape[1]) == chosen, dtype=np.float64)


def _centred(scores: FloatArray) -> FloatArray:
    """Scores (n, models) without the mean of their instruction and of their model."""
    rows, columns = scores.mean(axis=1, keepdims=True), scores.mean(axis=0, keepdims=True)
    return np.asarray(scores - rows - columns + scores.mean(), dtype=np.float64)
