"""A panel of a study's judges: weights fitted to people's differences of models, its gain over the best judge, its costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

import numpy as np

from annotation.models import Rater, Study, Task
from calibration.data.frames import ABOUT_RESPONSES, ROLES, Floats, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import label_frame, score_frame
from calibration.data.verdicts import failed_judges, judged_elsewhere
from calibration.models import Fit
from calibration.reports.codec import stored
from calibration.reports.judge_matches import are_positions
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.judges.panels import LEAST_JUDGES, JudgedAlike, PanelGain, panel_gain
from calibration.statistics.resampling import MIN_CLUSTERS
from core.errors import UserError
from generation.endpoints.pricing import currency_of
from generation.models import Category
from judging.comparison.judge_against_people import judge_in, judges_in, weighting_for
from judging.comparison.judge_costs import JudgeCosts, costs_in, judges_made
from judging.comparison.run_lists import is_priced
from judging.leaderboards.observations import Observations, metrics_in, observations_of
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting, weighting_of
from judging.methods.pairs.composite import KEY as COMPOSITE, says_composite
from judging.methods.weighted import FITTED
from judging.models import Judge

PER = 1_000
"""Verdicts to which costs and seconds refer."""
LEAST_SHARE = 0.5
"""A judge that scored a smaller share of the rated responses than this of the most that one scored is left out."""
NAME = "judge panel"
COMBINING = FITTED | {COMPOSITE}
"""Methods whose verdicts are made of other judges'."""

WhyLeftOut: TypeAlias = Literal["failed", "panel", "not_asked", "few_in_common"]
WhyNoPanel: TypeAlias = Literal["no_people", "few_judges", "few_instructions", "constant_people", "constant_judge"]


@dataclass(frozen=True)
class LeftOutJudge:
    """A judge that is not in the panel: a run of it failed its canary texts, it is itself a panel of several or a choice
    among others, it was not asked for, or it scored only `n` of the responses that people rated."""

    judge: str
    why: WhyLeftOut
    n: int


@dataclass(frozen=True)
class NoPanel:
    """Why there is no panel: `n` judges or instructions where `needed` are needed; `judge` is one without differences."""

    why: WhyNoPanel
    n: int = 0
    needed: int = 0
    judge: str = ""


@dataclass(frozen=True)
class JudgePanel:
    """A panel of `judges`, whose members in `found` are in their order, with their public `ids`.

    People's differences are those of their scores of `criterion`, on `low` to `high`, or of their preferences where
    `paired`. `weights` are those of the items of a checklist. `all_judges` are (public id, name) of those that can be in it.
    """

    judges: list[str]
    ids: list[str]
    criterion: str
    paired: bool
    low: float
    high: float
    weights: str
    all_judges: list[tuple[str, str]]
    left_out: list[LeftOutJudge]
    found: PanelGain


PanelReport: TypeAlias = JudgePanel | NoPanel


@dataclass(frozen=True)
class MemberCost:
    """Calls, `money` and `seconds` that PER verdicts of a judge take; None where it is unknown, as of imported verdicts."""

    judge: str
    calls: float | None
    money: str | None
    seconds: float | None


@dataclass(frozen=True)
class PanelCosts:
    """What PER verdicts take: of each judge, of all judges that have a weight, and of the best single judge.

    `single_judge` is the judge that was the best single one in most folds, '' where none went with people.
    """

    members: list[MemberCost]
    panel: MemberCost
    single_judge: str
    single: MemberCost
    currency: str


def panel_settings(study: Study, judges: Sequence[Rater] = (), *, without: str = "") -> Settings:
    """Return the settings of the report: these judges, else all; or all but the one with the public id `without`."""
    fit = weighting_for(study).fit
    return {
        "judges": sorted(judge.public_id for judge in judges),
        "without": without,
        "fit": fit.public_id if fit else EQUAL,
        "seed": 0,
    }


def judges_named(study: Study, names: Sequence[str]) -> list[Rater]:
    """Return the judges with these names, each once. Raises UnknownJudge."""
    return list({judge.pk: judge for judge in (judge_in(study, name) for name in names)}.values())


def _compute(study: Study, settings: Settings) -> tuple[str, PanelReport]:
    try:
        labels = label_frame(kinds=ABOUT_RESPONSES, study=study)
        rated = _rated(labels)
    except NothingToRead:
        return "", NoPanel("no_people")
    return data_hash(labels), _panel(study, rated, settings)


PANEL: ReportKind[PanelReport] = register(ReportKind(NAME, _compute, slow_from=20_000, shape=PanelReport))


def _rated(labels: ScoreFrame) -> ScoreFrame:
    """Select people's preferences, or else their overall scores. Raises NothingToRead."""
    for role in ("preference", "overall"):
        keys = labels.keys_of_role(role)
        if keys:
            rated = labels.of_criterion(keys[0])
            return rated.select((rated.model > 0) & ((rated.model_b > 0) | (role == "overall")))
    raise NothingToRead("This study has neither preferences nor overall scores from people.")


