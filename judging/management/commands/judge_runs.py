"""List the runs of judges, show one, and pause, resume, cancel it, change its budget or ask its unscored again."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from accounts.members.workspaces import UnknownWorkspace, workspace_for_command
from accounts.models import Workspace
from generation.execution.item_counts import with_counts
from generation.management.run_options import budget_of
from judging.models import JudgeRun, PlannedItem, Preparation
from judging.runs.life_cycle import NotPossible, cancel_run, pause_run, raise_budget, retry_unscored, start_run
from judging.tasks import enqueue
from judging.web.runs.files import run_report

LISTED = 100
LISTED_COLUMNS = ("public_id", "judge__rater__label", "study__slug", "status", "done", "total", "created_at")
VERBS = ("pause", "cancel", "resume")


class Command(BaseCommand):
    help = (
        "List the runs of judges, show one, and pause, resume, cancel it, change its budget or ask its unscored again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", nargs="?", default="", help="Id of a run; without one, the runs are listed.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, where there are several.")
        verbs = parser.add_mutually_exclusive_group()
        verbs.add_argument("--pause", action="store_true", help="What is on its way is stored; nothing new is sent.")
        verbs.add_argument(
            "--resume", action="store_true", help="Left to a worker; manage.py judge --resume RUN works on it here."
        )
        verbs.add_argument("--cancel", action="store_true", help="For good; what was answered stays.")
        parser.add_argument(
            "--retry-unscored", action="store_true", help="Ask again what got no verdict; the run goes on."
        )
        parser.add_argument("--budget-calls", type=int, help="Together with the two below: the budget from now on.")
        parser.add_argument("--budget-tokens", type=int)
        parser.add_argument("--budget-money", help="In the currency of the endpoint's prices.")
        parser.add_argument("--json", action="store_true", help="Print JSON: the list, or the run's report.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            if not options["run"]:
                self._list(workspace, options)
                return
            run = _named(workspace, options["run"])
            with transaction.atomic():
                self._change(run, options)
        except (UnknownWorkspace, NotPossible) as error:
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
            enqueue(run)

    def _show(self, run: JudgeRun, as_json: bool) -> None:
        report = run_report(run, clock=timezone.now)
        if as_json:
            self.stdout.write(json.dumps(report, ensure_ascii=False, indent=2))
            return
        items, replies, tokens = report["items"], report["replies"], report["tokens"]
        self.stdout.write(
            f"Run {run.public_id} is {run.status}: {items['scored']} of {items['total']} scored, {items['unscored']} "
            f"unscored, {items['waiting']} left; {replies['calls']} calls, {replies['reused']} reused, "
            f"{tokens['read'] + tokens['written']} tokens, {report['money']} spent. "
            f"Judge: {run.judge}; study: {run.study}."
        )
        for left in Preparation.objects.filter(run=run).defer("tasks"):
            self.stdout.write(f"  preparing: {left.done} of {left.total} steps")
        limits = [f"{value} {name}" for name, value in report["budget"].items() if value is not None]
        self.stdout.write(f"  budget: {', '.join(limits) or 'no limit'}")
        for reason, count in report["unscored"].items():
            self.stdout.write(f"  unscored, {reason}: {count}")
        for words, count in report["replies"]["errors"].items():
            self.stdout.write(f"  error ({count} times): {words}")
        if run.message:
            self.stdout.write(f"  {run.message}")

    def _list(self, workspace: Workspace, options: dict[str, Any]) -> None:
        asked = [name for name in (*VERBS, "retry_unscored") if options[name]]
        if asked or budget_of(options).limited:
            raise CommandError("Name the run; without one, manage.py judge_runs lists them.")
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
            self.stdout.write("No judge has been asked yet; see manage.py judge.")
        elif len(rows) == LISTED:
            self.stdout.write("Older runs are not listed here.")


def _named(workspace: Workspace, public_id: str) -> JudgeRun:
    found = JudgeRun.objects.filter(study__workspace=workspace, public_id=public_id)
    run = found.select_related("study", "judge__rater").first()
    if run is None:
        raise CommandError(f"There is no run {public_id!r} in this workspace; manage.py judge_runs lists them.")
    return run
