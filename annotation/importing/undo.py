"""Undo an import: remove the rows that it created and empty what it completed, until somebody's answer depends on it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import Model, Q
from django.utils.translation import gettext as _

from accounts.models import Event, User, Workspace
from annotation.answers.awaiting import await_answers
from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Criterion, DeskTally, MailedInvitation, Rubric, Score, Seat, Study, Task
from annotation.studies.nouns import in_words
from core.clock import Clock
from core.db.append_only import removing
from core.db.created_rows import ids_in
from core.db.removal import Removal, conditions, pointing, relations_to
from core.errors import UserError
from generation.library.search import note_texts
from generation.models import Import, Instruction

SHARED = {
    "Benchmark",
    "Category",
    "Criterion",
    "Fit",
    "GenerationRun",
    "Guideline",
    "LanguageModel",
    "Rater",
    "Rubric",
    "Study",
}
"""Models whose rows stay where something else uses them by now; all others go, or nothing does."""
ALONG: dict[str, dict[str, Any]] = {
    "InstructionText": {},
    "DeskTally": {},
    "Report": {},
    "ReportRefresh": {},
    "CategoryFit": {},
    "FittedWeight": {},
    "Flag": {"rater": None},
    "Seat": {"state": "free"},
}
"""Rows that are derived from others and go with them, by model name, with what distinguishes them."""
Ids = dict[type[Model], set[int]]
_RUBRIC = Criterion._meta.get_field("rubric")


@dataclass(frozen=True)
class UndoPlan:
    """What an undo would do, as counts by model label: rows that go, that stay because others use them, that lose what
    the import added, and rows made since that depend on it, with any of which it is refused."""

    removed: dict[str, int]
    kept: dict[str, int]
    restored: dict[str, int]
    dependents: dict[str, int]
    rows: Ids = field(repr=False)


def plan_undo(found: Import) -> UndoPlan:
    """Look at what there is now; changes nothing."""
    created = _created(found)
    dependents: Counter[str] = Counter()
    for model, ids in created.items():
        if model.__name__ not in SHARED:
            for table, outside in _outside(model, ids, created):
                dependents[table._meta.label] += len(outside)
    dependents.update(_answers_to_completed(found, created))
    dependents.update(_marked_again(found))
    dependents.update(_used_invitations(created))
    kept = _kept(created)
    gone = {model: ids - kept.get(model, set()) for model, ids in created.items()}
    return UndoPlan(
        removed={model._meta.label: len(ids) for model, ids in gone.items() if ids},
        kept={model._meta.label: len(ids) for model, ids in kept.items() if ids},
        restored=dict(_restored(found)),
        dependents=dict(dependents),
        rows=gone,
    )


def undo_import(found: Import, *, by: User | None, clock: Clock) -> UndoPlan:
    """Remove what the import created, all or nothing, and return what was done. Raises UserError."""
    event = Event(
        workspace_id=found.workspace_id,
        actor=by,
        verb="import undone",
        object_type="generation.Import",
        object_id=str(found.pk),
        before={"command": found.command, "file": found.file, "sha256": found.sha256, "about": found.about},
    )
    try:
        with transaction.atomic():
            Workspace.objects.select_for_update(no_key=True).get(pk=found.workspace_id)
            locked = Import.objects.select_for_update(of=("self",)).get(pk=found.pk)
            if locked.undone_at is not None:
                raise UserError(_("This import has been undone already."))
            with removing(event):
                _await_answers(locked)
                plan = plan_undo(locked)
                if plan.dependents:
                    raise UserError(dependents_in_words(plan))
                _restore(locked)
                _remove(plan)
                event.after = {"removed": plan.removed, "kept": plan.kept, "restored": plan.restored}
            Import.objects.filter(pk=locked.pk).update(created={}, former=[], undone_at=clock(), undone_by=by)
    except IntegrityError as error:  # the commit found a row that was added while the undo was under way
        raise _in_use() from error
    return plan


def _in_use() -> UserError:
    return UserError(_("Somebody has begun to use what was imported. Look at the import again."))


def dependents_in_words(plan: UndoPlan) -> str:
    told = _(", ").join(f"{count:,} {noun}" for noun, count in in_words(plan.dependents))
    return _(
        "This import cannot be undone, because answers or other data depend on it by now: %(what)s. Undo later imports "
        "first, or delete the studies and runs that use it."
    ) % {"what": told}


def _created(found: Import) -> Ids:
    """The rows that the import created and that are still there."""
    created: Ids = {}
    for label, ranges in found.created.items():
        model = apps.get_model(label)
        wanted = ids_in(ranges)
        there = (model._base_manager.filter(some).values_list("pk", flat=True) for some in conditions("pk", wanted))
        created[model] = {pk for batch in there for pk in batch}
    return created


def _await_answers(found: Import) -> None:
    """Let answers on their way be stored, and so be seen, or come after the undo and be refused."""
    created = _created(found)
    tasks = set(created.get(Task, ()))
    for about in _to_completed(found):
        tasks.update(Task.objects.filter(about("")).order_by().values_list("pk", flat=True))
    await_answers(tasks, assignments=created.get(Assignment, ()), criteria=created.get(Criterion, ()))


def _outside(model: type[Model], ids: set[int], created: Ids) -> Iterator[tuple[type[Model], dict[int, int]]]:
    """The rows of each table that point to these rows and are neither of the import nor go along."""
    for relation in relations_to(model):
        table = relation.related_model
        found = pointing(table, relation.field, ids)
        own = created.get(table, set())
        left = {pk: target for pk, target in found.items() if pk not in own}
        if left and table.__name__ in ALONG:
            along = table._base_manager.filter(**ALONG[table.__name__])
            for some in conditions("pk", left):
                for pk in along.filter(some).values_list("pk", flat=True):
                    left.pop(pk, None)
        if left:
            yield table, left


def _kept(created: Ids) -> Ids:
    """Shared rows that something else uses, and those that these use in turn."""
    kept: Ids = {}
    going = {model: set(ids) for model, ids in created.items()}
    grew = True
    while grew:
        grew = False
        for model in [model for model in created if model.__name__ in SHARED]:
            used = {pk for _table, found in _outside(model, going[model], going) for pk in found.values()}
            if model is Criterion:  # a rubric that stays is answered by its criteria
                used |= pointing(model, _RUBRIC, kept.get(Rubric, set())).keys() & going[model]
            if used:
                kept.setdefault(model, set()).update(used)
                going[model] -= used
                grew = True
    return kept


def _answers_to_completed(found: Import, created: Ids) -> Counter[str]:
    """Answers given, changed or begun since to rows whose text, or known answer, this import added: they depend on it."""
    answers: Counter[str] = Counter()
    own = created.get(Assignment, set())
    since = Q(created_at__gt=found.at) | Q(submitted_at__gt=found.at) | Q(status=Assignment.Status.OPEN)
    changed = Q(scores__revision__gt=0, scores__created_at__gt=found.at)
    for about in _to_completed(found):
        rows = Assignment.objects.filter(about("task__"), since | changed).order_by()
        count = len(set(rows.values_list("pk", flat=True)) - own)
        if count:
            answers["annotation.Assignment"] += count
    return answers


def _to_completed(found: Import) -> Iterator[Callable[[str], Q]]:
    """Conditions on tasks, given the prefix of their fields, that find those about rows whose text this import added, and
    those to which it gave a known answer.
    """
    names = {
        "annotation.Task": "pk__in",
        "generation.Response": "response_{}__in",
        "generation.Instruction": "response_{}__instruction__in",
    }
    for group in found.former:
        if name := names.get(group["model"]):
            ids = list(ids_in(group["ids"]))
            for start in range(0, len(ids), 500):
                yield partial(_about, name, ids[start : start + 500])


def _about(name: str, ids: Sequence[int], prefix: str) -> Q:
    return Q(**{prefix + name.format("a"): ids}) | Q(**{prefix + name.format("b"): ids})


def _marked_again(found: Import) -> Counter[str]:
    """Tasks whose known answer is by now neither the one that this import gave nor the one before it."""
    again = 0
    for group in found.former:
        for some in conditions("pk", ids_in(group["ids"]) if group["model"] == Task._meta.label else ()):
            before = group["fields"].get("gold")
            tasks = {task.public_id: task for task in Task.objects.filter(some) if task.gold != before}
            marks = Event.objects.filter(object_type="task", verb="mark_known_answer", at__lte=found.at)
            marks = marks.filter(object_id__in=tasks).order_by("at", "pk")
            given = {mark.object_id: mark.after or {} for mark in marks}
            again += sum({**given.get(key, {}), **(task.gold or {})} != given.get(key) for key, task in tasks.items())
    return Counter({Task._meta.label: again} if again else {})


def _used_invitations(created: Ids) -> Counter[str]:
    """Invitations of a list by which somebody has joined, or for which a message is on its way or was sent."""
    used, on_its_way = Q(used_at__isnull=False), Q(state__in=("waiting", "sending", "sent"))
    count = sum(
        MailedInvitation.objects.filter(some).filter(used | on_its_way).count()
        for some in conditions("pk", created.get(MailedInvitation, set()))
    )
    return Counter({MailedInvitation._meta.label: count} if count else {})


def _marked_tasks(found: Import) -> set[int]:
    groups = (group for group in found.former if group["model"] == "annotation.Task")
    return {pk for group in groups for pk in ids_in(group["ids"])}


def _restored(found: Import) -> Counter[str]:
    counts: Counter[str] = Counter()
    for group in found.former:
        counts[group["model"]] += len(ids_in(group["ids"]))
    return counts


def _restore(found: Import) -> None:
    """Give rows that were completed the values that they had before."""
    for group in found.former:
        model = apps.get_model(group["model"])
        for some in conditions("pk", ids_in(group["ids"])):
            rows = model._base_manager.filter(some)
            rows.update(**group["fields"])
            if model is Instruction and "messages" in group["fields"]:
                note_texts(list(Instruction.objects.filter(some)))
    _give_slots(_marked_tasks(found))


def _give_slots(marked: set[int]) -> None:
    """Give tasks that have no known answer any more the slots that they lost by it, where their study has some."""
    for study in Study.objects.filter(tasks__in=marked).distinct():
        if study.status in (Study.Status.OPEN, Study.Status.PAUSED) or Seat.objects.filter(study=study).exists():
            make_seats(study, among=marked)
        DeskTally.objects.filter(study=study).delete()


def _remove(plan: UndoPlan) -> None:
    """Delete the rows; the stored counts of a study that stays are counted anew. Raises UserError."""
    removal, studies = Removal(), set[int]()
    for model, ids in plan.rows.items():
        removal.add(model, ids)
    if any(removal.ids.get(model, set()) - plan.rows.get(model, set()) for model in (Assignment, Score)):
        raise _in_use()
    for some in conditions("pk", plan.rows.get(Task, set())):
        studies.update(Task.objects.filter(some).order_by().values_list("study_id", flat=True).distinct())
    removal.carry_out()
    DeskTally.objects.filter(study__in=studies).delete()
