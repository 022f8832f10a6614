"""The blocks on means, win rates and strengths of models from people and a judge together, and the labels they need."""

from math import isinf
from statistics import median

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, ranges
from calibration.reports.codec import Missing
from calibration.reports.judges import ScoreJudge, Separation
from calibration.reports.people.powered import PoweredModel, PoweredWins
from calibration.statistics.judges.estimates import LEAST_RATERS_OF_MEANS
from calibration.statistics.judges.prediction_powered import LabelsSaved
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import all_marked
from calibration.web.messages.people_estimates import (
    people_cells,
    people_columns,
    people_span,
    people_words,
    populations_meaning,
)
from calibration.web.messages.reasons import reason_of


def powered_block(judge: ScoreJudge, place: int, *, items: bool) -> Block:
    """Show each model's mean with the judge's help, beside that of people alone."""
    title = gettext("Model means from people and %(judge)s together") % {"judge": judge.judge}
    key, found = f"powered-{place}", judge.powered
    if isinstance(found, Missing):
        return Block(key, title, reason=reason_of(found))
    known = [(row.model, row.estimate) for row in found if not isinstance(row.estimate, Missing)]
    if not known:
        return Block(
            key,
            title,
            reason=gettext(
                "People have scored every response that this judge scored. The judge adds information once it scores "
                "other responses as well."
            ),
        )
    figure = ranges(
        [
            RangeRow(model, [people_span(estimate.powered), people_span(estimate.human_only)])
            for model, estimate in known
        ],
        title=title,
        x_title=gettext("Mean score, 0 to 10"),
        step=0.01,
        series=[gettext("people and judge"), gettext("people alone")],
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("People's scores"), 0),
            Column(gettext("Additional scores by the judge"), 0),
            *people_columns(gettext("Prediction-powered estimate"), 3),
            *people_columns(gettext("People alone"), 3),
            Column(gettext("Weight on the judge"), 2),
            Column(gettext("Effective sample size"), 0),
        ],
        [
            [
                model,
                found.n,
                found.n_judge_only,
                *people_cells(found.powered),
                *people_cells(found.human_only),
                found.power,
                None if isinf(found.effective_n) else found.effective_n,
            ]
            for model, found in known
        ],
    )
    estimates = [estimate.powered for _, estimate in known]
    notes = populations_meaning(estimates, items=items, least_raters=LEAST_RATERS_OF_MEANS)
    return all_marked(Block(key, title, figure=figure, table=table, notes=notes), judge.judge)


def separate_block(judge: ScoreJudge, place: int, *, items: bool) -> Block:
    """Show how many labels would separate two models, and what the judge saves of them."""
    title = gettext("Labels needed to separate two models (%(judge)s)") % {"judge": judge.judge}
    found = judge.separate
    if isinstance(found, Missing):
        return Block(f"separate-{place}", title, reason=reason_of(found))
    table = Table(
        [Column(gettext("Scores used")), Column(gettext("Labels per model"), 0)],
        [
            [gettext("people and judge, in total"), found.total],
            [gettext("people and judge, still needed"), found.more],
            [gettext("people alone, in total"), found.alone],
        ],
    )
    answer = " ".join(
        filter(None, [separate_sentence(judge.judge, found, items=items), saved_words(judge.judge, found.saved)])
    )
    notes = populations_meaning([found.powered], items=items, least_raters=LEAST_RATERS_OF_MEANS)
    return all_marked(Block(f"separate-{place}", title, answer=answer, table=table, notes=notes), judge.judge)


def saved_words(judge: str, found: LabelsSaved | Missing) -> str:
    """State what share of the labels the judge saves for this difference, and the most that it can save; '' if unknown."""
    if isinstance(found, Missing):
        return ""
    words = {
        "judge": judge,
        "saved": number(100 * found.saved, 1),
        "most": number(100 * found.most, 1),
        "rho": people_words(found.rho),
        "n": found.n,
        "pool": found.pool,
    }
    return (
        gettext(
            "At equal width of the interval for exactly these raters, %(judge)s saves %(saved)s %% of the human labels for "
            "this difference here. The most that this judge can save in this way is %(most)s %%, ρ² (1 − n/N), with "
            "n = %(n)d instructions labelled of the N = %(pool)d that it scored. ρ, the correlation over instructions of "
            "people's difference with the judge's, is %(rho)s."
        )
        % words
    )


def separate_sentence(judge: str, found: Separation, *, items: bool) -> str:
    """Say how far apart two models are, and how many labels would separate them, for the raters of the interval."""
    words = {
        "one": found.one,
        "other": found.other,
        "judge": judge,
        "difference": people_words(found.powered, items=items),
    }
    if found.separated:
        return (
            gettext(
                "With %(judge)s, %(one)s and %(other)s are already separated: they differ by %(difference)s out of 10 "
                "points."
            )
            % words
        )
    said = gettext("With %(judge)s, %(one)s and %(other)s differ by %(difference)s out of 10 points.") % words
    return f"{said} {_labels_needed(found)}"


def _labels_needed(found: Separation) -> str:
    if found.more is None:
        return gettext(
            "More labels by these raters would not separate them for raters like these: that takes more raters."
        )
    if found.population == "these":
        needed = ngettext(
            "For exactly these raters, about %(more)s more human label for each model would separate them with 80 %% power "
            "if they differ as much as here",
            "For exactly these raters, about %(more)s more human labels for each model would separate them with 80 %% power "
            "if they differ as much as here",
            found.more,
        )
    else:
        needed = ngettext(
            "For raters like these, about %(more)s more label by these raters for each model would separate them with "
            "80 %% power if they differ as much as here",
            "For raters like these, about %(more)s more labels by these raters for each model would separate them with "
            "80 %% power if they differ as much as here",
            found.more,
        )
    words = {"needed": needed % {"more": number(found.more, 1)}}
    if found.alone is None:
        return gettext("%(needed)s; without the judge, no number of labels by these raters would.") % words
    words["alone"] = number(found.alone, 1)
    return gettext("%(needed)s (%(alone)s in total without the judge).") % words


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
    win_rates = (row.win_rate for row in found.models)
    notes = populations_meaning(win_rates, items=items, least_raters=LEAST_RATERS_OF_MEANS)
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
