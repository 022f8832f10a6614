"""How much scores change where raters do not see an instruction's hint. PURE.

LLMEval (arXiv 2312.07398), figure 4, prints the mean score without hints in percent of that with hints.
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.resampling import BoolArray, FloatArray, IntArray, Labels, cluster_codes, cluster_intervals
from calibration.statistics.shares import Share


@dataclass(frozen=True)
class HintEffect:
    """Mean scores of `units` that were answered both with and without the hint, each unit counting once.

    `difference` is without minus with, on the scores' own scale; `percent` is 100 x (without/with - 1), above 0 where
    raters are more lenient without the hint.
    """

    units: int
    shown: float
    hidden: float
    difference: Share
    percent: Share


def hint_effect(
    score: FloatArray, hinted: BoolArray, units: IntArray, *, clusters: Labels, draws: int = 0, seed: int = 0
) -> HintEffect:
    """Return the effect over the units, such as tasks, with scores of both kinds; arrays of shape (n,).

    Comparing within units keeps the effect apart from what was shown to whom. The interval resamples whole `clusters`,
    (n,), such as instructions. Raises TooFewRatings where no unit has both kinds.
    """
    pks, place = np.unique(units, return_inverse=True)
    place = place.reshape(-1)
    k = pks.size
    counts = [np.bincount(place[mask], minlength=k) for mask in (hinted, ~hinted)]
    both = (counts[0] > 0) & (counts[1] > 0)
    if not both.any():
        raise TooFewRatings(0, 1, "tasks answered both with and without the hint")
    shown, hidden = (
        np.bincount(place[mask], weights=score[mask], minlength=k)[both] / count[both]
        for mask, count in zip((hinted, ~hinted), counts, strict=True)
    )
    codes, _k = cluster_codes(clusters)
    of_unit = np.zeros(k, dtype=np.int64)
    of_unit[place] = codes
    used, own = np.unique(of_unit[both], return_inverse=True)
    own = own.reshape(-1)
    columns = (shown, hidden, np.ones(shown.size))
    sums = np.column_stack([np.bincount(own, weights=column, minlength=used.size) for column in columns])

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        total = drawn @ sums
        defined = total[:, 0] > 0
        ratio = total[:, 1] / np.where(defined, total[:, 0], 1.0)
        return np.column_stack([(total[:, 1] - total[:, 0]) / total[:, 2], 100 * (ratio - 1)]), defined

    values, ends = cluster_intervals(statistic, used.size, draws=draws, seed=seed)
    shares = [
        Share(float(values[at]), float(ends.low[at]), float(ends.high[at]), ends.kind, ends.clusters, ends.draws)
        for at in (0, 1)
    ]
    return HintEffect(int(both.sum()), float(shown.mean()), float(hidden.mean()), shares[0], shares[1])
