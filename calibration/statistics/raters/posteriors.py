"""How sure the consensus label of each item is, and which items split the raters. PURE.

The model is that of Dawid and Skene (consensus.py): every rater has a table of errors, and errors are independent given the
true label.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.crossed import holm
from calibration.statistics.raters.consensus import ConsensusLabels
from calibration.statistics.resampling import FloatArray, IntArray, Labels

PRIOR = 0.5
"""Answers that the prior of a rater's table and of the labels' shares counts in each cell (Jeffreys)."""
DRAWS, SETTLING = 300, 60
MOST_NUMBERS = 20_000_000
LEVEL = 0.05


@dataclass(frozen=True)
class ItemLabel:
    """The most probable label of an item with its probability, the ends of 95 % for it, and the `answers` behind it.

    `second` is the second most frequent answer's count and `first` the most frequent one's. `p` is the probability that so
    many raters or more depart from the item's label, whichever that is, if they only err as often as elsewhere; `split` says
    that this is not so after Holm's correction over all items.
    """

    item: Hashable
    label: Hashable
    probability: float
    low: float
    high: float
    answers: int
    first: int
    second: int
    p: float
    split: bool


@dataclass(frozen=True)
class ItemLabels:
    """Every item's label, the least certain first; `raters_needed` would show an even split as one (0: none would)."""

    items: tuple[ItemLabel, ...]
    raters_needed: int


def item_labels(found: ConsensusLabels, items: Labels, answers: Labels, raters: Labels, *, seed: int = 0) -> ItemLabels:
    """Labels of the items with intervals from Gibbs sampling: raters' tables and items' labels are drawn in turn.

    The ends are quantiles of the probability that each draw of the tables gives to the label chosen: they say how far the
    raters' errors are known, for these raters. items, answers and raters (n,) are those from which `found` was estimated.
    """
    item = _places(items, found.items)
    answer = _places(answers, found.labels)
    names = tuple(found.confusion)
    rater = _places(raters, names)
    chosen = found.posterior.argmax(axis=1)
    sample = _sampled(found, item, answer, rater, chosen, np.random.default_rng(seed))
    low, high = np.quantile(sample, [0.025, 0.975], axis=0)
    m, width = found.posterior.shape
    counts = np.sort(np.bincount(item * width + answer, minlength=m * width).reshape(m, width), axis=1)
    tables = np.stack([found.confusion[name] for name in names])
    p = _departures(tables, item, answer, rater, m)
    split = holm(p) < LEVEL
    order = np.lexsort((-(counts[:, -2] / counts.sum(axis=1)), ~split))
    probability = found.posterior[np.arange(m), chosen]
    rows = tuple(
        ItemLabel(
            item=found.items[place],
            label=found.labels[int(chosen[place])],
            probability=float(probability[place]),
            low=float(min(low[place], probability[place])),
            high=float(max(high[place], probability[place])),
            answers=int(counts[place].sum()),
            first=int(counts[place, -1]),
            second=int(counts[place, -2]),
            p=float(p[place]),
            split=bool(split[place]),
        )
        for place in order
    )
    right = float(np.mean([table.diagonal() @ found.prevalence for table in tables]))
    return ItemLabels(rows, _raters_needed(right, m))


def _places(labels: Labels, known: tuple[Hashable, ...]) -> IntArray:
    number = {label: place for place, label in enumerate(known)}
    plain = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return np.array([number[label] for label in plain], dtype=np.int64)


def _sampled(
    found: ConsensusLabels,
    item: IntArray,
    answer: IntArray,
    rater: IntArray,
    chosen: IntArray,
    rng: np.random.Generator,
) -> FloatArray:
    """The probability of each item's chosen label in every draw of the tables: (draws, items)."""
    m, width = found.posterior.shape
    people = len(found.confusion)
    draws = int(min(DRAWS, max(100, MOST_NUMBERS // m)))
    posterior, given = found.posterior, rater * width + answer
    kept = np.empty((draws, m))
    for step in range(-SETTLING, draws):
        drawn = (rng.random((m, 1)) > posterior.cumsum(axis=1)[:, :-1]).sum(axis=1)
        cells = np.bincount((rater * width + drawn[item]) * width + answer, minlength=people * width * width)
        tables = rng.standard_gamma(cells.reshape(people, width, width) + PRIOR)
        tables /= tables.sum(axis=2, keepdims=True)
        shares = rng.standard_gamma(np.bincount(drawn, minlength=width) + PRIOR)
        logs = np.log(np.maximum(np.swapaxes(tables, 1, 2).reshape(people * width, width), 1e-300))
        joint = sum_by(item, m, logs[given]) + np.log(np.maximum(shares / shares.sum(), 1e-300))
        joint -= joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint)
        posterior /= posterior.sum(axis=1, keepdims=True)
        if step >= 0:
            kept[step] = posterior[np.arange(m), chosen]
    return kept


def _departures(tables: FloatArray, item: IntArray, answer: IntArray, rater: IntArray, m: int) -> FloatArray:
    """For each item, the largest over labels of P(as many of its raters depart from that label, or more)."""
    width = tables.shape[1]
    order = np.argsort(item, kind="stable")
    ends = np.searchsorted(item[order], np.arange(m + 1))
    found = np.empty(m)
    for place in range(m):
        own = order[ends[place] : ends[place + 1]]
        best = 0.0
        for label in range(width):
            wrong = int((answer[own] != label).sum())
            best = max(best, _at_least(wrong, 1 - tables[rater[own], label, label]))
        found[place] = best
    return found


def _at_least(wrong: int, chances: FloatArray) -> float:
    """P(at least so many of independent events with these chances)."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return float(min(1.0, law[wrong:].sum()))


def _raters_needed(right: float, items: int) -> int:
    """Raters of this accuracy among whom an even split would be shown on one of so many items; 0 if 200 do not do."""
    from scipy.special import bdtrc

    for raters in range(2, 201, 2):
        if float(bdtrc(raters // 2 - 1, raters, 1 - right)) * items < LEVEL:
            return raters
    return 0
