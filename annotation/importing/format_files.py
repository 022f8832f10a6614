"""Load a file of another tool: its instructions and responses with their texts, and its answers into a study.

Every format comes this way, from a command, an upload or the API: one transaction, one list of bad rows, one import that
can be undone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from django.db import transaction

from accounts.models import Event, User, Workspace
from annotation.importing import messages
from annotation.importing.preferences import PreferenceLoader
from annotation.importing.ratings import RatingLoader, check_named, check_overall
from annotation.importing.study import Destination
from annotation.masking.scan import scan_study
from annotation.models import Study
from annotation.policies.policies import Policies, change_policies
from annotation.rubrics.scales import Rules, Scale, parse_scales
from core.db.created_rows import note_changed
from core.db.many_ids import with_ids
from core.errors import UserError
from core.tables.bad_rows import BadRow, OnBadRow
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_shown
from generation.importers.formats.format import RESPONSES, Format, Record
from generation.importers.formats.registry import read_format
from generation.importers.formats.source import Options, Source
from generation.importers.records import InstructionRecord, PreferenceRecord, RatingRecord, ResponseRecord
from generation.library.imports import recorded
from generation.library.items import ItemName, Items
from generation.library.loading import Counts, Instructions, Responses, import_run
from generation.management.table_options import benchmark_to_fill, checked_slug
from generation.models import Response
from generation.text_metrics.counts import word_count

RECORDS_AT_ONCE = 1000
CHARACTERS_AT_ONCE = 4_000_000
RATINGS, PREFERENCES = "ratings", "preferences"


@dataclass(frozen=True)
class FormatRequest:
    """What to load and how. `into` is the slug of a study, or of a benchmark for a format that holds responses alone.

    `benchmark` is that of the study's items, if not one of the study's own. `answers` says which of the file's answers are
    loaded, RATINGS or PREFERENCES; '' stands for the kind that comes first. The scales named here come before the format's.
    """

    format: Format
    path: Path
    into: str
    name: str = ""
    benchmark: str = ""
    answers: str = ""
    options: Options = field(default_factory=Options)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    overall: str = ""
    duplicates: str = "refuse"
    off_scale: str = "refuse"
    provenance: str = ""
    excluded: frozenset[str] = frozenset()

    @property
    def rules(self) -> Rules:
        usual = parse_scales([f"{key}={scale}" for key, scale in self.format.scales.items()])
        return Rules(
            scales={**usual, **self.scales},
            overall=self.overall,
            duplicates=self.duplicates,
            off_scale=self.off_scale,
            provenance=self.provenance,
            excluded=self.excluded,
        )


@dataclass
class FormatLoad:
    """What came of a load: the fields that were not read, and what is odd about the values."""

    counts: Counts = field(default_factory=Counts)
    texts: int = 0
    unread: dict[str, None] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    self_naming: int = 0


def load_format(
    request: FormatRequest, workspace: Workspace, by: User | None, on_bad: OnBadRow, skipped: SkippedRows
) -> FormatLoad:
    """Load the file and record the import, or store nothing. Raises UserError."""
    source = Source(request.path, on_bad, request.options)
    loaded = FormatLoad(unread=source.unread)
    with (
        recorded(f"import_{request.format.key}"[:50], request.path, by) as recording,
        progress_shown(f"Reading {request.path.name}") as progress,
        transaction.atomic(),
    ):
        records = read_format(request.format, source)
        if request.format.holds == RESPONSES:
            loaded.counts = _load_responses(request, workspace, records, progress)
        else:
            study = _load_answers(request, workspace, records, on_bad, progress, loaded)
        loaded.counts += Counts(skipped=len(skipped))
        if loaded.counts == Counts(skipped=len(skipped)) and skipped:
            raise UserError(messages.NOTHING_LOADED(problem=str(skipped.problems[0])))
        if loaded.counts == Counts(empty=loaded.counts.empty) and not loaded.texts:
            raise UserError(messages.NO_ANSWERS_IN(file=request.path.name, format=request.format.name))
        if loaded.counts.created or loaded.counts.unscored:
            Event.objects.create(
                workspace=workspace,
                verb="loaded",
                object_type="benchmark" if request.format.holds == RESPONSES else "study",
                object_id=request.into if request.format.holds == RESPONSES else study.public_id,
                after={
                    "file": request.path.name,
                    "format": request.format.key,
                    "created": loaded.counts.created,
                    "unscored": loaded.counts.unscored,
                },
            )
        recording.store(workspace, request.into, loaded.counts)
        if request.format.holds != RESPONSES and loaded.counts.created:
            loaded.self_naming = scan_study(study).flagged
    return loaded


def _load_responses(
    request: FormatRequest, workspace: Workspace, records: Iterator[Record], progress: Callable[[int], None]
) -> Counts:
    benchmark = benchmark_to_fill(workspace, checked_slug(request.into), title=request.name)
    loader = Responses(Instructions(benchmark), import_run(benchmark))
    return loader.load(_counted((record for record in records if isinstance(record, ResponseRecord)), progress))


def _counted(records: Iterable[ResponseRecord], progress: Callable[[int], None]) -> Iterator[ResponseRecord]:
    for record in records:
        progress(1)
        yield record


def _load_answers(
    request: FormatRequest,
    workspace: Workspace,
    records: Iterator[Record],
    on_bad: OnBadRow,
    progress: Callable[[int], None],
    loaded: FormatLoad,
) -> Study:
    """Load texts and answers batch by batch, and return the study."""
    before: list[Record] = []
    wanted = request.answers
    while not wanted and (record := next(records, None)) is not None:
        before.append(record)
        wanted = _kind_of(record)
    pairs = wanted == PREFERENCES
    plain = Study.Kind.CHECKLIST if request.overall else Study.Kind.STARS
    study, items = Destination(
        study=request.into,
        kind=Study.Kind.PAIR if pairs else plain,
        name=request.name,
        benchmark=request.benchmark,
        create_items=True,
        source=request.path.name,
        clusters="instructions",
    ).open(workspace)
    texts = _Texts(items)
    rules = request.rules
    ratings = None if pairs else RatingLoader(study, items, rules)
    choices = PreferenceLoader(study, items, rules, both_bad=False) if pairs else None
    keys = False
    for batch in _batches(chain(before, records)):
        loaded.texts += texts.load(batch, on_bad)
        mine = [record for record in batch if _kind_of(record) == wanted]
        others = [record for record in batch if _kind_of(record) not in ("", wanted)]
        for record in others:
            loaded.unread.setdefault(record.criterion if isinstance(record, RatingRecord) else PREFERENCES)
        loaded.counts += Counts(empty=sum(isinstance(one, RatingRecord) and not one.criterion for one in batch))
        if ratings is not None:
            loaded.counts += ratings.load([one for one in mine if isinstance(one, RatingRecord)], on_bad)
        if choices is not None:
            chosen = [one for one in mine if isinstance(one, PreferenceRecord)]
            if any(one.choice == "both_bad" for one in chosen):
                choices.admit_both_bad()
            loaded.counts += choices.load(chosen, on_bad)
        keys = keys or any(isinstance(one, RatingRecord | PreferenceRecord) and one.is_key for one in mine)
        progress(len(batch))
    if ratings is not None:
        check_overall(ratings, request.path.name)
        check_named(ratings, request.path.name)
        loaded.remarks += ratings.wide_scales()
    if keys and not Policies.of(study).adjudicated_labels:
        change_policies(study, adjudicated_labels=True)
    return study


def _kind_of(record: Record) -> str:
    """Return RATINGS or PREFERENCES, '' for texts and for an answer that was not given, which could be of either kind."""
    if isinstance(record, PreferenceRecord):
        return PREFERENCES
    return RATINGS if isinstance(record, RatingRecord) and record.criterion else ""


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield batches whose texts have a few million characters at most."""
    batch: list[Record] = []
    characters = 0
    for record in records:
        batch.append(record)
        if isinstance(record, ResponseRecord):
            characters += len(record.text or "") + len(record.instruction.text or "")
        if len(batch) >= RECORDS_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


