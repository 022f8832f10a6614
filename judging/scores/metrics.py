"""How verdicts become a model's score on a leaderboard: the rule of each benchmark. PURE."""

from dataclasses import dataclass

from judging.scores.points import HELLOBENCH, PointsRule

POINTS, STARS, GRADED, MEAN, WINS, REWARD = "points", "stars", "graded", "mean", "wins", "reward"
FULFILLED = "fulfilled"


@dataclass(frozen=True)
class Measure:
    """`role` is what the judge answers; `low` and `high` are the ends of the score; `paired` if two models are
    compared.
    """

    name: str
    role: str
    rule: PointsRule
    low: float | None
    high: float | None
    paired: bool = False


MEASURES = {
    one.name: one
    for one in (
        # HelloBench (arXiv 2409.16191), table 2.
        Measure(POINTS, "item", HELLOBENCH, -300.0, 100.0),
        # LLMEval-2 (arXiv 2312.07398): percent of full marks, the unweighted mean of the subjects.
        Measure(STARS, "item", PointsRule(0.0, 100.0), 0.0, 100.0),
        # WildBench (arXiv 2406.04770), table 2: over all tasks at once.
        Measure(GRADED, "overall", PointsRule(5.0, 20.0, pooled=True), -80.0, 100.0),
        Measure(MEAN, "overall", PointsRule(0.0, 1.0), None, None),
        # HREF (arXiv 2412.15524), 4.2: wins and half the ties over all comparisons.
        Measure(WINS, "preference", PointsRule(0.0, 100.0, pooled=True), 0.0, 100.0, paired=True),
        # WildBench, 3.2: +1, +.5, 0, -.5, -1 against a baseline.
        Measure(REWARD, "preference", PointsRule(0.0, 100.0, pooled=True), -100.0, 100.0, paired=True),
        # LongGenBench (arXiv 2409.02076), 2.4: STIC-2, counts pooled over outputs.
        Measure(FULFILLED, "check", PointsRule(0.0, 100.0, pooled=True), 0.0, 100.0),
    )
}
