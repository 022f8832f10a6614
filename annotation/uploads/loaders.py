"""Loaders of the kinds of tables whose rows are handed on one by one, under our own names of their columns."""

from collections.abc import Callable, Iterator
from pathlib import Path

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from accounts.models import User, Workspace
from annotation.importing.checklist_tables import load_checklists
from annotation.importing.gold_items import mark_rows
from annotation.importing.instruction_checks import load_check_rows
from annotation.importing.messages import NOTHING_LOADED
from annotation.importing.rater_lists import load_people
from annotation.importing.rubric_tables import load_rubric_rows
from annotation.models import Study
from annotation.studies.life_cycle import make_tasks
from annotation.uploads.kept_files import TableUpload
from core.errors import UserError
from core.messages.message import Wording
from core.tables.bad_rows import BadRow, OnBadRow
from core.tables.reading import Row, read_rows
from core.terminal import progress_shown
from generation.library.imports import recorded
from generation.library.loading import Counts
from generation.models import Benchmark

NO_BENCHMARK = Wording("uploads.no_benchmark", "There is no benchmark %(slug)s. Upload its instructions first.")
NO_STUDY = Wording("uploads.no_study", "There is no study %(slug)s. It was deleted or renamed meanwhile.")


def load_rows(upload: TableUpload, path: Path, workspace: Workspace, by: User | None, on_bad: OnBadRow) -> Counts:
    """Load the table and record the import. Raises UserError, also where no row can be loaded."""
    first: list[BadRow] = []

    def bad(problem: BadRow) -> None:
        on_bad(problem)
        first.append(problem)

    with recorded(f"load_{upload.kind}", path, by) as recording, transaction.atomic():
        counts = LOADERS[upload.kind](upload, _named(upload, path, bad), workspace, by, bad)
        if first and not (counts.created or counts.completed or counts.already_there):
            raise UserError(NOTHING_LOADED(problem=str(first[0])))
        recording.store(workspace, upload.into, counts)
    return counts


def _named(upload: TableUpload, path: Path, on_bad: OnBadRow) -> Iterator[Row]:
    """Yield the rows with our names of the columns that are read, at their places in the file."""
    with progress_shown(upload.kind) as progress:
        for row in read_rows(path, upload.columns, on_bad):
            progress(1)
            yield Row(row.place, {name: row.values.get(column, "") for column, name in upload.columns.items()})


Rows = Iterator[Row]


def _benchmark(upload: TableUpload, workspace: Workspace) -> Benchmark:
    found = Benchmark.objects.filter(workspace=workspace, slug=upload.into).first()
    if found is None:
        raise UserError(NO_BENCHMARK(slug=upload.into))
    return found


def _study(upload: TableUpload, workspace: Workspace) -> Study:
    found = Study.objects.filter(workspace=workspace, slug=upload.into).first()
    if found is None:
        raise UserError(NO_STUDY(slug=upload.into))
    return found


def _checks(upload: TableUpload, rows: Rows, workspace: Workspace, by: User | None, on_bad: OnBadRow) -> Counts:
    return load_check_rows(_benchmark(upload, workspace), rows, on_bad)


def _checklists(upload: TableUpload, rows: Rows, workspace: Workspace, by: User | None, on_bad: OnBadRow) -> Counts:
    return load_checklists(_benchmark(upload, workspace), rows, on_bad, overall=upload.options.get("scale", ""))


def _rubrics(upload: TableUpload, rows: Rows, workspace: Workspace, by: User | None, on_bad: OnBadRow) -> Counts:
    benchmark = _benchmark(upload, workspace) if upload.into else None
    name = slugify(upload.name) or "rubric"
    return load_rubric_rows(workspace, benchmark, rows, on_bad, name=name)


def _raters(upload: TableUpload, rows: Rows, workspace: Workspace, by: User | None, on_bad: OnBadRow) -> Counts:
    cohort = upload.options.get("cohort") or upload.name[:100] or "people"
    return load_people(_study(upload, workspace), rows, on_bad, cohort=cohort, by=by, clock=timezone.now)


def _gold(upload: TableUpload, rows: Rows, workspace: Workspace, by: User | None, on_bad: OnBadRow) -> Counts:
    study = _study(upload, workspace)
    if study.status == Study.Status.DRAFT:
        make_tasks(study)
    return mark_rows(study, rows, on_bad)


Loader = Callable[[TableUpload, Rows, Workspace, User | None, OnBadRow], Counts]
LOADERS: dict[str, Loader] = {
    "checks": _checks,
    "checklists": _checklists,
    "gold": _gold,
    "raters": _raters,
    "rubrics": _rubrics,
}
