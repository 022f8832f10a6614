"""The plan of a generation run, frozen before the first call: instruction by model by sample."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from accounts.models import User
from core.clock import Clock
from generation.endpoints.clients import endpoint_of
from generation.execution.budget import ceiling_of
from generation.library.loading import batches
from generation.llm.protocol.prices import UNLIMITED, Ceiling
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationItem, GenerationRun, Instruction, LanguageModel

BATCH = 2_000
NEW_TOKENS = 16_384
STALL_SECONDS = 60.0
A_MINUTE = timedelta(minutes=1)
EXPERIMENTS = (MAIN_EXPERIMENT, *LENGTHS)
DEFAULTS: Mapping[str, Any] = {"temperature": 0.8, "max_tokens": NEW_TOKENS}
"""HelloBench's (arXiv 2409.16191, J.1): temperature 0.8, up to 16,384 new tokens or the model's most."""
GREEDY_BENCHMARKS = ("href",)
"""HREF decodes greedily (arXiv 2412.15524)."""


class NothingToGenerate(LookupError):
    """No instruction has a text, or no model was given; the sentence says what is missing."""


@dataclass(frozen=True)
class Wanted:
    """What to generate. `limit` counts instructions; `categories` are keys, empty for all.

    A parameter with the value None is not sent. `batch`: through the endpoint's batch API.
    """

    models: Sequence[LanguageModel]
    samples: int = 1
    limit: int | None = None
    experiment: str = MAIN_EXPERIMENT
    categories: Sequence[str] = ()
    parameters: Mapping[str, Any] | None = None
    seed: int = 0
    concurrency: int | None = None
    name: str = ""
    batch: bool = False


def default_parameters(benchmark: Benchmark) -> dict[str, Any]:
    """Return the sampling parameters of the benchmark's own paper, else HelloBench's."""
    if benchmark.slug.startswith(GREEDY_BENCHMARKS):
        return {**DEFAULTS, "temperature": 0.0}
    return dict(DEFAULTS)


def plan_generation(
    benchmark: Benchmark, wanted: Wanted, *, budget: Ceiling = UNLIMITED, user: User | None = None
) -> GenerationRun:
    """Create a run with one item per instruction, sample and model, the items of an instruction together.

    Instructions without a text are left out. Raises NothingToGenerate, NoEndpoint.
    """
    if not wanted.models:
        raise NothingToGenerate("No model was named; name at least one that an endpoint serves.")
    for model in wanted.models:
        endpoint_of(model)
    if wanted.experiment not in EXPERIMENTS:
        raise NothingToGenerate(f"There is no experiment {wanted.experiment!r}; there are: {', '.join(EXPERIMENTS)}.")
    instructions = list(instructions_of(benchmark, wanted.categories).values_list("pk", flat=True)[: wanted.limit])
    if not instructions:
        raise NothingToGenerate(_why_nothing(benchmark, wanted.categories))
    parameters = _parameters_of(benchmark, wanted)
    for name, value in parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise NothingToGenerate(f"{name} {value} is no number that a server takes; leave it out.")
    with transaction.atomic():
        run = _new_run(
            benchmark,
            wanted,
            parameters=parameters,
            seed=wanted.seed,
            budget_calls=budget.calls,
            budget_tokens=budget.tokens,
            budget_money=budget.money,
            created_by=user,
            manifest={"settings": _settings_of(wanted)},
        )
        for items in batches(_items(run, instructions, wanted), BATCH):
            GenerationItem.objects.bulk_create(items)
    return run


def sent_just_now(
    benchmark: Benchmark, wanted: Wanted, budget: Ceiling, user: User, *, clock: Clock
) -> GenerationRun | None:
    """Return the same run if the same person started it within the last minute: the form was sent twice."""
    lately = GenerationRun.objects.filter(
        benchmark=benchmark,
        experiment=wanted.experiment,
        seed=wanted.seed,
        created_by=user,
        created_at__gte=clock() - A_MINUTE,
    ).exclude(status__in=[GenerationRun.Status.CANCELLED, GenerationRun.Status.FAILED])
    asked = _settings_of(wanted), _parameters_of(benchmark, wanted), budget
    same = (run for run in lately if (run.manifest["settings"], run.parameters, ceiling_of(run)) == asked)
    return next(same, None)


def instructions_of(benchmark: Benchmark, categories: Iterable[str] = ()) -> QuerySet[Instruction]:
    """Return the benchmark's instructions with a text, in these categories and those below them, by name."""
    keys = list(categories)
    found = Instruction.objects.filter(benchmark=benchmark, messages__isnull=False).exclude(messages=[])
    if keys:
        found = found.filter(category__key__in=keys) | found.filter(category__parent__key__in=keys)
    return found.order_by("external_id", "pk")


def _parameters_of(benchmark: Benchmark, wanted: Wanted) -> dict[str, Any]:
    asked = {**default_parameters(benchmark), **(wanted.parameters or {})}
    return {name: value for name, value in asked.items() if value is not None}


def _settings_of(wanted: Wanted) -> dict[str, Any]:
    return {
        "models": [model.name for model in wanted.models],
        "samples": wanted.samples,
        "limit": wanted.limit,
        "categories": list(wanted.categories),
        "concurrency": wanted.concurrency,
        "stall_seconds": STALL_SECONDS,
        "transport": "batch" if wanted.batch else "calls",
    }


def _items(run: GenerationRun, instructions: Sequence[int], wanted: Wanted) -> Iterable[GenerationItem]:
    position = 0
    for instruction in instructions:
        for model in wanted.models:
            for sample in range(wanted.samples):
                yield GenerationItem(run=run, instruction_id=instruction, model=model, sample=sample, position=position)
                position += 1


def _new_run(benchmark: Benchmark, wanted: Wanted, **fields: Any) -> GenerationRun:
    """Create a run with the given name, else with the experiment's name and the next number."""
    if wanted.name:
        try:
            with transaction.atomic():
                return GenerationRun.objects.create(
                    benchmark=benchmark, name=wanted.name, experiment=wanted.experiment, **fields
                )
        except IntegrityError as error:
            raise NothingToGenerate(
                f"Benchmark {benchmark.slug} has a run called {wanted.name!r} already; give this one another name."
            ) from error
    number = benchmark.generation_runs.filter(experiment=wanted.experiment).count()
    while True:
        number += 1
        name = f"{wanted.experiment} {number}"
        if benchmark.generation_runs.filter(name=name).exists():
            continue
        try:
            with transaction.atomic():
                return GenerationRun.objects.create(
                    benchmark=benchmark, name=name, experiment=wanted.experiment, **fields
                )
        except IntegrityError:
            if not benchmark.generation_runs.filter(name=name).exists():
                raise
            continue


def _why_nothing(benchmark: Benchmark, categories: Sequence[str]) -> str:
    if categories and instructions_of(benchmark).exists():
        known = benchmark.categories.filter(instructions__isnull=False).distinct().values_list("key", flat=True)
        return (
            f"Benchmark {benchmark.slug} has no instruction in {', '.join(categories)}; its categories are "
            f"{', '.join(sorted(set(known))) or 'none'}."
        )
    return f"Benchmark {benchmark.slug} has no instruction with a text; load its instructions first."
