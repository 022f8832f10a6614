"""A clone of HelloBench's repository -> rows: its benchmark, responses, checklists, judge and weights."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models import Event, Workspace
from annotation.library import keep_rubric, rubric_from_record
from annotation.models import Rater, Study
from annotation.verdict_loading import VerdictLoader
from calibration.published import load_published_weights
from generation.interchange.hellobench import JUDGE, Clone, ResultFile
from generation.interchange.records import LENGTH, LONG_CONTEXT, MAIN, OnBadRow
from generation.loading import Categories, Counts, Instructions, Responses, import_run, load_taxonomy
from generation.models import Benchmark

FIXTURES = settings.BASE_DIR / "fixtures"
PUBLISHED_FIT = "hellobench-repository"
PUBLISHED_SOURCE = "HelloBench's repository, weighted_scores.txt"
EXPERIMENTS = (MAIN, LENGTH, LONG_CONTEXT)
STUDIES = {
    MAIN: ("hellobench-gpt-4o", "HelloBench, judged by GPT-4o", "HelloBench，由GPT-4o评判"),
    LENGTH: (
        "hellobench-gpt-4o-length",
        "HelloBench with lengths asked for, judged by GPT-4o",
        "HelloBench限定长度实验，由GPT-4o评判",
    ),
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


def files_of(clone: Clone, experiments: Iterable[str]) -> list[ResultFile]:
    return [file for experiment in experiments for file in clone.result_files(experiment)]


def load_clone(
    *, workspace: Workspace, clone: Clone, files: Iterable[ResultFile], on_bad: OnBadRow,
    progress: Callable[[int], None],
) -> CloneLoaded:  # fmt: skip
    """The result files with all that they need, each file in a transaction of its own. Raises BadRow."""
    loaded = CloneLoaded(absent=clone.absent)
    with transaction.atomic():
        benchmark, _counts = load_taxonomy(workspace, _fixture("taxonomies"))
        loaded.add("checklists", _load_checklists(benchmark, clone))
        loaded.add("weights", _load_weights(benchmark, clone))
    instructions = Instructions(benchmark)
    by_experiment: dict[str, list[ResultFile]] = {}
    for file in files:
        by_experiment.setdefault(file.experiment, []).append(file)
    for experiment, of_experiment in by_experiment.items():
        for path, task, length in clone.instruction_files(experiment):
            with transaction.atomic():
                counts = instructions.load(clone.instructions(path, task, length, on_bad))
            loaded.add("instructions", counts)
        _load_results(clone, instructions, experiment, of_experiment, loaded, on_bad, progress)
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
    clone: Clone, instructions: Instructions, experiment: str, files: list[ResultFile], loaded: CloneLoaded,
    on_bad: OnBadRow, progress: Callable[[int], None],
) -> None:  # fmt: skip
    benchmark = instructions.benchmark
    responses = Responses(instructions, import_run(benchmark, experiment))
    verdicts: VerdictLoader | None = None
    for file in files:
        with transaction.atomic():
            known = len(instructions)
            loaded.add("responses", responses.load(clone.responses(file, on_bad)))
        if file.verdicts:
            with transaction.atomic():
                verdicts = verdicts or _verdict_loader(responses, experiment)
                counts, more = verdicts.load(clone.verdicts(file, on_bad), on_bad)
                _note(verdicts.study, file, counts)
            loaded.add("verdicts", counts)
            loaded.add("responses", Counts(more.created, more.completed))
        loaded.add("instructions", Counts(created=len(instructions) - known))
        progress(file.size)
    for name in dict.fromkeys(verdicts.without_checklist if verdicts else ()):
        loaded.absent.append(f"a checklist for {name}")


def _verdict_loader(responses: Responses, experiment: str) -> VerdictLoader:
    benchmark = responses.run.benchmark
    slug, english, chinese = STUDIES[experiment]
    study, _made = Study.objects.get_or_create(
        workspace=benchmark.workspace,
        slug=slug,
        defaults={
            "names": {"en": english, "zh-hans": chinese}, "kind": Study.Kind.CHECKLIST,
            "status": Study.Status.CLOSED, "benchmark": benchmark, "experiment": experiment,
            "policies": {"clusters": "instructions"}, "source": benchmark.source,
        },
    )  # fmt: skip
    judge, _made = Rater.objects.get_or_create(
        workspace=benchmark.workspace, study=None, kind=Rater.Kind.JUDGE, label=JUDGE
    )
    return VerdictLoader(study, judge, responses)


def _note(study: Study, file: ResultFile, counts: Counts) -> None:
    if counts.created or counts.unscored:
        after = {
            "model": file.model,
            "task": file.task,
            "created": counts.created,
            "unscored": counts.unscored,
        }
        Event.objects.create(
            workspace=study.workspace,
            verb="loaded",
            object_type="study",
            object_id=study.public_id,
            after=after,
        )
