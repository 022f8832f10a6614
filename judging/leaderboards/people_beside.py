"""People's scores beside a board's: of each response together, rater by rater, and what they correct the judge's to."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from annotation.models import Rater
from calibration.data.frames import Bools, Ints, ScoreFrame
from calibration.statistics.populations import GROUPS
from core.errors import UserError
from generation.models import Category
from judging.leaderboards.observations import Observations, characters_of, observations_of
from judging.leaderboards.weighting import Weighting
from judging.scores.benchmark_scores import wildbench_rewards
from judging.scores.corrected_scores import Corrected, Entries, RaterEntries, corrected_score
from judging.scores.metrics import FULFILLED, REWARD, Metric
from judging.scores.points import PointsRule


@dataclass(frozen=True)
class PeopleObservations:
    """Observations by people: one of each response or side of a pair, and `single`, one of each rater (m,) of it.

    `rater` (m,) are the raters' pks; `single` is None where people's answers are only counted together. `positions`: the
    raters are positions of a data set, not persons.
    """

    together: Observations
    single: Observations | None
    rater: Ints
    positions: bool


def people_observations(
    frame: ScoreFrame,
    metric: Metric,
    weighting: Weighting,
    leaves: Mapping[int, Category],
    *,
    margin: int | None = None,
) -> PeopleObservations:
    """Return people's observations of a frame. Raises NoVerdicts, MissingWeights, WithoutWeight, NotOnScale."""
    together = observations_of(frame, metric, weighting, leaves, margin=margin)
    nobody = np.zeros(0, dtype=np.int64)
    if metric.name == FULFILLED or not len(together):
        # What an output fulfils is counted over the checks of all raters: one rater alone has seen a part of it.
        return PeopleObservations(together, None, nobody, False)
    settled = _with_margin(frame, margin) if metric.name == REWARD and margin is not None else frame
    raters = np.unique(frame.rater)
    positions = Rater.objects.filter(pk__in=raters.tolist(), kind=Rater.Kind.SLOT).exists()
    group = np.searchsorted(raters, settled.rater)
    if len(raters) > GROUPS:
        # As many random groups of raters stand for them, each with the mean of its answers.
        group = (np.random.default_rng(0).permutation(len(raters)) % GROUPS)[group]
    order = np.argsort(group, kind="stable")
    parts, who = [], []
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        try:
            own = observations_of(settled.select(rows), metric, weighting, leaves)
        except UserError:
            return PeopleObservations(together, None, nobody, positions)
        parts.append(own)
        who.append(np.full(len(own), group[rows[0]], dtype=np.int64))
    columns = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Observations)}
    return PeopleObservations(together, Observations(**columns), np.concatenate(who), positions)


def _with_margin(frame: ScoreFrame, margin: int | None) -> ScoreFrame:
    """The frame with the grades that a length margin leaves, so that they need no margin any more."""
    grade = np.rint(np.clip(frame.value, -2, 2)).astype(np.int64)
    ours, theirs = characters_of(frame)
    return replace(frame, value=2 * wildbench_rewards(grade, ours, theirs, margin=margin))


def corrected_of(
    judge: Observations, column: Ints, people: PeopleObservations, model: int, rule: PointsRule
) -> Corrected:
    """Match one model's observations by people and judge, by response and rival; drop those that the judge did not score.

    `column` (n,) are the columns of the judge's observations (n,). Raises TooFewRatings.
    """
    own = judge.model == model
    judge, column = judge.select(own), column[own]
    theirs = people.together.select(people.together.model == model)
    place = {key: row for row, key in enumerate(_keys(theirs))}
    rows = np.array([place.get(key, -1) for key in _keys(judge)], dtype=np.int64)
    both = rows >= 0

    def part(of: Observations, mask: Bools | Ints, where: Ints) -> Entries:
        return Entries(where, of.instruction[mask], of.top[mask], of.under[mask])

    return corrected_score(
        part(theirs, rows[both], column[both]),
        part(judge, both, column[both]),
        part(judge, ~both, column[~both]),
        rule,
        single=_single(people, model, judge.select(both)),
    )


def _single(people: PeopleObservations, model: int, judged: Observations) -> RaterEntries | None:
    """People's single observations of what the judge scored, each with its place there; None where they are not known."""
    if people.single is None:
        return None
    own = people.single.model == model
    single, rater = people.single.select(own), people.rater[own]
    place = {key: row for row, key in enumerate(_keys(judged))}
    rows = np.array([place.get(key, -1) for key in _keys(single)], dtype=np.int64)
    known = rows >= 0
    if len(np.unique(rows[known])) < len(judged):
        return None
    return RaterEntries(rows[known], rater[known], single.top[known], single.under[known], people.positions)


def _keys(of: Observations) -> list[tuple[int, int]]:
    return list(zip(of.response.tolist(), of.rival.tolist(), strict=True))
