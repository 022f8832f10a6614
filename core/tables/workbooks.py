"""The rows of a workbook's table (.xlsx), one at a time. PURE."""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError  # nosec B405 # the error alone, defusedxml parses

from core.tables import messages

MOST_COLUMNS = 16_384
"""The columns that a sheet can have."""
MOST_ROWS = 1_048_576
"""The rows that a sheet can have; a file may claim any number."""
MOST_PARTS = 10_000
"""The parts of which a workbook's file may consist; thousands of sheets have a few each."""


class NoWorkbook(Exception):
    """The file is no workbook with one table; the arguments are the reason and the remedy."""

    @property
    def reason(self) -> str:
        return str(self.args[0])

    @property
    def remedy(self) -> str:
        return str(self.args[1])


@contextmanager
def _damage() -> Iterator[None]:
    import defusedxml

    damaged = (
        zipfile.BadZipFile,
        ParseError,
        defusedxml.DefusedXmlException,
        KeyError,
        ValueError,
        TypeError,
        EOFError,
    )
    try:
        yield
    except (*damaged, IndexError, AttributeError, NotImplementedError) as error:
        raise NoWorkbook(messages.NO_WORKBOOK(), messages.SAVE_WORKBOOK()) from error


def check_size(path: Path, take: Callable[[int], None]) -> None:
    """Pass the size to which each part of the file unpacks to `take`, which raises above its limit. Raises NoWorkbook.

    The sizes are those that the file states; reading a part ends there.
    """
    with _damage(), zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        if len(parts) > MOST_PARTS:
            raise NoWorkbook(messages.MANY_PARTS(n=f"{len(parts):,}"), messages.SAVE_ALONE())
        for part in parts:
            take(part.file_size)


def workbook_rows(path: Path) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield (row number from 1, values) of the only sheet that has values; the first is the header, without empty ends.

    Formulas have the values that the program that saved the file computed. Later rows have one value more than the
    header, so that a value beside the table is seen. Rows without any value are left out. Raises NoWorkbook.
    """
    from openpyxl import load_workbook

    with _damage():
        book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    try:
        with _damage():
            sheets = [sheet for sheet in book.worksheets if _has_values(sheet)]
        if len(sheets) > 1:
            names = ", ".join(sheet.title for sheet in sheets)
            raise NoWorkbook(messages.SHEETS(n=len(sheets), names=names), messages.SAVE_ALONE())
        for sheet in sheets:
            yield from _rows_of(sheet)
    finally:
        book.close()


def _has_values(sheet: Any) -> bool:
    sheet.reset_dimensions()
    return any(value is not None for _number, row in _numbered(sheet, 1, MOST_COLUMNS) for value in row)


def _rows_of(sheet: Any) -> Iterator[tuple[int, Sequence[object]]]:
    for number, header in _numbered(sheet, 1, MOST_COLUMNS):
        width = max((place for place, value in enumerate(header, start=1) if value is not None), default=0)
        if width:
            yield number, header[:width]
            yield from (row for row in _numbered(sheet, number + 1, width + 1) if any(v is not None for v in row[1]))
            return


def _without_midnight(value: object) -> object:
    """A day as a date: workbooks keep it as midnight."""
    return value.date() if isinstance(value, datetime) and value.time() == time() else value


def _numbered(sheet: Any, first: int, columns: int) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield the rows from `first` on with their numbers and as many values each. Raises NoWorkbook."""
    with _damage():
        rows = sheet.iter_rows(min_row=first, max_col=columns, values_only=True)
    for number in range(first, MOST_ROWS + 1):
        with _damage():
            row = next(rows, None)
        if row is None:
            return
        yield number, [_without_midnight(value) for value in row]
    raise NoWorkbook(messages.MANY_ROWS(n=f"{MOST_ROWS:,}"), messages.SPLIT())
