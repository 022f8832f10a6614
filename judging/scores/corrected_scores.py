"""Estimate the score that people would give a model from a few of their scores and many of a judge's. PURE.

The estimate is prediction-powered (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453). Each entry becomes a pseudo-value
whose mean is the score and whose spread is that of its linearisation, so that a mean over categories and a ratio of sums
keep their clustered error (delta method). The categories of a mean are strata: each has its own number of instructions, and
its own mean is estimated from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.prediction_powered import EstimateInterval, ModelScores, prediction_powered_mean
from calibration.statistics.resampling import FloatArray, IntArray
from judging.scores.points import PointsRule


@dataclass(frozen=True)
class Entries:
    """One entry per scored response, arrays (n,): a column's score is sum(top)/sum(under)."""

    column: IntArray
    instruction: IntArray
    top: FloatArray
    under: FloatArray

    def __len__(self) -> int:
        return len(self.column)


@dataclass(frozen=True)
class Corrected:
    """Interval ends as `interval_kind` says; `power` 0..1 is the judge's weight; n is the number of responses that
    people scored.

    `effective_n` is the effective sample size: the number of people's scores that alone would be as precise. `people`
    is their own score of those responses.
    """

    value: float
    low: float
    high: float
    interval_kind: EstimateInterval
    power: float
    n: int
    effective_n: float
    people: float
    people_low: float
    people_high: float


def corrected_score(people: Entries, judge: Entries, judge_only: Entries, rule: PointsRule) -> Corrected:
    """Return one model's corrected score: `people` and `judge` of the same responses in order, `judge_only` of the others.

    If the judge alone scored fewer than two instructions of some category, the result is people's own score. Raises
    TooFewRatings if people scored no response of a category, under two instructions, or if no category has two.
    """
    wanted = np.unique(np.concatenate([judge.column, judge_only.column]))
    missing = np.setdiff1d(wanted, people.column)
    if missing.size or not len(people):
        raise TooFewRatings(wanted.size - missing.size, wanted.size, "categories with people's scores")
    alone = not _helps(judge_only, wanted, rule)
    human = pseudo_values(people, rule)
    strata = strata_of([people, judge_only], rule)
    found = prediction_powered_mean(
        ModelScores(
            human=human,
            judge=np.zeros(len(people)) if alone else pseudo_values(judge, rule),
            instructions=people.instruction,
            judge_only=np.zeros(1) if alone else pseudo_values(judge_only, rule),
            judge_only_instructions=people.instruction[:1] if alone else judge_only.instruction,
            strata=strata[0],
            judge_only_strata=strata[0][:1] if alone else strata[1],
        ),
        power=0.0 if alone else None,
    )

    powered, human_only = found.powered, found.human_only
    return Corrected(
        *sorted_ends(rule, powered.value, powered.low, powered.high),
        powered.interval_kind,
        found.power,
        found.n,
        found.effective_n,
        *sorted_ends(rule, human_only.value, human_only.low, human_only.high),
    )


def _helps(judge_only: Entries, wanted: IntArray, rule: PointsRule) -> bool:
    """Whether the error of the judge's own mean can be estimated; one instruction alone shows none."""
    parts = [judge_only.instruction]
    if not rule.pooled:
        parts = [judge_only.instruction[judge_only.column == column] for column in wanted]
    return all(np.unique(part).size >= 2 for part in parts)


def strata_of(parts: Sequence[Entries], rule: PointsRule) -> list[IntArray]:
    """Return the stratum of each entry of each part: its column, or one stratum for columns that share an instruction.

    A pooled score has a single stratum: how many entries a category has is then a matter of chance.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if rule.pooled:
        return [np.zeros(len(part), dtype=np.int64) for part in parts]
    _, column = np.unique(np.concatenate([part.column for part in parts]), return_inverse=True)
    _, whole = np.unique(np.concatenate([part.instruction for part in parts]), return_inverse=True)
    columns, wholes = int(column.max()) + 1, int(whole.max()) + 1
    pairs = (column.reshape(-1), columns + whole.reshape(-1))
    _, group = connected_components(csr_array((np.ones(column.size), pairs), shape=(columns + wholes,) * 2), False)
    return np.split(group[column.reshape(-1)].astype(np.int64), np.cumsum([len(part) for part in parts])[:-1])


def sorted_ends(rule: PointsRule, value: float, low: float, high: float) -> tuple[float, float, float]:
    """Rescale a value and the ends of its interval."""
    ends = rule.scaled(np.array([value, low, high]))
    return float(ends[0]), float(ends[1:].min()), float(ends[1:].max())


def pseudo_values(entries: Entries, rule: PointsRule) -> FloatArray:
    """Return values (n,) whose mean is the unscaled score and whose deviations are its influence function."""
    _, place = np.unique(entries.column, return_inverse=True)
    groups = np.zeros(len(entries), dtype=np.int64) if rule.pooled else place.reshape(-1).astype(np.int64)
    counts = np.bincount(groups)
    tops, unders = np.bincount(groups, weights=entries.top), np.bincount(groups, weights=entries.under)
    ratio = tops / unders
    influence = (entries.top - ratio[groups] * entries.under) / (unders / counts)[groups]
    weight = len(entries) / (len(counts) * counts[groups])
    return np.asarray(ratio.mean() + weight * influence, dtype=np.float64)
