"""The page of a panel of judges: what several judges together predict of people's differences, and what they cost."""

from collections.abc import Mapping, Sequence

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.drawing import number, shortest
from calibration.figures.spreads import RangeRow, ranges
from calibration.reports.registry import Settings
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.judges.panels import PanelGain
from calibration.web.blocks import Block, Choice, Column, ResultPage, Table
from calibration.web.failed_judges import marked
from calibration.web.messages.people_estimates import (
    people_cells,
    people_columns,
    people_span,
    people_words,
    populations_meaning,
)
from judging.comparison.judge_panel import (
    LEAST_SHARE,
    JudgePanel,
    LeftOutJudge,
    MemberCost,
    NoPanel,
    PanelCosts,
    PanelReport,
    judges_costs,
    panel_costs,
    panel_settings,
)
from judging.web.comparison.judge_ways import ways_block

DIGITS = 3
MONEY_DIGITS = 4


def panel_title() -> str:
    return gettext("Do several judges together predict people better than the best of them?")


def settings_asked(study: Study, query: Mapping[str, str]) -> Settings:
    """?without= is the public id of a judge that is left out."""
    return panel_settings(study, without=query.get("without", "")[:40])


def judge_panel_page(study: Study, report: PanelReport) -> ResultPage:
    """The gain over the best single judge, what each judge adds and costs, and the labels that the panel can save."""
    known = judges_costs(study, report)
    ways = [ways_block(study, report.ways, known)] if report.ways else []
    if isinstance(report, NoPanel):
        start = [(reverse("judging:start_run", args=[study]), gettext("Start a judging run"))]
        return ResultPage(panel_title(), no_panel_words(report), ways, [], links=start)
    costs = panel_costs(study, report, known)
    left_out = _left_out_block(report)
    return ResultPage(
        title=panel_title(),
        opening=f"{opening_of(report)} {costs_words(report, costs)}",
        about=_about(report),
        choices=[_choice(report)],
        blocks=[
            _gain_block(report),
            _members_block(report, costs),
            _labels_block(report),
            *ways,
            *([left_out] if left_out else []),
        ],
        method=_method(report),
        sources=[
            "Breiman (1996)",
            "Zrnic & Candès (arXiv 2309.16598)",
            "Angelopoulos, Duchi & Zrnic (arXiv 2311.01453)",
            "Cameron, Gelbach & Miller (2011)",
        ],
        code=["calibration.statistics.judges.panels", "calibration.statistics.replicates"],
        links=[(_address_to_make(study, report), gettext("Use this panel as a judge"))] if _has_weights(report) else [],
    )


def _has_weights(report: JudgePanel) -> bool:
    return sum(member.slope > 0 for member in report.found.members) > 1


def _address_to_make(study: Study, report: JudgePanel) -> str:
    without = next((one.judge for one in report.left_out if one.why == "not_asked"), "")
    known = {name: public_id for public_id, name in report.all_judges}
    query = {"without": known[without]} if without in known else {}
    return reverse("judging:make_panel", args=[study], query=query)


def no_panel_words(report: NoPanel) -> str:
    """Say what is missing, and how many are needed."""
    if report.why == "no_people":
        return gettext(
            "People gave neither preferences nor overall scores in this study, so there is nothing that a panel's weights "
            "could be fitted to; have people rate."
        )
    if report.why == "few_judges":
        return ngettext(
            "A panel needs at least %(needed)d judges that scored the responses which people rated; there is %(n)d.",
            "A panel needs at least %(needed)d judges that scored the responses which people rated; there are %(n)d.",
            report.n,
        ) % {"needed": report.needed, "n": report.n}
    if report.why == "few_instructions":
        return ngettext(
            "What a panel gains is stated from %(needed)d instructions on, on which people compared models that every "
            "judge scored; there is %(n)d.",
            "What a panel gains is stated from %(needed)d instructions on, on which people compared models that every "
            "judge scored; there are %(n)d.",
            report.n,
        ) % {"needed": report.needed, "n": report.n}
    if report.why == "constant_judge":
        return gettext(
            "%(judge)s sees no difference between models on any instruction, so no weight of it can be fitted; leave it "
            "out, or ask it with another prompt."
        ) % {"judge": report.judge}
    return gettext(
        "People saw no difference between models on any instruction, so there is nothing that a panel could predict; "
        "include responses of different quality."
    )


