"""One file from which every displayed number of a study can be computed again."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from calibration.management.study_command import StudyCommand
from judging.archive.export import export_study


class Command(StudyCommand):
    help = "Export a study's answers, tasks, criteria, fits and reports as one zip; `recompute` checks it."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--to", required=True, type=Path, metavar="FILE", help="Where to write the zip.")

    def handle(self, *args: Any, **options: Any) -> None:
        study, target = self.study_of(options), options["to"]
        try:
            counts = export_study(study, target)
        except OSError as error:
            raise CommandError(f"{target} cannot be written ({error.strerror}); choose another place.") from error
        if options["json"]:
            self.stdout.write(json.dumps({"file": str(target), "study": study.slug, "rows": counts}))
            return
        self.stdout.write(
            f"{target}: {counts['annotation.score']:,} scores of {counts['annotation.assignment']:,} answers, "
            f"{counts['fits']} fits, {counts['reports']} reports."
        )
