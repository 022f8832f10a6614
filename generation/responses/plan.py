"""The plan of a generation run, frozen before the first call: instruction by model by sample."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from accounts.models import User
from core.clock import Clock
from core.errors import UserError
from generation.endpoints.clients import endpoint_of
from generation.execution.budget import ceiling_of
from generation.library.loading import batches
from generation.library.prompts import worded_for_length
from generation.llm.protocol.prices import UNLIMITED, Ceiling
from generation.llm.protocol.wrapping import LENGTHS, first_line_of
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationItem, GenerationRun, Instruction, LanguageModel

BATCH = 2_000
NEW_TOKENS = 16_384
STALL_SECONDS = 60.0
A_MINUTE = timedelta(minutes=1)
EXPERIMENTS = (MAIN_EXPERIMENT, *LENGTHS)
DEFAULTS: Mapping[str, object] = {"temperature": 0.8, "max_tokens": NEW_TOKENS}
"""HelloBench's (arXiv 2409.16191, J.1): temperature 0.8, up to 16,384 new tokens or the model's most."""
LONGGENBENCH = "longgenbench"
GREEDY_BENCHMARKS = ("href", LONGGENBENCH)
"""HREF (arXiv 2412.15524) and LongGenBench (arXiv 2409.02076, 3.1) decode greedily."""
LONG_TEXTS: Mapping[str, int] = {"short": 16_000, "long": 32_000}
"""New tokens by the tag of LongGenBench's instructions, as its repository's file names have them."""


class Prefill(StrEnum):
    """How a model is given the first line of its answer.

    CONTINUE leaves the assistant's message open, by vLLM's parameters; TURN sends it as a message, which some services
    continue; OFF does not send it.
    """

    CONTINUE = "continue"
    TURN = "turn"
    OFF = "off"


class NothingToGenerate(UserError):
    """No instruction has a text, or no model was given; the sentence says what is missing."""


@dataclass(frozen=True)
class GenerationRequest:
    """What a run shall generate, which the form, the command and the plan all read. Raises NothingToGenerate.

    `limit` is the maximum number of instructions; `categories` are keys and `tags` tags of instructions, empty for all; a
    `parameter` given as None is not sent. With `batch` the run uses the endpoints' batch API. `prefill` is what becomes
    of an answer's first line that an instruction gives: see Prefill.
    """

    benchmark: Benchmark
    models: Sequence[LanguageModel]
    samples: int = 1
    limit: int | None = None
    experiment: str = MAIN_EXPERIMENT
    categories: Sequence[str] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0
    concurrency: int | None = None
    name: str = ""
    batch: bool = False
    budget: Ceiling = UNLIMITED
    user: User | None = None
    tags: Sequence[str] = ()
    prefill: Prefill = Prefill.CONTINUE

    def __post_init__(self) -> None:
        if not self.models:
            raise NothingToGenerate("No model was named; name at least one that an endpoint serves.")
        if self.experiment not in EXPERIMENTS:
            known = ", ".join(EXPERIMENTS)
            raise NothingToGenerate(f"There is no experiment {self.experiment!r}; there are: {known}.")
        for name, value in self.sampling().items():
            if isinstance(value, float) and not math.isfinite(value):
                raise NothingToGenerate(f"{name} {value} is no number that a server takes; leave it out.")

    def sampling(self) -> dict[str, object]:
        """Return the sampling parameters: those of the benchmark with those requested."""
        asked = {**default_parameters(self.benchmark), **self.parameters}
        return {name: value for name, value in asked.items() if value is not None}

    def settings(self) -> dict[str, object]:
        """Return the request as stored in the run's manifest; the rest are columns of the run."""
        return {
            "models": [model.name for model in self.models],
            "samples": self.samples,
            "limit": self.limit,
            "categories": list(self.categories),
            "concurrency": self.concurrency,
            "stall_seconds": STALL_SECONDS,
            "transport": "batch" if self.batch else "calls",
            **({"tags": list(self.tags)} if self.tags else {}),
            **self._of_long_texts(),
        }

    def _of_long_texts(self) -> dict[str, object]:
        """Return the settings of a benchmark whose instructions give the answer's first line and differ in length."""
        if not self.benchmark.slug.startswith(LONGGENBENCH):
            return {} if self.prefill == Prefill.CONTINUE else {"prefill": self.prefill.value}
        # A form sends the default back; only another limit was chosen.
        default = self.parameters.get("max_tokens") in (None, max(LONG_TEXTS.values()))
        limits = {"max_tokens_by_tag": dict(LONG_TEXTS)} if default else {}
        return {"prefill": self.prefill.value, **limits}


def default_parameters(benchmark: Benchmark) -> dict[str, object]:
    """Return the sampling parameters of the benchmark's own paper, else HelloBench's."""
    greedy = {"temperature": 0.0} if benchmark.slug.startswith(GREEDY_BENCHMARKS) else {}
    longest = {"max_tokens": max(LONG_TEXTS.values())} if benchmark.slug.startswith(LONGGENBENCH) else {}
    return {**DEFAULTS, **greedy, **longest}


