"""Load synthetic files of benchmarks in full size into a fresh SQLite database, each in a process of its own.

    python tests/benchmarks/import.py [--keep FOLDER]

24 models answer HelloBench's 647 instructions, 3 more do so in the long-context experiment and 7 answer 123 instructions in
four lengths: 20,913 judged records, some 190 MB (seconds, records, peak_mb). LLMEval-2 has 480 questions, 20 models, and
stars by people and by a judge (llmeval2_s); a score file of WildBench has 4 MB (wildbench_read_s by the reader alone,
wildbench_s by the whole command). start_s is the time of a command that does nothing. Ends with one line of JSON.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmark_files import write_llmeval2, write_wildbench

from core.tables.bad_rows import refuse
from generation.importers.wildbench import Wildbench

SEED = 20240925
MEAN_WORDS = 400
VOCABULARY = 120_000
LENGTHS = {"2k": 1.0, "4k": 1.1, "8k": 1.2, "16k": 1.3}
LENGTH_TASK = "heuristic_text_generation"


def taxonomy() -> dict[str, list[tuple[str, int]]]:
    """Task -> (the repository's name of the subcategory, number of instructions)."""
    data = json.loads((ROOT / "fixtures" / "taxonomies" / "hellobench.json").read_text(encoding="utf-8"))
    return {
        category["key"]: [((child["aliases"] or [child["key"]])[0], child["count"]) for child in category["children"]]
        for category in data["categories"]
    }


def item_counts() -> dict[str, int]:
    """The repository's name of each subcategory -> the number of its checklist items."""
    rubrics = json.loads((ROOT / "fixtures" / "rubrics" / "hellobench.json").read_text(encoding="utf-8"))["rubrics"]
    items = {
        rubric["subcategory"]: sum(criterion["role"] == "item" for criterion in rubric["criteria"])
        for rubric in rubrics
    }
    data = json.loads((ROOT / "fixtures" / "taxonomies" / "hellobench.json").read_text(encoding="utf-8"))
    return {
        (child["aliases"] or [child["key"]])[0]: items[child["key"]]
        for category in data["categories"]
        for child in category["children"]
    }


class Writer:
    """Random prose: words by Zipf's law, sentences, lists, quotes, abbreviations, paragraphs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbgk"
        words = {"".join(self.random.choices(letters, k=self.random.randint(2, 11))) for _ in range(VOCABULARY)}
        self.words = [*sorted(words), "don't", "it's", "Dr.", "e.g.", "1.", "**Note**:", "cannot", "42%", "well-made"]
        self.random.shuffle(self.words)
        self.weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self.words))))

    def text(self, words: int) -> str:
        drawn = iter(self.random.choices(self.words, cum_weights=self.weights, k=words))
        parts = []
        while sentence := list(itertools.islice(drawn, self.random.randint(5, 25))):
            sentence[0] = sentence[0].capitalize()
            if len(sentence) > 8:
                sentence[4] += ","
            end = self.random.choice((". ", ". ", ". ", "? ", "!\n\n", '." ', ".\n- ", ": "))
            parts.append(" ".join(sentence) + end)
        return "".join(parts).strip()


def instructions(writer: Writer) -> dict[str, list[dict[str, object]]]:
    found = {}
    for task, children in taxonomy().items():
        names = [name for name, count in children for _ in range(count)]
        found[task] = [
            {"id": f"{task}_{number:03}", "category": name, "instruction": writer.text(60)}
            for number, name in enumerate(names)
        ]
    return found


def write_lines(path: Path, rows: Iterable[dict[str, object]]) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += 1
    return written


def evaluation(writer: Writer, items: int) -> list[dict[str, object]]:
    return [
        {
            "checklist_id": number,
            "reason": writer.text(25),
            "evaluation_score": writer.random.choice((0.25, 0.5, 0.75, 0.75, 1.0)),
        }
        for number in range(items)
    ]


def write_results(
    root: Path,
    folder: str,
    model: str,
    name: str,
    asked: list[dict[str, object]],
    factor: float,
    writer: Writer,
    items: dict[str, int],
) -> int:
    rows = []
    for instruction in asked:
        words = max(20, int(writer.random.lognormvariate(0, 0.5) * MEAN_WORDS * factor))
        rows.append({name: instruction[name] for name in ("id", "instruction")} | {"response": writer.text(words)})
    path = Path(folder) / model / f"{name}_results.jsonl"
    write_lines(root / "results" / "generations" / path, rows)
    for row, instruction in zip(rows, asked, strict=True):
        row["checklist_wise_evaluation"] = evaluation(writer, items[str(instruction["category"])])
    return write_lines(root / "results" / "judgements" / path, rows)


def write_clone(root: Path) -> int:
    """The clone's files; the number of judged records."""
    writer = Writer(SEED)
    asked, items = instructions(writer), item_counts()
    for task, rows in asked.items():
        write_lines(root / "data" / "main_data" / f"{task}.jsonl", rows)
        names = dict.fromkeys(str(row["category"]) for row in rows)
        checklist = {name: [writer.text(12) + "?" for _ in range(items[name])] for name in names}
        path = root / "checklists" / f"{task}_checklist.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(checklist), encoding="utf-8")
    for size in LENGTHS:
        write_lines(root / "data" / "length_constrained_data" / f"{LENGTH_TASK}_{size}.jsonl", asked[LENGTH_TASK])
    weights = {name: [100 / count] * count for name, count in items.items()}
    (root / "weighted_scores.txt").write_text(f"REGRESSION_DICT = {weights!r}\n", encoding="utf-8")
    records = 0
    for number in range(27):
        folder = "main_exp" if number < 24 else "longcontext_exp"
        for task, rows in asked.items():
            records += write_results(root, folder, f"model_{number:02}", task, rows, 0.85, writer, items)
    for number, (size, factor) in itertools.product(range(7), LENGTHS.items()):
        records += write_results(
            root,
            "length_constrained_exp",
            f"model_{number:02}",
            f"{LENGTH_TASK}_{size}",
            asked[LENGTH_TASK],
            factor,
            writer,
            items,
        )
    return records


def manage(folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds and peak megabytes of one command against the folder's own database."""
    environment = {**os.environ, "PLUMBLINE_DATA_DIR": str(folder / "var"), "PLUMBLINE_MODE": "local"}
    environment.pop("DATABASE_URL", None)
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, str(ROOT / "manage.py"), *arguments], env=environment, cwd=ROOT)
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def measure(folder: Path) -> dict[str, float]:
    clone = folder / "clone"
    if not clone.exists():
        started = time.perf_counter()
        write_clone(clone)
        print(f"Wrote the clone in {time.perf_counter() - started:.0f} s.")
    files = list(clone.rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in files) / 1e6
    records = sum(path.read_bytes().count(b"\n") for path in files if "judgements" in path.parts)
    print(f"{records} judged records in {size:.0f} MB.")
    manage(folder, "migrate", "--verbosity", "0")
    seconds, peak = manage(folder, "load_hellobench", str(clone))
    print(f"Loaded in {seconds:.1f} s with {peak:.0f} MB at the peak.")
    again, _peak = manage(folder, "load_hellobench", str(clone))
    print(f"The second time, changing nothing, took {again:.1f} s.")
    return {"seconds": round(seconds, 1), "records": records, "peak_mb": round(peak, 1)}


