"""A study's responses in which a model names itself: flagged for the lead, masked on the screens, or dropped.

Masking is the study's policy "mask_self_naming": the screens then black the names out, in the same length, and the
stored texts stay as they were. Dropping takes a task out of the study unless somebody has answered or begun it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from annotation.models import Assignment, Flag, Study, Task
from annotation.screens import MASK_POLICY
from annotation.self_naming import Mention, find_self_naming
from generation.models import Response

SELF_NAMING = "self_naming"
TASKS_AT_ONCE = 500
AROUND = 30


@dataclass(frozen=True)
class SelfNaming:
    """One response of a task that names its model; `excerpt` shows the mentions where they stand."""

    task: Task
    response: Response
    mentions: tuple[Mention, ...]
    excerpt: str


@dataclass(frozen=True)
class ScanResult:
    """What a scan found: tasks looked at, those found, and flags that are new."""

    tasks: int
    found: tuple[SelfNaming, ...]
    flagged: int


def _excerpt(text: str, mention: Mention) -> str:
    start, end = max(0, mention.start - AROUND), mention.end + AROUND
    return f"{'…' if start else ''}{' '.join(text[start:end].split())}{'…' if end < len(text) else ''}"


def _named_in(task: Task) -> Iterator[SelfNaming]:
    for response in (task.response_a, task.response_b):
        if response is None or not response.text:
            continue
        model = response.model
        mentions = find_self_naming(response.text, (model.name, model.family) if model else ())
        if mentions:
            excerpt = " / ".join(_excerpt(response.text, mention) for mention in mentions[:3])
            yield SelfNaming(task, response, tuple(mentions), excerpt)


def scan_study(study: Study) -> ScanResult:
    """Flag the study's tasks whose responses name their model; a task flagged before is not flagged again."""
    known = set(Flag.objects.filter(task__study=study, kind=SELF_NAMING).values_list("task_id", flat=True))
    tasks = study.tasks.select_related("response_a__model", "response_b__model").order_by("pk")
    found: list[SelfNaming] = []
    count = 0
    for task in tasks.iterator(TASKS_AT_ONCE):
        count += 1
        found.extend(_named_in(task))
    flags = {
        one.task.pk: Flag(task=one.task, kind=SELF_NAMING, text=one.excerpt)
        for one in found
        if one.task.pk not in known
    }
    Flag.objects.bulk_create(flags.values(), batch_size=TASKS_AT_ONCE)
    return ScanResult(count, tuple(found), len(flags))


def mask_names(study: Study, *, masked: bool = True) -> None:
    """Have the screens black out what names a model, or stop doing so; flags of the scan are settled by it."""
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study.pk)
        study.policies = study.policies | {MASK_POLICY: masked}
        study.save(update_fields=["policies"])


def drop_tasks(found: tuple[SelfNaming, ...]) -> tuple[int, int]:
    """Take the tasks found out of their study: (how many went, how many stay since somebody began them)."""
    wanted = {one.task.pk for one in found}
    begun = set(Assignment.objects.filter(task__in=wanted).values_list("task_id", flat=True))
    with transaction.atomic():
        Task.objects.filter(pk__in=wanted - begun, assignments=None).delete()
    return len(wanted - begun), len(begun)