class _Texts:
    """The texts of a file's instructions and responses; rows that have a text keep it."""

    def __init__(self, items: Items) -> None:
        self.items = items

    def load(self, records: Iterable[Record], on_bad: OnBadRow) -> int:
        """Make the rows that the records name and give them their texts; return how many rows got one."""
        named: dict[tuple[str, str, str], tuple[ResponseRecord, ItemName]] = {}
        asked: dict[str, InstructionRecord] = {}
        for record in records:
            if not isinstance(record, ResponseRecord):
                continue
            instruction = record.instruction
            name = ItemName(
                record.item or instruction.external_id, instruction.external_id, record.model, instruction.category
            )
            try:
                self.items.check(record.place, name)
            except BadRow as problem:
                on_bad(problem)
                continue
            asked.setdefault(instruction.external_id, instruction)
            named.setdefault(name.key, (record, name))
        before = len(self.items.instructions)
        completed = self.items.instructions.load(asked.values()).completed
        self.items.create((record.place, name) for record, name in named.values())
        written = self._give({self._pk(name): record for record, name in named.values() if record.text is not None})
        return written + completed + len(self.items.instructions) - before

    def _pk(self, name: ItemName) -> int:
        found = self.items.find(name)
        assert found is not None
        return found

    def _give(self, records: Mapping[int, ResponseRecord]) -> int:
        rows = list(with_ids(Response.objects.filter(text__isnull=True), list(records)))
        for row in rows:
            record = records[row.pk]
            note_changed(row, {"text": None, "words": None})
            row.text, row.words = record.text, word_count(record.text or "")
            row.finish_reason = row.finish_reason or record.finish_reason
            row.tokens, row.seconds = row.tokens or record.tokens, row.seconds or record.seconds
        Response.objects.bulk_update(rows, ["text", "words", "finish_reason", "tokens", "seconds"], batch_size=200)
        return len(rows)
