"""A model's completion rate and instruction following over its outputs, with an interval of their product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.resampling import BoolArray, FloatArray, cluster_codes, cluster_intervals
from judging.leaderboards.check_counts import Output
from judging.scores.benchmark_scores import InstructionCounts, instruction_completion

KINDS = ("single", "range", "periodic")


@dataclass(frozen=True)
class Completion:
    """`shares`: completion rate, STIC-1, STIC-2 and their weighted average in percent, followed by the ends of the
    latter's interval.

    STIC-1 is None if no output contains a sub-task with an instruction.
    """

    shares: tuple[float, float | None, float, float]
    low: float | None
    high: float | None
    counts: InstructionCounts
    by_kind: Mapping[str, float]


def completion_of(outputs: Sequence[Output], *, draws: int = 1000, seed: int = 0) -> Completion | None:
    """Return None if nothing was asked for."""
    counts = _pooled(outputs)
    if not counts.asked or not counts.instructions:
        return None
    shares: tuple[float, float | None, float, float] = (100 * counts.present / counts.asked, None, 0.0, 0.0)
    if counts.answered:
        found = instruction_completion({one.response: one.counts for one in outputs})
        shares = (100 * found.completion_rate, 100 * found.stic_1, 100 * found.stic_2, 100 * found.weighted_average)
    codes, k = cluster_codes([one.instruction for one in outputs])
    columns = np.array(
        [(one.counts.present, one.counts.asked, one.counts.fulfilled, one.counts.instructions) for one in outputs],
        dtype=np.float64,
    )
    sums = np.column_stack([np.bincount(codes, weights=column, minlength=k) for column in columns.T])

    def statistic(drawn: FloatArray) -> tuple[FloatArray, BoolArray]:
        present, asked, fulfilled, instructions = (drawn @ sums).T
        usable = np.asarray((asked > 0) & (instructions > 0), dtype=np.bool_)
        product = present / np.where(asked > 0, asked, 1) * fulfilled / np.where(instructions > 0, instructions, 1)
        return 100 * product[:, None], usable

    _, ends = cluster_intervals(statistic, k, draws=draws, seed=seed)
    by_kind = {}
    for kind in KINDS:
        rows = [one.by_kind[kind] for one in outputs if kind in one.by_kind]
        asked = sum(row.instructions for row in rows)
        if asked:
            by_kind[kind] = 100 * sum(row.fulfilled for row in rows) / asked
    stated = ends.kind != "none"
    return Completion(
        shares, float(ends.low[0]) if stated else None, float(ends.high[0]) if stated else None, counts, by_kind
    )


def _pooled(outputs: Sequence[Output]) -> InstructionCounts:
    rows = [one.counts for one in outputs]
    return InstructionCounts(
        sum(one.asked for one in rows),
        sum(one.present for one in rows),
        sum(one.instructions for one in rows),
        sum(one.answered for one in rows),
        sum(one.fulfilled for one in rows),
    )
