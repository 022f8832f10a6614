"""Checking and loading an uploaded table in a worker, by the loaders of the commands."""

import csv
import gzip
import logging
import shutil
import tempfile
import time
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, transaction

from accounts.models import User, Workspace
from annotation.importing import messages
from annotation.uploads.bad_rows import keep_bad_rows
from annotation.uploads.kept_files import CHECKED, CHECKING, LOADED, REFUSED, TableUpload, known_table
from annotation.uploads.kinds import CRITERION
from annotation.uploads.scratch_database import on_a_copy
from core.errors import UserError
from core.messages.message import Wording, as_value
from core.tables.bad_rows import BadRow
from core.tables.formula_cells import CsvWriter, unescaped
from core.tables.reading import LEAST_EXPANDED, LONGEST_VALUE, read_rows
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_to
from generation.models import Import

logger = logging.getLogger(__name__)
SECONDS_BETWEEN_WRITES = 0.5
FAULT = Wording("upload.fault", "The program has a fault here, which is in its log.")
ENCODINGS = ("utf-16", "gb18030", "cp1252")
SEPARATORS = {"semicolon": ";", "tab": "\t", "bar": "|"}
WITH_OUR_COLUMNS = ("checks", "gold")
"""Kinds whose command takes no names of columns."""
PIECE = 1 << 20


def carry_out(public_id: str) -> None:
    """Check or load an upload; does nothing if neither is asked for or its folder is not on this machine."""
    upload = known_table(public_id)
    if upload is None:
        logger.error("Table %s is not in this worker's data folder; servers and workers must share one", public_id)
        return
    if not upload.is_at_work:
        return
    dry, skipped, shown = upload.state == CHECKING, SkippedRows(), _Shown(upload)
    remarks: list[str] = []
    try:
        with tempfile.TemporaryDirectory(dir=upload.folder) as scratch, progress_to(shown.after):
            path = readable(upload, Path(scratch))
            with on_a_copy(Path(scratch)) if dry else nullcontext():
                found = _loaded(upload, path, skipped, remarks, dry=dry)
        counts = {name: n for name, n in found.counts.items() if n} if found else {}
        ended = replace(upload, state=CHECKED if dry else LOADED, problem="", counts=counts, bad=len(skipped))
        ended = replace(ended, remarks=[as_value(remark) for remark in remarks])
        if found and not dry:
            ended = replace(ended, imported=found.pk)
    except (OperationalError, InterfaceError):
        raise  # the request stays, and the file with it
    except (UserError, CommandError) as problem:
        ended = replace(upload, state=REFUSED, problem=as_value(str(problem)), counts={}, bad=len(skipped))
        ended = replace(ended, remarks=[])
    except Exception:
        replace(upload, state=REFUSED, problem=as_value(FAULT())).save()
        raise
    keep_bad_rows(upload, skipped)
    replace(ended, rows=shown.rows).save()
    if ended.state == LOADED:
        shutil.rmtree(upload.path.parent, ignore_errors=True)


def _loaded(upload: TableUpload, path: Path, skipped: SkippedRows, remarks: list[str], *, dry: bool) -> Import | None:
    """Load the file, or do so and undo it all; return the record of the import, None if nothing changed.

    What is to be said of the values is added to `remarks`. Raises UserError and CommandError.
    """
    workspace = Workspace.objects.get(pk=upload.workspace)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        last = Import.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        positional, options = _arguments(upload, path)
        if upload.kind not in WITH_OUR_COLUMNS:  # whose rows are loaded all or none
            options |= {"on_error": "skip" if dry or upload.skip else "refuse", "skipped": skipped}
        if positional[0] == "load_table":
            options["remarks"] = remarks
        call_command(
            *positional,
            workspace=workspace.slug,
            by=User.objects.filter(pk=upload.user).first(),
            stdout=StringIO(),
            stderr=StringIO(),
            **options,
        )
        found = Import.objects.filter(workspace=workspace, pk__gt=last).order_by("-pk").first()
        if dry:
            transaction.set_rollback(True)
    return found


