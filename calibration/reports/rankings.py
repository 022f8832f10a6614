"""Which model is better: rankings of a study from pairs, or from mean scores, with how sure each of them is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from annotation.models import Study
from calibration.data.circumstances import circumstances
from calibration.data.frames import (
    ABOUT_RESPONSES,
    EVERY_KIND,
    ROLES,
    Bools,
    Floats,
    Ints,
    NothingToRead,
    ScoreFrame,
    data_hash,
)
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_by_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import INLINED, Missing, part
from calibration.reports.pair_rankings import PairParts, pair_parts
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.ranking.coverage import Unranked, unranked
from calibration.statistics.ranking.power import PowerCurve, SharedRanks, power_curve, shared_ranks
from calibration.statistics.ranking.scores import MeanScores, complete_table, mean_scores
from calibration.statistics.report_reasons import AboutVerdicts, NoSharedTasks, TooFewModels, TooFewRanked
from calibration.statistics.resampling import IntervalKind
from calibration.statistics.ties import descending

DRAWS = 1000
PEOPLE = "people"
ALL = "all criteria"
REPEATS = 20


@dataclass(frozen=True)
class ModelMean:
    """A model's mean of `n` scores with its ends over `clusters`, and its rank with the ends of the true rank.

    A model that is `not_ranked`, because it was rated on too few instructions, has neither rank nor ends of one.
    """

    model: str
    mean: float
    low: float
    high: float
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    n: int
    interval_kind: IntervalKind
    clusters: int
    not_ranked: Literal["", "few", "no_interval"] = ""


@dataclass(frozen=True)
class ModelMeans:
    """The mean scores of models, the highest first; after those that are ranked, those that are not."""

    models: list[ModelMean]


@dataclass(frozen=True)
class RankedMeans(ModelMeans):
    """Mean scores with the probability (k, k) that the row's model is truly ahead of the column's.

    The probability is None where one of the two models has no 95 % interval.
    """

    ahead: list[list[float | None]] | Missing


@dataclass(frozen=True)
class CategoryMeans:
    """The mean scores of models in one category."""

    category: str
    category_pk: int
    means: ModelMeans | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class ScoreParts:
    """Every part of a ranking from scores, which lie on `scale` (lowest, highest)."""

    scale: list[float]
    scores: RankedMeans | Missing
    by_category: list[CategoryMeans]
    shared: SharedRanks | Missing
    power: PowerCurve | Missing


@dataclass(frozen=True)
class Ranking:
    """A ranking of a study's models on one criterion, by people or one of the `judges` (public id and name)."""

    study: str
    by: str
    judges: list[tuple[str, str]]
    n_raters: int
    n_answers: int
    criterion: str
    criteria: list[str]


@dataclass(frozen=True)
class PairRanking(Ranking):
    """A ranking from comparisons of two responses."""

    kind: Literal["pairs"]
    parts: PairParts = field(metadata=INLINED)


@dataclass(frozen=True)
class ScoreRanking(Ranking):
    """A ranking from mean scores."""

    kind: Literal["scores"]
    parts: ScoreParts = field(metadata=INLINED)


Rankings: TypeAlias = PairRanking | ScoreRanking | Missing


def ranking_settings(criterion: str = "", by: str = PEOPLE) -> Settings:
    """Settings: `by` is PEOPLE (a judge, where no person has answered) or a judge's public id; `criterion` a key, ALL for
    the mean of all, '' for the default. `clusters` keeps apart what was stored when one model with few clusters decided
    for all.
    """
    return {"criterion": criterion, "by": by or PEOPLE, "draws": DRAWS, "seed": 0, "clusters": "each model's own"}


