"""Is a prompt that is no better claimed to be better? Simulated studies in which a script judges in the place of a model.

In each repetition people rate single responses to `instructions` on five levels; they differ in severity and in care. The
baseline and eight versions read the same responses; a version repeats the baseline's verdict where its script did not
change, and elsewhere judges anew, as well as the baseline (`--better` makes the last version better than that by so many
chances of 100). Versions differ by instruction too: each is better on some and worse on others. As on the page of an
alignment, the version that gains most on the validation part is looked at on the test part, then the next, until one is
claimed to be better or three looks were taken. "false_claims": the share of repetitions in which that happened.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from calibration.statistics.errors import NoStatistic
from calibration.statistics.judges.agreement import LabelledTasks, beside_baseline
from calibration.statistics.judges.alignment import chosen_on_validation, claim_of, level_of_look, split

LEVELS = 5
VERSIONS = 8
RESPONSES = 3
LOOKS = 3


class Study:
    """People's levels and judges' levels of every response: `people` (tasks, raters), `judges` (1 + versions, tasks)."""

    def __init__(self, rng, instructions: int, raters: int, better: float) -> None:
        tasks = instructions * RESPONSES
        self.instruction = np.repeat(np.arange(instructions), RESPONSES)
        quality = rng.normal(0, 0.7, instructions)[self.instruction] + rng.normal(0, 0.8, tasks)
        severity, care = rng.normal(0, 0.25, raters), rng.uniform(0.4, 0.9, raters)
        self.people = levels(quality[:, None] + severity + rng.normal(0, 1, (tasks, raters)) * care)
        baseline = quality + rng.normal(0, 0.9, tasks)
        rows = [levels(baseline)]
        for number in range(VERSIONS):
            # As noisy on average as the baseline, but by instruction: the scripts read some better and others worse.
            noise = np.exp(rng.normal(0, 0.35, instructions))
            noise *= 0.9 / np.sqrt(np.mean(noise**2))
            if better and number == VERSIONS - 1:
                noise *= 1 - better / 100
            anew = quality + rng.normal(0, 1, tasks) * noise[self.instruction]
            changed = rng.random(tasks) < rng.choice([0.3, 0.6, 1.0])
            rows.append(np.where(changed, levels(anew), rows[0]))
        self.judges = np.vstack(rows)

    def part(self, chosen) -> tuple[LabelledTasks, np.ndarray]:
        own = np.isin(self.instruction, chosen)
        people, tasks = self.people[own], int(own.sum())
        task = np.repeat(np.arange(tasks), people.shape[1])
        return (
            LabelledTasks(
                task=task,
                label=people.reshape(-1),
                rater=np.tile(np.arange(people.shape[1]), tasks),
                instruction=np.unique(self.instruction[own], return_inverse=True)[1].reshape(-1)[task],
            ),
            self.judges[:, own],
        )


def levels(values) -> np.ndarray:
    return np.clip(np.round(values + 2), 0, LEVELS - 1).astype(np.int64)


def beside(part, version: int, confidence: float = 0.95):
    people, judges = part
    try:
        return beside_baseline(people, judges[[version, 0]], confidence=confidence)
    except NoStatistic:
        return None


def claimed(study: Study, instructions: int, seed: int) -> bool:
    """Whether one of up to three looks claims that a version is better than the baseline."""
    parts = split(range(instructions), seed=seed)
    validation, test = study.part(parts["validation"]), study.part(parts["test"])
    found = [beside(validation, version) for version in range(1, VERSIONS + 1)]
    for number in range(1, LOOKS + 1):
        place = chosen_on_validation(found)
        if place is None:
            return False
        level = level_of_look(number)
        seen = beside(test, place + 1, 1 - level)
        if seen is not None and claim_of(seen.gain, level) == "better":
            return True
        found[place] = None
    return False


def share_claimed(repetitions: int, instructions: int, raters: int, better: float, seed: int) -> float:
    claims = 0
    for number in range(repetitions):
        rng = np.random.default_rng([seed, number])
        claims += claimed(Study(rng, instructions, raters, better), instructions, number)
    return claims / repetitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--instructions", type=int, default=80)
    parser.add_argument("--raters", type=int, default=4)
    parser.add_argument("--better", type=float, default=0, help="makes one version's errors smaller by so many percent")
    parser.add_argument("--seed", type=int, default=16)
    given = parser.parse_args()
    share = share_claimed(given.repetitions, given.instructions, given.raters, given.better, given.seed)
    print(json.dumps({"repetitions": given.repetitions, "claims" if given.better else "false_claims": round(share, 4)}))


if __name__ == "__main__":
    main()
