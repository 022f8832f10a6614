"""Scores as the other four benchmarks define them, from their verdicts. PURE; HelloBench's are in scoring.py.

The caller excludes and counts verdicts that could not be used; they have no value here.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_rel

from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import FloatArray, IntArray
from calibration.statistics.ties import descending
from core.messages.message import Wording

REWARDS = {2: 1.0, 1: 0.5, 0: 0.0, -1: -0.5, -2: -1.0}
"""WildBench's reward of each grade, much better (2) to much worse (-2)."""
SIGNIFICANT = 0.05
ROUNDING = 1e-12


STARS_OFF_SCALE = Wording(
    "score.stars_off_scale", "Stars lie between 0 and their criterion's full marks; correct the scale of the criteria."
)
WILDBENCH_OFF_SCALE = Wording(
    "score.wildbench_off_scale", "WildBench's scores lie between 1 and 10; correct the scale of the criterion."
)
GRADE_OFF_SCALE = Wording(
    "score.grade_off_scale",
    "A grade is 2, 1, 0, -1 or -2, from much better to much worse; map the choices to these values.",
)
LENGTHS_MISSING = Wording(
    "score.lengths_missing", "A length margin needs both responses' lengths in characters; give both, or no margin."
)
BASELINE_MISSING = Wording("score.baseline_missing", "%(model)s was not compared with %(missing)s; compare them.")
ANY_BASELINE = Wording("score.any_baseline", "any baseline")
OUTCOME_OFF_SCALE = Wording(
    "score.outcome_off_scale",
    "An outcome is 1 for a win, 0 for a tie and -1 for a loss; map the choices to these values.",
)
PAIRING_INCOMPLETE = Wording(
    "score.pairing_incomplete", "A paired test needs the same comparisons of every model, and at least two."
)
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


@dataclass(frozen=True)
class SubjectTotal:
    """total and subjects are percent of full marks, n counts the scores read."""

    total: float
    subjects: Mapping[str, float]
    n: int


def llmeval2_total(subject: Sequence[str], stars: FloatArray, full_marks: FloatArray) -> SubjectTotal:
    """The mean over subjects of 100 x (sum of stars)/(sum of full marks); shapes (n,), one entry a score.

    Full marks are 3 + 2 for an objective question's two criteria and 5 + 3 + 3 + 3 for a subjective one's four.
    Raises NothingScored, NotOnScale. LLMEval (arXiv 2312.07398), the second stage.
    """
    _expect_some(len(subject))
    if (full_marks <= 0).any() or (stars < 0).any() or (stars > full_marks).any():
        raise NotOnScale(STARS_OFF_SCALE())
    names, place = np.unique(np.asarray(subject), return_inverse=True)
    shares = 100 * np.bincount(place, weights=stars) / np.bincount(place, weights=full_marks)
    return SubjectTotal(float(shares.mean()), dict(zip(map(str, names), map(float, shares), strict=True)), len(subject))


def llmeval1_mean(criterion: Sequence[str], stars: FloatArray) -> float:
    """The unweighted mean of the criteria's mean stars; shapes (n,). Duplicate ratings stay in as they came.

    Raises NothingScored. LLMEval (arXiv 2312.07398), the first stage: five criteria of one to three stars.
    """
    _expect_some(len(criterion))
    place = np.unique(np.asarray(criterion), return_inverse=True)[1]
    return float((np.bincount(place, weights=stars) / np.bincount(place)).mean())


def wildbench_score(scores: FloatArray) -> float:
    """(mean - 5) x 20 of scores 1..10, shape (n,): 100 at best, -80 at worst, as printed in its table.

    Raises NothingScored, NotOnScale. WildBench (arXiv 2406.04770), table 2; its text's x 2 is for one item.
    """
    _expect_some(scores.size)
    if (scores < 1).any() or (scores > 10).any():
        raise NotOnScale(WILDBENCH_OFF_SCALE())
    return float((scores.mean() - 5) * 20)


def wildbench_rewards(
    grade: IntArray,
    characters: IntArray | None = None,
    baseline_characters: IntArray | None = None,
    *,
    margin: int | None = None,
) -> FloatArray:
    """The reward of each comparison, shape (n,): +1, +.5, 0, -.5, -1 from much better (2) to much worse (-2).

    With a margin of K characters, a slight win or loss is a tie where the winner is longer by more than K; None turns
    this off. Raises NotOnScale. WildBench (arXiv 2406.04770), 3.2; the text prints the losses without a sign.
    """
    if not np.isin(grade, list(REWARDS)).all():
        raise NotOnScale(GRADE_OFF_SCALE())
    rewards = np.asarray([REWARDS[int(one)] for one in grade], dtype=np.float64)
    if margin is None:
        return rewards
    if characters is None or baseline_characters is None:
        raise NotOnScale(LENGTHS_MISSING())
    longer = (characters - baseline_characters) * np.sign(grade)
    return np.where((np.abs(grade) == 1) & (longer > margin), 0.0, rewards)


