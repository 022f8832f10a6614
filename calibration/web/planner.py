"""The planner page: the form, and the precision, hours and cost to expect of the planned study."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.counters.work import instructions_of
from annotation.models import Exclusion, Study, are_excluded_shown, excluded_shown
from annotation.policies.policies import Policies
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.figures.charts import Bar, interval_bars
from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.reports.cache import latest_report, shown_setting
from calibration.statistics.design.decision_power import smooth_widths
from calibration.statistics.design.planner import Assumptions, Expected, Plan, PlannedStudy, plan_study
from calibration.statistics.errors import NoStatistic
from calibration.templatetags.figures import grouped
from calibration.web.answer_notes import answer_notes, are_excluded_asked
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.messages.intervals import ends_words
from calibration.web.planned_decisions import DECISION_FIELDS, USUAL, DecisionFields, Wanted, decisions_block
from calibration.web.planned_questions import PlannedQuestions, models_for, questions_of
from calibration.web.serving import file_of
from calibration.web.weights.page import earlier_fits

MOST_RATINGS = 200_000
SIMULATIONS = 10
SIZE = ("instructions", "models", "raters", "overlap", "items", "hourly_pay")
"""The fields that a lead decides on; the others describe texts and raters."""
OVERLAPS = (1, 2, 3, 4, 5, 6, 8, 10)


def _whole(label: Any, low: int, high: int, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=low, max_value=high, help_text=help_text)


def _share(label: Any, help_text: Any = "") -> forms.FloatField:
    return forms.FloatField(label=label, min_value=0, max_value=1, help_text=help_text)


class PlannerForm(DecisionFields):
    """The size of the planned study, and the assumed variation of its ratings."""

    instructions = _whole(gettext_lazy("Instructions"), 1, 5000)
    models = _whole(gettext_lazy("Models"), 1, 100)
    raters = _whole(gettext_lazy("Raters"), 1, 5000, gettext_lazy("No fewer than the raters per response."))
    overlap = _whole(gettext_lazy("Raters per response"), 1, 50)
    items = _whole(gettext_lazy("Checklist items"), 1, 40)
    repeat_share = _share(gettext_lazy("Share of repeated tasks"), gettext_lazy("From 0 to 1."))
    words_per_response = _whole(gettext_lazy("Words per response"), 0, 100_000)
    words_per_instruction = _whole(gettext_lazy("Words per instruction"), 0, 100_000)
    seconds_per_answer = forms.FloatField(label=gettext_lazy("Seconds per question"), min_value=0, max_value=600)
    hourly_pay = forms.DecimalField(label=gettext_lazy("Hourly pay"), min_value=0, max_value=10_000, decimal_places=2)
    agreement = _share(
        gettext_lazy("Correlation between two raters"),
        gettext_lazy("Between their overall scores for the same response, from 0 to 1."),
    )
    repeat_agreement = _share(
        gettext_lazy("Share of repeats with the same answer"), gettext_lazy("By the same rater, from 0 to 1.")
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if self.errors:
            return values
        if values["overlap"] > values["raters"]:
            self.add_error("overlap", gettext("A response cannot have more raters than the study has."))
            return values
        if self.questions.pairs and values["models"] < 2:
            self.add_error("models", gettext("Pairs need at least two models."))
            return values
        each = self.questions.pairs_of(values["models"]) or values["models"]
        total = values["instructions"] * each * values["overlap"]
        if total > MOST_RATINGS:
            raise forms.ValidationError(
                gettext(
                    "This plan has %(n)s ratings, but the planner simulates at most %(most)s. Plan a part of the study."
                )
                % {"n": grouped(total), "most": grouped(MOST_RATINGS)}
            )
        return values

    def __init__(self, given: Mapping[str, object], questions: PlannedQuestions) -> None:
        super().__init__(given)
        self.questions = questions
        if questions.pairs:
            self.fields["items"].widget = forms.HiddenInput()

    @property
    def size(self) -> list[forms.BoundField]:
        """List the fields that a lead decides on."""
        return [self[name] for name in SIZE]

    @property
    def assumptions(self) -> list[forms.BoundField]:
        """List the fields that describe the texts and the raters, which the page folds."""
        return [field for field in self if field.name not in (*SIZE, *DECISION_FIELDS)]

    @property
    def decision(self) -> list[forms.BoundField]:
        """List the fields about what is to be decided, which the page folds too."""
        return [self[name] for name in DECISION_FIELDS]

    @property
    def has_refused_decision(self) -> bool:
        return any(field.errors for field in self.decision)

    def wanted(self) -> Wanted:
        return Wanted.of(self.cleaned_data)

    @property
    def has_refused_assumption(self) -> bool:
        return any(field.errors for field in self.assumptions)

    def planned(self) -> PlannedStudy:
        names = set(PlannedStudy.__dataclass_fields__)
        values = {name: value for name, value in self.cleaned_data.items() if name in names}
        own = self.questions
        return PlannedStudy(
            **{**values, "hourly_pay": Decimal(values["hourly_pay"])},
            levels=own.levels,
            overall=own.overall,
            pairs=own.pairs_of(values["models"]),
        )

    def assumed(self) -> Assumptions:
        return Assumptions(
            agreement=self.cleaned_data["agreement"], repeat_agreement=self.cleaned_data["repeat_agreement"]
        )


def starting_values(study: Study, questions: PlannedQuestions) -> dict[str, float]:
    """Return the form's initial values: the study's present size, and its agreement if that has been measured."""
    found: dict[str, float] = {
        "instructions": 40,
        "models": 5,
        "raters": 10,
        "overlap": 3,
        "items": 6,
        "repeat_share": 0.02,
        "words_per_response": 600,
        "words_per_instruction": 100,
        "seconds_per_answer": 6,
        "hourly_pay": 0,
        "agreement": 0.5,
        "repeat_agreement": 0.8,
        **USUAL,
    }
    tasks = study.tasks.filter(gold__isnull=True)
    instructions = instructions_of(study)
    if instructions is None:
        instructions = tasks.values("response_a__instruction").distinct().count()
    per_instruction = round(tasks.count() / instructions) if instructions else 0
    models = models_for(per_instruction) if questions.pairs else per_instruction
    people = study.raters.filter(kind="person")
    if not are_excluded_shown():
        people = people.exclude(pk__in=Exclusion.objects.standing().filter(study=study, since=None).values("rater"))
    raters = people.count()
    found |= {name: value for name, value in (("instructions", instructions), ("models", models)) if value}
    policies = Policies.of(study)
    if "overlap" in policies.stated:
        found["overlap"] = policies.overlap
    found["raters"] = max(raters, found["overlap"], 1) if raters else max(found["raters"], found["overlap"])
    words = [one for one in tasks.order_by("pk").values_list("response_a__words", flat=True)[:500] if one]
    if words:
        found["words_per_response"] = round(sum(words) / len(words))
    fit = next(iter(earlier_fits(study)), None)
    category = fit.categories.order_by("position").first() if fit else None
    if questions.items:
        found["items"] = questions.items
    elif category is not None:
        found["items"] = category.weights.count()
    return found | _measured(study)


def _measured(study: Study) -> dict[str, float]:
    """Read the agreement between raters and of repeats from the newest reports that are stored."""
    measured: dict[str, float] = {}
    settings = {"criterion": "", "draws": 1000, "seed": 0}
    agreement, raters = (latest_report(study, kind, settings) for kind in ("agreement", "raters"))
    interval = (agreement.result if agreement else {}).get("alpha", {}).get("interval", {}).get("value")
    if interval is not None and 0 <= interval <= 1:
        measured["agreement"] = round(interval, 2)
    again = (raters.result if raters else {}).get("consistency", {}).get("first_repeat", {}).get("value")
    if again is not None:
        measured["repeat_agreement"] = round(again, 2)
    return measured


def plan_page(form: PlannerForm) -> ResultPage | str:
    """Build the page of the plan, or return a sentence that says why there is none. Raises nothing."""
    study, assumed = form.planned(), form.assumed()
    try:
        plan = plan_study(study, assumed, simulations=SIMULATIONS)
        by_overlap = _by_overlap(study, assumed)
    except NoStatistic:
        return gettext("This plan cannot be simulated; plan more responses or more raters per response.")
    return ResultPage(
        title=planner_title(),
        opening=_opening(plan),
        about=f"{_about(plan)} {_asked(study)}",
        blocks=[
            _intervals(plan),
            *([_weights(plan)] if study.overall and not study.pairs else []),
            decisions_block(study, assumed, form.wanted(), _agreement_of(plan)),
            _work(plan),
            _overlap_block(by_overlap, study.raters),
        ],
        method=_method(),
        sources=["Brysbaert (2019)", "HelloBench (arXiv 2409.16191)"],
        code=[
            "calibration.statistics.design.planner",
            "calibration.statistics.design.simulation",
            "calibration.statistics.design.decision_power",
        ],
    )


def _agreement_of(plan: Plan) -> float | None:
    expected = plan.agreement.get("leave_one_out")
    return None if expected is None else expected.value


def planner_title() -> str:
    return gettext("How precise would a study be, and what would it cost?")


def _opening(plan: Plan) -> str:
    words = {
        "n": grouped(plan.assignments),
        "hours": number(plan.hours, 0.1 if plan.hours < 100 else 1),
        "each": number(plan.hours_per_rater, 0.1),
        "cost": f"{plan.cost:,.2f}",
    }
    said = (
        ngettext(
            "%(n)s rating takes %(hours)s hours, %(each)s per rater, and costs %(cost)s.",
            "%(n)s ratings take %(hours)s hours, %(each)s per rater, and cost %(cost)s.",
            plan.assignments,
        )
        % words
    )
    alpha = plan.agreement.get("alpha")
    if alpha is not None:
        said += " " + gettext("The expected agreement (alpha) is %(alpha)s.") % {"alpha": _said(alpha)}
    return said


def _about(plan: Plan) -> str:
    return ngettext(
        "These are means over %(n)d simulated studies; %(repeats)s of the ratings is a repeat.",
        "These are means over %(n)d simulated studies; %(repeats)s of the ratings are repeats.",
        plan.repeats,
    ) % {"n": plan.simulations, "repeats": grouped(plan.repeats)}


def _asked(study: PlannedStudy) -> str:
    """Which questions were simulated: those of this study."""
    levels = {"levels": len(study.levels)}
    if study.pairs:
        return gettext("Simulated: a choice among %(levels)d answers for each pair of responses.") % levels
    if study.overall:
        return ngettext(
            "Simulated: %(items)d item with %(levels)d levels, and an overall score.",
            "Simulated: %(items)d items with %(levels)d levels each, and an overall score.",
            study.items,
        ) % {**levels, "items": study.items}
    return ngettext(
        "Simulated: %(items)d question with %(levels)d levels, without an overall score.",
        "Simulated: %(items)d questions with %(levels)d levels each, without an overall score.",
        study.items,
    ) % {**levels, "items": study.items}


def _said(one: Expected) -> str:
    return ends_words(one.value, one.low, one.high, one.interval_kind)


def _intervals(plan: Plan) -> Block:
    title = gettext("Expected intervals")
    rows: list[tuple[str, Expected]] = []
    if "alpha" in plan.agreement:
        rows.append((gettext("Agreement, alpha"), plan.agreement["alpha"]))
        rows.append((gettext("Agreement, leave-one-out"), plan.agreement["leave_one_out"]))
    rows += [(gettext("Repeats with the same answer, all raters"), one) for one in plan.consistency]
    rows += [(gettext("Repeats with the same answer, one rater"), one) for one in plan.consistency_of_rater]
    rows += [(gettext("R² of the weights"), one) for one in plan.r2]
    if not rows:
        return Block(
            "intervals",
            title,
            reason=gettext("With one rater per response and no repeats, agreement cannot be measured."),
        )
    return Block(
        "intervals",
        title,
        figure=interval_bars([Bar(name, *_ends(one)) for name, one in rows], title=title, x_title=gettext("Value")),
        caption=gettext("Lines show the expected intervals; with 20 instructions or more they are 95 %% intervals.")
        % {},
        table=_table(gettext("Quantity"), rows),
    )


def _ends(one: Expected) -> tuple[float, float | None, float | None]:
    return (one.value, None, None) if one.interval_kind == "none" else (one.value, one.low, one.high)


def _table(head: str, rows: list[tuple[str, Expected]]) -> Table:
    return Table(
        [
            Column(head),
            Column(gettext("Expected"), 2),
            *Column.ends(gettext("From"), gettext("To"), 2),
            Column(gettext("Width"), 2),
        ],
        [[name, *_ends(one), None if one.interval_kind == "none" else one.width] for name, one in rows],
    )


def _weights(plan: Plan) -> Block:
    title = gettext("Expected checklist weights")
    if not plan.weights:
        return Block(
            "weights", title, reason=gettext("There are fewer ratings than items, so no weights could be fitted.")
        )
    rows = [(gettext("Item %(n)d") % {"n": place}, one) for place, one in enumerate(plan.weights, start=1)]
    figure = interval_bars(
        [Bar(name, *_ends(one)) for name, one in rows],
        title=title,
        x_title=gettext("Share of the total weight (out of 100)"),
    )
    return Block("weights", title, figure=figure, table=_table(gettext("Item"), rows), folded=True)


def _work(plan: Plan) -> Block:
    rows = [
        [gettext("Total ratings"), plan.assignments],
        [gettext("Repeats among them"), plan.repeats],
        [gettext("Maximum ratings per rater"), plan.per_rater],
        [gettext("Seconds per rating"), round(plan.seconds)],
        [gettext("Total hours"), round(plan.hours, 1)],
        [gettext("Hours per rater"), round(plan.hours_per_rater, 1)],
        [gettext("Cost"), float(plan.cost)],
    ]
    table = Table([Column(gettext("Work")), Column(gettext("Amount"), 2, mixed=True)], rows)
    return Block("work", gettext("Hours and cost"), table=table)


def _by_overlap(study: PlannedStudy, assumed: Assumptions) -> list[tuple[int, Plan]]:
    """Simulate the same plan roughly with other numbers of raters per response: (raters per response, plan)."""
    found = []
    for overlap in OVERLAPS:
        one = replace(study, overlap=overlap, raters=max(study.raters, overlap))
        if one.tasks * overlap <= MOST_RATINGS // 4:
            found.append((overlap, plan_study(one, assumed, simulations=3, draws=100)))
    return found


def _overlap_block(plans: list[tuple[int, Plan]], raters: int) -> Block:
    """Show widths and cost by raters per response, and say where that takes more than the planned `raters`."""
    title = gettext("Effect of more raters per response")
    known = [(overlap, plan) for overlap, plan in plans if "alpha" in plan.agreement]
    if not known:
        return Block("overlap", title, reason=gettext("The plan is too large to compare other numbers of raters here."))
    series = [
        Curve(gettext("agreement (alpha)"), smooth_widths([(n, plan.agreement["alpha"].width) for n, plan in known])),
        Curve(gettext("R² of the weights"), smooth_widths([(n, plan.r2[0].width) for n, plan in known if plan.r2])),
    ]
    figure = curves(
        [one for one in series if one.points],
        title=title,
        x_title=gettext("Raters per response"),
        y_title=gettext("Expected width of the interval"),
    )
    table = Table(
        [
            Column(gettext("Raters per response"), 0),
            Column(gettext("Interval width, alpha"), 3),
            Column(gettext("Interval width, R²"), 3),
            Column(gettext("Hours"), 1),
            Column(gettext("Cost"), 2),
        ],
        [
            [
                overlap,
                plan.agreement["alpha"].width if "alpha" in plan.agreement else None,
                plan.r2[0].width if plan.r2 else None,
                plan.hours,
                float(plan.cost),
            ]
            for overlap, plan in plans
        ],
    )
    more = [overlap for overlap, _ in plans if overlap > raters]
    notes = []
    if more:
        notes.append(
            gettext(
                "Each response is rated by different raters, so plans with %(first)d or more raters per response assume "
                "that many raters instead of the %(n)d planned."
            )
            % {"first": more[0], "n": raters}
        )
    return Block("overlap", title, figure=figure, table=table, notes=notes)


def _method() -> list[str]:
    return [
        gettext(
            "The study is simulated as planned, with raters who agree as assumed, and is analysed like a real study. The "
            "ends of the intervals are means over the simulations. Instructions, models and responses differ in "
            "quality; each rater perceives that quality with an error of their own, chosen to give the assumed "
            "correlation."
        ),
        gettext(
            "Reading speed is 238 words per minute; each checklist item and the overall score take the stated number of "
            "seconds to answer."
        ),
    ]


def planner_form(study: Study, asked: Mapping[str, str]) -> tuple[PlannerForm, dict[str, str | float]]:
    """Return the form with what is asked, and its values: for what is left out, those of the study as it is."""
    questions = questions_of(study)
    given = {name: asked.get(name, value) for name, value in starting_values(study, questions).items()}
    return PlannerForm(given, questions), given


@require_safe
@results_page
def planner(request: HttpRequest, slug: str) -> HttpResponse:
    """What a study like this one would show, take and cost; every number of the plan can be changed."""
    study = study_read_by(cast(User, request.user), slug)
    with excluded_shown(are_excluded_asked(request, study)):
        form, given = planner_form(study, request.GET)
        chosen = shown_setting()
    made = plan_page(form) if form.is_valid() else None
    page = made if isinstance(made, ResultPage) else None
    if page is not None and "file" in request.GET:
        return file_of(page, request.GET["file"], study.slug)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "form": form,
        "page": page,
        "page_title": planner_title(),
        "failure": made if isinstance(made, str) else "",
        "path": request.path,
        "query": urlencode({**given, **chosen}),
        **answer_notes(request, study),
    }
    return render(request, "calibration/planner.html", context)
