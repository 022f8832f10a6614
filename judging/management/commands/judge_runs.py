"""List judge runs, or show one; pause, resume or cancel it, change its budget, or retry its unscored items."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from core.errors import UserError
from generation.execution.progress import with_counts
from generation.management.run_options import budget_of
from judging.models import JudgeRun, PlannedItem, Preparation
from judging.runs.life_cycle import (
    JUDGING,
    REASON_TEXTS,
    cancel_run,
    pause_run,
    progress_of,
    raise_budget,
    retry_unscored,
    start_run,
)
from judging.web.runs.files import errors_of, limits_of, run_report

LISTED = 100
LISTED_COLUMNS = ("public_id", "judge__rater__label", "study__slug", "status", "done", "total", "created_at")
VERBS = ("pause", "cancel", "resume")


class Command(BaseCommand):
    help = "List judge runs, or show one; pause, resume or cancel it, change its budget, or retry its unscored items."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", nargs="?", default="", help="Id of a run; without an id, the runs are listed.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        verbs = parser.add_mutually_exclusive_group()
        verbs.add_argument("--pause", action="store_true", help="Pause the run; open calls are still stored.")
        verbs.add_argument(
            "--resume",
            action="store_true",
            help=f"Resume the run on a worker (here: {settings.PROGRAM} judge --resume RUN).",
        )
        verbs.add_argument("--cancel", action="store_true", help="Cancel the run permanently; its verdicts are kept.")
        parser.add_argument(
            "--retry-unscored", action="store_true", help="Ask again about unscored items and resume the run."
        )
        parser.add_argument("--budget-calls", type=int, help="New limit on calls; see also the next two options.")
        parser.add_argument("--budget-tokens", type=int, help="New limit on tokens.")
        parser.add_argument("--budget-money", help="New limit on cost, in the currency of the endpoint's prices.")
        parser.add_argument("--json", action="store_true", help="Print JSON: the list, or the report of the run.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            if not options["run"]:
                self._list(workspace, options)
                return
            run = _named(workspace, options["run"])
            with transaction.atomic():
                self._change(run, options)
        except UserError as error:
            raise CommandError(str(error)) from error
        self._show(run, options["json"])

    def _change(self, run: JudgeRun, options: dict[str, Any]) -> None:
        budget = budget_of(options)
        if budget.limited:
            raise_budget(run, budget)
        freed = retry_unscored(run, clock=timezone.now) if options["retry_unscored"] else 0
        if options["pause"]:
            pause_run(run, clock=timezone.now)
        elif options["cancel"]:
            cancel_run(run, clock=timezone.now)
        elif options["resume"] or freed:
            start_run(run, clock=timezone.now)
            JUDGING.hand_over(run)

    def _show(self, run: JudgeRun, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(run_report(run, clock=timezone.now), ensure_ascii=False, indent=2))
            return
        progress = progress_of(run, clock=timezone.now)
        self.stdout.write(
            f"Run {run.public_id} is {run.status}: {progress.scored} of {progress.total} scored, {progress.unscored} "
            f"unscored, {progress.waiting} left; {progress.calls} calls, {progress.reused} reused, "
            f"{progress.input_tokens + progress.output_tokens} tokens, {progress.money:f} spent. "
            f"Judge: {run.judge}; study: {run.study}."
        )
        for left in Preparation.objects.filter(run=run).defer("tasks"):
            self.stdout.write(f"  preparing: {left.done} of {left.total} steps")
        limits = [f"{value} {name}" for name, value in limits_of(run).items() if value is not None]
        self.stdout.write(f"  budget: {', '.join(limits) or 'no limit'}")
        for reason, count in progress.reasons:
            self.stdout.write(f"  {count} unscored: {REASON_TEXTS.get(reason, reason)}.")
        for words, count in errors_of(run).items():
            self.stdout.write(f"  error ({count} times): {words}")
        if run.message:
            self.stdout.write(f"  {run.message}")

    def _list(self, workspace: Workspace, options: dict[str, Any]) -> None:
        asked = [name for name in (*VERBS, "retry_unscored") if options[name]]
        if asked or budget_of(options).limited:
            raise CommandError(f"Give the id of a run; {settings.PROGRAM} judge_runs lists the runs.")
        found = JudgeRun.objects.filter(study__workspace=workspace)
        counted = with_counts(found.order_by("-created_at"), PlannedItem.objects.all(), PlannedItem.Status.WAITING)
        rows = [
            {
                "id": run["public_id"],
                "judge": run["judge__rater__label"],
                "study": run["study__slug"],
                "status": run["status"],
                "done": run["done"],
                "total": run["total"],
                "created_at": run["created_at"].isoformat(),
            }
            for run in counted.values(*LISTED_COLUMNS)[:LISTED]
        ]
        if options["json"]:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
            return
        for row in rows:
            self.stdout.write(
                f"{row['id']}  {row['status']:<9}  {row['done']} of {row['total']}  {row['judge']} on {row['study']}"
            )
        if not rows:
            self.stdout.write(f"There are no judge runs yet; start one with {settings.PROGRAM} judge.")
        elif len(rows) == LISTED:
            self.stdout.write("Older runs are not shown.")


def _named(workspace: Workspace, public_id: str) -> JudgeRun:
    found = JudgeRun.objects.filter(study__workspace=workspace, public_id=public_id)
    run = found.select_related("study", "judge__rater").first()
    if run is None:
        raise CommandError(
            f"There is no run {public_id!r} in this workspace; {settings.PROGRAM} judge_runs lists them."
        )
    return run
