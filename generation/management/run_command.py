"""What the commands that work through a run share: its options, Ctrl-C, the progress bar, and how it ended."""

import os
import signal
import threading
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from core.errors import UserError
from generation.execution.progress import RunProgress
from generation.execution.shift import Shift
from generation.run_fields import AnyRun

Look = Callable[[], tuple[int, str]]
"""How many items are settled, and what the bar is to say."""


class RunCommand(BaseCommand):
    """Plans a run or resumes one, and works through it here or leaves it to a worker.

    `name` is the command's; `stopped` opens the sentence about a run that failed.
    """

    name: ClassVar[str]
    stopped: ClassVar[str]

    def begun(self, options: dict[str, Any]) -> AnyRun:
        """The run, planned or found, and started."""
        raise NotImplementedError

    def hand_over(self, run: Any) -> None:
        """Leaves the run to a worker."""
        raise NotImplementedError

    def left_to_worker(self, run: Any) -> str:
        return f"Run {run.public_id}: {run.items.count()} responses, left to the worker."

    def worked(self, run: Any, options: dict[str, Any]) -> AnyRun:
        """Works through the run here."""
        raise NotImplementedError

    def summed_up(self, run: Any) -> RunProgress:
        """Says what came of the run in its own words; how far it is."""
        raise NotImplementedError

    def further(self, run: Any, progress: Any) -> str:
        """What can be done where the run neither failed nor was paused; '' where nothing is left to do."""
        return ""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            run = self.begun(options)
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["background"]:
            self.hand_over(run)
            self.stdout.write(self.left_to_worker(run))
            return
        self._report(self.worked(run, options))

    def _report(self, run: AnyRun) -> None:
        progress = self.summed_up(run)
        for words, count in progress.errors:
            self.stdout.write(f"  error ({count} times): {words}")
        again = f"manage.py {self.name} --resume {run.public_id}"
        if run.status == AnyRun.Status.FAILED:
            stopped = "The run stopped" if run.message_json is not None else self.stopped
            raise CommandError(f"{stopped}: {run.message.rstrip('.')}. Put that right, then: {again}")
        if run.status == AnyRun.Status.PAUSED:
            self.stdout.write(f"{run.message} Go on with: {again}")
        elif further := self.further(run, progress):
            self.stdout.write(further)


def add_run_options(parser: ArgumentParser) -> None:
    """What every run is told: where its model is served, its budget, how it is worked on."""
    add = parser.add_argument
    add("--workspace", default="", help="Slug of the workspace, where there are several.")
    add("--endpoint", default="", help="Name of the endpoint that serves the model.")
    add("--base-url", default="", help="Or its address, such as http://127.0.0.1:8000/v1.")
    add("--key-variable", default="", help="Environment variable that holds the endpoint's key.")
    add("--budget-calls", type=int)
    add("--budget-tokens", type=int)
    add("--budget-money", help="In the currency of the endpoint's prices.")
    add("--concurrency", type=int, help="Calls at once, at most what each endpoint allows.")
    add("--background", action="store_true", help="Leave the work to a Celery worker.")
    add("--resume", metavar="RUN", help="Id of a run to continue; a budget given replaces its own.")


@contextmanager
def attended(title: str, total: int, look: Look, *, concurrency: int | None = None) -> Iterator[Shift]:
    """A shift with a progress bar on the terminal; the first Ctrl-C stops it politely, the second at once."""
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
                settled, said = look()
                bar.update(task, completed=settled, description=f"{title}: {said}")

            yield Shift(
                concurrency=concurrency, wait=True, seconds=float("inf"), watch=watch, interrupted=lambda: bool(pressed)
            )
    finally:
        if listens:
            signal.signal(signal.SIGINT, before)
