"""Readers that yield the rows of a table one at a time: CSV, TSV, JSON (plain or gzipped), Parquet or a workbook.

Every value is text, and a missing value is "". A problem with one row is passed to `on_bad`, and reading continues. A
problem with the whole file is raised as BadRow.
"""

import codecs
import csv
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from core.tables import messages
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.formula_cells import unescaped
from core.tables.json_arrays import BrokenArray, array_elements
from core.tables.paths import may_lead
from core.tables.rows import Row as Row, as_text, row_of
from core.tables.workbooks import NoWorkbook, check_size, workbook_rows
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
PIECE = 1 << 20
"""How many bytes of a JSON array are read at once."""
WIDE_STARTS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
"""What a text file begins with that another program saved as "Unicode"; UTF-32 LE begins like UTF-16 LE."""


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
                messages.UNPACKS_TO(most=f"{self.most // 1024 // 1024:,}", times=most_expansion),
                messages.UNPACK_YOURSELF(),
            )


def open_bytes(path: Path, name: str) -> IO[bytes]:
    """Open the file for reading bytes, and unpack it if its name ends in .gz. Raises BadRow if it cannot be opened."""
    try:
        if path.suffix.lower() == ".gz":
            return cast(IO[bytes], gzip.open(path, "rb"))
        return path.open("rb")
    except OSError as error:
        raise BadRow(name, 0, messages.NOT_OPENED(words=error.strerror), messages.CHECK_NAME()) from error


def lines(path: Path, on_bad: OnBadRow = refuse, name: str = "") -> Iterator[tuple[int, str]]:
    """Yield (line number, text with its line end) of a UTF-8 text file; a byte order mark is skipped.

    Problems name the file `name`, or by its own name if none is given. Raises BadRow for a file that is empty, damaged or
    unreadable, is UTF-16, or has a line of more than LONGEST_LINE bytes.
    """
    for number, text, problem in _decoded(path, name or path.name):
        if problem is None:
            yield number, text
        else:
            on_bad(problem)


