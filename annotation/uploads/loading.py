"""Checking and loading an uploaded table in a worker."""

import csv
import gzip
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

from django.core.management import call_command
from django.db import transaction

from accounts.models import User, Workspace
from annotation.importing import messages
from annotation.importing.format_files import load_format
from annotation.uploads.format_requests import request_of, scales_in
from annotation.uploads.kept_files import CHECKED, CHECKING, TableUpload
from annotation.uploads.kinds import CRITERION
from annotation.uploads.loaders import LOADERS, load_rows
from annotation.uploads.scratch_database import on_a_copy
from core.messages.message import as_value
from core.tables.bad_rows import BadRow, refuse
from core.tables.formula_cells import CsvWriter, unescaped
from core.tables.reading import LEAST_EXPANDED, LONGEST_VALUE
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_to
from core.uploads.carrying_out import Shown, carried_out
from core.uploads.kept_files import LOADED
from generation.models import Import

ENCODINGS = ("utf-16", "gb18030", "cp1252")
SEPARATORS = {"semicolon": ";", "tab": "\t", "bar": "|"}
PIECE = 1 << 20


def carry_out(public_id: str) -> None:
    """Check or load an upload; does nothing if neither is asked for or its folder is not on this machine."""
    carried_out(TableUpload, public_id, _work, when_over=TableUpload.without_file)


def _work(upload: TableUpload, skipped: SkippedRows) -> TableUpload:
    dry, shown = upload.state == CHECKING, _Shown(upload)
    remarks: list[str] = []
    with tempfile.TemporaryDirectory(dir=upload.folder) as scratch, progress_to(shown.after):
        path = rewritten(upload, Path(scratch))
        with on_a_copy(Path(scratch)) if dry else nullcontext():
            found = load_file(upload, path, skipped, remarks, dry=dry)
    counts = {name: n for name, n in found.counts.items() if n} if found else {}
    ended = replace(upload, state=CHECKED if dry else LOADED, problem="", counts=counts, rows=shown.rows)
    ended = replace(ended, remarks=[as_value(remark) for remark in remarks])
    return replace(ended, imported=found.pk) if found and not dry else ended


def load_file(
    upload: TableUpload, path: Path, skipped: SkippedRows, remarks: list[str], *, dry: bool = False
) -> Import | None:
    """Load the file, or do so and undo it all; return the record of the import, None if nothing changed.

    What is to be said of the values is added to `remarks`. Raises UserError and CommandError.
    """
    workspace = Workspace.objects.get(pk=upload.workspace)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        last = Import.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        by = User.objects.filter(pk=upload.user).first()
        if upload.format:
            request = request_of(upload, path)
            loaded = load_format(request, workspace, by, skipped if dry or upload.skip else refuse, skipped)
            remarks += loaded.remarks
            if loaded.unread:
                remarks.append(messages.FIELDS_NOT_READ(fields=list(loaded.unread)))
        elif upload.kind in LOADERS:
            load_rows(upload, path, workspace, by, skipped if dry or upload.skip else refuse)
        else:
            positional, options = _arguments(upload, path)
            options |= {"on_error": "skip" if dry or upload.skip else "refuse", "skipped": skipped}
            if positional[0] == "load_table":
                options["remarks"] = remarks
            call_command(*positional, workspace=workspace.slug, by=by, stdout=StringIO(), stderr=StringIO(), **options)
        found = Import.objects.filter(workspace=workspace, pk__gt=last).order_by("-pk").first()
        if found is not None:  # of the file that was sent, where a copy in another encoding was read
            Import.objects.filter(pk=found.pk).update(file=upload.file, sha256=upload.sha256)
        if dry:
            transaction.set_rollback(True)
    return found


def _arguments(upload: TableUpload, path: Path) -> tuple[list[str], dict[str, Any]]:
    """Return the command of the upload's kind with its file, and its options."""
    given = upload.options
    options: dict[str, Any]
    named = {name: column for column, name in upload.columns.items() if name != CRITERION}
    column = [f"{name}={of}" for name, of in named.items()]
    if upload.kind == "instructions":
        options = {"benchmark": upload.into, "column": column, "overall": given.get("scale", "")}
        return ["load_instructions", str(path)], options
    if upload.kind == "responses":
        model = "" if "model" in named else given.get("model", "")
        return ["load_responses", str(path)], {"benchmark": upload.into, "column": column, "model": model}
    options = {"study": upload.into, "column": column}
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


def rewritten(upload: TableUpload, scratch: Path, *, beginning: bool = False) -> Path:
    """Return the file or, where it is read in another encoding or with another separator, a copy in UTF-8 with commas.

    With `beginning` the copy ends after the first rows. Raises BadRow for what cannot be read so, and for a file that
    unpacks to more than it may.
    """
    if not (upload.encoding or upload.separator):
        return upload.path
    unpacked = upload.file[:-3] if upload.file.lower().endswith(".gz") else upload.file
    path = scratch / (Path(unpacked).stem + (Path(unpacked).suffix if not upload.separator else ".csv"))
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


class _Shown(Shown[TableUpload]):
    """Keeps how many rows were read."""

    rows = 0

    def after(self, steps: int) -> None:
        self.rows += steps
        self.change(rows=self.rows)
