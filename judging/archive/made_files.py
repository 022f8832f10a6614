"""Files of a study's data that a worker makes: asked for on a page, kept for a day in a folder, removed after that.

The folder is below the data folder, which web servers and workers share. A state file says how far each one is; removing
the folder of a file that is being made stops its making.
"""

import json
import logging
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from accounts.models import User
from annotation.models import Study
from core.background import send_after_commit
from core.db.public_ids import new_public_id
from core.errors import UserError
from core.messages.message import Wording, as_value
from judging.archive.answer_table import FORMATS, answer_count, write_answers
from judging.archive.export import export_study
from judging.archive.format_files import counted_answers, file_name, write_format
from judging.formats.answers import WriteOptions
from judging.formats.registry import WRITERS, check_tasks

logger = logging.getLogger(__name__)

TASK = "judging.make_file"
ARCHIVE = "archive"
KINDS = (ARCHIVE, *FORMATS, *WRITERS)
WAITING, MAKING, MADE, FAILED = "waiting", "making", "made", "failed"
STATE = "state.json"
KEPT = timedelta(days=1)
SECONDS_BETWEEN_WRITES = 0.5


NOT_WRITTEN = Wording(
    "files.not_written", "The file could not be written. Check the server's disk and create it again."
)


class Stopped(Exception):
    """Somebody removed the file while it was being made."""


@dataclass(frozen=True)
class MadeFile:
    """A file that was asked for: what is in it, and how far it is. `done` and `total` are answers; `size` is in bytes.

    `kind` is one of KINDS; `criterion` and `judge` are those that a format with one score holds. `problem` says why there
    is no file.
    """

    public_id: str
    study: int
    user: int
    name: str
    kind: str
    texts: bool
    asked_at: str
    state: str = WAITING
    done: int = 0
    total: int = 0
    size: int = 0
    problem: str | dict[str, Any] = ""
    criterion: str = ""
    judge: str = ""

    @property
    def folder(self) -> Path:
        return _folder() / self.public_id

    @property
    def path(self) -> Path:
        return self.folder / "file"

    @property
    def is_over(self) -> bool:
        return self.state in (MADE, FAILED)

    def save(self) -> None:
        """Write the state in one step, so that a page never reads half of it. Raises Stopped if the folder is gone."""
        try:
            with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False, encoding="utf-8") as file:
                json.dump(asdict(self), file)
            Path(file.name).replace(self.folder / STATE)
        except FileNotFoundError as problem:
            raise Stopped from problem


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "made"


def known_file(public_id: str) -> MadeFile | None:
    """Return the file of this id, or None if there is none or it has been removed."""
    path = _folder() / public_id / STATE
    if not re.fullmatch(r"[-\w]{1,32}", public_id, re.ASCII):
        return None
    try:
        return MadeFile(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def files_of(study: Study) -> list[MadeFile]:
    """Return the files of a study, the newest first."""
    return sorted((one for one in _every() if one.study == study.pk), key=lambda one: one.asked_at, reverse=True)


def ask_for(
    study: Study, by: User, kind: str, *, texts: bool = False, criterion: str = "", judge: str = ""
) -> MadeFile:
    """Ask a worker for a file; one that is being made already with the same content is not made twice. Raises UserError."""
    if kind not in KINDS:
        raise UserError(f"{kind} is not a format; choose one of {', '.join(KINDS)}.")
    remove_old()
    for other in files_of(study):
        same = (other.kind, other.texts, other.criterion, other.judge) == (kind, texts, criterion, judge)
        if same and not other.is_over:
            return other
    if kind in WRITERS:
        check_tasks(WRITERS[kind], pairs=study.kind == Study.Kind.PAIR)
        name, total = file_name(study, WRITERS[kind]), counted_answers(study).count()
    else:
        name = f"{study.slug}.plumbline.zip" if kind == ARCHIVE else f"{study.slug}-answers.{kind}"
        total = answer_count(study)
    asked_at = timezone.now().isoformat()
    made = MadeFile(
        new_public_id(), study.pk, by.pk, name, kind, texts, asked_at, total=total, criterion=criterion, judge=judge
    )
    made.folder.mkdir(parents=True, mode=0o700)
    made.save()
    send_after_commit(TASK, made.public_id)
    return made


def make(public_id: str) -> None:
    """Make a file that was asked for; does nothing if it is there, or its folder is not on this machine."""
    made = known_file(public_id)
    if made is None:
        logger.info("File %s was removed, or is not in this worker's data folder", public_id)
        return
    study = Study.objects.filter(pk=made.study).first()
    if made.is_over or study is None:
        return
    making = made.folder / "part"
    try:
        made = _written(replace(made, state=MAKING), study, making)
        making.replace(made.path)
        replace(made, state=MADE, done=made.total, size=made.path.stat().st_size).save()
    except (OperationalError, InterfaceError):
        raise  # the request stays
    except (Stopped, FileNotFoundError):
        logger.info("File %s was removed while it was being made", public_id)
    except UserError as problem:
        replace(made, state=FAILED, problem=as_value(str(problem))).save()
    except OSError as problem:
        making.unlink(missing_ok=True)
        replace(made, state=FAILED, problem=as_value(NOT_WRITTEN())).save()
        logger.warning("File %s could not be written: %s", public_id, problem.strerror)


def _written(made: MadeFile, study: Study, making: Path) -> MadeFile:
    made.save()
    if made.kind == ARCHIVE:
        export_study(study, making, texts=made.texts)
        return made
    saved = time.monotonic()

    def note(done: int) -> None:
        nonlocal made, saved
        if time.monotonic() - saved >= SECONDS_BETWEEN_WRITES:
            made = replace(made, done=done)
            made.save()
            saved = time.monotonic()

    if made.kind in WRITERS:
        options = WriteOptions(criterion=made.criterion, judge=made.judge)
        write_format(study, WRITERS[made.kind], making, options, texts=made.texts, progress=note)
        return made
    for done in write_answers(study, making, made.kind, texts=made.texts):
        note(done)
    return made


def remove(made: MadeFile) -> None:
    """Remove a file, or stop its making."""
    shutil.rmtree(made.folder, ignore_errors=True)


def remove_old() -> None:
    """Remove the files that are older than KEPT."""
    before = (timezone.now() - KEPT).isoformat()
    for made in _every():
        if made.asked_at < before:
            remove(made)


def _every() -> Iterator[MadeFile]:
    for path in _folder().glob(f"*/{STATE}"):
        found = known_file(path.parent.name)
        if found is not None:
            yield found