def opening_of(report: JudgePanel) -> str:
    """State the gain of the panel over the best single judge, with its interval, as far as it is shown."""
    found = report.found
    words = {
        "judges": len(report.judges),
        "panel": number(found.panel.value, 0.01),
        "single": number(found.single.value, 0.01),
        "judge": single_words(report),
        "gain": people_words(found.gain),
    }
    if found.panel.value <= 0:
        first = gettext(
            "The panel of %(judges)d judges predicts people's differences between models no better than the models' means "
            "do: out of sample, its R² is %(panel)s. The gain over the best single judge (%(judge)s) is %(gain)s."
        )
    elif found.better:
        first = gettext(
            "The panel of %(judges)d judges predicts people's differences between models better than the best single "
            "judge (%(judge)s): out of sample, its R² is %(panel)s against %(single)s, a gain of %(gain)s."
        )
    else:
        first = gettext(
            "Whether the panel of %(judges)d judges predicts people's differences between models better than the best "
            "single judge (%(judge)s) is not shown: out of sample, its R² is %(panel)s against %(single)s, a gain of "
            "%(gain)s."
        )
    needed = _needed_words(found)
    return f"{first % words} {needed}".strip()


def _needed_words(found: PanelGain) -> str:
    if found.gain.value <= 0 or found.gain.excludes_zero or found.gain.interval_kind != "crossed95":
        return ""
    if found.needed is None:
        return gettext("A gain of this size would take more raters to show; more instructions would not do.")
    return gettext("About %(n)s instructions in all would show a gain of this size with 80 %% power.") % {
        "n": number(max(found.needed, found.instructions + 1), 1)
    }


def single_words(report: JudgePanel) -> str:
    """Name the judges that were the best single one, the most frequent first."""
    chosen = [
        (member.chosen, name) for name, member in zip(report.judges, report.found.members, strict=True) if member.chosen
    ]
    if not chosen:
        return gettext("none of which goes with people")
    fits = report.found.fits
    if len(chosen) == 1 and chosen[0][0] == fits:
        return chosen[0][1]
    each = gettext("%(judge)s in %(n)d of %(fits)d fits")
    ordered = sorted(chosen, key=lambda pair: (-pair[0], pair[1]))
    return gettext(", ").join(each % {"judge": name, "n": n, "fits": fits} for n, name in ordered)


def costs_words(report: JudgePanel, costs: PanelCosts) -> str:
    """Say what a thousand verdicts of the panel take, beside the best single judge."""
    used = sum(member.slope > 0 for member in report.found.members)
    if not used or not costs.single_judge:
        return ""
    panel, single = costs.panel, costs.single
    if panel.money is not None and single.money is not None:
        return ngettext(
            "A thousand verdicts of the %(n)d judge with a weight cost %(panel)s %(currency)s, those of %(judge)s alone "
            "%(single)s %(currency)s.",
            "A thousand verdicts of each of the %(n)d judges with a weight cost %(panel)s %(currency)s, those of %(judge)s "
            "alone %(single)s %(currency)s.",
            used,
        ) % {
            "n": used,
            "panel": shortest(round(float(panel.money), MONEY_DIGITS)),
            "single": shortest(round(float(single.money), MONEY_DIGITS)),
            "judge": costs.single_judge,
            "currency": costs.currency,
        }
    unknown = [
        cost.judge
        for cost, member in zip(costs.members, report.found.members, strict=True)
        if cost.money is None and (member.slope > 0 or cost.judge == costs.single_judge)
    ]
    return gettext("What it costs is unknown: no price is known of %(judges)s.") % {
        "judges": gettext(", ").join(unknown)
    }