def _compute(study: Study, settings: Settings) -> tuple[str, Rankings]:
    by = str(settings["by"])
    if study.kind == Study.Kind.REVIEW:
        why = AboutVerdicts("what reviewers answer is about verdicts")
        return data_hash(score_frame(kinds=EVERY_KIND, study=study)), Missing.because(why)
    judges = judges_here(study)
    frame = _frame_by(study, by, judges)
    if by == PEOPLE and judges and not len(frame):
        # Where only judges have answered, the ranking is by the one with the most verdicts.
        by = judges[0][0]
        frame = _frame_by(study, by, judges)
    hashed = data_hash(frame)
    if not len(frame):
        return hashed, Missing.because(NothingToRead("nobody has rated anything in this study yet"))
    draws, seed, key = int(settings["draws"]), int(settings["seed"]), str(settings["criterion"])
    paired = bool((frame.response_b > 0).any())
    role = frame.keys_of_role("preference" if paired else "overall")
    if paired:
        key = key if key in role else role[0]
    key = key or (role[0] if role else ALL)
    common = Ranking(
        study=study.slug,
        by=by,
        judges=[(public, name) for public, _, name in judges],
        n_raters=len(np.unique(frame.rater)),
        n_answers=len(np.unique(frame.assignment)),
        criterion=key,
        criteria=role if paired else [*ordered_keys(frame), ALL],
    )
    if paired:
        parts = pair_parts(frame.of_criterion(key), circumstances(study), draws, seed)
        return hashed, PairRanking(**vars(common), kind="pairs", parts=parts)
    try:
        return hashed, ScoreRanking(**vars(common), kind="scores", parts=_scores(frame, key, draws, seed))
    except (NothingToRead, TooFewModels) as error:
        return hashed, Missing.because(error)


def _frame_by(study: Study, by: str, judges: list[tuple[str, int, str]]) -> ScoreFrame:
    """Read the scores by people, or by the judge of this public id."""
    asked = next((pk for public, pk, _ in judges if public == by), None)
    return score_frame(
        kinds=ABOUT_RESPONSES,
        study=study,
        raters=None if by == PEOPLE else [asked or 0],
        people=by == PEOPLE,
        judges=by != PEOPLE,
    )


RANKINGS: ReportKind[Rankings] = register(ReportKind("rankings", _compute, slow_from=60_000, shape=Rankings))


def judges_here(study: Study) -> list[tuple[str, int, str]]:
    """List public id, pk and name of the judges with verdicts in this study, those with the most of them first."""
    found = [row.judge for row in judges_by_verdicts(study, elsewhere=False) if row.verdicts]
    return [(row.public_id, row.pk, row.name) for row in found]


def _scores(frame: ScoreFrame, key: str, draws: int, seed: int) -> ScoreParts:
    value, rows, scale = _one_score(frame, key)
    named = rows.model > 0
    value, rows = value[named], rows.select(named)
    if len(np.unique(rows.model)) < 2:
        raise TooFewModels("Fewer than two models have been rated.")
    return ScoreParts(
        scale=scale,
        scores=part(lambda: _ranked_means(value, rows, draws, seed)),
        by_category=_by_category(value, rows, draws, seed),
        shared=part(lambda: _shared(value, rows)),
        power=part(lambda: _power(value, rows, seed)),
    )


def _one_score(frame: ScoreFrame, key: str) -> tuple[Floats, ScoreFrame, list[float]]:
    """Return a value for each answer, the answers' first entries, and the ends of the scale of the values."""
    if key != ALL:
        rows = frame.of_criterion(key)
        return rows.value, rows, [float(rows.low.min()), float(rows.high.max())]
    items = frame.select((frame.role != ROLES.index("overall")) & frame.applicable)
    if not len(items):
        raise NothingToRead("nobody has answered an item yet")
    alike = np.ptp(items.low) == 0 and np.ptp(items.high) == 0
    share = 100 * (items.value - items.low) / np.where(items.high > items.low, items.high - items.low, 1.0)
    values = items.value if alike else share
    _, first, answer = np.unique(items.assignment, return_index=True, return_inverse=True)
    mean = np.bincount(answer.reshape(-1), weights=values) / np.bincount(answer.reshape(-1))
    mask = np.zeros(len(items), dtype=bool)
    mask[first] = True
    ends = [float(items.low[0]), float(items.high[0])] if alike else [0.0, 100.0]
    # Answers come in order of their pk, as np.unique lists them.
    return mean, items.select(mask), ends


def _ranked_means(value: Floats, rows: ScoreFrame, draws: int, seed: int) -> RankedMeans:
    found = _mean_scores(value, rows, draws, seed)
    return RankedMeans(_models(found, rows.model_names), part(lambda: _ahead(found, _order(found))))