def _decoded(path: Path, name: str) -> Iterator[tuple[int, str, BadRow | None]]:
    """Yield (line number, text, None), or with U+FFFD for what is not UTF-8 and the problem. Raises BadRow."""
    number = 0
    packed = path.suffix.lower() == ".gz"
    with _reading(path, name, lambda: number + 1) as file:
        unpacked = Unpacked(path, name)
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
            if packed:
                unpacked.take(len(raw))
            if len(raw) > LONGEST_LINE:
                what = messages.LONG_LINE(most=LONGEST_LINE // 1024 // 1024)
                raise BadRow(name, number, what, messages.LINE_ENDS_OR_COLUMN())
            if number == 1:
                _refuse_wide(raw, name)
            encoding = "utf-8-sig" if number == 1 else "utf-8"
            try:
                yield number, raw.decode(encoding), None
            except UnicodeDecodeError as error:
                yield number, raw.decode(encoding, "replace"), _not_utf8(raw, error, name, number)
    if not number:
        raise _empty(name)


@contextmanager
def _reading(path: Path, name: str, line: Callable[[], int]) -> Iterator[IO[bytes]]:
    """Open the file; damage that reading meets is raised as BadRow of the line that `line` gives."""
    with open_bytes(path, name) as file:
        try:
            yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            what = messages.GZIP_ENDS() if isinstance(error, EOFError) else messages.GZIP_DAMAGED()
            raise BadRow(name, line(), what, messages.COPY_AGAIN()) from error
        except OSError as error:
            raise BadRow(name, 0, messages.NOT_READ(words=error.strerror), messages.CHECK_FILE()) from error


def _refuse_wide(start: bytes, name: str) -> None:
    """Raise BadRow if the file is UTF-16 or UTF-32, with or without its mark."""
    if start.startswith(WIDE_STARTS) or b"\0" in start[:2]:
        raise BadRow(name, 0, messages.WIDE(), messages.SAVE_AS_UTF8())


def _not_utf8(raw: bytes, error: UnicodeDecodeError, name: str, number: int) -> BadRow:
    reason, remedy = messages.NOT_UTF8(byte=error.start + 1), messages.SAVE_AS_UTF8()
    try:
        text = raw.decode("gb18030")
    except UnicodeDecodeError:
        return BadRow(name, number, reason, remedy)
    if any("\u4e00" <= letter <= "\u9fff" for letter in text):
        reason = messages.PERHAPS_GBK(byte=error.start + 1)
    return BadRow(name, number, reason, remedy)


def _empty(name: str) -> BadRow:
    return BadRow(name, 0, messages.EMPTY(), messages.COPY_WHOLE())


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
            on_bad(place.bad(messages.NOT_JSON(), messages.OBJECT_PER_LINE()))
            continue
        if isinstance(value, dict):
            yield place, value
        else:
            on_bad(place.bad(messages.NO_OBJECT(), messages.OBJECT_PER_LINE()))


def read_rows(
    path: Path, columns: Iterable[str] = (), on_bad: OnBadRow = refuse, *, met: dict[str, None] | None = None
) -> Iterator[Row]:
    """Yield the rows of a table that must have `columns`; the ending of the file's name says its format.

    `met`, if given, gets the names of all columns, in the order in which they appear. Raises BadRow if the file is not
    such a table, lacks a column or has no row.
    """
    wanted = list(dict.fromkeys(columns))
    reader = {
        ".csv": _csv_rows,
        ".tsv": _csv_rows,
        ".jsonl": _json_rows,
        ".ndjson": _json_rows,
        ".json": _json_rows,
        ".parquet": _parquet_rows,
        ".xlsx": _workbook_rows,
    }.get(format_of(path))
    if reader is None or (path.suffix.lower() == ".gz" and reader in (_parquet_rows, _workbook_rows)):
        raise BadRow(path.name, 0, messages.ENDING(), messages.RENAME())
    some = False
    problems: list[BadRow] = []

    def note(problem: BadRow) -> None:
        del problems[1:]
        problems.append(problem)
        on_bad(problem)

    for row in reader(path, wanted, note):
        some = True
        if met is not None:
            met.update(dict.fromkeys(row.values))
        yield row
    if not some and problems:
        raise problems[0]
    if not some:
        raise BadRow(path.name, 0, messages.NO_ROWS(), messages.COPY_WHOLE())


def format_of(path: Path) -> str:
    """Return the ending that says the format, such as .csv for a.csv.gz, or '' if there is none."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    return endings[-1] if endings else ""


def _require(place: Place, wanted: Sequence[str], known: Sequence[str]) -> None:
    present = set(known)
    for column in wanted:
        if column not in present:
            raise place.bad(messages.NO_COLUMN(column=repr(column)), _columns_said(known))


def _require_paths(place: Place, wanted: Sequence[str], known: Sequence[str]) -> None:
    """As _require, where a dotted path is there if its beginning is a column: its end may be missing in some rows."""
    _require(place, [column for column in wanted if not may_lead(column, known)], known)


def _columns_said(known: Sequence[str]) -> str:
    """Return a sentence that lists the columns or, if there is only one, says which separator is wrong."""
    if not known:
        return messages.NO_HEADER()
    marks = [mark for mark in ";\t|" if len(known) == 1 and mark in known[0]]
    if marks:
        called = {"\t": "a tab"}.get(marks[0], repr(marks[0]))
        return messages.SEPARATED_BY(mark=called)
    return messages.THE_COLUMNS(columns=", ".join(known))


def _csv_rows(path: Path, wanted: Sequence[str], on_bad: OnBadRow) -> Iterator[Row]:
    at = 0
    undecoded: list[BadRow] = []

    def texts() -> Iterator[str]:
        nonlocal at
        for number, text, problem in _decoded(path, path.name):
            at = number
            if problem is not None:
                undecoded.append(problem)
            yield storable(text)

    csv.field_size_limit(LONGEST_VALUE)
    stream = texts()
    separator = "\t" if format_of(path) == ".tsv" else ","
    reader = csv.reader(stream, delimiter=separator, strict=True)
    with _csv_errors(path, lambda: at, refuse):
        header = [unescaped(name) for name in next(reader, [])]
    if undecoded:
        raise undecoded[0]
    _require_header(Place(path.name, 1), header, wanted)
    while True:
        values: list[str] | None = []
        with _csv_errors(path, lambda: at, on_bad) as broken:
            values = next(reader, None)
        if values is None:
            return
        if broken:
            reader = csv.reader(stream, delimiter=separator, strict=True)
        elif undecoded:
            on_bad(undecoded[0])
        elif values:
            place = Place(path.name, at)
            if len(values) == len(header):
                yield Row(place, dict(zip(header, map(unescaped, values), strict=True)))
            else:
                reason = messages.OTHER_LENGTH(values=len(values), columns=len(header))
                on_bad(place.bad(reason, messages.QUOTE()))
        undecoded.clear()


def _require_header(place: Place, header: Sequence[str], wanted: Sequence[str]) -> None:
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise place.bad(messages.TWO_COLUMNS(column=repr(twice[0])), messages.NAME_EACH())
    _require(place, wanted, header)


@contextmanager
def _csv_errors(path: Path, line: Callable[[], int], on_bad: OnBadRow) -> Iterator[list[BadRow]]:
    """Pass what csv refuses to `on_bad`, and list it; line ends that no line of the file can be read with are raised."""
    broken: list[BadRow] = []
    try:
        yield broken
    except csv.Error as error:
        if "new-line character" in str(error):
            reason, remedy = (messages.OLD_LINE_ENDS(), messages.NEW_LINE_ENDS())
            raise BadRow(path.name, line(), reason, remedy) from error
        if "field larger" in str(error):
            reason = messages.LONG_VALUE(most=f"{csv.field_size_limit():,}")
            remedy = messages.QUOTES_OR_COLUMN()
        elif "unexpected end of data" in str(error):
            reason, remedy = messages.OPEN_QUOTE(), messages.CHECK_QUOTES()
        else:
            reason, remedy = messages.BAD_CSV(words=error), messages.CHECK_QUOTES()
        broken.append(BadRow(path.name, line(), reason, remedy))
        on_bad(broken[0])


def _json_rows(path: Path, wanted: Sequence[str], on_bad: OnBadRow) -> Iterator[Row]:
    array = format_of(path) == ".json"
    first = True
    for place, value in json_objects(path, on_bad) if array else json_lines(path, on_bad):
        if first:
            _require_paths(place, wanted, list(value))
            first = False
        try:
            row = row_of(place, value, wanted)
        except RecursionError:
            on_bad(place.bad(messages.TOO_NESTED(), messages.AS_TEXT()))
            continue
        yield row


@dataclass(frozen=True, slots=True)
class ElementPlace(Place):
    """The place of an element of a JSON array, which may share its line with all others."""

    number: int

    def bad(self, reason: str, remedy: str) -> BadRow:
        return BadRow(self.file, self.line, messages.IN_ELEMENT(number=self.number, reason=reason), remedy)


def json_objects(path: Path, on_bad: OnBadRow = refuse, name: str = "") -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a JSON array, read in pieces, with their places; or of JSON Lines, if no array begins the file.

    Where the array is broken, the problem is passed to `on_bad` and what follows is not read. Raises BadRow.
    """
    name = name or path.name
    pieces = text_pieces(path, name)
    start = ""
    for piece in pieces:
        start += piece
        if start.strip():
            break
    if start.lstrip()[:1] == "{":
        pieces.close()
        yield from _single_objects(path, on_bad, name)
        return
    try:
        for element in array_elements(chain([start], pieces), LONGEST_LINE):
            place = ElementPlace(name, element.line, element.number)
            if not element.decoded:
                on_bad(place.bad(messages.BYTES_NOT_UTF8(), messages.SAVE_AS_UTF8()))
            elif isinstance(element.value, dict):
                yield place, element.value
            else:
                on_bad(place.bad(messages.ELEMENT_NO_OBJECT(), messages.OBJECT_PER_ROW()))
    except BrokenArray as error:
        on_bad(BadRow(name, error.line, error.reason, messages.ONE_ARRAY()))


def _single_objects(path: Path, on_bad: OnBadRow, name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of JSON Lines; a file of one object over several lines is no table. Raises BadRow."""
    some = False

    def bad(problem: BadRow) -> None:
        if not some:
            what = messages.NEITHER_FORM()
            raise BadRow(name, problem.line, what, messages.ROWS_AS_ARRAY()) from problem
        on_bad(problem)

    for place, value in json_lines(path, bad, name):
        some = True
        yield place, value


def text_pieces(path: Path, name: str) -> Generator[str]:
    """Yield the text of a UTF-8 file in pieces; other bytes are decoded by surrogateescape. Raises BadRow."""
    packed = path.suffix.lower() == ".gz"
    decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    line = 1
    with _reading(path, name, lambda: line) as file:
        unpacked = Unpacked(path, name)
        raw = file.read(PIECE)
        if not raw:
            raise _empty(name)
        _refuse_wide(raw, name)
        while raw:
            if packed:
                unpacked.take(len(raw))
            line += raw.count(b"\n")
            yield decoder.decode(raw)
            raw = file.read(PIECE)
        yield decoder.decode(b"", final=True)


def parquet_objects(path: Path, wanted: Sequence[str] = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the rows of a Parquet file as they are, with their places. Raises BadRow."""
    import pyarrow as arrow
    from pyarrow import parquet

    open_bytes(path, path.name).close()
    try:
        unpacked = Unpacked(path, path.name)
        file = parquet.ParquetFile(path)
        _require_paths(Place(path.name, 0), wanted, file.schema_arrow.names)
        line = 0
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            unpacked.take(batch.nbytes)
            for value in batch.to_pylist():
                line += 1
                yield Place(path.name, line), value
    except (arrow.ArrowException, OSError) as error:
        what = messages.NO_PARQUET() if path.stat().st_size else messages.EMPTY()
        raise BadRow(path.name, 0, what, messages.COPY_WHOLE()) from error


def _parquet_rows(path: Path, wanted: Sequence[str], on_bad: OnBadRow) -> Iterator[Row]:
    for place, value in parquet_objects(path, wanted):
        yield row_of(place, value, wanted)


def _workbook_rows(path: Path, wanted: Sequence[str], on_bad: OnBadRow) -> Iterator[Row]:
    open_bytes(path, path.name).close()
    if not path.stat().st_size:
        raise _empty(path.name)
    try:
        check_size(path, Unpacked(path, path.name).take)
        unpacked = Unpacked(path, path.name)
        header: list[str] = []
        for number, values in workbook_rows(path):
            place = Place(path.name, number)
            texts = [as_text(value) for value in values]
            if not header:
                header = _header_of(place, texts, wanted)
                continue
            unpacked.take(sum(map(len, texts)))
            if texts[len(header) :] and texts[len(header)]:
                on_bad(place.bad(messages.VALUE_BESIDE(), messages.NAME_OR_REMOVE()))
                continue
            yield Row(place, dict(zip(header, texts, strict=False)))
    except NoWorkbook as error:
        raise BadRow(path.name, 0, error.reason, error.remedy) from error


def _header_of(place: Place, names: list[str], wanted: Sequence[str]) -> list[str]:
    if "" in names:
        raise place.bad(messages.NAMELESS_COLUMN(number=names.index("") + 1), messages.NAME_EACH())
    _require_header(place, names, wanted)
    return names
