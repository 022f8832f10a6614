"""A panel of a study's judges: weights fitted to people's differences of models, its gain over the best judge, its costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, ROLES, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import label_frame
from calibration.data.verdicts import failed_judges, judged_elsewhere
from calibration.models import Fit
from calibration.reports.codec import stored
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.judges.panels import LEAST_JUDGES, JudgedAlike, PanelGain, panel_gain
from calibration.statistics.resampling import MIN_CLUSTERS
from generation.endpoints.pricing import currency_of
from judging.comparison.judge_against_people import judge_in, judges_in, weighting_for
from judging.comparison.judge_costs import JudgeCosts, costs_in, judges_made
from judging.comparison.panels.scores import alike, pair_scores, rated_by_people, response_scores, units_in
from judging.comparison.panels.ways import JudgeWays, WayName, ways_of
from judging.comparison.run_lists import is_priced
from judging.leaderboards.weighting import EQUAL, Weighting, weighting_of
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
    """Why there is no panel: `n` judges or instructions where `needed` are needed; `judge` is one without differences.

    `ways` are what adds to single judges, for which no panel is needed; None where no judge scored what people rated.
    """

    why: WhyNoPanel
    n: int = 0
    needed: int = 0
    judge: str = ""
    ways: JudgeWays | None = None


@dataclass(frozen=True)
class JudgePanel:
    """A panel of `judges`, whose members in `found` are in their order, with their public `ids`; `ways` add to each alone.

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
    ways: JudgeWays | None


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


@dataclass(frozen=True)
class WayCost:
    """What PER verdicts of a judge take, `alone` and `together` with the way."""

    way: WayName
    alone: MemberCost
    together: MemberCost


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
        rated = rated_by_people(labels)
    except NothingToRead:
        return "", NoPanel("no_people")
    return data_hash(labels), _panel(study, rated, settings)


PANEL: ReportKind[PanelReport] = register(ReportKind(NAME, _compute, slow_from=20_000, shape=PanelReport))


def _panel(study: Study, rated: ScoreFrame, settings: Settings) -> PanelReport:
    paired = bool(rated.role[0] == ROLES.index("preference")) if len(rated) else False
    if not len(rated):
        return NoPanel("no_people")
    known = judges_in(study)
    scored = pair_scores(study, known) if paired else response_scores(study, known, _weighting(settings))
    units = {unit: place for place, unit in enumerate(units_in(rated, paired))}
    counts = {pk: sum(unit in units for unit in scored.get(pk, {})) for pk in (judge.pk for judge in known)}
    candidates, left_out = _candidates(study, known, counts, settings)
    every = [(judge.public_id, judge.name) for judge in known if counts[judge.pk]]
    alone = _askable(study, known, counts, settings)
    ways = ways_of(study, alone, rated, scored, _weighting(settings), int(settings["seed"])) if alone else None
    if len(candidates) < LEAST_JUDGES:
        return NoPanel("few_judges", len(candidates), LEAST_JUDGES, ways=ways)
    common = sorted(set.intersection(*(set(scored[judge.pk]) for judge in candidates)))
    given = alike(rated, paired, [scored[judge.pk] for judge in candidates], common)
    try:
        found = panel_gain(given, seed=int(settings["seed"]))
    except TooFewRatings as error:
        return NoPanel("few_instructions", error.n, MIN_CLUSTERS, ways=ways)
    except ConstantScores:
        return replace(_without_differences(given, candidates), ways=ways)
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
        ways=ways,
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


def _askable(study: Study, known: Sequence[Rater], counts: Mapping[int, int], settings: Settings) -> list[Rater]:
    """Return the judges with verdicts of their own on what people rated, and no failed canary texts, by name."""
    asked = {str(one) for one in settings["judges"]}
    failed = {row.judge.pk for row in failed_judges(study)}
    made = Judge.objects.filter(rater__in=[judge.pk for judge in known], jurors__isnull=False)
    barred = failed | _panels_of_several(known) | set(made.values_list("rater", flat=True))
    own = [judge for judge in known if counts[judge.pk] and judge.pk not in barred]
    return sorted((one for one in own if not asked or one.public_id in asked), key=lambda one: (one.name, one.pk))


