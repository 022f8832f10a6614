"""The study and the benchmark that a table is loaded into."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.models import Workspace
from annotation.importing import messages
from annotation.models import Study
from annotation.policies.policies import stored
from core.db.created_rows import note_created
from core.errors import UserError
from generation.library.items import Items
from generation.library.loading import import_run
from generation.models import MAIN_EXPERIMENT, Benchmark

LONGEST_NAME = 200
LONGEST_EXPERIMENT = 50


@dataclass(frozen=True)
class Destination:
    """The destination of a table: a study, and the benchmark of its items (if none, one of the study's own).

    `names` are the study's titles by language; without them `name` is its title in English.
    """

    study: str
    kind: str
    name: str = ""
    benchmark: str = ""
    create_items: bool = False
    experiment: str = MAIN_EXPERIMENT
    source: str = ""
    clusters: str = ""
    must_exist: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def open(self, workspace: Workspace) -> tuple[Study, Items]:
        """Get or create the study, and return it with its items. Raises UserError."""
        study, benchmark = self.study_in(workspace)
        named = bool(self.benchmark)
        return study, Items(
            benchmark,
            may_create=not self.must_exist and (self.create_items or not named),
            may_add_categories=not self.must_exist and not named,
            run=import_run(benchmark, self.experiment) if named and self.create_items else None,
            experiment=self.experiment,
        )

    def study_in(self, workspace: Workspace) -> tuple[Study, Benchmark]:
        """Get or create the study, and return it with its benchmark. Raises UserError."""
        if not re.fullmatch(r"[-\w]{1,100}", self.study, re.ASCII):
            raise UserError(messages.STUDY_NAME(study=repr(self.study)))
        if len(self.name) > LONGEST_NAME:
            raise UserError(messages.LONG_TITLE(most=LONGEST_NAME))
        if len(self.experiment) > LONGEST_EXPERIMENT:
            raise UserError(messages.LONG_EXPERIMENT(most=LONGEST_EXPERIMENT))
        study = Study.objects.filter(workspace=workspace, slug=self.study).select_related("benchmark").first()
        if study is None and self.must_exist:
            raise UserError(messages.NO_STUDY_YET(study=repr(self.study)))
        benchmark = self._benchmark(workspace, study)
        if study is None:
            study = Study.objects.create(
                workspace=workspace,
                slug=self.study,
                names=dict(self.names) or {"en": self.name or self.study},
                kind=self.kind,
                status=Study.Status.CLOSED,
                benchmark=benchmark,
                experiment=self.experiment,
                policies=stored(clusters=self.clusters),
                source=self.source[:300],
            )
            note_created([study])
        if (study.kind == Study.Kind.PAIR) != (self.kind == Study.Kind.PAIR):
            raise UserError(messages.OTHER_KIND(study=repr(self.study), kind=study.kind, these=self.kind))
        if study.benchmark_id != benchmark.pk:
            raise UserError(messages.OTHER_BENCHMARK(study=repr(self.study), benchmark=study.benchmark))
        return study, benchmark

    def _benchmark(self, workspace: Workspace, study: Study | None) -> Benchmark:
        known = {benchmark.slug: benchmark for benchmark in workspace.benchmarks.all()}
        if self.benchmark:
            if self.benchmark not in known:
                names = ", ".join(known) or "none"
                raise UserError(messages.NO_BENCHMARK(benchmark=repr(self.benchmark), known=names))
            return known[self.benchmark]
        if study is not None and study.benchmark is not None:
            return study.benchmark
        if self.study in known:
            raise UserError(messages.BENCHMARK_IS_THERE(study=repr(self.study), slug=self.study))
        benchmark = Benchmark.objects.create(
            workspace=workspace, slug=self.study, names={"en": self.name or self.study}
        )
        note_created([benchmark])
        return benchmark
