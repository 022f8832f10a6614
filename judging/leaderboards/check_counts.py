"""How much of what a long output was asked for stands in it and fulfils what was asked, counted from instruction checks.

LongGenBench (arXiv 2409.02076), 2.4: sub-tasks asked and present; instructions, those whose sub-task is present, and those
fulfilled. Absent sub-tasks have no task, so they are found by what the rubric asks.

An instruction of which no output has a checked part has no task at all: its rubric is the nearest one in the library, and
all that it asks for counts as absent. Where no rubric is found it is in no count; both are reported.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from annotation.models import Criterion, Study, Task
from annotation.policies.policies import Selection
from annotation.rules.subtasks import subtasks_in
from annotation.studies.selection import Candidate, RubricChoice, candidates
from calibration.data.frames import ScoreFrame
from generation.models import Category, Response
from judging.scores.benchmark_scores import InstructionCounts, pooled_counts

TEXTS_AT_ONCE = 200
WHOLE = 0
"""Number of a check of the whole text."""
POSITIONS = 10
"""The parts that an instruction asks for are counted in tenths, from the first to the last."""
Key = TypeVar("Key", str, int)


@dataclass(frozen=True)
class Output:
    """Counts of one response; `by_kind` holds the same counts for single, range, periodic and whole-text checks.

    `by_position` holds them for the tenths of the parts asked for, 0 to 9, by the number of the part; checks of the whole
    text are in none. A verdict that could not be used is in no count of instructions. Category pks are 0 if there is
    none. `checkable`: some output of the instruction contains a part that is checked.
    """

    response: int
    model: int
    instruction: int
    category: int
    parent: int
    words: int
    counts: InstructionCounts
    by_kind: Mapping[str, InstructionCounts]
    checkable: bool = True
    by_position: Mapping[int, InstructionCounts] = field(default_factory=dict)


@dataclass(frozen=True)
class Uncounted:
    """The parts of the studies' outputs that are not counted, and why.

    `unasked` instructions: no output has a checked part, and no rubric says what was asked for. `unplanned` outputs
    were added after the study's tasks were created, so no judge was asked about their parts.
    """

    unasked: int = 0
    unplanned: int = 0


def outputs_of(frame: ScoreFrame) -> list[Output]:
    """Return every response of the frame's studies that was judged or that lacks every part."""
    return counted(frame)[0]


def counted(frame: ScoreFrame) -> tuple[list[Output], Uncounted]:
    """Return the outputs of a frame of checks, and the number of instructions and outputs that are not counted."""
    tasks, place = np.unique(frame.task, return_inverse=True)
    share = (frame.value - frame.low) / np.where(frame.high > frame.low, frame.high - frame.low, 1.0)
    means = np.bincount(place.reshape(-1), weights=share) / np.maximum(np.bincount(place.reshape(-1)), 1)
    answers = dict(zip(tasks.tolist(), means.tolist(), strict=True))
    outputs: dict[int, Output] = {}
    unasked: set[int] = set()
    unplanned: set[int] = set()
    for study in Study.objects.filter(pk__in=_studies_of(tasks.tolist())).order_by("pk"):
        if Selection.of(study).verdicts:
            # A sample of checks does not say how much of an output is fulfilled.
            continue
        rows, without_rubric, added_later = _outputs(study, answers)
        unasked |= without_rubric
        unplanned |= added_later
        for output in rows:
            outputs.setdefault(output.response, output)
    # What one study lacks another may have.
    unasked -= {output.instruction for output in outputs.values()}
    return list(outputs.values()), Uncounted(len(unasked), len(unplanned - set(outputs)))


def _studies_of(tasks: list[int]) -> set[int]:
    studies: set[int] = set()
    for start in range(0, len(tasks), 5000):
        rows = Task.objects.filter(pk__in=tasks[start : start + 5000], kind=Task.Kind.CHECK)
        studies |= set(rows.values_list("study_id", flat=True))
    return studies


