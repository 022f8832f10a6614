"""The width and the power to expect of a decision: one model over another, or a judge against people. PURE.

Computed from variance components, so that curves are smooth: instructions and raters are both drawn again, as in the
interval for raters like these (calibration/statistics/populations.py), with Student's t and Satterthwaite's degrees of
freedom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, pi, sqrt

import numpy as np

from calibration.statistics.errors import NoStatistic, out_of_range
from calibration.statistics.populations import median_of_few

TASKS_ALIKE = 0.1
"""Assumed correlation of a judge's lead over raters between two tasks of one instruction."""


@dataclass(frozen=True)
class Components:
    """What a difference varies with, in squares of its unit: per instruction, per answer, and per rater.

    `instruction` is the variance of the true difference between instructions, `answer` that of the difference between two
    single answers on one instruction, and `rater` that of what a rater adds to the difference on every instruction.
    """

    instruction: float
    answer: float
    rater: float


@dataclass(frozen=True)
class Judged:
    """A judge that scores `instructions` of which people rate some; `correlation` is that of the people's and the judge's
    difference over instructions (-1..1)."""

    instructions: int
    correlation: float


@dataclass(frozen=True)
class Decision:
    """What to expect: the half width of the interval, the power (0..1), and the share of the variance from raters (0..1)."""

    half_width: float
    power: float
    raters_share: float


def decide(
    components: Components,
    difference: float,
    *,
    instructions: int,
    raters: int,
    overlap: int,
    error: float = 0.05,
    judged: Judged | None = None,
) -> Decision:
    """The interval of a mean difference over `instructions`, each answered by `overlap` of the `raters`, and its power.

    V = (instruction + answer/overlap)/instructions + rater/raters. A judge takes correlation^2 (1 - n/N) off the first part,
    the most that it can save for n of N instructions drawn alike (PPI++, arXiv 2311.01453), and nothing off what comes from
    raters. Degrees of freedom V^2/(V_I^2/(n - 1) + V_R^2/(R - 1)), between the smaller and the larger of R - 1 and n - 1.
    As in the interval of real data, V_R holds what single answers add to the difference between raters there, and the
    estimate of the raters' part is cut at 0 and counts R/(R - 1) times from five raters on, which widens the interval of few
    raters. Power by the noncentral t. Raises
    Undefined (OutOfRange), and NoStatistic with fewer than 2 raters or instructions.
    """
    from scipy.special import nctdtr, stdtrit

    if instructions < 2 or raters < 2:
        raise NoStatistic("A decision for raters like these needs at least two instructions and two raters.")
    for what, value in (("The error", error), ("The correlation", abs(judged.correlation) if judged else 0.5)):
        if not 0 <= value <= 1:
            raise out_of_range(what, 0, 1, value)
    over = (components.instruction + components.answer / overlap) / instructions
    if judged is not None and judged.instructions > instructions:
        over *= 1 - judged.correlation**2 * (1 - instructions / judged.instructions)
    from_raters = components.rater / raters
    variance = over + from_raters
    if variance <= 0:
        return Decision(0.0, 1.0 if difference else error, 0.0)
    fewest, most = sorted((raters - 1.0, instructions - 1.0))
    seen = from_raters + components.answer / (overlap * instructions)
    freedom = variance**2 / (over**2 / (instructions - 1) + seen**2 / (raters - 1))
    freedom = min(max(freedom, fewest), most)
    stated = over + median_of_few(raters) * _cut(from_raters, seen * (2 / (raters - 1)) ** 0.5)
    half = float(stdtrit(freedom, 1 - error / 2)) * stated**0.5
    shift, reach = abs(difference) / variance**0.5, half / variance**0.5
    power = 1 - float(nctdtr(freedom, shift, reach)) + float(nctdtr(freedom, shift, -reach))
    return Decision(half, min(1.0, max(0.0, power)), from_raters / variance)


def _cut(mean: float, sd: float) -> float:
    """The mean of a normal estimate that is cut at 0."""
    from scipy.special import ndtr

    if sd <= 0:
        return mean
    ratio = mean / sd
    return float(mean * ndtr(ratio) + sd * exp(-(ratio**2) / 2) / sqrt(2 * pi))


def scored_difference(
    *, response_sd: float, correlation: float, quality_sd: float, severity_sd: float, taste_sd: float, step: float
) -> Components:
    """Components of the difference of two models' scores, all on a scale of 0 to 1.

    `response_sd`: of a response's quality around those of its instruction and model; `quality_sd`: of all responses'
    quality; `correlation` of two raters' scores over responses, from which the error of an answer follows; `severity_sd`:
    of raters' levels, which are part of an answer's error because different raters rate the two responses; `taste_sd`: of
    what a rater adds to one model; `step`: between the levels of the scale, whose rounding adds step^2/12 at most.
    """
    shared = min(max(correlation, 0.05), 1.0)
    single = max(quality_sd**2 * (1 - shared) / shared - taste_sd**2, step**2 / 12)
    return Components(2 * response_sd**2, 2 * (single + severity_sd**2), 2 * taste_sd**2)


def preferred_difference(*, decided: float, correlation: float, taste_sd: float) -> Components:
    """Components of the mean difference in points of a pair, 1, 0 and -1, of which `decided` (0..1) are no ties.

    `correlation` of two raters' answers over pairs is the share of their variance that lies between instructions; `taste_sd`
    is that of what a rater adds to one of the two models, in points.
    """
    shared = min(max(correlation, 0.0), 1.0)
    rater = (2 * taste_sd) ** 2 / 2
    return Components(decided * shared, max(decided * (1 - shared) - rater, 0.0), rater)


def judge_against_people(*, agreement: float, judge: float, rater_sd: float, tasks: int) -> Components:
    """Components of a judge's lead over a rater: agreement with the others of the judge minus that of a rater left out.

    `agreement` and `judge` are these shares (0..1), `rater_sd` is that of raters' own agreement, `tasks` the tasks of an
    instruction. The judge's part is common to all raters of a task; of tasks of one instruction leads correlate by 0.1.
    """
    common, single = judge * (1 - judge), agreement * (1 - agreement)
    alike = (1 + (tasks - 1) * TASKS_ALIKE) / tasks
    return Components(common * alike, max(single - rater_sd**2, 0.0) / tasks, rater_sd**2)


def smooth_widths(points: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """Widths by raters per response without the noise of their simulation: the square is a + b/m + c/m^2, none below 0.

    points are (m, simulated width); where there are fewer than four they are returned as they are.
    """
    from scipy.optimize import nnls

    if len(points) < 4:
        return [(float(m), width) for m, width in points]
    inverse = np.array([1 / m for m, _width in points])
    terms = np.column_stack([np.ones(len(points)), inverse, inverse**2])
    found, _residual = nnls(terms, np.array([width**2 for _m, width in points]))
    return [(float(m), float(np.sqrt(square))) for (m, _width), square in zip(points, terms @ found, strict=True)]
