"""Files that leads upload: kept in a folder below the data folder until a worker has loaded them, or for some time at most.

A file beside each says how far it is, for pages and workers, which share the folder.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import get_valid_filename

from core.background import send_after_commit
from core.clock import Clock
from core.db.public_ids import new_public_id
from core.messages.message import as_value
from core.tables.rows_left_out import SkippedRows

if TYPE_CHECKING:
    Sent = UploadedFile[bytes]
else:
    Sent = UploadedFile

LOADING, LOADED, REFUSED = "loading", "loaded", "refused"
MOST_SHOWN = 200
"""Bad rows that a page lists; the file of bad rows has all."""
STATE, BAD_ROWS = "state.json", "bad_rows.jsonl"


@dataclass(frozen=True, kw_only=True)
class KeptUpload:
    """An uploaded file and how far it is; each kind of upload adds how it is to be read.

    `problem` says why it cannot be loaded, `bad` how many rows are bad (listed in the file BAD_ROWS; the first MOST_SHOWN
    are in `bad_rows` as [file, line, reason, remedy]), and `imported` is the key of the import that its loading made.
    """

    PLACE: ClassVar[str]
    """The folder of its kind below the data folder."""
    TASK: ClassVar[str]
    """The task that loads it."""
    KEPT: ClassVar[timedelta]
    """How long it is kept after it was uploaded."""

    public_id: str
    workspace: int
    user: int
    file: str
    asked_at: str
    state: str
    problem: str | dict[str, Any] = ""
    bad: int = 0
    bad_rows: list[list[Any]] = field(default_factory=list)
    imported: int | None = None

    @classmethod
    def all_folders(cls) -> Path:
        return Path(settings.DATA_DIR) / cls.PLACE

    @classmethod
    def known(cls, public_id: str) -> Self | None:
        """Return the upload of this id, or None if there is none or it was too long ago."""
        path = cls.all_folders() / public_id / STATE
        if not re.fullmatch(r"[-\w]{1,32}", public_id, re.ASCII) or not path.is_file():
            return None
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def kept(cls) -> Iterator[Self]:
        """Yield all uploads of the kind."""
        for path in sorted(cls.all_folders().glob(f"*/{STATE}")):
            found = cls.known(path.parent.name)
            if found is not None:
                yield found

    @classmethod
    def waiting_in(cls, workspace: int) -> int:
        """Return how many uploads of the kind a workspace has not yet loaded or discarded."""
        return sum(one.workspace == workspace and not one.is_over for one in cls.kept())

    @property
    def folder(self) -> Path:
        return self.all_folders() / self.public_id

    @property
    def is_at_work(self) -> bool:
        """Whether a worker reads it or is asked to."""
        return self.state == LOADING

    @property
    def is_over(self) -> bool:
        """Whether nothing more will become of it."""
        return self.state in (LOADED, REFUSED)

    @property
    def bad_rows_file(self) -> Path:
        """Where the list of its bad rows is, if there is one."""
        return self.folder / BAD_ROWS

    def latest(self) -> Self:
        """Return the upload as it is kept by now."""
        return type(self).known(self.public_id) or self

    def save(self) -> None:
        """Write the state in one step, so that a page never reads half of it."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False, encoding="utf-8") as file:
            json.dump(asdict(self), file)
        Path(file.name).replace(self.folder / STATE)

    def keep(self, sent: Sent, folder: str, name: str) -> Path:
        """Write a sent file below the upload's folder, readable by this program alone, and return its path."""
        path = self.folder / folder / name
        path.parent.mkdir(parents=True, mode=0o700)
        with path.open("wb") as file:
            path.chmod(0o600)
            for block in sent.chunks():
                file.write(block)
        return path

    def ask_for_work(self) -> None:
        """Keep the state, which says what to do, and ask a worker to do it."""
        self.save()
        send_after_commit(self.TASK, self.public_id)

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def with_bad_rows(self, skipped: SkippedRows) -> Self:
        """List the bad rows with their reasons as a file that the page offers, and return the upload that knows of them."""
        self.bad_rows_file.unlink(missing_ok=True)
        if not skipped:
            return replace(self, bad=0, bad_rows=[])
        problems = sorted(skipped.problems, key=lambda one: (one.file, one.line))
        rows = [[one.file, one.line, as_value(one.reason), as_value(one.remedy)] for one in problems]
        with self.bad_rows_file.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        return replace(self, bad=len(skipped), bad_rows=rows[:MOST_SHOWN])

    def all_bad_rows(self) -> Iterator[list[Any]]:
        """Yield each bad row as `bad_rows` has them."""
        if self.bad_rows_file.is_file():
            with self.bad_rows_file.open(encoding="utf-8") as file:
                yield from map(json.loads, file)


def new_upload(workspace: int, user: int, sent: Sent, clock: Clock) -> dict[str, Any]:
    """Return the fields that every new upload has."""
    return {
        "public_id": new_public_id(),
        "workspace": workspace,
        "user": user,
        "file": name_of(sent),
        "asked_at": clock().isoformat(),
    }


def name_of(sent: Sent) -> str:
    """Return the file's own name, without what a file system might not take."""
    return get_valid_filename(Path(sent.name or "file").name)[-150:]


def remove_old(kind: type[KeptUpload], clock: Clock) -> int:
    """Remove what was uploaded too long ago and is not at work; return how many there were."""
    before = (clock() - kind.KEPT).isoformat()
    old = [upload for upload in kind.kept() if upload.asked_at < before and not upload.is_at_work]
    for upload in old:
        upload.discard()
    return len(old)
