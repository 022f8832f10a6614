"""Reader of the samples that lm-evaluation-harness logs (samples_TASK_TIME.jsonl): prompts, responses and metrics. PURE.

The file does not name the model; it is given with the file. Each metric is a criterion, and the harness is the judge, one
for each filter.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from generation.importers.formats.format import PROPORTION, Format, Record
from generation.importers.formats.source import Source, required, text_of
from generation.importers.records import InstructionRecord, RatingRecord, ResponseRecord

SAMPLE = {
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "filter",
    "metrics",
    "doc_hash",
    "prompt_hash",
    "target_hash",
}
FILE = re.compile(r"samples_(.+)_\d{4}-\d{2}-\d{2}T")
HARNESS = "lm-evaluation-harness"


def read_lm_eval(source: Source) -> Iterator[Record]:
    found = FILE.match(source.name)
    task = found.group(1) if found else source.name.partition(".")[0]
    for place, row in source.objects():
        try:
            yield from _sample(source, place, row, task)
        except BadRow as problem:
            source.on_bad(problem)


def _sample(source: Source, place: Place, row: Mapping[str, Any], task: str) -> list[Record]:
    listed = row.get("metrics")
    metrics = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    metrics = metrics or [
        name for name, value in row.items() if name not in SAMPLE and isinstance(value, bool | int | float)
    ]
    source.note_unknown(row, {*SAMPLE, *metrics})
    instruction = f"{task}-{required(place, row, 'doc_id').strip()}"
    model = source.options.model or "model"
    asked = InstructionRecord(place, instruction, _prompt(row.get("arguments")), reference=text_of(row.get("target")))
    records: list[Record] = [ResponseRecord(place, asked, model, _reply(row))]
    filtered = text_of(row.get("filter"))
    for name in metrics:
        value = row.get(name)
        if not isinstance(value, bool | int | float):
            source.note(name)
            continue
        records.append(
            RatingRecord(
                place,
                instruction,
                HARNESS,
                True,
                name,
                "" if value != value else text_of(value),
                model=model,
                variant="" if filtered in ("", "none") else f"filter {filtered}",
            )
        )
    return records


def _prompt(arguments: object) -> str | None:
    """Return the first argument of the first request, in the layout of either version of the harness."""
    first: object = None
    if isinstance(arguments, dict):
        first = next(iter(arguments.values()), None)
        first = next(iter(first.values()), None) if isinstance(first, dict) else first
    elif isinstance(arguments, list) and arguments:
        first = arguments[0][0] if isinstance(arguments[0], list) and arguments[0] else arguments[0]
    return text_of(first) or None


def _reply(row: Mapping[str, Any]) -> str | None:
    """Return what the model wrote, None where it only ranked the answers that it was given."""
    found: object = row.get("resps")
    while isinstance(found, list) and found:
        found = found[0]
        if isinstance(found, str):
            return text_of(found)
    return None


LM_EVAL = Format(
    "lm-eval",
    "lm-evaluation-harness samples",
    read_lm_eval,
    (frozenset({"doc_id", "doc", "resps"}),),
    scales=PROPORTION,
)
