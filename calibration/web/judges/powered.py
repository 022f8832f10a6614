"""The block on win rates and strengths of models from people and a judge together."""

from statistics import median

from django.utils.translation import gettext

from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, ranges
from calibration.reports.codec import Missing
from calibration.reports.people.powered import PoweredModel, PoweredWins
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import all_marked
from calibration.web.messages.people_estimates import people_cells, people_columns, people_span, populations_meaning
from calibration.web.messages.reasons import reason_of


def powered_wins_block(judge: str, found: PoweredWins | Missing, place: int, *, items: bool) -> Block:
    """Show each model's win rate and strength with the judge's help, beside those from people alone."""
    title = gettext("Win rates and strengths from people and %(judge)s together") % {"judge": judge}
    key = f"powered-wins-{place}"
    if isinstance(found, Missing):
        return Block(key, title, reason=reason_of(found), folded=True)
    figure = ranges(
        [RangeRow(row.model, [people_span(row.win_rate), people_span(row.win_rate_alone)]) for row in found.models],
        title=title,
        x_title=gettext("Win rate"),
        step=0.01,
        series=[gettext("people and judge"), gettext("people alone")],
    )
    table = Table(
        [
            Column(gettext("Model")),
            *people_columns(gettext("Win rate"), 3),
            *people_columns(gettext("Win rate, people alone"), 3),
            *people_columns(gettext("Strength"), 3),
            *people_columns(gettext("Strength, people alone"), 3),
        ],
        [
            [
                row.model,
                *people_cells(row.win_rate),
                *people_cells(row.win_rate_alone),
                *people_cells(row.strength),
                *people_cells(row.strength_alone),
            ]
            for row in found.models
        ],
    )
    notes = populations_meaning((row.win_rate for row in found.models), items=items)
    if any(row.strength is None for row in found.models):
        notes.append(
            gettext("Strengths are not stated: a model never lost or never won, so that its strength has no limit.")
        )
    block = Block(key, title, answer=_answer(found), figure=figure, table=table, notes=notes, folded=True)
    return all_marked(block, judge)


def _answer(found: PoweredWins) -> str:
    words = {"n": number(found.n, 1), "more": number(found.n_judge_only, 1), "power": number(found.power, 0.01)}
    said = (
        gettext(
            "People's preferences on %(n)s instructions are combined with the judge's on %(more)s further ones, with the "
            "weight %(power)s on the judge, which makes the intervals narrowest."
        )
        % words
    )
    saved = [1 - ratio for row in found.models if (ratio := _ratio(row)) is not None]
    if not saved:
        return said
    narrower = gettext(
        "Intervals of win rates for exactly these raters change in width by a factor of %(ratio)s at the median."
    )
    return f"{said} " + narrower % {"ratio": number(1 - median(saved), 0.01)}


def _ratio(row: PoweredModel) -> float | None:
    one, two = row.win_rate, row.win_rate_alone
    if one.these_low is None or one.these_high is None or two.these_low is None or two.these_high is None:
        return None
    wide = two.these_high - two.these_low
    return (one.these_high - one.these_low) / wide if wide > 0 else None