def _panels_of_several(known: Sequence[Rater]) -> set[int]:
    """Return the pks of the judges whose verdicts are made of several other judges'."""
    made = Judge.objects.filter(rater__in=[judge.pk for judge in known]).prefetch_related("jurors")
    several = {judge.rater_id for judge in made if judge.method in COMBINING or len(judge.jurors.all()) > 1}
    return several | {judge.pk for judge in known if says_composite(judge.name)}


def _weighting(settings: Settings) -> Weighting:
    fit = Fit.objects.filter(public_id=settings["fit"]).first()
    return weighting_of(fit, fit.public_id) if fit else Weighting(EQUAL)


def judged_alike(study: Study, report: JudgePanel, members: Sequence[Rater]) -> JudgedAlike:
    """Return what the members of the report's panel and people said, as the report read it."""
    rated = rated_by_people(label_frame(kinds=ABOUT_RESPONSES, study=study))
    if report.paired:
        scored = pair_scores(study, members)
    else:
        scored = response_scores(study, members, _weighting({"fit": report.weights}))
    common = sorted(set.intersection(*(set(scored.get(member.pk, {})) for member in members)))
    return alike(rated, report.paired, [scored[member.pk] for member in members], common)


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
    costs = judges_costs(study, report)
    ways = ways_costs(report.ways, costs) if report.ways else []
    return {
        "panel": stored(report),
        "costs": stored(panel_costs(study, report, costs)),
        "costs_of_ways": [stored(one) for one in ways],
    }


def panel_costs(study: Study, report: JudgePanel, costs: Mapping[str, MemberCost] | None = None) -> PanelCosts:
    """Return what the panel's judges cost; `costs` are those of judges_costs where the caller has them."""
    known = judges_costs(study, report) if costs is None else costs
    members = [known[one] for one in report.ids]
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


def ways_costs(ways: JudgeWays, costs: Mapping[str, MemberCost]) -> list[WayCost]:
    """Return what a thousand verdicts take, of each judge alone and with each way, in the order of the rows."""
    return [WayCost(row.way, costs[row.id], _times(costs[row.id], row.answers)) for row in ways.rows]


def _times(cost: MemberCost, answers: float) -> MemberCost:
    money = None if cost.money is None else f"{Decimal(cost.money) * Decimal(repr(answers)):f}"
    calls, seconds = (None if one is None else one * answers for one in (cost.calls, cost.seconds))
    return MemberCost(cost.judge, calls, money, seconds)


def judges_costs(study: Study, report: PanelReport) -> dict[str, MemberCost]:
    """Return what PER verdicts take of each judge that the report names, by its public id."""
    names = {} if isinstance(report, NoPanel) else dict(zip(report.ids, report.judges, strict=True))
    names |= {row.id: row.judge for row in report.ways.rows} if report.ways else {}
    pks = dict(Rater.objects.filter(public_id__in=names).values_list("public_id", "pk"))
    costs, made = _costs_anywhere(study, list(pks.values())), judges_made(pks.values())
    unknown = [pk for pk in made if pk not in costs]
    # A judge asked only in both orders or several times is paid by the run that asked, each question as one verdict.
    panels = Judge.objects.filter(jurors__rater__in=unknown).prefetch_related("jurors") if unknown else []
    asking = {jurors[0].rater_id: one.rater_id for one in panels if len(jurors := list(one.jurors.all())) == 1}
    paid = _costs_anywhere(study, list(asking.values())) if asking else {}
    costs.update({pk: paid[panel] for pk, panel in asking.items() if panel in paid})
    rows = {one: pks.get(one, 0) for one in names}
    return {one: _cost_of(names[one], costs.get(pk), made.get(pk)) for one, pk in rows.items()}


def _costs_anywhere(study: Study, pks: Sequence[int]) -> dict[int, JudgeCosts]:
    """Return judges' costs by their runs in this study or, without one, in others on its responses."""
    found = {pk: cost for pk, cost in costs_in(study, pks).items() if cost.verdicts}
    unknown = [pk for pk in pks if pk not in found]
    elsewhere = judged_elsewhere(study).filter(rater__in=unknown).order_by()
    others: dict[int, list[int]] = {}
    for other, pk in elsewhere.values_list("task__study", "rater").distinct():
        others.setdefault(other, []).append(pk)
    for one in Study.objects.filter(pk__in=others).order_by("pk"):
        found.update({pk: cost for pk, cost in costs_in(one, others[one.pk]).items() if cost.verdicts})
    return found


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
