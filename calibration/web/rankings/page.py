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
from calibration.statistics.ranking.populations import SKEWED_UNDER, ModelDifference
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.templatetags.figures import grouped
from calibration.web.blocks import Choice, ResultPage
from calibration.web.failed_judges import all_marked
from calibration.web.messages.intervals import ends_words
from calibration.web.messages.names import criterion_name
from calibration.web.messages.populations import both_words
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import by_items, cluster_words
from calibration.web.rankings.differences import difference_words, needed_sentence
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
        opening = _pairs_opening(report.parts.strength, clusters)
        blocks = pair_blocks(report.parts, clusters, items=items)
    else:
        opening = _scores_opening(report.parts.scores, clusters, items=items)
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
            "calibration.statistics.ranking.strength_populations",
            "calibration.statistics.crossed",
            "calibration.statistics.ranking.davidson",
            "calibration.statistics.ranking.elo",
            "calibration.statistics.ranking.paired_effects",
            "calibration.statistics.judges.bias",
        ]
        if pairs
        else [
            "calibration.statistics.ranking.scores",
            "calibration.statistics.ranking.populations",
            "calibration.statistics.crossed",
            "calibration.statistics.ranking.power",
        ],
    )


RANKINGS_PAGE = PageKind(
    about_judges=True,
    report=RANKINGS,
    settings=lambda study, query: ranking_settings(query.get("criterion", ""), query.get("by", "")),
    page=rankings_page,
    title=rankings_title,
)


def _pairs_opening(found: Strengths | Missing, clusters: str) -> str:
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
        return gettext("Which model leads is not shown: %(models)s have the same highest Elo strength, %(value)s.") % {
            "models": _named(level),
            "value": number(rows[0].strength, 1),
        }
    lead = found.differences[0]
    if rows[0].bound == "at_least" and rows[0].bound_at is not None:
        return _undefeated(rows[0], lead)
    clear = gettext("%(first)s ranks first, ahead of %(second)s by %(lead)s on the Elo scale.")
    unclear = gettext(
        "Which model leads is not shown: %(first)s ranks first, ahead of %(second)s by %(lead)s on the Elo scale."
    )
    sentence = (clear if leads(rows[0], lead) else unclear) % {
        "first": rows[0].model,
        "second": rows[1].model,
        "lead": difference_words(lead, step=1),
    }
    more = "" if leads(rows[0], lead) else needed_sentence(lead, clusters)
    return " ".join(part for part in (sentence, _possible_ranks(rows[0]), more) if part)


def _undefeated(first: ModelStrength, lead: ModelDifference) -> str:
    """State a lead that no comparison limits: the strength has only a lower bound."""
    clear = gettext(
        "%(first)s ranks first: it never lost to or tied with the others, so that its strength has no finite estimate; with "
        "virtual ties it is %(value)s on the Elo scale, and with 95 %% confidence at least %(bound)s."
    )
    unclear = gettext(
        "Which model leads is not shown: %(first)s never lost to or tied with the others, but too seldom met them. Its "
        "strength has no finite estimate; with virtual ties it is %(value)s on the Elo scale, and with 95 %% confidence at "
        "least %(bound)s."
    )
    return (clear if leads(first, lead) else unclear) % {
        "first": first.model,
        "value": number(first.strength, 1),
        "bound": number(first.bound_at or 0.0, 1),
    }


def leads(first: ModelStrength | ModelMean, lead: ModelDifference) -> bool:
    """Whether the first model is shown to be ahead of every other ranked one: a lead without a p is not clear."""
    return first.rank_high == 1 and lead.p is not None and lead.shown and lead.value > 0


def _level(rows: Sequence[Row], value: Callable[[Row], float]) -> list[Row]:
    """Return the first model and those that are exactly level with it."""
    return [row for row in rows if abs(value(rows[0]) - value(row)) <= EVEN]


def _named(rows: Sequence[ModelStrength] | Sequence[ModelMean]) -> str:
    names = ", ".join(row.model for row in rows[:NAMED])
    return f"{names}, …" if len(rows) > NAMED else names


def _possible_ranks(first: ModelStrength | ModelMean) -> str:
    """State the ranks that the first model may truly have."""
    low, high = first.rank_low, first.rank_high
    if low is None or high is None or low == high:
        return ""
    return gettext("Its true rank lies between %(low)d and %(high)d with 95 %% confidence.") % {
        "low": low,
        "high": high,
    }


