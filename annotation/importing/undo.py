"""Undo an import: remove the rows that it created and empty what it completed, until somebody's answer depends on it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import Model, Q
from django.utils.translation import gettext as _

from accounts.models import Event, User, Workspace
from annotation.models import Assignment, DeskTally, Task
from annotation.studies.nouns import in_words
from core.clock import Clock
from core.db.append_only import removing
from core.db.created_rows import ids_in
from core.db.removal import Removal, conditions, pointing, relations_to
from core.errors import UserError
from generation.library.search import note_texts
from generation.models import Import, Instruction

SHARED = {"Benchmark", "Category", "Criterion", "Fit", "GenerationRun", "LanguageModel", "Rater", "Rubric", "Study"}
"""Models whose rows stay where something else uses them by now; all others go, or nothing does."""
ALONG: dict[str, dict[str, Any]] = {
    "InstructionText": {},
    "DeskTally": {},
    "Report": {},
    "CategoryFit": {},
    "FittedWeight": {},
    "Flag": {"rater": None},
    "Seat": {"state": "free"},
}
"""Rows that are derived from others and go with them, by model name, with what distinguishes them."""
Ids = dict[type[Model], set[int]]


class NotUndone(UserError):
    """The import cannot be undone; the sentence says why."""


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
    created: Ids = {}
    for label, ranges in found.created.items():
        model = apps.get_model(label)
        wanted = ids_in(ranges)
        there = (model._base_manager.filter(some).values_list("pk", flat=True) for some in conditions("pk", wanted))
        created[model] = {pk for batch in there for pk in batch}
    dependents: Counter[str] = Counter()
    for model, ids in created.items():
        if model.__name__ not in SHARED:
            for table, outside in _outside(model, ids, created):
                dependents[table._meta.label] += len(outside)
    dependents.update(_answers_to_completed(found, created))
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
    """Remove what the import created, all or nothing, and return what was done. Raises NotUndone."""
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
                raise NotUndone(_("This import has been undone already."))
            with removing(event):
                plan = plan_undo(locked)
                if plan.dependents:
                    raise NotUndone(dependents_in_words(plan))
                _restore(locked)
                _remove(plan)
                event.after = {"removed": plan.removed, "kept": plan.kept, "restored": plan.restored}
            Import.objects.filter(pk=locked.pk).update(created={}, former=[], undone_at=clock(), undone_by=by)
    except IntegrityError as error:  # the commit found a row that was added while the undo was under way
        raise NotUndone(_("Somebody has begun to use what was imported. Look at the import again.")) from error
    return plan


def dependents_in_words(plan: UndoPlan) -> str:
    told = _(", ").join(f"{count:,} {noun}" for noun, count in in_words(plan.dependents))
    return _(
        "This import cannot be undone, because answers or other data depend on it by now: %(what)s. Undo later imports "
        "first, or delete the studies and runs that use it."
    ) % {"what": told}


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
            if used:
                kept.setdefault(model, set()).update(used)
                going[model] -= used
                grew = True
    return kept


def _answers_to_completed(found: Import, created: Ids) -> Counter[str]:
    """Answers given since to rows whose text this import added: they are about that text."""
    answers: Counter[str] = Counter()
    own = created.get(Assignment, set())
    names = {
        "generation.Response": "task__response_{}__in",
        "generation.Instruction": "task__response_{}__instruction__in",
    }
    for group in found.former:
        if group["model"] in names:
            ids = list(ids_in(group["ids"]))
            name = names[group["model"]]
            for start in range(0, len(ids), 500):
                some = ids[start : start + 500]
                about = Q(**{name.format("a"): some}) | Q(**{name.format("b"): some})
                rows = Assignment.objects.filter(about, created_at__gt=found.at).order_by()
                count = len(set(rows.values_list("pk", flat=True)) - own)
                if count:
                    answers["annotation.Assignment"] += count
    return answers


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


def _remove(plan: UndoPlan) -> None:
    """Delete the rows; the stored counts of a study that stays are counted anew."""
    removal, studies = Removal(), set[int]()
    for model, ids in plan.rows.items():
        removal.add(model, ids)
    for some in conditions("pk", plan.rows.get(Task, set())):
        studies.update(Task.objects.filter(some).order_by().values_list("study_id", flat=True).distinct())
    removal.carry_out()
    DeskTally.objects.filter(study__in=studies).delete()
