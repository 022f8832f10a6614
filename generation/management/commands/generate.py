"""Generate a benchmark's responses with one model or several, here or in the background; or go on with a run."""

import os
import signal
import threading
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from accounts.models import Workspace
from accounts.workspaces import UnknownWorkspace, workspace_for_command
from generation.batch import advance, in_batches
from generation.endpoints import NoEndpoint
from generation.management.run_options import budget_of, check_run_options
from generation.models import MAIN_EXPERIMENT, Benchmark, GenerationRun
from generation.runs import NotPossible, finish_if_done, progress_of, retry_failed, start_run
from generation.sampling import EXPERIMENTS, NothingToGenerate, Wanted, plan_generation
from generation.serving import ServingRefused, served_model
from generation.shifts import Shift
from generation.tasks import enqueue
from generation.worker import work_on

USER_ERRORS = (UnknownWorkspace, ServingRefused, NoEndpoint, NothingToGenerate, NotPossible)
POLL_SECONDS = 15.0


class Command(BaseCommand):
    help = "Generate a benchmark's responses with one model or several; or resume a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("benchmark", nargs="?", help="Slug of the benchmark.")
        add("--workspace", default="", help="Slug of the workspace, where there are several.")
        add("--model", action="append", default=[], help="Name of a model; may be given several times.")
        add("--endpoint", default="", help="Name of the endpoint that serves the models.")
        add("--base-url", default="", help="Or its address, such as http://127.0.0.1:8000/v1.")
        add("--key-variable", default="", help="Environment variable that holds the endpoint's key.")
        add("--samples", type=int, default=1, help="Responses of each model to each instruction.")
        add("--limit", type=int, help="At most this many instructions.")
        add("--category", action="append", default=[], help="Only this category and those below it.")
        add(
            "--experiment",
            default=MAIN_EXPERIMENT,
            choices=EXPERIMENTS,
            help="The main one, or a length to reach.",
        )
        add("--temperature", type=float, help="Else 0.8, or 0 for HREF.")
        add("--max-tokens", type=int, help="Most new tokens; else 16384 or what the model allows.")
        add("--name", default="", help="What the run is called.")
        add("--budget-calls", type=int)
        add("--budget-tokens", type=int)
        add("--budget-money", help="In the currency of the endpoint's prices.")
        add("--concurrency", type=int, help="Calls at once; else what each endpoint allows.")
        add(
            "--seed",
            type=int,
            default=0,
            help="Sent with each call where it is not 0, plus the sample's number.",
        )
        add("--batch", action="store_true", help="Through the endpoint's batch API: cheaper, within a day.")
        add("--background", action="store_true", help="Leave the work to a Celery worker.")
        add("--resume", metavar="RUN", help="Id of a run to continue; a budget given replaces its own.")
        add("--retry-failed", action="store_true", help="With --resume: try again what failed.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            run = self._resumed(options) if options["resume"] else self._planned(options)
            start_run(run, clock=timezone.now)
        except USER_ERRORS as error:
            raise CommandError(str(error)) from error
        if options["background"]:
            enqueue(run)
            self.stdout.write(f"Run {run.public_id}: {run.items.count()} responses, left to the worker.")
            return
        self._report(self._work(run, options))

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
            raise CommandError(
                f"There is no run {options['resume']!r}; the page /runs/generation/ lists them."
            )
        budget = budget_of(options)
        if budget.limited:
            run.budget_calls, run.budget_tokens, run.budget_money = budget.calls, budget.tokens, budget.money
            run.save(update_fields=["budget_calls", "budget_tokens", "budget_money"])
        if options["retry_failed"]:
            retry_failed(run, clock=timezone.now)
        return run

    def _work(self, run: GenerationRun, options: dict[str, Any]) -> GenerationRun:
        """In this process, with a progress bar; the first Ctrl-C stops politely, the second at once."""
        pressed: list[int] = []

        def press(number: int, frame: FrameType | None) -> None:
            if pressed:
                os._exit(130)
            pressed.append(number)

        before = signal.getsignal(signal.SIGINT)
        listens = threading.current_thread() is threading.main_thread()
        if listens:
            signal.signal(signal.SIGINT, press)
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        try:
            with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
                task = bar.add_task(str(run), total=run.items.count())

                def watch() -> None:
                    progress = progress_of(run, clock=timezone.now)
                    said = f"{run}: {progress.failed} failed, {progress.words} words"
                    bar.update(task, completed=progress.done + progress.failed, description=said)

                if in_batches(run):
                    return _wait_for_batches(run, watch, pressed)
                shift = Shift(
                    concurrency=options["concurrency"],
                    wait=True,
                    seconds=float("inf"),
                    watch=watch,
                    interrupted=lambda: bool(pressed),
                )
                return work_on(run, shift=shift)
        finally:
            if listens:
                signal.signal(signal.SIGINT, before)

    def _report(self, run: GenerationRun) -> None:
        progress = progress_of(run, clock=timezone.now)
        self.stdout.write(
            f"Run {run.public_id} ({run.name}) is {run.status}: {progress.done} of {progress.total} responses, "
            f"{progress.failed} failed, {progress.waiting} left; {progress.calls} calls, {progress.words} words, "
            f"{progress.input_tokens + progress.output_tokens} tokens, {progress.money.normalize():f} spent."
        )
        for words, count in progress.errors:
            self.stdout.write(f"  error ({count} times): {words}")
        if run.status == GenerationRun.Status.FAILED:
            raise CommandError(
                f"The endpoint stopped the run: {run.message.rstrip('.')}. Put that right, then: "
                f"manage.py generate --resume {run.public_id}"
            )
        if run.status == GenerationRun.Status.PAUSED:
            self.stdout.write(f"{run.message} Go on with: manage.py generate --resume {run.public_id}")
        elif progress.failed:
            again = f"manage.py generate --resume {run.public_id} --retry-failed"
            self.stdout.write(f"Try the failed ones again with: {again}")


def _wait_for_batches(run: GenerationRun, watch: Any, pressed: list[int]) -> GenerationRun:
    """Looks every quarter of a minute; Ctrl-C leaves the batches running and the run to be resumed or swept."""
    while run.status == GenerationRun.Status.RUNNING and not pressed:
        advance(run)
        run.refresh_from_db()
        watch()
        if run.status == GenerationRun.Status.RUNNING and not finish_if_done(run, clock=timezone.now):
            for _ in range(int(POLL_SECONDS * 10)):
                if pressed:
                    break
                time.sleep(0.1)
    return run


def _benchmark(workspace: Workspace, slug: str) -> Benchmark:
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
        raise CommandError(f"There is no benchmark {slug!r}; there are: {known or 'none'}.")
    return benchmark