def _mean_scores(value: Floats, rows: ScoreFrame, draws: int, seed: int) -> MeanScores:
    try:
        return mean_scores(value, rows.model, clusters=rows.instruction, draws=draws, seed=seed)
    except TooFewRatings as error:
        raise TooFewModels(str(error)) from error


def _not_ranked(found: MeanScores) -> dict[int, Unranked]:
    """By the place of each model that is not ranked, why."""
    return unranked(dict(enumerate(found.clusters.tolist())))


def _order(found: MeanScores) -> Ints:
    """Order the models by mean, those that are not ranked after the others."""
    last = np.isin(np.arange(len(found.mean)), list(_not_ranked(found)))
    order = descending(found.mean)
    return np.concatenate([order[~last[order]], order[last[order]]])


def _models(found: MeanScores, names: Mapping[int, str]) -> list[ModelMean]:
    out = _not_ranked(found)
    ranked = ~np.isin(np.arange(len(found.mean)), list(out))
    places = np.flatnonzero(ranked).tolist()
    ends = zip(*(values.tolist() for values in found.ranks_among(ranked)), strict=True)
    ranks: dict[int, tuple[int, int, int]] = dict(zip(places, ends, strict=True))
    rows = []
    for place in _order(found).tolist():
        rank, low, high = ranks.get(place, (None, None, None))
        rows.append(
            ModelMean(
                model=names[int(str(found.models[place]))],
                mean=float(found.mean[place]),
                low=float(found.low[place]),
                high=float(found.high[place]),
                rank=rank,
                rank_low=low,
                rank_high=high,
                n=int(found.n[place]),
                interval_kind=found.kinds[place],
                clusters=int(found.clusters[place]),
                not_ranked=_WHY[out.get(place)],
            )
        )
    return rows


_WHY: Mapping[Unranked | None, Literal["", "few", "no_interval"]] = {
    None: "",
    Unranked.FEW: "few",
    Unranked.NO_INTERVAL: "no_interval",
}


def _ahead(found: MeanScores, order: Ints) -> list[list[float | None]]:
    """Order the probabilities as the page does; None where one of the two has no 95 % interval."""
    places, chance = found.ahead()
    column = {int(place): at for at, place in enumerate(places)}
    at = [column.get(int(place)) for place in order]
    return [[None if line is None or other is None else float(chance[line, other]) for other in at] for line in at]


def _by_category(value: Floats, rows: ScoreFrame, draws: int, seed: int) -> list[CategoryMeans]:
    def means(mask: Bools) -> ModelMeans:
        found = _mean_scores(value[mask], rows.select(mask), draws, seed)
        return ModelMeans(_models(found, rows.model_names))

    parents = np.where(rows.parent > 0, rows.parent, rows.category)
    found = [
        CategoryMeans(rows.category_names.get(category, "all"), category, part(partial(means, parents == category)))
        for category in np.unique(parents).tolist()
    ]
    return found if len(found) > 1 else []


def _shared(value: Floats, rows: ScoreFrame) -> SharedRanks:
    table, models = _complete(*_of_ranked(value, rows))
    return shared_ranks(table, [rows.model_names[int(pk)] for pk in models])


def _of_ranked(value: Floats, rows: ScoreFrame) -> tuple[Floats, ScoreFrame]:
    """Select the scores of ranked models: one that has few instructions would leave few that every model has."""
    pairs = np.unique(np.column_stack([rows.model, rows.instruction]), axis=0)
    models, counts = np.unique(pairs[:, 0], return_counts=True)
    out = unranked(dict(zip(models.tolist(), counts.tolist(), strict=True)))
    if len(models) - len(out) < 2 <= len(models):
        raise TooFewRanked("Fewer than two models were rated on enough instructions to be compared.")
    mask = ~np.isin(rows.model, list(out))
    return value[mask], rows.select(mask)


def _complete(value: Floats, rows: ScoreFrame) -> tuple[Floats, Ints]:
    try:
        table, _, models = complete_table(value, rows.instruction, rows.model)
    except TooFewRatings as error:
        raise NoSharedTasks(str(error)) from error
    return table, models


def _power(value: Floats, rows: ScoreFrame, seed: int) -> PowerCurve:
    return power_curve(_complete(*_of_ranked(value, rows))[0], repeats=REPEATS, seed=seed)
