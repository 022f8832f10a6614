"""Ask a judge about every response of a study or a benchmark, here or in the background."""

import os
import signal
import threading
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from accounts.models import Workspace
from accounts.workspaces import UnknownWorkspace, workspace_for_command
from annotation.models import Study
from generation.endpoints import NoEndpoint
from generation.management.run_options import budget_of, check_run_options
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.combining import How
from judging.judges import (
    JudgeRefused,
    create_judge,
    create_rule_judge,
    model_to_judge_with,
    needs_no_model,
)
from judging.methods import UnknownMethod, checklist
from judging.methods.checklist import MixedScales
from judging.methods.needs import NEEDS
from judging.methods.scales import WrongScale
from judging.models import JudgeRun
from judging.panels import PanelRefused
from judging.plans import Asking, NothingToJudge, plan_run, study_of_benchmark
from judging.prompts import BadTemplate
from judging.runs import NotPossible, progress_of, raise_budget, retry_unscored, start_run
from judging.tasks import enqueue
from judging.worker import Shift, work_on

USER_ERRORS = (
    UnknownWorkspace,
    JudgeRefused,
    NoEndpoint,
    UnknownMethod,
    NothingToJudge,
    NotPossible,
    MixedScales,
    WrongScale,
    PanelRefused,
    BadTemplate,
)


