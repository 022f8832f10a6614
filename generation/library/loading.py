"""Instruction and response records -> rows of one benchmark, in batches; what is already there is left alone."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Q

from accounts.models import Workspace
from core.db.created_rows import note_changed, note_created
from core.db.removal import conditions
from generation.importers.records import InstructionRecord, ResponseRecord
from generation.library.search import note_texts
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, GenerationRun, Instruction, LanguageModel, Response
from generation.text_metrics.counts import word_count

RECORDS_AT_ONCE = 500
FILLED_TEXTS = ("reference", "hint", "language", "rubric", "asked_by")
CHARACTERS_AT_ONCE = 4_000_000

T = TypeVar("T")


@dataclass(frozen=True)
class Counts:
    """What became of the records of a load.

    `completed` rows were there without their text; `unscored` verdicts are stored as such; `empty` are nothing.
    `repeated` of those created are further answers of a rater to the same question; `dropped` are second answers to the
    same question, and `excluded` those to a criterion that was not wanted; `left_out` answers are stored as excluded from
    results.
    """

    created: int = 0
    completed: int = 0
    already_there: int = 0
    skipped: int = 0
    unscored: int = 0
    empty: int = 0
    repeated: int = 0
    dropped: int = 0
    excluded: int = 0
    left_out: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def changed(self) -> bool:
        """Whether the load wrote anything, or left out what it should have."""
        return bool(self.created or self.completed or self.skipped or self.unscored or self.left_out)

    def __str__(self) -> str:
        """Such as "12 created, 3 already there"; what is zero is left out."""
        words = {"completed": "completed", "already_there": "already there", "left_out": "left out of results"}
        found = [(one.name, getattr(self, one.name)) for one in fields(self)]
        parts = [f"{count:,} {words.get(name, name)}" for name, count in found if count]
        return ", ".join(parts) or "nothing"


def batches(records: Iterable[T], size: int = RECORDS_AT_ONCE) -> Iterator[list[T]]:
    stream = iter(records)
    while batch := list(islice(stream, size)):
        yield batch


def load_taxonomy(workspace: Workspace, taxonomy: Mapping[str, Any]) -> tuple[Benchmark, Counts]:
    """A benchmark with its categories as fixtures/taxonomies/ lay them out; aliases already known are kept."""
    with transaction.atomic():
        benchmark, made = Benchmark.objects.get_or_create(
            workspace=workspace,
            slug=taxonomy["slug"],
            defaults={
                "names": taxonomy["name"],
                "version": taxonomy["version"],
                "licence": taxonomy["licence"],
                "source": taxonomy["source"],
            },
        )
        note_created([benchmark] if made else [])
        counts = Counts(created=int(made), already_there=int(not made))
        for position, entry in enumerate(taxonomy["categories"]):
            category, one = _load_category(benchmark, None, entry, position)
            counts += one
            for place, child in enumerate(entry["children"]):
                counts += _load_category(benchmark, category, child, place)[1]
    return benchmark, counts


def _load_category(
    benchmark: Benchmark, parent: Category | None, entry: Mapping[str, Any], position: int
) -> tuple[Category, Counts]:
    category, made = Category.objects.get_or_create(
        benchmark=benchmark,
        parent=parent,
        key=entry["key"],
        defaults={
            "names": entry["name"],
            "aliases": entry["aliases"],
            "position": position,
            "expected_count": entry["count"],
        },
    )
    note_created([category] if made else [])
    return category, Counts(created=int(made), already_there=int(not made))


class Categories:
    """A benchmark's categories by every key their sources use; a subcategory goes before its parent."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self._known: dict[str, Category] = {}
        for category in benchmark.categories.select_related("parent").order_by("-parent_id", "position"):
            self._add(category)

    def _add(self, category: Category) -> None:
        for key in (category.key, *category.aliases):
            for name in (key, key.casefold()):
                known = self._known.get(name)
                if known is None or (known.parent_id is None and category.parent_id is not None):
                    self._known[name] = category

    def find(self, key: str) -> Category | None:
        return self._known.get(key) or self._known.get(key.casefold())

    def keys(self) -> list[str]:
        return sorted({category.key for category in self._known.values()})

    def find_or_create(self, key: str, parent: str = "") -> Category | None:
        """The category of this key, made below `parent` where it is new; none where no key is given."""
        if not key:
            return self.find(parent) if parent else None
        category = self.find(key)
        if category is None:
            above = self.find_or_create(parent) if parent else None
            category = Category.objects.create(
                benchmark=self.benchmark,
                parent=above,
                key=key[:100],
                names={"en": key},
                position=self.benchmark.categories.filter(parent=above).count(),
            )
            note_created([category])
            self._add(category)
        return category


