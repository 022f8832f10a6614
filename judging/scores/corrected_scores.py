"""Estimate the score that people would give a model from a few of their scores and many of a judge's. PURE.

The estimate is prediction-powered (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453). Each entry becomes a pseudo-value
whose mean is the score and whose spread is that of its linearisation, so that a mean over categories and a ratio of sums
keep their clustered error (delta method). The categories of a mean are strata: each has its own number of instructions, and
its own mean is estimated from them. Raters like these differ from each other as these do: leaving out each, and each one's
answers to one instruction, adds V_R - V_C to the variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.estimates import PeopleEstimate, SingleAnswers
from calibration.statistics.judges.prediction_powered import Estimate, ModelScores, prediction_powered_mean
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
class RaterEntries:
    """What each rater gave a response that the judge scored too, arrays (m,): `place` is the response's place there.

    `positions`: the raters are positions of a data set, not persons.
    """

    place: IntArray
    rater: IntArray
    top: FloatArray
    under: FloatArray
    positions: bool = False


@dataclass(frozen=True)
class Corrected(PeopleEstimate):
    """A corrected score with its intervals, for raters like these first (see PeopleEstimate; without a p value).

    `power` 0..1 is the judge's weight; n is the number of responses that people scored. `effective_n` is the effective
    sample size: the number of people's scores that alone would be as precise. `people` is their own score of those
    responses.
    """

    power: float
    n: int
    effective_n: float
    people: PeopleEstimate


def corrected_score(
    people: Entries, judge: Entries, judge_only: Entries, rule: PointsRule, *, single: RaterEntries | None = None
) -> Corrected:
    """Return one model's corrected score: `people` and `judge` of the same responses in order, `judge_only` of the others.

    `single` are the raters' own scores of what `people` scored together; without them nothing is said of raters like these.
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
            answers=None if single is None else _answers(single, judge, rule),
        ),
        power=0.0 if alone else None,
    )

    return Corrected(
        **vars(_scaled(found.powered, rule)),
        power=found.power,
        n=found.n,
        effective_n=found.effective_n,
        people=_scaled(found.human_only, rule),
    )


def _scaled(found: Estimate, rule: PointsRule) -> PeopleEstimate:
    """The estimate on the board's scale; p against 0 would say nothing of a score."""
    value, low, high = sorted_ends(rule, found.value, found.low, found.high)
    these: tuple[float, float] | tuple[None, None] = (None, None)
    if found.these_low is not None and found.these_high is not None:
        these = sorted_ends(rule, found.value, found.these_low, found.these_high)[1:]
    return PeopleEstimate(
        value=value,
        low=low,
        high=high,
        interval_kind=found.interval_kind,
        population=found.population,
        these_low=these[0],
        these_high=these[1],
        p=None,
        why_not=found.why_not,
        clusters=found.clusters,
        raters=found.raters,
    )


def _answers(single: RaterEntries, judge: Entries, rule: PointsRule) -> SingleAnswers:
    """The raters' answers with the judge's score of each response, and its column unless all are pooled."""
    _, column = np.unique(judge.column, return_inverse=True)
    return SingleAnswers(
        place=single.place,
        rater=single.rater,
        top=single.top,
        under=single.under,
        judge_top=judge.top,
        judge_under=judge.under,
        column=np.zeros(len(judge), dtype=np.int64) if rule.pooled else column.reshape(-1).astype(np.int64),
        positions=single.positions,
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
