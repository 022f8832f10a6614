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
from calibration.data.scores import named_raters, score_frame
from calibration.data.verdicts import judges_by_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import INLINED, Missing, part
from calibration.reports.pair_rankings import PairParts, pair_parts
from calibration.reports.registry import MainNumber, ReportKind, Settings, register
from calibration.statistics.crossed import Crossed, WhyNot
from calibration.statistics.errors import TooFewRatings, Undefined
from calibration.statistics.ranking.coverage import Unranked, unranked
from calibration.statistics.ranking.populations import (
    SKEWED_UNDER,
    Difference,
    ModelDifference,
    crossed_means,
    differences_shown,
    named_differences,
    ranks_left,
    skewed_reach,
)
from calibration.statistics.ranking.power import PowerCurve, SharedRanks, power_curve, shared_ranks
from calibration.statistics.ranking.rank_intervals import ranks_among
from calibration.statistics.ranking.scores import MeanScores, complete_table, mean_scores
from calibration.statistics.report_reasons import TooFewModels
from calibration.statistics.resampling import MIN_CLUSTERS, IntervalKind
from calibration.statistics.ties import descending

DRAWS = 1000
PEOPLE = "people"
ALL = "all criteria"
REPEATS = 20
SKEWED, FEW_IF_SKEWED = 1.5, 30
"""Skewness of the scores, and number of instructions, at which a mean's interval holds the truth less often than 95 %."""


