"""Load from a table the checks that each instruction has of its own, as in LongGenBench."""

from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from annotation.models import Rubric
from annotation.rubrics.instruction_checks import check_fields
from annotation.rubrics.library import keep_rubric
from annotation.rules.subtasks import UnreadableNumbers, kind_of, read_numbers
from core.tables.reading import Row, read_rows
from generation.library.loading import Counts
from generation.models import Benchmark, Instruction

COLUMNS = ("instruction", "question")
KINDS = ("single", "range", "periodic", "whole")


def load_checks(benchmark: Benchmark, file: Path) -> Counts:
    """Load the checks of the benchmark's instructions, one rubric each; unchanged rubrics stay. All or nothing.

    Columns: instruction, question, and optionally question_zh, numbers ("19, 23-25", "13-52/5"; none for the whole
    text), mark (what a part is called), kind (single, range, periodic; seen from the numbers), asked (parts asked
    for). Raises BadRow.
    """
    known = dict(Instruction.objects.filter(benchmark=benchmark).values_list("external_id", "pk"))
    checks: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows(file, COLUMNS):
        name = row.values["instruction"].strip()
        if name not in known:
            raise row.place.bad(
                f"benchmark {benchmark.slug} has no instruction {name!r}", "load its instructions first"
            )
        own = checks.setdefault(name, [])
        own.append(_check(row, len(own)))
    counts = Counts()
    with transaction.atomic():
        for name, criteria in checks.items():
            key = f"{benchmark.slug}-checks-{name}"[:150]
            counts += keep_rubric(benchmark.workspace, benchmark, None, key=key, names={"en": name}, criteria=criteria)
            Rubric.objects.filter(workspace=benchmark.workspace, key=key).update(instruction=known[name])
    return counts


def _check(row: Row, position: int) -> dict[str, Any]:
    values = {name: text.strip() for name, text in row.values.items()}
    if not values["question"]:
        raise row.place.bad("the question is empty", "enter a question that can be answered by yes or no")
    questions = {"en": values["question"], "zh-hans": values.get("question_zh", "")}
    key = f"{slugify(values['question'])[:50].replace('-', '_') or 'check'}_{position + 1}"
    return check_fields(
        key, {language: text for language, text in questions.items() if text}, position, _where(row, values)
    )


def _where(row: Row, values: dict[str, str]) -> dict[str, Any] | None:
    try:
        numbers = read_numbers(values.get("numbers", ""))
    except UnreadableNumbers as problem:
        raise row.place.bad(
            f"{problem} is not a part number", "enter numbers such as 19, 23-25 or 13-52/5"
        ) from problem
    if not numbers:
        return None
    if not values.get("mark"):
        raise row.place.bad("the parts have no name", "enter their name in the column mark, such as Week")
    kind = values.get("kind", "") or kind_of(numbers)
    if kind not in KINDS:
        raise row.place.bad(f"{kind!r} is not a kind of check", f"use one of {', '.join(KINDS[:3])}, or leave it empty")
    asked = values.get("asked", "")
    if asked and not (asked.isdecimal() and asked.isascii() and int(asked) > 0):
        raise row.place.bad(
            f"{asked!r} is not a number of parts", "enter the number of parts requested, or leave it empty"
        )
    return {"mark": values["mark"], "numbers": numbers, "kind": kind, "asked": int(asked) if asked else None}
