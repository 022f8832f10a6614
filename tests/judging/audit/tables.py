"""Simulated tables in which people and a judge rate, with a bias of known size planted in the judge or none."""

import csv
import gzip
import json

import numpy as np


def scores(
    items=150,
    models=4,
    raters=5,
    *,
    seed,
    length=0.0,
    family=0.0,
    severity=0.0,
    noise=0.5,
    slope=1.0,
    formatted=0.0,
    drift=0.0,
    copy=0.0,
):
    """Rows of a wide table of scores: quality plus people's noise, and the judge on a scale of its own with its biases.

    `length` is what the judge adds for twice the length, `family` for models of its own family, `formatted` for a list,
    `drift` from the first row to the last, `copy` the share of annotator0's own deviations. Better responses are longer and
    more often have lists.
    """
    rng = np.random.default_rng(seed)
    names = ["gpt-4o", "claude-3", "qwen-2", "gemini-1"][:models]
    severities = rng.normal(0, 0.1, raters)
    for item in range(items):
        for name in names:
            quality = rng.normal(3, 0.8)
            log = 8 + 0.5 * (quality - 3) + rng.normal(0, 0.8)
            row = {"item_id": f"i{item}", "model": name, "response_length": max(1, round(2**log))}
            own = rng.normal(0, 0.6, raters)
            for rater in range(raters):
                row[f"annotator{rater}"] = round(quality + severities[rater] + own[rater], 2)
            judged = 3 + slope * (quality - 3) + rng.normal(0, noise)
            judged += length * (log - 8) + family * (name == "gpt-4o") + severity
            if formatted or drift:
                listed = quality + rng.normal(0, 1) > 3
                row["response"] = "- one\n- two" if listed else "one - two"
                row["judged_at"] = f"2026-01-{1 + 27 * item // items:02}T10:00:00+00:00"
                judged += formatted * listed + drift * item / items
            yield {**row, "gpt4_score": round(judged + copy * own[0], 2)}


def pairs(items=300, raters=4, *, seed, first=0.0, wrong=0.2, swapped=False, follows=0.0):
    """Rows of a wide table of pairs: `first` is the chance that the judge takes the first side whatever it holds.

    With `swapped` each pair comes again with its sides swapped; `follows` is then the chance that the judge takes the
    first side both times. People and judge else say which is better, and are wrong with the chance `wrong`.
    """
    rng = np.random.default_rng(seed)
    names = ["alpha", "beta", "gamma"]
    for item in range(items):
        one, other = rng.choice(names, 2, replace=False)
        better = rng.random() < 0.5
        row = {"item_id": f"i{item}", "model_a": one, "model_b": other}
        for rater in range(raters):
            row[f"annotator{rater}"] = _side(better ^ (rng.random() < wrong))
        judged = better ^ (rng.random() < wrong) or rng.random() < first
        stays = swapped and rng.random() < follows
        yield {**row, "judge_x": _side(judged or stays)}
        if swapped:
            nobody = {name: "" for name in row if name.startswith("annotator")}
            yield {
                "item_id": f"i{item}",
                "model_a": other,
                "model_b": one,
                **nobody,
                "judge_x": _side(stays or not judged),
            }


def _side(first):
    return "1" if first else "2"


def write(path, rows):
    rows = list(rows)
    opened = gzip.open if path.suffix == ".gz" else open
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        import pyarrow as arrow
        from pyarrow import parquet

        parquet.write_table(arrow.Table.from_pylist(rows), path)
        return path
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        if name.endswith(".jsonl"):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        elif name.endswith(".json"):
            json.dump(rows, file, ensure_ascii=False)
        else:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if name.endswith(".tsv") else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def as_long(rows, kept=("item_id", "model")):
    """One rating in each row."""
    for row in rows:
        for name, value in row.items():
            if name.startswith(("annotator", "gpt4", "judge")):
                yield {**{key: row[key] for key in kept}, "rater": name, "score": value}
