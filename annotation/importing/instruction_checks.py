"""Load the checks that each instruction has of its own, as in LongGenBench, from a table or a reader's records."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from annotation.importing import messages
from annotation.models import Rubric
from annotation.rubrics.instruction_checks import check_fields
from annotation.rubrics.library import keep_rubric
from annotation.rules.subtasks import UnreadableNumbers, kind_of, read_numbers
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import Row, read_rows
from generation.importers.records import CheckRecord, CheckSetRecord
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
    return load_check_rows(benchmark, read_rows(file, COLUMNS))


def load_check_rows(benchmark: Benchmark, rows: Iterable[Row], on_bad: OnBadRow = refuse) -> Counts:
    """Load the rows of such a table; bad rows are passed to `on_bad` and left out."""
    checks: dict[str, list[CheckRecord]] = {}
    places: dict[str, Place] = {}
    known, skipped = _instructions_of(benchmark), Counts()
    for row in rows:
        name = row.values["instruction"].strip()
        try:
            _known_pk(known, benchmark, row.place, name)
            check = _check(row)
            if check in checks.get(name, ()):
                raise row.place.bad(messages.QUESTION_TWICE(name=repr(name)), messages.KEEP_ONE())
        except BadRow as problem:
            on_bad(problem)
            skipped += Counts(skipped=1)
            continue
        places.setdefault(name, row.place)
        checks.setdefault(name, []).append(check)
    records = [CheckSetRecord(places[name], name, tuple(found)) for name, found in checks.items()]
    return store_check_sets(benchmark, records, on_bad) + skipped


def store_check_sets(benchmark: Benchmark, records: Iterable[CheckSetRecord], on_bad: OnBadRow = refuse) -> Counts:
    """Store the checks of each instruction as a rubric of its own; one that has not changed stays.

    A record of an instruction that the benchmark lacks is passed to `on_bad` and left out. All or nothing.
    """
    known = _instructions_of(benchmark)
    counts = Counts()
    with transaction.atomic():
        for record in records:
            try:
                pk = _known_pk(known, benchmark, record.place, record.instruction)
            except BadRow as problem:
                on_bad(problem)
                counts += Counts(skipped=1)
                continue
            key = f"{benchmark.slug}-checks-{record.instruction}"[:150]
            criteria = [_criterion(check, position) for position, check in enumerate(record.checks)]
            counts += keep_rubric(
                benchmark.workspace, benchmark, None, key=key, names={"en": record.instruction}, criteria=criteria
            )
            rubrics = Rubric.objects.filter(workspace=benchmark.workspace, key=key)
            rubrics.exclude(instruction=pk).update(instruction=pk)
    return counts


def _instructions_of(benchmark: Benchmark) -> dict[str, int]:
    return dict(Instruction.objects.filter(benchmark=benchmark).values_list("external_id", "pk"))


def _known_pk(known: dict[str, int], benchmark: Benchmark, place: Place, name: str) -> int:
    if name not in known:
        said = messages.NO_INSTRUCTION(benchmark=benchmark.slug, name=repr(name[:50]))
        raise place.bad(said, messages.LOAD_INSTRUCTIONS())
    return known[name]


def _criterion(check: CheckRecord, position: int) -> dict[str, Any]:
    key = f"{slugify(check.question)[:50].replace('-', '_') or 'check'}_{position + 1}"
    questions = {"en": check.question, "zh-hans": check.question_zh}
    where = None
    if check.numbers:
        where = {"mark": check.mark, "numbers": list(check.numbers), "kind": check.kind, "asked": check.asked}
    return check_fields(key, {language: text for language, text in questions.items() if text}, position, where)


def _check(row: Row) -> CheckRecord:
    values = {name: text.strip() for name, text in row.values.items()}
    if not values["question"]:
        raise row.place.bad(messages.NO_QUESTION(), messages.YES_OR_NO())
    where = _where(row, values) or {}
    return CheckRecord(
        values["question"],
        tuple(where.get("numbers", ())),
        where.get("mark", ""),
        where.get("kind", "whole"),
        where.get("asked"),
        values.get("question_zh", ""),
    )


def _where(row: Row, values: dict[str, str]) -> dict[str, Any] | None:
    try:
        numbers = read_numbers(values.get("numbers", ""))
    except UnreadableNumbers as problem:
        raise row.place.bad(messages.BAD_PART(text=problem), messages.PART_NUMBERS()) from problem
    if not numbers:
        return None
    if not values.get("mark"):
        raise row.place.bad(messages.NO_MARK(), messages.ENTER_MARK())
    kind = values.get("kind", "") or kind_of(numbers)
    if kind not in KINDS:
        known = messages.CHECK_KINDS(known=", ".join(KINDS[:3]))
        raise row.place.bad(messages.BAD_CHECK_KIND(text=repr(kind[:30])), known)
    asked = values.get("asked", "")
    if asked and not (asked.isdecimal() and asked.isascii() and int(asked) > 0):
        raise row.place.bad(messages.BAD_ASKED(text=repr(asked[:30])), messages.ENTER_ASKED())
    return {"mark": values["mark"], "numbers": numbers, "kind": kind, "asked": int(asked) if asked else None}
