"""Load an archive with texts into an installation that has none of its rows: the study with everything in it, or nothing.

Rows keep their numbers, because settings and drawn orders name rows by them, so that every figure is the same to the last
digit. They are read and stored some at a time; of each table to which others refer, ranges of the numbers are in memory.
"""

import json
import secrets
import zipfile
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.db.models import ForeignKey, JSONField, Model

from accounts.models import Event, User, Workspace
from annotation.models import Ballot, Cohort, Guideline, Study
from annotation.models.authoring import random_number
from annotation.uploads.study_archives import FORMAT, LARGEST_MANIFEST, is_archive
from core.backup.snapshot import next_id, set_next_id
from core.db.bulk_insert import Inserting
from core.db.created_rows import collecting, note_ids
from core.errors import UserError
from core.messages.message import Wording
from generation.library.imports import Recording, recorded
from generation.library.loading import Counts
from generation.library.search import note_texts
from generation.models import Benchmark, GenerationRun, Instruction, LanguageModel
from generation.run_fields import AnyRun
from judging.archive.export import newest_migrations
from judging.archive.parts import DECISIONS, HIDDEN, Row, file_of
from judging.models import JudgeRun

AT_ONCE = 1000
UNDER_WAY = (AnyRun.Status.PLANNED, AnyRun.Status.RUNNING, AnyRun.Status.PAUSED)
RECORDED_AT_ONCE = 20_000
"""Rows of which every number is kept until they are recorded as ranges."""
LARGEST_ID = 10**12
"""The highest number that a row may have, so that no file uses up those that a database can give."""
LONGEST_LINE = 64 << 20
"""Bytes of a row; one that is longer is no row of an archive."""
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, EOFError, RecursionError),
    NotImplementedError,  # packed in a way of which Python knows nothing
)
"""What reading a file raises that is no whole archive."""
RENUMBERED = (Ballot, Event)
"""Tables whose rows get new numbers, because nothing names them and every installation has some."""
NAMED = ((Study, "slug"), (Benchmark, "slug"), (LanguageModel, "name"), (Guideline, "key"))
"""What must not be in the workspace yet, by the names that people see."""

NO_ARCHIVE = Wording(
    "study_archive.no_archive", "%(file)s is no archive of a study. Choose a file that the page Export made."
)
BROKEN = Wording(
    "study_archive.broken",
    "%(file)s is damaged or only part of an archive (%(what)s). Export the study again; nothing is stored.",
)
OTHER_VERSION = Wording(
    "study_archive.other_version",
    "%(file)s was made by another version of the program. Export the study with this version; nothing is stored.",
)
WITHOUT_TEXTS = Wording(
    "study_archive.without_texts",
    "%(file)s was made without texts, so it can only be verified. Export the study again with its texts; nothing is stored.",
)
THERE = Wording(
    "study_archive.there",
    "The workspace %(workspace)s has %(name)s already. Load the archive into another installation; nothing is stored.",
)
NOT_EMPTY = Wording(
    "study_archive.not_empty",
    "This installation has other rows under the numbers of the archive's (%(table)s). Load the archive into an empty "
    "installation; nothing is stored.",
)
REFUSED = Wording(
    "study_archive.refused",
    "The database refuses the rows of %(file)s (%(what)s). Export the study again; nothing is stored.",
)


@dataclass(frozen=True)
class ImportedArchive:
    """A study that was loaded, the number of rows of each table, and the import by which it can be undone."""

    study: str
    workspace: str
    rows: dict[str, int]
    imported: int | None


def rows_in(path: Path) -> int:
    """Return how many rows an archive says that loading would store; 0 for a file that is none."""
    try:
        with zipfile.ZipFile(path) as packed:
            said = _manifest(packed)["rows"]
            return sum(int(said[model._meta.label_lower]) for model in HIDDEN if model is not Workspace)
    except (*DAMAGE, OSError):
        return 0


