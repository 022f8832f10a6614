"""Generate responses to a benchmark with one or more models, here or in the background, or resume a run."""

import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from generation.endpoints.registration import served_model
from generation.execution.worker import WorkerOptions
from generation.management.run_command import RunCommand, add_run_options, attended
from generation.management.run_options import budget_of, check_run_options
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun
from generation.responses.batch import advance, in_batches
from generation.responses.plan import EXPERIMENTS, GenerationRequest, Prefill, plan_generation
from generation.responses.runs import GENERATION, Progress, finish_if_done, progress_of, retry_failed
from generation.responses.worker import work_on
from generation.web.responses.run_page import broken_off_in_words

POLL_SECONDS = 15.0


class Command(RunCommand):
    name = "generate"
    stopped = "The run was stopped"
    page = "/runs/generation/"
    kind = GENERATION
    retry_option = "retry_failed"
    help = "Generate responses to a benchmark with one or more models, or resume a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_run_options(parser)
        add = parser.add_argument
        add("benchmark", nargs="?", help="Slug of the benchmark.")
        add("--model", action="append", default=[], help="Name of a model; can be repeated.")
        add("--samples", type=int, default=1, help="Number of responses per model and instruction.")
        add("--limit", type=int, help="Maximum number of instructions.")
        add(
            "--category", action="append", default=[], help="Only this category and its subcategories; can be repeated."
        )
        add("--tag", action="append", default=[], help="Only instructions with this tag; can be repeated.")
        add(
            "--experiment",
            default=MAIN_EXPERIMENT,
            choices=EXPERIMENTS,
            help="main, or a length that responses must reach.",
        )
        add("--temperature", type=float, help="Sampling temperature (default: 0.8, or 0 for HREF and LongGenBench).")
        add(
            "--max-tokens",
            type=int,
            help="Maximum new tokens (default: 16384 or what the model allows; for LongGenBench 16000 in the short version "
            "and 32000 in the long one).",
        )
        add(
            "--prefill",
            type=Prefill,
            choices=list(Prefill),
            default=Prefill.CONTINUE,
            help="Where an instruction gives the first line of the answer: continue it (servers of vLLM), send it as the "
            "assistant's turn, or leave it off (default: continue).",
        )
        add("--name", default="", help="Name of the run.")
        add("--seed", type=int, default=0, help="If not 0, each call sends this seed plus the number of the sample.")
        add(
            "--batch",
            action="store_true",
            help="Use the endpoint's batch API, which costs less and answers within a day.",
        )
        add("--retry-failed", action="store_true", help="With --resume: retry failed responses.")

    def planned(self, options: dict[str, Any]) -> GenerationRun:
        if not options["benchmark"] or not options["model"]:
            raise CommandError("Give a benchmark and a model (--model), or a run (--resume).")
        for name in ("samples", "limit", "max_tokens", "concurrency"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name.replace('_', '-')} {options[name]} is too small; give at least 1.")
        check_run_options(options, name=100)
        workspace = workspace_for_command(options["workspace"])
        benchmark = _benchmark(workspace, options["benchmark"])
        models = [
            served_model(
                workspace=workspace,
                name=name,
                command=self.name,
                endpoint_name=options["endpoint"],
                base_url=options["base_url"],
                key_variable=options["key_variable"],
            )
            for name in dict.fromkeys(options["model"])
        ]
        parameters = {"temperature": options["temperature"], "max_tokens": options["max_tokens"]}
        request = GenerationRequest(
            benchmark,
            models,
            samples=options["samples"],
            limit=options["limit"],
            experiment=options["experiment"],
            categories=options["category"],
            parameters={name: value for name, value in parameters.items() if value is not None},
            seed=options["seed"],
            concurrency=options["concurrency"],
            name=options["name"],
            batch=options["batch"],
            budget=budget_of(options),
            tags=options["tag"],
            prefill=options["prefill"],
        )
        return plan_generation(request)

    def retried(self, run: GenerationRun) -> None:
        retry_failed(run, clock=timezone.now)

    def worked(self, run: GenerationRun, options: dict[str, Any]) -> GenerationRun:
        def look() -> tuple[int, str]:
            progress = progress_of(run, clock=timezone.now)
            return progress.settled, f"{progress.failed} failed, {progress.words} words"

        with attended(str(run), run.items.count(), look, concurrency=options["concurrency"]) as attending:
            return _wait_for_batches(run, attending) if in_batches(run) else work_on(run, options=attending)

    def summed_up(self, run: GenerationRun) -> Progress:
        progress = progress_of(run, clock=timezone.now)
        self.stdout.write(
            f"Run {run.public_id} ({run.name}) is {run.status}: {progress.done} of {progress.total} responses, "
            f"{progress.failed} failed, {progress.waiting} left; {progress.calls} calls, {progress.words} words, "
            f"{progress.input_tokens + progress.output_tokens} tokens, {progress.money.normalize():f} spent."
        )
        if progress.broken_off:
            self.stdout.write(f"  {broken_off_in_words(progress.broken_off)}")
        return progress

    def further(self, run: GenerationRun, progress: Progress) -> str:
        again = f"{settings.PROGRAM} generate --resume {run.public_id} --retry-failed"
        return f"Retry the failed responses with: {again}" if progress.failed else ""


def _wait_for_batches(run: GenerationRun, options: WorkerOptions) -> GenerationRun:
    """Check the batches every 15 seconds; after Ctrl-C the batches go on, and the run can be resumed."""
    while run.status == GenerationRun.Status.RUNNING and not options.interrupted():
        advance(run)
        run.refresh_from_db()
        options.watch()
        if run.status == GenerationRun.Status.RUNNING and not finish_if_done(run, clock=timezone.now):
            for _ in range(int(POLL_SECONDS * 10)):
                if options.interrupted():
                    break
                time.sleep(0.1)
    return run


def _benchmark(workspace: Workspace, slug: str) -> Benchmark:
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
        raise CommandError(f"There is no benchmark {slug!r}; there are: {known or 'none'}.")
    return benchmark
