"""Exclude a rater's answers from results, or lift the exclusion again."""

from datetime import UTC
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime

from accounts.members.workspaces import workspace_for_command
from annotation.models import Rater
from annotation.monitoring.exclusion import exclude, lift, preview_exclusion, standing_exclusion
from core.errors import UserError


class Command(BaseCommand):
    help = (
        "Exclude a rater's answers from results, with a reason, or lift the exclusion. The answers are kept, others get "
        "the tasks, and every result says how many answers it leaves out."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="the study's slug")
        parser.add_argument("rater", metavar="RATER", help="the rater's public id or label")
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument("--reason", default="", help="why; it stays in the study's history and in its export")
        parser.add_argument(
            "--since", default="", metavar="TIME", help="only answers from this time on (ISO 8601, UTC)"
        )
        parser.add_argument("--preview", action="store_true", help="only say what would be excluded")
        parser.add_argument("--lift", action="store_true", help="let the answers count again")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._run(self._rater(options), options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _run(self, rater: Rater, options: dict[str, Any]) -> None:
        assert rater.study is not None
        if options["lift"]:
            standing = standing_exclusion(rater)
            if standing is None:
                raise CommandError(f"No exclusion of rater {rater.label} stands in study {rater.study.slug}.")
            back = lift(standing, by=None)
            self.stdout.write(
                f"{back.answers} answers count again; {back.unseated} tasks now have more ratings than planned."
            )
            return
        try:
            since = parse_datetime(options["since"]) if options["since"] else None
        except ValueError:
            since = None
        if options["since"] and since is None:
            raise CommandError(f"--since {options['since']!r} is not a time; write it as 2026-05-04T12:00:00.")
        if since is not None and since.tzinfo is None:
            since = since.replace(tzinfo=UTC)
        touched = preview_exclusion(rater, since)
        if not options["preview"]:
            exclude(rater.study, rater, since=since, reason=options["reason"], by=None)
        said = "would be excluded" if options["preview"] else "are excluded"
        self.stdout.write(
            f"{touched.answers} answers on {touched.tasks} tasks {said}; {touched.seats} slots are freed."
        )

    def _rater(self, options: dict[str, Any]) -> Rater:
        workspace, name = workspace_for_command(options["workspace"]), options["rater"]
        people = Rater.objects.filter(study__workspace=workspace, study__slug=options["study"], kind=Rater.Kind.PERSON)
        people = people.select_related("study")
        found = people.filter(public_id=name).first() or people.filter(label=name).first()
        if found is None:
            raise CommandError(
                f"Study {options['study']!r} of workspace {workspace.slug} has no rater {name!r}; the study's dashboard "
                "lists them."
            )
        return found