def import_archive(
    path: Path,
    workspace: Workspace,
    by: User | None,
    *,
    check: bool = False,
    progress: Callable[[int], None] = lambda _rows: None,
) -> ImportedArchive:
    """Load the archive, or with `check` only say what loading would store. Raises UserError, and then stores nothing."""
    if not is_archive(path):
        raise UserError(NO_ARCHIVE(file=path.name))
    try:
        with zipfile.ZipFile(path) as packed, recorded("import_archive", path, by) as recording, transaction.atomic():
            archive = _Archive(path, packed)
            archive.check(workspace)
            rows = archive.load(workspace, recording, progress)
            connection.check_constraints()
            study = Study.objects.get(workspace=workspace, slug=archive.manifest["study"])
            Event.objects.create(
                workspace=workspace,
                actor=by,
                verb="loaded",
                object_type="study",
                object_id=study.public_id,
                after={"file": path.name, "format": FORMAT, "created": rows["annotation.score"]},
            )
            recording.store(workspace, study.slug, Counts(created=rows["annotation.score"]))
            transaction.set_rollback(check)
    except DAMAGE as error:
        raise UserError(BROKEN(file=path.name, what=_words(error))) from error
    except (ValidationError, Study.DoesNotExist) as error:
        raise UserError(BROKEN(file=path.name, what=_words(error))) from error
    except DatabaseError as error:
        raise UserError(REFUSED(file=path.name, what=_words(error))) from error
    except OSError as error:
        raise UserError(BROKEN(file=path.name, what=error.strerror or "it cannot be read")) from error
    found = None if check else recording.stored()
    return ImportedArchive(study.slug, workspace.slug, rows, found.pk if found else None)


