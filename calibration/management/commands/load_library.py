"""Load the library that comes with the program: taxonomies, rubrics, the raters' guideline and published weights."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.members.workspaces import workspace_for_load
from accounts.models import User, Workspace
from annotation.rubrics.library import load_guideline, load_rubrics
from calibration.fits.published import load_published_weights
from core.errors import UserError
from generation.library.imports import recorded
from generation.library.loading import Counts, load_taxonomy
from generation.models import Benchmark

FIXTURES = settings.BASE_DIR / "fixtures"
PUBLISHED_FIT = "hellobench-table-17"
PUBLISHED_SOURCE = "Haoran Que, Feiyu Duan, Liqun He et al., HelloBench, arXiv 2409.16191, table 17"


class Command(BaseCommand):
    help = "Load the categories, rubrics, guideline and published weights that come with this program."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", default="", metavar="SLUG", help="The workspace to load them into.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with transaction.atomic():
                counts = load_library(workspace_for_load(options["workspace"]))
        except UserError as error:
            raise CommandError(str(error)) from error
        for what, count in counts.items():
            self.stdout.write(f"{what}: {count}.")


def load_library(workspace: Workspace, *, by: User | None = None) -> dict[str, Counts]:
    """Store everything in fixtures/ except the demo as rows, as one import; a second call changes nothing."""
    with recorded("load_library", FIXTURES, by) as recording:
        counts = _load(workspace)
        recording.store(workspace, "library", sum(counts.values(), Counts()))
    return counts


def load_library_once(workspace: Workspace, *, by: User) -> Counts:
    """Load the library while nobody else loads it into this workspace, and return what it made of all kinds together."""
    with transaction.atomic():
        locked = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        return sum(load_library(locked, by=by).values(), Counts())


def _load(workspace: Workspace) -> dict[str, Counts]:
    counts = {name: Counts() for name in ("Categories", "Rubrics", "Guidelines", "Published weights")}
    for path in sorted((FIXTURES / "taxonomies").glob("*.json")):
        counts["Categories"] += load_taxonomy(workspace, _read(path))[1]
    benchmarks = {benchmark.slug: benchmark for benchmark in Benchmark.objects.filter(workspace=workspace)}
    for path in sorted((FIXTURES / "rubrics").glob("*.json")):
        rubrics = _read(path)
        slug = rubrics["benchmark"]
        # The demo's benchmark exists only if the demo has been set up.
        if slug is None or slug in benchmarks:
            counts["Rubrics"] += load_rubrics(workspace, benchmarks.get(slug), rubrics)
    texts: dict[str, dict[str, str]] = {}
    for path in sorted((FIXTURES / "guidelines").glob("*.md")):
        key, language = path.stem.split(".", 1)
        texts.setdefault(key, {})[language] = path.read_text(encoding="utf-8")
    for key, versions in texts.items():
        counts["Guidelines"] += load_guideline(workspace, key, versions)
    published = _read(FIXTURES / "published" / "hellobench.json")
    _fit, made = load_published_weights(
        benchmark=benchmarks["hellobench"], name=PUBLISHED_FIT, source=PUBLISHED_SOURCE, weights=published["table_17"]
    )
    counts["Published weights"] += Counts(created=int(made), already_there=int(not made))
    return counts


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
