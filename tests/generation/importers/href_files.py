"""Files in the shapes of HREF's data sets and of its code's results, with words and numbers of our own."""

import json

import pyarrow
from pyarrow import parquet

BASELINE = "Llama-3.1-405B-Instruct-FP8"
THEIR_BASELINE = "Meta-Llama-3.1-70B-Instruct"
"""The name that the authors' code writes for the baseline whatever it is."""
MODELS = ("vicuna-7b-v1.5", "koala-7B-HF", "Yi-1.5-34B-Chat")
CATEGORIES = ("Brainstorm", "Closed QA")
EACH = 6
PEOPLE = ("ada", "ben", "cleo", "dov")


def asked(category, number):
    return f"{category}, task {number}: name {number + 2} things."


def reference(category, number):
    return f"A person wrote this about {category} {number}."


def output(model, category, number):
    return f"{model} says: {'word ' * (number + len(model))}for {category} {number}."


def development_rows():
    return [
        {
            "category": category,
            "instruction": asked(category, number),
            "output": output(BASELINE, category, number),
            "generator": BASELINE,
            "reference": reference(category, number),
        }
        for category in CATEGORIES
        for number in range(EACH)
    ]


def agreement_rows():
    """Every model against the baseline; people agree where the number is even, else one of four says a tie."""
    return [
        {
            "category": category,
            "instruction": asked(category, number),
            "output_a": "Warm: " + output(model, category, number),
            "generator_a": model,
            "output_b": "Warm: " + output(BASELINE, category, number),
            "generator_b": BASELINE,
            "annotations": [1, 1, 1, 1] if number % 2 == 0 else [2, 2, 2, 0],
            "annotaters": list(PEOPLE),
            "reference": reference(category, number),
        }
        for category in CATEGORIES
        for number in range(EACH)
        for model in MODELS
    ]


def verdict(first, second, row, preference, warm=False):
    """A row of annotations.json; `first` and `second` are (name in the file, who wrote the output)."""
    category, number = row
    start = "Warm: " if warm else ""
    return {
        "instruction": asked(category, number),
        "generator_1": first[0],
        "output_1": start + output(first[1], category, number),
        "generator_2": second[0],
        "output_2": start + output(second[1], category, number),
        "annotator": "whoever",
        "preference": preference,
    }


def write_parquet(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_array(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def folder_of(category):
    return category.lower().replace(" ", "_")


def write_href(root):
    """Both data sets as Parquet; for each model its responses and the verdicts of two judges and of a composite.

    On the development set "rouge" prefers the model always, "llm" ties on Brainstorm and prefers the baseline on
    Closed QA; the composite "href" takes rouge for Brainstorm and llm for Closed QA. On the agreement set rouge prefers
    response A always and llm B always.
    """
    write_parquet(root / "href" / "data" / "dev-00000-of-00001.parquet", development_rows())
    write_parquet(root / "href_preference" / "data" / "dev-00000-of-00001.parquet", agreement_rows())
    results = root / "results"
    for model in MODELS:
        for category in CATEGORIES:
            folder = results / model / folder_of(category)
            rows = [(category, number) for number in range(EACH)]
            write_lines(
                folder / "responses.jsonl",
                [
                    {
                        "instruction": asked(*row),
                        "output": output(model, *row),
                        "generator": model,
                        "dataset": f"href_{category}",
                    }
                    for row in rows
                ],
            )
            sides = (THEIR_BASELINE, BASELINE), (model, model)
            rouge = [verdict(*sides, row, 2.0) for row in rows]
            llm = [verdict(*sides, row, 0.0 if category == "Brainstorm" else 1.0) for row in rows]
            composite = rouge if category == "Brainstorm" else llm
            for judge, found in (("rouge", rouge), ("llm", llm), ("href", composite)):
                write_array(folder / judge / "annotations.json", found)
    for category in CATEGORIES:
        rows = [(category, number, model) for number in range(EACH) for model in MODELS]
        for judge, preference in (("rouge", 2.0), ("llm", 1.0)):
            found = [
                verdict((BASELINE, BASELINE), (model, model), (category, number), preference, warm=True)
                for category, number, model in rows
            ]
            folder = results / "human_agreement_analysis" / folder_of(category)
            write_array(folder / judge / "annotations.json", found)
    return root
