"""Draws of instructions for people to rate: planned without drawing, frozen with their probabilities, then made into tasks.

Each unit is drawn independently with its own probability. The frame, the probabilities and the seed, from which the draw
follows, are stored in one transaction before any task exists, and never change.
"""

import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db import IntegrityError, transaction

from accounts.models import User
from annotation.models import Rater, Study
from annotation.policies.policies import MOST_OVERLAP, Policies, change_policies, shown_to_raters
from annotation.studies.life_cycle import create_study, log_event, prepare_and_open, request_launch
from calibration.data.frames import ABOUT_RESPONSES, ROLES, NothingToRead, ScoreFrame
from calibration.data.scores import label_frame
from calibration.statistics.judges.between_models import line
from calibration.statistics.judges.routing import (
    ExpectedSaving,
    chance_of_too_few,
    draw,
    drawing_probabilities,
    expected_saving,
)
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray
from core.errors import UserError
from core.messages.message import Wording
from judging.comparison.routing.pool import Pool, PoolUnit, SpreadKind, pool_of
from judging.models import RoutedDraw

LARGEST_SEED = 2**31
Strata = RoutedDraw.Strata

BAD_SIZE = Wording(
    "routing_bad_size", "Say how many instructions people shall rate, or how many responses; one of the two, above 0."
)
SMALL_POOL = Wording(
    "routing_small_pool",
    "An estimate needs at least %(needed)s instructions that people rate, and the judge scored every model compared on "
    "%(n)s; let it judge more instructions, or compare fewer models.",
)
SMALL_BUDGET = Wording(
    "routing_small_budget",
    "An estimate needs at least %(needed)s instructions that people rate, and this budget is for %(n)s; ask for at least "
    "%(needed)s instructions, with %(responses)s of their responses in all.",
)
OVER_POOL = Wording(
    "routing_over_pool",
    "The budget is for %(n)s of %(pool)s instructions on which the judge scored every model compared; ask for at most "
    "%(pool)s.",
)
BAD_OVERLAP = Wording("routing_bad_overlap", "Each response needs at least 1 rating, and at most %(most)s ratings.")
BAD_SEED = Wording("routing_bad_seed", "The seed must be a whole number from 0 to %(most)s.")
SEED_USED = Wording(
    "routing_seed_used",
    "A draw with the seed %(seed)s has been made for this study; choose another seed, so that the draws are independent.",
)
NONE_DRAWN = Wording("routing_none_drawn", "Chance drew no instruction at all; draw again with a larger budget.")


@dataclass(frozen=True)
class RoutingRequest:
    """What people shall rate of `about`: `instructions` expected, or as many as hold `responses`.

    `models` are names, all scored ones if empty; `spread` a SpreadKind, '' for what there is; `strata` one of Strata.
    `overlap` ratings of each response, the study's own number if None; `seed` is drawn if None.
    """

    about: Study
    judges: tuple[Rater, ...]
    instructions: float | None = None
    responses: float | None = None
    models: tuple[str, ...] = ()
    spread: str = ""
    strata: str = Strata.SPREAD
    overlap: int | None = None
    seed: int | None = None
    user: User | None = None


@dataclass(frozen=True)
class StratumPlan:
    """Of the `instructions` of a stratum, each is drawn with `probability`; `spread` is their root mean square."""

    name: str
    instructions: int
    spread: float
    probability: float

    @property
    def expected(self) -> float:
        return self.instructions * self.probability


@dataclass(frozen=True)
class RoutingPlan:
    """What would be drawn: the pool, each unit's stratum and probability, and what that is expected to save.

    `ratings` is their expected number; `too_few` the chance that fewer than 20 instructions are drawn, so that nothing can
    be estimated.
    """

    pool: Pool
    stratum: tuple[str, ...]
    probability: tuple[float, ...]
    strata: tuple[StratumPlan, ...]
    budget: float
    overlap: int
    ratings: float
    saving: ExpectedSaving
    too_few: float


