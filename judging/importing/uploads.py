"""Archives that leads upload: kept in a folder until a worker has loaded them, with a file that says how far it is.

The folder is below the data folder, which web servers and workers share. What was packed is removed when it has been
loaded or refused; what became of it stays for a month.
"""

import json
import logging
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import InterfaceError, OperationalError
from django.utils import timezone
from django.utils.text import get_valid_filename

from accounts.models import User, Workspace
from core.background import send_after_commit
from core.db.public_ids import new_public_id
from core.errors import UserError
from core.messages.message import as_value
from core.tables.rows_left_out import SkippedRows
from generation.importers.benchmark_files import Part
from generation.library.loading import Counts
from generation.models import Import
from judging.importing import messages
from judging.importing.archives import root_in, unpack
from judging.importing.benchmarks import chosen_parts, load_files
from judging.importing.registry import registered

if TYPE_CHECKING:
    Sent = UploadedFile[bytes]
else:
    Sent = UploadedFile
logger = logging.getLogger(__name__)

TASK = "judging.load_upload"
WAITING, LOADING, LOADED, REFUSED = "waiting", "loading", "loaded", "refused"
STATE = "state.json"
KEPT = timedelta(days=30)
SECONDS_BETWEEN_WRITES = 0.5
MOST_SHOWN = 200
"""Bad rows that the page lists; the report in the data folder has all."""


@dataclass(frozen=True)
class Upload:
    """An uploaded archive and how far it is; `done` and `total` are bytes of its files, `result` as load_benchmark --json.

    `problem` says why it was refused. `bad_rows` are [file, line, reason, remedy] of rows that were left out.
    """

    public_id: str
    workspace: int
    user: int
    benchmark: str
    file: str
    skip: bool
    asked_at: str
    tasks: str = ""
    state: str = WAITING
    part: str = ""
    done: int = 0
    total: int = 0
    problem: str | dict[str, Any] = ""
    result: dict[str, Any] = field(default_factory=dict)
    bad_rows: list[list[Any]] = field(default_factory=list)
    bad: int = 0
    imported: int | None = None

    @property
    def folder(self) -> Path:
        return _folder() / self.public_id

    @property
    def is_over(self) -> bool:
        return self.state in (LOADED, REFUSED)

    def save(self) -> None:
        """Write the state in one step, so that a page never reads half of it."""
        path = self.folder / STATE
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False, encoding="utf-8") as file:
            json.dump(asdict(self), file)
        Path(file.name).replace(path)


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def known_upload(public_id: str) -> Upload | None:
    """The upload of this id, or None if there is none or it is too long ago."""
    path = _folder() / public_id / STATE
    if not re.fullmatch(r"[-\w]{1,32}", public_id, re.ASCII) or not path.is_file():
        return None
    return Upload(**json.loads(path.read_text(encoding="utf-8")))


def uploads() -> Iterator[Upload]:
    """All uploads whose state is kept."""
    for path in _folder().glob(f"*/{STATE}"):
        found = known_upload(path.parent.name)
        if found is not None:
            yield found


def keep_upload(
    *, workspace: Workspace, user: User, benchmark: str, archive: Sent, tasks: Sent | None, skip: bool
) -> Upload:
    """Keep the archive for a worker, and ask for it to be loaded. Raises UserError while another is under way."""
    _remove_old()
    for other in uploads():
        if other.workspace == workspace.pk and not other.is_over:
            raise UserError(messages.STILL_LOADING(file=other.file))
    upload = Upload(
        public_id=new_public_id(),
        workspace=workspace.pk,
        user=user.pk,
        benchmark=registered(benchmark).slug,
        file=_name_of(archive),
        tasks=_name_of(tasks) if tasks else "",
        skip=skip,
        asked_at=timezone.now().isoformat(),
    )
    upload.folder.mkdir(parents=True)
    for sent, folder in ((archive, "archive"), (tasks, "tasks")):
        if sent is not None:
            (upload.folder / folder).mkdir()
            with (upload.folder / folder / _name_of(sent)).open("wb") as file:
                for block in sent.chunks():
                    file.write(block)
    upload.save()
    send_after_commit(TASK, upload.public_id)
    return upload


