"""How many of people's labels does a judge save when two models are compared? On published ratings, read-only.

LLMEval-2: 240 questions, 20 models, GPT-4's stars beside people's. HANNA: 96 prompts, 11 systems, five judges with four
prompts each, as the best single judge and as a panel of all (both chosen by cross-fitting). For n labelled instructions
drawn uniformly from all N, every pair of models has a prediction-powered interval and one of people's labels alone.
The last line is JSON: by data set and n the pool N, the median rho over pairs, the ceiling (median of rho^2 (1 - n/N)), the
median share of labels saved at equal width, the shares of pairs of models that the intervals separate with and without the
judge, and the share of the ceiling that is saved.
"""

import argparse
import json
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from calibration.statistics.design.stacking import stacked_panel
from calibration.statistics.judges.prediction_powered import ModelScores, prediction_powered_difference, shared_power

DATA = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data"
LABELLED = (24, 40, 80)
FULL_MARKS = {"A": 5, "B": 14}
"""LLMEval-2: objective questions have 3 + 2 stars, subjective ones 5 + 3 + 3 + 3."""

Judged = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Labelled and other instructions -> the judge's scores of both, (n, models) and (N - n, models)."""


def llmeval2(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """People's and GPT-4's share of full marks in percent, both (questions, models)."""
    stars = pd.read_csv(data / "llmeval2/stars.csv.gz", dtype={"llm_name": str})
    whole = stars.groupby(["question_uuid", "llm_name"]).agg(
        human=("human", "sum"), gpt4=("gpt4", "sum"), kind=("type", "first")
    )
    full = whole["kind"].map(FULL_MARKS)
    people, judge = ((100 * whole[name] / full).unstack().to_numpy() for name in ("human", "gpt4"))
    return people, judge


def hanna(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Means over the six criteria: people's (prompts, systems), and the judges' (judges, prompts, systems)."""
    human, judges = (pd.read_csv(data / f"hanna_{name}.csv.gz") for name in ("human", "judges"))
    for table in (human, judges):
        table["story"] = table["item_id"] % 96
    people = human.groupby(["story", "system"])["score"].mean().unstack().to_numpy()
    tables = [
        part.groupby(["story", "system"])["score"].mean().unstack().to_numpy()
        for _name, part in judges.groupby(["judge", "prompt"])
    ]
    return people, np.array(tables)


def measured(people: np.ndarray, whole: np.ndarray, judged: Judged, n: int, draws: int, seed: int) -> dict:
    """`whole` (N, models) is what the judge says of every instruction, from which rho is taken over all of them."""
    pool, models = people.shape
    pairs = list(combinations(range(models), 2))
    rho = np.array([np.corrcoef(people[:, a] - people[:, b], whole[:, a] - whole[:, b])[0, 1] for a, b in pairs])
    saved, with_judge, without = [], [], []
    for number in range(draws):
        order = np.random.default_rng([seed, n, number]).permutation(pool)
        some, rest = np.sort(order[:n]), np.sort(order[n:])
        own, others = judged(some, rest)
        scores = [ModelScores(people[some, at], own[:, at], some, others[:, at], rest) for at in range(models)]
        shared = shared_power(scores)
        for a, b in pairs:
            found = prediction_powered_difference(scores[a], scores[b], shared=shared)
            saved.append(1 - (found.powered.error / found.human_only.error) ** 2)
            with_judge.append(found.powered.low > 0 or found.powered.high < 0)
            without.append(found.human_only.low > 0 or found.human_only.high < 0)
    ceiling = float(np.median(rho**2) * (1 - n / pool))
    at_median = float(np.median(saved))
    return {
        "n": n,
        "pool": pool,
        "rho": round(float(np.median(rho)), 3),
        "ceiling": round(ceiling, 3),
        "saved_at_equal_width": round(at_median, 3),
        "separated_share": round(float(np.mean(with_judge)), 3),
        "separated_share_without_judge": round(float(np.mean(without)), 3),
        "share_of_ceiling": round(at_median / ceiling, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20, help="draws of labelled instructions for each n")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the published ratings")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.exit(f"There is no folder {arguments.data}; name the folder of the published ratings with --data.")
    people, gpt4 = llmeval2(arguments.data)
    stars = [
        measured(people, gpt4, lambda some, rest: (gpt4[some], gpt4[rest]), n, arguments.draws, arguments.seed)
        for n in LABELLED
    ]
    for row in stars:
        print("llmeval2", row, flush=True)
    stories, judges = hanna(arguments.data)
    both = {}
    for name, single in (("single", True), ("panel", False)):
        everything = stacked_panel(stories, judges, judges[:, :0], single=single).labelled

        def judged(some, rest, single=single):
            panel = stacked_panel(stories[some], judges[:, some], judges[:, rest], single=single, seed=arguments.seed)
            return panel.labelled, panel.others

        both[name] = []
        for n in LABELLED:
            row = measured(stories, everything, judged, n, arguments.draws, arguments.seed)
            both[name].append(row)
            print("hanna", name, row, flush=True)
    print(json.dumps({"llmeval2": stars, "hanna": both}))


if __name__ == "__main__":
    main()
