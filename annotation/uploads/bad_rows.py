"""The bad rows that a check or load of an uploaded table found, kept as messages so that each reader has their language."""

import json
from collections.abc import Iterator
from typing import Any

from annotation.uploads.kept_files import TableUpload
from annotation.uploads.remedies import on_page
from core.messages.message import as_value, from_value
from core.tables.bad_rows import BadRow
from core.tables.formula_cells import CsvWriter, Writable
from core.tables.rows_left_out import SkippedRows

KEPT = "bad_rows.jsonl"
COLUMNS = ("file", "line", "reason", "remedy")


def keep_bad_rows(upload: TableUpload, skipped: SkippedRows) -> None:
    """Keep the problems of the last check or load, by line, in the upload's folder."""
    with (upload.folder / KEPT).open("w", encoding="utf-8") as file:
        for one in sorted(skipped.problems, key=lambda one: (one.file, one.line)):
            file.write(json.dumps(_values(one)) + "\n")


def _values(problem: BadRow) -> list[Any]:
    return [problem.file, problem.line, as_value(problem.reason), as_value(problem.remedy)]


def were_sought(upload: TableUpload) -> bool:
    """Whether the upload was checked or loaded, so that its bad rows are known."""
    return (upload.folder / KEPT).is_file()


def kept_bad_rows(upload: TableUpload) -> Iterator[tuple[str, int, str, str]]:
    """Yield file, line, reason and remedy of each bad row, as a page says them in the active language."""
    if not were_sought(upload):
        return
    with (upload.folder / KEPT).open(encoding="utf-8") as file:
        for line in file:
            name, number, *said = json.loads(line)
            reason, remedy = (on_page(from_value(one)) for one in said)
            yield name, number, reason, remedy


def write_bad_rows(upload: TableUpload, file: Writable) -> None:
    """Write the bad rows as CSV, in the active language."""
    writer = CsvWriter(file)
    writer.writerow(COLUMNS)
    for row in kept_bad_rows(upload):
        writer.writerow(row)
