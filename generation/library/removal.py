"""Takes a model or an endpoint out of the library, while nothing depends on it."""

from collections.abc import Iterator

from django.db import transaction
from django.utils.translation import gettext, ngettext

from accounts.models import Event, User
from core.db.append_only import removing
from core.errors import UserError
from generation.models import Endpoint, EndpointGrant, EndpointSlots, EndpointTurn, LanguageModel

Row = Endpoint | LanguageModel
NAMES_SHOWN = 5


class StillUsed(UserError):
    """Something depends on it; the sentence says what."""


OWN = (None, EndpointGrant, EndpointSlots, EndpointTurn)
"""Tables of rows that go with their endpoint."""


def why_it_stays(row: Row) -> str:
    """What depends on the row, in one sentence; '' where nothing does."""
    uses = [_counted(label, name, count) for label, name, count in _uses(row)]
    if not uses:
        return ""
    told = gettext(", ").join(uses)
    if isinstance(row, LanguageModel):
        return gettext("This model cannot be removed, because other data depends on it: %(uses)s.") % {"uses": told}
    names = row.language_models.order_by("name").values_list("name", flat=True)
    shown = gettext(", ").join(names[:NAMES_SHOWN])
    more = "" if len(names) <= NAMES_SHOWN else " …"
    return gettext(
        "This endpoint cannot be removed, because it serves %(uses)s (%(names)s). Remove these first, or "
        "assign them to another endpoint."
    ) % {"uses": told, "names": shown + more}


def remove(row: Row, *, user: User | None = None) -> None:
    """Deletes the row and logs it. Raises StillUsed."""
    with transaction.atomic():
        locked = type(row)._default_manager.select_for_update().filter(pk=row.pk).first()
        if locked is None:
            return
        if words := why_it_stays(locked):
            raise StillUsed(words)
        event = Event(
            workspace_id=locked.workspace_id,
            actor=user,
            verb="model removed" if isinstance(locked, LanguageModel) else "endpoint removed",
            object_type=locked._meta.label,
            object_id=str(locked.pk),
            before={"name": locked.name},
        )
        with removing(event):  # an endpoint's grants are a record
            locked.delete()


def _uses(row: Row) -> Iterator[tuple[str, str, int]]:
    """Label, name and number of the rows of every table that point to this one, of whatever app."""
    for relation in row._meta.get_fields(include_hidden=True):
        table = relation.related_model
        if not relation.auto_created or relation.concrete or table in OWN:
            continue
        count = table._base_manager.filter(**{relation.field.name: row.pk}).count()  # type: ignore[union-attr]
        if count:
            yield table._meta.label, str(table._meta.verbose_name), count


def _counted(label: str, name: str, n: int) -> str:
    words = {
        "generation.Response": ngettext("%(n)s response", "%(n)s responses", n),
        "generation.GenerationItem": ngettext("%(n)s planned response of a run", "%(n)s planned responses of runs", n),
        "generation.LanguageModel": ngettext("%(n)s model", "%(n)s models", n),
        "judging.PromptTrial": ngettext("%(n)s trial of a prompt", "%(n)s trials of prompts", n),
        "judging.Judge": ngettext("%(n)s judge", "%(n)s judges", n),
    }
    return words.get(label, f"%(n)s × {name}") % {"n": f"{n:,}"}
