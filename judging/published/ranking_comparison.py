"""A board's ranking beside another of the same models: another board's, or scores from elsewhere."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from annotation.models import Rater
from calibration.statistics.ranking.rank_correlations import RankCorrelations, best_of, rank_correlations
from calibration.statistics.ranking.rank_intervals import ranks
from core.errors import UserError
from core.messages.message import Wording
from judging.leaderboards.table import Leaderboard
from judging.published.columns import plain_name

MOST_MODELS = 500
LONGEST = 20_000
"""Characters of scores from elsewhere that are read."""

TWO_COLUMNS = Wording("scores_two_columns", "%(where)s: a line has a model and its score; write both.")
NO_NUMBER = Wording("scores_no_number", "%(where)s: %(text)s is no number; write a score such as 71.3.")
TWICE = Wording("scores_twice", "%(where)s: %(model)s has a score already; keep one line of each model.")
NONE = Wording("scores_none", "%(name)s has no line with a model and its score.")
TOO_LONG = Wording("scores_too_long", "%(name)s is too long: at most %(models)s models and %(length)s characters.")


@dataclass(frozen=True)
class RankedScores:
    """A ranking: its name, and the score of each model, higher is better.

    `failed_judge` names its judge if a run of it failed its canary texts, `scripted_judge` if its verdicts are drawn.
    """

    name: str
    scores: Mapping[str, float]
    failed_judge: str = ""
    scripted_judge: str = ""


@dataclass(frozen=True)
class RankedModel:
    """A model of both rankings; ranks are among these models alone. `top` says whether it is among the best chosen."""

    model: str
    score: float
    other: float
    rank: int
    other_rank: int
    top: bool


@dataclass(frozen=True)
class RankingComparison:
    """`models` best first by the other ranking. `top` are the correlations of its best `asked`, None if none were asked.

    `alone` and `other_alone` are the models that only one ranking has; `failed_judge` and `other_failed_judge` name the
    judge of a ranking if a run of it failed its canary texts; `scripted_judges` names those whose verdicts are drawn.
    """

    name: str
    other_name: str
    models: tuple[RankedModel, ...]
    all: RankCorrelations
    top: RankCorrelations | None
    asked: int | None
    alone: tuple[str, ...]
    other_alone: tuple[str, ...]
    failed_judge: str = ""
    other_failed_judge: str = ""
    scripted_judges: tuple[str, ...] = ()


def compare_rankings(one: RankedScores, other: RankedScores, *, top: int | None = None) -> RankingComparison:
    """Compare two rankings over the models that both have, and over the best `top` of the other.

    Names are matched without regard to case and to an account before a slash. Raises NoStatistic, such as
    TooFewRatings under three common models.
    """
    known = {plain_name(name): name for name in other.scores}
    both = [(name, known[plain_name(name)]) for name in one.scores if plain_name(name) in known]
    ours = np.array([one.scores[name] for name, _ in both], dtype=np.float64)
    theirs = np.array([other.scores[name] for _, name in both], dtype=np.float64)
    correlations = rank_correlations(ours, theirs)
    chosen = best_of(theirs, top) if top is not None else np.zeros(0, dtype=np.int64)
    rank, other_rank = ranks(ours), ranks(theirs)
    models = [
        RankedModel(name, float(ours[i]), float(theirs[i]), int(rank[i]), int(other_rank[i]), i in set(chosen.tolist()))
        for i, (name, _) in enumerate(both)
    ]
    matched = {name for name, _ in both}, {name for _, name in both}
    return RankingComparison(
        one.name,
        other.name,
        tuple(sorted(models, key=lambda row: (row.other_rank, row.rank, row.model))),
        correlations,
        rank_correlations(ours[chosen], theirs[chosen]) if top is not None else None,
        top,
        tuple(sorted(set(one.scores) - matched[0])),
        tuple(sorted(set(other.scores) - matched[1])),
        one.failed_judge,
        other.failed_judge,
        tuple(dict.fromkeys(filter(None, (one.scripted_judge, other.scripted_judge)))),
    )


def ranked_scores(board: Leaderboard, name: str) -> RankedScores:
    """Return the scores of a board's ranked models."""
    scores = {row.model: row.average for row in board.models if row.average is not None and board.ranked}
    ranked = {model: score for model, score in scores.items() if model not in board.unranked}
    scripted = board.judge.name if board.judge.provenance == Rater.Provenance.SCRIPTED else ""
    return RankedScores(name, ranked, next((row.judge.name for row in board.failed), ""), scripted)


def read_scores(text: str, name: str) -> RankedScores:
    """Read "model, score" lines, separated by comma, semicolon or tab; the first line may be a head.

    Raises UserError with the line.
    """
    if len(text) > LONGEST:
        raise UserError(TOO_LONG(name=name, models=MOST_MODELS, length=LONGEST))
    lines = text.removeprefix("\ufeff").splitlines()
    separator = next((sign for sign in ("\t", ";", ",") if any(sign in line for line in lines)), ",")
    scores: dict[str, float] = {}
    for number, cells in enumerate(csv.reader(lines, delimiter=separator), 1):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"{name}, line {number}"
        if len(cells) < 2 or not cells[0].strip():
            raise UserError(TWO_COLUMNS(where=where))
        value = _number(cells[1])
        if value is None:
            if not scores and number == 1:
                continue
            raise UserError(NO_NUMBER(where=where, text=repr(cells[1].strip()[:50])))
        if plain_name(cells[0]) in map(plain_name, scores):
            raise UserError(TWICE(where=where, model=cells[0].strip()[:100]))
        scores[cells[0].strip()] = value
    if not scores:
        raise UserError(NONE(name=name))
    if len(scores) > MOST_MODELS:
        raise UserError(TOO_LONG(name=name, models=MOST_MODELS, length=LONGEST))
    return RankedScores(name, scores)


def _number(written: str) -> float | None:
    try:
        value = float(written.strip().removesuffix("%"))
    except ValueError:
        return None
    return value if isfinite(value) else None


def as_lines(scores: RankedScores) -> Sequence[tuple[str, float]]:
    return sorted(scores.scores.items(), key=lambda row: (-row[1], row[0]))
