"""Win rates and strengths of models from people's preferences and a judge's, and from people's alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calibration.data.frames import Floats, Ints, NothingToRead, ScoreFrame
from calibration.reports.judge_matches import are_positions, overall_or_items, preferences, shares_of
from calibration.statistics.errors import Undefined
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.judges.powered_rankings import (
    JudgedPairs,
    LabelledPairs,
    PoweredRankings,
    powered_rankings,
    rankings_of_people,
)
from calibration.statistics.report_reasons import TooFewModels


@dataclass(frozen=True)
class PoweredModel:
    """A model's win rate and strength with the judge and by people alone; strengths are None where one is unbounded."""

    model: str
    win_rate: PeopleEstimate
    win_rate_alone: PeopleEstimate
    strength: PeopleEstimate | None
    strength_alone: PeopleEstimate | None


@dataclass(frozen=True)
class PoweredWins:
    """All models; `power` is the weight on the judge, with `n` instructions labelled and `n_judge_only` further ones."""

    models: list[PoweredModel]
    power: float
    n: int
    n_judge_only: int


def powered_preferences(people: ScoreFrame, judge: ScoreFrame, seed: int) -> PoweredWins:
    """From preferences between two responses. Raises NothingToRead, Undefined, TooFewModels, TooFewRatings."""
    theirs, own = preferences(people), preferences(judge)
    own = own.select((own.model > 0) & (own.model_b > 0) & (own.model != own.model_b))
    labelled = own.select(np.isin(own.task, theirs.task))
    given = theirs.select(np.isin(theirs.task, labelled.task))
    codes = _codes(np.concatenate([labelled.model, labelled.model_b]))
    other = own.select(~np.isin(own.task, theirs.task))
    other = other.select(np.isin(other.model, list(codes)) & np.isin(other.model_b, list(codes)))
    tasks, first = np.unique(labelled.task, return_index=True)
    labelled = labelled.select(first)
    pairs = LabelledPairs(
        *_sides(labelled, codes),
        pair=np.searchsorted(tasks, given.task).astype(np.int64),
        rater=given.rater,
        points=(1 + np.sign(given.value)) / 2,
        positions=are_positions(given),
    )
    return _powered(pairs, JudgedPairs(*_sides(other, codes)), [own.model_names[pk] for pk in codes], seed)


def powered_scores(people: ScoreFrame, judge: ScoreFrame, seed: int) -> PoweredWins:
    """From scores of single responses: of two models, the higher score of the same rater on an instruction wins."""
    theirs, own = overall_or_items(people), overall_or_items(judge)
    codes = _codes(np.intersect1d(theirs.model, own.model))
    theirs, own = (of.select(np.isin(of.model, list(codes))) for of in (theirs, own))
    rows, instruction, rater, given = _by_model(theirs, codes, with_raters=True)
    _, judged_at, _, said = _by_model(own, codes, with_raters=False)
    if not rows or not judged_at.size:
        raise NothingToRead("people and this judge have no response in common")
    sides: list[list[Ints | Floats]] = []
    lines: list[tuple[Ints, Ints, Floats]] = []
    others: list[list[Ints | Floats]] = []
    at = 0
    for one, two in combinations(range(len(codes)), 2):
        points = _points(said[:, one] - said[:, two])
        known = np.isfinite(points)
        compared = _points(given[:, one] - given[:, two])
        asked = np.isfinite(compared) & np.isin(instruction, judged_at[known])
        labelled = known & np.isin(judged_at, instruction[asked])
        size = int(labelled.sum())
        place = np.searchsorted(judged_at[labelled], instruction[asked]) + at
        lines.append((place.astype(np.int64), rater[asked], compared[asked]))
        sides.append([np.full(size, one), np.full(size, two), judged_at[labelled], points[labelled]])
        rest = known & ~labelled
        count = int(rest.sum())
        others.append([np.full(count, one), np.full(count, two), judged_at[rest], points[rest]])
        at += size
    if not at:
        raise NothingToRead("no rater has scored two responses to an instruction that this judge has scored too")
    pair, who, won = (np.concatenate(column) for column in zip(*lines, strict=True))
    first, second, where, of_judge = (np.concatenate(column) for column in zip(*sides, strict=True))
    pairs = LabelledPairs(first, second, where, of_judge, pair, who, won, positions=are_positions(theirs))
    more = JudgedPairs(*(np.concatenate(column) for column in zip(*others, strict=True)))
    return _powered(pairs, more, [theirs.model_names[pk] for pk in codes], seed)


def _powered(labelled: LabelledPairs, other: JudgedPairs, names: list[str], seed: int) -> PoweredWins:
    if not other.first.size:
        raise Undefined("NoFurtherVerdicts", "people compared every pair that the judge did")
    both = powered_rankings(labelled, other, len(names), seed=seed)
    alone = rankings_of_people(labelled, len(names), seed=seed)

    def strength(of: PoweredRankings, place: int) -> PeopleEstimate | None:
        return None if of.strengths is None else of.strengths[place]

    rows = [
        PoweredModel(name, both.win_rates[at], alone.win_rates[at], strength(both, at), strength(alone, at))
        for at, name in enumerate(names)
    ]
    rows.sort(key=lambda row: -row.win_rate.value)
    return PoweredWins(rows, both.power, both.n, both.n_judge_only)


def _codes(models: Ints) -> dict[int, int]:
    known = [int(pk) for pk in np.unique(models) if pk > 0]
    if len(known) < 2:
        raise TooFewModels("Fewer than two models were compared by people and judge.")
    return {pk: code for code, pk in enumerate(known)}


def _sides(frame: ScoreFrame, codes: Mapping[int, int]) -> tuple[Ints, Ints, Ints, Floats]:
    first, second = (
        np.array([codes[pk] for pk in side.tolist()], dtype=np.int64) for side in (frame.model, frame.model_b)
    )
    return first, second, frame.instruction, (1 + np.sign(frame.value)) / 2


def _points(difference: Floats) -> Floats:
    """1, 0.5 or 0; nan where one of both was not scored."""
    near = np.where(np.abs(difference) < 1e-9, 0.0, difference)
    return np.asarray((1 + np.sign(near)) / 2, dtype=np.float64)


def _by_model(frame: ScoreFrame, codes: Mapping[int, int], *, with_raters: bool) -> tuple[int, Ints, Ints, Floats]:
    """The number of rows, each row's instruction and rater, and its mean score of every model, nan for none."""
    who = frame.rater if with_raters else np.zeros(len(frame), dtype=np.int64)
    keys, row = np.unique(np.column_stack([frame.instruction, who]), axis=0, return_inverse=True)
    column = np.array([codes[pk] for pk in frame.model.tolist()], dtype=np.int64)
    cell, size = row.reshape(-1) * len(codes) + column, len(keys) * len(codes)
    counts = np.bincount(cell, minlength=size)
    sums = np.bincount(cell, weights=shares_of(frame), minlength=size)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).reshape(len(keys), len(codes))
    return len(keys), keys[:, 0], keys[:, 1], means
