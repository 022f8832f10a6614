"""How much of what a long output was asked for stands in it and fulfils what was asked, counted from instruction checks.

LongGenBench (arXiv 2409.02076), 2.4: sub-tasks asked and present; instructions, those whose sub-task is present, and those
fulfilled. Absent sub-tasks have no task, so they are found by what the rubric asks.

An instruction of which no output has a checked part has no task at all: its rubric is the nearest one in the library, and
all that it asks for counts as absent. Where no rubric is found it is in no count; both are reported.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annotation.models import Criterion, Study, Task
from annotation.rules.subtasks import subtasks_in
from annotation.studies.selection import Candidate, RubricChoice, candidates
from calibration.data.frames import ScoreFrame
from generation.models import Category, Response
from judging.scores.benchmark_scores import InstructionCounts

TEXTS_AT_ONCE = 200
WHOLE = 0
"""Number of a check of the whole text."""


@dataclass(frozen=True)
class Output:
    """Counts of one response; `by_kind` holds the same counts for single, range, periodic and whole-text checks.

    A verdict that could not be used is in no count of instructions. Category pks are 0 if there is none. `checkable`:
    some output of the instruction contains a part that is checked.
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
    said = dict(zip(tasks.tolist(), means.tolist(), strict=True))
    found: dict[int, Output] = {}
    unasked: set[int] = set()
    unplanned: set[int] = set()
    for study in Study.objects.filter(pk__in=_studies_of(tasks.tolist())).order_by("pk"):
        outputs, without, later = _outputs(study, said)
        unasked |= without
        unplanned |= later
        for output in outputs:
            found.setdefault(output.response, output)
    # What one study lacks another may have.
    unasked -= {one.instruction for one in found.values()}
    return list(found.values()), Uncounted(len(unasked), len(unplanned - set(found)))


def _studies_of(tasks: list[int]) -> set[int]:
    found: set[int] = set()
    for start in range(0, len(tasks), 5000):
        rows = Task.objects.filter(pk__in=tasks[start : start + 5000], kind=Task.Kind.CHECK)
        found |= set(rows.values_list("study_id", flat=True))
    return found


@dataclass(frozen=True)
class _Asked:
    """What a study's outputs were asked for.

    `made` holds the tasks of each response by check and number; the checks are by instruction, of those with a task and
    of those without; `unasked` instructions have none.
    """

    made: Mapping[int, Mapping[tuple[int, int], int]]
    checks: Mapping[int, list[Criterion]]
    of_library: Mapping[int, list[Criterion]]
    outputs: list[Candidate]
    unasked: set[int]

    def of(self, instruction: int) -> list[Criterion]:
        return self.checks.get(instruction) or self.of_library[instruction]


def _asked_of(study: Study) -> _Asked:
    made: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    instruction_of: dict[int, int] = {}
    rows = Task.objects.filter(study=study, kind=Task.Kind.CHECK, gold__isnull=True)
    for pk, key, response, instruction in rows.values_list("pk", "key", "response_a_id", "response_a__instruction_id"):
        _c, _response, check, *number = key.split(":")
        made[response][int(check), int(number[0]) if number else WHOLE] = pk
        instruction_of.setdefault(instruction, int(check))
    checks = _checks_of(instruction_of)
    chosen = [one for one in candidates(study) if one.model]
    of_library = _checks_of_library(study, [one for one in chosen if one.instruction not in instruction_of])
    unasked = {one.instruction for one in chosen if one.instruction not in checks | of_library}
    outputs = [one for one in chosen if one.instruction not in unasked]
    return _Asked(made, checks, of_library, outputs, unasked)


def beside_tasks(study: Study) -> tuple[set[int], set[int]]:
    """Return what the counts of a check study need beside its tasks: outputs without tasks, and rubrics."""
    asked = _asked_of(study)
    rubrics = {one.rubric_id for found in (asked.checks, asked.of_library) for own in found.values() for one in own}
    return {one.response for one in _outputs(study, {})[0]}, rubrics