class Models:
    """A workspace's language models by name; new ones are made on asking."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._known = dict(LanguageModel.objects.filter(workspace=workspace).values_list("name", "pk"))

    def get(self, name: str) -> int | None:
        return self._known.get(name)

    def find_or_create(self, name: str) -> int:
        if name not in self._known:
            model = LanguageModel.objects.create(workspace=self.workspace, name=name)
            note_created([model])
            self._known[name] = model.pk
        return self._known[name]


def import_run(benchmark: Benchmark, experiment: str = MAIN_EXPERIMENT) -> GenerationRun:
    """The run that holds a benchmark's imported responses of one experiment."""
    run, made = GenerationRun.objects.get_or_create(
        benchmark=benchmark,
        name=f"{benchmark.slug} {experiment.replace('_', ' ')}",
        defaults={"experiment": experiment, "status": GenerationRun.Status.IMPORTED},
    )
    note_created([run] if made else [])
    return run


class Instructions:
    """A benchmark's instructions by the names files use, and how records become more of them.

    With `compare` a record's reference, hint, words asked, language, rubric, tags, user and difficulty are given to a
    row that has none, and `differing` names the instructions whose text or reference is stored otherwise; what is
    stored stays.
    """

    def __init__(self, benchmark: Benchmark, *, compare: bool = False) -> None:
        self.benchmark = benchmark
        self.compare = compare
        self.differing: set[str] = set()
        self.categories = Categories(benchmark)
        self._pks: dict[str, int] = {}
        self._category_of: dict[int, int | None] = {}
        self._without_text: set[int] = set()
        known = Instruction.objects.filter(benchmark=benchmark)
        for pk, name, category in known.order_by().values_list("pk", "external_id", "category_id"):
            self._pks[name], self._category_of[pk] = pk, category
        self._without_text.update(known.filter(messages__isnull=True).order_by().values_list("pk", flat=True))

    def __getitem__(self, external_id: str) -> int:
        return self._pks[external_id]

    def __contains__(self, external_id: str) -> bool:
        return external_id in self._pks

    def __len__(self) -> int:
        return len(self._pks)

    def category_of(self, external_id: str) -> int | None:
        return self._category_of[self._pks[external_id]]

    def load(self, records: Iterable[InstructionRecord]) -> Counts:
        """Rows for the records that have none; a row without a text gets the record's."""
        counts = Counts()
        for batch in batches(records):
            new: dict[str, InstructionRecord] = {}
            known: list[InstructionRecord] = []
            for record in batch:
                if record.external_id not in self._pks:
                    new.setdefault(record.external_id, record)
                elif self._may_complete(record):
                    known.append(record)
            completed = self._complete(known)
            rows = Instruction.objects.bulk_create(self._row(record) for record in new.values())
            note_texts(rows)
            note_created(rows)
            for row in rows:
                self._pks[row.external_id], self._category_of[row.pk] = row.pk, row.category_id
                if row.messages is None:
                    self._without_text.add(row.pk)
            counts += Counts(len(rows), completed, len(batch) - len(rows) - completed)
        return counts

    def _row(self, record: InstructionRecord) -> Instruction:
        return Instruction(
            benchmark=self.benchmark,
            external_id=record.external_id,
            category=self.categories.find_or_create(record.category, record.parent),
            messages=record.messages,
            words_asked=record.words_asked,
            parts=_parts_of(record),
            **{name: getattr(record, name) for name in FILLED_TEXTS},
            tags=list(record.tags),
            difficulty=list(record.difficulty) or None,
        )

    def _may_complete(self, record: InstructionRecord) -> bool:
        return self.compare or (record.text is not None and self._pks[record.external_id] in self._without_text)

    def _complete(self, records: Sequence[InstructionRecord]) -> int:
        """Gives the rows of these records what they lack; how many lacked something."""
        stored = Instruction.objects.in_bulk({self._pks[record.external_id] for record in records})
        completed = 0
        for record in records:
            row = stored[self._pks[record.external_id]]
            former = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
            lacking = self._lacking(row, record)
            if lacking:
                names = [row._meta.get_field(name).attname for name in lacking]  # type: ignore[union-attr]
                note_changed(row, {name: former[name] for name in names})
                row.save(update_fields=lacking)
                if "messages" in lacking:
                    note_texts([row])
                self._category_of[row.pk] = row.category_id
                self._without_text.discard(row.pk)
                completed += 1
        return completed

    def _lacking(self, row: Instruction, record: InstructionRecord) -> list[str]:
        """Sets what the row lacks and the record has; the names of these fields."""
        fresh, lacking = self._row(record), []
        if row.messages is None and fresh.messages is not None:
            row.messages, row.parts, row.words_asked = fresh.messages, fresh.parts, fresh.words_asked
            lacking += ["messages", "parts", "words_asked"]
        elif fresh.messages is not None and fresh.messages != row.messages:
            self.differing.add(record.external_id)
        if row.category_id is None and fresh.category_id is not None:
            row.category = fresh.category
            lacking.append("category")
        for name in (*FILLED_TEXTS, "tags", "words_asked", "difficulty"):
            if getattr(fresh, name) and not getattr(row, name):
                setattr(row, name, getattr(fresh, name))
                lacking.append(name)
        if fresh.reference and fresh.reference != row.reference:
            self.differing.add(record.external_id)
        return lacking