def plan_generation(request: GenerationRequest) -> GenerationRun:
    """Create a run with one item for each instruction, sample and model, an instruction's items together.

    Instructions without a text are left out. Raises NothingToGenerate, NoEndpoint.
    """
    if not request.models:
        raise NothingToGenerate("No model was given; give at least one model that an endpoint serves.")
    for model in request.models:
        endpoint_of(model)
    instructions = chosen_instructions(request)
    if not instructions:
        raise NothingToGenerate(_why_nothing(request.benchmark, request.categories, request.tags))
    with transaction.atomic():
        run = _new_run(
            request,
            parameters=request.sampling(),
            seed=request.seed,
            budget_calls=request.budget.calls,
            budget_tokens=request.budget.tokens,
            budget_money=request.budget.money,
            created_by=request.user,
            manifest={"settings": request.settings()},
        )
        for items in batches(_items(run, instructions, request), BATCH):
            GenerationItem.objects.bulk_create(items)
    return run


def sent_just_now(request: GenerationRequest, *, clock: Clock) -> GenerationRun | None:
    """Return the same run if the same person requested it within the last minute, because the form was sent twice."""
    lately = GenerationRun.objects.filter(
        benchmark=request.benchmark,
        experiment=request.experiment,
        seed=request.seed,
        created_by=request.user,
        created_at__gte=clock() - A_MINUTE,
    ).exclude(status__in=[GenerationRun.Status.CANCELLED, GenerationRun.Status.FAILED])
    asked = request.settings(), request.sampling(), request.budget
    same = (run for run in lately if (run.manifest["settings"], run.parameters, ceiling_of(run)) == asked)
    return next(same, None)


def instructions_of(
    benchmark: Benchmark, categories: Iterable[str] = (), experiment: str = MAIN_EXPERIMENT
) -> QuerySet[Instruction]:
    """Return the benchmark's instructions with a text, of these categories and those below them, by name.

    Where the benchmark words its instructions for the length of this experiment itself, as HelloBench does, those are
    returned; otherwise all that are not worded for a length.
    """
    keys = list(categories)
    texts = Instruction.objects.filter(benchmark=benchmark, messages__isnull=False).exclude(messages=[])
    worded = texts.filter(worded_for_length(experiment)) if experiment in LENGTHS else texts.none()
    found = worded if worded.exists() else texts.exclude(worded_for_length(*LENGTHS))
    if keys:
        found = found.filter(category__key__in=keys) | found.filter(category__parent__key__in=keys)
    return found.order_by("external_id", "pk")


def gives_first_lines(benchmark: Benchmark) -> bool:
    """Return whether an instruction of the benchmark gives the first line of its answer."""
    rows = instructions_of(benchmark).values_list("messages", flat=True)
    return any(first_line_of(messages or ()) for messages in rows.iterator(chunk_size=BATCH))


def tags_of(benchmark: Benchmark, categories: Iterable[str] = ()) -> list[str]:
    """Return the tags of the benchmark's instructions with a text, sorted."""
    rows = instructions_of(benchmark, categories).values_list("tags", flat=True)
    return sorted({str(tag) for row in rows for tag in row or ()})


def chosen_instructions(request: GenerationRequest) -> list[int]:
    """Return the primary keys of the instructions that a run of this request asks about, in their order."""
    rows = instructions_of(request.benchmark, request.categories, request.experiment).values_list("pk", "tags")
    wanted = set(request.tags)
    return [pk for pk, tags in rows if not wanted or wanted & set(tags or ())][: request.limit]


def _items(run: GenerationRun, instructions: Sequence[int], request: GenerationRequest) -> Iterable[GenerationItem]:
    position = 0
    for instruction in instructions:
        for model in request.models:
            for sample in range(request.samples):
                yield GenerationItem(run=run, instruction_id=instruction, model=model, sample=sample, position=position)
                position += 1


def _new_run(request: GenerationRequest, **fields: Any) -> GenerationRun:
    """Create the run with the requested name, or that of the experiment with the next number."""
    benchmark = request.benchmark
    if request.name:
        try:
            with transaction.atomic():
                return GenerationRun.objects.create(
                    benchmark=benchmark, name=request.name, experiment=request.experiment, **fields
                )
        except IntegrityError as error:
            raise NothingToGenerate(
                f"Benchmark {benchmark.slug} already has a run named {request.name!r}; choose another name."
            ) from error
    number = benchmark.generation_runs.filter(experiment=request.experiment).count()
    while True:
        number += 1
        name = f"{request.experiment} {number}"
        if benchmark.generation_runs.filter(name=name).exists():
            continue
        try:
            with transaction.atomic():
                return GenerationRun.objects.create(
                    benchmark=benchmark, name=name, experiment=request.experiment, **fields
                )
        except IntegrityError:
            if not benchmark.generation_runs.filter(name=name).exists():
                raise
            continue


def _why_nothing(benchmark: Benchmark, categories: Sequence[str], tags: Sequence[str] = ()) -> str:
    if tags and instructions_of(benchmark, categories).exists():
        found = {
            tag for row in instructions_of(benchmark, categories).values_list("tags", flat=True) for tag in row or ()
        }
        return (
            f"Benchmark {benchmark.slug} has no such instruction with the tag {', '.join(tags)}; the tags are "
            f"{', '.join(sorted(found)) or 'none'}."
        )
    if categories and instructions_of(benchmark).exists():
        known = benchmark.categories.filter(instructions__isnull=False).distinct().values_list("key", flat=True)
        return (
            f"Benchmark {benchmark.slug} has no instruction in {', '.join(categories)}; its categories are "
            f"{', '.join(sorted(set(known))) or 'none'}."
        )
    return f"Benchmark {benchmark.slug} has no instruction with a text; load its instructions first."
