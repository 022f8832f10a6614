"""One label for each item from several raters' labels: majority, and the model of Dawid and Skene (1979). PURE."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.proportions import first_labels
from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import TooFewRatings, no_disagreement_possible, not_converged
from calibration.statistics.resampling import FloatArray, IntArray, Labels, cluster_codes

SMOOTHING = 0.01
"""Labels added to every cell of a rater's table, so that an error never seen is not taken for impossible."""


@dataclass(frozen=True)
class MajorityLabels:
    """The single most frequent label of each item; `tied` items have none, `alone` of the others one rating."""

    labels: Mapping[Hashable, Hashable]
    tied: tuple[Hashable, ...]
    alone: int


@dataclass(frozen=True)
class ConsensusLabels:
    """The items' true labels and each rater's errors, estimated by the model of Dawid and Skene.

    `labels` are the classes in the order of the columns; `items` (m) and `posterior` (m, classes) the probability of
    each class; `chosen` maps each item to its most probable class. `prevalence` (classes,). `confusion` maps
    each rater to a table (classes, classes): the probability of answering column where line is true; `accuracy` is
    its probability of answering right at the prevalence found. `log_likelihood` is that of the labels given.
    """

    labels: tuple[Hashable, ...]
    items: tuple[Hashable, ...]
    posterior: FloatArray
    chosen: Mapping[Hashable, Hashable]
    prevalence: FloatArray
    confusion: Mapping[Hashable, FloatArray]
    accuracy: Mapping[Hashable, float]
    log_likelihood: float
    iterations: int


def majority_consensus(items: Labels, answers: Labels) -> MajorityLabels:
    """Each item's most frequent answer; items and answers (n,) are any labels. Raises TooFewRatings without any."""
    item, m = cluster_codes(items)
    answer, width = cluster_codes(answers)
    if item.size != answer.size:
        raise ValueError(f"{item.size} items for {answer.size} answers; give one for each.")
    if not item.size:
        raise TooFewRatings(0, 1, "answers")
    counts = np.bincount(item * width + answer, minlength=m * width).reshape(m, width)
    single = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    names = [name for name, _ in first_labels(items, item, m)]
    kinds = [name for name, _ in first_labels(answers, answer, width)]
    best = counts.argmax(axis=1)
    return MajorityLabels(
        labels={names[i]: kinds[int(best[i])] for i in np.flatnonzero(single)},
        tied=tuple(names[i] for i in np.flatnonzero(~single)),
        alone=int((counts.sum(axis=1) == 1).sum()),
    )


def dawid_skene(
    items: Labels,
    answers: Labels,
    raters: Labels,
    *,
    smoothing: float = SMOOTHING,
    tolerance: float = 1e-6,
    max_iterations: int = 2000,
) -> ConsensusLabels:
    """Consensus by expectation maximisation, started from the shares of the answers; with smoothing 0 the maximum
    of the likelihood, otherwise of the likelihood under a weak prior on raters' tables.

    One line per answer: items, answers and raters (n,) are any labels. `smoothing` answers are added to every cell
    of a rater's table. Items keep their labels from one step to the next within `tolerance` at the end, otherwise
    Undefined (NotConverged). Raises TooFewRatings under two raters, Undefined (NoDisagreementPossible) where only one
    label occurs.
    """
    if not len(items) == len(answers) == len(raters):
        raise ValueError(f"{len(answers)} answers need as many items and raters; give one of each an answer.")
    # Where raters are each other's mirror image, rounding decides between two solutions: their order must not.
    rows = np.lexsort([_places(labels) for labels in (answers, raters, items)])
    items, answers, raters = (_in_order(labels, rows) for labels in (items, answers, raters))
    item, m = cluster_codes(items)
    answer, width = cluster_codes(answers)
    rater, people = cluster_codes(raters)
    if people < 2:
        raise TooFewRatings(people, 2, "raters")
    kinds = tuple(name for name, _ in first_labels(answers, answer, width))
    if width < 2:
        raise no_disagreement_possible(kinds[0], int(item.size))
    given = rater * width + answer
    posterior = sum_by(item, m, np.eye(width)[answer]) + 1e-9
    posterior /= posterior.sum(axis=1, keepdims=True)
    moved, steps = np.inf, 0
    while moved >= tolerance:
        if steps == max_iterations:
            raise not_converged("The consensus of the raters' labels", moved, tolerance)
        prevalence, tables = _maximise(posterior, item, given, people, width, smoothing)
        updated, likelihood = _expect(prevalence, tables, item, given, m)
        moved = float(np.abs(updated - posterior).max())
        posterior, steps = updated, steps + 1
    names = tuple(name for name, _ in first_labels(items, item, m))
    who = [name for name, _ in first_labels(raters, rater, people)]
    return ConsensusLabels(
        labels=kinds,
        items=names,
        posterior=posterior,
        chosen={name: kinds[int(place)] for name, place in zip(names, posterior.argmax(axis=1), strict=True)},
        prevalence=prevalence,
        confusion={name: tables[code] for code, name in enumerate(who)},
        accuracy={name: float(prevalence @ np.diagonal(tables[code])) for code, name in enumerate(who)},
        log_likelihood=likelihood,
        iterations=steps,
    )


def _places(labels: Labels) -> IntArray:
    """The place (n,) of each label in the order of all, which does not depend on that of the answers."""
    if isinstance(labels, np.ndarray):
        return np.asarray(np.unique(labels, return_inverse=True)[1].reshape(-1), dtype=np.int64)
    place = {label: at for at, label in enumerate(sorted(set(labels), key=repr))}
    return np.array([place[label] for label in labels], dtype=np.int64)


def _in_order(labels: Labels, rows: IntArray) -> Labels:
    return labels[rows] if isinstance(labels, np.ndarray) else [labels[row] for row in rows.tolist()]


def _maximise(
    posterior: FloatArray, item: IntArray, given: IntArray, people: int, width: int, smoothing: float
) -> tuple[FloatArray, FloatArray]:
    """Maximum-likelihood prevalence (classes,) and tables (raters, true, given), given the items' classes."""
    sums = sum_by(given, people * width, posterior[item]).reshape(people, width, width)
    tables = np.swapaxes(sums, 1, 2) + smoothing
    tables = tables / np.maximum(tables.sum(axis=2, keepdims=True), 1e-300)
    return posterior.mean(axis=0), np.asarray(tables, dtype=np.float64)


def _expect(
    prevalence: FloatArray, tables: FloatArray, item: IntArray, given: IntArray, m: int
) -> tuple[FloatArray, float]:
    """Posterior (items, classes) and the log-likelihood of the answers."""
    from scipy.special import logsumexp

    people, width, _ = tables.shape
    logs = np.log(np.maximum(np.swapaxes(tables, 1, 2).reshape(people * width, width), 1e-300))
    joint = sum_by(item, m, logs[given]) + np.log(np.maximum(prevalence, 1e-300))
    whole = logsumexp(joint, axis=1)
    return np.asarray(np.exp(joint - whole[:, None]), dtype=np.float64), float(whole.sum())
