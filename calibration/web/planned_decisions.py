"""What the planned study could decide, on the planner page: the power and the interval of a difference between two models,
with and without a judge's help, and of a judge against people."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.statistics.design.decision_power import (
    Components,
    Decision,
    Judged,
    decide,
    judge_against_people,
    preferred_difference,
    scored_difference,
)
from calibration.statistics.design.planner import Assumptions, PlannedStudy
from calibration.web.blocks import Block, Column, Table

ENOUGH_POWER = 0.8
SHARES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Numbers of instructions that are shown, as shares of the planned one."""
RATERS = (2, 3, 5, 8, 12, 20, 30, 60)
DECISION_FIELDS = ("difference", "error", "severity", "taste", "judge_correlation", "judged")
USUAL: Mapping[str, float] = {
    "difference": 0.05,
    "error": 5,
    "severity": 0.1,
    "taste": 0.03,
    "judge_correlation": 0.5,
    "judged": 400,
}


class DecisionFields(forms.Form):
    """What is to be decided, and how raters differ; shares of the scale from 0 to 1."""

    difference = forms.FloatField(
        label=gettext_lazy("Difference to be shown"),
        min_value=0.001,
        max_value=1,
        help_text=gettext_lazy("Between two models, or between a judge and a rater, on a scale of 0 to 1."),
    )
    error = forms.FloatField(
        label=gettext_lazy("Error allowed (percent)"),
        min_value=0.1,
        max_value=20,
        help_text=gettext_lazy("Of a single decision about a difference that does not exist."),
    )
    severity = forms.FloatField(
        label=gettext_lazy("Difference in severity"),
        min_value=0,
        max_value=0.5,
        help_text=gettext_lazy("Standard deviation of raters' levels, on a scale of 0 to 1."),
    )
    taste = forms.FloatField(
        label=gettext_lazy("Difference in taste"),
        min_value=0,
        max_value=0.5,
        help_text=gettext_lazy("Standard deviation of what a rater adds to one model, on a scale of 0 to 1."),
    )
    judge_correlation = forms.FloatField(
        label=gettext_lazy("Correlation of judge and people"),
        min_value=0,
        max_value=1,
        help_text=gettext_lazy("Of the two models' difference by the judge and by people, over instructions."),
    )
    judged = forms.IntegerField(
        label=gettext_lazy("Instructions that the judge scores"),
        min_value=1,
        max_value=1_000_000,
        help_text=gettext_lazy("Those of this study among them."),
    )


@dataclass(frozen=True)
class PlannedDecision:
    """A decision by the name of its curve; `judged` where a judge helps."""

    name: str
    components: Components
    judged: Judged | None = None


@dataclass(frozen=True)
class Wanted:
    """What the form says: the difference (0..1), the error (0..1), how raters differ, and the judge."""

    difference: float
    error: float
    severity: float
    taste: float
    judge: Judged

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Wanted":
        judge = Judged(values["judged"], values["judge_correlation"])
        return cls(values["difference"], values["error"] / 100, values["severity"], values["taste"], judge)


def decisions_of(
    study: PlannedStudy, assumed: Assumptions, wanted: Wanted, agreement: float | None
) -> list[PlannedDecision]:
    """The decisions of a study of this kind; `agreement` is the expected leave-one-out agreement, if there is any."""
    if study.pairs:
        ties = 1 / len(study.levels) if len(study.levels) % 2 else 0.0
        components = preferred_difference(decided=1 - ties, correlation=assumed.agreement, taste_sd=wanted.taste)
    else:
        quality = (assumed.instruction_sd**2 + assumed.model_sd**2 + assumed.response_sd**2) ** 0.5
        levels = study.levels
        components = scored_difference(
            response_sd=assumed.response_sd,
            correlation=assumed.agreement,
            quality_sd=quality,
            severity_sd=wanted.severity,
            taste_sd=wanted.taste,
            step=0.1 if study.overall else max(high - low for low, high in pairwise(levels)),
        )
    found = [PlannedDecision(gettext("two models"), components)]
    if wanted.judge.correlation and wanted.judge.instructions > study.instructions:
        found.append(PlannedDecision(gettext("two models, with a judge"), components, wanted.judge))
    if agreement is not None and study.overlap >= 2:
        judge = max(0.0, agreement - wanted.difference)
        tasks = study.tasks // study.instructions
        people = judge_against_people(agreement=agreement, judge=judge, rater_sd=wanted.taste, tasks=tasks)
        found.append(PlannedDecision(gettext("judge against people"), people))
    return found


