"""The sentences of a leaderboard, in the reader's language: what its metric means, and who leads by how much."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy as _, ngettext

from calibration.figures.drawing import number
from calibration.statistics.ranking.coverage import Unranked
from calibration.statistics.resampling import MIN_CLUSTERS
from judging.leaderboards.ranked_models import instructions_of
from judging.leaderboards.table import Leaderboard
from judging.scores.metrics import FULFILLED, GRADED, MEAN, POINTS, REWARD, STARS, WINS
from judging.scores.points import Interval

EVEN = 1e-9
"""Scores closer than this are equal: they differ only by the rounding of sums."""
NAMED = 4
"""At most this many models that share a rank are named."""


@dataclass(frozen=True)
class MetricMessages:
    """`axis` labels a figure of overall scores; `method` and `source` are shown at the end of the page."""

    name: str
    overall: str
    axis: str
    method: str
    source: str


def metric_messages(metric: str) -> MetricMessages:
    return MetricMessages(*(str(text) for text in _MESSAGES[metric]))


_MESSAGES = {
    POINTS: (
        _("checklist points (HelloBench)"),
        _("Average"),
        _("Mean of the category scores; 100 is perfect"),
        _(
            "A response's points are the weighted mean of the judge's checklist answers, each mapped to 0 to 1, "
            "times 100; items that do not apply are excluded from both sums. A category's score is (mean points − "
            "75) × 4, so 100 is perfect and 0 corresponds to 75 points. The average is the unweighted mean of the "
            "categories, without intermediate rounding. A verdict that could not be used is excluded and counted, "
            "never set to zero."
        ),
        _(
            "Source: HelloBench (arXiv 2409.16191), equation 1 and table 2; with equal weights the points are its AVG-C."
        ),
    ),
    STARS: (
        _("share of full marks (LLMEval-2)"),
        _("Total"),
        _("Total: mean over the categories of the share of full marks"),
        _(
            "A category's score is 100 × (sum of stars)/(sum of full marks) over all its responses and criteria; "
            "the total is the unweighted mean of the categories. A verdict that could not be used is excluded and "
            "counted."
        ),
        _("Source: LLMEval (arXiv 2312.07398), the second stage."),
    ),
    GRADED: (
        _("score of 1 to 10 (WildBench)"),
        _("Score"),
        _("Score over all tasks; 100 is the maximum"),
        _(
            "A score is (mean grade − 5) × 20, for grades from 1 to 10: 100 is the maximum, −80 the minimum. The "
            "overall score is computed over all tasks at once. A verdict that could not be used is excluded and "
            "counted."
        ),
        _("Source: WildBench (arXiv 2406.04770), table 2; the × 2 in its text refers to a single item."),
    ),
    MEAN: (
        _("mean overall score"),
        _("Mean"),
        _("Mean of the categories' mean overall scores"),
        _(
            "A category's score is the mean of the judge's overall scores on their own scale; the overall mean is "
            "the unweighted mean of the categories. A verdict that could not be used is excluded and counted."
        ),
        _("Source: HelloBench (arXiv 2409.16191), figures 12 and 13."),
    ),
    WINS: (
        _("expected win rate (HREF)"),
        _("Win rate"),
        _("Wins plus half the ties, in percent of comparisons"),
        _(
            "A model's expected win rate is its wins plus half its ties, divided by all its comparisons with a "
            "usable verdict, against the chosen models or against all. “Both bad” counts as a tie."
        ),
        _("Source: HREF (arXiv 2412.15524), 4.2; its appendix E counts a tie as a win."),
    ),
    REWARD: (
        _("reward (WildBench)"),
        _("Reward"),
        _("Mean reward × 100; 0 means even"),
        _(
            "A comparison counts as +1, +0.5, 0, −0.5 or −1, from much better to much worse; the reward is the "
            "mean times 100. With a length margin of K characters, a slight win or loss counts as a tie if the "
            "winner is longer by more than K. With several baselines, the overall reward is the mean over them; a "
            "baseline compared with itself counts as 0."
        ),
        _("Source: WildBench (arXiv 2406.04770), 3.2; its text omits the minus signs of the losses."),
    ),
    FULFILLED: (
        _("instructions fulfilled (LongGenBench)"),
        _("STIC-2"),
        _("Fulfilled instructions, in percent of all"),
        _(
            "STIC-2 is the share of all instructions that the output fulfils; an instruction whose part is missing"
            " counts as not fulfilled. STIC-1 covers only instructions whose part is present. The completion rate "
            "is the share of the requested parts that are present, and the weighted average is completion rate × "
            "STIC-2. Counts are pooled over outputs; a verdict that could not be used is in none of them."
        ),
        _("Source: LongGenBench (arXiv 2409.02076), 2.4."),
    ),
}


@dataclass(frozen=True)
class Ranked:
    """A model with an overall score; `lead` is the best model's lead over it, None for the best and if unknown."""

    model: str
    score: float
    interval: Interval | None
    lead: Interval | None

    @property
    def unclear(self) -> bool:
        """Whether the best model's lead over this one may be chance; without an interval nothing shows that it is not."""
        return self.lead is None or self.lead.low <= 0.0


