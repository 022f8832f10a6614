"""The opening sentence of a leaderboard: who leads, how certain that is, and on how many verdicts it is based."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from judging.leaderboards.table import Leaderboard
from judging.scores.metrics import POINTS
from judging.scores.points import Interval
from judging.web.leaderboards.messages import MeasureWords

EVEN = 1e-9
"""Scores closer than this are equal: they differ only by the rounding of sums."""
NAMED = 4
"""At most this many models that share a rank are named."""


@dataclass(frozen=True)
class Ranked:
    """A model with an overall score; `lead` is the best model's lead over it, None for the best and if unknown."""

    model: str
    score: float
    interval: Interval | None
    lead: Interval | None

    @property
    def unclear(self) -> bool:
        """Whether the best model's lead over this one may be chance."""
        return self.lead is not None and self.lead.low <= 0.0


def places(board: Leaderboard) -> dict[str, int]:
    """By model, 1 for the best overall score; equal scores share a rank, models without a score have none."""
    if not board.ranked:
        return {}
    scores = [one.average for one in board.models if one.average is not None]
    return {
        one.model: 1 + sum(other > one.average + EVEN for other in scores)
        for one in board.models
        if one.average is not None
    }


def board_opening(board: Leaderboard, words: MeasureWords) -> str:
    if not board.ranked:
        return " ".join([_unranked(board), *_judged(board)])
    ranked = [
        Ranked(one.model, one.average, ends.averages.get(pk), ends.leads.get(pk))
        for ends in [board.intervals]
        for one in board.models
        for pk in [board.pks[one.model]]
        if one.average is not None
    ]
    ranked.sort(key=lambda one: -one.score)
    if not ranked:
        said = gettext("No model has been judged in every category yet, so there is no average to rank by.")
    else:
        said = _standing(ranked, words, points=board.measure.name == POINTS)
        said += _too_few(board) if len(ranked) > 1 else ""
    return " ".join([said, *_judged(board)])


def _unranked(board: Leaderboard) -> str:
    return ngettext(
        "No model is ranked here: %(n)d verdict comes from a run that failed its canary texts and should not be "
        "trusted.",
        "No model is ranked here: %(n)d verdicts come from a run that failed its canary texts and should not be "
        "trusted.",
        board.discredited,
    ) % {"n": board.discredited}


def _standing(ranked: Sequence[Ranked], words: MeasureWords, *, points: bool) -> str:
    """Describe the first model and the next one; even models share first place, and an uncertain lead is none."""
    best = ranked[0]
    level = [one for one in ranked if best.score - one.score <= EVEN]
    following = ranked[len(level)] if len(level) < len(ranked) else None
    score = {"overall": _in_a_sentence(words.overall), "value": with_ends(best)}
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
    said = gettext("%(first)s leads: %(overall)s %(value)s.") % score
    return said + " " + gettext("%(second)s is next with %(other)s.") % other


def _shared(level: Sequence[Ranked], following: Ranked | None, score: dict[str, str]) -> str:
    """Describe models that are exactly even."""
    said = gettext("%(n)d models share first place: %(models)s, each with %(overall)s %(value)s.") % {
        "n": len(level),
        "models": named(one.model for one in level),
        "overall": score["overall"],
        "value": number(level[0].score, 0.1),
    }
    if following is None:
        return said
    other = {"second": following.model, "other": with_ends(following)}
    if following.unclear:
        other["other"] = number(following.score, 0.1)
        return (
            said
            + " "
            + gettext(
                "%(second)s is next with %(other)s and not clearly behind. The difference of %(gap)s may be due to"
                " chance."
            )
            % {**other, "gap": _gap(level[0], following)}
        )
    return said + " " + gettext("%(second)s is next with %(other)s.") % other


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
        "This is based on %(n)d instruction, too few to say how certain it is.",
        "This is based on %(n)d instructions, too few to say how certain it is.",
        n,
    ) % {"n": n}


def _judged(board: Leaderboard) -> list[str]:
    """State the number of verdicts behind the board, and the number excluded."""
    unscored = board.unusable
    if board.measure.paired:
        sides = zip(board.entries.response.tolist(), board.entries.rival.tolist(), strict=True)
        n = len({frozenset(pair) for pair in sides if pair[0]})
        said = [ngettext("%(judge)s judged %(n)d pair.", "%(judge)s judged %(n)d pairs.", n)]
    else:
        n = sum(cell.n for one in board.models for cell in one.categories.values())
        said = [ngettext("%(judge)s judged %(n)d response.", "%(judge)s judged %(n)d responses.", n)]
    said[0] %= {"judge": board.judge.name, "n": n}
    if unscored:
        said.append(
            ngettext(
                "%(n)d verdict could not be used and is excluded.",
                "%(n)d verdicts could not be used and are excluded.",
                unscored,
            )
            % {"n": unscored}
        )
    return said


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
