"""A benchmark of long texts made from lists of scenarios, with each instruction's checks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.models import Workspace
from annotation.importing.instruction_checks import store_check_sets
from core.errors import UserError
from generation.importers.longgenbench import VERSIONS
from generation.library.loading import Counts, Instructions, load_taxonomy
from generation.models import Benchmark
from generation.responses.plan import LONGGENBENCH
from generation.task_making.longgenbench import LongTask, Scenario, long_tasks

MOST_EACH = 1_000


class BadRequest(UserError):
    """The request names something that there is not; the message says what there is."""


@dataclass(frozen=True)
class LongTasksRequest:
    """The tasks to make: `each` of every chosen scenario and version. Raises BadRequest.

    The slug begins with longgenbench, so that responses are generated with that benchmark's settings; longgenbench
    itself is for the published instructions.
    """

    workspace: Workspace
    slug: str
    scenarios: Mapping[str, Scenario]
    versions: Sequence[str] = VERSIONS
    chosen: Sequence[str] = ()
    each: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.slug.startswith(f"{LONGGENBENCH}-"):
            raise BadRequest(f"Benchmark {self.slug!r}: give it a slug that begins with {LONGGENBENCH}-.")
        if not 1 <= self.each <= MOST_EACH:
            raise BadRequest(f"--each {self.each} is not a number of tasks from 1 to {MOST_EACH:,}.")
        for key in self.chosen:
            if key not in self.scenarios:
                raise BadRequest(f"There is no scenario {key!r}; there are: {', '.join(self.scenarios)}.")


@dataclass(frozen=True)
class MadeTasks:
    benchmark: Benchmark
    instructions: Counts
    checks: Counts


def make_long_tasks(request: LongTasksRequest) -> MadeTasks:
    """Create the benchmark with its categories, instructions and checks; tasks that are there stay. All or nothing."""
    tasks: list[LongTask] = [
        task
        for key in request.chosen or tuple(request.scenarios)
        for version in request.versions
        for task in long_tasks(request.scenarios[key], version, request.each, seed=request.seed)
    ]
    with transaction.atomic():
        benchmark, _counts = load_taxonomy(request.workspace, _taxonomy(request))
        instructions = Instructions(benchmark).load(task.instruction for task in tasks)
        checks = store_check_sets(benchmark, [task.checks for task in tasks])
    return MadeTasks(benchmark, instructions, checks)


def _taxonomy(request: LongTasksRequest) -> dict[str, Any]:
    """Return LongGenBench's categories under the request's name; how many tasks each has is left open."""
    path = settings.BASE_DIR / "fixtures" / "taxonomies" / f"{LONGGENBENCH}.json"
    taxonomy = json.loads(path.read_text(encoding="utf-8"))
    categories = [
        {**entry, "count": None, "children": [{**child, "count": None} for child in entry["children"]]}
        for entry in taxonomy["categories"]
    ]
    return {
        **taxonomy,
        "slug": request.slug,
        "name": {"en": "Long texts in the manner of LongGenBench", "zh-hans": "仿 LongGenBench 的长文本"},
        "licence": "",
        "source": "made by make_longgenbench; scenarios after arXiv 2409.02076, table 1",
        "categories": categories,
    }
