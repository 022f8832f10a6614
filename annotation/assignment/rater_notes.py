"""A lead's message to a rater: kept with the rater's status, which every page for the rater reads already."""

from django.db import transaction

from accounts.models import Event, User
from annotation.assignment.rater_status import ensure_standing, standing_of
from annotation.models import Rater, Standing
from core.clock import Clock

LONGEST_NOTE = 1000


def write_note(rater: Rater, text: str, *, by: User | None, clock: Clock) -> None:
    """Show the text to the rater until they confirm it; logged. It takes the place of an earlier one."""
    known = standing_of(rater) is not None
    with transaction.atomic():
        standing = ensure_standing(rater)
        standing.note, standing.noted_at = text, clock()
        fields = ["note", "noted_at", "changed_at"]
        if not known:  # whoever had no status rates already
            standing.state = Standing.State.RATING
            fields.append("state")
        standing.save(update_fields=fields)
        _log(rater, by, "message_rater", after={"message": text})


def note_for(rater: Rater) -> tuple[str, str]:
    """The message that the rater has not confirmed, and its time, which identifies it; ('', '') without one."""
    standing = standing_of(rater)
    if standing is None or not standing.note or standing.noted_at is None:
        return "", ""
    return standing.note, standing.noted_at.isoformat()


def confirm_note(rater: Rater, *, shown: str) -> bool:
    """Remove the message if it is the one that was shown; return whether it was."""
    with transaction.atomic():
        standing = Standing.objects.select_for_update().filter(rater=rater).exclude(note="").first()
        if standing is None or standing.noted_at is None or standing.noted_at.isoformat() != shown:
            return False
        standing.note = ""
        standing.save(update_fields=["note", "changed_at"])
        _log(rater, None, "confirm_message")
    return True


def _log(rater: Rater, by: User | None, verb: str, after: dict[str, str] | None = None) -> None:
    Event.objects.create(
        workspace_id=rater.workspace_id,
        actor=by,
        verb=verb,
        object_type="rater",
        object_id=rater.public_id,
        after=after,
    )
