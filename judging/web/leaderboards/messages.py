"""The sentences of a leaderboard, in the reader's language: what its metric means, and who leads by how much."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy as _, ngettext

from calibration.figures.drawing import ends_apart, number
from calibration.statistics.ranking.coverage import Unranked
from calibration.statistics.resampling import MIN_CLUSTERS
from judging.leaderboards.ranked_models import EVEN, instructions_of
from judging.leaderboards.table import Leaderboard
from judging.scores.leads import Lead
from judging.scores.metrics import FULFILLED, GRADED, MEAN, POINTS, REWARD, STARS, WINS
from judging.scores.points import Interval

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
    """A model with an overall score; `lead` is the best model's lead over it, None for the best and if not stated."""

    model: str
    score: float
    interval: Interval | None
    lead: Lead | None

    @property
    def unclear(self) -> bool:
        """Whether the best model is not shown to be ahead of this one; a lead that is not stated shows nothing."""
        return self.lead is None or not self.lead.shown


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
        Ranked(row.model, row.average, board.intervals.averages.get(pk), board.leads.get(pk))
        for row in board.models
        if row.average is not None and row.model not in board.unranked
        for pk in [board.pks[row.model]]
    ]
    ranked.sort(key=lambda row: -row.score)
    if not ranked and any(row.average is not None for row in board.models):
        sentence = gettext(
            "No model is ranked: a rank needs verdicts on at least half of the median number of instructions of all "
            "models, and on at least %(least)d where another model has as many."
        ) % {"least": MIN_CLUSTERS}
    elif not ranked:
        sentence = gettext("No model has been judged in every category yet, so there is no average to rank by.")
    else:
        sentence = _lead(ranked, metric_messages(board.metric.name), points=board.metric.name == POINTS)
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
    """Describe the first model and the next one; of even models none leads, and an uncertain lead is none.

    The first model leads only if it is shown to be ahead of every other ranked one.
    """
    best = ranked[0]
    level = [row for row in ranked if best.score - row.score <= EVEN]
    behind = ranked[len(level) :]
    score = {"overall": _in_a_sentence(messages.overall), "value": with_ends(best), "first": best.model}
    if len(level) > 1:
        return _shared(level, behind, score)
    if not behind and points:
        return gettext("%(model)s has an average of %(average)s.") % {"model": best.model, "average": with_ends(best)}
    if not behind:
        return gettext("%(first)s is the only ranked model: %(overall)s %(value)s.") % score
    unclear = next((row for row in behind if row.unclear), None)
    if unclear is not None:
        other = {"second": unclear.model, "other": number(unclear.score, 0.1), "why": _why_unclear(best, unclear)}
        return gettext(
            "No model clearly leads: %(first)s is first, %(overall)s %(value)s, but %(second)s with %(other)s is not "
            "clearly behind. %(why)s"
        ) % {**score, **other}
    following = behind[0]
    other = {"second": following.model, "other": with_ends(following)}
    if points:
        leader = gettext("%(first)s leads with an average of %(average)s, followed by %(second)s with %(other)s.") % {
            "first": best.model,
            "average": with_ends(best),
            **other,
        }
    else:
        leader = gettext("%(first)s leads: %(overall)s %(value)s.") % score
        leader += " " + gettext("%(second)s is next with %(other)s.") % other
    return f"{leader} {_family(len(behind), following.lead)}"


def _family(others: int, lead: Lead | None) -> str:
    """Say what the claim of a leader rests on; '' where there is only one other model, and nothing to correct for."""
    if others < 2 or lead is None:
        return ""
    return ngettext(
        "It is shown to be ahead of the other ranked model on the instructions that both have.",
        "It is shown to be ahead of each of the other %(n)s ranked models on the instructions that both have, corrected for "
        "all %(pairs)s comparisons of two ranked models (Holm).",
        others,
    ) % {"n": number(others, 1), "pairs": number(lead.compared, 1)}


def ranks_note(board: Leaderboard) -> str:
    """Say what the ranks in brackets are; '' where nothing is compared."""
    if len(board.ranks) < 2:
        return ""
    said = gettext(
        "Beside each rank by score stand the ranks that stay possible, given which models are shown to be ahead of which "
        "on the instructions that both have. Corrected for all comparisons of two ranked models (Holm), they hold all at "
        "once with 95 %% confidence, for this judge's verdicts."
    )
    return said % {}


def _why_unclear(best: Ranked, other: Ranked) -> str:
    """Say why the first model is not shown to be ahead of another."""
    lead = other.lead
    if lead is None:
        return gettext(
            "Too few instructions were judged for both to tell: that needs at least %(least)d, and two in every category."
        ) % {"least": MIN_CLUSTERS}
    shown = {"n": number(lead.n, 1), "gap": _ends(abs(lead.value), _turned(lead), least=_step(lead.value))}
    if lead.value < 0:
        return ngettext(
            "On the one instruction that both have, %(second)s is ahead by %(gap)s.",
            "On the %(n)s instructions that both have, %(second)s is ahead by %(gap)s.",
            lead.n,
        ) % {**shown, "second": other.model}
    if lead.low > 0:
        return gettext(
            "The difference of %(gap)s may be due to chance, because it is one of %(compared)s: corrected for them, p is "
            "%(p)s (Holm)."
        ) % {**shown, "compared": number(lead.compared, 1), "p": number(lead.p, 0.001)}
    return gettext("The difference of %(gap)s may be due to chance.") % shown


def _turned(lead: Lead) -> Interval:
    return Interval(-lead.high, -lead.low) if lead.value < 0 else Interval(lead.low, lead.high)


def _step(gap: float) -> float:
    """More digits if two models are nearly even."""
    return 0.1 if abs(gap) >= 0.05 else 0.01


def _shared(level: Sequence[Ranked], behind: Sequence[Ranked], score: dict[str, str]) -> str:
    """Describe models that are exactly even."""
    shared = gettext("No model clearly leads: %(models)s are even, each with %(overall)s %(value)s.") % {
        "models": named(row.model for row in level),
        "overall": score["overall"],
        "value": number(level[0].score, 0.1),
    }
    if not behind:
        return shared
    following = next((row for row in behind if row.unclear), None)
    if following is None:
        return (
            shared
            + " "
            + gettext("%(second)s is next with %(other)s.") % {"second": behind[0].model, "other": with_ends(behind[0])}
        )
    other = {"second": following.model, "other": number(following.score, 0.1)}
    said = gettext("%(second)s with %(other)s is not clearly behind. %(why)s") % {
        **other,
        "why": _why_unclear(level[0], following),
    }
    return f"{shared} {said}"


def named(models: Iterable[str]) -> str:
    """Join the first few names."""
    names = list(models)
    return ", ".join([*names[:NAMED], "…"] if len(names) > NAMED else names)


def taken_as_given() -> str:
    """Say what the intervals of a board are about."""
    return gettext(
        "The intervals are about this judge's verdicts and these models, taken as given, with the instructions drawn again; "
        "they say nothing of another judge, and nothing of what people would say."
    )


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


def _ends(value: float, interval: Interval | None, least: float = 0.1) -> str:
    """Write the value with its ends, or alone where the interval has no width."""
    if interval is None:
        return number(value, least)
    step = least if interval.high - interval.low < 20 else 1.0
    ends = ends_apart(interval.low, interval.high, step)
    if ends is None:
        return number(value, step)
    return gettext("%(value)s (%(low)s to %(high)s)") % {"value": number(value, step), "low": ends[0], "high": ends[1]}


def _in_a_sentence(name: str) -> str:
    return name if name.isupper() else name.lower()
