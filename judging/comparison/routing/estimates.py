"""People's means from routed draws: the judge's scores of the whole pool, corrected by ratings of what chance drew.

A unit counts once every one of its responses has all its ratings; a batch is used once every drawn unit counts, for
otherwise it would not be chance alone that decides what is missing. Only answers of people to tasks of the draw take part:
verdicts that a lead sent to people by hand have no probability, and what a lead adjudicated is no rating.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from annotation.models import Rater, Study, Task
from calibration.data.frames import ABOUT_RESPONSES, NothingToRead, ScoreFrame
from calibration.data.scores import score_frame
from calibration.statistics.judges.routing import RoutedMean, combined, routed_mean, simultaneous_ends, uniform_ends
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray
from generation.models import LanguageModel
from judging.comparison.routing.draws import draws_about, scored_by_people
from judging.models import RoutedDraw

BatchState: TypeAlias = Literal["not_made", "not_open", "waiting", "incomplete", "complete", "too_few"]


@dataclass(frozen=True)
class Batch:
    """A draw and how far its ratings are: `complete` of `drawn` units are, and `ratings` of those `wanted` are in.

    `state` is "incomplete" where its study is closed before all are in, and "too_few" where all are in but under 20 units
    were drawn; only a "complete" batch is estimated from. `study` is the slug of the study that rates it, '' without one.
    """

    draw: str
    study: str
    state: BatchState
    judges: list[str]
    models: list[str]
    spread_kind: str
    strata: str
    seed: int
    pool: int
    budget: float
    expected: float
    drawn: int
    complete: int
    ratings: int
    wanted: int
    overlap: int


@dataclass(frozen=True)
class RoutedEstimate:
    """People's mean of `model`, or that of `model` minus `other`'s, with 95 % ends; `uniform_low` and `uniform_high` are
    what a uniform draw of as many instructions would have given. Ends of differences hold together for all pairs.
    """

    model: str
    other: str
    found: RoutedMean
    low: float
    high: float
    uniform_low: float
    uniform_high: float


@dataclass(frozen=True)
class RoutedGroup:
    """Estimates over one pool of `pool` instructions from the `batches`, on people's scale of `criterion`, `low` to `high`.

    `differences` are of every pair of models, first those that are furthest apart. `raters` people gave the `ratings`.
    """

    batches: list[str]
    models: list[str]
    pool: int
    criterion: str
    low: float
    high: float
    means: list[RoutedEstimate]
    differences: list[RoutedEstimate]
    raters: int
    ratings: int


@dataclass(frozen=True)
class Routing:
    """The draws of a study, oldest first, and what is estimated from those whose ratings are all in."""

    study: str
    batches: list[Batch]
    groups: list[RoutedGroup]


def routing_of(study: Study, draws: Sequence[RoutedDraw] | None = None) -> Routing:
    """Return every draw of the study, and the estimates from the complete ones."""
    made = draws_about(study) if draws is None else list(draws)
    names = dict(
        LanguageModel.objects.filter(pk__in={pk for one in made for pk in one.language_models}).values_list(
            "pk", "name"
        )
    )
    raters = Rater.objects.in_bulk({pk for one in made for pk in one.judges})
    judges = {one.pk: [raters[pk].name for pk in one.judges if pk in raters] for one in made}
    read = _rated(made)
    batches = {one.pk: _batch(one, read[one.pk], judges[one.pk], names) for one in made}
    groups: dict[tuple[tuple[int, ...], ...], list[RoutedDraw]] = defaultdict(list)
    for one in made:
        if batches[one.pk].state == "complete":
            pool = tuple(sorted(unit["instruction"] for unit in one.frame))
            groups[tuple(sorted(one.language_models)), pool].append(one)
    return Routing(
        study.slug,
        [batches[one.pk] for one in made],
        [_group(held, [read[one.pk] for one in held], names) for held in groups.values()],
    )


@dataclass(frozen=True)
class _Ratings:
    """People's ratings of a draw: the mean and the number of raters of each response, on the scale of `criterion`."""

    means: dict[int, float]
    counts: dict[int, int]
    raters: frozenset[int]
    criterion: str
    low: float
    high: float


_NOTHING = _Ratings({}, {}, frozenset(), "", 0.0, 0.0)


def _rated(draws: Sequence[RoutedDraw]) -> dict[int, _Ratings]:
    """Read people's ratings of every draw, by its primary key."""
    found = {made.pk: _NOTHING for made in draws}
    studies = {made.rated_in_id: made.pk for made in draws if made.rated_in_id is not None}
    if not studies:
        return found
    frame = score_frame(kinds=ABOUT_RESPONSES, studies=list(studies), judges=False, routed=True)
    of_task = dict(Task.objects.filter(study__in=studies).values_list("pk", "study"))
    place = np.array([of_task[pk] for pk in frame.task.tolist()], dtype=np.int64)
    for study, pk in studies.items():
        try:
            found[pk] = _read(scored_by_people(frame.select(place == study)))
        except NothingToRead:
            continue
    return found


