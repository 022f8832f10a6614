"""Readers that yield the rows of a table one at a time: CSV, TSV, JSON Lines (plain or gzipped) or Parquet.

Every value is text, and a missing value is "". A problem with one row is passed to `on_bad`, and reading continues. A
problem with the whole file is raised as BadRow.
"""

import csv
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.formula_cells import unescaped
from core.text import storable

ROWS_AT_ONCE = 256
"""Parquet rows that are unpacked together; a value that is stored once can occur in every one of them."""
LEAST_EXPANDED = 256 * 1024 * 1024
"""Bytes that every compressed file may unpack to, whatever its size."""
LONGEST_LINE = 64 * 1024 * 1024
"""The maximum number of bytes in a line."""
most_expansion = 200
"""How many times its own size a larger file may unpack to; set from PLUMBLINE_TABLE_EXPANSION."""
STARTS_OF_JSON = frozenset('{["-0123456789tfnNI')
"""The characters with which a JSON value can start in Python's reader; other lines are refused without reading them."""
LONGEST_VALUE = 5_000_000
"""The maximum number of characters in a CSV value, a hundred times a long answer, so that an open quote is noticed."""


class Unpacked:
    """A counter of the bytes that a compressed file unpacks to. `take` raises BadRow above the limit."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.left = self.most = max(LEAST_EXPANDED, most_expansion * path.stat().st_size)

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise BadRow(
                self.name,
                0,
                f"the file unpacks to more than {self.most // 1024 // 1024:,} MB, which is more than {most_expansion} "
                "times its size",
                "unpack it yourself, or ask the operator of the server to raise PLUMBLINE_TABLE_EXPANSION",
            )


@dataclass(frozen=True, slots=True)
class Row:
    place: Place
    values: Mapping[str, str]


def open_bytes(path: Path, name: str) -> IO[bytes]:
    """Open the file for reading bytes, and unpack it if its name ends in .gz. Raises BadRow if it cannot be opened."""
    try:
        if path.suffix.lower() == ".gz":
            return cast(IO[bytes], gzip.open(path, "rb"))
        return path.open("rb")
    except OSError as error:
        raise BadRow(name, 0, f"the file cannot be opened ({error.strerror})", "check its name and folder") from error


def lines(path: Path, on_bad: OnBadRow = refuse, name: str = "") -> Iterator[tuple[int, str]]:
    """Yield (line number, text with its line end) of a UTF-8 text file; a byte order mark is skipped.

    Problems name the file `name`, or by its own name if none is given. Raises BadRow for a file that is empty, damaged or
    unreadable, or has a line of more than LONGEST_LINE bytes.
    """
    name = name or path.name
    number = 0
    packed = path.suffix.lower() == ".gz"
    with open_bytes(path, name) as file:
        unpacked = Unpacked(path, name)
        try:
            for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                if packed:
                    unpacked.take(len(raw))
                if len(raw) > LONGEST_LINE:
                    what = f"the line is longer than {LONGEST_LINE // 1024 // 1024} MB"
                    raise BadRow(name, number, what, "check its line ends, or remove the longest column")
                try:
                    yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    reason = f"byte {error.start + 1} of the line is not UTF-8"
                    on_bad(BadRow(name, number, reason, "save the file as UTF-8"))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            what = "the gzip file ends early" if isinstance(error, EOFError) else "the gzip file is damaged"
            raise BadRow(name, number + 1, what, "copy or download it again") from error
        except OSError as error:
            raise BadRow(name, 0, f"the file cannot be read ({error.strerror})", "check the file") from error
    if not number:
        raise BadRow(name, 0, "the file is empty", "check that the file was written or copied completely")


def json_lines(path: Path, on_bad: OnBadRow = refuse, name: str = "") -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file with their places; blank lines are skipped. Raises BadRow."""
    for number, line in lines(path, on_bad, name):
        stripped = line.lstrip()
        if not stripped:
            continue
        place = Place(name or path.name, number)
        try:
            if stripped[0] not in STARTS_OF_JSON:
                raise ValueError
            value = json.loads(line)
        except (ValueError, RecursionError):
            on_bad(place.bad("the line is not valid JSON", "write one JSON object per line"))
            continue
        if isinstance(value, dict):
            yield place, value
        else:
            on_bad(place.bad("the line is not a JSON object", "write one JSON object per line"))


