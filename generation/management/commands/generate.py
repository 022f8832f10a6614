"""Generate a benchmark's responses with one model or several, here or in the background; or go on with a run."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from generation.endpoints.registration import served_model
from generation.execution.shift import Shift
from generation.management.run_command import RunCommand, add_run_options, attended
from generation.management.run_options import budget_of, check_run_options
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun
from generation.responses.batch import advance, in_batches
from generation.responses.plan import EXPERIMENTS, Wanted, plan_generation
from generation.responses.runs import Progress, finish_if_done, progress_of, raise_budget, retry_failed, start_run
from generation.responses.worker import work_on
from generation.tasks import enqueue
from generation.web.responses.run_page import broken_off_in_words

POLL_SECONDS = 15.0


class Command(RunCommand):
    name = "generate"
    stopped = "The run was stopped"
    help = "Generate a benchmark's responses with one model or several; or resume a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_run_options(parser)
        add = parser.add_argument
        add("benchmark", nargs="?", help="Slug of the benchmark.")
        add("--model", action="append", default=[], help="Name of a model; may be given several times.")
        add("--samples", type=int, default=1, help="Responses of each model to each instruction.")
        add("--limit", type=int, help="At most this many instructions.")
        add("--category", action="append", default=[], help="Only this category and those below it.")
        add("--experiment", default=MAIN_EXPERIMENT, choices=EXPERIMENTS, help="The main one, or a length to reach.")
        add("--temperature", type=float, help="Else 0.8, or 0 for HREF.")
        add("--max-tokens", type=int, help="Most new tokens; else 16384 or what the model allows.")
        add("--name", default="", help="What the run is called.")
        add("--seed", type=int, default=0, help="Sent with each call where it is not 0, plus the sample's number.")
        add("--batch", action="store_true", help="Through the endpoint's batch API: cheaper, within a day.")
        add("--retry-failed", action="store_true", help="With --resume: try again what failed.")

    def begun(self, options: dict[str, Any]) -> GenerationRun:
        run = self._resumed(options) if options["resume"] else self._planned(options)
        start_run(run, clock=timezone.now)
        return run

    def hand_over(self, run: GenerationRun) -> None:
        enqueue(run)

    def _planned(self, options: dict[str, Any]) -> GenerationRun:
        if not options["benchmark"] or not options["model"]:
            raise CommandError("Name a benchmark, and a model with --model; or a run with --resume.")
        for name in ("samples", "limit", "max_tokens", "concurrency"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name.replace('_', '-')} {options[name]} is too few; give at least 1.")
        check_run_options(options, name=100)
        workspace = workspace_for_command(options["workspace"])
        benchmark = _benchmark(workspace, options["benchmark"])
        budget = budget_of(options)
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
        wanted = Wanted(
            models=models,
            samples=options["samples"],
            limit=options["limit"],
            experiment=options["experiment"],
            categories=options["category"],
            parameters={name: value for name, value in parameters.items() if value is not None},
            seed=options["seed"],
            concurrency=options["concurrency"],
            name=options["name"],
            batch=options["batch"],
        )
        return plan_generation(benchmark, wanted, budget=budget)

    def _resumed(self, options: dict[str, Any]) -> GenerationRun:
        run = GenerationRun.objects.filter(public_id=options["resume"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['resume']!r}; the page /runs/generation/ lists them.")
        budget = budget_of(options)
        if budget.limited:
            raise_budget(run, budget)
        if options["retry_failed"]:
            retry_failed(run, clock=timezone.now)
        return run

    def worked(self, run: GenerationRun, options: dict[str, Any]) -> GenerationRun:
        def look() -> tuple[int, str]:
            progress = progress_of(run, clock=timezone.now)
            return progress.settled, f"{progress.failed} failed, {progress.words} words"

        with attended(str(run), run.items.count(), look, concurrency=options["concurrency"]) as shift:
            return _wait_for_batches(run, shift) if in_batches(run) else work_on(run, shift=shift)

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
        again = f"manage.py generate --resume {run.public_id} --retry-failed"
        return f"Try the failed ones again with: {again}" if progress.failed else ""


def _wait_for_batches(run: GenerationRun, shift: Shift) -> GenerationRun:
    """Looks every quarter of a minute; Ctrl-C leaves the batches running and the run to be resumed or swept."""
    while run.status == GenerationRun.Status.RUNNING and not shift.interrupted():
        advance(run)
        run.refresh_from_db()
        shift.watch()
        if run.status == GenerationRun.Status.RUNNING and not finish_if_done(run, clock=timezone.now):
            for _ in range(int(POLL_SECONDS * 10)):
                if shift.interrupted():
                    break
                time.sleep(0.1)
    return run


def _benchmark(workspace: Workspace, slug: str) -> Benchmark:
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
        raise CommandError(f"There is no benchmark {slug!r}; there are: {known or 'none'}.")
    return benchmark
