"""How many raters and repeats a response needs: a decision study on measured variances. PURE.

After Brennan (2001), Generalizability Theory, chapter 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from calibration.statistics.errors import NoStatistic, out_of_range

SIGNAL = ("model", "item", "response")


class TargetOutOfReach(NoStatistic):
    """No design within the limits reaches the requested reliability."""

    def __init__(self, target: float, best: float) -> None:
        self.target = target
        self.best = best
        super().__init__(
            f"A reliability of {target:g} is out of reach: the largest design considered gives {best:.3f}; allow "
            "more raters, or make the criteria easier to agree on."
        )


@dataclass(frozen=True)
class Design:
    """`raters` raters per response, each asked `repeats` times, at a `cost` per response in units of one answer.

    `error_variance` is that of a response's mean score, `reliability` the share of the variance of responses' mean
    scores that is not error (0..1).
    """

    raters: int
    repeats: int
    cost: float
    error_variance: float
    reliability: float


@dataclass(frozen=True)
class DecisionStudy:
    """Every design considered, cheapest first, and the gain from one more rater or one more repeat over a single answer.

    `best` is the most reliable within the budget (of equals the cheaper one, then that of more raters), `frontier` the
    designs that no other one beats at the same cost or less, in ascending cost.
    """

    designs: tuple[Design, ...]
    frontier: tuple[Design, ...]
    best: Design
    gain_of_rater: float
    gain_of_repeat: float


def decide(
    variances: Mapping[str, float],
    *,
    budget: float,
    rater_cost: float = 0.0,
    same_raters: bool = False,
    max_raters: int = 20,
    max_repeats: int = 5,
) -> DecisionStudy:
    """Weigh designs by the variances (squared points) of model, item, response, rater, order, residual, repeat.

    Signal: model + item + response. Error of a mean: (rater + residual)/raters + (order + repeat)/(raters *
    repeats); with `same_raters` for every response severity cancels from comparisons and is left out. A design costs
    raters * (repeats + rater_cost). Raises Undefined (OutOfRange) for a negative variance, a budget under one answer, or no
    signal.
    """
    for name, variance in variances.items():
        if not variance >= 0:
            raise out_of_range(f"The variance of {name}", 0, float("inf"), variance)
    signal = signal_of(variances)
    if signal <= 0:
        raise out_of_range("The variance of responses", 1e-12, float("inf"), signal)

    def design(raters: int, repeats: int) -> Design:
        error = error_of(variances, raters, repeats, same_raters=same_raters)
        return Design(raters, repeats, raters * (repeats + rater_cost), error, signal / (signal + error))

    found = [design(r, k) for r in range(1, max_raters + 1) for k in range(1, max_repeats + 1)]
    designs = tuple(sorted(found, key=lambda one: (one.cost, -one.reliability, one.raters)))
    affordable = [one for one in designs if one.cost <= budget]
    if not affordable:
        raise out_of_range("The budget", designs[0].cost, float("inf"), budget)
    start = design(1, 1)
    return DecisionStudy(
        designs=designs,
        frontier=_frontier(designs),
        best=max(affordable, key=lambda one: (one.reliability, -one.cost, one.raters)),
        gain_of_rater=design(2, 1).reliability - start.reliability,
        gain_of_repeat=design(1, 2).reliability - start.reliability,
    )


def signal_of(variances: Mapping[str, float]) -> float:
    """The variance of responses: model + item + response."""
    return sum(variances.get(name, 0.0) for name in SIGNAL)


def error_of(variances: Mapping[str, float], raters: int, repeats: int, *, same_raters: bool = False) -> float:
    """The variance of the error of a mean by so many raters who are asked so often: see decide."""
    between = variances.get("residual", 0.0) + (0.0 if same_raters else variances.get("rater", 0.0))
    within = variances.get("order", 0.0) + variances.get("repeat", 0.0)
    return between / raters + within / (raters * repeats)


def cheapest_design(study: DecisionStudy, target: float) -> Design:
    """The cheapest design with at least the reliability `target` (0..1). Raises TargetOutOfReach."""
    for one in study.frontier:
        if one.reliability >= target:
            return one
    raise TargetOutOfReach(target, study.frontier[-1].reliability)


def _frontier(designs: tuple[Design, ...]) -> tuple[Design, ...]:
    kept: list[Design] = []
    for one in designs:
        if not kept or one.reliability > kept[-1].reliability:
            kept.append(one)
    return tuple(kept)
