"""CSV files whose text no spreadsheet runs as a formula, and the reading of such text. PURE.

A spreadsheet takes a cell for a formula by its first character, in quotation marks or not. Text of this kind is written
with an apostrophe before it, which spreadsheets take as "this is text". Numbers stay as they are.
"""

import csv
import re
from collections.abc import Iterable
from numbers import Number
from typing import Any, Protocol

STARTS = "=+\\-@\t\r\n＝＋－＠"
"""What a formula starts with; the full-width signs are those of a spreadsheet with East Asian settings."""
FORMULA = re.compile(rf"('*)[{STARTS}]", re.DOTALL)
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


class Writable(Protocol):
    def write(self, text: str, /) -> Any: ...


class CsvWriter:
    """The writer of every CSV file of Plumbline; None is an empty cell."""

    def __init__(self, file: Writable) -> None:
        self._writer = csv.writer(file)

    def writerow(self, values: Iterable[object]) -> None:
        self._writer.writerow([_cell(value) for value in values])


def escaped(text: str) -> str:
    """Return the text as a cell that no spreadsheet runs; `unescaped` gives it back unchanged.

    One apostrophe is added, or two where the text contains another apostrophe further on. So a cell such as '=' is a sign,
    which people write to quote a sign, is not taken for an escaped one when it is read.
    """
    match = FORMULA.match(text)
    if match is None or NUMBER.fullmatch(text):
        return text
    marks = len(match[1])
    if "'" not in text[match.end() :]:
        return f"'{text}"
    return text if marks == 1 else f"''{text}"


def unescaped(cell: str) -> str:
    """Return the text that `escaped` made the cell of; every other text is returned unchanged, as far as they differ."""
    match = FORMULA.match(cell)
    if match is None:
        return cell
    marks = len(match[1])
    if "'" not in cell[match.end() :]:
        return cell[1:] if marks else cell
    return cell if marks in (0, 1, 3) else cell[2:]


def _cell(value: object) -> object:
    if value is None:
        return ""
    return value if isinstance(value, Number) else escaped(str(value))
