"""Does an audit find what is wrong with a judge, and nothing in an honest one? Judges with a planted bias of known size.

Studies are simulated with people who differ in severity (sd .3) and in how much of the scale they use (log sd .25): 80
instructions x 4 models x 5 people on a scale of whole numbers, or 300 pairs x 4 people. Each bias is planted with 1.3 and 2
times the detectable size that the audit of this very study states: the smallest effect that it finds with a power of 80 %.
It differs from study to study, because people who differ much leave the agreement less certain. "recovered" is the share of
studies in which the sign is right and the stated 95 % interval leaves out 0, by bias; its printed value is that of all
biases together, with the least of them. "false_findings" is the share of studies of an honest judge in which any check is
called a finding.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from calibration.statistics.errors import NoStatistic
from judging.audit.auditing import corrected, findings
from judging.audit.measures import common_lines, correlation_agreement
from judging.audit.ratings import Ratings, Repeat
from judging.audit.report import Check

PEOPLE, MODELS = 5, ("gpt-4o", "claude-3", "qwen-2", "gemini-1")
JUDGE = "gpt-4"
OF_SCORES = ("length", "family", "format", "severity", "noise", "drift", "copy")
OF_PAIRS = ("position", "swaps")
CHECK_OF = {"noise": "agreement"}
TIMES = (1.3, 2.0)
ITS_OWN_SIZE = ("length", "family", "format", "severity", "drift")
"""Biases whose true effect is the size that is planted."""
SIZES = np.linspace(0, 3, 16)
"""Sizes of the others at which the true effect is found."""
STEPS = 4
"""Rounds in which the planted size and the detectable size that follows from it are brought together."""


def scores(rng: np.random.Generator, plant: str, size: float, instructions: int = 80) -> Ratings:
    """A study of scores whose judge has the planted bias, in points (noise: standard deviation added; copy: a share)."""
    tasks = instructions * len(MODELS)
    instruction, model = np.repeat(np.arange(instructions), len(MODELS)), np.tile(np.arange(len(MODELS)), instructions)
    quality = rng.normal(0, 0.7, instructions)[instruction] + np.array([0.3, 0.1, -0.1, -0.3])[model]
    quality = quality + rng.normal(0, 0.9, tasks)
    log_length = 8 + 0.4 * quality + rng.normal(0, 0.6, tasks)
    formatted = (0.5 * quality + rng.normal(0, 1, tasks) > 0).astype(float)
    severity, taste = rng.normal(0, 0.3, PEOPLE), np.exp(rng.normal(0, 0.25, PEOPLE))
    own = rng.normal(0, 0.7, (tasks, PEOPLE))
    said = np.rint(5.5 + severity + 1.4 * taste * quality[:, None] + own)
    place = rng.permutation(tasks)
    judged = 5.5 + 1.1 * quality + rng.normal(0, 0.7, tasks)
    extra = {
        "length": lambda: size * (log_length - 8),
        "family": lambda: size * (model == 0),
        "format": lambda: size * formatted,
        "severity": lambda: np.full(tasks, size),
        "noise": lambda: rng.normal(0, size, tasks),
        "drift": lambda: size * place / (tasks - 1),
        "copy": lambda: size * own[:, 0],
        "": lambda: np.zeros(tasks),
    }
    judged = np.rint(judged + extra[plant]())
    return Ratings(
        kind="numbers",
        instruction=instruction,
        criterion=np.zeros(tasks, dtype=np.int64),
        task=np.repeat(np.arange(tasks), PEOPLE),
        rater=np.tile(np.arange(PEOPLE), tasks),
        value=said.ravel(),
        people=tuple(f"person {number}" for number in range(PEOPLE)),
        judges={JUDGE: judged},
        repeats={JUDGE: []},
        models=[(MODELS[number],) for number in model],
        length=log_length,
        position=np.full(tasks, np.nan),
        formatted=formatted,
        moments={JUDGE: 1.7e9 + place},
        labels=(),
        unreadable=0,
    )


def pairs(rng: np.random.Generator, plant: str, size: float, instructions: int = 300) -> Ratings:
    """A study of pairs: the first side's quality beyond the second's decides, and the judge adds `size` for a side.

    For "position" the judge sees each pair once; for "swaps" it sees each again with its sides swapped.
    """
    people = 4
    ahead = rng.normal(0, 1, instructions)
    taste = np.exp(rng.normal(0, 0.25, people))
    said = (taste * ahead[:, None] + rng.normal(0, 0.8, (instructions, people)) > 0).astype(float)
    lean = size if plant in OF_PAIRS else 0.0
    judged = (ahead + lean + rng.normal(0, 0.8, instructions) > 0).astype(float)
    again = (ahead - lean + rng.normal(0, 0.8, instructions) > 0).astype(float)
    repeats = [Repeat(n, float(judged[n]), float(again[n]), True) for n in range(instructions)]
    log_ratio = 0.4 * ahead + rng.normal(0, 0.8, instructions)
    model = rng.integers(0, 3, instructions)
    return Ratings(
        kind="pairs",
        instruction=np.arange(instructions),
        criterion=np.zeros(instructions, dtype=np.int64),
        task=np.repeat(np.arange(instructions), people),
        rater=np.tile(np.arange(people), instructions),
        value=said.ravel(),
        people=tuple(f"person {number}" for number in range(people)),
        judges={JUDGE: judged},
        repeats={JUDGE: repeats if plant != "position" else []},
        models=[(MODELS[number], MODELS[number + 1]) for number in model],
        length=log_ratio,
        position=np.full(instructions, np.nan),
        formatted=np.full(instructions, np.nan),
        moments={},
        labels=(),
        unreadable=0,
    )


def checks(ratings: Ratings) -> tuple[Check, ...]:
    return corrected(findings(ratings).checks)


def check_of(found: tuple[Check, ...], plant: str) -> Check | None:
    return next((one for one in found if one.kind == CHECK_OF.get(plant, plant)), None)


def truth(make: Callable[..., Ratings], plant: str, size: float, rng: np.random.Generator) -> float:
    """The effect that an audit of very many instructions shows for a planted size, over rater pools drawn anew."""
    if plant in ITS_OWN_SIZE:
        return size
    found = []
    for _pool in range(24):
        given = make(rng, plant, size, 3000)
        if plant == "noise":
            lines = common_lines(given, given.judges[JUDGE], 2, centred=True)
            found.append(float(correlation_agreement(lines).value[2]))
        else:
            one = check_of(findings(replace_none(given)).checks, plant)
            found.append(one.effect.value if one else 0.0)
    return float(np.mean(found))


def replace_none(ratings: Ratings) -> Ratings:
    """The same without what only slows the audit of many instructions down."""
    return replace(ratings, length=np.full_like(ratings.length, np.nan), moments={})


def curve(make: Callable[..., Ratings], plant: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Planted sizes and their true effects without signs, increasing."""
    if plant in ITS_OWN_SIZE:
        return np.array([0.0, 1e3]), np.array([0.0, 1e3])
    seed = int(rng.integers(2**31))
    effects = [abs(truth(make, plant, size, np.random.default_rng(seed))) for size in SIZES]
    return SIZES, np.maximum.accumulate(effects)