def _arguments(upload: TableUpload, path: Path) -> tuple[list[str], dict[str, Any]]:
    """Return the command of the upload's kind with its file, and its options."""
    given = upload.options
    named = {name: column for column, name in upload.columns.items() if name != CRITERION}
    column = [f"{name}={of}" for name, of in named.items()]
    if upload.kind == "checks":
        return ["load_checks", upload.into, str(path)], {}
    if upload.kind == "gold":
        return ["plant_controls", upload.into], {"gold": path}
    if upload.kind == "instructions":
        overall = given.get("scale", "") if given.get("overall") else ""
        return ["load_instructions", str(path)], {"benchmark": upload.into, "column": column, "overall": overall}
    if upload.kind == "responses":
        model = "" if "model" in named else given.get("model", "")
        return ["load_responses", str(path)], {"benchmark": upload.into, "column": column, "model": model}
    options: dict[str, Any] = {"study": upload.into, "column": column}
    if given.get("benchmark"):
        options |= {"benchmark": given["benchmark"], "create_items": upload.kind != "truth"}
    if upload.kind == "preferences":
        labels = [part.strip() for part in given.get("labels", "").split(",") if part.strip()]
        return ["load_table", "preferences", str(path)], options | {"map": labels}
    if upload.kind == "truth":
        options["column"] = [text for text in column if not text.startswith("value=")]
        return ["load_table", "ratings", str(path)], options | {"truth": named["value"]}
    criteria = [f"{of}={of}" for of, name in upload.columns.items() if name == CRITERION]
    options |= {"criteria": ",".join(criteria), "duplicates": given.get("duplicates") or "refuse"}
    options |= {"scale": scales_in(given.get("scale", "")), "overall": given.get("overall", "")}
    return ["load_table", "ratings", str(path)], options


def scales_in(text: str) -> list[str]:
    """Return "1:5" as the scale of every criterion, and "quality=1:5; overall=0:10" as those of single ones."""
    parts = [part.strip() for part in text.replace("；", ";").replace("：", ":").split(";") if part.strip()]
    return [part if "=" in part else f"*={part}" for part in parts]


def readable(upload: TableUpload, scratch: Path) -> Path:
    """Return the file, or a copy in UTF-8 with commas where it is to be read otherwise.

    Checks and known answers get columns of ours. Raises BadRow.
    """
    path = rewritten(upload, scratch)
    if upload.kind not in WITH_OUR_COLUMNS:
        return path
    renamed = scratch / f"{upload.kind}.csv"
    with renamed.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow(upload.columns.values())
        for row in read_rows(path, upload.columns):
            writer.writerow(row.values[column] for column in upload.columns)
    return renamed


def rewritten(upload: TableUpload, scratch: Path, *, beginning: bool = False) -> Path:
    """Return the file or, where it is read in another encoding or with another separator, a copy in UTF-8 with commas.

    With `beginning` the copy ends after the first rows. Raises BadRow for what cannot be read so, and for a file that
    unpacks to more than it may.
    """
    if not (upload.encoding or upload.separator):
        return upload.path
    endings = upload.file.lower().removesuffix(".gz")
    path = scratch / (Path(endings).stem + (Path(endings).suffix if not upload.separator else ".csv"))
    left = max(LEAST_EXPANDED, upload.path.stat().st_size)
    encoding = upload.encoding or "utf-8-sig"
    csv.field_size_limit(LONGEST_VALUE)
    try:
        with _opened(upload.path) as raw, path.open("w", encoding="utf-8", newline="") as file:
            text = TextIOWrapper(raw, encoding=encoding, newline="")
            if upload.separator:
                writer = CsvWriter(file)
                for row in csv.reader(text, delimiter=SEPARATORS[upload.separator], strict=True):
                    writer.writerow(map(unescaped, row))
                    if beginning and text.buffer.tell() > PIECE:
                        break
                    left -= sum(map(len, row))
                    _check_left(left, upload.file)
            else:
                while piece := text.read(PIECE):
                    file.write(piece)
                    if beginning:
                        break
                    left -= len(piece)
                    _check_left(left, upload.file)
    except (UnicodeError, csv.Error, EOFError, OSError) as error:
        raise BadRow(upload.file, 0, messages.NOT_THIS_WAY(), messages.OTHER_WAY()) from error
    return path


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def _check_left(left: int, name: str) -> None:
    if left < 0:
        raise BadRow(name, 0, messages.UNPACKS_TOO_FAR(), messages.UNPACK_AND_SPLIT())


def guessed_encoding(path: Path) -> str:
    """Return the encoding in which a text file is probably written, '' for UTF-8 and for what is no text."""
    try:
        with _opened(path) as file:
            start = file.read(PIECE)
    except (OSError, EOFError):
        return ""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    for encoding in ("utf-8", "gb18030", "cp1252"):
        try:
            start[: len(start) // 2 * 2].decode(encoding)
        except UnicodeDecodeError as error:
            if len(start) == PIECE and error.start > PIECE - 8:
                return "" if encoding == "utf-8" else encoding
        else:
            return "" if encoding == "utf-8" else encoding
    return ""


class _Shown:
    """Writes down how many rows were read, not more often than a page asks."""

    def __init__(self, upload: TableUpload) -> None:
        self.upload = upload
        self.rows = 0
        self.written = time.monotonic()

    def after(self, steps: int) -> None:
        self.rows += steps
        if time.monotonic() - self.written >= SECONDS_BETWEEN_WRITES:
            replace(self.upload, rows=self.rows).save()
            self.written = time.monotonic()
