"""Anchors: responses that one judge scored, drawn by chance to be scored by another, so that the two can be bridged.

Every response of a model and category has the same probability. Instructions stand in one order drawn by chance for all
models, so that two models' anchors are about the same instructions where they can be, and a larger draw with the same seed
holds the smaller one.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from django.db import transaction

from accounts.models import User, Workspace
from annotation.models import Rater
from calibration.statistics.judges.between_models import LEAST_OF_A_MODEL
from calibration.statistics.judges.bridge import FOLDS, LEAST_ANCHORS, anchors_for_width
from core.clock import Clock
from core.errors import UserError
from core.messages.message import Wording
from generation.llm.protocol.prices import UNLIMITED, Ceiling
from judging.comparison.bridging.loaded import Scores, rater_of, said_of
from judging.comparison.bridging.run_bridge import FAILED_CANARIES, PAIRS_ONLY, run_bridge
from judging.comparison.run_pairs import PREFERENCE, Place, Said, runs_near
from judging.methods.registry import METHODS
from judging.models import Judge, JudgeRun
from judging.runs.life_cycle import JUDGING
from judging.runs.planning.plan import sent_just_now
from judging.runs.planning.preparation import create_run
from judging.runs.planning.request import DrawnTasks, RunRequest, Target

USUAL_CORRELATION = 0.7
"""The correlation between two judges' scores that is assumed where they have scored too few responses in common."""
TRIED = 3
"""Runs of the judge that is to be asked, from whose bridge the spread is taken."""

SAME_JUDGE = Wording(
    "anchors_same_judge", "The scores of this run are those of %(judge)s itself; choose another judge."
)
NO_VERDICTS = Wording(
    "anchors_no_verdicts",
    "The verdicts of this run count nowhere, because it probes a judge or is a round of a drift monitor; draw anchors from "
    "an ordinary run.",
)
OTHER_SCORES = Wording(
    "anchors_other_scores",
    "Nothing could be bridged, because %(judge)s gives another kind of score than this run has; choose a judge whose method "
    "answers the same criteria.",
)
BAD_SIZE = Wording(
    "anchors_bad_size",
    "Say either how narrow the intervals shall be (a half width above 0, in points of the scale) or how many responses of "
    "each model are drawn (at least %(least)s).",
)
BAD_CORRELATION = Wording("anchors_bad_correlation", "The correlation assumed must be at least 0 and below 1.")
TOO_FEW = Wording(
    "anchors_too_few",
    "A bridge needs at least %(needed)s responses that both judges score, but the usable scores of single responses in this "
    "run number %(n)s; let its judge score more responses first.",
)
TOO_FEW_DRAWN = Wording(
    "anchors_too_few_drawn",
    "A bridge needs at least %(needed)s responses that both judges score, and this would draw %(n)s; draw at least "
    "%(least)s of each model, or ask for narrower intervals.",
)
TOO_FEW_INSTRUCTIONS = Wording(
    "anchors_too_few_instructions",
    "A bridge needs responses to at least %(needed)s instructions, and this run has scored responses to %(n)s; let its "
    "judge score responses to more instructions first.",
)
ALL_JUDGED = Wording(
    "anchors_all_judged",
    "%(judge)s has judged every response that would be drawn, %(n)s in all; open the bridge instead.",
)


@dataclass(frozen=True)
class AnchorRequest:
    """`judge` shall score anchors among the responses that `scored` has scores of: `per_model` of each model, or as many as
    a 95 % interval of plus or minus `half_width` needs.

    `correlation` is that of the two judges' scores, assumed where no bridge between them says how far they differ.
    """

    scored: Scores
    judge: Judge
    half_width: float | None = None
    per_model: int | None = None
    correlation: float = USUAL_CORRELATION
    seed: int = 0
    canaries: bool = True
    reuse: bool = True
    budget: Ceiling = UNLIMITED
    concurrency: int | None = None
    user: User | None = None


@dataclass(frozen=True)
class ModelAnchors:
    """Of a model's `responses` with scores, `anchors` are drawn."""

    model: str
    responses: int
    anchors: int


