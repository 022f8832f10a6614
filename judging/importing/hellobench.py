"""A clone of HelloBench's repository -> rows: its benchmark, responses, checklists, judge and weights."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models import Event, Workspace
from annotation.importing.verdicts import VerdictLoader
from annotation.models import Rater, Study
from annotation.policies.policies import stored
from annotation.rubrics.library import keep_rubric, rubric_from_record
from calibration.fits.published import load_published_weights
from core.db.created_rows import note_created
from core.tables.bad_rows import OnBadRow
from generation.importers.hellobench import JUDGE, Clone, ResultFile
from generation.importers.records import LONG_CONTEXT, MAIN, InstructionRecord, ResponseRecord, VerdictRecord
from generation.library.imports import Recording, recorded
from generation.library.loading import Categories, Counts, Instructions, Responses, import_run, load_taxonomy
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import Benchmark, GenerationRun, Instruction, Response

FIXTURES = settings.BASE_DIR / "fixtures"
PUBLISHED_FIT = "hellobench-repository"
PUBLISHED_SOURCE = "HelloBench's repository, weighted_scores.txt"
STUDIES = {
    MAIN: ("hellobench-gpt-4o", "HelloBench, judged by GPT-4o", "HelloBench，由GPT-4o评判"),
    **{
        experiment: (
            f"hellobench-gpt-4o-{experiment}",
            f"HelloBench with {words:,} words requested, judged by GPT-4o",
            f"HelloBench要求{words:,}词，由GPT-4o评判",
        )
        for experiment, words in LENGTHS.items()
    },
    LONG_CONTEXT: (
        "hellobench-gpt-4o-long-context",
        "HelloBench's long-context models, judged by GPT-4o",
        "HelloBench长上下文实验，由GPT-4o评判",
    ),
}


@dataclass
class CloneLoaded:
    """What became of each kind of record, and what the clone lacks."""

    counts: dict[str, Counts] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def add(self, kind: str, counts: Counts) -> None:
        self.counts[kind] = self.counts.get(kind, Counts()) + counts


class Met:
    """The rows of one kind that a load's files name, each once however many files do, and what became of them.

    `before` holds by name the rows that were there, and whether with their text.
    """

    def __init__(self, before: Mapping[Hashable, bool]) -> None:
        self._before = before
        self.names: set[Hashable] = set()

    def counts(self, after: Mapping[Hashable, bool]) -> Counts:
        there = self.names & after.keys()
        old = there & self._before.keys()
        completed = sum(after[name] and not self._before[name] for name in old)
        return Counts(len(there) - len(old), completed, len(old) - completed)


class Noted:
    """What a load meets of instructions and responses."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self.instructions = Met(self._instructions())
        self.responses = Met(self._responses())

    def instruction(self, records: Iterable[InstructionRecord]) -> Iterator[InstructionRecord]:
        for record in records:
            self.instructions.names.add(record.external_id)
            yield record

    def response(self, records: Iterable[ResponseRecord], run: GenerationRun) -> Iterator[ResponseRecord]:
        for record in records:
            self._note(record, run)
            yield record

    def verdict(self, records: Iterable[VerdictRecord], run: GenerationRun) -> Iterator[VerdictRecord]:
        for record in records:
            self._note(record.response, run)
            yield record

    def _note(self, record: ResponseRecord, run: GenerationRun) -> None:
        name = record.instruction.external_id
        self.instructions.names.add(name)
        self.responses.names.add((run.pk, name, record.model))

    def add_to(self, loaded: CloneLoaded) -> None:
        loaded.add("instructions", self.instructions.counts(self._instructions()))
        loaded.add("responses", self.responses.counts(self._responses()))

    def _instructions(self) -> dict[Hashable, bool]:
        rows = Instruction.objects.filter(benchmark=self._benchmark).order_by()
        without = set(rows.filter(messages__isnull=True).values_list("external_id", flat=True))
        return {name: name not in without for name in rows.values_list("external_id", flat=True)}

    def _responses(self) -> dict[Hashable, bool]:
        rows = Response.objects.filter(
            run__benchmark=self._benchmark, run__status=GenerationRun.Status.IMPORTED, sample=0
        ).order_by()
        names = "run_id", "instruction__external_id", "model__name"
        without = set(rows.filter(text__isnull=True).values_list(*names))
        return {name: name not in without for name in rows.values_list(*names)}


def files_of(clone: Clone, experiments: Iterable[str]) -> list[ResultFile]:
    return [file for experiment in experiments for file in clone.result_files(experiment)]


def load_clone(
    *,
    workspace: Workspace,
    clone: Clone,
    files: Iterable[ResultFile],
    on_bad: OnBadRow,
    progress: Callable[[int], None],
) -> CloneLoaded:
    """The result files with all that they need, each file in a transaction of its own. Raises BadRow."""
    with recorded("load_hellobench", clone.root) as recording:
        return _load_clone(workspace, clone, files, on_bad, progress, recording)