def _scores_opening(found: RankedMeans | Missing, clusters: str, *, items: bool) -> str:
    if isinstance(found, Missing):
        return reason_of(found)
    rows = [row for row in found.models if not row.not_ranked]
    if len(rows) == 1:
        return gettext(
            "%(first)s has a mean score of %(mean)s; no other model was rated on enough of the instructions to be ranked."
        ) % {"first": rows[0].model, "mean": mean_words(rows[0], items=items)}
    level = _level(rows, lambda row: row.mean)
    if len(level) > 1:
        return gettext("Which model leads is not shown: %(models)s have the same highest mean score, %(value)s.") % {
            "models": _named(level),
            "value": number(rows[0].mean),
        }
    first, second = rows[0], rows[1]
    lead = found.differences[0]
    clear = gettext(
        "%(first)s has the highest mean score, %(mean)s, followed by %(second)s with %(other)s; it is ahead by %(lead)s on "
        "the %(n)d %(of)s that both have."
    )
    unclear = gettext(
        "Which model leads is not shown: %(first)s has the highest mean score, %(mean)s, followed by %(second)s with "
        "%(other)s; the difference is %(lead)s on the %(n)d %(of)s that both have."
    )
    apart = gettext(
        "Which model leads is not shown: %(first)s has the highest mean score, %(mean)s, followed by %(second)s with "
        "%(other)s, but they were not rated on the same %(of)s."
    )
    shown = leads(first, lead)
    sentence = (apart if not lead.n else clear if shown else unclear) % {
        "first": first.model,
        "second": second.model,
        "mean": mean_words(first, items=items),
        "other": number(second.mean),
        "lead": difference_words(lead, step=0.01),
        "n": lead.n,
        "of": clusters,
    }
    more = "" if shown or lead.value <= 0 else needed_sentence(lead, clusters)
    parts = [sentence, _reversal(found, first.model, second.model, lead, clusters), _possible_ranks(first), more]
    return " ".join(part for part in parts if part)


def _reversal(found: RankedMeans, first: str, second: str, lead: ModelDifference, clusters: str) -> str:
    """Say that the second model is ahead where the two are compared alike; '' where it is not."""
    if found.reversed_in:
        return gettext(
            "In each of the %(n)d categories that both have, however, %(second)s has the higher mean: the total reflects on "
            "which categories each was rated more often."
        ) % {"n": found.reversed_in, "second": second}
    if lead.n and lead.value < 0:
        return gettext("On the %(of)s that both have, however, %(second)s is ahead of %(first)s.") % {
            "of": clusters,
            "first": first,
            "second": second,
        }
    return ""


def mean_words(row: ModelMean, *, items: bool) -> str:
    """Write a mean with both of its intervals, or with its range under 20 instructions."""
    if row.interval_kind != "bootstrap95":
        return ends_words(row.mean, row.low, row.high, row.interval_kind, items=items)
    such = None if row.such_low is None or row.such_high is None else (row.such_low, row.such_high)
    return both_words(row.mean, such, (row.low, row.high))


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
            "Intervals for raters like these come from refits without each of the %(of)s, each rater, and each rater's "
            "comparisons of one of them (Cameron, Gelbach and Miller 2011), with Student's t; those of strengths and points "
            "for exactly these raters resample whole %(of)s. True ranks: a model counts as ahead or behind if the p of the "
            "difference, corrected for all pairs by Holm's step-down method, is under 0.05, so that all ranks hold at once."
        )
        % {"of": clusters},
        gettext(
            "A model that was never beaten, or that never won, has no finite strength. Then every two models get one "
            "virtual tie, and the strength of that model is stated with a one-sided 95 %% bound from the number of %(of)s, "
            "or of raters if fewer, on which it met the others; its differences are tested by the sign test."
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
        _as_given(),
    ]


def _scores_method(clusters: str) -> list[str]:
    return [
        gettext(
            "A model's score is the mean of all its ratings on the criterion. Intervals for exactly these raters resample "
            "whole %(of)s with replacement; those for raters like these come from leaving out each of the %(of)s, each "
            "rater, and each rater's ratings of one of them (Cameron, Gelbach and Miller 2011), with Student's t. What is "
            "stated about a model depends on its own number of %(of)s: a 95 %% interval from %(least)d, a range from 2, "
            "otherwise neither. Under %(skewed)d %(of)s, both intervals follow the skew of the scores by a bootstrap of t."
        )
        % {"of": clusters, "least": MIN_CLUSTERS, "skewed": SKEWED_UNDER},
        gettext(
            "Two models are compared on the %(of)s that both have, each weighted by how often it was rated. Ranks: a model "
            "counts as ahead or behind if the p of the difference, corrected for all pairs by Holm's step-down method, is "
            "under 0.05, so that all ranks hold at once."
        )
        % {"of": clusters},
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
            "Shared ranks, as in the paper (HREF), without correction for the number of pairs: going down the list of "
            "means, a model shares the rank of its leader as long as their paired t test over %(of)s has p of 0.05 or more. "
            "Power: the same tests for all pairs of models with growing numbers of %(of)s, averaged over 20 random orders."
        )
        % {"of": clusters},
        _as_given(),
    ]


def _as_given() -> str:
    return gettext("The models are taken as given: no interval takes them as drawn from more models.")


def _sources(pairs: bool) -> list[str]:
    if pairs:
        return [
            "LLMEval (arXiv 2312.07398), Eq. 1 to 4 and 6, table 3",
            "Bradley & Terry (1952)",
            "Davidson (1970)",
            "Holm (1979)",
            "HREF (arXiv 2412.15524), appendix J",
        ]
    return ["HREF (arXiv 2412.15524), table 3 and figure 4", "Holm (1979)"]
