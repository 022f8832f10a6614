"""Build a small demonstration study: load, fit, judge, rank and compare; then serve it."""

from argparse import ArgumentParser
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from accounts.models import User, Workspace
from annotation.models import Study
from judging.demonstration.making import BENCHMARK, JUDGE, PASSWORD, SLUG, USERNAMES, make_people, other_work
from judging.demonstration.steps import FIT_NAME, FIXTURES, make_ratings, publish_weights


class Command(BaseCommand):
    help = "Build the demonstration study (simulated raters, scripted judge), analyse it, and serve it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="Build the demonstration without serving it.")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(file=self.stdout, highlight=False)  # type: ignore[arg-type] # it writes, which is enough
        _prepare_database(console)
        workspace = _workspace()
        console.print(
            "[bold]1. Load the ratings[/bold] (benchmarks, rubrics, guideline; then the study and its raters)"
        )
        call_command("load_library", workspace=workspace.slug, stdout=StringIO())
        console.print("   " + _make_once(workspace))
        console.print("[bold]2. How far do the raters agree?[/bold]")
        call_command("report_agreement", SLUG, workspace=workspace.slug, stdout=self.stdout)
        console.print("[bold]3. Fit and certify weights[/bold]")
        call_command("fit_weights", SLUG, workspace=workspace.slug, stdout=self.stdout)
        publish_weights(workspace)
        console.print("[bold]4. Ask the judge[/bold] (scripted: its verdicts are written in advance)")
        _judge_once(workspace, self.stdout)
        console.print("[bold]5. Rank the models by weighted verdicts[/bold]")
        call_command(
            "leaderboard", BENCHMARK, judge=JUDGE, weights=FIT_NAME, workspace=workspace.slug, stdout=self.stdout
        )
        console.print("[bold]6. Compare the judge with people[/bold]")
        call_command("compare_judge", SLUG, judge=JUDGE, workspace=workspace.slug, stdout=self.stdout)
        console.print()
        console.print("Ratings are simulated and the judge is scripted; every page that shows them says so.")
        _say_logins(console)
        if options["no_serve"]:
            if settings.PROGRAM == "manage.py":
                console.print("Serve it with: make demo (or: .venv/bin/python manage.py serve)")
            else:
                # The folder is named, for it may be that of --data.
                console.print(f"Serve it with: {settings.PROGRAM} serve --data '{settings.DATA_DIR}'", soft_wrap=True)
            return
        if options["host"] not in ("127.0.0.1", "localhost", "::1"):
            console.print("Anyone who can reach this address can sign in with these names and change everything here.")
        call_command("serve", host=options["host"], port=options["port"], stdout=self.stdout)


def _prepare_database(console: Console) -> None:
    """Migrate the database if that is allowed; raises CommandError."""
    if not settings.LOCAL:
        raise CommandError(
            "The demonstration is not allowed in production mode, because its passwords are public. Run it with "
            "PLUMBLINE_MODE=local and a separate database."
        )
    # Asked before as well as after, so that other work is left as it was, tables included.
    _refuse_other_work(migrated=False)
    with console.status("Preparing the database"):
        call_command("migrate", verbosity=0)
    _refuse_other_work(migrated=True)


def _refuse_other_work(*, migrated: bool) -> None:
    found = other_work(FIXTURES / "demo", migrated=migrated)
    if found:
        raise CommandError(
            f"This database holds more than a demonstration ({'; '.join(found)}), so the demonstration is not "
            "added to it. Serve it with `make serve`, or use a separate database for the demonstration by setting "
            "PLUMBLINE_DATA_DIR (or DATABASE_URL, if that is set): PLUMBLINE_DATA_DIR=var/demo make demo."
        )


def _workspace() -> Workspace:
    study = Study.objects.filter(slug=SLUG).first()
    return study.workspace if study is not None else workspace_for_command()


def _say_logins(console: Console) -> None:
    """Print only the logins that work: somebody may have changed a password while trying the demonstration."""
    known = {user.username: user.check_password(PASSWORD) for user in User.objects.filter(username__in=USERNAMES)}
    working = " or as ".join(f"[bold]{name}[/bold]" for name in USERNAMES if known.get(name))
    if working:
        console.print(f"Sign in as {working}, password [bold]{PASSWORD}[/bold].")
    for name in USERNAMES:
        if not known.get(name):
            console.print(
                f"The password of {name} has been changed; set a new one with: {settings.PROGRAM} add_person {name} "
                "--new-password"
            )


def _make_once(workspace: Workspace) -> str:
    """Create the accounts and the study with its simulated ratings; return a sentence about it."""
    with transaction.atomic():
        people = make_people(workspace)
        study, answers = make_ratings(workspace, lead=people[0])
    if not answers:
        return f"The study '{SLUG}' already exists, with {study.tasks.count()} responses."
    assert study.benchmark is not None
    return (
        f"{study.benchmark.instructions.count()} instructions in English and Chinese, {study.tasks.count()} responses of "
        f"3 fictional models, {answers} ratings of {study.raters.count()} simulated raters."
    )


def _judge_once(workspace: Workspace, stdout: Any) -> None:
    study = Study.objects.get(workspace=workspace, slug=SLUG)
    judged = study.tasks.filter(assignments__rater__label=JUDGE).distinct().count()
    if judged == study.tasks.count():
        stdout.write(f"   All {judged} responses already have a verdict.\n")
        return
    call_command("judge", SLUG, model=JUDGE, name=JUDGE, workspace=workspace.slug, stdout=stdout)
