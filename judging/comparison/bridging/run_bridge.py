"""A new judge's run bridged to an old judge's: model means on the old scale, from responses that both scored."""

from dataclasses import dataclass

import numpy as np

from annotation.models import Criterion
from calibration.statistics.judges.bridge import Bridge, ContinuedMean, anchors_for_width, bridge, continued
from core.errors import UserError
from core.messages.message import Wording
from judging.comparison.bridging.loaded import Scores, rater_of, said_of
from judging.comparison.run_pairs import PREFERENCE, Place, Said, runs_beside, said_by
from judging.models import JudgeRun
from judging.runs.verdict_lists import ROLES

DEFAULT_MARGIN = 0.05
"""The margin that stands for a difference that matters, as a share of the old scale, where none was stated."""
NARROWER = (2.0, 1.0, 0.5, 0.25)

PAIRS_ONLY = Wording(
    "bridge_pairs_only", "A bridge needs runs that score single responses; at least one of these two compared pairs."
)
NOTHING_SHARED = Wording(
    "bridge_nothing_shared",
    "The two runs have no usable verdicts with the same kind of score on the same responses; let the new judge score some "
    "of the responses that the old one scored.",
)
FAILED_CANARIES = Wording(
    "bridge_failed_canaries", "A run of %(judge)s failed its canary texts; nothing is bridged to or from its verdicts."
)
BAD_MARGIN = Wording(
    "bridge_bad_margin", "The margin must be above 0 and at most the length of the old scale, which is %(length)s."
)


@dataclass(frozen=True)
class AnchorsForWidth:
    """Each model needs `anchors` responses scored by both judges for a half width of `half_width` points."""

    half_width: float
    anchors: int


@dataclass(frozen=True)
class RunBridge:
    """The bridge between two runs. Scores are the mean of a response's answers by `role`, on `low` to `high`.

    `board` are all models that either judge scored, on the old judge's scale.
    """

    old: str
    new: str
    role: str
    low: float
    high: float
    bridge: Bridge
    plan: tuple[AnchorsForWidth, ...]
    other_rubric: int
    board: tuple[ContinuedMean, ...] = ()


def run_bridge(old: Scores, new: Scores, *, margin: float | None = None) -> RunBridge:
    """Bridge `new` to `old` over every response that the new judge scored, in these runs or as an anchor.

    Either may be verdicts that came from files. `margin` is the difference that matters, in points of the old scale; 5 % of
    the scale where it is None. Raises UserError where the runs share nothing, compared pairs, or failed their canary texts,
    and NoStatistic with too few anchors.
    """
    for run in (old, new):
        if isinstance(run, JudgeRun) and run.discredited:
            raise UserError(FAILED_CANARIES(judge=run.judge.rater.name))
    before, after = _scores_of(old), _scores_of(new)
    if any(place[1] for said in (before, after) for place in said):
        raise UserError(PAIRS_ONLY())
    role, shared = _role_of(before, after)
    rubrics = {said.rubric for place, said in before.items() if place in shared}
    low, high = _scale(rubrics, role)
    if margin is None:
        margin = DEFAULT_MARGIN * (high - low)
    elif not 0 < margin <= high - low:
        raise UserError(BAD_MARGIN(length=f"{high - low:g}"))
    rows = [(place, said) for place, said in after.items() if role in said.roles]
    scored = [before[place].roles[role] if place in shared else np.nan for place, _ in rows]
    found = bridge(
        np.array([said.roles[role] for _, said in rows]),
        np.array(scored),
        [said.model for _, said in rows],
        [said.instruction for _, said in rows],
        [said.category for _, said in rows],
        margin=margin,
    )
    others = sum(place in before and before[place].rubric != said.rubric for place, said in after.items())
    kept = [said for said in before.values() if role in said.roles and said.rubric in rubrics]
    board = continued(
        found,
        np.array([said.roles[role] for said in kept]),
        [said.model for said in kept],
        [said.instruction for said in kept],
    )
    return RunBridge(
        old=rater_of(old).name,
        new=rater_of(new).name,
        role=role,
        low=low,
        high=high,
        bridge=found,
        plan=_plan(found, margin),
        other_rubric=others,
        board=board,
    )


def _scores_of(run: Scores) -> dict[Place, Said]:
    """Return what the judge says in the run and, of further responses, in its runs over anchors of the same benchmark."""
    found = dict(said_of(run))
    if not isinstance(run, JudgeRun):
        return found
    anchored = runs_beside(run, JudgeRun.objects.filter(judge=run.judge, manifest__settings__has_key="drawn"))
    for other in anchored.filter(believed_canaries__isnull=True):
        for place, said in said_by(other).items():
            found.setdefault(place, said)
    return found


def _role_of(
    before: dict[tuple[int, int, str], Said], after: dict[tuple[int, int, str], Said]
) -> tuple[str, set[object]]:
    """Return the kind of score that most responses have from both judges by one rubric, and these responses."""
    found: list[tuple[str, set[object]]] = []
    for role in ROLES:
        if role == PREFERENCE:
            continue
        shared = {
            place
            for place, said in after.items()
            if place in before
            and before[place].rubric == said.rubric
            and role in said.roles
            and role in before[place].roles
        }
        found.append((role, set(shared)))
    role, places = max(found, key=lambda one: len(one[1]))
    if not places:
        raise UserError(NOTHING_SHARED())
    return role, places


def _scale(rubrics: set[int], role: str) -> tuple[float, float]:
    """Return the ends of the mean over the criteria of a role."""
    criteria = Criterion.objects.filter(rubric__in=rubrics, role__in=ROLES[role])
    ends = np.array([criterion.ends for criterion in criteria])
    return float(ends[:, 0].mean()), float(ends[:, 1].mean())


def _plan(found: Bridge, margin: float) -> tuple[AnchorsForWidth, ...]:
    typical = int(np.median([mean.n for mean in found.models]))
    return tuple(
        AnchorsForWidth(share * margin, anchors_for_width(found.spread, share * margin, typical)) for share in NARROWER
    )
