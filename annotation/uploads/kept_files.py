"""Tables that leads upload: kept in a folder of the data folder until they are loaded, for a day at most.

A file beside each says how far it is, for pages and workers, which share the folder.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import get_valid_filename
from django.utils.translation import gettext as _

from accounts.models import User, Workspace
from core.background import send_after_commit
from core.clock import Clock
from core.db.public_ids import new_public_id
from core.errors import UserError
from generation.library.imports import sha256_of

if TYPE_CHECKING:
    Sent = UploadedFile[bytes]
else:
    Sent = UploadedFile

TASK = "annotation.load_table"
NEW, CHECKING, CHECKED, LOADING, LOADED, REFUSED = "new", "checking", "checked", "loading", "loaded", "refused"
STATE = "state.json"
KEPT = timedelta(days=1)
MOST_WAITING = 20
"""Files that a workspace may have uploaded and not yet loaded or discarded."""
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".gz")


@dataclass(frozen=True)
class TableUpload:
    """An uploaded table and how it is to be read.

    `columns` says what each column of the file holds, and `mapping` is the name of the saved mapping that said so.
    `problem` says why it cannot be loaded, `counts` what a check found or loading did, `bad` how many rows are bad, and
    `rows` how many were read so far. `remarks` are what the last check or load says of the values.
    """

    public_id: str
    workspace: int
    user: int
    file: str
    sha256: str
    asked_at: str
    kind: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    into: str = ""
    options: dict[str, str] = field(default_factory=dict)
    encoding: str = ""
    separator: str = ""
    skip: bool = False
    state: str = NEW
    rows: int = 0
    problem: str | dict[str, Any] = ""
    counts: dict[str, int] = field(default_factory=dict)
    bad: int = 0
    imported: int | None = None
    mapping: str = ""
    remarks: list[str | dict[str, Any]] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return _folder() / self.public_id

    @property
    def path(self) -> Path:
        return self.folder / "file" / self.file

    @property
    def is_at_work(self) -> bool:
        return self.state in (CHECKING, LOADING)

    @property
    def is_over(self) -> bool:
        return self.state == LOADED or not self.path.is_file()

    def save(self) -> None:
        """Write the state in one step, so that a page never reads half of it."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False, encoding="utf-8") as file:
            json.dump(asdict(self), file)
        Path(file.name).replace(self.folder / STATE)


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "tables"


def known_table(public_id: str) -> TableUpload | None:
    """Return the upload of this id, or None if there is none or it was more than a day ago."""
    path = _folder() / public_id / STATE
    if not re.fullmatch(r"[-\w]{1,32}", public_id, re.ASCII) or not path.is_file():
        return None
    return TableUpload(**json.loads(path.read_text(encoding="utf-8")))


def kept_tables() -> Iterator[TableUpload]:
    for path in sorted(_folder().glob(f"*/{STATE}")):
        found = known_table(path.parent.name)
        if found is not None:
            yield found


def keep_table(*, workspace: Workspace, user: User, sent: Sent, clock: Clock) -> TableUpload:
    """Keep an uploaded file, readable by this program alone. Raises UserError while too many others wait."""
    remove_old_tables(clock)
    waiting = sum(other.workspace == workspace.pk and not other.is_over for other in kept_tables())
    if waiting >= MOST_WAITING:
        raise UserError(
            _("%(n)s files of this workspace wait to be loaded. Load or discard one of them first.") % {"n": waiting}
        )
    name = get_valid_filename(Path(sent.name or "table").name)[-150:]
    upload = TableUpload(new_public_id(), workspace.pk, user.pk, name, "", clock().isoformat())
    upload.path.parent.mkdir(parents=True, mode=0o700)
    with upload.path.open("wb") as file:
        upload.path.chmod(0o600)
        for block in sent.chunks():
            file.write(block)
    upload = TableUpload(**{**asdict(upload), "sha256": sha256_of(upload.path)})
    upload.save()
    return upload


def ask_for_work(upload: TableUpload) -> None:
    """Ask a worker to check or load the upload, whose state says which."""
    upload.save()
    send_after_commit(TASK, upload.public_id)


def discard(upload: TableUpload) -> None:
    shutil.rmtree(upload.folder, ignore_errors=True)


def remove_old_tables(clock: Clock) -> int:
    """Remove what was uploaded more than a day ago and is not at work; return how many there were."""
    before = (clock() - KEPT).isoformat()
    old = [upload for upload in kept_tables() if upload.asked_at < before and not upload.is_at_work]
    for upload in old:
        discard(upload)
    return len(old)
