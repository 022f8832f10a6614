"""Scan a study for self-revealing responses and flag them for the lead, who masks the words, drops the tasks, or leaves
them unchanged.

Masking is the study's policy "mask_self_naming": rating screens then show bars of the same length instead of the
names, and the stored texts do not change. Leaving is "keep_self_naming". Until one of them is chosen, a draft with such
responses cannot be opened.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import Flag, Study, Task
from annotation.policies.policies import Policies, change_policies
from annotation.rules.self_naming import Mention, find_self_naming
from generation.models import Response

SELF_NAMING = "self_naming"
TASKS_AT_ONCE = 500
RESPONSES_AT_ONCE = 50
AROUND = 60


@dataclass(frozen=True)
class SelfNaming:
    """A self-revealing response of a task: its mentions, and the text around the first one."""

    task: Task
    response: Response
    mentions: tuple[Mention, ...]

    @property
    def before(self) -> str:
        first = self.mentions[0]
        return (self.response.text or "")[max(0, first.start - AROUND) : first.start]

    @property
    def words(self) -> str:
        return self.mentions[0].words

    @property
    def after(self) -> str:
        first = self.mentions[0]
        return (self.response.text or "")[first.end : first.end + AROUND]

    @property
    def excerpt(self) -> str:
        return excerpt_around(self.response.text or "", self.mentions[0])


@dataclass(frozen=True)
class ScanResult:
    """The result of a scan: self-revealing responses, their tasks, and the number of new flags."""

    tasks: int
    found: tuple[SelfNaming, ...]
    flagged: int


def excerpt_around(text: str, mention: Mention) -> str:
    """The words with the text around them, on one line."""
    start, end = max(0, mention.start - AROUND), mention.end + AROUND
    before, after = "…" * (start > 0), "…" * (end < len(text))
    return " ".join(f"{before}{text[start:end]}{after}".split())


def mentions_in(response: Response) -> tuple[Mention, ...]:
    model = response.model
    return tuple(find_self_naming(response.text or "", (model.name, model.family) if model else ()))


def named_in(task: Task, known: dict[int, tuple[Mention, ...]]) -> Iterator[SelfNaming]:
    """The task's self-revealing responses; `known` caches mentions by response id."""
    for response in (task.response_a, task.response_b):
        if response is None or not response.text:
            continue
        if response.pk not in known:
            known[response.pk] = mentions_in(response)
        if known[response.pk]:
            yield SelfNaming(task, response, known[response.pk])


def excerpts_of(responses: Sequence[int]) -> list[str]:
    """The text around the first mention in each self-revealing response among these primary keys."""
    found: list[str] = []
    for begin in range(0, len(responses), TASKS_AT_ONCE):
        texts = Response.objects.filter(pk__in=responses[begin : begin + TASKS_AT_ONCE], text__isnull=False)
        for response in texts.select_related("model").order_by("pk").iterator(RESPONSES_AT_ONCE):
            mentions = mentions_in(response)
            if mentions:
                found.append(excerpt_around(response.text or "", mentions[0]))
    return found


def scan_study(study: Study) -> ScanResult:
    """Flag the study's tasks that have self-revealing responses and no such flag yet.

    Reads all texts of the study: about 2 ms per 1,500 words.
    """
    flags = Flag.objects.filter(task__study=study, kind=SELF_NAMING)
    flagged = set(flags.values_list("task_id", flat=True))
    with_text = Q(response_a__text__isnull=False) | Q(response_b__text__isnull=False)
    tasks = study.tasks.filter(with_text).exclude(gold__purpose="control")
    tasks = tasks.select_related("response_a__model", "response_b__model", "response_a__instruction")
    known: dict[int, tuple[Mention, ...]] = {}
    found: list[SelfNaming] = []
    for task in tasks.order_by("position", "pk").iterator(TASKS_AT_ONCE):
        found.extend(named_in(task, known))
    naming = {one.task.pk: one for one in reversed(found)}
    new = [Flag(task=one.task, kind=SELF_NAMING, text=one.excerpt) for pk, one in naming.items() if pk not in flagged]
    with transaction.atomic():
        Flag.objects.bulk_create(new, batch_size=TASKS_AT_ONCE)
        flags.filter(task__in=flagged - set(naming)).delete()
        if known:
            change_policies(study, scanned_at=timezone.now().isoformat(timespec="seconds"))
    return ScanResult(study.tasks.count(), tuple(found), len(new))


def findings(study: Study) -> QuerySet[Flag]:
    """The flags of the latest scan, by task."""
    return Flag.objects.filter(task__study=study, kind=SELF_NAMING).order_by("task__position", "task", "pk")


def is_decided(study: Study) -> bool:
    """Whether the lead has decided to mask or keep self-revealing responses."""
    policies = Policies.of(study)
    return policies.mask_self_naming or policies.keep_self_naming


def undecided(study: Study) -> int:
    """Number of tasks found by the latest scan if the lead has not decided about them; otherwise 0."""
    if is_decided(study):
        return 0
    return findings(study).filter(resolved_at=None).count()


def mask_names(study: Study, *, masked: bool = True) -> None:
    """Turn the masking of self-revealing words on the rating screens on or off."""
    change_policies(study, mask_self_naming=masked or None)