def _panel(study: Study, rated: ScoreFrame, settings: Settings) -> PanelReport:
    paired = bool(rated.role[0] == ROLES.index("preference")) if len(rated) else False
    if not len(rated):
        return NoPanel("no_people")
    known = judges_in(study)
    scored = _pair_scores(study, known) if paired else response_scores(study, known, _weighting(settings))
    units = {unit: place for place, unit in enumerate(_units(rated, paired))}
    counts = {pk: sum(unit in units for unit in scored.get(pk, {})) for pk in (judge.pk for judge in known)}
    candidates, left_out = _candidates(study, known, counts, settings)
    every = [(judge.public_id, judge.name) for judge in known if counts[judge.pk]]
    if len(candidates) < LEAST_JUDGES:
        return NoPanel("few_judges", len(candidates), LEAST_JUDGES)
    common = sorted(set.intersection(*(set(scored[judge.pk]) for judge in candidates)))
    given = _given(rated, paired, [scored[judge.pk] for judge in candidates], common)
    try:
        found = panel_gain(given, seed=int(settings["seed"]))
    except TooFewRatings as error:
        return NoPanel("few_instructions", error.n, MIN_CLUSTERS)
    except ConstantScores:
        return _without_differences(given, candidates)
    return JudgePanel(
        judges=[judge.name for judge in candidates],
        ids=[judge.public_id for judge in candidates],
        criterion=rated.criterion_keys[int(rated.criterion[0])],
        paired=paired,
        low=float(rated.low.min()),
        high=float(rated.high.max()),
        weights="" if paired else str(settings["fit"]),
        all_judges=every,
        left_out=left_out,
        found=found,
    )


def _candidates(
    study: Study, known: Sequence[Rater], counts: Mapping[int, int], settings: Settings
) -> tuple[list[Rater], list[LeftOutJudge]]:
    """Return the judges of the panel by name, and those that are left out with the reason."""
    asked = {str(one) for one in settings["judges"]}
    failed = {row.judge.pk for row in failed_judges(study)}
    several = _panels_of_several(known)
    most = max((counts[judge.pk] for judge in known if judge.pk not in failed | several), default=0)
    members, left_out = [], []
    for judge in sorted(known, key=lambda judge: (judge.name, judge.pk)):
        n = counts[judge.pk]
        why: WhyLeftOut | None = None
        if judge.pk in failed:
            why = "failed"
        elif judge.public_id == settings["without"] or (asked and judge.public_id not in asked):
            why = "not_asked"
        elif judge.pk in several and judge.public_id not in asked:
            why = "panel"
        elif not n or (n < LEAST_SHARE * most and judge.public_id not in asked):
            why = "few_in_common"
        if why is None:
            members.append(judge)
        else:
            left_out.append(LeftOutJudge(judge.name, why, n))
    return members, left_out


def _panels_of_several(known: Sequence[Rater]) -> set[int]:
    """Return the pks of the judges whose verdicts are made of several other judges'."""
    made = Judge.objects.filter(rater__in=[judge.pk for judge in known]).prefetch_related("jurors")
    several = {judge.rater_id for judge in made if judge.method in COMBINING or len(judge.jurors.all()) > 1}
    return several | {judge.pk for judge in known if says_composite(judge.name)}


@dataclass(frozen=True)
class JudgedScore:
    """A judge's score of a response, or preference for the first of a pair, with what it is about; rival is 0 for none."""

    score: float
    instruction: int
    model: int
    rival: int


ScoredUnit: TypeAlias = tuple[int, int]
"""A response and 0, or the responses of a pair in the study's order."""


def _units(frame: ScoreFrame, paired: bool) -> list[ScoredUnit]:
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


def _weighting(settings: Settings) -> Weighting:
    fit = Fit.objects.filter(public_id=settings["fit"]).first()
    return weighting_of(fit, fit.public_id) if fit else Weighting(EQUAL)


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


def _pair_scores(study: Study, known: Sequence[Rater]) -> dict[int, dict[ScoredUnit, JudgedScore]]:
    """By judge its preference on each pair of the study, for the first side as the study shows it, -1 to 1."""
    wanted = set(Task.objects.filter(study=study, response_b__isnull=False).values_list("response_a", "response_b"))
    found: dict[int, dict[ScoredUnit, JudgedScore]] = {}
    for frame in judge_frames(study, known):
        keys = frame.keys_of_role("preference")
        if not keys:
            continue
        own = frame.of_criterion(keys[0])
        own = own.select((own.model > 0) & (own.model_b > 0) & (own.model != own.model_b))
        columns = (own.rater, own.response, own.response_b, _preference(own), own.instruction, own.model, own.model_b)
        for pk, one, two, value, instruction, model, rival in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            said = found.setdefault(pk, {})
            if (one, two) in wanted:
                said.setdefault((one, two), JudgedScore(value, instruction, model, rival))
            elif (two, one) in wanted:
                said.setdefault((two, one), JudgedScore(-value, instruction, rival, model))
    return found


