"""Tables that leads upload: kept in a folder of the data folder until they are loaded, for a day at most."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _

from accounts.models import User, Workspace
from core.clock import Clock
from core.errors import UserError
from core.uploads.kept_files import LOADED, LOADING, KeptUpload, Sent, new_upload, remove_old
from generation.library.imports import sha256_of

NEW, CHECKING, CHECKED = "new", "checking", "checked"
MOST_WAITING = 20
"""Files that a workspace may have uploaded and not yet loaded or discarded."""
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".eval", ".gz")


@dataclass(frozen=True, kw_only=True)
class CheckedFile(KeptUpload):
    """One uploaded file, which a worker checks before it is loaded."""

    KEPT: ClassVar[timedelta] = timedelta(days=1)

    @property
    def path(self) -> Path:
        return self.folder / "file" / self.file

    @property
    def is_at_work(self) -> bool:
        return self.state in (CHECKING, LOADING)

    def without_file(self) -> Self:
        """Remove the file once nothing more will become of it; what became of it stays."""
        if self.is_over:
            shutil.rmtree(self.path.parent, ignore_errors=True)
        return self


@dataclass(frozen=True, kw_only=True)
class TableUpload(CheckedFile):
    """An uploaded table and how it is to be read.

    `columns` says what each column of the file holds, and `mapping` is the name of the saved mapping that said so.
    `counts` are what a check found or loading did, `rows` how many were read so far, and `remarks` what is odd about the
    values. `format` is the name of another tool's format in which the file is written, empty for a table, and
    `recognised_by` what it was recognised by.
    """

    PLACE: ClassVar[str] = "tables"
    TASK: ClassVar[str] = "annotation.load_table"

    sha256: str = ""
    format: str = ""
    recognised_by: str | dict[str, Any] = ""
    kind: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    into: str = ""
    options: dict[str, str] = field(default_factory=dict)
    encoding: str = ""
    separator: str = ""
    skip: bool = False
    state: str = NEW
    rows: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    mapping: str = ""
    remarks: list[str | dict[str, Any]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.state == LOADED or not self.path.is_file()

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return self.file.partition(".")[0]


def known_table(public_id: str) -> TableUpload | None:
    """Return the upload of this id, or None if there is none or it was more than a day ago."""
    return TableUpload.known(public_id)


def kept_tables() -> Iterator[TableUpload]:
    return TableUpload.kept()


def keep_table(*, workspace: Workspace, user: User, sent: Sent, clock: Clock) -> TableUpload:
    """Keep an uploaded file, readable by this program alone. Raises UserError while too many others wait."""
    remove_old(TableUpload, clock)
    waiting = TableUpload.waiting_in(workspace.pk)
    if waiting >= MOST_WAITING:
        raise UserError(
            _("%(n)s files of this workspace wait to be loaded. Load or discard one of them first.") % {"n": waiting}
        )
    fields = new_upload(workspace.pk, user.pk, sent, clock)
    path = TableUpload(**fields).keep(sent, "file", fields["file"])
    upload = TableUpload(**fields, sha256=sha256_of(path))
    upload.save()
    return upload


def remove_old_tables(clock: Clock) -> int:
    """Remove what was uploaded more than a day ago and is not at work; return how many there were."""
    return remove_old(TableUpload, clock)