def _about(report: JudgePanel) -> str:
    found = report.found
    pairs = gettext(
        "People compared %(n)s pairs of %(models)s models on %(instructions)s instructions, which every judge compared as "
        "well."
    )
    scores = gettext(
        "People scored %(n)s responses of %(models)s models to %(instructions)s instructions, which every judge scored as "
        "well."
    )
    return (pairs if report.paired else scores) % {
        "n": f"{found.n:,}",
        "models": f"{found.models:,}",
        "instructions": f"{found.instructions:,}",
    }


def _choice(report: JudgePanel) -> Choice:
    all_of_them = [("", gettext("all judges"))]
    but_one = gettext("all but %(judge)s")
    options = all_of_them + [(public_id, but_one % {"judge": name}) for public_id, name in report.all_judges]
    members = set(report.ids)
    asked = {one.judge for one in report.left_out if one.why == "not_asked"}
    without = [public_id for public_id, name in report.all_judges if name in asked and public_id not in members]
    return Choice("without", gettext("Judges of the panel"), options, without[0] if len(without) == 1 else "")


def gain_table(report: JudgePanel) -> Table:
    return Table(
        [Column(gettext("Predicted by")), *people_columns(gettext("R² of people's differences"), DIGITS)],
        [[name, *people_cells(one)] for name, one in _predictors(report)],
    )


def _predictors(report: JudgePanel) -> list[tuple[str, PeopleEstimate]]:
    found = report.found
    alone = sorted(
        ((name, member.alone) for name, member in zip(report.judges, found.members, strict=True)),
        key=lambda pair: (-pair[1].value, pair[0]),
    )
    only = gettext("%(judge)s alone")
    return [
        (gettext("the panel"), found.panel),
        (gettext("the best single judge"), found.single),
        *((only % {"judge": name}, one) for name, one in alone),
    ]


def _gain_block(report: JudgePanel) -> Block:
    heading = gettext("How much of people's differences between models is predicted")
    rows = [RangeRow(name, [people_span(one)]) for name, one in _predictors(report)]
    found = report.found
    return Block(
        "gain",
        heading,
        figure=ranges(rows, title=heading, x_title=gettext("R² out of sample"), step=0.01, series=[heading]),
        caption=gettext(
            "R² of people's differences between two models on an instruction, predicted without what people said of the "
            "instruction. 1 would be perfect; 0 is predicting that models differ on every instruction as they do on "
            "average."
        ),
        table=gain_table(report),
        notes=populations_meaning([found.gain, found.panel, *(member.alone for member in found.members)]),
    )


def members_table(report: JudgePanel, costs: PanelCosts) -> Table:
    columns = [
        Column(gettext("Judge")),
        Column(gettext("Share of the panel"), 2),
        Column(gettext("Weight"), DIGITS),
        *people_columns(gettext("R² alone"), DIGITS),
        Column(gettext("Fits in which it has a weight"), 0),
        Column(gettext("Fits in which it is the best judge"), 0),
        Column(gettext("Calls for 1,000 verdicts"), 0, optional=True),
        Column(gettext("Cost of 1,000 verdicts (%(currency)s)") % {"currency": costs.currency}, 2, optional=True),
        Column(gettext("Seconds for 1,000 verdicts"), 0, optional=True),
    ]
    rows = [
        [name, one.share, one.weight, *people_cells(one.alone), one.used, one.chosen, *_cost_cells(cost)]
        for name, one, cost in zip(report.judges, report.found.members, costs.members, strict=True)
    ]
    rows.sort(key=lambda row: (-float(str(row[1])), str(row[0])))
    return marked(Table(columns, rows), [str(row[0]) for row in rows])


def _cost_cells(cost: MemberCost) -> list[float | None]:
    return [cost.calls, None if cost.money is None else float(cost.money), cost.seconds]


