"""What a worker does with an archive of a study that somebody uploaded: say what loading would store, and load it."""

import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from accounts.models import User, Workspace
from annotation.uploads.kept_files import CHECKED, CHECKING
from annotation.uploads.scratch_database import on_a_copy
from annotation.uploads.study_archives import StudyArchive
from core.tables.rows_left_out import SkippedRows
from core.uploads.carrying_out import Shown, carried_out
from core.uploads.kept_files import LOADED
from judging.archive.importing import import_archive, rows_in


def carry_out(public_id: str) -> None:
    """Check or load an archive; does nothing if neither is asked for or its folder is not on this machine."""
    carried_out(StudyArchive, public_id, _work, when_over=StudyArchive.without_file)


def _work(upload: StudyArchive, _skipped: SkippedRows) -> StudyArchive:
    dry = upload.state == CHECKING
    shown = _RowsShown(replace(upload, total=rows_in(upload.path)))
    with tempfile.TemporaryDirectory(dir=upload.folder) as scratch, on_a_copy(Path(scratch)) if dry else nullcontext():
        workspace = Workspace.objects.get(pk=upload.workspace)
        by = User.objects.filter(pk=upload.user).first()
        found = import_archive(upload.path, workspace, by, check=dry, progress=shown.after)
    return replace(
        shown.upload,
        state=CHECKED if dry else LOADED,
        study=found.study,
        rows={table: n for table, n in found.rows.items() if n},
        imported=found.imported,
    )


class _RowsShown(Shown[StudyArchive]):
    """Keeps how many rows were read."""

    def after(self, rows: int) -> None:
        self.change(done=self.upload.done + rows)