@dataclass(frozen=True)
class _Asked:
    """What a study's outputs were asked for.

    `tasks` holds the tasks of each response by check and number; the checks are by instruction, of those with a task
    and of those without; `unasked` instructions have none.
    """

    tasks: Mapping[int, Mapping[tuple[int, int], int]]
    checks: Mapping[int, list[Criterion]]
    of_library: Mapping[int, list[Criterion]]
    outputs: list[Candidate]
    unasked: set[int]

    def of(self, instruction: int) -> list[Criterion]:
        return self.checks.get(instruction) or self.of_library[instruction]


def _asked_of(study: Study) -> _Asked:
    tasks: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    instruction_of: dict[int, int] = {}
    rows = Task.objects.filter(study=study, kind=Task.Kind.CHECK, gold__isnull=True)
    for pk, key, response, instruction in rows.values_list("pk", "key", "response_a_id", "response_a__instruction_id"):
        _c, _response, check, *number = key.split(":")
        tasks[response][int(check), int(number[0]) if number else WHOLE] = pk
        instruction_of.setdefault(instruction, int(check))
    checks = _checks_of(instruction_of)
    chosen = [candidate for candidate in candidates(study) if candidate.model]
    of_library = _checks_of_library(study, [row for row in chosen if row.instruction not in instruction_of])
    unasked = {row.instruction for row in chosen if row.instruction not in checks | of_library}
    return _Asked(tasks, checks, of_library, [row for row in chosen if row.instruction not in unasked], unasked)


def beside_tasks(study: Study) -> tuple[set[int], set[int]]:
    """Return what the counts of a check study need beside its tasks: outputs without tasks, and rubrics."""
    asked = _asked_of(study)
    checks = [check for source in (asked.checks, asked.of_library) for rows in source.values() for check in rows]
    return {output.response for output in _outputs(study, {})[0]}, {check.rubric_id for check in checks}


def _outputs(study: Study, answers: Mapping[int, float]) -> tuple[list[Output], set[int], set[int]]:
    """Return the study's outputs, its instructions without a rubric, and the outputs about which nothing was asked.

    `answers` are the judge's mean answers by task, 0 to 1.
    """
    asked = _asked_of(study)
    leaves = {pk: parent or pk for pk, parent in Category.objects.values_list("pk", "parent_id")}
    outputs: list[Output] = []
    unplanned: set[int] = set()
    for start in range(0, len(asked.outputs), TEXTS_AT_ONCE):
        batch = asked.outputs[start : start + TEXTS_AT_ONCE]
        texts = dict(Response.objects.filter(pk__in=[row.pk for row in batch]).values_list("pk", "text"))
        for row in batch:
            tasks, text = asked.tasks.get(row.pk, {}), texts.get(row.pk) or ""
            if tasks and not any(task in answers for task in tasks.values()):
                continue
            checks = asked.of(row.instruction)
            if not tasks and _could_be_asked(checks, text):
                unplanned.add(row.pk)
                continue
            read = list(_read(checks, tasks, answers))
            by_kind = _grouped((instruction.kind, instruction) for instruction in read)
            parts_asked, parts_present = _parts(checks, text)
            outputs.append(
                Output(
                    response=row.pk,
                    model=row.model or 0,
                    instruction=row.instruction,
                    category=row.category or 0,
                    parent=leaves.get(row.category or 0, 0),
                    words=row.words,
                    counts=replace(pooled_counts(by_kind.values()), asked=parts_asked, present=parts_present),
                    by_kind=by_kind,
                    checkable=row.instruction in asked.checks,
                    by_position=_grouped(
                        (instruction.position, instruction) for instruction in read if instruction.position is not None
                    ),
                )
            )
    return outputs, asked.unasked, unplanned


