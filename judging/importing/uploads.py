"""Archives that leads upload: what was packed is removed when it has been loaded or refused, the rest after a month."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.utils import timezone

from accounts.models import User, Workspace
from core.errors import UserError
from core.tables.bad_rows import BadRow
from core.tables.rows_left_out import SkippedRows
from core.uploads.carrying_out import Shown, carried_out
from core.uploads.kept_files import LOADED, LOADING, KeptUpload, Sent, name_of, new_upload, remove_old
from generation.importers.benchmark_files import Part
from generation.library.loading import Counts
from generation.models import Import
from judging.importing import messages
from judging.importing.archives import root_in, unpack
from judging.importing.benchmarks import chosen_parts, load_files
from judging.importing.registry import registered

WAITING = "waiting"


@dataclass(frozen=True, kw_only=True)
class Upload(KeptUpload):
    """An uploaded archive: `done` and `total` are bytes of its files, `result` is as load_benchmark --json has it."""

    PLACE: ClassVar[str] = "uploads"
    TASK: ClassVar[str] = "judging.load_upload"
    KEPT: ClassVar[timedelta] = timedelta(days=30)

    benchmark: str = ""
    skip: bool = False
    tasks: str = ""
    state: str = WAITING
    part: str = ""
    done: int = 0
    total: int = 0
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def is_at_work(self) -> bool:
        return self.state in (WAITING, LOADING)

    def ended(self) -> "Upload":
        """Remove what was packed, and return the upload with the import that it is."""
        shutil.rmtree(self.folder / "archive", ignore_errors=True)
        shutil.rmtree(self.folder / "tasks", ignore_errors=True)
        found = Import.objects.filter(
            workspace=self.workspace, actor=self.user, file=self.file, at__gte=self.asked_at, undone_at=None
        ).first()
        return replace(self, imported=found.pk if found else None)


def known_upload(public_id: str) -> Upload | None:
    """Return the upload of this id, or None if there is none or it is too long ago."""
    return Upload.known(public_id)


def uploads() -> Iterator[Upload]:
    """All uploads whose state is kept."""
    return Upload.kept()


def keep_upload(
    *, workspace: Workspace, user: User, benchmark: str, archive: Sent, tasks: Sent | None, skip: bool
) -> Upload:
    """Keep the archive for a worker, and ask for it to be loaded. Raises UserError while another is under way."""
    remove_old(Upload, timezone.now)
    for other in uploads():
        if other.workspace == workspace.pk and not other.is_over:
            raise UserError(messages.STILL_LOADING(file=other.file))
    upload = Upload(
        **new_upload(workspace.pk, user.pk, archive, timezone.now),
        benchmark=registered(benchmark).slug,
        tasks=name_of(tasks) if tasks else "",
        skip=skip,
    )
    upload.keep(archive, "archive", upload.file)
    if tasks is not None:
        upload.keep(tasks, "tasks", upload.tasks)
    upload.ask_for_work()
    return upload


def carry_out(public_id: str) -> None:
    """Load a waiting upload; does nothing if it is over or its folder is not on this machine."""
    carried_out(Upload, public_id, _loaded, when_over=Upload.ended)


def _loaded(upload: Upload, skipped: SkippedRows) -> Upload:
    archive = upload.folder / "archive" / upload.file
    tasks = upload.folder / "tasks" / upload.tasks if upload.tasks else None
    benchmark = registered(upload.benchmark)
    with tempfile.TemporaryDirectory(dir=upload.folder) as unpacked:
        links = unpack(archive, Path(unpacked))
        try:
            files = benchmark.files(root_in(Path(unpacked)), tasks)
        except BadRow as problem:
            # The reader knows the file's name, not the folder where it was unpacked.
            file = upload.tasks if problem.file == str(tasks) else upload.file
            raise BadRow(file, problem.line, problem.reason, problem.remedy) from problem
        parts = chosen_parts(files)
        shown = _Shown(replace(upload, state=LOADING, total=sum(part.size for part in parts)))
        shown.upload.save()
        loaded = load_files(
            workspace=Workspace.objects.get(pk=upload.workspace),
            registered=benchmark,
            files=files,
            parts=parts,
            source=archive,
            skipped=skipped if upload.skip else None,
            on_part=shown.after,
            by=User.objects.filter(pk=upload.user).first(),
        )
    loaded.absent += [f"{name} (a link, which is not followed)" for name in links]
    bad = skipped.problems
    if bad:
        loaded.add("lines", Counts(skipped=len(bad)))
        skipped.write(settings.DATA_DIR / "reports", benchmark.slug, timezone.now())
    return replace(shown.upload, state=LOADED, result=loaded.as_json())


class _Shown(Shown[Upload]):
    """Keeps how many bytes were loaded."""

    def after(self, part: Part) -> None:
        self.change(done=self.upload.done + part.size, part=part.name)
