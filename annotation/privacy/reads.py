"""Reads of identities, noted in the log: who opened the list of people, or took it away."""

from datetime import timedelta

from accounts.models import Event, User
from annotation.models import Study
from annotation.studies.life_cycle import log_event
from core.clock import Clock

AGAIN_AFTER = timedelta(hours=1)
"""A list that the same person reads again within so long is one reading."""


def note_reading(study: Study, by: User, *, clock: Clock, verb: str = "read_identities") -> None:
    """Store the event, unless there is one of the last hour."""
    recent = Event.objects.filter(
        object_type="study", object_id=study.public_id, verb=verb, actor=by, at__gt=clock() - AGAIN_AFTER
    )
    if not recent.exists():
        log_event(study, by, verb)