def planted(
    make: Callable[..., Ratings], plant: str, times: float, seed: int, known: tuple[np.ndarray, np.ndarray]
) -> tuple[Check | None, float]:
    """The check of a study whose bias is `times` its own detectable size, and that bias as it was planted."""
    size = 0.0
    for _step in range(STEPS):
        given = make(np.random.default_rng(seed), plant, size)
        one = check_of(tuple(findings(given if plant in ITS_OWN_SIZE else replace_none(given)).checks), plant)
        if one is None:
            return None, size
        size = float(np.interp(times * one.detectable, known[1], known[0]))
    return check_of(checks(make(np.random.default_rng(seed), plant, size)), plant), size


def measure(make: Callable[..., Ratings], plant: str, times: float, draws: int, seed: int) -> dict[str, object]:
    """How often the bias is recovered at `times` the detectable size of each study."""
    rng = np.random.default_rng(seed)
    known = curve(make, plant, rng)
    recovered = named = 0
    sizes, stated = [], []
    sign = -1.0 if plant == "noise" else 1.0
    for _ in range(draws):
        one, size = planted(make, plant, times, int(rng.integers(2**63)), known)
        if one is None:
            continue
        ends = one.effect.such if one.population == "such" else one.effect.these
        sizes.append(size)
        stated.append(one.detectable)
        right = one.effect.value * sign > 0 and ends is not None and (ends.low > 0 or ends.high < 0)
        recovered += right
        named += one.finding and one.effect.value * sign > 0
    return {
        "plant": plant,
        "times": times,
        "size": round(float(np.median(sizes)), 3),
        "detectable": round(float(np.median(stated)), 3),
        "recovered": round(recovered / draws, 4),
        "called_a_finding": round(named / draws, 4),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--draws", type=int, default=400, help="simulated studies a bias and size, and of honest judges"
    )
    options.add_argument("--only", default="", help="one bias only")
    options.add_argument("--seed", type=int, default=20)
    given = options.parse_args()
    lines = []
    for make, plants in ((scores, OF_SCORES), (pairs, OF_PAIRS)):
        for plant in plants:
            for times in TIMES if given.only in ("", plant) else ():
                try:
                    lines.append(measure(make, plant, times, given.draws, given.seed))
                except NoStatistic as error:
                    lines.append({"plant": plant, "times": times, "recovered": 0.0, "error": str(error)})
                print(json.dumps(lines[-1]), flush=True)
    honest = {}
    for make in (scores, pairs):
        rng = np.random.default_rng(given.seed + 1)
        any_of = [any(one.finding for one in checks(make(rng, "", 0.0))) for _ in range(given.draws)]
        honest[make.__name__] = round(float(np.mean(any_of)), 4)
        print(json.dumps({"honest": make.__name__, "false_findings": honest[make.__name__]}), flush=True)
    at_least = [line["recovered"] for line in lines]
    print(
        json.dumps(
            {
                "planted": len(lines) * given.draws,
                "recovered": round(float(np.mean(at_least)), 4) if at_least else None,
                "least_recovered": min(at_least, default=None),
                "honest": 2 * given.draws,
                "false_findings": max(honest.values()),
            }
        )
    )


if __name__ == "__main__":
    main()