def _preference(frame: ScoreFrame) -> Floats:
    """Preferences for the first side as shares of the strongest one; "both bad" is a tie."""
    value = np.where(frame.variant > 0, 0.0, frame.value)
    return np.asarray(value / np.maximum(frame.high, 1e-9), dtype=np.float64)


def _given(
    rated: ScoreFrame, paired: bool, scored: Sequence[Mapping[ScoredUnit, JudgedScore]], common: Sequence[ScoredUnit]
) -> JudgedAlike:
    """Return the judges' scores of the common responses, and people's ratings of them."""
    place = {unit: at for at, unit in enumerate(common)}
    about = [scored[0][unit] for unit in common]
    at = np.array([place.get(unit, -1) for unit in _units(rated, paired)], dtype=np.int64)
    given = rated.select(at >= 0)

    def column(values: Sequence[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return JudgedAlike(
        judges=np.array([[own[unit].score for unit in common] for own in scored], dtype=np.float64),
        instructions=column([said.instruction for said in about]),
        models=column([said.model for said in about]),
        response=at[at >= 0],
        rater=given.rater,
        value=_preference(given) if paired else given.value,
        rivals=column([said.rival for said in about]) if paired else None,
        positions=are_positions(given),
    )


def judged_alike(study: Study, report: JudgePanel, members: Sequence[Rater]) -> JudgedAlike:
    """Return what the members of the report's panel and people said, as the report read it."""
    rated = _rated(label_frame(kinds=ABOUT_RESPONSES, study=study))
    if report.paired:
        scored = _pair_scores(study, members)
    else:
        scored = response_scores(study, members, _weighting({"fit": report.weights}))
    common = sorted(set.intersection(*(set(scored.get(member.pk, {})) for member in members)))
    return _given(rated, report.paired, [scored[member.pk] for member in members], common)


def _without_differences(given: JudgedAlike, members: Sequence[Rater]) -> NoPanel:
    """Say who shows no difference between models: people, or a judge."""
    for judge, scores in zip(members, given.judges, strict=True):
        try:
            panel_gain(replace(given, judges=np.vstack([scores, np.arange(scores.size, dtype=np.float64) ** 2 % 97])))
        except ConstantScores as error:
            if error.what != "differences of people":
                return NoPanel("constant_judge", judge=judge.name)
            break
    return NoPanel("constant_people")


def panel_json(study: Study, report: JudgePanel) -> Plain:
    """Return the report and its costs as JSON values: what the command and the API state."""
    return {"panel": stored(report), "costs": stored(panel_costs(study, report))}


def panel_costs(study: Study, report: JudgePanel) -> PanelCosts:
    """Return what the panel's judges cost, by their runs in this study or, without one, in others on its responses."""
    raters = {rater.public_id: rater for rater in Rater.objects.filter(public_id__in=report.ids)}
    pks = [raters[one].pk if one in raters else 0 for one in report.ids]
    costs = costs_in(study, pks)
    made = judges_made(pks)
    unknown = [pk for pk in pks if pk not in costs or not costs[pk].verdicts]
    elsewhere = judged_elsewhere(study).filter(rater__in=unknown).order_by()
    others: dict[int, list[int]] = {}
    for other, pk in elsewhere.values_list("task__study", "rater").distinct():
        others.setdefault(other, []).append(pk)
    for one in Study.objects.filter(pk__in=others).order_by("pk"):
        costs.update({pk: cost for pk, cost in costs_in(one, others[one.pk]).items() if cost.verdicts})
    members = [_cost_of(name, costs.get(pk), made.get(pk)) for name, pk in zip(report.judges, pks, strict=True)]
    paid = [cost for cost, member in zip(members, report.found.members, strict=True) if member.slope > 0]
    chosen = [member.chosen for member in report.found.members]
    best = max(range(len(chosen)), key=lambda at: chosen[at]) if any(chosen) else None
    nothing = MemberCost("", None, None, None)
    return PanelCosts(
        members,
        _sum_of(paid) if paid else nothing,
        report.judges[best] if best is not None else "",
        members[best] if best is not None else nothing,
        currency_of(study.workspace_id),
    )


def _cost_of(name: str, cost: JudgeCosts | None, judge: Judge | None) -> MemberCost:
    if cost is None or cost.money is None or judge is None:
        return MemberCost(name, None, None, None)
    money = f"{PER * cost.money:f}" if is_priced(judge, cost.money) else None
    calls = None if cost.calls is None else PER * cost.calls
    return MemberCost(name, calls, money, None if cost.seconds is None else PER * cost.seconds)


def _sum_of(costs: Sequence[MemberCost]) -> MemberCost:
    """Add costs; a sum with an unknown part is unknown."""

    def total(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    paid = [cost.money for cost in costs]
    known = [Decimal(money) for money in paid if money is not None]
    money = f"{sum(known, Decimal(0)):f}" if len(known) == len(paid) else None
    return MemberCost("", total([cost.calls for cost in costs]), money, total([cost.seconds for cost in costs]))
