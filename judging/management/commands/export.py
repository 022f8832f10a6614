"""Export a study: as one file from which every displayed number can be recomputed, or in another tool's format."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.models import Study
from annotation.monitoring.exclusion import excluded_in
from calibration.management.study_command import StudyCommand
from core.errors import UserError
from judging.archive.export import export_study
from judging.archive.format_files import file_name, write_format
from judging.formats.answers import WriteOptions
from judging.formats.registry import WRITERS, writer_named

ARCHIVE = "archive"


class Command(StudyCommand):
    help = (
        "Export the ratings, tasks, criteria, fits and reports of a study as a zip file, which `recompute` verifies; or its "
        "answers in the format of another tool."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        add("--to", "--out", type=Path, metavar="FILE", help="Path of the file. A format has a usual name for it.")
        add("--format", default=ARCHIVE, metavar="FORMAT", help=f"{ARCHIVE} (usual), {', '.join(WRITERS)}.")
        add("--texts", action="store_true", help="Include texts: an archive can then be imported.")
        add("--criterion", default="", metavar="KEY", help="The criterion, for a format that holds one score.")
        add("--judge", default="", metavar="NAME", help="The judge, for a format that holds one judge's scores.")

    def handle(self, *args: Any, **options: Any) -> None:
        study, target = self.study_of(options), options["to"]
        if options["format"] != ARCHIVE:
            self._write_format(study, target, options)
            return
        if target is None:
            raise CommandError("Say with --to FILE where the archive is to be written.")
        try:
            counts = export_study(study, target, texts=options["texts"])
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

    def _write_format(self, study: Study, target: Path | None, options: dict[str, Any]) -> None:
        try:
            writer = writer_named(options["format"])
            target = target or Path(file_name(study, writer))
            chosen = WriteOptions(criterion=options["criterion"], judge=options["judge"])
            written = write_format(study, writer, target, chosen, texts=options["texts"])
        except UserError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{target} cannot be written ({error.strerror}); choose another place.") from error
        if options["json"]:
            shown = {"file": str(target), "study": study.slug, "format": writer.key, **vars(written)}
            self.stdout.write(json.dumps(shown))
            return
        self.stdout.write(f"{target}: {written.rows:,} rows of {written.answers:,} answers, as {writer.name}.")
        if written.left_out:
            self.stdout.write(
                f"{written.left_out:,} answers that no result counts were left out: excluded and surplus ones, unusable "
                "ones, and those to canary texts and degraded copies."
            )