def read_rows(path: Path, columns: Iterable[str] = (), on_bad: OnBadRow = refuse) -> Iterator[Row]:
    """Yield the rows of a table that must have `columns`; the ending of the file's name says its format.

    Raises BadRow if the file is not such a table, lacks a column or has no row.
    """
    wanted = list(dict.fromkeys(columns))
    reader = {
        ".csv": _csv_rows,
        ".tsv": _csv_rows,
        ".jsonl": _json_rows,
        ".ndjson": _json_rows,
        ".parquet": _parquet_rows,
    }.get(_format_of(path))
    if reader is None:
        raise BadRow(
            path.name,
            0,
            "the name does not end in .csv, .tsv, .jsonl (each also with .gz) or .parquet",
            "rename the file so that its ending says its format",
        )
    some = False
    for row in reader(path, wanted, on_bad):
        some = True
        yield row
    if not some:
        raise BadRow(
            path.name,
            0,
            "the file has no rows below its header",
            "check that the file was written or copied completely",
        )


def _format_of(path: Path) -> str:
    """Return the ending that says the format, such as .csv for a.csv.gz, or '' if there is none."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    return endings[-1] if endings else ""


def _require(place: Place, wanted: Sequence[str], known: Sequence[str]) -> None:
    present = set(known)
    for column in wanted:
        if column not in present:
            raise place.bad(f"there is no column {column!r}", _columns_said(known))


def _columns_said(known: Sequence[str]) -> str:
    """Return a sentence that lists the columns or, if there is only one, says which separator is wrong."""
    if not known:
        return "the line is empty; write the names of the columns in the first line"
    marks = [mark for mark in ";\t|" if len(known) == 1 and mark in known[0]]
    if marks:
        called = {"\t": "a tab"}.get(marks[0], repr(marks[0]))
        return f"the columns are separated by {called}; save the file with commas, or with tabs as .tsv"
    return f"the columns are {', '.join(known)}"


def _csv_rows(path: Path, wanted: Sequence[str], on_bad: OnBadRow) -> Iterator[Row]:
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for number, text in lines(path, on_bad):
            at = number
            yield storable(text)

    csv.field_size_limit(LONGEST_VALUE)
    reader = csv.reader(texts(), delimiter="\t" if _format_of(path) == ".tsv" else ",", strict=True)
    with _csv_errors(path, lambda: at):
        header = [unescaped(name) for name in next(reader, [])]
    _require_header(Place(path.name, 1), header, wanted)
    while True:
        with _csv_errors(path, lambda: at):
            values = next(reader, None)
        if values is None:
            return
        if not values:
            continue
        place = Place(path.name, at)
        if len(values) == len(header):
            yield Row(place, dict(zip(header, map(unescaped, values), strict=True)))
        else:
            on_bad(
                place.bad(
                    f"the row has {len(values)} values for {len(header)} columns", "quote values that contain commas"
                )
            )


def _require_header(place: Place, header: Sequence[str], wanted: Sequence[str]) -> None:
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise place.bad(f"there are two columns named {twice[0]!r}", "give each column its own name")
    _require(place, wanted, header)


@contextmanager
def _csv_errors(path: Path, line: Any) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        if "new-line character" in str(error):
            reason, remedy = (
                "its lines end in a single carriage return",
                "save the file with the line ends of Unix or Windows",
            )
        elif "field larger" in str(error):
            reason = f"a value is longer than {csv.field_size_limit():,} characters"
            remedy = "check the quotation marks in and above this line, or remove the column"
        else:
            reason, remedy = f"the file is not valid CSV ({error})", "check the quotation marks in and above this line"
        raise BadRow(path.name, line(), reason, remedy) from error


def _as_text(value: object) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bytes):
        return storable(value.decode(errors="replace"))
    return str(value)


def _json_rows(path: Path, wanted: Sequence[str], on_bad: OnBadRow) -> Iterator[Row]:
    first = True
    for place, value in json_lines(path, on_bad):
        if first:
            _require(place, wanted, list(value))
            first = False
        try:
            values = {key: _as_text(item) for key, item in value.items()}
        except RecursionError:
            on_bad(place.bad("the values are nested too deeply", "write them as text"))
            continue
        yield Row(place, {**dict.fromkeys(wanted, ""), **values})


def _parquet_rows(path: Path, wanted: Sequence[str], on_bad: OnBadRow) -> Iterator[Row]:
    import pyarrow as arrow
    from pyarrow import parquet

    open_bytes(path, path.name).close()
    try:
        unpacked = Unpacked(path, path.name)
        file = parquet.ParquetFile(path)
        _require(Place(path.name, 0), wanted, file.schema_arrow.names)
        line = 0
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            unpacked.take(batch.nbytes)
            for value in batch.to_pylist():
                line += 1
                yield Row(Place(path.name, line), {key: _as_text(item) for key, item in value.items()})
    except (arrow.ArrowException, OSError) as error:
        what = "the file is not valid Parquet" if path.stat().st_size else "the file is empty"
        raise BadRow(path.name, 0, what, "check that the file was written or copied completely") from error
