"""One part of a benchmark's files -> rows: the existing loaders by the type of its records, with what they share."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from annotation.importing.instruction_checks import store_check_sets
from annotation.importing.instruction_rubrics import InstructionRubrics
from annotation.importing.preferences import PreferenceLoader
from annotation.importing.raters import Raters
from annotation.importing.ratings import RatingLoader
from annotation.importing.study import Destination
from annotation.importing.verdicts import VerdictLoader
from annotation.models import Rater, Study
from annotation.rubrics.scales import Rules, parse_scales
from core.db.created_rows import CreatedRows, note_created
from core.tables.bad_rows import OnBadRow
from generation.importers.benchmark_files import Part, StudyShape
from generation.importers.records import (
    AggregateRecord,
    CheckSetRecord,
    InstructionRecord,
    PreferenceRecord,
    RatingRecord,
    ResponseRecord,
    VerdictRecord,
)
from generation.library.aggregates import store_aggregates
from generation.library.items import NO_CATEGORY, Items
from generation.library.loading import Counts, Instructions, Models, Responses, batches, import_run
from generation.models import Benchmark, Response
from judging.importing import messages


@dataclass
class Met:
    """The instructions, and responses by experiment, that files name, each once however many files do."""

    instructions: set[str] = field(default_factory=set)
    responses: set[tuple[str, str, str, int]] = field(default_factory=set)

    def include(self, other: "Met") -> None:
        self.instructions |= other.instructions
        self.responses |= other.responses


@dataclass
class Stored:
    """What became of a part. `kind` is empty for instructions and responses, which are counted by their rows."""

    met: Met
    kind: str = ""
    counts: Counts = field(default_factory=Counts)
    study: Study | None = None


class PartLoader:
    """Stores a benchmark's parts one after another.

    What has been read of the database is kept from part to part, so the loader of a part that was rolled back must be
    replaced; `before` hands on what that one has to say.
    """

    def __init__(self, benchmark: Benchmark, on_bad: OnBadRow, before: "PartLoader | None" = None) -> None:
        self.benchmark, self.on_bad = benchmark, on_bad
        self.instructions = Instructions(benchmark)
        self.models = Models(benchmark.workspace)
        self._rubrics = InstructionRubrics(benchmark)
        self.without_checklist: dict[str, None] = before.without_checklist if before else {}
        self.studies: dict[str, None] = before.studies if before else {}
        self._differing = set(before.differing) if before else set()
        self._has_categories = bool(self.instructions.categories.keys())
        self._responses: dict[str, Responses] = {}
        self._items: dict[str, Items] = {}
        self._verdicts: dict[str, VerdictLoader] = {}
        self._ratings: dict[str, RatingLoader] = {}
        self._preferences: dict[str, PreferenceLoader] = {}

    @property
    def differing(self) -> set[str]:
        """The instructions whose text or reference is stored otherwise."""
        return self._differing | self.instructions.differing

    def store(self, part: Part, rows: CreatedRows) -> Stored:
        """Store what the part holds; `rows` collects what it creates. Raises BadRow or UserError."""
        records: Iterator[Any] = part.records(self.on_bad)
        first = next(records, None)
        stored = Stored(Met())
        if first is None:
            return stored
        records = chain([first], records)
        match first:
            case InstructionRecord():
                self.instructions.compare = True
                for batch in batches(self._asked(records, stored.met)):
                    self.instructions.load(batch)
                    stored.counts += self._rubrics.load(batch, self.on_bad)
                stored.kind = "checklists" if stored.counts != Counts() else ""
                self.instructions.compare = False
            case ResponseRecord():
                self._responses_of(part.experiment).load(self._written(records, part.experiment, stored.met))
            case VerdictRecord():
                self._store_verdicts(part, records, stored)
            case RatingRecord():
                self._store_ratings(part, records, stored)
            case PreferenceRecord():
                self._store_preferences(part, list(records), stored)
            case CheckSetRecord():
                stored.kind, stored.counts = "checks", store_check_sets(self.benchmark, records, self.on_bad)
            case AggregateRecord():
                stored.kind, stored.counts = "published counts", store_aggregates(self.benchmark, records)
        self._learn(rows)
        return stored

    def _asked(self, records: Iterator[InstructionRecord], met: Met) -> Iterator[InstructionRecord]:
        for record in records:
            if self._admits(record):
                met.instructions.add(record.external_id)
                yield record

    def _written(self, records: Iterator[ResponseRecord], experiment: str, met: Met) -> Iterator[ResponseRecord]:
        for record in records:
            if self._admits(record.instruction):
                _note_response(record, experiment, met)
                yield record

    def _judged(self, records: Iterator[VerdictRecord], experiment: str, met: Met) -> Iterator[VerdictRecord]:
        for record in records:
            if self._admits(record.response.instruction):
                _note_response(record.response, experiment, met)
                yield record

    def _admits(self, record: InstructionRecord) -> bool:
        """Whether the record's category is known, or need not be; else the row is handed on as bad."""
        categories = self.instructions.categories
        if (
            not record.category
            or not self._has_categories
            or record.external_id in self.instructions
            or categories.find(record.category) is not None
        ):
            return True
        self.on_bad(
            record.place.bad(
                NO_CATEGORY(benchmark=self.benchmark.slug, category=repr(record.category)),
                messages.CORRECT_CATEGORY(category=categories.keys()[0]),
            )
        )
        return False

    def _responses_of(self, experiment: str) -> Responses:
        if experiment not in self._responses:
            found = Responses(self.instructions, import_run(self.benchmark, experiment))
            found.models = self.models
            self._responses[experiment] = found
        return self._responses[experiment]

    def _shape_of(self, part: Part) -> StudyShape:
        assert part.study is not None, f"{part.name} has answers and no study"
        self.studies[part.study.slug] = None
        return part.study

    def _destination(self, shape: StudyShape) -> Destination:
        return Destination(
            study=shape.slug,
            kind=shape.kind,
            names=shape.names,
            benchmark=self.benchmark.slug,
            create_items=True,
            experiment=shape.experiment,
            source=self.benchmark.source,
            clusters="instructions",
        )

    def _open(self, shape: StudyShape, experiment: str) -> tuple[Study, Items]:
        """The study, and the items of the experiment that wrote its responses, which studies of its responses share."""
        destination = self._destination(shape)
        study, _benchmark = destination.study_in(self.benchmark.workspace)
        if experiment not in self._items:
            items = replace(destination, experiment=experiment).open(self.benchmark.workspace)[1]
            items.instructions, items.models = self.instructions, self.models
            self._items[experiment] = items
        return study, self._items[experiment]

    def _store_verdicts(self, part: Part, records: Iterator[VerdictRecord], stored: Stored) -> None:
        shape = self._shape_of(part)
        loader = self._verdicts.get(shape.slug)
        if loader is None:
            study, _benchmark = self._destination(shape).study_in(self.benchmark.workspace)
            judge, made = Rater.objects.get_or_create(
                workspace=self.benchmark.workspace, study=None, kind=Rater.Kind.JUDGE, label=shape.judge
            )
            note_created([judge] if made else [])
            loader = self._verdicts[shape.slug] = VerdictLoader(study, judge, self._responses_of(part.experiment))
        stored.kind, stored.study = "verdicts", loader.study
        stored.counts, _responses = loader.load(self._judged(records, part.experiment, stored.met), self.on_bad)
        self.without_checklist.update(dict.fromkeys(loader.without_checklist))
        loader.without_checklist.clear()

    def _store_ratings(self, part: Part, records: Iterator[RatingRecord], stored: Stored) -> None:
        shape = self._shape_of(part)
        if shape.slug not in self._ratings:
            self._ratings[shape.slug] = RatingLoader(
                *self._open(shape, part.experiment or shape.experiment), _rules(shape)
            )
        loader = self._ratings[shape.slug]
        stored.kind, stored.study, stored.counts = "ratings", loader.study, loader.load(records, self.on_bad)

    def _store_preferences(self, part: Part, records: list[PreferenceRecord], stored: Stored) -> None:
        shape = self._shape_of(part)
        both_bad = any(record.choice == "both_bad" for record in records)
        known = self._preferences.get(shape.slug)
        if known is None or both_bad:
            opened = self._open(shape, part.experiment or shape.experiment)
            loader = PreferenceLoader(*opened, _rules(shape), both_bad=both_bad)
            if known is not None:
                loader.store = known.store
            self._preferences[shape.slug] = loader
        loader = self._preferences[shape.slug]
        stored.kind, stored.study, stored.counts = "preferences", loader.study, loader.load(records, self.on_bad)

    def _learn(self, rows: CreatedRows) -> None:
        """Tell each loader which responses and judges another one has made."""
        pks = rows.created.get(Response._meta.label, set())
        if pks:
            for responses in self._responses.values():
                responses.learn(pks)
            for items in self._items.values():
                items.learn(pks)
        if rows.created.get(Rater._meta.label):
            loaders: list[RatingLoader | PreferenceLoader] = [*self._ratings.values(), *self._preferences.values()]
            for loader in loaders:
                loader.raters = Raters(loader.study, loader.rules)


def _note_response(record: ResponseRecord, experiment: str, met: Met) -> None:
    name = record.instruction.external_id
    met.instructions.add(name)
    met.responses.add((experiment, name, record.model, record.sample))


def _rules(shape: StudyShape) -> Rules:
    return Rules(
        scales=parse_scales([f"{key}={scale}" for key, scale in shape.scales.items()]),
        overall=shape.overall,
        off_scale=shape.off_scale,
        slots=shape.slots,
        duplicates="repeat" if shape.repeats else "refuse",
    )
