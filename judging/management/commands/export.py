"""Export a study as one file from which every displayed number can be recomputed."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.monitoring.exclusion import excluded_in
from calibration.management.study_command import StudyCommand
from judging.archive.export import export_study


class Command(StudyCommand):
    help = "Export the ratings, tasks, criteria, fits and reports of a study as a zip file; `recompute` verifies it."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--to", required=True, type=Path, metavar="FILE", help="Path of the zip file.")

    def handle(self, *args: Any, **options: Any) -> None:
        study, target = self.study_of(options), options["to"]
        try:
            counts = export_study(study, target)
        except OSError as error:
            raise CommandError(f"{target} cannot be written ({error.strerror}); choose another place.") from error
        excluded = excluded_in(task__study=study)
        if options["json"]:
            shown = {"file": str(target), "study": study.slug, "rows": counts, "excluded": vars(excluded)}
            self.stdout.write(json.dumps(shown))
            return
        self.stdout.write(
            f"{target}: {counts['annotation.score']:,} scores of {counts['annotation.assignment']:,} ratings, "
            f"{counts['fits']} fits, {counts['reports']} reports."
        )
        if excluded.answers:
            self.stdout.write(
                f"{excluded.answers:,} ratings of {excluded.raters} raters are marked as excluded; no result counts them."
            )
