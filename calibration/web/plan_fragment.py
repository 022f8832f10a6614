"""The plan of a draft study on its setup page: expected precision, hours and cost."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.assignment.attention_checks import check_tasks
from annotation.assignment.new_slots import overlap_of
from annotation.models import Study
from annotation.policies.policies import CONTROL, GOLD, BadPolicy, Policies
from annotation.policies.quality_checks import plan_of
from annotation.studies.access import study_read_by
from annotation.studies.study_size import StudySize, size_of
from calibration.statistics.design.planner import Expected, Plan, PlannedStudy, plan_study
from calibration.statistics.errors import NoStatistic
from calibration.web.planned_questions import models_for, questions_of
from core.messages.rendering import for_reader

MOST_ITEMS = 20


@dataclass(frozen=True)
class Width:
    """One figure of the plan: the expected value and the ends of its interval."""

    name: str
    value: float
    low: float
    high: float

    @property
    def digits(self) -> int:
        """Number of decimals, no more than the interval justifies."""
        return 0 if self.high > 1.5 else 2


@dataclass(frozen=True)
class StudyPlan:
    """The figures of the fragment; `widths` is empty if no interval can be predicted.

    `expected` is the number of raters that the lead entered if it is below the overlap, so that the plan assumes
    `raters` instead; otherwise 0. `short` is the number of ratings that the quota leaves unfilled. `checks` is about
    how many further tasks raters get: repeated tasks, marked gold items and attention checks that are or will be created.
    """

    size: StudySize
    plan: Plan
    overlap: int
    raters: int
    assumed_raters: bool
    currency: str
    short: int
    expected: int
    widths: list[Width]

    pay: Decimal
    checks: int

    @property
    def minutes_a_task(self) -> float:
        return self.plan.seconds / 60

    @property
    def ratings(self) -> int:
        """Exactly the assignment slots that a launch creates."""
        return self.size.tasks * self.overlap

    @property
    def hours(self) -> float:
        return (self.ratings + self.checks) * self.plan.seconds / 3600

    @property
    def hours_per_rater(self) -> float:
        return self.hours / self.raters

    @property
    def each(self) -> int:
        """The most ratings that any rater gives, with checks."""
        return -(-(self.ratings + self.checks) // self.raters)

    @property
    def cost(self) -> Decimal:
        return (Decimal(str(self.hours)) * self.pay).quantize(Decimal("0.01"), ROUND_HALF_UP)


def raters_needed(study: Study, assignments: int, overlap: int) -> tuple[int, bool]:
    """Return (raters, whether it is a guess): as the lead expects, else as the quota requires, else by the overlap."""
    policies = Policies.of(study)
    if policies.expected.raters:
        return max(policies.expected.raters, overlap), False
    if policies.quota:
        return max(overlap, -(-assignments // policies.quota)), True
    return max(overlap, 5), True


@lru_cache(maxsize=64)
def _simulated(planned: PlannedStudy) -> Plan:
    """Plan the study, once for the same choices: a lead changes most of them without changing what is simulated."""
    return plan_study(planned, simulations=8, draws=100)


def plan_of_study(study: Study) -> StudyPlan | None:
    """Plan the study as it is saved; None if its choices yield no task.

    Raises BadPolicy, and NoStatistic for choices that no study can have.
    """
    size = size_of(study)
    if not size.tasks:
        return None
    overlap = overlap_of(study)
    raters, guessed = raters_needed(study, size.tasks * overlap, overlap)
    plan = _simulated(_planned(study, size, overlap, raters))
    policies = Policies.of(study)
    short = max(0, size.tasks * overlap - raters * policies.quota) if policies.quota else 0
    expected = policies.expected.raters or 0
    return StudyPlan(
        size,
        plan,
        overlap,
        raters,
        guessed,
        policies.expected.currency,
        short,
        expected if expected < raters and not guessed else 0,
        _widths(study, plan),
        policies.expected.hourly_pay or Decimal(0),
        _checks_among(study, size.tasks * overlap, raters),
    )


def _checks_among(study: Study, ratings: int, raters: int) -> int:
    """The expected number of quality checks beside these ratings, at the study's rates; a rater meets each check once."""
    rates = dict(plan_of(study).rates)
    marked = {GOLD: check_tasks(study, GOLD).count(), CONTROL: check_tasks(study, CONTROL).count()}
    marked[CONTROL] = max(marked[CONTROL], Policies.of(study).controls or 0)
    present = {kind: share for kind, share in rates.items() if kind not in marked or marked[kind]}
    handed = ratings / (1 - float(sum(present.values()))) if sum(present.values()) < 1 else float(ratings)
    return sum(
        min(round(handed * float(share)), marked[kind] * raters) if kind in marked else round(handed * float(share))
        for kind, share in present.items()
    )


def _planned(study: Study, size: StudySize, overlap: int, raters: int) -> PlannedStudy:
    """Describe the study for the planner, which assumes that every model answers every instruction."""
    a_instruction = max(1, round(size.tasks / size.instructions))
    questions = questions_of(study)
    return PlannedStudy(
        instructions=max(1, round(size.tasks / a_instruction)),
        models=models_for(a_instruction) if questions.pairs else a_instruction,
        raters=raters,
        overlap=overlap,
        items=min(MOST_ITEMS, size.items),
        repeat_share=float(plan_of(study).rates["probe"]),
        words_per_response=size.words_a_task / (2 if questions.pairs else 1),
        levels=questions.levels,
        overall=questions.overall,
        pairs=a_instruction if questions.pairs else 0,
        words_per_instruction=size.words_an_instruction,
        hourly_pay=Policies.of(study).expected.hourly_pay or Decimal(0),
    )


def _widths(study: Study, plan: Plan) -> list[Width]:
    def width(name: str, one: Expected) -> Width:
        return Width(name, one.value, one.low, one.high)

    names = {"leave_one_out": _("Agreement between raters"), "alpha": _("Krippendorff's alpha")}
    found = [width(names[name], one) for name, one in plan.agreement.items()]
    found += [width(_("Consistency of the study"), one) for one in plan.consistency]
    found += [width(_("Consistency of one rater"), one) for one in plan.consistency_of_rater]
    if study.kind == Study.Kind.CHECKLIST and plan.weights:
        widest = max(plan.weights, key=lambda one: one.width)
        found.append(width(_("Weight of an item (out of 100)"), widest))
    return found


@require_safe
@results_page
@never_cache
def plan_fragment(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the plan of a study as it is saved now: tasks, hours, cost and the expected width of its intervals."""
    study = study_read_by(cast(User, request.user), slug)
    context: dict[str, object] = {"study": study}
    try:
        context["found"] = plan_of_study(study)
    except BadPolicy as problem:
        context["problem"] = for_reader(problem)
    except NoStatistic:
        context["problem"] = _(
            "The plan cannot be computed from these numbers; check the ratings per task, the expected raters and the shares."
        )
    return render(request, "calibration/_plan.html", context)
