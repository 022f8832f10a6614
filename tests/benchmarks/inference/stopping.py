"""Lines of the coverage benchmark on stopping rules that hold whenever one looks.

`python tests/benchmarks/inference/stopping.py` prints what stopping costs: the labels until a question is answered, beside
the instructions that a fixed plan needs to answer it with 80 % power.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[3]), str(Path(__file__).resolve().parents[1])]

from inference.design import Design, NullDesign

from calibration.statistics.stopping.confidence_sequence import confidence_sequence
from calibration.statistics.stopping.decisions import against_threshold, better_than, leaders, threshold_needed
from calibration.statistics.stopping.instruction_values import agreeing_pairs, weight_gains

SIZES = (30, 100, 500)
ALWAYS = (0.95, 1.0)
"""A confidence sequence promises at least 95 % at all moments together; it may hold more often."""
RATERS = 3
Z = 1.959964 + 0.841621
"""The normal quantiles of 5 % and 80 % power."""


def agreement_shares(rng, size, mean=None):
    """Shares of agreeing pairs of three raters on `size` instructions of two tasks; with a mean, exactly that one."""
    clear = rng.beta(2, 1, size=size)
    unit, rater = np.repeat(np.arange(2 * size), RATERS), np.tile(np.arange(RATERS), 2 * size)
    label = np.where(rng.uniform(size=unit.size) < clear[unit // 2], 0, rng.integers(1, 4, size=unit.size))
    values = agreeing_pairs(unit // 2, unit, rater, label.astype(float), instructions=size).values[:, 0]
    return values if mean is None else moved(rng, values, mean, 0.0)


def moved(rng, values, mean, low):
    """The values with some replaced by the lowest and the highest, so that their mean over the study is exactly `mean`."""
    values = values.copy()
    for place in rng.permutation(len(values)):
        short = mean * len(values) - values.sum()
        if abs(short) < 1e-12:
            break
        values[place] = np.clip(values[place] + short, low, 1.0)
    return values


def differences(rng, size, mean, spread):
    """Differences in points of two models, in sixths, whose mean over the study is exactly `mean`."""
    drawn = np.round(6 * np.clip(rng.normal(mean, spread, size=size), -1, 1)) / 6
    return moved(rng, drawn, mean, -1.0)


def sequence_design(size: int):
    name = f"confidence sequence at all times, {size} instructions"

    def draw(rng, _resamples, _clustered):
        values = rng.permutation(agreement_shares(rng, size))
        found = confidence_sequence(values, values, size=size)
        mean = values.mean()
        return {name: np.array([bool(((found.low <= mean + 1e-9) & (found.high >= mean - 1e-9)).all())])}

    return Design(f"{size} instructions, looked at after each", {name: ALWAYS}, draw, rows_fail=False)


def needed_design(size: int):
    """Whether the answer comes within what the dashboard expects, as seen after a third of the instructions."""
    name = f"instructions still needed, {size} instructions"

    def draw(rng, _resamples, _clustered):
        values = rng.permutation(agreement_shares(rng, size))
        third, level = size // 3, 0.45
        seen = values[:third]
        if np.isfinite(against_threshold(seen, seen, level, size=size, error=0.05).at):
            return {name: np.zeros(0)}
        needed = threshold_needed(seen, seen, level, size=size, error=0.05, seed=int(rng.integers(2**31)))
        at = min(against_threshold(values, values, level, size=size, error=0.05).at, size) - third
        return {name: np.array([needed.low <= at <= needed.high])}

    promise = {name: (0.7, 1.0)}
    return Design(f"{size} instructions, seen after a third of them", promise, draw, rows_fail=False)


def threshold_null(size: int):
    name = f"May labelling stop? agreement at the threshold, {size} instructions"

    def draw(rng):
        values = rng.permutation(agreement_shares(rng, size, 0.6))
        return {name: bool(np.isfinite(against_threshold(values, values, 0.6, size=size, error=0.05).at))}

    return NullDesign(f"{size} instructions, looked at after each", (name,), draw)


def equal_models_null(size: int, models: int):
    name = f"May labelling stop? {models} equal models, {size} instructions"

    def draw(rng):
        # Any two of them are equal over the study: each model has the same points in another order.
        points = np.round(4 * rng.beta(2, 2, size=size)) / 4
        table = np.column_stack([rng.permutation(points) for _ in range(models)])
        places = 1 if models < 4 or rng.uniform() < 0.5 else 3
        return {name: bool(np.isfinite(leaders(table, places, size=size, error=0.05).at))}

    return NullDesign(f"{size} instructions, looked at after each", (name,), draw)


def weights_rows(rng, size, weights, noise=1.5):
    """Answers and overall scores of `size` instructions, each with six rows of four items."""
    instruction = np.repeat(np.arange(size), 6)
    level = rng.uniform(0.2, 0.8, size=(size, 1))[instruction]
    answers = np.clip(level + rng.normal(scale=0.25, size=(instruction.size, 4)), 0, 1)
    overall = np.clip(answers @ weights + rng.normal(scale=noise, size=instruction.size), 0, 10)
    return instruction, np.tile(np.arange(6), size), answers, overall


def equal_weights_null(size: int):
    name = f"May labelling stop? equal weights, {size} instructions"

    def draw(rng):
        found, bounds = weight_gains(*weights_rows(rng, size, np.full(4, 2.5)), instructions=size, floor=0.5)
        return {name: bool(np.isfinite(better_than(found.values[:, 0], bounds, error=0.05)))}

    return NullDesign(f"{size} instructions, looked at after each", (name,), draw)


def designs() -> list[Design]:
    return [*map(sequence_design, SIZES), *map(needed_design, (100, 500))]


def null_designs() -> list[NullDesign]:
    return [
        *map(threshold_null, SIZES),
        *(equal_models_null(size, models) for size in SIZES for models in (2, 5)),
        *(equal_weights_null(size) for size in (60, 200)),
    ]


def fixed_plan(distance: float, spread: float, size: int) -> float:
    """Instructions, of `size` without replacement, with which a fixed plan finds `distance` with 80 % power at 5 %."""
    return 1 / ((distance / spread) ** 2 / Z**2 + 1 / size)


def cost(draws: int) -> list[dict[str, float | int | str]]:
    """The instructions at which a question is answered, beside the fixed plan with 80 % power."""
    lines = []
    for size, mean, spread in ((60, 0.2, 0.4), (100, 0.15, 0.4), (200, 0.1, 0.4), (200, 0.05, 0.2), (500, 0.06, 0.4)):
        stopped, planned, wrong = [], [], 0
        for number in range(draws):
            rng = np.random.default_rng([size, int(1000 * mean), number])
            apart = rng.permutation(differences(rng, size, mean, spread))
            table = np.column_stack([(1 + apart) / 2, (1 - apart) / 2])
            found = leaders(table, 1, size=size, error=0.05)
            stopped.append(min(found.at, size))
            wrong += found.leading == (1,)
            planned.append(fixed_plan(mean, float(apart.std()), size))
        ratio = float(np.mean(stopped)) / float(np.mean(planned))
        lines.append(
            {
                "question": "A over B",
                "instructions": size,
                "difference": mean,
                "fixed": round(float(np.mean(planned))),
                "stopped": round(float(np.mean(stopped))),
                "ratio": round(ratio, 2),
                "unanswered": round(float(np.mean(np.array(stopped) >= size)), 3),
                "wrong": round(wrong / draws, 4),
            }
        )
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    found = cost(parser.parse_args().draws)
    for line in found:
        print(json.dumps(line))
    print(json.dumps({"ratio": round(float(np.median([line["ratio"] for line in found])), 2), "lines": len(found)}))
