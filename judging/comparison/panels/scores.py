"""What a study's judges and its people said of the same responses, or of the same pairs of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from annotation.models import Rater, Study, Task
from calibration.data.frames import ABOUT_RESPONSES, Floats, Ints, NothingToRead, ScoreFrame
from calibration.data.scores import score_frame
from calibration.data.verdicts import judged_elsewhere
from calibration.reports.judge_matches import are_positions
from calibration.statistics.judges.panels import JudgedAlike
from core.errors import UserError
from generation.models import Category
from judging.leaderboards.observations import Observations, metrics_in, observations_of
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting


@dataclass(frozen=True)
class JudgedScore:
    """A judge's score of a response, or preference for the first of a pair, with what it is about; rival is 0 for none."""

    score: float
    instruction: int
    model: int
    rival: int


ScoredUnit: TypeAlias = tuple[int, int]
"""A response and 0, or the responses of a pair in the study's order."""


def units_in(frame: ScoreFrame, paired: bool) -> list[ScoredUnit]:
    second = frame.response_b if paired else np.zeros_like(frame.response)
    return list(zip(frame.response.tolist(), second.tolist(), strict=True))


def judge_frames(study: Study, known: Sequence[Rater]) -> list[ScoreFrame]:
    """Return all judges' scores here, and in the other studies that judged this study's responses."""
    pks = [judge.pk for judge in known]
    if not pks:
        return []
    others = judged_elsewhere(study).filter(rater__in=pks).values("task__study")
    frames = [score_frame(kinds=ABOUT_RESPONSES, study=study, raters=pks, people=False)]
    frames += [
        score_frame(kinds=[study.task_kind], study=one, raters=pks, people=False)
        for one in Study.objects.filter(pk__in=others).order_by("pk")
    ]
    return [frame for frame in frames if len(frame)]


def rated_by_people(labels: ScoreFrame) -> ScoreFrame:
    """Select people's preferences, or else their overall scores. Raises NothingToRead."""
    for role in ("preference", "overall"):
        keys = labels.keys_of_role(role)
        if keys:
            rated = labels.of_criterion(keys[0])
            return rated.select((rated.model > 0) & ((rated.model_b > 0) | (role == "overall")))
    raise NothingToRead("This study has neither preferences nor overall scores from people.")


def response_scores(
    study: Study, known: Sequence[Rater], weighting: Weighting
) -> dict[int, dict[ScoredUnit, JudgedScore]]:
    """By judge its score of each response of the study; where it was judged twice, the one given here."""
    wanted = set(study.tasks.filter(response_b=None).values_list("response_a", flat=True))
    found: dict[int, dict[ScoredUnit, JudgedScore]] = {}
    metrics: dict[int, str] = {}
    for frame in judge_frames(study, known):
        used = np.unique(frame.category).tolist()
        leaves = {leaf.pk: leaf for leaf in Category.objects.filter(pk__in=used).select_related("parent")}
        for pk in np.unique(frame.rater).tolist():
            own = frame.select((frame.rater == pk) & np.isin(frame.response, list(wanted)))
            rows = single_observations(own, weighting, leaves)
            if rows is None or metrics.setdefault(pk, rows[0]) != rows[0]:
                continue
            said = found.setdefault(pk, {})
            columns = (rows[1].response, rows[1].top / rows[1].under, rows[1].instruction, rows[1].model)
            for response, score, instruction, model in zip(*(one.tolist() for one in columns), strict=True):
                said.setdefault((response, 0), JudgedScore(score, instruction, model, 0))
    return found


def single_observations(
    own: ScoreFrame, weighting: Weighting, leaves: Mapping[int, Category]
) -> tuple[str, Observations] | None:
    """Return a judge's scores of single responses with the name of their metric, by equal weights where the weighting has
    none; None where it gave none that can be read."""
    metric = next((one for one in metrics_in(own) if not one.paired), None) if len(own) else None
    if metric is None:
        return None
    try:
        return metric.name, observations_of(own, metric, weighting, leaves)
    except MissingWeights:
        return metric.name, observations_of(own, metric, Weighting(EQUAL), leaves)
    except UserError:
        return None


def pair_scores(study: Study, known: Sequence[Rater]) -> dict[int, dict[ScoredUnit, JudgedScore]]:
    """By judge its preference on each pair of the study, for the first side as the study shows it, -1 to 1."""
    wanted = set(Task.objects.filter(study=study, response_b__isnull=False).values_list("response_a", "response_b"))
    found: dict[int, dict[ScoredUnit, JudgedScore]] = {}
    for frame in judge_frames(study, known):
        keys = frame.keys_of_role("preference")
        if not keys:
            continue
        own = frame.of_criterion(keys[0])
        own = own.select((own.model > 0) & (own.model_b > 0) & (own.model != own.model_b))
        columns = (
            own.rater,
            own.response,
            own.response_b,
            preferences_in(own),
            own.instruction,
            own.model,
            own.model_b,
        )
        for pk, one, two, value, instruction, model, rival in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            said = found.setdefault(pk, {})
            if (one, two) in wanted:
                said.setdefault((one, two), JudgedScore(value, instruction, model, rival))
            elif (two, one) in wanted:
                said.setdefault((two, one), JudgedScore(-value, instruction, rival, model))
    return found


def preferences_in(frame: ScoreFrame) -> Floats:
    """Preferences for the first side as shares of the strongest one; "both bad" is a tie."""
    value = np.where(frame.variant > 0, 0.0, frame.value)
    return np.asarray(value / np.maximum(frame.high, 1e-9), dtype=np.float64)


def alike(
    rated: ScoreFrame, paired: bool, scored: Sequence[Mapping[ScoredUnit, JudgedScore]], common: Sequence[ScoredUnit]
) -> JudgedAlike:
    """Return the judges' scores of the common responses, and people's ratings of them."""
    place = {unit: at for at, unit in enumerate(common)}
    about = [scored[0][unit] for unit in common]
    at = np.array([place.get(unit, -1) for unit in units_in(rated, paired)], dtype=np.int64)
    given = rated.select(at >= 0)

    def column(values: Sequence[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return JudgedAlike(
        judges=np.array([[own[unit].score for unit in common] for own in scored], dtype=np.float64),
        instructions=column([said.instruction for said in about]),
        models=column([said.model for said in about]),
        response=at[at >= 0],
        rater=given.rater,
        value=preferences_in(given) if paired else given.value,
        rivals=column([said.rival for said in about]) if paired else None,
        positions=are_positions(given),
    )