def ranks(board: Leaderboard) -> dict[str, int]:
    """By model, 1 for the best overall score; equal scores share a rank.

    Models without a score, or judged on too few instructions, have none.
    """
    known = {row.model: row.average for row in board.models if row.average is not None} if board.ranked else {}
    scores = {model: score for model, score in known.items() if model not in board.unranked}
    return {model: 1 + sum(other > score + EVEN for other in scores.values()) for model, score in scores.items()}


def opening(board: Leaderboard) -> str:
    """State who leads, how certain that is, and on how many verdicts it is based."""
    if not board.ranked:
        sentence = ngettext(
            "No model is ranked here: %(n)s verdict comes from a run that failed its canary texts and should not be "
            "trusted.",
            "No model is ranked here: %(n)s verdicts come from a run that failed its canary texts and should not be "
            "trusted.",
            board.discredited,
        ) % {"n": f"{board.discredited:,}"}
        return " ".join([sentence, *_judged(board)])
    ranked = [
        Ranked(row.model, row.average, board.intervals.averages.get(pk), board.intervals.leads.get(pk))
        for row in board.models
        if row.average is not None and row.model not in board.unranked
        for pk in [board.pks[row.model]]
    ]
    ranked.sort(key=lambda row: -row.score)
    if not ranked and any(row.average is not None for row in board.models):
        sentence = gettext("No model is ranked: each was judged on too few of the instructions that others answered.")
    elif not ranked:
        sentence = gettext("No model has been judged in every category yet, so there is no average to rank by.")
    else:
        sentence = _lead(ranked, metric_messages(board.metric.name), points=board.metric.name == POINTS)
        sentence += _too_few(board) if len(ranked) > 1 else ""
    return " ".join([sentence, *_judged(board)])


def unranked_notes(board: Leaderboard) -> list[str]:
    """Name the models that are listed without a rank, and say why."""
    counts = instructions_of(board.observations)
    rows = [row for row in board.models if board.ranked and row.average is not None]
    return notes_on_unranked(
        {row.model: (board.unranked.get(row.model), counts.get(board.pks[row.model], 0)) for row in rows}
    )


def notes_on_unranked(models: Mapping[str, tuple[Unranked | None, int]]) -> list[str]:
    """The same from why each model is not ranked, None where it is, and its number of instructions."""
    reasons = {
        Unranked.FEW: gettext(
            "Listed without a rank, because judged on fewer than half of the median number of instructions of all "
            "models: %(models)s."
        ),
        Unranked.NO_INTERVAL: gettext(
            "Listed without a rank, because judged on fewer than %(least)d instructions, too few for an interval: "
            "%(models)s."
        ),
    }
    found = []
    for why, sentence in reasons.items():
        names = [f"{model} ({instructions})" for model, (reason, instructions) in models.items() if reason == why]
        if names:
            found.append(sentence % {"models": ", ".join(names), "least": MIN_CLUSTERS})
    return found