def _members_block(report: JudgePanel, costs: PanelCosts) -> Block:
    unused = [name for name, member in zip(report.judges, report.found.members, strict=True) if not member.slope > 0]
    answer = ""
    if unused:
        answer = ngettext(
            "%(judges)s adds nothing to the others and need not be asked.",
            "%(judges)s add nothing to the others and need not be asked.",
            len(unused),
        ) % {"judges": gettext(", ").join(unused)}
    scale = gettext("preferences") if report.paired else gettext("people's scale")
    notes = [
        gettext(
            "The weight is what a difference of one standard deviation in the judge's own scores adds to the panel's "
            "prediction, in points of %(scale)s, fitted to all instructions; the share is its part in the sum of all "
            "weights. Of the %(fits)d fits to other instructions than those predicted, the table counts those in which the "
            "judge has a weight, and those in which it is the best single judge."
        )
        % {"scale": scale, "fits": report.found.fits}
    ]
    if any(cost.money is None for cost in costs.members):
        notes.append(
            gettext(
                "The cost of a judge is unknown where its verdicts were imported, or nobody said what its calls cost."
            )
        )
    title = gettext("What each judge adds, and what it costs")
    return Block("members", title, answer=answer, table=members_table(report, costs), notes=notes, folded=True)


def _labels_block(report: JudgePanel) -> Block:
    found = report.found
    words = {
        "n": f"{found.instructions:,}",
        "pool": f"{found.pool:,}",
        "most": number(100 * found.most, 1),
        "single": number(100 * found.most_single, 1),
    }
    if found.pool <= found.instructions:
        answer = gettext(
            "People rated every instruction that all judges scored, so the judges save no label here; they save some once "
            "they score other instructions as well."
        )
    else:
        answer = (
            gettext(
                "With people's labels on %(n)s of the %(pool)s instructions that all judges scored, the panel can save at "
                "most %(most)s %% of the labels that a difference of two models needs, the best single judge at most "
                "%(single)s %%."
            )
            % words
        )
    note = gettext(
        "The most that can be saved in this way is R² × (1 − n/N), with n instructions labelled, drawn uniformly, of N that "
        "were judged. It is the bound of prediction-powered inference with the best linear weight."
    )
    return Block("labels", gettext("How many labels the panel can save"), answer=answer, notes=[note], folded=True)


def _left_out_block(report: JudgePanel) -> Block | None:
    if not report.left_out:
        return None
    table = Table(
        [
            Column(gettext("Judge")),
            Column(gettext("Why it is left out"), names=_reasons()),
            Column(gettext("Rated responses that it scored"), 0),
        ],
        [[one.judge, one.why, one.n] for one in report.left_out],
    )
    title = gettext("Judges that are not in the panel")
    return Block("left-out", title, table=marked(table, _names(report.left_out)), folded=True)


def _names(left_out: Sequence[LeftOutJudge]) -> list[str]:
    return [one.judge for one in left_out]


def _reasons() -> dict[str, str]:
    return {
        "failed": gettext("a run of it failed its canary texts"),
        "panel": gettext("it is made of other judges' verdicts"),
        "not_asked": gettext("it was not chosen"),
        "few_in_common": gettext(
            "it scored none of the responses that people rated, or less than %(share)d %% as many of them as the judge that "
            "scored the most"
        )
        % {"share": 100 * LEAST_SHARE},
    }


def _method(report: JudgePanel) -> list[str]:
    return [
        gettext(
            "The instructions are split at random into %(folds)d parts, and this %(times)d times. For each part, weights "
            "that are not below 0 are fitted by least squares to people's differences between models on the other parts; "
            "the best single judge is chosen, and scaled, on these as well. So no prediction rests on what people said of "
            "the instruction that it is about. R² is the mean over the splits."
        )
        % {"folds": report.found.folds, "times": report.found.fits // report.found.folds},
        gettext(
            "Only differences between models count: scores are taken without the mean of their instruction and of their "
            "model, so neither a judge's severity nor the models' means help it. Only responses that every judge scored are "
            "used. For intervals, instructions are drawn again and everything is fitted and chosen anew; raters, and each "
            "rater's answers to each instruction, are left out in turn."
        ),
    ]