@dataclass(frozen=True)
class ModelMean:
    """A model's mean of `n` scores with its ends over `clusters`, and its rank with the ends of the true rank.

    `low` and `high` are for exactly these raters, `such_low` and `such_high` for raters like these, None where not stated.

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
    such_low: float | None = None
    such_high: float | None = None


@dataclass(frozen=True)
class ModelMeans:
    """The mean scores of models, the highest first; after those that are ranked, those that are not."""

    models: list[ModelMean]


@dataclass(frozen=True)
class RankedMeans(ModelMeans):
    """Mean scores with the differences of ranked models, whose ranks hold all at once with 95 %.

    `differences` begins with that of the first two. `not_stated` says why there are no ends for raters like these.
    `skewed` models have so few and so skewed scores that their intervals may hold the truth more rarely. `reversed_in` is
    the number of categories if the second model has the higher mean in each of them that both have, else 0.
    """

    differences: list[ModelDifference]
    not_stated: WhyNot
    n_instructions: int
    n_raters: int
    skewed: list[str]
    reversed_in: int


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
        why = Undefined("AboutVerdicts", "what reviewers answer is about verdicts")
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


def _main_number(report: Rankings) -> float | None:
    """Return the mean score of the model ranked first, to two decimals, or from pairs its strength in whole Elo points."""
    if isinstance(report, PairRanking):
        found = report.parts.strength
        strengths = [] if isinstance(found, Missing) else [row.strength for row in found.models if not row.not_ranked]
        return round(strengths[0], 0) if strengths else None
    if isinstance(report, ScoreRanking) and not isinstance(report.parts.scores, Missing):
        means = [row.mean for row in report.parts.scores.models if not row.not_ranked]
        return round(means[0], 2) if means else None
    return None


RANKINGS: ReportKind[Rankings] = register(
    ReportKind(
        "rankings", _compute, slow_from=60_000, shape=Rankings, main=MainNumber(ranking_settings(), _main_number)
    )
)


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
    found = _populations(value, rows, draws, seed)
    order, names = _order(found.means), [rows.model_names[int(str(pk))] for pk in found.means.models]
    why = found.crossed.not_stated[int(order[0])] or ""
    return RankedMeans(
        models=_models(found, rows.model_names),
        differences=named_differences(found.differences, names, order),
        not_stated="positions" if found.positions and why not in ("", "few_instructions") else why,
        n_instructions=int(found.crossed.n_instructions.max()),
        n_raters=0 if found.positions else int(found.crossed.n_raters.max()),
        skewed=[names[place] for place in np.flatnonzero(found.skewed)],
        reversed_in=_reversed_in(value, rows, *(int(str(found.means.models[place])) for place in order[:2])),
    )


@dataclass(frozen=True)
class _Populations:
    """Means with their variances for both populations, the differences of ranked models, and standard errors reached."""

    means: MeanScores
    crossed: Crossed
    differences: list[Difference]
    ranked: Bools
    below: Floats
    above: Floats
    skewed: Bools
    positions: bool


def _populations(value: Floats, rows: ScoreFrame, draws: int, seed: int) -> _Populations:
    found = _mean_scores(value, rows, draws, seed)
    model, instruction = [
        np.unique(pks, return_inverse=True)[1].reshape(-1).astype(np.int64) for pks in (rows.model, rows.instruction)
    ]
    raters = named_raters(rows.rater)
    crossed, between = crossed_means(value, model, instruction, raters)
    ranked = ~np.isin(np.arange(len(found.mean)), list(_not_ranked(found)))
    below, above = skewed_reach(value, model, instruction, draws=draws or DRAWS, seed=seed)
    spread = np.array([_skewness(value[model == place]) for place in range(len(found.mean))])
    return _Populations(
        means=found,
        crossed=crossed,
        differences=differences_shown(between, ranked, positions=raters is None),
        ranked=ranked,
        below=below,
        above=above,
        skewed=(found.clusters < FEW_IF_SKEWED) & (found.clusters >= MIN_CLUSTERS) & (np.abs(spread) > SKEWED),
        positions=raters is None,
    )


def _skewness(values: Floats) -> float:
    spread = float(values.std())
    return float(((values - values.mean()) ** 3).mean()) / spread**3 if spread > 0 else 0.0


def _reversed_in(value: Floats, rows: ScoreFrame, first: int, second: int) -> int:
    """The number of categories that both models have, if the second has the higher mean in each of them, else 0."""
    parents = np.where(rows.parent > 0, rows.parent, rows.category)
    behind = []
    for category in np.unique(parents):
        own = [value[(parents == category) & (rows.model == model)] for model in (first, second)]
        if own[0].size and own[1].size:
            behind.append(float(own[0].mean()) < float(own[1].mean()))
    return len(behind) if len(behind) > 1 and all(behind) else 0


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


def _models(made: _Populations, names: Mapping[int, str]) -> list[ModelMean]:
    found, out = made.means, _not_ranked(made.means)
    low, high = ranks_left(made.differences, made.ranked)
    rank = ranks_among(found.mean, made.ranked)
    such_low, such_high, these_low, these_high = _ends(made)
    rows = []
    for place in _order(found).tolist():
        stated = made.crossed.not_stated[place] is None
        ranked = bool(made.ranked[place])
        rows.append(
            ModelMean(
                model=names[int(str(found.models[place]))],
                mean=float(found.mean[place]),
                low=float(these_low[place]),
                high=float(these_high[place]),
                rank=int(rank[place]) if ranked else None,
                rank_low=int(low[place]) if ranked else None,
                rank_high=int(high[place]) if ranked else None,
                n=int(found.n[place]),
                interval_kind=found.kinds[place],
                clusters=int(found.clusters[place]),
                not_ranked=_WHY[out.get(place)],
                such_low=float(such_low[place]) if stated else None,
                such_high=float(such_high[place]) if stated else None,
            )
        )
    return rows


def _ends(made: _Populations) -> tuple[Floats, Floats, Floats, Floats]:
    """Ends (k,) for such raters and for these; with few instructions, both follow the skew of the scores."""
    found, crossed = made.means, made.crossed
    few = (found.clusters < SKEWED_UNDER) & (found.clusters >= MIN_CLUSTERS) & ~np.isnan(made.below)
    usual = crossed.reach(such=False)
    ends = []
    for such in (True, False):
        error = np.sqrt(crossed.such if such else crossed.these)
        scale = crossed.reach(such=such) / usual
        ends.append(found.mean - np.where(few, made.below, usual) * scale * error)
        ends.append(found.mean + np.where(few, made.above, usual) * scale * error)
    # From 60 instructions on, the ends for these raters are those of the bootstrap; under 20, of leaving one out.
    return ends[0], ends[1], np.where(few, ends[2], found.low), np.where(few, ends[3], found.high)


_WHY: Mapping[Unranked | None, Literal["", "few", "no_interval"]] = {
    None: "",
    Unranked.FEW: "few",
    Unranked.NO_INTERVAL: "no_interval",
}


def _by_category(value: Floats, rows: ScoreFrame, draws: int, seed: int) -> list[CategoryMeans]:
    def means(mask: Bools) -> ModelMeans:
        return ModelMeans(_models(_populations(value[mask], rows.select(mask), draws, seed), rows.model_names))

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
        raise Undefined("TooFewRanked", "Fewer than two models were rated on enough instructions to be compared.")
    mask = ~np.isin(rows.model, list(out))
    return value[mask], rows.select(mask)


def _complete(value: Floats, rows: ScoreFrame) -> tuple[Floats, Ints]:
    try:
        table, _, models = complete_table(value, rows.instruction, rows.model)
    except TooFewRatings as error:
        raise Undefined("NoSharedTasks", str(error)) from error
    return table, models


def _power(value: Floats, rows: ScoreFrame, seed: int) -> PowerCurve:
    return power_curve(_complete(*_of_ranked(value, rows))[0], repeats=REPEATS, seed=seed)
