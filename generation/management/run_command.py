"""Shared parts of the commands that work through a run: options, Ctrl-C, the progress bar and the final report."""

import os
import signal
import threading
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from core.errors import UserError
from generation.execution.progress import RunProgress
from generation.execution.states import RunKind, raise_budget
from generation.execution.worker import WorkerOptions
from generation.management.run_options import budget_of
from generation.run_fields import AnyRun

Look = Callable[[], tuple[int, str]]
"""Return the number of settled items and the text of the progress bar."""


class RunCommand(BaseCommand):
    """Plan a run or resume one, and work through it here or leave it to a worker.

    `name` is the name of the command; `stopped` begins the sentence about a run that failed; `page` lists the runs.
    `retry_option` is the option that asks again about items that came to nothing.
    """

    name: ClassVar[str]
    stopped: ClassVar[str]
    page: ClassVar[str]
    kind: ClassVar[RunKind[Any]]
    retry_option: ClassVar[str]

    def planned(self, options: dict[str, Any]) -> AnyRun:
        """Plan a new run and return it."""
        raise NotImplementedError

    def retried(self, run: Any) -> None:
        """Queue the items that came to nothing again."""
        raise NotImplementedError

    def _resumed(self, options: dict[str, Any]) -> AnyRun:
        run: AnyRun | None = self.kind.runs._default_manager.filter(public_id=options["resume"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['resume']!r}; the page {self.page} lists the runs.")
        budget = budget_of(options)
        if budget.limited:
            raise_budget(run, budget)
        if options[self.retry_option]:
            self.retried(run)
        return run

    def left_to_worker(self, run: Any) -> str:
        return f"A worker will work on run {run.public_id}, which has {run.items.count()} responses."

    def worked(self, run: Any, options: dict[str, Any]) -> AnyRun:
        """Work through the run in this process and return it."""
        raise NotImplementedError

    def summed_up(self, run: Any) -> RunProgress:
        """Print a summary of the run and return its progress."""
        raise NotImplementedError

    def further(self, run: Any, progress: Any) -> str:
        """Return what the user can do after a run that neither failed nor paused, or '' if nothing is left to do."""
        return ""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            run = self._resumed(options) if options["resume"] else self.planned(options)
            self.kind.start(run, clock=timezone.now)
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["background"]:
            self.kind.hand_over(run)
            self.stdout.write(self.left_to_worker(run))
            return
        self._report(self.worked(run, options))

    def _report(self, run: AnyRun) -> None:
        progress = self.summed_up(run)
        for words, count in progress.errors:
            self.stdout.write(f"  error ({count} times): {words}")
        again = f"{settings.PROGRAM} {self.name} --resume {run.public_id}"
        if run.status == AnyRun.Status.FAILED:
            stopped = "The run stopped" if run.message_json is not None else self.stopped
            raise CommandError(f"{stopped}: {run.message.rstrip('.')}. Correct this and then run: {again}")
        if run.status == AnyRun.Status.PAUSED:
            self.stdout.write(f"{run.message} Resume with: {again}")
        elif further := self.further(run, progress):
            self.stdout.write(further)


def add_run_options(parser: ArgumentParser) -> None:
    """Add the options of every run: where its model is served, its budget and how the work is done."""
    add = parser.add_argument
    add("--workspace", default="", help="Slug of the workspace, if there are several.")
    add("--endpoint", default="", help="Name of the endpoint that serves the model.")
    add(
        "--base-url", default="", help="Address of the endpoint, such as http://127.0.0.1:8000/v1; replaces --endpoint."
    )
    add("--key-variable", default="", help="Environment variable that holds the endpoint's key.")
    add("--budget-calls", type=int, help="Maximum number of calls.")
    add("--budget-tokens", type=int, help="Maximum number of tokens.")
    add("--budget-money", help="Maximum cost, in the currency of the endpoint's prices.")
    add("--concurrency", type=int, help="Number of concurrent calls; each endpoint's own limit still applies.")
    add("--background", action="store_true", help="Leave the work to a Celery worker.")
    add("--resume", metavar="RUN", help="Id of a run to continue; a budget given here replaces its budget.")


@contextmanager
def attended(title: str, total: int, look: Look, *, concurrency: int | None = None) -> Iterator[WorkerOptions]:
    """Yield options for a worker with a progress bar; the first Ctrl-C stops it gracefully, the second at once."""
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
            task = bar.add_task(title, total=total)

            def watch() -> None:
                settled, state = look()
                bar.update(task, completed=settled, description=f"{title}: {state}")

            yield WorkerOptions(
                concurrency=concurrency, wait=True, seconds=float("inf"), watch=watch, interrupted=lambda: bool(pressed)
            )
    finally:
        if listens:
            signal.signal(signal.SIGINT, before)
