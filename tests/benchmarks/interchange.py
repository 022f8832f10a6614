"""Formats of other tools: how many there are, whether round trips are equal, and the time and memory of 100,000 rows.

Each format is read, and each written, in a process of its own, of which the slowest and the largest are printed. Logs of
inspect_ai are read where its package is installed, and are otherwise named as not measured.
"""

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from generation.importers.formats.registry import FORMATS, read_format
from generation.importers.formats.source import Source
from generation.importers.records import PreferenceRecord, RatingRecord
from judging.formats.answers import ExportedAnswer, ExportedResponse, ExportedScore, ExportedTask, WriteOptions
from judging.formats.registry import WRITERS
from judging.formats.writer import PAIR

WORDS = "The harbour lies still before the boats leave, and somebody counts the nets again. " * 4
INSPECT = importlib.util.find_spec("inspect_ai") is not None
BOTH = [key for key in FORMATS if key in WRITERS and key != "openai-batch"]
"""Formats that are read and written; of a batch, the input is written and the output read."""


class Folder:
    """The files of a writer, below a folder."""

    def __init__(self, folder):
        self.folder, self.open = folder, {}

    def write(self, text, name=""):
        if name not in self.open:
            self.open[name] = (self.folder / (name or "only")).open("w", encoding="utf-8")
        self.open[name].write(text)

    def close(self):
        for file in self.open.values():
            file.close()


def tasks(rows, pairs):
    """Tasks with one answer each, of a person and of a judge in turn."""
    for number in range(rows):
        first = ExportedResponse(f"model-{number % 5}", f"i{number}", text=f"{number} {WORDS}")
        second = ExportedResponse(f"model-{5 + number % 5}", f"i{number}", text=f"{WORDS} {number}") if pairs else None
        task = ExportedTask(
            "s", f"t{number}", number, f"i{number}", first, second, messages=(("user", f"Tell {number}. {WORDS}"),)
        )
        choice = ("a", "b")[number % 2] if pairs else ""
        score = ExportedScore("preference" if pairs else "quality", float(1 + number % 5), low=1, high=5)
        judged = ExportedAnswer("gpt", "judge", (score,))
        people = ExportedAnswer(f"r{number % 50}", "person", (score,), choice=choice)
        yield task, [people] if pairs or number % 2 else [judged]


