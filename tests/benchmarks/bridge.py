"""Does a bridge from a new judge to an old one hold on real verdicts? HANNA's five judges, every pair, one prompt.

The truth is the mean that the old judge gave to all of a system's stories. Anchors are drawn anew in every repetition:
10, 20 and 40 % of each system's stories; then all systems but one, of which each in turn has no anchors.
"coverage": share of stated 95 % intervals that hold the truth, mean over ordered pairs of judges, with its standard error
over pairs; "width_ratio": the width beside that of the anchors' old scores alone (median); "rank_tau": the Kendall tau
between the order of the bridged means and the true one; "refused": share of means that are not stated.
"""

import argparse
import csv
import gzip
import json
import sys
from collections import defaultdict
from itertools import permutations
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from calibration.statistics.judges.bridge import bridge

HANNA = ROOT.parent / "shared" / "data" / "hanna_judges.csv.gz"
SHARES = (0.1, 0.2, 0.4)
MARGIN = 0.1


def scores(prompt: str) -> tuple[list[str], list[int], dict[str, np.ndarray]]:
    """System and instruction of each story, and each judge's mean over the six criteria."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    system: dict[int, str] = {}
    with gzip.open(HANNA, "rt") as lines:
        for row in csv.DictReader(lines):
            if row["prompt"] == prompt and row["score"]:
                found[row["judge"]][int(row["item_id"])].append(float(row["score"]))
                system[int(row["item_id"])] = row["system"]
    items = sorted(item for item in system if all(len(of[item]) == 6 for of in found.values()))
    place: dict[str, int] = defaultdict(int)
    instruction = []
    for item in items:
        instruction.append(place[system[item]])
        place[system[item]] += 1
    judges = {judge: np.array([np.mean(of[item]) for item in items]) for judge, of in found.items()}
    return [system[item] for item in items], instruction, judges


def drawn(rng, models: np.ndarray, share: float, without: str = "") -> np.ndarray:
    """Which responses are anchors: the share of each model's, but for the model without any."""
    anchors = np.zeros(models.size, dtype=bool)
    for model in np.unique(models):
        own = np.flatnonzero(models == model)
        if model != without:
            anchors[rng.choice(own, size=max(2, round(share * own.size)), replace=False)] = True
    return anchors


def measured(old, new, models, instruction, share, repetitions, seed, left_out) -> dict[str, float]:
    truth = {model: float(old[models == model].mean()) for model in np.unique(models)}
    held, ratios, taus, refused, asked = [], [], [], 0, 0
    for number in range(repetitions):
        for without in sorted(truth) if left_out else [""]:
            rng = np.random.default_rng([seed, number, len(held)])
            anchors = drawn(rng, models, share, without)
            seen = np.where(anchors, old, np.nan)
            found = bridge(new, seen, models.tolist(), instruction, margin=MARGIN, seed=number)
            for mean in found.models:
                if left_out and mean.model != without:
                    continue
                asked += 1
                if mean.kind == "not_stated":
                    refused += 1
                    continue
                held.append(mean.low <= truth[mean.model] <= mean.high)
                if mean.kind == "anchored" and mean.anchors_alone > 0:
                    ratios.append((mean.high - mean.low) / 2 / mean.anchors_alone)
            if not left_out:
                order = [mean.value for mean in found.models]
                taus.append(kendalltau(order, [truth[mean.model] for mean in found.models]).statistic)
    return {
        "coverage": float(np.mean(held)) if held else float("nan"),
        "width_ratio": float(np.median(ratios)) if ratios else float("nan"),
        "rank_tau": float(np.mean(taus)) if taus else float("nan"),
        "refused": refused / asked,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200, help="draws of anchors for each pair of judges")
    parser.add_argument("--prompt", default="1", help="which of the four prompts the judges were given")
    arguments = parser.parse_args()
    systems, instruction, judges = scores(arguments.prompt)
    models = np.array(systems)
    result: dict[str, dict] = {}
    for case, left_out in (("anchors of every model", False), ("a model without anchors", True)):
        result[case] = {}
        for share in SHARES:
            repetitions = arguments.repetitions if not left_out else max(1, arguments.repetitions // 10)
            lines = [
                measured(judges[old], judges[new], models, instruction, share, repetitions, 16 + place, left_out)
                for place, (old, new) in enumerate(permutations(sorted(judges), 2))
            ]
            covered = np.array([line["coverage"] for line in lines])
            covered = covered[~np.isnan(covered)]
            summary = {
                "coverage": round(float(covered.mean()), 4),
                "standard_error": round(float(covered.std(ddof=1) / np.sqrt(covered.size)), 4),
                "least": round(float(covered.min()), 4),
                "refused": round(float(np.mean([line["refused"] for line in lines])), 4),
            }
            if not left_out:
                summary["width_ratio"] = round(float(np.median([line["width_ratio"] for line in lines])), 3)
                summary["rank_tau"] = round(float(np.mean([line["rank_tau"] for line in lines])), 3)
            result[case][f"{100 * share:.0f} %"] = summary
            print(case, f"{100 * share:.0f} % anchors", summary, flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