def _outputs(study: Study, said: Mapping[int, float]) -> tuple[list[Output], set[int], set[int]]:
    """Return the study's outputs, its instructions without a rubric, and the outputs about which nothing was asked."""
    asked_of = _asked_of(study)
    leaves = {pk: parent or pk for pk, parent in Category.objects.values_list("pk", "parent_id")}
    found: list[Output] = []
    unplanned: set[int] = set()
    for start in range(0, len(asked_of.outputs), TEXTS_AT_ONCE):
        some = asked_of.outputs[start : start + TEXTS_AT_ONCE]
        texts = dict(Response.objects.filter(pk__in=[one.pk for one in some]).values_list("pk", "text"))
        for one in some:
            own, text = asked_of.made.get(one.pk, {}), texts.get(one.pk) or ""
            if own and not any(task in said for task in own.values()):
                continue
            asks = asked_of.of(one.instruction)
            if not own and _could_be_asked(asks, text):
                unplanned.add(one.pk)
                continue
            by_kind = _by_kind(asks, own, said)
            asked, present = _parts(asks, text)
            found.append(
                Output(
                    one.pk,
                    one.model or 0,
                    one.instruction,
                    one.category or 0,
                    leaves.get(one.category or 0, 0),
                    one.words,
                    _total(by_kind, asked, present),
                    by_kind,
                    checkable=one.instruction in asked_of.checks,
                )
            )
    return found, asked_of.unasked, unplanned


def _checks_of_library(study: Study, chosen: list[Candidate]) -> dict[int, list[Criterion]]:
    """Return what was asked of instructions that have no task, from the rubric that their tasks would use."""
    if not chosen:
        return {}
    rubric_of = RubricChoice(study)
    rubrics = {one.instruction: rubric_of(one) for one in chosen}
    by_rubric: dict[int, list[Criterion]] = defaultdict(list)
    for check in Criterion.objects.filter(
        rubric__in={pk for pk in rubrics.values() if pk is not None}, role=Criterion.Role.CHECK
    ).order_by("position"):
        by_rubric[check.rubric_id].append(check)
    return {instruction: by_rubric[pk] for instruction, pk in rubrics.items() if pk is not None and by_rubric.get(pk)}


def _could_be_asked(checks: list[Criterion], text: str) -> bool:
    """Whether the text would get a task: for a check of the whole text, or for a checked part that it contains."""
    found: dict[str, set[int]] = {}
    for check in checks:
        where = check.subtasks or {}
        if not where.get("numbers"):
            return True
        mark = str(where.get("mark", ""))
        if mark not in found:
            found[mark] = set(subtasks_in(text, mark))
        if found[mark] & set(where["numbers"]):
            return True
    return False


def _checks_of(instruction_of: Mapping[int, int]) -> dict[int, list[Criterion]]:
    """Return every check that each instruction's rubric asks for, by instruction."""
    rubric_of = dict(Criterion.objects.filter(pk__in=set(instruction_of.values())).values_list("pk", "rubric_id"))
    by_rubric: dict[int, list[Criterion]] = defaultdict(list)
    for check in Criterion.objects.filter(rubric__in=set(rubric_of.values()), role=Criterion.Role.CHECK).order_by(
        "position"
    ):
        by_rubric[check.rubric_id].append(check)
    return {
        instruction: by_rubric[rubric_of[check]] for instruction, check in instruction_of.items() if check in rubric_of
    }


def _numbers(check: Criterion) -> list[int]:
    where = check.subtasks or {}
    return list(where.get("numbers") or [WHOLE])


def _by_kind(
    checks: list[Criterion], own: Mapping[tuple[int, int], int], said: Mapping[int, float]
) -> dict[str, InstructionCounts]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for check in checks:
        kind = str((check.subtasks or {}).get("kind") or "whole")
        for number in _numbers(check):
            task = own.get((check.pk, number))
            if task is not None and task not in said:
                continue
            row = counts[kind]
            row[0] += 1
            row[1] += task is not None
            row[2] += task is not None and said[task] >= 0.5
    return {kind: InstructionCounts(0, 0, *row) for kind, row in counts.items()}


def _parts(checks: list[Criterion], text: str) -> tuple[int, int]:
    """Count the requested sub-tasks, and those present in the text, by the markers that the checks name."""
    asked_of: dict[str, int] = {}
    for check in checks:
        where = check.subtasks or {}
        if where.get("mark"):
            asked_of[where["mark"]] = max(asked_of.get(where["mark"], 0), int(where.get("asked") or 0))
    asked = present = 0
    for mark, number in asked_of.items():
        asked += number
        present += sum(1 for one in subtasks_in(text, mark) if 1 <= one <= number)
    return asked, present


def _total(by_kind: Mapping[str, InstructionCounts], asked: int, present: int) -> InstructionCounts:
    rows = by_kind.values()
    return InstructionCounts(
        asked,
        present,
        sum(one.instructions for one in rows),
        sum(one.answered for one in rows),
        sum(one.fulfilled for one in rows),
    )