def _checks_of_library(study: Study, chosen: list[Candidate]) -> dict[int, list[Criterion]]:
    """Return what was asked of instructions that have no task, from the rubric that their tasks would use."""
    if not chosen:
        return {}
    rubric_of = RubricChoice(study)
    rubrics = {row.instruction: rubric_of(row) for row in chosen}
    checks = _checks_by_rubric({pk for pk in rubrics.values() if pk is not None})
    return {instruction: checks[pk] for instruction, pk in rubrics.items() if pk is not None and checks.get(pk)}


def _checks_of(instruction_of: Mapping[int, int]) -> dict[int, list[Criterion]]:
    """Return every check that each instruction's rubric asks for, by instruction."""
    rubric_of = dict(Criterion.objects.filter(pk__in=set(instruction_of.values())).values_list("pk", "rubric_id"))
    checks = _checks_by_rubric(set(rubric_of.values()))
    return {
        instruction: checks[rubric_of[check]] for instruction, check in instruction_of.items() if check in rubric_of
    }


def _checks_by_rubric(rubrics: set[int]) -> dict[int, list[Criterion]]:
    checks: dict[int, list[Criterion]] = defaultdict(list)
    for check in Criterion.objects.filter(rubric__in=rubrics, role=Criterion.Role.CHECK).order_by("position"):
        checks[check.rubric_id].append(check)
    return checks


def _could_be_asked(checks: list[Criterion], text: str) -> bool:
    """Whether the text would get a task: for a check of the whole text, or for a checked part that it contains."""
    present: dict[str, set[int]] = {}
    for check in checks:
        where = check.subtasks or {}
        if not where.get("numbers"):
            return True
        mark = str(where.get("mark", ""))
        if mark not in present:
            present[mark] = set(subtasks_in(text, mark))
        if present[mark] & set(where["numbers"]):
            return True
    return False


@dataclass(frozen=True)
class _Instruction:
    """One check of one part: its kind, the tenth of its part (None for the whole text), and what became of it."""

    kind: str
    position: int | None
    answered: bool
    fulfilled: bool


def _read(
    checks: list[Criterion], tasks: Mapping[tuple[int, int], int], answers: Mapping[int, float]
) -> Iterator[_Instruction]:
    """Yield the instructions of an output, without those whose verdict could not be used."""
    for check in checks:
        where = check.subtasks or {}
        numbers = where.get("numbers") or [WHOLE]
        # A part beyond those asked for is in the last tenth.
        last = int(where.get("asked") or max(numbers))
        for number in numbers:
            task = tasks.get((check.pk, number))
            if task is not None and task not in answers:
                continue
            fulfilled = task is not None and answers[task] >= 0.5
            position = min(POSITIONS * (number - 1) // last, POSITIONS - 1) if number != WHOLE else None
            yield _Instruction(str(where.get("kind") or "whole"), position, task is not None, fulfilled)


def _grouped(instructions: Iterable[tuple[Key, _Instruction]]) -> dict[Key, InstructionCounts]:
    """Count the instructions of each group, those whose part is present, and those fulfilled."""
    counts: dict[Key, list[int]] = defaultdict(lambda: [0, 0, 0])
    for key, instruction in instructions:
        row = counts[key]
        row[0] += 1
        row[1] += instruction.answered
        row[2] += instruction.fulfilled
    return {key: InstructionCounts(0, 0, *row) for key, row in counts.items()}


def _parts(checks: list[Criterion], text: str) -> tuple[int, int]:
    """Count the requested sub-tasks, and those present in the text, by the markers that the checks name."""
    asked_of: dict[str, int] = {}
    for check in checks:
        where = check.subtasks or {}
        if where.get("mark"):
            asked_of[where["mark"]] = max(asked_of.get(where["mark"], 0), int(where.get("asked") or 0))
    present = [part for mark, asked in asked_of.items() for part in subtasks_in(text, mark) if 1 <= part <= asked]
    return sum(asked_of.values()), len(present)
