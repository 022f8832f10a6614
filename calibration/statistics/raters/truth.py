"""Sensitivity and specificity of raters for each label, against answers known to be correct. PURE."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.proportions import Proportion, clustered_proportions
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.populations import CrossedVariance, pooled_variance
from calibration.statistics.resampling import BoolArray, FloatArray, Labels


@dataclass(frozen=True)
class LabelRates:
    """How often a rater gives a label where it is correct (sensitivity), and does not where it is not (specificity).

    None where no task of the rater has, or lacks, that correct label. Both are of a named rater.
    """

    rater: Hashable
    label: float
    sensitivity: Proportion | None
    specificity: Proportion | None


def shown_labels(truth: FloatArray) -> list[float]:
    """The labels whose rates are stated: the higher one of two (its specificity is the other's sensitivity), else all."""
    given = [float(label) for label in np.unique(truth)]
    return given[1:] if len(given) == 2 else given


def label_rates(labels: FloatArray, truth: FloatArray, *, raters: Labels, clusters: Labels) -> list[LabelRates]:
    """Every rater's rates for each of the labels shown; labels and truth (n,), one line an answer."""
    names = np.asarray(raters)
    cluster = np.asarray(clusters)
    found = []
    for label in shown_labels(truth):
        same, is_it = labels == label, truth == label
        sensitive = _by_rater(same, is_it, names, cluster)
        specific = _by_rater(~same, ~is_it, names, cluster)
        found += [
            LabelRates(name, label, sensitive.get(name), specific.get(name)) for name in dict.fromkeys(names.tolist())
        ]
    return found


def pooled_rate(
    hits: BoolArray, among: BoolArray, *, raters: Labels, clusters: Labels, seed: int = 0
) -> CrossedVariance:
    """The variances of the share of hits among the answers marked, over all raters. Raises TooFewRatings without any."""
    if not among.any():
        raise TooFewRatings(0, 1, "answers with such a correct label")
    top = hits[among].astype(np.float64)
    return pooled_variance(top, np.ones(top.size), np.asarray(raters)[among], np.asarray(clusters)[among], seed=seed)


def _by_rater(
    hits: BoolArray, among: BoolArray, raters: np.ndarray, clusters: np.ndarray
) -> dict[Hashable, Proportion]:
    return clustered_proportions(hits[among], raters[among], clusters[among]) if among.any() else {}
