"""Run the rounds of drift monitors that are due; or create, pause, resume or list drift monitors."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from core.errors import UserError
from generation.management.run_options import budget_of
from judging.models import Judge, JudgeRun, Watch
from judging.monitoring.monitors import USUAL_SIZE, WatchRefused, create_watch, due, set_active, start_due, start_round
from judging.monitoring.readings import look_at, readings
from judging.runs.worker import work_on


class Command(BaseCommand):
    help = "Run the rounds of drift monitors that are due; or create, pause, resume or list drift monitors."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        verbs = parser.add_mutually_exclusive_group()
        verbs.add_argument("--new", metavar="STUDY", default="", help="Create a drift monitor on tasks of this study.")
        parser.add_argument("--judge", default="", help="With --new: name of the judge.")
        parser.add_argument("--every", type=int, default=24, metavar="HOURS", help="With --new: hours between rounds.")
        parser.add_argument("--tasks", type=int, default=USUAL_SIZE, help="With --new: number of tasks.")
        parser.add_argument("--seed", type=int, default=0, help="With --new: random seed for drawing the tasks.")
        parser.add_argument("--budget-money", help="With --new: maximum cost per round.")
        verbs.add_argument(
            "--now", metavar="ID", default="", help="Run a round of this monitor now, even if none is due."
        )
        verbs.add_argument("--pause", metavar="ID", default="", help="Start no rounds until the monitor is resumed.")
        verbs.add_argument(
            "--resume", metavar="ID", default="", help="Resume the monitor; an overdue round is due at once."
        )
        verbs.add_argument("--list", action="store_true", help="List the monitors and their results.")
        parser.add_argument("--json", action="store_true", help="With --list: print JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            if options["new"]:
                self._make(workspace, options)
            elif options["list"]:
                self._list(workspace, options["json"])
            elif options["now"]:
                watch = _named(workspace, options["now"])
                self._work(start_round(watch, clock=timezone.now))
            elif options["pause"] or options["resume"]:
                watch = _named(workspace, options["pause"] or options["resume"])
                set_active(watch, bool(options["resume"]), clock=timezone.now)
                self.stdout.write(f"Drift monitor {watch.public_id} is {'active' if watch.active else 'paused'}.")
            else:
                self._due(workspace)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _make(self, workspace: Any, options: dict[str, Any]) -> None:
        study = Study.objects.filter(workspace=workspace, slug=options["new"]).first()
        if study is None:
            known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
            raise CommandError(f"There is no study {options['new']!r}; there are: {known or 'none'}.")
        judges = {
            judge.rater.label: judge for judge in Judge.objects.filter(workspace=workspace).select_related("rater")
        }
        judge = judges.get(options["judge"])
        if judge is None:
            raise CommandError(
                f"There is no judge {options['judge']!r}; available judges: {', '.join(judges) or 'none yet'}."
            )
        budget = budget_of({"budget_calls": None, "budget_tokens": None, **options})
        watch = create_watch(
            judge=judge,
            study=study,
            every_hours=options["every"],
            size=options["tasks"],
            seed=options["seed"],
            budget_money=budget.money,
            clock=timezone.now,
        )
        self.stdout.write(
            f"Drift monitor {watch.public_id}: {len(watch.tasks)} tasks of {study.slug}, every {watch.every_hours} hours; "
            "the first round is due now."
        )

    def _due(self, workspace: Any) -> None:
        found = [watch for watch in due(timezone.now) if watch.study.workspace_id == workspace.pk]
        if not found:
            self.stdout.write("No drift monitor is due.")
        for watch in found:
            run = start_due(watch, clock=timezone.now)
            if run is None:
                self.stdout.write(f"{watch}: a round is already running.")
            else:
                self._work(run)

    def _work(self, run: JudgeRun) -> None:
        run = work_on(run)
        flagged = look_at(run)
        state = "changed" if flagged else "unchanged" if run.status == JudgeRun.Status.FINISHED else run.status
        self.stdout.write(f"{run.watch}: round {run.public_id} {state}. {run.message}".strip())

    def _list(self, workspace: Any, as_json: bool) -> None:
        rows = []
        for watch in Watch.objects.filter(study__workspace=workspace).select_related("judge__rater", "study"):
            read = readings(watch)
            rows.append(
                {
                    "id": watch.public_id,
                    "judge": watch.judge.rater.label,
                    "study": watch.study.slug,
                    "active": watch.active,
                    "next_at": watch.next_at.isoformat(),
                    "rounds": len(read.rounds),
                    "flagged": [one.number for one in read.flagged],
                }
            )
        if as_json:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
            return
        for row in rows:
            flags = ", ".join(map(str, row["flagged"])) or "none"  # type: ignore[call-overload]
            state = f"next {row['next_at']}" if row["active"] else "paused"
            self.stdout.write(
                f"{row['id']}  {row['judge']} on {row['study']}: {row['rounds']} rounds, changed: {flags}; {state}"
            )
        if not rows:
            self.stdout.write("There are no drift monitors yet; create one with --new STUDY --judge NAME.")


def _named(workspace: Any, public_id: str) -> Watch:
    watch = Watch.objects.filter(study__workspace=workspace, public_id=public_id).first()
    if watch is None:
        raise WatchRefused(f"There is no drift monitor {public_id!r}; see --list.")
    return watch