def decisions_block(study: PlannedStudy, assumed: Assumptions, wanted: Wanted, agreement: float | None) -> Block:
    """Draw the power by number of instructions, and list what more instructions and more raters bring."""
    title = gettext("What the study could decide")
    if study.raters < 2 or study.instructions < 8:
        return Block(
            "decisions",
            title,
            reason=gettext("A decision for raters like these needs at least 2 raters and 8 instructions; plan more."),
        )
    decisions = decisions_of(study, assumed, wanted, agreement)
    sizes = sorted({max(2, round(share * study.instructions)) for share in SHARES})
    series = [
        Curve(one.name, [(size, _at(one, study, wanted, instructions=size).power) for size in sizes])
        for one in decisions
    ]
    figure = curves(
        series,
        title=title,
        x_title=gettext("Instructions"),
        y_title=gettext("Power"),
        rule=ENOUGH_POWER,
        rule_label="80 %",
        chosen=float(study.instructions),
    )
    rows = [_row(one, study, wanted, instructions=size) for one in decisions for size in sizes]
    rows += [
        _row(one, study, wanted, raters=raters)
        for one in decisions
        for raters in RATERS
        if raters >= study.overlap and raters != study.raters
    ]
    table = Table(
        [
            Column(gettext("Decision")),
            Column(gettext("Instructions"), 0),
            Column(gettext("Raters"), 0),
            Column(gettext("Half width"), 3),
            Column(gettext("Power"), 2),
            Column(gettext("Share from raters"), 2),
        ],
        rows,
    )
    return Block(
        "decisions",
        title,
        answer=_answer(decisions, study, wanted),
        figure=figure,
        caption=gettext(
            "Power is the probability that the interval for raters like these excludes 0 if the difference is as entered."
        ),
        table=table,
        notes=[_about()],
    )


def _at(
    one: PlannedDecision,
    study: PlannedStudy,
    wanted: Wanted,
    *,
    instructions: int | None = None,
    raters: int | None = None,
) -> Decision:
    return decide(
        one.components,
        wanted.difference,
        instructions=instructions or study.instructions,
        raters=raters or study.raters,
        overlap=study.overlap,
        error=wanted.error,
        judged=one.judged,
    )


def _row(
    one: PlannedDecision,
    study: PlannedStudy,
    wanted: Wanted,
    *,
    instructions: int | None = None,
    raters: int | None = None,
) -> list[Any]:
    found = _at(one, study, wanted, instructions=instructions, raters=raters)
    size = (instructions or study.instructions, raters or study.raters)
    return [one.name, *size, found.half_width, found.power, found.raters_share]


def _answer(decisions: list[PlannedDecision], study: PlannedStudy, wanted: Wanted) -> str:
    plain = _at(decisions[0], study, wanted)
    facts = {
        "difference": number(wanted.difference, 0.001),
        "power": number(100 * plain.power, 1),
        "half": number(plain.half_width, 0.001),
    }
    said = (
        gettext(
            "A difference of %(difference)s between two models is shown with a probability of %(power)s %%; the interval "
            "reaches %(half)s to either side."
        )
        % facts
    )
    if plain.power >= ENOUGH_POWER:
        return said
    return f"{said} {_advice(decisions[0], study, wanted)}"


def _advice(one: PlannedDecision, study: PlannedStudy, wanted: Wanted) -> str:
    """How many instructions would give 80 % power; where no number does, how many raters."""
    most = 50 * study.instructions
    if _at(one, study, wanted, instructions=most).power < ENOUGH_POWER:
        enough = next(
            (n for n in RATERS if n > study.raters and _power_of(one, study, wanted, most, n) >= ENOUGH_POWER), 0
        )
        if not enough:
            return gettext("Neither more instructions nor 60 raters would bring that to 80 %%.") % {}
        return gettext(
            "More instructions alone will not bring that to 80 %%, because these raters differ too much; with %(n)s raters "
            "they can."
        ) % {"n": number(enough, 1)}
    low, high = study.instructions, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power_of(one, study, wanted, middle) >= ENOUGH_POWER else (middle, high)
    return gettext("About %(n)s instructions would bring that to 80 %%.") % {"n": number(high, 1)}


def _power_of(
    one: PlannedDecision, study: PlannedStudy, wanted: Wanted, instructions: int, raters: int | None = None
) -> float:
    return _at(one, study, wanted, instructions=instructions, raters=raters).power


def _about() -> str:
    return gettext(
        "Computed from variance components: how responses differ within an instruction, the error of an answer that gives "
        "the assumed correlation of two raters, and how raters differ in severity and taste. Severity counts as error, "
        "because different raters rate the two responses. A judge's help is the most that it can save. For a judge against "
        "people, the difference is between its agreement with a rater's colleagues and that rater's."
    )
