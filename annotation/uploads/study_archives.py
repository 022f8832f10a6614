"""Archives of studies that leads upload: recognised by content, checked at once, kept for a day until they are loaded.

What a worker does with one is in judging/archive/uploads.py, because an archive has rows of judges too.
"""

import json
import zipfile
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, ClassVar

from django.utils.translation import gettext as _

from accounts.models import User, Workspace
from annotation.uploads.kept_files import CHECKED, CHECKING, CheckedFile
from core.clock import Clock
from core.errors import UserError
from core.uploads.kept_files import LOADING, Sent, new_upload, remove_old

FORMAT = "plumbline-study-1"
"""What the manifest of an archive that this version writes says of its form."""
ENDINGS = (".zip",)
LARGEST_MANIFEST = 4 << 20
"""Bytes of a manifest; one that is larger is none."""
MOST_WAITING = 5
"""Archives that a workspace may have uploaded and not yet loaded or discarded."""


def is_archive(file: Path | IO[bytes]) -> bool:
    """Return whether the file is an archive of a study, of whatever version."""
    try:
        with zipfile.ZipFile(file) as archive, archive.open("manifest.json") as manifest:
            said = json.loads(manifest.read(LARGEST_MANIFEST))
            return str(said["format"]).startswith(FORMAT.rpartition("-")[0])
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, OSError, RecursionError):
        return False
    except (NotImplementedError, RuntimeError):  # packed in a way of which Python knows nothing, or with a password
        return False
    finally:
        if not isinstance(file, Path):
            file.seek(0)


@dataclass(frozen=True, kw_only=True)
class StudyArchive(CheckedFile):
    """An uploaded archive of a study: `study` and `rows` (by table) are what loading would store, or has stored.

    `done` of `total` rows have been checked or stored so far.
    """

    PLACE: ClassVar[str] = "archives"
    TASK: ClassVar[str] = "judging.load_archive"

    state: str = CHECKING
    study: str = ""
    rows: dict[str, int] = field(default_factory=dict)
    done: int = 0
    total: int = 0


def known_archive(public_id: str) -> StudyArchive | None:
    """Return the upload of this id, or None if there is none or it was more than a day ago."""
    return StudyArchive.known(public_id)


def keep_archive(*, workspace: Workspace, user: User, sent: Sent, clock: Clock) -> StudyArchive:
    """Keep an uploaded archive and ask a worker what loading would store. Raises UserError.

    A file that is no archive is refused by the worker, which says why.
    """
    remove_old(StudyArchive, clock)
    waiting = StudyArchive.waiting_in(workspace.pk)
    if waiting >= MOST_WAITING:
        raise UserError(
            _("%(n)s archives of this workspace wait to be loaded. Load or remove one of them first.") % {"n": waiting}
        )
    upload = StudyArchive(**new_upload(workspace.pk, user.pk, sent, clock) | {"state": CHECKING})
    upload.keep(sent, "file", upload.file)
    upload.ask_for_work()
    return upload


def begin_loading(upload: StudyArchive) -> StudyArchive:
    """Ask a worker to load an archive that has been checked. Raises UserError."""
    if upload.state != CHECKED:
        raise UserError(_("This archive is being read, was refused or has been loaded. Nothing has changed."))
    begun = replace(upload, state=LOADING, done=0)
    begun.ask_for_work()
    return begun
