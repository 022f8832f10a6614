"""Which model is better: rankings of a study from pairs, or from mean scores, with how sure each of them is."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from annotation.models import Study
from calibration.data.circumstances import circumstances
from calibration.data.frames import (
    ABOUT_RESPONSES,
    EVERY_KIND,
    ROLES,
    Floats,
    Ints,
    NothingToRead,
    ScoreFrame,
    data_hash,
)
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_by_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import plain, plain_part, stored
from calibration.reports.pair_rankings import pair_parts
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.ranking.power import power_curve, shared_ranks
from calibration.statistics.ranking.scores import MeanScores, complete_table, mean_scores
from calibration.statistics.report_reasons import AboutVerdicts, NoSharedTasks, TooFewModels
from calibration.statistics.ties import descending

DRAWS = 1000
PEOPLE = "people"
ALL = "all criteria"
REPEATS = 20


def ranking_settings(criterion: str = "", by: str = PEOPLE) -> Plain:
    """`by`: PEOPLE or a judge's public id. `criterion`: a key, ALL for the mean of all, '' for the default.

    `clusters` keeps apart what was stored when one model with few clusters decided for all.
    """
    return {"criterion": criterion, "by": by or PEOPLE, "draws": DRAWS, "seed": 0, "clusters": "each model's own"}


def _compute(study: Study, settings: Settings) -> tuple[str, Plain]:
    by = str(settings["by"])
    if study.kind == Study.Kind.REVIEW:
        return data_hash(score_frame(kinds=EVERY_KIND, study=study)), {
            "why": "AboutVerdicts",
            "reason": str(AboutVerdicts("what reviewers answer is about verdicts")),
        }
    judges = judges_here(study)
    asked = next((pk for public, pk, _ in judges if public == by), None)
    frame = score_frame(
        kinds=ABOUT_RESPONSES,
        study=study,
        raters=None if by == PEOPLE else [asked or 0],
        people=by == PEOPLE,
        judges=by != PEOPLE,
    )
    hashed = data_hash(frame)
    if not len(frame):
        return hashed, {"why": "NothingToRead", "reason": "nobody has rated anything in this study yet"}
    draws, seed = int(settings["draws"]), int(settings["seed"])
    common = {
        "study": study.slug,
        "by": by,
        "judges": [[public, name] for public, _, name in judges],
        "n_raters": len(np.unique(frame.rater)),
        "n_answers": len(np.unique(frame.assignment)),
    }
    if (frame.response_b > 0).any():
        return hashed, stored({**common, **_pairs(study, frame, str(settings["criterion"]), draws, seed)})
    try:
        found = _scores(frame, str(settings["criterion"]), draws, seed)
    except (NothingToRead, TooFewModels) as error:
        return hashed, {"why": type(error).__name__, "reason": str(error)}
    return hashed, stored({**common, "kind": "scores", **found})


RANKINGS = register(ReportKind("rankings", _compute, slow_from=60_000))


def _pairs(study: Study, frame: ScoreFrame, asked: str, draws: int, seed: int) -> Plain:
    keys = frame.keys_of_role("preference")
    key = asked if asked in keys else keys[0]
    parts = pair_parts(frame.of_criterion(key), circumstances(study), draws, seed)
    return {"kind": "pairs", "criterion": key, "criteria": keys, **parts}


def judges_here(study: Study) -> list[tuple[str, int, str]]:
    """Public id, pk and name of the judges with verdicts in this study, who gave most of them first."""
    found = [one.judge for one in judges_by_verdicts(study, elsewhere=False) if one.verdicts]
    return [(row.public_id, row.pk, row.name) for row in found]


def _scores(frame: ScoreFrame, asked: str, draws: int, seed: int) -> Plain:
    overall = frame.keys_of_role("overall")
    key = asked or (overall[0] if overall else ALL)
    value, rows, scale = _one_score(frame, key)
    named = rows.model > 0
    value, rows = value[named], rows.select(named)
    models = sorted(np.unique(rows.model).tolist(), key=lambda pk: rows.model_names[pk])
    found: Plain = {"criterion": key, "criteria": [*ordered_keys(frame), ALL], "scale": scale}
    if len(models) < 2:
        raise TooFewModels("Fewer than two models have been rated.")
    names = rows.model_names
    found["scores"] = plain_part(lambda: _means(value, rows, names, draws, seed))
    found["by_category"] = _by_category(value, rows, draws, seed)
    found["shared"] = plain_part(lambda: _shared(value, rows))
    found["power"] = plain_part(lambda: _power(value, rows, seed))
    return found


def _one_score(frame: ScoreFrame, key: str) -> tuple[Floats, ScoreFrame, list[float]]:
    """A value for each answer, the answers' first entries, and the ends of the scale the values are on."""
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


def _means(value: Floats, rows: ScoreFrame, names: Mapping[int, str], draws: int, seed: int) -> Plain:
    try:
        found = mean_scores(value, rows.model, clusters=rows.instruction, draws=draws, seed=seed)
    except TooFewRatings as error:
        raise TooFewModels(str(error)) from error
    order = descending(found.mean)
    return {
        "models": [
            {
                "model": names[int(str(found.models[place]))],
                "mean": found.mean[place],
                "low": found.low[place],
                "high": found.high[place],
                "rank": found.rank[place],
                "rank_low": found.rank_low[place],
                "rank_high": found.rank_high[place],
                "n": found.n[place],
                "interval_kind": found.kinds[place],
                "clusters": found.clusters[place],
            }
            for place in order
        ],
        "ahead": plain_part(lambda: _ahead(found, order)),
    }


def _ahead(found: MeanScores, order: Ints) -> list[list[float | None]]:
    """Probabilities in the order of the page; None where one of the two has no 95 % interval."""
    places, chance = found.ahead()
    column = {int(place): at for at, place in enumerate(places)}
    at = [column.get(int(place)) for place in order]
    return [[None if line is None or other is None else float(chance[line, other]) for other in at] for line in at]


def _by_category(value: Floats, rows: ScoreFrame, draws: int, seed: int) -> list[Plain]:
    found = []
    parents = np.where(rows.parent > 0, rows.parent, rows.category)
    for category in np.unique(parents).tolist():
        mask = parents == category
        own = plain_part(partial(_means, value[mask], rows.select(mask), rows.model_names, draws, seed))
        if "models" in own:
            own.pop("ahead")
        found.append({"category": rows.category_names.get(category, "all"), "category_pk": category, **own})
    return found if len(found) > 1 else []


def _shared(value: Floats, rows: ScoreFrame) -> Any:
    table, models = _complete(value, rows)
    return shared_ranks(table, [rows.model_names[int(pk)] for pk in models])


def _complete(value: Floats, rows: ScoreFrame) -> tuple[Floats, Ints]:
    try:
        table, _, models = complete_table(value, rows.instruction, rows.model)
    except TooFewRatings as error:
        raise NoSharedTasks(str(error)) from error
    return table, models


def _power(value: Floats, rows: ScoreFrame, seed: int) -> Plain:
    table, _ = _complete(value, rows)
    found: Plain = plain(power_curve(table, repeats=REPEATS, seed=seed))
    return found
