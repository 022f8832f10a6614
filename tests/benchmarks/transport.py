"""Does a calibration carried to a model that nobody rated hold its mean? On published ratings and on simulated models.

LLMEval-2: GPT-4's stars and people's of 20 models. HANNA: 11 systems, each of five judges with one prompt. Every model in
turn has its ratings hidden; the truth is people's mean of its responses. Simulated: 14 models of which 4 have no ratings, 40
instructions of which people rated 30, 5 raters who differ in severity; a stated share of the models departs from the others'
calibration by one standard deviation of the models, up or down. The truth is the mean over all such raters and instructions.

"carried": share of models with a stated level ("honest" and "departing" apart); "coverage_carried": share of their 95 %
intervals that hold the truth; "refused": the others; "wrongly_carried": share of departing models whose level is stated with
an interval that misses the truth; "width": median half width in standard deviations of the models' true means; "verdicts":
how often the transport test says what; "error": root mean squared error of the stated levels in the same unit.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from calibration.statistics.judges.transport import SHAPES, JudgedAndRated, transport

DATA = ROOT.parent / "shared" / "data"
FULL_MARKS = {"A": 5, "B": 14}
SHARES = (0.0, 0.1, 0.3)
MARGIN = 0.25
"""Of the standard deviation of the models' true means."""


def llmeval2() -> pd.DataFrame:
    stars = pd.read_csv(DATA / "llmeval2/stars.csv.gz", dtype={"llm_name": str})
    whole = stars.groupby(["question_uuid", "llm_name"]).agg(
        human=("human", "sum"), judge=("gpt4", "sum"), kind=("type", "first")
    )
    full = whole["kind"].map(FULL_MARKS)
    found = pd.DataFrame({"people": 100 * whole["human"] / full, "judge": 100 * whole["judge"] / full}).reset_index()
    return found.rename(columns={"question_uuid": "instruction", "llm_name": "model"})


def hanna(prompt: int) -> dict[str, pd.DataFrame]:
    human, judges = (pd.read_csv(DATA / f"hanna_{name}.csv.gz") for name in ("human", "judges"))
    people = human.groupby(["item_id", "system"])["score"].mean().rename("people").reset_index()
    found = {}
    for judge, part in judges[judges["prompt"] == prompt].groupby("judge"):
        scored = part.groupby("item_id")["score"].mean().rename("judge").reset_index()
        both = people.merge(scored, on="item_id")
        both["instruction"] = both["item_id"] % 96
        found[str(judge)] = both.rename(columns={"system": "model"})
    return found


def summary(rows: list[dict]) -> dict[str, float]:
    stated = [row for row in rows if row["stated"]]
    departing = [row for row in rows if row["departs"]]
    honest = [row for row in rows if not row["departs"]]
    found = {
        "coverage_carried": np.mean([row["held"] for row in stated]) if stated else np.nan,
        "carried": len(stated) / len(rows),
        "carried_honest": np.mean([row["stated"] for row in honest]),
        "refused": 1 - len(stated) / len(rows),
        "wrongly_carried": np.mean([row["stated"] and not row["held"] for row in departing]) if departing else 0.0,
        "width": np.median([row["width"] for row in stated]) if stated else np.nan,
        "error": np.sqrt(np.mean([row["error"] ** 2 for row in stated])) if stated else np.nan,
    }
    told = Counter(row["verdict"] for row in rows)
    return {name: round(float(value), 4) for name, value in found.items()} | {"verdicts": dict(told), "n": len(rows)}


def left_out(table: pd.DataFrame, shape: str) -> list[dict]:
    truths = table.groupby("model")["people"].mean()
    rows = []
    for model, truth in truths.items():
        rated = np.flatnonzero((table["model"] != model).to_numpy())
        given = JudgedAndRated(
            table["judge"].to_numpy(float),
            table["model"].tolist(),
            table["instruction"].tolist(),
            rated,
            ["people"] * rated.size,
            table["people"].to_numpy(float)[rated],
            positions=True,
        )
        found = transport(given, margin=MARGIN * float(truths.std()), shape=shape)
        (mean,) = found.carried
        rows.append(_row(mean, truth, float(truths.std()), False, found.test.verdict))
    return rows


def _row(mean, truth: float, spread: float, departs: bool, verdict: str) -> dict:
    stated = mean.value is not None
    held = stated and mean.low <= truth <= mean.high
    width = (mean.high - mean.low) / 2 / spread if stated else np.nan
    return {
        "stated": stated,
        "held": held,
        "departs": departs,
        "width": width,
        "verdict": verdict,
        "error": (mean.value - truth) / spread if stated else np.nan,
    }


def simulated(share: float, shape: str, repetitions: int) -> list[dict]:
    models, unrated, instructions, answered, raters = 14, 4, 40, 30, 5
    rows = []
    for number in range(repetitions):
        rng = np.random.default_rng([16, int(100 * share), number])
        ability = rng.normal(0, 1, models)
        departs = rng.random(models) < share
        shift = np.where(departs, rng.choice([-1.0, 1.0], models), 0.0)
        quality = ability[:, None] + rng.normal(0, 0.7, instructions) + rng.normal(0, 0.8, (models, instructions))
        judge = quality - shift[:, None] + rng.normal(0, 0.7, quality.shape)
        severity = rng.normal(0, 0.3, raters)
        rated = quality[..., None] + severity + rng.normal(0, 0.8, (*quality.shape, raters))
        model, instruction, rater = np.indices(rated.shape)
        seen = (model >= unrated) & (instruction < answered)
        place = (model * instructions + instruction)[seen]
        given = JudgedAndRated(
            judge.ravel(),
            np.repeat(np.arange(models), instructions),
            np.tile(np.arange(instructions), models),
            place,
            rater[seen],
            rated[seen],
        )
        found = transport(given, margin=MARGIN, shape=shape, seed=number)
        for one in found.carried:
            at = int(one.model)
            rows.append(_row(one, float(ability[at]), 1.0, bool(departs[at]), found.test.verdict))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200, help="simulated data sets for each share that departs")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="which calibrations")
    parser.add_argument("--prompt", type=int, default=1, help="which of the four prompts HANNA's judges were given")
    arguments = parser.parse_args()
    result: dict[str, dict] = {}
    for shape in arguments.shapes:
        result[shape] = {"llmeval2": summary(left_out(llmeval2(), shape))}
        print(shape, "llmeval2", result[shape]["llmeval2"], flush=True)
        judges = hanna(arguments.prompt)
        every = []
        for judge, table in judges.items():
            rows = left_out(table, shape)
            print(shape, "hanna", judge, summary(rows), flush=True)
            every += rows
        result[shape]["hanna"] = summary(every)
        print(shape, "hanna", result[shape]["hanna"], flush=True)
        for share in SHARES:
            name = f"simulated, {100 * share:.0f} % depart"
            result[shape][name] = summary(simulated(share, shape, arguments.repetitions))
            print(shape, name, result[shape][name], flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