@dataclass(frozen=True)
class AnchorPlan:
    """The tasks drawn, by pk, and how many of each model; `known` of them the judge has judged already.

    `spread` is the standard deviation of the old score about its prediction, in points of the scale: that of the bridge
    between the two judges where there is one (`from_bridge`), else what the correlation assumed leaves over.
    """

    tasks: tuple[int, ...]
    models: list[ModelAnchors]
    known: int
    spread: float
    from_bridge: bool
    role: str

    @property
    def n(self) -> int:
        return len(self.tasks)


def plan_anchors(request: AnchorRequest) -> AnchorPlan:
    """Draw the anchors; stores nothing. Raises UserError where no bridge could come of it."""
    run, judge = request.scored, request.judge
    if isinstance(run, JudgeRun):
        if run.probes is not None or run.watch_id is not None:
            raise UserError(NO_VERDICTS())
        if run.discredited:
            raise UserError(FAILED_CANARIES(judge=run.judge.rater.name))
    if judge.rater_id == rater_of(run).pk:
        raise UserError(SAME_JUDGE(judge=judge.rater.name))
    if (request.half_width is None) == (request.per_model is None):
        raise UserError(BAD_SIZE(least=LEAST_OF_A_MODEL))
    if request.half_width is not None and not 0 < request.half_width < float("inf"):
        raise UserError(BAD_SIZE(least=LEAST_OF_A_MODEL))
    if request.per_model is not None and request.per_model < LEAST_OF_A_MODEL:
        raise UserError(BAD_SIZE(least=LEAST_OF_A_MODEL))
    if not 0 <= request.correlation < 1:
        raise UserError(BAD_CORRELATION())
    said = said_of(run)
    if any(place[1] for place in said):
        raise UserError(PAIRS_ONLY())
    role = METHODS[judge.method].role
    rows = {place: one for place, one in said.items() if role in one.roles}
    if role == PREFERENCE or (said and not rows):
        raise UserError(OTHER_SCORES(judge=judge.rater.name))
    _check_enough(rows)
    spread, from_bridge = _spread(request, rows, role)
    models = _sizes(rows, request, spread)
    drawn = _drawn(rows, {one.model: one.anchors for one in models}, request.seed)
    if len(drawn) < LEAST_ANCHORS:
        least = -(-LEAST_ANCHORS // len(models))
        raise UserError(TOO_FEW_DRAWN(needed=LEAST_ANCHORS, n=len(drawn), least=max(least, LEAST_OF_A_MODEL)))
    pks = tuple(sorted(rows[place].task for place in drawn))
    known = _judged(judge.rater, pks)
    return AnchorPlan(pks, models, known, spread, from_bridge, role)


def _check_enough(rows: Mapping[Place, Said]) -> None:
    if len(rows) < LEAST_ANCHORS:
        raise UserError(TOO_FEW(needed=LEAST_ANCHORS, n=len(rows)))
    instructions = len({said.instruction for said in rows.values()})
    if instructions < FOLDS:
        raise UserError(TOO_FEW_INSTRUCTIONS(needed=FOLDS, n=instructions))


def _spread(request: AnchorRequest, rows: Mapping[Place, Said], role: str) -> tuple[float, bool]:
    beside = runs_near(request.scored.study, JudgeRun.objects.filter(judge=request.judge))
    for other in beside.select_related("judge__rater", "study")[:TRIED]:
        try:
            found = run_bridge(request.scored, other)
        except UserError:
            continue
        if found.role == role:
            return found.bridge.spread, True
    by_model: dict[str, list[float]] = defaultdict(list)
    for said in rows.values():
        by_model[said.model].append(said.roles[role])
    about = np.concatenate([np.array(values) - np.mean(values) for values in by_model.values()])
    within = sqrt(float(about @ about) / max(about.size - len(by_model), 1))
    return within * sqrt(1 - request.correlation**2), False


def _sizes(rows: Mapping[Place, Said], request: AnchorRequest, spread: float) -> list[ModelAnchors]:
    counts: dict[str, int] = defaultdict(int)
    for said in rows.values():
        counts[said.model] += 1
    if request.per_model is not None:
        return [ModelAnchors(name, n, min(request.per_model, n)) for name, n in sorted(counts.items())]
    assert request.half_width is not None
    return [
        ModelAnchors(name, n, anchors_for_width(spread, request.half_width, n)) for name, n in sorted(counts.items())
    ]


def _drawn(rows: Mapping[Place, Said], wanted: Mapping[str, int], seed: int) -> list[Place]:
    """Draw by model and category: the first responses by the order of instructions that the seed draws."""
    instructions = sorted({said.instruction for said in rows.values()})
    order = np.random.default_rng(seed).permutation(len(instructions)).tolist()
    rank = dict(zip(instructions, order, strict=True))
    cells: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for place in sorted(rows, key=lambda place: (rank[rows[place].instruction], place)):
        cells[rows[place].model][rows[place].category].append(place)
    drawn = []
    for model, categories in sorted(cells.items()):
        sizes = [len(places) for _name, places in sorted(categories.items())]
        shares = shared_out(wanted[model], sizes)
        for (_name, places), n in zip(sorted(categories.items()), shares, strict=True):
            drawn += places[:n]
    return drawn


def shared_out(n: int, sizes: Sequence[int]) -> list[int]:
    """Share `n` draws out over strata in proportion to their sizes, two of each first where there are enough.

    Two of a stratum are what its own variance needs; the rest goes by the largest remainders.
    """
    least = [min(2, size) for size in sizes]
    if sum(least) > n:
        least = [0] * len(sizes)
    found, left = list(least), n - sum(least)
    rooms = [size - given for size, given in zip(sizes, found, strict=True)]
    room = sum(rooms)
    if not room:
        return found
    exact = [left * one / room for one in rooms]
    found = [given + min(int(part), one) for given, part, one in zip(found, exact, rooms, strict=True)]
    by_remainder = sorted(range(len(sizes)), key=lambda at: (-(exact[at] - int(exact[at])), at))
    for at in [*by_remainder, *by_remainder]:
        if sum(found) < n and found[at] < sizes[at]:
            found[at] += 1
    return found


def _judged(rater: Rater, tasks: Sequence[int]) -> int:
    return rater.assignments.filter(task__in=tasks, repeat=0).verdicts().values("task").distinct().count()


def run_request(request: AnchorRequest, plan: AnchorPlan) -> RunRequest:
    """Return the request for the judge run. Raises UserError where the judge has judged all of the anchors."""
    if plan.known == plan.n:
        raise UserError(ALL_JUDGED(judge=request.judge.rater.name, n=plan.n))
    drawn_as = {
        "of": request.scored.public_id,
        "half_width": request.half_width,
        "per_model": request.per_model,
        "tasks": plan.n,
        "spread": plan.spread,
    }
    return RunRequest(
        Target(study=request.scored.study),
        (request.judge,),
        canaries=request.canaries,
        drawn=DrawnTasks(plan.tasks, drawn_as),
        reuse=request.reuse,
        seed=request.seed,
        budget=request.budget,
        concurrency=request.concurrency,
        user=request.user,
    )


def create_anchor_run(request: AnchorRequest) -> JudgeRun:
    """Create the run with its items, not yet started. Raises UserError, and what planning a run raises."""
    return create_run(run_request(request, plan_anchors(request)))


def started_anchor_run(request: AnchorRequest, *, clock: Clock) -> JudgeRun:
    """Start the run, or return the same one where it was asked for twice. Raises as create_anchor_run."""
    with transaction.atomic():
        # One after the other, so that what was sent twice is seen to be the same.
        Workspace.objects.select_for_update(no_key=True).get(pk=request.scored.study.workspace_id)
        wanted = run_request(request, plan_anchors(request))
        if known := sent_just_now(wanted, clock=clock):
            return known
        run = create_run(wanted)
        JUDGING.start(run, clock=clock, user=request.user)
        JUDGING.hand_over(run)
        return run
