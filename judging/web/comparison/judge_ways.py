"""The block on what adds to one judge: length and format, both orders of a pair, and further answers."""

from collections.abc import Mapping

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import marked
from calibration.web.messages.people_estimates import people_cells, people_columns, people_words, populations_meaning
from generation.endpoints.pricing import currency_of
from judging.comparison.judge_panel import MemberCost, ways_costs
from judging.comparison.panels.ways import JudgeWays, NoWay, WayGain

DIGITS = 3
MOST_NAMED = 3
"""Rows that the answer names with their gains; the table has them all."""


def ways_block(study: Study, ways: JudgeWays, costs: Mapping[str, MemberCost]) -> Block:
    """Build the block, whose answer claims only gains that hold when all its rows are corrected together."""
    return Block(
        "ways",
        gettext("Other ways to save more labels"),
        answer=ways_words(ways),
        table=ways_table(study, ways, costs) if ways.rows else None,
        notes=[*_not_measured(ways), *(_method(ways) if ways.rows else [])],
        folded=True,
    )


def ways_words(ways: JudgeWays) -> str:
    """Say which ways are shown to add to which judge, or that none is, or what is needed."""
    if not ways.rows:
        return _needed_words(ways)
    shown = sorted((row for row in ways.rows if row.shown), key=lambda row: (-row.found.gain.value, row.judge))
    if not shown:
        return ngettext(
            "Whether length and format, another order or further answers add to what a judge predicts of people's "
            "differences between models is not shown: the gain in the only row of the table may be 0.",
            "Whether length and format, another order or further answers add to what a judge predicts of people's "
            "differences between models is not shown: corrected together, none of the gains in the %(n)d rows of the table "
            "is shown to be above 0.",
            len(ways.rows),
        ) % {"n": len(ways.rows)}
    each = gettext("%(judge)s with %(way)s (R² gains %(gain)s)")
    named = [
        each % {"judge": row.judge, "way": way_names()[row.way], "gain": people_words(row.found.gain)}
        for row in shown[:MOST_NAMED]
    ]
    words = {"n": len(shown), "all": len(ways.rows), "named": gettext("; ").join(named)}
    if len(shown) > MOST_NAMED:
        return (
            gettext(
                "In %(n)d of the %(all)d rows of the table, corrected together, a judge is shown to predict people's "
                "differences between models better than by one answer alone; the largest gains: %(named)s."
            )
            % words
        )
    return (
        gettext(
            "Shown to predict people's differences between models better than the judge does by one answer alone: %(named)s."
        )
        % words
    )


def way_names() -> dict[str, str]:
    return {
        "length_and_format": gettext("length and format"),
        "both_orders": gettext("both orders"),
        "repeats": gettext("further answers"),
    }


def _needed_words(ways: JudgeWays) -> str:
    few = [one.n for one in ways.not_measured if one.why == "few_instructions"]
    if few:
        return ngettext(
            "What length and format, both orders or further answers add to a judge is stated from %(needed)d instructions "
            "on, on which people compared models that the judge scored; there is %(n)d.",
            "What length and format, both orders or further answers add to a judge is stated from %(needed)d instructions "
            "on, on which people compared models that the judge scored; there are %(n)d.",
            max(few),
        ) % {"needed": MIN_CLUSTERS, "n": max(few)}
    return gettext(
        "What length and format, both orders or further answers add to a judge cannot be measured here; the notes say why."
    )


def ways_table(study: Study, ways: JudgeWays, costs: Mapping[str, MemberCost]) -> Table:
    currency = {"currency": currency_of(study.workspace_id)}
    columns = [
        Column(gettext("Judge")),
        Column(gettext("With"), names=way_names()),
        Column(gettext("R² alone"), DIGITS),
        Column(gettext("R² together"), DIGITS),
        *people_columns(gettext("Gain"), DIGITS),
        Column(gettext("p, corrected for all rows"), DIGITS, optional=True),
        Column(gettext("Most labels saved alone (%)"), 1),
        Column(gettext("Most labels saved together (%)"), 1),
        Column(gettext("Answers for one verdict"), 2),
        Column(gettext("Calls for 1,000 verdicts"), 0, optional=True),
        Column(gettext("Cost of 1,000 verdicts alone (%(currency)s)") % currency, 2, optional=True),
        Column(gettext("Cost of 1,000 verdicts together (%(currency)s)") % currency, 2, optional=True),
    ]
    rows = []
    for row, cost in zip(ways.rows, ways_costs(ways, costs), strict=True):
        found = row.found
        money = [None if one.money is None else float(one.money) for one in (cost.alone, cost.together)]
        saved = [100 * found.most_single, 100 * found.most, row.answers, cost.together.calls, *money]
        values = [found.single.value, found.panel.value, *people_cells(found.gain), row.p]
        rows.append([row.judge, row.way, *values, *saved])
    return marked(Table(columns, rows), [row.judge for row in ways.rows])


def _not_measured(ways: JudgeWays) -> list[str]:
    """Say what could not be measured, each reason once, and which runs would show it."""
    said = []
    few = [one for one in ways.not_measured if one.why == "few_instructions"]
    if few and ways.rows:
        said.append(
            gettext("On fewer than %(needed)d instructions, nothing is stated: %(ways)s.")
            % {"needed": MIN_CLUSTERS, "ways": _listed(few)}
        )
    same = [one for one in ways.not_measured if one.why == "same_answers"]
    if same:
        said.append(
            gettext("Every answer was the same, so another one adds nothing: %(ways)s.") % {"ways": _listed(same)}
        )
    flat = [one for one in ways.not_measured if one.why == "no_differences"]
    if flat:
        said.append(
            gettext(
                "Where the scores of the judge, or of people, are alike on every instruction, nothing is stated: %(ways)s."
            )
            % {"ways": _listed(flat)}
        )
    if any(one.why == "no_texts" for one in ways.not_measured):
        said.append(gettext("Length and format of responses whose texts are not stored are unknown."))
    if not ways.asked("both_orders") and ways.paired:
        said.append(
            gettext(
                "No judge was asked about a pair in both orders; a run that asks in both orders would show what it adds."
            )
        )
    if not ways.asked("repeats"):
        said.append(
            gettext("No judge was asked the same question several times; a run with repeats would show what they add.")
        )
    return said


def _listed(missing: list[NoWay]) -> str:
    each = gettext("%(judge)s with %(way)s")
    return gettext("; ").join(each % {"judge": one.judge, "way": way_names()[one.way]} for one in missing)


def _method(ways: JudgeWays) -> list[str]:
    given: list[WayGain] = ways.rows
    said = [
        *populations_meaning([row.found.gain for row in given]),
        gettext(
            "R² of people's differences is out of sample and cross-fitted as a panel's. Alone is the judge's score, or its "
            "first answer of several, scaled in the same folds. A gain is claimed where its p is below .05 after Holm's "
            "correction for all rows of this table."
        ),
        gettext(
            "Length is the logarithm of the characters of a response; format says whether it has a heading, a list, bold "
            "words or a table. Their weights may have either sign: they take out what the judge gives to length or format "
            "and people do not, or add what people give to it. They cost nothing."
        ),
    ]
    if ways.asked("both_orders") or ways.asked("repeats"):
        said.append(
            gettext(
                "Both orders are the mean of the first answer in each order, beside the first answer of all; further "
                "answers are the mean of all answers in one order. The costs are those of as many answers, each at what an "
                "answer of the judge has cost."
            )
        )
    said.append(
        gettext(
            "The most that can be saved is R² × (1 − n/N), with n instructions labelled of N judged; each row counts "
            "the responses that it can use."
        )
    )
    return said