def _parts_of(record: InstructionRecord) -> dict[str, Any] | None:
    parts = record.parts
    if parts is None:
        return None
    return {"task": parts.task, "data": parts.data, "requirements": list(parts.requirements)}


class Responses:
    """The responses of one run, by instruction, model and sample, and how records become more of them.

    `created` are the new rows' keys, in their order.
    """

    def __init__(self, instructions: Instructions, run: GenerationRun) -> None:
        self.instructions = instructions
        self.run = run
        self.models = Models(run.benchmark.workspace)
        self.created: list[int] = []
        self._pks: dict[tuple[int, int, int], int] = {}
        self._without_text: set[int] = set()
        self._read(Q())

    def _read(self, some: Q) -> None:
        found = Response.objects.filter(some, run=self.run, model__isnull=False).order_by()
        rows = found.values_list("instruction_id", "model_id", "sample", "pk")
        self._pks.update(((i, m, sample), pk) for i, m, sample, pk in rows)
        self._without_text.update(found.filter(text__isnull=True).values_list("pk", flat=True))

    def learn(self, pks: Collection[int]) -> None:
        """Take in responses of the run that were made elsewhere since."""
        for some in conditions("pk", pks):
            self._read(some)

    def pk_of(self, record: ResponseRecord) -> int:
        return self._pks[self._key(record)]

    def _key(self, record: ResponseRecord) -> tuple[int, int, int]:
        instruction = self.instructions[record.instruction.external_id]
        return instruction, self.models.find_or_create(record.model), record.sample

    def load(self, records: Iterable[ResponseRecord]) -> Counts:
        """Rows for the records that have none, with their words counted; a row without a text gets it."""
        counts = Counts()
        for batch in batches_of_text(records, lambda record: record):
            self.instructions.load(record.instruction for record in batch)
            new: dict[tuple[int, int, int], ResponseRecord] = {}
            completed = 0
            for record in batch:
                pk = self._pks.get(self._key(record))
                if pk is None:
                    new.setdefault(self._key(record), record)
                elif pk in self._without_text and record.text is not None:
                    note_changed(Response(pk=pk), {"text": None, "words": None})
                    Response.objects.filter(pk=pk).update(text=record.text, words=word_count(record.text))
                    self._without_text.discard(pk)
                    completed += 1
            rows = Response.objects.bulk_create(self._row(key, record) for key, record in new.items())
            note_created(rows)
            for row in rows:
                assert row.model_id is not None
                self._pks[row.instruction_id, row.model_id, row.sample] = row.pk
                self.created.append(row.pk)
                if row.text is None:
                    self._without_text.add(row.pk)
            counts += Counts(len(rows), completed, len(batch) - len(rows) - completed)
        return counts

    def _row(self, key: tuple[int, int, int], record: ResponseRecord) -> Response:
        return Response(
            instruction_id=key[0],
            model_id=key[1],
            sample=key[2],
            run=self.run,
            external_id=record.instruction.external_id,
            text=record.text,
            words=None if record.text is None else word_count(record.text),
            finish_reason=record.finish_reason,
            input_tokens=record.input_tokens,
            tokens=record.tokens,
            seconds=record.seconds,
        )


def batches_of_text(records: Iterable[T], response_of: Callable[[T], ResponseRecord]) -> Iterator[list[T]]:
    """Batches whose responses hold a few million characters at most, however long the texts are."""
    batch: list[T] = []
    characters = 0
    for record in records:
        response = response_of(record)
        batch.append(record)
        characters += len(response.text or "") + len(response.instruction.text or "")
        if len(batch) >= RECORDS_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