def wildbench_reward(rewards: FloatArray) -> float:
    """100 x the mean reward against one baseline, -100..100; shape (n,). Raises NothingScored."""
    _expect_some(rewards.size)
    return float(100 * rewards.mean())


def wildbench_mix(rewards: Mapping[str, float], baselines: Sequence[str], model: str) -> float:
    """The mean reward over the baselines, where a baseline against itself has 0.

    `rewards` maps a baseline to the model's reward against it. Raises NothingScored where one is missing.
    """
    missing = [one for one in baselines if one != model and one not in rewards]
    if missing or not baselines:
        raise NothingScored(BASELINE_MISSING(model=model, missing=", ".join(missing) or ANY_BASELINE()))
    return float(np.mean([0.0 if one == model else rewards[one] for one in baselines]))


@dataclass(frozen=True)
class ExpectedWinRate:
    """Shares in 0..1, overall over all comparisons and by category; n counts them."""

    overall: float
    categories: Mapping[str, float]
    n: int


def expected_win_rate(category: Sequence[str], outcome: IntArray) -> ExpectedWinRate:
    """(wins + ties/2)/n; outcome (n,) is 1 for a win, 0 for a tie, -1 for a loss against the baseline.

    Raises NothingScored, NotOnScale. HREF (arXiv 2412.15524), 4.2; its appendix E counts a tie as a win.
    """
    _expect_some(len(category))
    if not np.isin(outcome, (-1, 0, 1)).all():
        raise NotOnScale(OUTCOME_OFF_SCALE())
    share = (outcome + 1) / 2
    names, place = np.unique(np.asarray(category), return_inverse=True)
    means = np.bincount(place, weights=share) / np.bincount(place)
    return ExpectedWinRate(
        float(share.mean()), dict(zip(map(str, names), map(float, means), strict=True)), len(category)
    )


def shared_ranks(outcomes: Mapping[str, FloatArray]) -> dict[str, int]:
    """Each model's rank, 1 for the best: a model shares the leader's rank while their paired t test has p >= .05.

    outcomes maps a model to what it won of the same comparisons in the same order, shape (n,), best mean first; the
    first model that differs leads the next rank, which counts the models before it. Raises NothingScored where the
    comparisons are not the same or fewer than two. HREF (arXiv 2412.15524), table 3.
    """
    sizes = {len(values) for values in outcomes.values()}
    if len(sizes) != 1 or min(sizes) < 2:
        raise NothingScored(PAIRING_INCOMPLETE())
    names = sorted(outcomes)
    means = np.array([float(np.mean(outcomes[model])) for model in names])
    ordered = [names[place] for place in descending(means)]
    ranks: dict[str, int] = {}
    leader = ordered[0]
    for place, model in enumerate(ordered, start=1):
        if model != leader and _differ(outcomes[leader], outcomes[model]):
            leader = model
        ranks[model] = place if model == leader else ranks[leader]
    return ranks


def _differ(first: FloatArray, second: FloatArray) -> bool:
    """Whether the paired t test of two models' outcomes has p < .05; a constant difference other than 0 does."""
    gap = np.asarray(first - second, dtype=np.float64)
    if np.ptp(gap) <= ROUNDING:
        return bool(abs(gap[0]) > ROUNDING)
    return bool(ttest_rel(first, second).pvalue < SIGNIFICANT)


@dataclass(frozen=True)
class InstructionCounts:
    """Counts: sub-tasks asked and present; instructions, those whose sub-task is present, those fulfilled."""

    asked: int
    present: int
    instructions: int
    answered: int
    fulfilled: int


@dataclass(frozen=True)
class InstructionCompletion:
    """Shares in 0..1; weighted_average is completion_rate x stic_2."""

    completion_rate: float
    stic_1: float
    stic_2: float
    weighted_average: float
    counts: InstructionCounts


def instruction_completion(outputs: Mapping[Hashable, InstructionCounts]) -> InstructionCompletion:
    """LongGenBench's four shares from the counts of each output, pooled.

    STIC-1 is fulfilled/(instructions whose sub-task is present), STIC-2 fulfilled/(all instructions). Where no output
    holds any such sub-task nothing is fulfilled either, and STIC-1 is not defined: raises NothingScored, as without
    sub-tasks or instructions; raises NotOnScale where a part exceeds its whole. LongGenBench (arXiv 2409.02076), 2.4.
    """
    counts = InstructionCounts(
        asked=sum(one.asked for one in outputs.values()),
        present=sum(one.present for one in outputs.values()),
        instructions=sum(one.instructions for one in outputs.values()),
        answered=sum(one.answered for one in outputs.values()),
        fulfilled=sum(one.fulfilled for one in outputs.values()),
    )
    if any(
        not (0 <= one.present <= one.asked and 0 <= one.fulfilled <= one.answered <= one.instructions)
        for one in outputs.values()
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
    """LongGenBench's last column: completion rate x STIC-2, both in 0..1 (or the first in percent)."""
    return completion_rate * stic_2


def _expect_some(n: int) -> None:
    if not n:
        raise NothingScored(NO_USABLE_VERDICT())
