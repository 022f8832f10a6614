"""Values of verdicts as LLMEval, WildBench, HREF and LongGenBench define them. PURE; points.py adds them up to scores.

The caller excludes and counts verdicts that could not be used; they have no value here.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import FloatArray, IntArray
from core.messages.message import Wording

REWARDS = {2: 1.0, 1: 0.5, 0: 0.0, -1: -0.5, -2: -1.0}
"""WildBench's reward of each grade, much better (2) to much worse (-2)."""


GRADE_OFF_SCALE = Wording(
    "score.grade_off_scale",
    "A grade is 2, 1, 0, -1 or -2, from much better to much worse; map the choices to these values.",
)
LENGTHS_MISSING = Wording(
    "score.lengths_missing", "A length margin needs both responses' lengths in characters; give both, or no margin."
)
BASELINE_MISSING = Wording("score.baseline_missing", "%(model)s was not compared with %(missing)s; compare them.")
ANY_BASELINE = Wording("score.any_baseline", "any baseline")
COUNTED_TWICE = Wording(
    "score.counted_twice", "More is present or fulfilled than was asked for; count every sub-task and instruction once."
)
NOTHING_PRESENT = Wording(
    "score.nothing_present", "No sub-task with an instruction is present, so that no share of them is defined."
)
NO_USABLE_VERDICT = Wording("score.no_usable_verdict", "There is no usable verdict, so nothing can be scored.")


class NothingScored(NoStatistic):
    """There is no usable verdict from which to compute a score."""


class NotOnScale(NoStatistic):
    """A value that is not on the benchmark's scale; the sentence lists the valid values."""


def llmeval1_mean(criterion: Sequence[str], stars: FloatArray) -> float:
    """Return the unweighted mean of the criteria's mean stars; shapes (n,). Duplicate ratings all count.

    Raises NothingScored. LLMEval (arXiv 2312.07398), the first stage: five criteria of one to three stars.
    """
    if not len(criterion):
        raise NothingScored(NO_USABLE_VERDICT())
    place = np.unique(np.asarray(criterion), return_inverse=True)[1]
    return float((np.bincount(place, weights=stars) / np.bincount(place)).mean())


def wildbench_rewards(
    grade: IntArray,
    characters: IntArray | None = None,
    baseline_characters: IntArray | None = None,
    *,
    margin: int | None = None,
) -> FloatArray:
    """Return the reward of each comparison, shape (n,): +1, +.5, 0, -.5, -1 from much better (2) to much worse (-2).

    With a margin of K, a slight win or loss is a tie if the winner is longer by more than K characters; None
    turns this off. Raises NotOnScale. WildBench (arXiv 2406.04770), 3.2; the text prints the losses without a sign.
    """
    if not np.isin(grade, list(REWARDS)).all():
        raise NotOnScale(GRADE_OFF_SCALE())
    rewards = np.asarray([REWARDS[int(value)] for value in grade], dtype=np.float64)
    if margin is None:
        return rewards
    if characters is None or baseline_characters is None:
        raise NotOnScale(LENGTHS_MISSING())
    longer = (characters - baseline_characters) * np.sign(grade)
    return np.where((np.abs(grade) == 1) & (longer > margin), 0.0, rewards)


def win_shares(preference: FloatArray) -> FloatArray:
    """Return 1 for a preference above 0 (a win), .5 for a tie and 0 for a loss, shape (n,).

    Their mean is the expected win rate of HREF (arXiv 2412.15524), 4.2; its appendix E counts a tie as a win.
    """
    return np.asarray((1 + np.sign(preference)) / 2, dtype=np.float64)


def wildbench_mix(rewards: Mapping[str, float], baselines: Sequence[str], model: str) -> float:
    """Return the mean reward over the baselines; a baseline against itself has 0.

    `rewards` maps a baseline to the model's reward against it. Raises NothingScored if one is missing.
    """
    missing = [baseline for baseline in baselines if baseline != model and baseline not in rewards]
    if missing or not baselines:
        raise NothingScored(BASELINE_MISSING(model=model, missing=", ".join(missing) or ANY_BASELINE()))
    return float(np.mean([0.0 if baseline == model else rewards[baseline] for baseline in baselines]))


@dataclass(frozen=True)
class InstructionCounts:
    """Counts: sub-tasks asked and present; instructions, those whose sub-task is present, those fulfilled."""

    asked: int = 0
    present: int = 0
    instructions: int = 0
    answered: int = 0
    fulfilled: int = 0


@dataclass(frozen=True)
class InstructionCompletion:
    """Shares in 0..1; weighted_average is completion_rate x stic_2."""

    completion_rate: float
    stic_1: float
    stic_2: float
    weighted_average: float
    counts: InstructionCounts


def pooled_counts(rows: Iterable[InstructionCounts]) -> InstructionCounts:
    """Return the sum of each count; zeros where there are no rows."""
    counts = [(row.asked, row.present, row.instructions, row.answered, row.fulfilled) for row in rows]
    return InstructionCounts(*(sum(column) for column in zip(*counts, strict=True))) if counts else InstructionCounts()


def instruction_completion(outputs: Mapping[Hashable, InstructionCounts]) -> InstructionCompletion:
    """Return LongGenBench's four shares from the counts of each output, pooled.

    STIC-1 is fulfilled/(instructions whose sub-task is present), STIC-2 fulfilled/(all instructions). Raises
    NothingScored if no output contains such a sub-task, because STIC-1 is then undefined, and if there are no sub-tasks
    or instructions; raises NotOnScale if a part exceeds its whole. LongGenBench (arXiv 2409.02076), 2.4.
    """
    counts = pooled_counts(outputs.values())
    if any(
        not (0 <= row.present <= row.asked and 0 <= row.fulfilled <= row.answered <= row.instructions)
        for row in outputs.values()
    ):
        raise NotOnScale(COUNTED_TWICE())
    if not counts.asked or not counts.answered:
        raise NothingScored(NOTHING_PRESENT())
    completion = counts.present / counts.asked
    stic_2 = counts.fulfilled / counts.instructions
    return InstructionCompletion(
        completion_rate=completion,
        stic_1=counts.fulfilled / counts.answered,
        stic_2=stic_2,
        weighted_average=weighted_average(completion, stic_2),
        counts=counts,
    )


def weighted_average(completion_rate: float, stic_2: float) -> float:
    """Return LongGenBench's last column: completion rate x STIC-2, both in 0..1 (or the first in percent)."""
    return completion_rate * stic_2