class Command(BaseCommand):
    help = "Judge every response of a study or a benchmark with a model; or resume a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", nargs="?", help="Slug of a study or of a benchmark.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, where there are several.")
        parser.add_argument("--model", help="Name of the model that judges.")
        parser.add_argument("--endpoint", default="", help="Name of the endpoint that serves it.")
        parser.add_argument(
            "--base-url", default="", help="Or its address, such as http://127.0.0.1:8000/v1."
        )
        parser.add_argument(
            "--key-variable", default="", help="Environment variable that holds the endpoint's key."
        )
        parser.add_argument("--method", default=checklist.KEY, choices=sorted(NEEDS), metavar="METHOD")
        parser.add_argument(
            "--jury", default="", help="Further models that judge too, by comma; their verdicts are combined."
        )
        parser.add_argument(
            "--combine",
            default=str(How.MEDIAN),
            choices=[str(how) for how in How],
            help="How a jury decides.",
        )
        parser.add_argument(
            "--both-orders",
            action="store_true",
            help="Ask each pair twice; a preference that flips is a tie.",
        )
        parser.add_argument("--repeats", type=int, default=1, help="Ask everything so many times.")
        parser.add_argument(
            "--no-canaries", action="store_true", help="Plant no texts that show whether the judge is misled."
        )
        parser.add_argument(
            "--only-rated", action="store_true", help="Only what people have rated in this study."
        )
        parser.add_argument(
            "--retry-unscored", action="store_true", help="With --resume: ask again what got no verdict."
        )
        parser.add_argument("--name", default="", help="What the judge is called in tables.")
        parser.add_argument(
            "--experiment", default=MAIN_EXPERIMENT, help="Which runs of a benchmark to judge."
        )
        parser.add_argument("--limit", type=int, help="At most this many responses.")
        parser.add_argument("--budget-calls", type=int)
        parser.add_argument("--budget-tokens", type=int)
        parser.add_argument("--budget-money", help="In the currency of the endpoint's prices.")
        parser.add_argument("--concurrency", type=int, help="Calls at once; else what the endpoint allows.")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument(
            "--fresh", action="store_true", help="Ask again what was answered before elsewhere."
        )
        parser.add_argument("--background", action="store_true", help="Leave the work to a Celery worker.")
        parser.add_argument(
            "--resume", metavar="RUN", help="Id of a run to continue; a budget given replaces its own."
        )

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

    def _planned(self, options: dict[str, Any]) -> JudgeRun:
        calls_nobody = needs_no_model(options["method"])
        if not options["target"] or not (options["model"] or calls_nobody):
            raise CommandError(
                "Name a study or a benchmark, and the model with --model; or a run with --resume."
            )
        for name in ("limit", "repeats"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name} {options[name]} judges nothing; give at least 1.")
        check_run_options(options)
        if options["retry_unscored"]:
            raise CommandError("--retry-unscored goes with --resume RUN.")
        if options["both_orders"] and NEEDS[options["method"]].task_kind != "pair":
            raise CommandError(f"--both-orders is for pairs; method {options['method']} judges none.")
        workspace = workspace_for_command(options["workspace"])
        budget = budget_of(options)
        study = _study(workspace, options["target"], options["experiment"])
        if calls_nobody:
            judges = [create_rule_judge(workspace=workspace, method=options["method"], name=options["name"])]
        else:
            names = [name.strip() for name in options["jury"].split(",") if name.strip()]
            judges = [
                create_judge(
                    model=model_to_judge_with(
                        workspace=workspace,
                        name=name,
                        endpoint_name=options["endpoint"],
                        base_url=options["base_url"],
                        key_variable=options["key_variable"],
                    ),
                    method=options["method"],
                    name=options["name"] if number == 0 else "",
                )
                for number, name in enumerate([options["model"], *names])
            ]
        return plan_run(
            judge=judges[0],
            study=study,
            limit=options["limit"],
            budget=budget,
            seed=options["seed"],
            concurrency=options["concurrency"],
            reuse=not options["fresh"],
            only_rated=options["only_rated"],
            asking=Asking(
                jurors=tuple(judges[1:]),
                both_orders=options["both_orders"],
                repeats=options["repeats"],
                combine=How(options["combine"]),
                canaries=not options["no_canaries"],
            ),
        )

    def _resumed(self, options: dict[str, Any]) -> JudgeRun:
        run = JudgeRun.objects.filter(public_id=options["resume"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['resume']!r}; the page /runs/ lists them.")
        budget = budget_of(options)
        if budget.limited:
            raise_budget(run, budget)
        if options["retry_unscored"]:
            freed = retry_unscored(run, clock=timezone.now)
            self.stdout.write(f"{freed} unscored put back in line.")
        return run

    def _work(self, run: JudgeRun, options: dict[str, Any]) -> JudgeRun:
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
                task = bar.add_task(f"{run.judge} on {run.study}", total=run.items.count())

                def watch() -> None:
                    progress = progress_of(run, clock=timezone.now)
                    said = f"{run.judge} on {run.study}: {progress.unscored} unscored, {progress.calls} calls"
                    bar.update(task, completed=progress.done, description=said)

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

    def _report(self, run: JudgeRun) -> None:
        progress = progress_of(run, clock=timezone.now)
        self.stdout.write(
            f"Run {run.public_id} is {run.status}: {progress.scored} of {progress.total} scored, "
            f"{progress.unscored} unscored, {progress.waiting} left; {progress.calls} calls, {progress.reused} reused, "
            f"{progress.input_tokens + progress.output_tokens} tokens, {progress.money.normalize():f} spent. "
            f"Judge: {run.judge}; study: {run.study}."
        )
        for reason, count in progress.reasons:
            self.stdout.write(f"  unscored, {reason}: {count}")
        for words, count in progress.errors:
            self.stdout.write(f"  error ({count} times): {words}")
        if run.status == JudgeRun.Status.FAILED:
            raise CommandError(
                f"The run was stopped: {run.message.rstrip('.')}. Put that right, then: "
                f"manage.py judge --resume {run.public_id}"
            )
        if run.status == JudgeRun.Status.PAUSED:
            self.stdout.write(f"{run.message} Go on with: manage.py judge --resume {run.public_id}")


def _study(workspace: Workspace, slug: str, experiment: str) -> Study:
    """The study of this slug, else the one of all responses of the benchmark of this slug."""
    study = Study.objects.filter(workspace=workspace, slug=slug).first()
    if study is not None:
        return study
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = [
            *Study.objects.filter(workspace=workspace).values_list("slug", flat=True),
            *Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True),
        ]
        raise CommandError(
            f"There is no study or benchmark {slug!r}; there are: {', '.join(sorted(known)) or 'none'}."
        )
    return study_of_benchmark(benchmark, experiment)
