"""The metrics of leaderboards: how verdicts become a model's score, by the rule of each benchmark. PURE."""

from dataclasses import dataclass

from judging.scores.points import HELLOBENCH, PointsRule

POINTS, STARS, GRADED, MEAN, WINS, REWARD = "points", "stars", "graded", "mean", "wins", "reward"
FULFILLED = "fulfilled"


@dataclass(frozen=True)
class Metric:
    """A score that a leaderboard ranks by. `role` is what the judge answers; `paired` if it compares two models."""

    name: str
    role: str
    rule: PointsRule
    paired: bool = False


METRICS = {
    metric.name: metric
    for metric in (
        # HelloBench (arXiv 2409.16191), table 2.
        Metric(POINTS, "item", HELLOBENCH),
        # LLMEval-2 (arXiv 2312.07398): percent of full marks, the unweighted mean of the subjects.
        Metric(STARS, "item", PointsRule(0.0, 100.0)),
        # WildBench (arXiv 2406.04770), table 2: over all tasks at once.
        Metric(GRADED, "overall", PointsRule(5.0, 20.0, pooled=True)),
        Metric(MEAN, "overall", PointsRule(0.0, 1.0)),
        # HREF (arXiv 2412.15524), 4.2: wins and half the ties over all comparisons.
        Metric(WINS, "preference", PointsRule(0.0, 100.0, pooled=True), paired=True),
        # WildBench, 3.2: +1, +.5, 0, -.5, -1 against a baseline.
        Metric(REWARD, "preference", PointsRule(0.0, 100.0, pooled=True), paired=True),
        # LongGenBench (arXiv 2409.02076), 2.4: STIC-2, counts pooled over outputs.
        Metric(FULFILLED, "check", PointsRule(0.0, 100.0, pooled=True)),
    )
}
