"""Rows of checklist answers and overall scores, checked before anything is fitted to them. PURE."""

import numpy as np

from calibration.statistics.errors import out_of_range
from calibration.statistics.resampling import FloatArray

ROUNDING = 1e-9


def check_rows(answers: FloatArray, overall: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """Both as float arrays of matching shape: answers (n, p) in 0..1, overall (n,) in 0..10, floor finite and >= 0.

    Raises Undefined (OutOfRange) for a value off its range (mapping a scale is the reader's work), ValueError for a shape.
    """
    x = np.asarray(answers, dtype=np.float64)
    y = np.asarray(overall, dtype=np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ValueError(f"Answers {x.shape} and overall scores {y.shape} do not match; give (n, items) and (n,).")
    check_range("Checklist answers", x, 0.0, 1.0)
    check_range("Overall scores", y, 0.0, 10.0)
    check_range("The floor", np.asarray([floor], dtype=np.float64), 0.0, 10.0)
    return np.clip(x, 0.0, 1.0), y


def check_range(what: str, values: FloatArray, low: float, high: float) -> None:
    """Raise Undefined (OutOfRange) where a value is not finite or lies outside low..high by more than rounding."""
    if not values.size:
        return
    for found in (float(values.min()), float(values.max())):
        if not low - ROUNDING <= found <= high + ROUNDING:
            raise out_of_range(what, low, high, found)