class _Numbers:
    """The numbers of a table's rows, in ascending order, as ranges: [1, 2, 3, 7] are 1 to 3 and 7 to 7."""

    def __init__(self) -> None:
        self._lows, self._highs = array("q"), array("q")

    def add(self, number: int) -> None:
        """Add a number that is higher than all before. Raises ValueError for another."""
        if self._highs and number <= self._highs[-1]:
            raise ValueError("its rows are not in the order of their numbers")
        if self._highs and number == self._highs[-1] + 1:
            self._highs[-1] = number
        else:
            self._lows.append(number)
            self._highs.append(number)

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        place = bisect_right(self._lows, number)
        return place > 0 and number <= self._highs[place - 1]

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest, both 0 where there is none."""
        return (self._lows[0], self._highs[-1]) if self._lows else (0, 0)


class _Archive:
    """An open archive, of which no table is known that an archive cannot have."""

    def __init__(self, path: Path, packed: zipfile.ZipFile) -> None:
        self.path, self._packed = path, packed
        self.manifest = _manifest(packed)
        if self.manifest.get("format") != FORMAT or self.manifest.get("migrations") != newest_migrations():
            raise UserError(OTHER_VERSION(file=path.name))
        if not self.manifest.get("texts"):
            raise UserError(WITHOUT_TEXTS(file=path.name))
        self._there: dict[type[Model], _Numbers] = {}
        self._highest: dict[type[Model], int] = {}

    def check(self, workspace: Workspace) -> None:
        """Read every row once. Raises UserError for what is there already, and what it raises for a broken file."""
        linked = {link.related_model for model in HIDDEN for link in _links(model)}
        names: dict[type[Model], set[str]] = {model: set() for model, _name in NAMED}
        fields = dict(NAMED)
        for model in HIDDEN:
            count, ids = 0, _Numbers()
            for row in self._rows(model):
                pk = int(row["id"])
                if not 0 < pk <= LARGEST_ID and model not in RENUMBERED:
                    raise ValueError(f"a row of {model._meta.label_lower} has no usable number")
                count += 1
                ids.add(pk)
                if model in fields:
                    names[model].add(str(row[fields[model]]))
            if count != self.manifest["rows"][model._meta.label_lower]:
                raise ValueError(f"rows of {model._meta.label_lower} are missing")
            self._highest[model] = ids.ends()[1]
            if model in linked:
                self._there[model] = ids
            known = model is Workspace or model in RENUMBERED
            if not known and count and model._base_manager.filter(pk__range=ids.ends()).exists():
                self._refuse(model, names.get(model, set()), fields.get(model, ""), workspace)
            self._refuse_named(model, names.get(model, set()), fields.get(model, ""), workspace)

    def load(self, workspace: Workspace, recording: Recording, progress: Callable[[int], None]) -> dict[str, int]:
        """Store and record every row, and return how many each table got."""
        counts = {}
        for model in HIDDEN:
            if model is Workspace:
                continue
            counts[model._meta.label_lower] = self._load(model, workspace, recording, progress)
        return counts

    def _load(
        self, model: type[Model], workspace: Workspace, recording: Recording, progress: Callable[[int], None]
    ) -> int:
        rows, count = self._rows(model), 0
        while True:
            with collecting() as stored:
                some = self._load_some(model, islice(rows, RECORDED_AT_ONCE), workspace, progress)
            if not some:
                break
            recording.include(stored)
            count += some
        highest = self._highest[model]
        if count and model not in RENUMBERED and next_id(connection, model) <= highest:
            set_next_id(connection, model, highest + 1)
        return count

    def _load_some(
        self, model: type[Model], rows: Iterator[Row], workspace: Workspace, progress: Callable[[int], None]
    ) -> int:
        fields = [
            one
            for one in model._meta.local_concrete_fields
            if not getattr(one, "generated", False) and not (model is Event and one.primary_key)
        ]
        inserting, count = Inserting(model, *(one.attname for one in fields)), 0
        while batch := list(islice(rows, AT_ONCE)):
            if model is Ballot:
                batch = [row | {"id": random_number()} for row in batch]
            inserting.insert([self._values(model, fields, row, workspace) for row in batch])
            ids = [int(row["id"]) for row in batch]
            if model is not Event:  # what was done stays on record after an undo
                note_ids(model, ids)
            if model is Instruction:
                note_texts(list(Instruction.objects.filter(pk__in=ids)))
            count += len(batch)
            progress(len(batch))
        return count

    def _values(self, model: type[Model], fields: list[Any], row: Row, workspace: Workspace) -> list[object]:
        row = {**row, **HIDDEN[model]}
        if model is Cohort:
            row |= {"entry_token": secrets.token_urlsafe(24)}
        if model is Event and row["verb"] not in DECISIONS.get(row["object_type"], ()):
            raise ValueError("it has events that no archive has")
        if model is GenerationRun and row["status"] in UNDER_WAY:  # what was planned stays behind
            row |= {"status": AnyRun.Status.CANCELLED}
        if model is JudgeRun and row["status"] in (AnyRun.Status.PLANNED, AnyRun.Status.RUNNING):
            row |= {"status": AnyRun.Status.PAUSED}
        values: list[object] = []
        for one in fields:
            if one.attname not in row:
                values.append(one.get_default())
            elif isinstance(one, ForeignKey):
                values.append(self._link(one, row[one.attname], workspace))
            elif row[one.attname] is None or isinstance(one, JSONField):
                values.append(row[one.attname])
            else:
                values.append(one.to_python(row[one.attname]))
        return values

    def _link(self, link: Any, number: Any, workspace: Workspace) -> int | None:
        """Return the number to which a row refers, None where what it names stayed behind."""
        target = link.related_model
        if target is Workspace:
            return workspace.pk
        if number is not None and number in self._there.get(target, _Numbers()):
            return int(number)
        if link.null:
            return None
        raise ValueError(f"{link.model._meta.label_lower} refers to a row that is missing")

    def _rows(self, model: type[Model]) -> Iterator[Row]:
        info = self._packed.getinfo(file_of(model))
        if info.flag_bits & 1:
            raise ValueError("it is protected by a password")
        with self._packed.open(info) as lines:
            while line := lines.readline(LONGEST_LINE):
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError(f"a row of {model._meta.label_lower} is no object")
                yield row

    def _refuse(self, model: type[Model], names: set[str], field: str, workspace: Workspace) -> None:
        self._refuse_named(model, names, field, workspace)
        raise UserError(NOT_EMPTY(table=model._meta.label_lower))

    def _refuse_named(self, model: type[Model], names: set[str], field: str, workspace: Workspace) -> None:
        if names:
            found = model._base_manager.filter(**{"workspace": workspace, f"{field}__in": names}).first()
            if found is not None:
                what = f"{model._meta.verbose_name} {getattr(found, field)}"
                raise UserError(THERE(workspace=workspace.slug, name=what))


def _manifest(packed: zipfile.ZipFile) -> Mapping[str, Any]:
    with packed.open("manifest.json") as manifest:
        said: Mapping[str, Any] = json.loads(manifest.read(LARGEST_MANIFEST))
        return said


def _links(model: type[Model]) -> list[Any]:
    return [one for one in model._meta.concrete_fields if isinstance(one, ForeignKey)]


def _words(error: Exception) -> str:
    said = str(error).strip().splitlines()
    return said[0][:200].strip("'\".") if said else type(error).__name__
