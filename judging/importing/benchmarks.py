"""A benchmark's own files -> rows: its categories, checklists, instructions, responses, published answers and weights.

Any reader of the shape BenchmarkFiles is loaded here. Each part is one transaction, so that others can write between
them; a file that is refused takes the parts before it out again.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.models import Event, User, Workspace
from annotation.importing.messages import CHOICE_MEANS, CORRECT_OR_UNSCORED, CORRECT_VALUE, REMOVE_ONE
from annotation.importing.undo import undo_import
from annotation.rubrics.library import keep_rubric, load_rubrics, rubric_from_record
from calibration.fits.published import load_published_weights
from core.db.created_rows import CreatedRows, collecting
from core.errors import UserError
from core.messages.message import Message
from core.tables.bad_rows import BadRow, OnBadRow, refuse
from core.tables.rows_left_out import SkippedRows
from generation.importers.benchmark_files import BenchmarkFiles, Part
from generation.importers.records import RubricRecord, WeightRecord
from generation.library.imports import Recording, recorded
from generation.library.loading import Categories, Counts, load_taxonomy
from generation.models import Benchmark, Instruction, Response
from judging.importing import messages
from judging.importing.parts import Met, PartLoader, Stored
from judging.importing.registry import Registered

OnPart = Callable[[Part], None]
OPTIONS_OF_TABLES = {remedy.code for remedy in (CORRECT_VALUE, CORRECT_OR_UNSCORED, CHOICE_MEANS, REMOVE_ONE)}
"""Remedies that name an option of load_table."""
SCALES = settings.BASE_DIR / "fixtures" / "rubrics" / "hellobench.json"
"""Has the scale on which the items of a checklist are answered where a benchmark has none of its own."""


@dataclass
class Loaded:
    """What became of each kind of record, what is absent, which fields nobody reads, and what is stored otherwise.

    `differing` names instructions whose text or reference is stored otherwise; what is stored stays.
    """

    benchmark: str
    counts: dict[str, Counts] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)
    studies: list[str] = field(default_factory=list)

    def add(self, kind: str, counts: Counts) -> None:
        self.counts[kind] = self.counts.get(kind, Counts()) + counts

    @property
    def changed(self) -> bool:
        return any(one.changed for one in self.counts.values())

    def as_json(self) -> dict[str, object]:
        """The counts by kind of record, and what else there is to say."""
        names = Counts.__dataclass_fields__
        return {
            "benchmark": self.benchmark,
            **{kind: {name: getattr(one, name) for name in names} for kind, one in self.counts.items()},
            "absent": self.absent,
            "unknown": self.unknown,
            "differing": self.differing,
            "studies": self.studies,
        }


def chosen_parts(files: BenchmarkFiles, experiment: str = "") -> list[Part]:
    """The parts of one experiment, or of all; a part whose experiment is empty belongs to each. Raises UserError."""
    parts = list(files.parts())
    known = sorted({part.experiment for part in parts if part.experiment})
    if experiment and experiment not in known:
        raise UserError(messages.NO_EXPERIMENT(experiment=repr(experiment), known=", ".join(known) or "none"))
    return [part for part in parts if not experiment or part.experiment in ("", experiment)]


def load_files(
    *,
    workspace: Workspace,
    registered: Registered,
    files: BenchmarkFiles,
    parts: Iterable[Part],
    source: Path,
    skipped: SkippedRows | None = None,
    on_part: OnPart = lambda part: None,
    by: User | None = None,
) -> Loaded:
    """Store the parts with all that they need, each in a transaction of its own.

    With `skipped`, bad rows and unreadable files are kept there and the load goes on. `source` is the folder or archive
    that the import is recorded under. Raises BadRow or UserError, and nothing of the load stays then, unless somebody
    uses it by now, which the error says.
    """
    with recorded("load_benchmark", source, by) as recording:
        try:
            return _Load(workspace, registered, files, skipped, recording).run(parts, on_part)
        except Exception as problem:
            _take_back(recording, problem, by)
            raise


def _with_own_remedy(problem: BadRow) -> BadRow:
    """Return the problem with a remedy that a load of files has, where it names an option of load_table alone."""
    if isinstance(problem.remedy, Message) and problem.remedy.code in OPTIONS_OF_TABLES:
        return BadRow(problem.file, problem.line, problem.reason, messages.CORRECT_OR_SKIP())
    return problem


def _take_back(recording: Recording, problem: Exception, by: User | None) -> None:
    """Undo what the parts before a problem have stored. Raises UserError where somebody uses it by now."""
    found = recording.stored()
    if found is None:
        return
    try:
        undo_import(found, by=by, clock=timezone.now)
    except UserError as why:
        raise UserError(messages.NOT_TAKEN_BACK(problem=str(problem), why=str(why))) from problem


class _Load:
    """One load under way."""

    def __init__(
        self,
        workspace: Workspace,
        registered: Registered,
        files: BenchmarkFiles,
        skipped: SkippedRows | None,
        recording: Recording,
    ) -> None:
        self.workspace, self.registered, self.files = workspace, registered, files
        self.skipped, self.recording = skipped, recording
        kept: OnBadRow = refuse if skipped is None else skipped
        self.on_bad: OnBadRow = lambda problem: kept(_with_own_remedy(problem))
        self.loaded = Loaded(registered.slug)
        self.met = Met()

    def run(self, parts: Iterable[Part], on_part: OnPart) -> Loaded:
        with transaction.atomic(), collecting() as rows:
            benchmark = self._begin()
            self._record(rows)
        loader = PartLoader(benchmark, self.on_bad)
        for part in parts:
            if not self._store(loader, part):
                # What the loader remembers of this part was rolled back with it.
                loader = PartLoader(benchmark, self.on_bad, before=loader)
            on_part(part)
        self._finish(loader)
        return self.loaded

    def _store(self, loader: PartLoader, part: Part) -> bool:
        """Store one part; false where its file cannot be read and may be left out. Raises BadRow or UserError."""
        try:
            with transaction.atomic(), collecting() as rows:
                found = loader.store(part, rows)
                if found.study:
                    _note(found, part)
                if found.kind:
                    self.loaded.add(found.kind, found.counts)
                self._record(rows)
        except BadRow as problem:
            if self.skipped is None:
                raise
            self.skipped.problems.append(problem)
            return False
        self.met.include(found.met)
        return True

    def _record(self, rows: CreatedRows) -> None:
        """Record what has been loaded so far, in the transaction of its last part."""
        self.recording.include(rows)
        self.recording.store(self.workspace, self.registered.slug, sum(self.loaded.counts.values(), Counts()))

    def _finish(self, loader: PartLoader) -> None:
        rows = self.recording.rows
        for kind, model, names in (
            ("instructions", Instruction, self.met.instructions),
            ("responses", Response, self.met.responses),
        ):
            label = model._meta.label
            created, completed = rows.count(label), rows.changed_count(label)
            self.loaded.add(kind, Counts(created, completed, max(0, len(names) - created - completed)))
        loaded = self.loaded
        loaded.absent = [*self.files.absent, *(f"a checklist for {name}" for name in loader.without_checklist)]
        loaded.unknown = dict(sorted(self.files.unknown.items()))
        loaded.differing = sorted(loader.differing)
        loaded.studies = list(loader.studies)
        self.recording.store(self.workspace, self.registered.slug, sum(loaded.counts.values(), Counts()))

    def _begin(self) -> Benchmark:
        """The benchmark with its categories, rubrics and published weights."""
        benchmark, _counts = load_taxonomy(self.workspace, self._fixture("taxonomies"))
        ours = self._fixture("rubrics")
        if ours is not None and not self.registered.brings_rubrics:
            self.loaded.add("rubrics", load_rubrics(self.workspace, benchmark, ours))
        self.loaded.add(
            "checklists", _keep_checklists(benchmark, self.files.rubrics(self._left_out), ours or {"rubrics": []})
        )
        self.loaded.add("weights", self._keep_weights(benchmark, self._weights()))
        for kind in ("instructions", "responses"):
            self.loaded.add(kind, Counts())
        return benchmark

    def _fixture(self, kind: str) -> Any:
        path = self.registered.fixtures / kind / f"{self.registered.slug}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def _weights(self) -> list[WeightRecord]:
        """The published weights; none where their file cannot be read and may be left out. Raises BadRow."""
        try:
            return list(self.files.weights())
        except BadRow as problem:
            self._left_out(problem)
            return []

    def _left_out(self, problem: BadRow) -> None:
        """Note a file that cannot be read, or raise its problem where none may be left out."""
        if self.skipped is None:
            raise problem
        self.skipped.problems.append(problem)

    def _keep_weights(self, benchmark: Benchmark, records: list[WeightRecord]) -> Counts:
        if not records:
            return Counts()
        _fit, made = load_published_weights(
            benchmark=benchmark,
            name=f"{benchmark.slug}-repository",
            source=f"{self.registered.title}'s repository, {records[0].place.file}",
            weights={record.category: record.weights for record in records},
        )
        return Counts(created=int(made), already_there=int(not made))


def _keep_checklists(benchmark: Benchmark, records: Iterable[RubricRecord], ours: Mapping[str, Any]) -> Counts:
    """The checklists in their source's own wording, under our keys at the same positions."""
    patterns = {entry["key"]: entry for entry in ours["rubrics"]}
    scales = ours.get("scales") or json.loads(SCALES.read_text(encoding="utf-8"))["scales"]
    categories = Categories(benchmark)
    counts = Counts()
    for record in records:
        category = categories.find_or_create(record.category, record.parent)
        counts += keep_rubric(
            benchmark.workspace,
            benchmark,
            category,
            key=f"{benchmark.slug}-{category.key}" if category else benchmark.slug,
            names=category.names if category else benchmark.names,
            criteria=rubric_from_record(record, patterns.get(category.key) if category else None, scales),
        )
    return counts


def _note(found: Stored, part: Part) -> None:
    """An event of the study, where the part brought answers."""
    counts, study = found.counts, found.study
    if study is not None and (counts.created or counts.unscored):
        Event.objects.create(
            workspace_id=study.workspace_id,
            verb="loaded",
            object_type="study",
            object_id=study.public_id,
            after={"file": part.name, "created": counts.created, "unscored": counts.unscored},
        )
