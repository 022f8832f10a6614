"""How many labels does routing save against drawing instructions uniformly? On published ratings, read-only.

A pool of as many instructions as there are is drawn with replacement, so that the truth is the mean over all of them. In
each pool, `n` instructions are drawn with probabilities from the judge's spread and, apart, uniformly; every pair of models
is compared by the mean difference of people's scores, with a 95 % interval. LLMEval-2: GPT-4's stars, with the spread of
its soft verdict, share x (1 - share) of full marks. HANNA: five judges with four prompts; their mean is the judge, their
standard deviation the spread.

"saved": share of the labels of a uniform draw as precise that routing takes fewer (median over pairs), from the mean squared
label errors in repeated draws; "saved_as_claimed": the same as the estimate states it; "coverage": share of the routed
intervals that hold the truth; "uniform_coverage" beside it; "n" instructions of "pool".
"""

import argparse
import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from calibration.statistics.judges.routing import draw, drawing_probabilities, routed_mean

DATA = ROOT.parent / "shared" / "data"
FULL_MARKS = {"A": 5, "B": 14}


def llmeval2() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People's and GPT-4's share of full marks (questions, models), and the spread (questions,)."""
    stars = pd.read_csv(DATA / "llmeval2/stars.csv.gz", dtype={"llm_name": str})
    whole = stars.groupby(["question_uuid", "llm_name"]).agg(
        human=("human", "sum"), gpt4=("gpt4", "sum"), kind=("type", "first")
    )
    full = whole["kind"].map(FULL_MARKS)
    people, judge = ((whole[name] / full).unstack().to_numpy() for name in ("human", "gpt4"))
    return people, judge, np.sqrt((judge * (1 - judge)).clip(0).mean(axis=1))


def hanna() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    human, judges = (pd.read_csv(DATA / f"hanna_{name}.csv.gz") for name in ("human", "judges"))
    for table in (human, judges):
        table["story"] = table["item_id"] % 96
    people = human.groupby(["story", "system"])["score"].mean().unstack().to_numpy()
    every = np.array(
        [
            part.groupby(["story", "system"])["score"].mean().unstack().to_numpy()
            for _name, part in judges.groupby(["judge", "prompt"])
        ]
    )
    spread = (every - every.mean(axis=(1, 2), keepdims=True)).std(axis=0, ddof=1)
    return people, every.mean(axis=0), np.sqrt((spread**2).mean(axis=1))


def measured(people: np.ndarray, judge: np.ndarray, spread: np.ndarray, n: int, repetitions: int) -> dict[str, float]:
    pool, models = people.shape
    pairs = list(combinations(range(models), 2))
    held: dict[str, list[bool]] = {"routed": [], "uniform": []}
    labels: dict[str, list[list[float]]] = {"routed": [], "uniform": []}
    claimed = []
    for number in range(repetitions):
        rows = np.random.default_rng([16, number]).integers(pool, size=pool)
        drawings = {"routed": drawing_probabilities(spread[rows], n), "uniform": np.full(pool, n / pool)}
        for name, pi in drawings.items():
            drawn = draw(pi, number)
            errors = []
            for a, b in pairs:
                y, x = people[rows, a] - people[rows, b], judge[rows, a] - judge[rows, b]
                found = routed_mean(x, np.where(drawn, y, np.nan), pi, seed=number)
                held[name].append(found.low <= people[:, a].mean() - people[:, b].mean() <= found.high)
                errors.append((found.value - y.mean()) ** 2)
                if name == "routed":
                    claimed.append(found.saved)
            labels[name].append(errors)
    routed, uniform = (np.mean(labels[name], axis=0) for name in ("routed", "uniform"))
    saved = 1 - n * (routed / uniform * (1 / n - 1 / pool) + 1 / pool)
    return {
        "saved": round(float(np.median(saved)), 4),
        "saved_as_claimed": round(float(np.median(claimed)), 4),
        "coverage": round(float(np.mean(held["routed"])), 4),
        "uniform_coverage": round(float(np.mean(held["uniform"])), 4),
        "n": n,
        "pool": pool,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200, help="pools drawn")
    parser.add_argument("--n", type=int, default=40, help="instructions that people rate")
    arguments = parser.parse_args()
    result = {}
    for name, data in (("llmeval2", llmeval2), ("hanna", hanna)):
        result[name] = measured(*data(), arguments.n, arguments.repetitions)
        print(name, result[name], flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