def own_row(key, number):
    """A row of a format that is read and not written."""
    text = f"{number} {WORDS}"
    if key == "alpaca-eval-outputs":
        return {"instruction": f"Tell {text}", "output": text, "generator": "m", "dataset": "d"}
    if key == "lm-eval":
        arguments = {"gen_args_0": {"arg_0": text, "arg_1": {}}}
        tail = {"filter": "none", "metrics": ["exact_match"], "exact_match": number % 2}
        return {"doc_id": number, "doc": {"q": text}, "arguments": arguments, "resps": [[text]], **tail}
    if key == "promptfoo":
        grading = {"pass": True, "score": 1, "reason": "ok", "componentResults": []}
        known = {"promptIdx": 0, "testIdx": number, "provider": {"id": "m"}, "vars": {}, "success": True}
        return {**known, "prompt": {"raw": text}, "response": {"output": text}, "gradingResult": grading}
    if key == "inspect-log":
        output = {"model": "m", "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}]}
        scores = {"match": {"value": "CI"[number % 2], "explanation": "ok"}}
        tail = {"output": output, "scores": scores, "metadata": {}, "store": {}, "events": [], "attachments": {}}
        return {"id": f"i{number}", "epoch": 1, "input": f"Tell {text}", "target": "x", "messages": [], **tail}
    body = {"model": "m", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return {"custom_id": f"i{number}", "response": {"status_code": 200, "body": body}, "error": None}


def made(key, rows, folder):
    """A file of the format with this many rows."""
    path = folder / "rows.jsonl"
    if key in BOTH:
        write(key, rows, folder)
        path = folder / f"rows.{WRITERS[key].ending}"
        (folder / "only").rename(path)
        return path
    if key == "inspect-log":
        path = folder / "rows.eval"
        spec = {"created": "2026-01-01T00:00:00+00:00", "task": "t", "dataset": {}, "model": "m", "config": {}}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(rows):
                archive.writestr(f"samples/i{number}_epoch_1.json", json.dumps(own_row(key, number)))
            archive.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": spec}))
        return path
    with path.open("w", encoding="utf-8") as file:
        if key == "promptfoo":
            path = path.with_suffix(".json")
            file = path.open("w", encoding="utf-8")
            file.write('{"evalId": "e", "results": {"version": 3, "results": [')
            file.writelines(("," if number else "") + json.dumps(own_row(key, number)) + "\n" for number in range(rows))
            file.write('], "stats": {}}}')
            file.close()
            return path
        file.writelines(json.dumps(own_row(key, number)) + "\n" for number in range(rows))
    return path


def write(key, rows, folder):
    files = Folder(folder)
    pairs = WRITERS[key].tasks == PAIR
    WRITERS[key].write(tasks(rows, pairs), files, WriteOptions())
    files.close()


def read(key, path):
    problems = []
    count = sum(1 for _record in read_format(FORMATS[key], Source(path, problems.append)))
    assert count and not problems, (key, problems[:1])


def given(answer):
    """A choice or a value as a reader gives it."""
    return answer.choice.upper() or str(int(answer.scores[0].value))


def is_equal(key, folder):
    """Whether the answers of a file that is written are those that are read of it."""
    path = made(key, 200, folder)
    pairs = WRITERS[key].tasks == PAIR
    wanted = [
        (task.instruction, "preference" if key == "preference-pairs" else answer.rater, given(answer))
        for task, answers in tasks(200, pairs)
        for answer in answers
    ]
    records = list(read_format(FORMATS[key], Source(path)))
    found = [
        (one.instruction or one.item, one.rater, one.choice if isinstance(one, PreferenceRecord) else one.value)
        for one in records
        if isinstance(one, RatingRecord | PreferenceRecord)
    ]
    if key == "preference-pairs":  # the chosen response comes first, whichever it was
        wanted = [(item, rater, "A") for item, rater, _choice in wanted]
    return found == wanted


def measured(what, key, rows):
    """Seconds and peak megabytes of one format, in a process of its own."""
    command = [sys.executable, __file__, "--one", what, "--format", key, "--rows", str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def one(what, key, rows):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = None
        if what == "read":
            command = [
                sys.executable,
                __file__,
                "--one",
                "make",
                "--format",
                key,
                "--rows",
                str(rows),
                "--folder",
                place,
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            path = Path(json.loads(done.stdout)["path"])
        begun, worked = time.perf_counter(), time.process_time()
        read(key, path) if path else write(key, rows, folder)
        seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": round(seconds, 2), "worked": round(worked, 2), "mb": round(peak)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--one", choices=["read", "write", "make"])
    parser.add_argument("--format")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.one == "make":
        print(json.dumps({"path": str(made(given.format, given.rows, given.folder))}))
        return
    if given.one:
        one(given.one, given.format, given.rows)
        return
    readable = [key for key in FORMATS if INSPECT or key != "inspect-log"]
    for key in FORMATS.keys() - readable:
        print(f"read {key}: not measured, because inspect_ai is not installed", file=sys.stderr)
    found = {f"read {key}": measured("read", key, given.rows) for key in readable}
    found |= {f"write {key}": measured("write", key, given.rows) for key in WRITERS if not WRITERS[key].table}
    for name, values in found.items():
        print(
            f"{name}: {values['seconds']} s, of which {values['worked']} s at work, {values['mb']} MB", file=sys.stderr
        )
    with tempfile.TemporaryDirectory() as place:
        equal = 0
        for key in BOTH:
            folder = Path(place) / key
            folder.mkdir()
            equal += is_equal(key, folder)
    result = {
        "formats_in": len(FORMATS),
        "formats_out": len(WRITERS),
        "round_trips_equal": f"{equal} of {len(BOTH)}",
        "read_100k_s": max(values["seconds"] for name, values in found.items() if name.startswith("read")),
        "peak_mb": max(values["mb"] for values in found.values()),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
