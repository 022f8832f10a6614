"""Turn a frame of scores into entries: one per judged response, or two per judged pair, as a measure reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from calibration.data.circumstances import response_characters
from calibration.data.frames import ROLES, Bools, Floats, Ints, ScoreFrame
from generation.models import Category
from judging.leaderboards.check_counts import outputs_of
from judging.leaderboards.weighting import Weighting
from judging.scores.benchmark_scores import wildbench_rewards, win_shares
from judging.scores.metrics import FULFILLED, GRADED, MEAN, METRICS, POINTS, REWARD, STARS, WINS, Metric
from judging.scores.points import response_points

LARGEST_GRADE = 2


@dataclass(frozen=True)
class BoardEntries:
    """Arrays (n,). A score is sum(top)/sum(under).

    `rival` is the other response of a pair and `opponent` its model, else 0. `category` is the pk of the leaf and
    `parent` that of the top category, both 0 if there is none.
    """

    response: Ints
    rival: Ints
    instruction: Ints
    category: Ints
    parent: Ints
    model: Ints
    opponent: Ints
    top: Floats
    under: Floats

    def __len__(self) -> int:
        return len(self.response)

    def select(self, mask: Bools | Ints) -> "BoardEntries":
        return replace(self, **{one.name: getattr(self, one.name)[mask] for one in fields(self)})


def metrics_in(frame: ScoreFrame) -> list[Metric]:
    """Return the measures that a judge's scores allow, the most suitable first."""
    found: list[str] = []
    roles = {ROLES[code] for code in np.unique(frame.role[frame.applicable]).tolist()}
    if "preference" in roles:
        graded = frame.high[frame.role == ROLES.index("preference")].max() >= LARGEST_GRADE
        found += [REWARD, WINS] if graded else [WINS, REWARD]
    if "item" in roles:
        items = frame.select((frame.role == ROLES.index("item")) & frame.applicable)
        # Stars begin at one; a checklist's answers at zero.
        stars = bool((items.low > 0).all())
        found += [STARS, POINTS] if stars else [POINTS, STARS]
    if "overall" in roles:
        overall = frame.select((frame.role == ROLES.index("overall")) & frame.applicable)
        ten = bool(((overall.low == 1) & (overall.high == 10)).all())
        found += [GRADED, MEAN] if ten else [MEAN]
    if "check" in roles:
        found.append(FULFILLED)
    return [METRICS[name] for name in found]


def entries_of(
    frame: ScoreFrame,
    measure: Metric,
    weighting: Weighting,
    leaves: Mapping[int, Category],
    *,
    margin: int | None = None,
) -> BoardEntries:
    """Return the entries of a frame; several answers about one response, or one pair, are averaged.

    Raises NoVerdicts, MissingWeights, WithoutWeight, NotOnScale.
    """
    own = frame.select((frame.role == ROLES.index(measure.role)) & frame.applicable & (frame.model > 0))
    if measure.paired:
        return _pair_entries(own, measure, margin)
    if measure.name == FULFILLED:
        return _check_entries(own)
    top: Floats
    under: Floats | None = None
    if measure.name == POINTS:
        top = _points(own, weighting, leaves)
        _, first = np.unique(own.response, return_index=True)
    elif measure.name == STARS:
        _, first, place = np.unique(own.response, return_index=True, return_inverse=True)
        top = np.bincount(place, weights=own.value).astype(np.float64)
        under = np.bincount(place, weights=own.high).astype(np.float64)
    else:
        _, first, place = np.unique(own.response, return_index=True, return_inverse=True)
        top = np.bincount(place, weights=own.value) / np.bincount(place)
    none = np.zeros(len(first), dtype=np.int64)
    return BoardEntries(
        response=own.response[first],
        rival=none,
        instruction=own.instruction[first],
        category=own.category[first],
        parent=own.parent[first],
        model=own.model[first],
        opponent=none,
        top=top,
        under=np.ones(len(first)) if under is None else under,
    )


def _points(own: ScoreFrame, weighting: Weighting, leaves: Mapping[int, Category]) -> Floats:
    """Return the points of each response once, in ascending order of response, 0..100."""
    answer = (own.value - own.low) / (own.high - own.low)
    return response_points(own.response, answer, item_weights(own, weighting, leaves)).points


def item_weights(frame: ScoreFrame, weighting: Weighting, leaves: Mapping[int, Category]) -> Floats:
    """Return the weight of each item score, shape (n,). Raises MissingWeights."""
    weight = np.empty(len(frame))
    for category in np.unique(frame.category):
        mask = frame.category == category
        codes, first = np.unique(frame.criterion[mask], return_index=True)
        positions = frame.position[mask][first]
        keys = [frame.criterion_keys[code] for code in codes]
        found = weighting.weights(leaves.get(int(category)), keys, [int(position) for position in positions])
        weight[mask] = np.array(found)[np.searchsorted(codes, frame.criterion[mask])]
    return weight


def _check_entries(frame: ScoreFrame) -> BoardEntries:
    """Return one entry per output with an instruction that could be judged."""
    found = [one for one in outputs_of(frame) if one.counts.instructions]

    def column(values: Iterable[int]) -> Ints:
        return np.array(list(values), dtype=np.int64)

    none = np.zeros(len(found), dtype=np.int64)
    return BoardEntries(
        response=column(one.response for one in found),
        rival=none,
        instruction=column(one.instruction for one in found),
        category=column(one.category for one in found),
        parent=column(one.parent for one in found),
        model=column(one.model for one in found),
        opponent=none,
        top=column(one.counts.fulfilled for one in found).astype(np.float64),
        under=column(one.counts.instructions for one in found).astype(np.float64),
    )


def _pair_entries(frame: ScoreFrame, measure: Metric, margin: int | None) -> BoardEntries:
    """Return two entries per pair, one from each side."""
    own = frame.select((frame.model_b > 0) & (frame.model != frame.model_b))
    if measure.name == REWARD:
        grade = np.rint(np.clip(own.value, -LARGEST_GRADE, LARGEST_GRADE)).astype(np.int64)
        ours, theirs = characters_of(own) if margin is not None else (None, None)
        of_a = wildbench_rewards(grade, ours, theirs, margin=margin)
        of_b = -of_a
    else:
        of_a = win_shares(own.value)
        of_b = 1 - of_a
    pair = np.stack([own.response, own.response_b], axis=1)
    _, first, place = np.unique(pair, axis=0, return_index=True, return_inverse=True)
    count = np.bincount(place.reshape(-1))
    a, b = (np.bincount(place.reshape(-1), weights=side) / count for side in (of_a, of_b))

    def both(one: Ints, other: Ints) -> Ints:
        return np.concatenate([one[first], other[first]])

    return BoardEntries(
        response=both(own.response, own.response_b),
        rival=both(own.response_b, own.response),
        instruction=both(own.instruction, own.instruction),
        category=both(own.category, own.category),
        parent=both(own.parent, own.parent),
        model=both(own.model, own.model_b),
        opponent=both(own.model_b, own.model),
        top=np.concatenate([a, b]),
        under=np.ones(2 * len(first)),
    )


def characters_of(frame: ScoreFrame) -> tuple[Ints, Ints]:
    """Return the lengths of both responses of each pair in characters; 0 if there is no text."""
    known = response_characters(np.concatenate([frame.response, frame.response_b]))

    def sizes(side: Ints) -> Ints:
        return np.array([known.get(pk, 0) for pk in side.tolist()], dtype=np.int64)

    return sizes(frame.response), sizes(frame.response_b)