def _lead(ranked: Sequence[Ranked], messages: MetricMessages, *, points: bool) -> str:
    """Describe the first model and the next one; even models share first place, and an uncertain lead is none."""
    best = ranked[0]
    level = [row for row in ranked if best.score - row.score <= EVEN]
    following = ranked[len(level)] if len(level) < len(ranked) else None
    score = {"overall": _in_a_sentence(messages.overall), "value": with_ends(best)}
    if len(level) > 1:
        return _shared(level, following, score)
    if following is None and points:
        return gettext("%(model)s has an average of %(average)s.") % {"model": best.model, "average": with_ends(best)}
    score |= {"first": best.model}
    if following is None:
        return gettext("%(first)s leads: %(overall)s %(value)s.") % score
    other = {"second": following.model, "other": with_ends(following)}
    if following.unclear:
        other["other"] = number(following.score, 0.1)
        return gettext(
            "No model clearly leads: %(first)s is first, %(overall)s %(value)s, but %(second)s with %(other)s is "
            "not clearly behind. The difference of %(gap)s may be due to chance."
        ) % {**score, **other, "gap": _gap(best, following)}
    if points:
        return gettext("%(first)s leads with an average of %(average)s, followed by %(second)s with %(other)s.") % {
            "first": best.model,
            "average": with_ends(best),
            **other,
        }
    leader = gettext("%(first)s leads: %(overall)s %(value)s.") % score
    return leader + " " + gettext("%(second)s is next with %(other)s.") % other


def _shared(level: Sequence[Ranked], following: Ranked | None, score: dict[str, str]) -> str:
    """Describe models that are exactly even."""
    shared = gettext("%(n)s models share first place: %(models)s, each with %(overall)s %(value)s.") % {
        "n": len(level),
        "models": named(row.model for row in level),
        "overall": score["overall"],
        "value": number(level[0].score, 0.1),
    }
    if following is None:
        return shared
    other = {"second": following.model, "other": with_ends(following)}
    if following.unclear:
        other["other"] = number(following.score, 0.1)
        return (
            shared
            + " "
            + gettext(
                "%(second)s is next with %(other)s and not clearly behind. The difference of %(gap)s may be due to"
                " chance."
            )
            % {**other, "gap": _gap(level[0], following)}
        )
    return shared + " " + gettext("%(second)s is next with %(other)s.") % other


def named(models: Iterable[str]) -> str:
    """Join the first few names."""
    names = list(models)
    return ", ".join([*names[:NAMED], "…"] if len(names) > NAMED else names)


def _too_few(board: Leaderboard) -> str:
    """Under 20 instructions the interval is a range without a probability."""
    if board.intervals.kind == "bootstrap95":
        return ""
    n = board.intervals.clusters
    return " " + ngettext(
        "This is based on %(n)s instruction, too few to say how certain it is.",
        "This is based on %(n)s instructions, too few to say how certain it is.",
        n,
    ) % {"n": f"{n:,}"}


def _judged(board: Leaderboard) -> list[str]:
    """State the number of verdicts behind the board, and the number excluded."""
    if board.metric.paired:
        sides = zip(board.observations.response.tolist(), board.observations.rival.tolist(), strict=True)
        n = len({frozenset(pair) for pair in sides if pair[0]})
        judged = ngettext("%(judge)s judged %(n)s pair.", "%(judge)s judged %(n)s pairs.", n)
    else:
        n = sum(cell.n for row in board.models for cell in row.categories.values())
        judged = ngettext("%(judge)s judged %(n)s response.", "%(judge)s judged %(n)s responses.", n)
    sentences = [judged % {"judge": board.judge.name, "n": f"{n:,}"}]
    if board.unusable:
        sentences.append(
            ngettext(
                "%(n)s verdict could not be used and is excluded.",
                "%(n)s verdicts could not be used and are excluded.",
                board.unusable,
            )
            % {"n": f"{board.unusable:,}"}
        )
    return sentences


def with_ends(row: Ranked) -> str:
    """'61.2 (58.9 to 63.4)', or the score alone; whole numbers if the interval is wide."""
    return _ends(row.score, row.interval)


def _gap(best: Ranked, other: Ranked) -> str:
    """Return the distance between two models, with more digits if they are nearly even."""
    gap = best.score - other.score
    return _ends(gap, other.lead, least=0.1 if gap >= 0.05 else 0.01)


def _ends(value: float, interval: Interval | None, least: float = 0.1) -> str:
    if interval is None:
        return number(value, least)
    step = least if interval.high - interval.low < 20 else 1.0
    return gettext("%(value)s (%(low)s to %(high)s)") % {
        "value": number(value, step),
        "low": number(interval.low, step),
        "high": number(interval.high, step),
    }


def _in_a_sentence(name: str) -> str:
    return name if name.isupper() else name.lower()
