"""Mappings of columns that a workspace saved, for the next files with the same columns."""

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import SavedMapping
from annotation.uploads.kept_files import NEW, TableUpload, known_table
from annotation.uploads.kinds import KINDS
from core.errors import UserError

LONGEST_NAME = 100
MOST_SAVED = 200


def mappings_for(workspace: int, columns: Sequence[str]) -> list[SavedMapping]:
    """Return the workspace's mappings for files with exactly these columns, in any order; the newest first."""
    saved = SavedMapping.objects.filter(workspace=workspace, kind__in=KINDS).order_by("-created_at", "-pk")
    return [one for one in saved if one.file_columns == sorted(columns)]


def with_mapping(upload: TableUpload, mapping: SavedMapping) -> TableUpload:
    """Return the upload read as the mapping says; the study or benchmark into which it goes stays."""
    return replace(
        upload,
        kind=mapping.kind,
        columns=dict(mapping.columns),
        options=dict(mapping.options),
        mapping=mapping.name,
        state=NEW,
        problem="",
        counts={},
        bad=0,
        bad_rows=[],
    )


def save_mapping(upload: TableUpload, name: str, columns: Sequence[str], *, by: User) -> SavedMapping:
    """Save how the upload, whose file has these columns, is read; an older mapping of this name is replaced.

    The upload keeps the mapping's name, unless it was discarded, changed or set to work meanwhile. Raises UserError for a
    name of no or too many letters, for a table without any mapped column, and above MOST_SAVED.
    """
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise UserError(_("Give the mapping a name of 1 to 100 letters."))
    if upload.kind not in KINDS or not upload.columns:
        raise UserError(_("Say what at least one column holds before you save the mapping."))
    saved = SavedMapping.objects.filter(workspace=upload.workspace)
    if saved.count() >= MOST_SAVED and not saved.filter(name=name).exists():
        raise UserError(_("This workspace has %(n)s mappings. Remove one of them first.") % {"n": MOST_SAVED})
    held = {
        "kind": upload.kind,
        "file_columns": sorted(columns),
        "columns": upload.columns,
        "options": upload.options,
        "created_by": by,
    }
    mapping, _made = SavedMapping.objects.update_or_create(workspace_id=upload.workspace, name=name, defaults=held)
    latest = known_table(upload.public_id)
    if latest is not None and not latest.is_at_work and _is_read_alike(latest, upload):
        replace(latest, mapping=mapping.name).save()
    return mapping


def _is_read_alike(one: TableUpload, other: TableUpload) -> bool:
    return (one.kind, one.columns, one.options) == (other.kind, other.columns, other.options)
