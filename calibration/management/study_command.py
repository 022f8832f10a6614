"""The base of commands about one study: it finds the study in its workspace."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from annotation.monitoring.exclusion import excluded_in, routed_in
from annotation.policies.policies import Selection
from core.errors import UserError


def add_excluded(parser: ArgumentParser) -> None:
    parser.add_argument("--excluded", action="store_true", help="Count answers that a lead excluded, too.")


def excluded_line(shown: bool, **where: object) -> str:
    """Say how many answers are excluded, and whether this output counts them, and how many answers were drawn with unequal
    probability, which it never counts; '' if there are none of either."""
    found, drawn = excluded_in(**where), drawn_line(**where)
    if not found.answers:
        return drawn
    counted = "counted here because of --excluded" if shown else "not counted; --excluded counts them"
    who = f"Excluded, {found.by_source} of them by the source of the data" if found.by_source else "Excluded by a lead"
    said = f"{who}: {found.answers} answers of {found.raters} raters, {counted}."
    return f"{said}\n{drawn}" if drawn else said


def drawn_line(**where: object) -> str:
    """Say how many answers of people are left out because of their tasks' probabilities; '' if there are none."""
    routed = routed_in(**where)
    return f"Drawn with unequal probability and not counted here: {_answers(routed)} of people." if routed else ""


def _answers(n: int) -> str:
    return "1 answer" if n == 1 else f"{n:,} answers"


class StudyCommand(BaseCommand):
    """A command whose first argument is a study's slug."""

    study_optional = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", nargs="?" if self.study_optional else None, default="", help="The study's slug.")
        parser.add_argument(
            "--workspace", default="", help="The workspace's slug; required if there are several workspaces."
        )
        parser.add_argument("--json", action="store_true", help="Print the result as JSON.")

    def study_of(self, options: dict[str, Any]) -> Study:
        """Find the study named on the command line; otherwise raise CommandError with a list of the studies."""
        try:
            workspace = workspace_for_command(options["workspace"])
        except UserError as error:
            raise CommandError(str(error)) from error
        study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True)) or "none yet"
            raise CommandError(
                f"There is no study {options['study']!r} in workspace {workspace.slug!r}; there are: {known}."
            )
        # Where only such answers are there, the command ends with an error, which says nothing of them.
        if Selection.of(study).drawn and (line := drawn_line(task__study=study)):
            self.stderr.write(line)
        return study
