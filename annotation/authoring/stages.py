"""The stages of a checklist: each step happens under a lock, once, and leaves an event."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from accounts.models import Event, User
from annotation.models import Checklist
from core.errors import UserError
from core.messages.message import Wording

Stage = Checklist.Stage
NEXT: dict[str, str] = {
    Stage.PROPOSE: Stage.MERGE,
    Stage.MERGE: Stage.VOTE,
    Stage.VOTE: Stage.CHOOSE,
    Stage.CHOOSE: Stage.QUESTIONS,
    Stage.QUESTIONS: Stage.REVIEW,
    Stage.REVIEW: Stage.DONE,
}
MOVED_ON = Wording(
    "checklist.moved_on",
    "The checklist “%(name)s” has moved on to another stage in the meantime, so nothing was changed. Continue with what "
    "this page shows now.",
)


@contextmanager
def at_stage(checklist: Checklist, *stages: str) -> Iterator[Checklist]:
    """Let the block work on the locked checklist, in one transaction. Raises UserError if it is at none of these
    stages, such as when somebody else has just moved it on.
    """
    with transaction.atomic():
        locked = Checklist.objects.select_for_update().get(pk=checklist.pk)
        if locked.stage not in stages:
            raise UserError(MOVED_ON(name=locked.name))
        yield locked


def move_on(locked: Checklist, by: User | None, verb: str, after: dict[str, Any] | None = None) -> None:
    """Move the locked checklist to its next stage and log it."""
    before = locked.stage
    locked.stage = NEXT[before]
    locked.save(update_fields=["stage"])
    log_step(locked, by, verb, before={"stage": before}, after={"stage": locked.stage, **(after or {})})


def log_step(checklist: Checklist, by: User | None, verb: str, *, before: Any = None, after: Any = None) -> None:
    Event.objects.create(
        workspace_id=checklist.workspace_id,
        actor=by,
        verb=verb,
        object_type="checklist",
        object_id=checklist.public_id,
        before=before,
        after=after,
    )
