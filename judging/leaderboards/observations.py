"""Turn a frame of scores into observations: one per judged response, or two per judged pair, as a metric reads them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from annotation.models import Assignment, Rater
from calibration.data.circumstances import response_characters
from calibration.data.frames import ROLES, Bools, Floats, Ints, ScoreFrame
from generation.models import MAIN_EXPERIMENT, Benchmark, Category
from judging.leaderboards.check_counts import outputs_of
from judging.leaderboards.weighting import Weighting
from judging.scores.benchmark_scores import wildbench_rewards, win_shares
from judging.scores.metrics import FULFILLED, GRADED, MEAN, METRICS, POINTS, REWARD, STARS, WINS, Metric
from judging.scores.points import Points, response_points

LARGEST_GRADE = 2


@dataclass(frozen=True)
class Observations:
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

    def select(self, mask: Bools | Ints) -> "Observations":
        return replace(self, **{column.name: getattr(self, column.name)[mask] for column in fields(self)})


def metrics_in(frame: ScoreFrame) -> list[Metric]:
    """Return the metrics that a judge's scores allow, the most suitable first."""
    names: list[str] = []
    roles = {ROLES[code] for code in np.unique(frame.role[frame.applicable]).tolist()}
    if "preference" in roles:
        graded = frame.high[frame.role == ROLES.index("preference")].max() >= LARGEST_GRADE
        names += [REWARD, WINS] if graded else [WINS, REWARD]
    if "item" in roles:
        items = frame.select((frame.role == ROLES.index("item")) & frame.applicable)
        # Stars begin at one; a checklist's answers at zero.
        stars = bool((items.low > 0).all())
        names += [STARS, POINTS] if stars else [POINTS, STARS]
    if "overall" in roles:
        overall = frame.select((frame.role == ROLES.index("overall")) & frame.applicable)
        ten = bool(((overall.low == 1) & (overall.high == 10)).all())
        names += [GRADED, MEAN] if ten else [MEAN]
    if "check" in roles:
        names.append(FULFILLED)
    return [METRICS[name] for name in names]


def observations_of(
    frame: ScoreFrame,
    metric: Metric,
    weighting: Weighting,
    leaves: Mapping[int, Category],
    *,
    margin: int | None = None,
) -> Observations:
    """Return the observations of a frame; several answers about one response, or one pair, are averaged.

    Raises NoVerdicts, MissingWeights, WithoutWeight, NotOnScale.
    """
    scores = frame.select((frame.role == ROLES.index(metric.role)) & frame.applicable & (frame.model > 0))
    if metric.paired:
        return _pair_observations(scores, metric, margin)
    if metric.name == FULFILLED:
        return _check_observations(scores)
    top: Floats
    under: Floats | None = None
    if metric.name == POINTS:
        top = weighted_points(scores, weighting, leaves).points
        _, first = np.unique(scores.response, return_index=True)
    elif metric.name == STARS:
        _, first, place = np.unique(scores.response, return_index=True, return_inverse=True)
        top = np.bincount(place, weights=scores.value).astype(np.float64)
        under = np.bincount(place, weights=scores.high).astype(np.float64)
    else:
        _, first, place = np.unique(scores.response, return_index=True, return_inverse=True)
        top = np.bincount(place, weights=scores.value) / np.bincount(place)
    none = np.zeros(len(first), dtype=np.int64)
    return Observations(
        response=scores.response[first],
        rival=none,
        instruction=scores.instruction[first],
        category=scores.category[first],
        parent=scores.parent[first],
        model=scores.model[first],
        opponent=none,
        top=top,
        under=np.ones(len(first)) if under is None else under,
    )


def weighted_points(frame: ScoreFrame, weighting: Weighting, leaves: Mapping[int, Category]) -> Points:
    """Return the points of each response from item scores, with answers mapped to 0..1 by their scale."""
    answer = (frame.value - frame.low) / (frame.high - frame.low)
    return response_points(frame.response, answer, _item_weights(frame, weighting, leaves))


def _item_weights(frame: ScoreFrame, weighting: Weighting, leaves: Mapping[int, Category]) -> Floats:
    """Return the weight of each item score, shape (n,). Raises MissingWeights."""
    weight = np.empty(len(frame))
    for category in np.unique(frame.category):
        mask = frame.category == category
        codes, first = np.unique(frame.criterion[mask], return_index=True)
        positions = frame.position[mask][first]
        keys = [frame.criterion_keys[code] for code in codes]
        weights = weighting.weights(leaves.get(int(category)), keys, [int(position) for position in positions])
        weight[mask] = np.array(weights)[np.searchsorted(codes, frame.criterion[mask])]
    return weight


def _check_observations(frame: ScoreFrame) -> Observations:
    """Return one observation per output with an instruction that could be judged."""
    outputs = [output for output in outputs_of(frame) if output.counts.instructions]

    def column(values: Iterable[int]) -> Ints:
        return np.array(list(values), dtype=np.int64)

    none = np.zeros(len(outputs), dtype=np.int64)
    return Observations(
        response=column(output.response for output in outputs),
        rival=none,
        instruction=column(output.instruction for output in outputs),
        category=column(output.category for output in outputs),
        parent=column(output.parent for output in outputs),
        model=column(output.model for output in outputs),
        opponent=none,
        top=column(output.counts.fulfilled for output in outputs).astype(np.float64),
        under=column(output.counts.instructions for output in outputs).astype(np.float64),
    )


