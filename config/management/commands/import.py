"""Load a file of another tool, such as an export of Label Studio or battles of an Arena, or an archive of a study."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.members.workspaces import workspace_for_load
from annotation.importing.format_files import PREFERENCES, RATINGS, FormatLoad, FormatRequest, load_format
from annotation.models import Rater
from annotation.rubrics.scales import parse_scales
from annotation.uploads.study_archives import is_archive
from core.errors import UserError
from core.tables.bad_rows import OnBadRow, refuse
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_shown
from generation.importers.formats.format import RESPONSES, Format
from generation.importers.formats.registry import FORMATS, format_named, not_recognised, recognised
from generation.importers.formats.source import NAMES, Options
from judging.archive.importing import import_archive

AUTO, ARCHIVE = "auto", "archive"


class Command(BaseCommand):
    help = (
        f"Load a file of another tool, or a study from an {ARCHIVE} with texts. The formats are {ARCHIVE}, "
        f"{', '.join(FORMATS)}; {AUTO} recognises them by the content."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("format", metavar="FORMAT", help=f"{AUTO}, {ARCHIVE}, or one of {', '.join(FORMATS)}.")
        add("file", type=Path)
        add("--study", default="", metavar="SLUG", help="The study to load answers into; it is created if it is new.")
        add(
            "--benchmark",
            default="",
            metavar="SLUG",
            help="The benchmark of the items; for a format that holds responses alone, the benchmark to load into.",
        )
        add("--workspace", default="", metavar="SLUG")
        add("--name", default="", help="The title of the study or benchmark.")
        add(
            "--field",
            action="append",
            default=[],
            metavar="NAME=PATH",
            help=f"The field that holds a value, such as prompt=data.turns[0].text; the names are {', '.join(NAMES)}.",
        )
        add("--model", default="", help="The model that wrote the responses, if the file does not name it.")
        add(
            "--judge",
            action="append",
            default=[],
            metavar="RATER",
            help="A rater of the file that is a judge; * for all of them. All others are then people.",
        )
        add("--people", action="store_true", help="All raters of the file are people.")
        add("--answers", choices=[RATINGS, PREFERENCES], default="", help="Which answers to load if the file has both.")
        add(
            "--scale",
            action="append",
            default=[],
            metavar="KEY=SCALE",
            help="The scale of a criterion (* for all): 1:6, 1:6:1 with a step, or levels such as 1,3,5 or No,Unsure,Yes.",
        )
        add("--overall", default="", metavar="KEY", help="The criterion that holds the overall score.")
        add("--exclude", action="append", default=[], metavar="CRITERION", help="Leave out answers to this criterion.")
        add("--off-scale", choices=["refuse", "keep", "unscored"], default="refuse")
        add("--duplicates", choices=["refuse", "repeat", "drop"], default="refuse")
        add(
            "--provenance",
            choices=Rater.Provenance.values,
            default="",
            help="Set this if the answers are not from real people.",
        )
        add(
            "--on-error",
            choices=["refuse", "skip"],
            default="refuse",
            help="skip leaves out bad rows and reports them.",
        )
        add("--check", action="store_true", help="Say what loading would store, and store nothing.")
        add("--json", action="store_true", help="Print the result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["format"] == ARCHIVE or (options["format"] == AUTO and is_archive(options["file"])):
            self._load_archive(options)
            return
        skipped = SkippedRows()
        on_bad: OnBadRow = skipped if options["on_error"] == "skip" or options["check"] else refuse
        try:
            found, reason = _format(options)
            request = _request(options, found)
            with transaction.atomic():
                workspace = workspace_for_load(options["workspace"])
                loaded = load_format(request, workspace, None, on_bad, skipped)
                if options["check"]:
                    transaction.set_rollback(True)
        except UserError as error:
            raise CommandError(str(error)) from error
        report = None
        if skipped and not options["check"]:
            report = skipped.write(settings.DATA_DIR / "reports", request.into, timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(request, loaded, report, reason)))
            return
        if reason:
            self.stdout.write(f"The file is read as {found.name}: {reason}.")
        what = "responses" if found.holds == RESPONSES else "answers"
        where = "Benchmark" if found.holds == RESPONSES else "Study"
        checked = "Nothing has been stored; loading would give: " if options["check"] else ""
        self.stdout.write(f"{checked}{where} {request.into}: {loaded.counts} ({what}).")
        if loaded.texts:
            self.stdout.write(f"Texts of instructions and responses: {loaded.texts:,}.")
        if not loaded.counts.changed and not loaded.texts and not options["check"]:
            self.stdout.write("Nothing has changed.")
        for remark in loaded.remarks:
            self.stdout.write(remark)
        if loaded.unread:
            self.stdout.write(f"Fields that were not read: {', '.join(loaded.unread)}.")
        if options["check"]:
            for problem in skipped.problems[:20]:
                self.stdout.write(str(problem))
        if report:
            self.stdout.write(f"The skipped rows are listed in {report}.")
        if loaded.self_naming:
            self.stderr.write(
                f"Tasks with a response that says which model wrote it: {loaded.self_naming}. Mask the words or drop the "
                f"tasks with {settings.PROGRAM} scan_self_naming {request.into}, or on the study's page of self-revealing "
                "responses."
            )

    def _load_archive(self, options: dict[str, Any]) -> None:
        try:
            with transaction.atomic(), progress_shown(f"Loading {options['file'].name}") as progress:
                workspace = workspace_for_load(options["workspace"])
                loaded = import_archive(options["file"], workspace, None, check=options["check"], progress=progress)
                transaction.set_rollback(options["check"])
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps({"format": ARCHIVE, **asdict(loaded)}))
            return
        checked = "Nothing has been stored; loading would give: " if options["check"] else ""
        self.stdout.write(
            f"{checked}Study {loaded.study} with {loaded.rows['annotation.assignment']:,} ratings and "
            f"{loaded.rows['annotation.score']:,} scores."
        )
        if loaded.imported:
            self.stdout.write(f"To undo it: {settings.PROGRAM} undo_import {loaded.imported}")


def _format(options: dict[str, Any]) -> tuple[Format, str]:
    """Return the format, and by what it was recognised if it was not named. Raises UserError."""
    if options["format"] != AUTO:
        return format_named(options["format"]), ""
    found = recognised(options["file"])
    if found is None:
        raise not_recognised(options["file"])
    return found.format, found.reason


def _request(options: dict[str, Any], found: Format) -> FormatRequest:
    fields = {}
    for text in options["field"]:
        name, equals, path = text.partition("=")
        if name not in NAMES or not equals or not path:
            raise UserError(f"--field {text!r} must have the form NAME=PATH, where NAME is one of {', '.join(NAMES)}.")
        fields[name] = path
    if options["people"] and options["judge"]:
        raise UserError("--people says that no rater is a judge; leave out --judge, or name only the judges.")
    into, benchmark = options["study"], options["benchmark"]
    if found.holds == RESPONSES:
        into, benchmark = benchmark, ""
        if not into or options["study"]:
            raise UserError(
                f"A file of {found.name} has responses alone, without answers; say with --benchmark SLUG where they go, and "
                "leave out --study."
            )
    elif not into:
        raise UserError("Say with --study SLUG into which study the answers go; it is created if it is new.")
    judges = frozenset(options["judge"]) if options["judge"] or options["people"] else None
    return FormatRequest(
        format=found,
        path=options["file"],
        into=into,
        name=options["name"],
        benchmark=benchmark,
        answers=options["answers"],
        options=Options(fields=fields, model=options["model"], judges=judges),
        scales=parse_scales(options["scale"]),
        overall=options["overall"],
        duplicates=options["duplicates"],
        off_scale=options["off_scale"],
        provenance=options["provenance"],
        excluded=frozenset(options["exclude"]),
    )


def _as_json(request: FormatRequest, loaded: FormatLoad, report: Path | None, reason: str) -> dict[str, object]:
    return {
        "format": request.format.key,
        "recognised_by": str(reason),
        "into": request.into,
        **vars(loaded.counts),
        "texts": loaded.texts,
        "unread_fields": list(loaded.unread),
        "remarks": [str(remark) for remark in loaded.remarks],
        "report": str(report) if report else None,
    }
