"""People's mean of the models that nobody rated, from a judge's scores of them and people's ratings of others in a study."""

from dataclasses import dataclass

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import ABOUT_RESPONSES
from calibration.data.scores import label_frame
from calibration.reports.judge_matches import are_positions
from calibration.statistics.judges.transport import JudgedAndRated, Shape, Transport, transport
from core.errors import UserError
from core.messages.message import Wording
from generation.models import MAIN_EXPERIMENT
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import leaderboard
from judging.leaderboards.weighting import Weighting

DEFAULT_MARGIN = 0.05
"""The margin that stands for a difference that matters, as a share of people's scale, where none was stated."""

WITHOUT_BENCHMARK = Wording(
    "unrated_without_benchmark",
    "This study belongs to no benchmark, so there are no further models whose ratings could be estimated.",
)
WITHOUT_OVERALL = Wording(
    "unrated_without_overall",
    "People gave no overall scores in this study, so there is nothing that a judge's scores could be calibrated to; ask for "
    "an overall score.",
)
PAIRS_ONLY = Wording(
    "unrated_pairs_only",
    "%(judge)s compared pairs; models that nobody rated are estimated from scores of single responses.",
)
NOT_A_MARGIN = Wording(
    "unrated_bad_margin", "The margin must be above 0 and at most the length of people's scale, which is %(length)s."
)


@dataclass(frozen=True)
class UnratedModels:
    """The calibration of `judge`, by its `measure` with `weights`, to people's scores of `criterion`, on `low` to `high`."""

    judge: str
    weights: str
    measure: str
    criterion: str
    low: float
    high: float
    transport: Transport


def unrated_models(
    study: Study, judge: Rater, weighting: Weighting, *, margin: float | None = None, shape: Shape = "means"
) -> UnratedModels:
    """Calibrate the judge's scores of the study's benchmark to the study's overall scores.

    `margin` is the difference that matters, in points of people's scale; 5 % of the scale where it is None. Raises UserError
    without a benchmark, overall scores or scores of single responses, and NoStatistic with too few rated models.
    """
    if study.benchmark is None:
        raise UserError(WITHOUT_BENCHMARK())
    people = label_frame(kinds=ABOUT_RESPONSES, study=study)
    keys = people.keys_of_role("overall")
    if not keys:
        raise UserError(WITHOUT_OVERALL())
    overall = people.of_criterion(keys[0])
    low, high = float(overall.low.min()), float(overall.high.max())
    if margin is None:
        margin = DEFAULT_MARGIN * (high - low)
    elif not 0 < margin <= high - low:
        raise UserError(NOT_A_MARGIN(length=f"{high - low:g}"))
    filters = Filters(experiment=study.experiment or MAIN_EXPERIMENT)
    board = leaderboard(study.benchmark, judge, weighting, filters=filters)
    if board.metric.paired:
        raise UserError(PAIRS_ONLY(judge=judge.name))
    found = board.observations
    judged = found.select(np.argsort(found.response, kind="stable"))
    rated = overall.select(np.isin(overall.response, judged.response))
    share = (rated.value - rated.low) / (rated.high - rated.low)
    given = JudgedAndRated(
        judge=judged.top / judged.under,
        models=[board.model_names[pk] for pk in judged.model.tolist()],
        instructions=judged.instruction,
        response=np.searchsorted(judged.response, rated.response).astype(np.int64),
        rater=rated.rater,
        value=low + share * (high - low),
        positions=are_positions(rated),
    )
    carried = transport(given, margin=margin, shape=shape)
    return UnratedModels(judge.name, weighting.name, board.metric.name, keys[0], low, high, carried)