def measure_others(folder: Path) -> dict[str, float]:
    start, _peak = manage(folder, "check")
    print(f"A command that does nothing took {start:.2f} s.")
    stars = write_llmeval2(folder / "llmeval2", SEED)
    second, _peak = manage(folder, "load_benchmark", "llmeval2", str(folder / "llmeval2"))
    print(f"LLMEval-2 with {stars} stars loaded in {second:.1f} s.")
    size = write_wildbench(folder / "wildbench", Writer(SEED).words, SEED)
    started = time.perf_counter()
    records = sum(1 for part in Wildbench(folder / "wildbench").parts() if part.study for _ in part.records(refuse))
    read = time.perf_counter() - started
    whole, _peak = manage(folder, "load_benchmark", "wildbench", str(folder / "wildbench"))
    print(f"A score file of {size:.1f} MB with {records} scores was read in {read:.2f} s and loaded in {whole:.1f} s.")
    found = {"llmeval2_s": second, "wildbench_read_s": read, "wildbench_s": whole, "start_s": start}
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="Keep the clone in this folder, for another time.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumbline-import-") as temporary:
        folder = Path(temporary)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (folder / "clone").symlink_to(options.keep.resolve() / "clone")
            if not (options.keep / "clone").exists():
                write_clone(options.keep / "clone")
        result = measure(folder) | measure_others(folder)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