def _read(own: ScoreFrame) -> _Ratings:
    response, place = np.unique(own.response, return_inverse=True)
    means = np.bincount(place, weights=own.value) / np.bincount(place)
    answers = np.unique(np.stack([own.response, own.assignment]), axis=1)[0]
    known, counts = np.unique(answers, return_counts=True)
    return _Ratings(
        dict(zip(response.tolist(), means.tolist(), strict=True)),
        dict(zip(known.tolist(), counts.tolist(), strict=True)),
        frozenset(own.rater.tolist()),
        own.criterion_keys[int(own.criterion[0])] if len(np.unique(own.criterion)) == 1 else "",
        float(own.low.min()),
        float(own.high.max()),
    )


def _batch(made: RoutedDraw, ratings: _Ratings, judges: list[str], names: dict[int, str]) -> Batch:
    drawn = [unit for unit in made.frame if unit["drawn"]]
    responses = [[pk for pks in unit["responses"].values() for pk in pks] for unit in drawn]
    given = [sum(min(ratings.counts.get(pk, 0), made.overlap) for pk in pks) for pks in responses]
    whole = sum(got == made.overlap * len(pks) for got, pks in zip(given, responses, strict=True))
    return Batch(
        draw=made.public_id,
        study=made.rated_in.slug if made.rated_in else "",
        state=_state(made, whole, len(drawn)),
        judges=judges,
        models=[names.get(pk, "") for pk in made.language_models],
        spread_kind=made.spread_kind,
        strata=made.strata,
        seed=made.seed,
        pool=len(made.frame),
        budget=made.budget,
        expected=float(sum(unit["probability"] for unit in made.frame)),
        drawn=len(drawn),
        complete=whole,
        ratings=sum(given),
        wanted=made.overlap * sum(map(len, responses)),
        overlap=made.overlap,
    )


def _state(made: RoutedDraw, whole: int, drawn: int) -> BatchState:
    if made.rated_in is None:
        return "not_made"
    if whole == drawn:
        return "complete" if drawn >= MIN_CLUSTERS else "too_few"
    if made.rated_in.status == Study.Status.CLOSED:
        return "incomplete"
    return "not_open" if made.rated_in.status == Study.Status.DRAFT else "waiting"


def _group(draws: Sequence[RoutedDraw], ratings: Sequence[_Ratings], names: dict[int, str]) -> RoutedGroup:
    models = sorted(draws[0].language_models, key=lambda pk: names.get(pk, ""))
    columns = [_columns(made, read, models) for made, read in zip(draws, ratings, strict=True)]
    means = [_estimate(names.get(model, ""), "", columns, {place: 1.0}, 1) for place, model in enumerate(models)]
    pairs = list(combinations(range(len(models)), 2))
    differences = [
        _estimate(names.get(models[a], ""), names.get(models[b], ""), columns, {a: 1.0, b: -1.0}, len(pairs))
        for a, b in pairs
    ]
    return RoutedGroup(
        batches=[made.public_id for made in draws],
        models=[names.get(model, "") for model in models],
        pool=len(draws[0].frame),
        criterion=ratings[0].criterion,
        low=ratings[0].low,
        high=ratings[0].high,
        means=sorted(means, key=lambda one: (-one.found.value, one.model)),
        differences=sorted(differences, key=lambda one: (-abs(one.found.value), one.model, one.other)),
        raters=len(frozenset[int]().union(*(read.raters for read in ratings))),
        ratings=sum(sum(read.counts.values()) for read in ratings),
    )


_Columns: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, int]
"""Judge's and people's scores (models, N), people's nan where not drawn, probabilities (N,), and the draw's seed."""


def _columns(made: RoutedDraw, ratings: _Ratings, models: Sequence[int]) -> _Columns:
    judge = np.array([[unit["judge"][str(model)] for unit in made.frame] for model in models], dtype=np.float64)
    people = np.full(judge.shape, np.nan)
    for at, unit in enumerate(made.frame):
        if unit["drawn"]:
            for place, model in enumerate(models):
                people[place, at] = np.mean([ratings.means[pk] for pk in unit["responses"][str(model)]])
    return judge, people, np.array([unit["probability"] for unit in made.frame]), made.seed


def _estimate(
    model: str, other: str, columns: Sequence[_Columns], weights: dict[int, float], of: int
) -> RoutedEstimate:
    batches = []
    for judge, people, probability, seed in columns:
        x = np.sum([weight * judge[place] for place, weight in weights.items()], axis=0)
        y = np.sum([weight * people[place] for place, weight in weights.items()], axis=0)
        batches.append(routed_mean(x, y, probability, seed=seed))
    found = combined(batches)
    return RoutedEstimate(model, other, found, *simultaneous_ends(found, of=of), *uniform_ends(found, of=of))
