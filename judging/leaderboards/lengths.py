"""Scores by requested length: each length on a board of its own, and what a length costs, prompt by prompt.

HelloBench (arXiv 2409.16191), table 3 and figure 4, for any models and judge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Rater
from calibration.data.verdicts import failed_judges
from calibration.statistics.errors import NoStatistic
from core.errors import UserError
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import MAIN_EXPERIMENT, Benchmark, Response
from judging.leaderboards.filters import Filters
from judging.leaderboards.observations import Observations
from judging.leaderboards.table import Leaderboard, judge_named, leaderboard
from judging.scores.metrics import POINTS
from judging.scores.paired_difference import paired_difference
from judging.scores.points import NoVerdicts, PointsRule


@dataclass(frozen=True)
class LengthScore:
    """A model's score of `n` prompts in an experiment, on the board's scale, with the mean words of its judged responses
    to them.

    The ends of the score draw whole prompts: a 95 % interval, or, of few prompts, the range over leaving one out; None of
    a single prompt. `difference` is from the score without a requested length over the `shared` prompts that have both;
    its ends draw whole prompts. None where nothing is shared, and in the main experiment. `judge_failed`: a run of the
    judge failed its canary texts. `judge_scripted`: its verdicts are drawn.
    """

    model: str
    experiment: str
    n: int
    score: float
    words: float | None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    shared: int = 0
    judge_failed: bool = False
    judge_scripted: bool = False
    score_low: float | None = None
    score_high: float | None = None


def has_lengths(benchmark: Benchmark) -> bool:
    """Return whether the benchmark has an experiment with a requested length."""
    return benchmark.generation_runs.filter(experiment__in=LENGTHS).exists()


def scores_by_length(benchmark: Benchmark, judge: str, weights: str) -> list[LengthScore]:
    """Return a row for each model and experiment, the lengths in order after the score without one.

    The main experiment counts with those prompts only that some length has, as the lengths are of a part of the
    benchmark. Raises UnknownJudge, UnknownWeights and, where no length has a verdict, NoVerdicts.
    """
    named = judge_named(benchmark, judge)
    boards: dict[str, Leaderboard] = {}
    for experiment in (MAIN_EXPERIMENT, *LENGTHS):
        try:
            boards[experiment] = leaderboard(
                benchmark, named, weights, filters=Filters(experiment=experiment, measure=POINTS)
            )
        except NoVerdicts:
            continue
    lengths = [boards[experiment] for experiment in LENGTHS if experiment in boards]
    if not lengths:
        raise NoVerdicts(
            f"{named} has no verdicts on benchmark {benchmark.slug} with a requested length; judge one of "
            f"{', '.join(LENGTHS)} with --experiment."
        )
    if any(board.metric.name != POINTS for board in boards.values()):
        raise UserError(f"{named} gives no checklist scores; name a judge that answers checklists.")
    prompts = np.unique(np.concatenate([board.observations.instruction for board in lengths]))
    responses = Response.objects.filter(instruction__in=prompts.tolist(), words__isnull=False).order_by()
    words = dict(responses.values_list("pk", "words"))
    rows = []
    for model in sorted({row.model for board in lengths for row in board.models}):
        plain = _of_prompts(boards.get(MAIN_EXPERIMENT), model, prompts)
        for experiment, board in boards.items():
            values = plain if experiment == MAIN_EXPERIMENT else _of_prompts(board, model, prompts)
            if values:
                own = np.unique(_own(board, model, prompts).response).tolist()
                mean = _mean([float(n) for n in map(words.get, own) if n is not None])
                if mean is None and experiment != MAIN_EXPERIMENT:
                    columns = list(board.categories.values())
                    mean = board.words.get((model, columns[0] if len(columns) == 1 else ""))
                rows.append(_row(board, model, experiment, values, mean, plain))
    failed, scripted = bool(failed_judges(benchmark, named)), named.provenance == Rater.Provenance.SCRIPTED
    return [replace(row, judge_failed=failed, judge_scripted=scripted) for row in rows]


def _own(board: Leaderboard, model: str, prompts: np.ndarray) -> Observations:
    """Return the model's judged responses to these prompts."""
    found = board.observations
    return found.select((found.model == board.pks[model]) & np.isin(found.instruction, prompts))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _of_prompts(board: Leaderboard | None, model: str, prompts: np.ndarray) -> dict[int, float]:
    """Return the model's mean points on each of the prompts that it has."""
    if board is None or model not in board.pks:
        return {}
    own = _own(board, model, prompts)
    points: dict[int, list[float]] = {}
    for prompt, top, under in zip(own.instruction.tolist(), own.top.tolist(), own.under.tolist(), strict=True):
        points.setdefault(prompt, []).append(top / under)
    return {prompt: float(np.mean(values)) for prompt, values in points.items()}


def _row(
    board: Leaderboard,
    model: str,
    experiment: str,
    values: Mapping[int, float],
    words: float | None,
    plain: Mapping[int, float],
) -> LengthScore:
    rule: PointsRule = board.rule
    score = float(rule.scaled(np.array([np.mean(list(values.values()))]))[0])
    shared = sorted(values.keys() & plain.keys()) if experiment != MAIN_EXPERIMENT else []
    row = LengthScore(model, experiment, len(values), score, words)
    above = np.array(list(values.values())) - rule.zero
    try:
        own = paired_difference(np.zeros(len(above), dtype=np.int64), above, rule)
    except NoStatistic:
        return row
    if own.kind != "none":
        ends = own.overall.interval
        row = replace(row, score_low=ends.low, score_high=ends.high)
    if not shared:
        return row
    gap = np.array([values[prompt] - plain[prompt] for prompt in shared])
    try:
        found = paired_difference(np.zeros(len(gap), dtype=np.int64), gap, rule).overall
    except NoStatistic:
        return row
    return replace(row, difference=found.value, low=found.interval.low, high=found.interval.high, shared=len(shared))