def carry_out(public_id: str) -> None:
    """Load a waiting upload; does nothing if it is over or its folder is not on this machine."""
    upload = known_upload(public_id)
    if upload is None:
        logger.error("Upload %s is not in this worker's data folder; servers and workers must share one", public_id)
        return
    if upload.is_over:
        return
    try:
        upload = _loaded(upload)
    except (OperationalError, InterfaceError):
        raise  # the request stays, and the archive with it
    except UserError as problem:
        upload = replace(_latest(upload), state=REFUSED, problem=as_value(str(problem)))
    except Exception:
        _end(replace(_latest(upload), state=REFUSED, problem=as_value(messages.FAULT())))
        raise
    _end(upload)


def _latest(upload: Upload) -> Upload:
    return known_upload(upload.public_id) or upload


def _end(upload: Upload) -> None:
    """Remove what was packed, and say what became of it and which import it is."""
    shutil.rmtree(upload.folder / "archive", ignore_errors=True)
    shutil.rmtree(upload.folder / "tasks", ignore_errors=True)
    found = Import.objects.filter(
        workspace=upload.workspace, actor=upload.user, file=upload.file, at__gte=upload.asked_at
    ).first()
    replace(upload, imported=found.pk if found else None).save()


def _loaded(upload: Upload) -> Upload:
    archive = upload.folder / "archive" / upload.file
    tasks = upload.folder / "tasks" / upload.tasks if upload.tasks else None
    skipped = SkippedRows() if upload.skip else None
    benchmark = registered(upload.benchmark)
    with tempfile.TemporaryDirectory(dir=upload.folder) as unpacked:
        links = unpack(archive, Path(unpacked))
        files = benchmark.files(root_in(Path(unpacked)), tasks)
        parts = chosen_parts(files)
        shown = _Shown(replace(upload, state=LOADING, total=sum(part.size for part in parts)))
        loaded = load_files(
            workspace=Workspace.objects.get(pk=upload.workspace),
            registered=benchmark,
            files=files,
            parts=parts,
            source=archive,
            skipped=skipped,
            on_part=shown.after,
            by=User.objects.filter(pk=upload.user).first(),
        )
    loaded.absent += [f"{name} (a link, which is not followed)" for name in links]
    bad = skipped.problems if skipped else []
    if bad:
        loaded.add("lines", Counts(skipped=len(bad)))
    if skipped:
        skipped.write(settings.DATA_DIR / "reports", benchmark.slug, timezone.now())
    rows = [[one.file, one.line, as_value(one.reason), as_value(one.remedy)] for one in bad[:MOST_SHOWN]]
    return replace(shown.upload, state=LOADED, result=loaded.as_json(), bad_rows=rows, bad=len(bad))


class _Shown:
    """Writes down how far a load is, not more often than a page asks."""

    def __init__(self, upload: Upload) -> None:
        self.upload = upload
        self.written = 0.0
        self._write()

    def after(self, part: Part) -> None:
        self.upload = replace(self.upload, done=self.upload.done + part.size, part=part.name)
        if time.monotonic() - self.written >= SECONDS_BETWEEN_WRITES:
            self._write()

    def _write(self) -> None:
        self.upload.save()
        self.written = time.monotonic()


def _name_of(sent: Sent) -> str:
    """The file's own name, without what a file system might not take."""
    return get_valid_filename(Path(sent.name or "archive").name)[-150:]


def _remove_old() -> None:
    before = (timezone.now() - KEPT).isoformat()
    for upload in uploads():
        if upload.asked_at < before:
            shutil.rmtree(upload.folder, ignore_errors=True)
