"""The rankings page: which model is better, and the evidence for it, from pairs or from scores."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from django.utils.translation import gettext, ngettext

from annotation.models import Study
from calibration.figures.drawing import number
from calibration.reports.codec import Missing
from calibration.reports.pair_rankings import ModelStrength, Strengths
from calibration.reports.rankings import (
    ALL,
    PEOPLE,
    RANKINGS,
    ModelMean,
    PairRanking,
    RankedMeans,
    Rankings,
    ScoreRanking,
    ranking_settings,
)
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.templatetags.figures import grouped
from calibration.web.blocks import Choice, ResultPage
from calibration.web.failed_judges import all_marked
from calibration.web.messages.intervals import ends_words, estimate_words
from calibration.web.messages.names import criterion_name
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import by_items, cluster_words
from calibration.web.rankings.pairs import pair_blocks
from calibration.web.rankings.scores import score_blocks
from calibration.web.serving import PageKind
from core.messages.counts import counted

Row = TypeVar("Row", ModelStrength, ModelMean)
EVEN = 1e-6
"""Strengths and means that differ by less than this are equal: only rounding separates them."""
NAMED = 4
"""Most models that are named when more of them share a place."""


def rankings_title() -> str:
    return gettext("Which model is better?")


def rankings_page(study: Study, report: Rankings) -> ResultPage:
    if isinstance(report, Missing):
        return ResultPage(rankings_title(), reason_of(report), [], [])
    pairs, clusters, items = isinstance(report, PairRanking), cluster_words(study), by_items(study)
    if isinstance(report, PairRanking):
        opening, blocks = _pairs_opening(report.parts.strength, items=items), pair_blocks(report.parts, clusters)
    else:
        opening = _scores_opening(report.parts.scores, items=items)
        blocks = score_blocks(report.parts, clusters, items=items)
    judge = next((name for public, name in report.judges if public == report.by), "")
    blocks = [all_marked(block, judge) for block in blocks]
    return ResultPage(
        title=rankings_title(),
        opening=opening,
        about=_about(report),
        choices=_choices(study, report),
        blocks=blocks,
        method=_pairs_method(clusters) if pairs else _scores_method(clusters),
        sources=_sources(pairs),
        code=[
            "calibration.statistics.ranking.pairs",
            "calibration.statistics.ranking.bradley_terry",
            "calibration.statistics.ranking.davidson",
            "calibration.statistics.ranking.elo",
            "calibration.statistics.ranking.paired_effects",
            "calibration.statistics.judges.bias",
        ]
        if pairs
        else ["calibration.statistics.ranking.scores", "calibration.statistics.ranking.power"],
    )


RANKINGS_PAGE = PageKind(
    about_judges=True,
    report=RANKINGS,
    settings=lambda study, query: ranking_settings(query.get("criterion", ""), query.get("by", "")),
    page=rankings_page,
    title=rankings_title,
)


def _pairs_opening(found: Strengths | Missing, *, items: bool) -> str:
    if isinstance(found, Missing):
        return reason_of(found)
    rows = [row for row in found.models if not row.not_ranked]
    if len(rows) == 1:
        return gettext(
            "%(first)s has a strength of %(value)s Elo points; no other model was compared on enough of the instructions "
            "to be ranked."
        ) % {"first": rows[0].model, "value": number(rows[0].strength, 1)}
    level = _level(rows, lambda row: row.strength)
    if len(level) > 1:
        return gettext("%(n)d models share first place: %(models)s, each with a strength of %(value)s Elo points.") % {
            "n": len(level),
            "models": _named(level),
            "value": number(rows[0].strength, 1),
        }
    clear = gettext("%(first)s ranks first, %(lead)s Elo points ahead of %(second)s.")
    unclear = gettext("No model clearly leads: %(first)s ranks first, %(lead)s Elo points ahead of %(second)s.")
    sentence = (unclear if (rows[0].rank_high or 0) > 1 else clear) % {
        "first": rows[0].model,
        "second": rows[1].model,
        "lead": estimate_words(found.lead, step=1, items=items),
    }
    return f"{sentence} {_certainty(found)}".strip()


def _level(rows: Sequence[Row], value: Callable[[Row], float]) -> list[Row]:
    """Return the first model and those that are exactly level with it."""
    return [row for row in rows if abs(value(rows[0]) - value(row)) <= EVEN]


def _named(rows: Sequence[ModelStrength] | Sequence[ModelMean]) -> str:
    names = ", ".join(row.model for row in rows[:NAMED])
    return f"{names}, …" if len(rows) > NAMED else names


def _certainty(found: Strengths | RankedMeans) -> str:
    """State how certain first place is: the probability of being ahead of the second model, and the possible ranks."""
    chance = None if isinstance(found.ahead, Missing) else found.ahead[0][1]
    low, high = found.models[0].rank_low, found.models[0].rank_high
    if chance is None or low is None or high is None:
        return ""
    shown = number(chance, 0.01) if chance < 0.995 else "> 0.99"
    if low == high:
        return gettext(
            "The probability that it is truly ahead is %(chance)s, and its true rank is 1 with 95 %% confidence."
        ) % {"chance": shown}
    return gettext(
        "The probability that it is truly ahead is %(chance)s; its true rank lies between %(low)d and %(high)d."
    ) % {"chance": shown, "low": low, "high": high}


def _scores_opening(found: RankedMeans | Missing, *, items: bool) -> str:
    if isinstance(found, Missing):
        return reason_of(found)
    rows = [row for row in found.models if not row.not_ranked]
    if len(rows) == 1:
        return gettext(
            "%(first)s has a mean score of %(mean)s; no other model was rated on enough of the instructions to be ranked."
        ) % {
            "first": rows[0].model,
            "mean": ends_words(rows[0].mean, rows[0].low, rows[0].high, rows[0].interval_kind, items=items),
        }
    level = _level(rows, lambda row: row.mean)
    if len(level) > 1:
        return gettext("%(n)d models share first place: %(models)s, each with a mean score of %(value)s.") % {
            "n": len(level),
            "models": _named(level),
            "value": number(rows[0].mean),
        }
    clear = gettext("%(first)s has the highest mean score, %(mean)s, followed by %(second)s with %(other)s.")
    unclear = gettext(
        "No model clearly leads: %(first)s has the highest mean score, %(mean)s, followed by %(second)s with %(other)s."
    )
    first = rows[0]
    sentence = (clear if _leads(rows) else unclear) % {
        "first": first.model,
        "second": rows[1].model,
        "mean": ends_words(first.mean, first.low, first.high, first.interval_kind, items=items),
        "other": number(rows[1].mean),
    }
    return f"{sentence} {_certainty(found)}".strip()


def _leads(rows: Sequence[ModelMean]) -> bool:
    """Whether the first model is ahead of every model whose mean has an interval; a note names the others."""
    unknown = sum(row.interval_kind == "none" for row in rows[1:])
    ahead = (rows[0].rank_high or 0) - unknown <= 1
    return rows[0].interval_kind != "none" and unknown < max(1, len(rows) - 1) and ahead


def _about(report: PairRanking | ScoreRanking) -> str:
    judge = next((name for public, name in report.judges if public == report.by), "")
    if isinstance(report, PairRanking):
        by_people = gettext("%(comparisons)s by %(raters)s.")
        by_judge = gettext("%(comparisons)s by the judge %(judge)s.")
        sentence = (by_judge if judge else by_people) % {
            "comparisons": counted(report.parts.n_games, "comparisons"),
            "raters": counted(report.n_raters, "raters"),
            "judge": judge,
        }
        if report.parts.n_left_out:
            sentence += " " + ngettext(
                "%(n)s more is left out because it does not compare two different models.",
                "%(n)s more are left out because they do not compare two different models.",
                report.parts.n_left_out,
            ) % {"n": grouped(report.parts.n_left_out)}
        return sentence
    low, high = report.parts.scale
    by_people = gettext("%(answers)s by %(raters)s, on a scale of %(low)s to %(high)s.")
    by_judge = gettext("%(answers)s by the judge %(judge)s, on a scale of %(low)s to %(high)s.")
    return (by_judge if judge else by_people) % {
        "answers": counted(report.n_answers, "answers"),
        "raters": counted(report.n_raters, "raters"),
        "judge": judge,
        "low": number(low, 1),
        "high": number(high, 1),
    }


def _choices(study: Study, report: PairRanking | ScoreRanking) -> list[Choice]:
    choices = []
    if len(report.criteria) > 1:
        criteria = [
            (key, gettext("Mean of all criteria") if key == ALL else criterion_name(study, key))
            for key in report.criteria
        ]
        choices.append(Choice("criterion", gettext("Criterion"), criteria, report.criterion))
    if report.judges:
        choices.append(Choice("by", gettext("Rated by"), [(PEOPLE, gettext("People")), *report.judges], report.by))
    return choices


def _pairs_method(clusters: str) -> list[str]:
    return [
        gettext(
            "Points: a win counts 1, a tie 0.5 (also if both are bad) and a loss 0. Bradley-Terry: maximum-likelihood "
            "strengths, with a tie as half a win for each side, on the scale of Elo points (400 points are odds of 10 "
            "to 1) around 1500. Davidson: the same model, with ties as an outcome of their own."
        ),
        gettext(
            "Intervals resample whole %(of)s with replacement. True ranks: a model counts as ahead or behind if the "
            "interval of the difference, simultaneous over all rivals, excludes 0. The probability of being truly "
            "ahead is the share of resamples in which the model is ahead."
        )
        % {"of": clusters},
        gettext(
            "Elo: every model starts at 1500, K is 32, and the comparisons are processed once, in the order in which "
            "they were made. The ratings depend on that order: the figure shows their spread over 200 shuffled orders "
            "and over the last 100 comparisons."
        ),
        gettext(
            "Effects of position and length are covariates of the Bradley-Terry model: they are what being shown first, "
            "or being longer, adds to the log-odds if the models are equal."
        ),
    ]


def _scores_method(clusters: str) -> list[str]:
    return [
        gettext(
            "A model's score is the mean of all its ratings on the criterion. Intervals resample whole %(of)s with "
            "replacement, for all models together, so that a hard one affects them all. What is stated about a model "
            "depends on its own number of %(of)s: a 95 %% interval from %(least)d, a range from 2, otherwise neither."
        )
        % {"of": clusters, "least": MIN_CLUSTERS},
        gettext(
            "The total on a leaderboard differs from this mean: a judge's verdicts, not people's ratings, are weighted "
            "there by checklist item and averaged by category, while this mean counts every rating alike."
        ),
        gettext(
            "A model rated on fewer than half of the median number of %(of)s of all models, or on fewer than %(least)d "
            "where another has as many, is listed without a rank; shared ranks and power leave it out."
        )
        % {"of": clusters, "least": MIN_CLUSTERS},
        gettext(
            "Shared ranks: going down the list of means, a model shares the rank of its leader as long as their paired t "
            "test over %(of)s has p of 0.05 or more. Power: the same tests for all pairs of models with growing numbers "
            "of %(of)s, averaged over 20 random orders."
        )
        % {"of": clusters},
    ]


def _sources(pairs: bool) -> list[str]:
    if pairs:
        return [
            "LLMEval (arXiv 2312.07398), Eq. 1 to 4 and 6, table 3",
            "Bradley & Terry (1952)",
            "Davidson (1970)",
            "Mogstad, Romano, Shaikh & Wilhelm (2024)",
            "HREF (arXiv 2412.15524), appendix J",
        ]
    return ["HREF (arXiv 2412.15524), table 3 and figure 4", "Mogstad, Romano, Shaikh & Wilhelm (2024)"]