def _pair_observations(frame: ScoreFrame, metric: Metric, margin: int | None) -> Observations:
    """Return two observations per pair, one from each side."""
    scores = frame.select((frame.model_b > 0) & (frame.model != frame.model_b))
    if metric.name == REWARD:
        grade = np.rint(np.clip(scores.value, -LARGEST_GRADE, LARGEST_GRADE)).astype(np.int64)
        ours, theirs = characters_of(scores) if margin is not None else (None, None)
        of_a = wildbench_rewards(grade, ours, theirs, margin=margin)
        of_b = -of_a
    else:
        of_a = win_shares(scores.value)
        of_b = 1 - of_a
    pair = np.stack([scores.response, scores.response_b], axis=1)
    _, first, place = np.unique(pair, axis=0, return_index=True, return_inverse=True)
    count = np.bincount(place.reshape(-1))
    a, b = (np.bincount(place.reshape(-1), weights=side) / count for side in (of_a, of_b))

    def both(a_side: Ints, b_side: Ints) -> Ints:
        return np.concatenate([a_side[first], b_side[first]])

    return Observations(
        response=both(scores.response, scores.response_b),
        rival=both(scores.response_b, scores.response),
        instruction=both(scores.instruction, scores.instruction),
        category=both(scores.category, scores.category),
        parent=both(scores.parent, scores.parent),
        model=both(scores.model, scores.model_b),
        opponent=both(scores.model_b, scores.model),
        top=np.concatenate([a, b]),
        under=np.ones(2 * len(first)),
    )


def characters_of(frame: ScoreFrame) -> tuple[Ints, Ints]:
    """Return the lengths of both responses of each pair in characters; 0 if there is no text."""
    known = response_characters(np.concatenate([frame.response, frame.response_b]))

    def sizes(side: Ints) -> Ints:
        return np.array([known.get(pk, 0) for pk in side.tolist()], dtype=np.int64)

    return sizes(frame.response), sizes(frame.response_b)


def against_itself(
    observations: Observations, column: Ints, rivals: list[int], tie: float
) -> tuple[Observations, Ints]:
    """Add a tie of each baseline with itself on each of its instructions, as in WildBench's mixed score.

    Such an observation has no response, because nobody judged it.
    """
    added = [_ties(np.unique(observations.instruction[observations.model == pk]), pk, tie) for pk in rivals]
    whole = Observations(
        **{
            column.name: np.concatenate([getattr(part, column.name) for part in (observations, *added)])
            for column in fields(Observations)
        }
    )
    return whole, np.concatenate([column, *(part.model for part in added)])


def _ties(instruction: Ints, model: int, tie: float) -> Observations:
    n = len(instruction)
    nothing, itself = np.zeros(n, dtype=np.int64), np.full(n, model, dtype=np.int64)
    return Observations(nothing, nothing, instruction, nothing, nothing, itself, itself, np.full(n, tie), np.ones(n))


@dataclass(frozen=True)
class Unusable:
    """A verdict that could not be used: its instruction, its leaf (0 for none), and each judged model with its rival.

    The rival is 0 if a response was judged alone.
    """

    instruction: int
    leaf: int
    sides: tuple[tuple[int, int], ...]


def unusable_of(
    benchmark: Benchmark, judge: Rater, experiment: str, metric: Metric, *, discredited: bool = False
) -> list[Unusable]:
    """Return the unusable verdicts on what the board shows; those of failed runs only if `discredited` is set."""
    assignments = Assignment.objects.filter(
        rater=judge,
        status=Assignment.Status.UNSCORED,
        repeat=0,
        task__gold__isnull=True,
        task__response_a__instruction__benchmark=benchmark,
    ).order_by()
    if not discredited:
        assignments = assignments.believed()
    if experiment == MAIN_EXPERIMENT:
        assignments = assignments.exclude(
            task__response_a__run__in=benchmark.generation_runs.exclude(experiment=experiment)
        )
    elif experiment:
        assignments = assignments.filter(task__response_a__run__experiment=experiment)
    place = "task__response_a__instruction"
    rows = assignments.values_list(
        f"{place}_id", f"{place}__category_id", "task__response_a__model_id", "task__response_b__model_id"
    )
    verdicts = []
    for instruction, leaf, model, other in rows:
        if metric.paired and model and other and model != other:
            verdicts.append(Unusable(instruction, leaf or 0, ((model, other), (other, model))))
        elif not metric.paired and model:
            verdicts.append(Unusable(instruction, leaf or 0, ((model, 0),)))
    return verdicts


@dataclass(frozen=True)
class LeftOut:
    """Count the unusable verdicts, in total and by (model, column); a verdict on a pair counts for both models."""

    verdicts: int
    cells: Mapping[tuple[int, int], int]


def left_out(
    unusable: Iterable[Unusable],
    column_of: Callable[[int, int], int | None],
    wanted: set[int] | None,
    models: set[int] | None,
    rivals: set[int] | None,
) -> LeftOut:
    """Count what the filters keep; `column_of` maps a leaf and a rival to a column, or to None."""
    verdicts, cells = 0, Counter[tuple[int, int]]()
    for verdict in unusable:
        if wanted is not None and verdict.instruction not in wanted:
            continue
        places = [
            (model, column)
            for model, rival in verdict.sides
            if (models is None or model in models)
            and (rivals is None or rival in rivals)
            and (column := column_of(verdict.leaf, rival)) is not None
        ]
        cells.update(places)
        verdicts += bool(places)
    return LeftOut(verdicts, cells)