def plan_draw(request: RoutingRequest) -> RoutingPlan:
    """Compute the probabilities; draws and stores nothing. Raises UserError."""
    overlap = Policies.of(request.about).overlap if request.overlap is None else request.overlap
    if not 1 <= overlap <= MOST_OVERLAP:
        raise UserError(BAD_OVERLAP(most=MOST_OVERLAP))
    if request.seed is not None and not 0 <= request.seed < LARGEST_SEED:
        raise UserError(BAD_SEED(most=LARGEST_SEED - 1))
    sizes = [size for size in (request.instructions, request.responses) if size is not None]
    if len(sizes) != 1 or not 0 < sizes[0] < float("inf"):
        raise UserError(BAD_SIZE())
    pool = pool_of(request.about, request.judges, models=request.models, spread=request.spread)
    n = len(pool.units)
    if n < MIN_CLUSTERS:
        raise UserError(SMALL_POOL(needed=MIN_CLUSTERS, n=n))
    each = sum(unit.size for unit in pool.units) / n
    budget = request.instructions if request.instructions is not None else (request.responses or 0) / each
    if budget > n:
        raise UserError(OVER_POOL(n=f"{budget:.4g}", pool=n))
    if budget < MIN_CLUSTERS:
        responses = -(-MIN_CLUSTERS * sum(unit.size for unit in pool.units) // n)
        raise UserError(SMALL_BUDGET(needed=MIN_CLUSTERS, n=f"{budget:.4g}", responses=responses))
    spread = np.array([unit.spread for unit in pool.units])
    names = _strata(pool.units, request.strata)
    if pool.spread_kind == SpreadKind.NONE:
        probability = np.full(n, budget / n)
    else:
        probability = drawing_probabilities(spread, budget, strata=names)
    return RoutingPlan(
        pool=pool,
        stratum=tuple(names),
        probability=tuple(probability.tolist()),
        strata=_stratum_plans(names, spread, probability),
        budget=float(budget),
        overlap=overlap,
        ratings=overlap * float(sum(p * unit.size for p, unit in zip(probability, pool.units, strict=True))),
        saving=_saving(request.about, pool.units, spread, probability),
        too_few=chance_of_too_few(probability),
    )


def _strata(units: Sequence[PoolUnit], by: str) -> list[str]:
    if by == Strata.CATEGORY:
        return [unit.category or "-" for unit in units]
    spread = np.array([unit.spread for unit in units])
    ends = np.quantile(spread, np.arange(1, 5) / 5)
    return [str(1 + place) for place in np.searchsorted(ends, spread, side="right").tolist()]


def _stratum_plans(names: Sequence[str], spread: FloatArray, probability: FloatArray) -> tuple[StratumPlan, ...]:
    labels = np.array(names)
    found = []
    for name in sorted(set(names)):
        own = labels == name
        typical = float(np.sqrt(np.mean(spread[own] ** 2)))
        found.append(StratumPlan(name, int(own.sum()), typical, float(probability[own].mean())))
    return tuple(found)


def _saving(study: Study, units: Sequence[PoolUnit], spread: FloatArray, probability: FloatArray) -> ExpectedSaving:
    """Say what is to be expected of the draw, by people's ratings that were not drawn where there are enough of them."""
    try:
        people = people_means(label_frame(kinds=ABOUT_RESPONSES, study=study))
    except NothingToRead:
        people = {}
    rated = [
        place for place, unit in enumerate(units) if all(pk in people for pks in unit.responses.values() for pk in pks)
    ]
    if len(rated) < MIN_CLUSTERS:
        return expected_saving(spread, probability, np.zeros(len(rated)), probability[rated])
    left = []
    for model in units[0].responses:
        x = np.array([units[place].judge[model] for place in rated])
        y = np.array([np.mean([people[pk] for pk in units[place].responses[model]]) for place in rated])
        slope, intercept = line(x, y)
        left.append(y - intercept - slope * x)
    residual = np.array(left)
    # Where models are compared, what all of them share on an instruction takes no part in the differences.
    about = residual - residual.mean(axis=0) if len(residual) > 1 else residual
    return expected_saving(spread, probability, (about**2).sum(axis=0), probability[rated])


def people_means(frame: ScoreFrame) -> dict[int, float]:
    """People's mean score of each response, on their scale: the overall score, or else the mean over the items.

    Raises NothingToRead.
    """
    rated = scored_by_people(frame)
    response, place = np.unique(rated.response, return_inverse=True)
    means = np.bincount(place, weights=rated.value) / np.bincount(place)
    return dict(zip(response.tolist(), means.tolist(), strict=True))


def scored_by_people(frame: ScoreFrame) -> ScoreFrame:
    """Select people's overall scores, or else their answers about the items. Raises NothingToRead."""
    keys = frame.keys_of_role("overall")
    if keys:
        return frame.of_criterion(keys[0])
    items = frame.select((frame.role == ROLES.index("item")) & frame.applicable)
    if not len(items):
        raise NothingToRead("Nobody has scored the responses of this study.")
    return items


def freeze_draw(request: RoutingRequest) -> RoutedDraw:
    """Store the frame, the probabilities, the seed and what it draws. Raises UserError as plan_draw, and for a used seed."""
    plan = plan_draw(request)
    seed = secrets.randbelow(LARGEST_SEED) if request.seed is None else request.seed
    if RoutedDraw.objects.filter(about=request.about, seed=seed).exists():
        raise UserError(SEED_USED(seed=seed))
    drawn = draw(np.array(plan.probability), seed)
    if not drawn.any():
        raise UserError(NONE_DRAWN())
    frame = [
        {
            "instruction": unit.instruction,
            "stratum": stratum,
            "spread": unit.spread,
            "probability": probability,
            "drawn": bool(chosen),
            "responses": {str(model): list(pks) for model, pks in unit.responses.items()},
            "judge": {str(model): score for model, score in unit.judge.items()},
        }
        for unit, stratum, probability, chosen in zip(
            plan.pool.units, plan.stratum, plan.probability, drawn.tolist(), strict=True
        )
    ]
    try:
        with transaction.atomic():
            made = RoutedDraw.objects.create(
                about=request.about,
                judges=[judge.pk for judge in request.judges],
                language_models=list(plan.pool.models),
                spread_kind=plan.pool.spread_kind,
                strata=request.strata,
                budget=plan.budget,
                overlap=plan.overlap,
                seed=seed,
                frame=frame,
                created_by=request.user,
            )
            log_event(
                request.about,
                request.user,
                "freeze_draw",
                after={"draw": made.public_id, "seed": seed, "instructions": plan.budget},
            )
    except IntegrityError as error:
        raise UserError(SEED_USED(seed=seed)) from error
    return made


def drawn_responses(made: RoutedDraw) -> dict[int, float]:
    """The responses drawn, each with the probability of its instruction."""
    return {
        pk: float(unit["probability"])
        for unit in made.frame
        if unit["drawn"]
        for pks in unit["responses"].values()
        for pk in pks
    }


def make_tasks(made: RoutedDraw, *, by: User | None) -> Study:
    """Open a study of what was drawn, where nothing stands against it; the same one if it is there. Raises StudyRefused.

    Its tasks carry the probability, so that no other statistic counts their answers. Its name says nothing of the judge.
    """
    with transaction.atomic():
        locked = (
            RoutedDraw.objects.select_for_update(of=("self",))
            .select_related("about__workspace", "rated_in")
            .get(pk=made.pk)
        )
        if locked.rated_in is not None:
            return locked.rated_in
        about = locked.about
        study = create_study(
            workspace=about.workspace,
            names={
                "en": f"Drawn for rating: {about.names.get('en') or about.slug}"[:150],
                "zh-hans": f"抽取评分：{about.names.get('zh-hans') or about.name}"[:150],
            },
            kind=about.kind,
            benchmark=about.benchmark,
            by=by,
        )
        study.experiment, study.rubric, study.guideline = about.experiment, about.rubric, about.guideline
        study.source = f"Draw {locked.public_id}, seed {locked.seed}"
        study.save(update_fields=["experiment", "rubric", "guideline", "source"])
        drawn = {str(pk): probability for pk, probability in drawn_responses(locked).items()}
        change_policies(
            study, **shown_to_raters(about), overlap=locked.overlap, selection={"samples": "all", "drawn": drawn}
        )
        request_launch(study, by=by)
        locked.rated_in = study
        locked.save(update_fields=["rated_in"])
    prepare_and_open(study)
    study.refresh_from_db()
    return study


def draws_about(study: Study) -> list[RoutedDraw]:
    """The draws of this study, oldest first."""
    return list(RoutedDraw.objects.filter(about=study).select_related("rated_in__workspace").order_by("pk"))


def by_stratum(made: RoutedDraw) -> dict[str, tuple[int, int]]:
    """Of each stratum, how many instructions are in the pool and how many were drawn."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for unit in made.frame:
        found[unit["stratum"]][0] += 1
        found[unit["stratum"]][1] += bool(unit["drawn"])
    return {name: (pool, drawn) for name, (pool, drawn) in sorted(found.items())}