def _load_clone(
    workspace: Workspace,
    clone: Clone,
    files: Iterable[ResultFile],
    on_bad: OnBadRow,
    progress: Callable[[int], None],
    recording: Recording,
) -> CloneLoaded:
    loaded = CloneLoaded(absent=clone.absent)

    def store() -> None:
        """Record what has been loaded so far, in the transaction of its last part."""
        recording.store(workspace, benchmark.slug, sum(loaded.counts.values(), Counts()))

    with transaction.atomic():
        benchmark, _counts = load_taxonomy(workspace, _fixture("taxonomies"))
        loaded.add("checklists", _load_checklists(benchmark, clone))
        loaded.add("weights", _load_weights(benchmark, clone))
        store()
    for kind in ("instructions", "responses"):
        loaded.add(kind, Counts())
    noted = Noted(benchmark)
    instructions = Instructions(benchmark)
    by_experiment: dict[str, list[ResultFile]] = {}
    for file in files:
        by_experiment.setdefault(file.experiment, []).append(file)
    for experiment, of_experiment in by_experiment.items():
        for path, task, length in clone.instruction_files(experiment):
            with transaction.atomic():
                instructions.load(noted.instruction(clone.instructions(path, task, length, on_bad)))
                store()
        _load_results(clone, instructions, experiment, of_experiment, loaded, noted, on_bad, progress, store)
    noted.add_to(loaded)
    store()
    return loaded


def _fixture(kind: str) -> Any:
    path: Path = FIXTURES / kind / "hellobench.json"
    return json.loads(path.read_text(encoding="utf-8"))


def _load_checklists(benchmark: Benchmark, clone: Clone) -> Counts:
    """The repository's own wording, under our keys at the same positions."""
    ours = _fixture("rubrics")
    patterns = {entry["key"]: entry for entry in ours["rubrics"]}
    categories = Categories(benchmark)
    counts = Counts()
    for record in clone.checklists():
        category = categories.find_or_create(record.category, record.parent)
        assert category is not None
        pattern = patterns.get(category.key)
        counts += keep_rubric(
            benchmark.workspace,
            benchmark,
            category,
            key=f"{benchmark.slug}-{category.key}",
            names=category.names,
            criteria=rubric_from_record(record, pattern, ours["scales"]),
        )
    return counts


def _load_weights(benchmark: Benchmark, clone: Clone) -> Counts:
    weights = {record.category: record.weights for record in clone.weights()}
    if not weights:
        return Counts()
    _fit, made = load_published_weights(
        benchmark=benchmark, name=PUBLISHED_FIT, source=PUBLISHED_SOURCE, weights=weights
    )
    return Counts(created=int(made), already_there=int(not made))


def _load_results(
    clone: Clone,
    instructions: Instructions,
    experiment: str,
    files: list[ResultFile],
    loaded: CloneLoaded,
    noted: Noted,
    on_bad: OnBadRow,
    progress: Callable[[int], None],
    store: Callable[[], None],
) -> None:
    benchmark = instructions.benchmark
    responses = Responses(instructions, import_run(benchmark, experiment))
    verdicts: VerdictLoader | None = None
    for file in files:
        with transaction.atomic():
            responses.load(noted.response(clone.responses(file, on_bad), responses.run))
            store()
        if file.verdicts:
            with transaction.atomic():
                verdicts = verdicts or _verdict_loader(responses, experiment)
                counts, _responses = verdicts.load(noted.verdict(clone.verdicts(file, on_bad), responses.run), on_bad)
                _note(verdicts.study, file, counts)
                store()
            loaded.add("verdicts", counts)
        progress(file.size)
    for name in dict.fromkeys(verdicts.without_checklist if verdicts else ()):
        loaded.absent.append(f"a checklist for {name}")


def _verdict_loader(responses: Responses, experiment: str) -> VerdictLoader:
    benchmark = responses.run.benchmark
    slug, english, chinese = STUDIES[experiment]
    study, made = Study.objects.get_or_create(
        workspace=benchmark.workspace,
        slug=slug,
        defaults={
            "names": {"en": english, "zh-hans": chinese},
            "kind": Study.Kind.CHECKLIST,
            "status": Study.Status.CLOSED,
            "benchmark": benchmark,
            "experiment": experiment,
            "policies": stored(clusters="instructions"),
            "source": benchmark.source,
        },
    )
    note_created([study] if made else [])
    judge, made = Rater.objects.get_or_create(
        workspace=benchmark.workspace, study=None, kind=Rater.Kind.JUDGE, label=JUDGE
    )
    note_created([judge] if made else [])
    return VerdictLoader(study, judge, responses)


def _note(study: Study, file: ResultFile, counts: Counts) -> None:
    if counts.created or counts.unscored:
        after = {"model": file.model, "task": file.task, "created": counts.created, "unscored": counts.unscored}
        Event.objects.create(
            workspace=study.workspace, verb="loaded", object_type="study", object_id=study.public_id, after=after
        )
