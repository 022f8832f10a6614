"""All formats that are read, and which of them a file is written in. PURE."""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.messages.message import Message
from core.tables.bad_rows import BadRow, Place
from core.tables.messages import COPY_WHOLE, NO_ROWS
from generation.importers.formats import messages
from generation.importers.formats.alpaca_eval import ALPACA_ANNOTATIONS, ALPACA_OUTPUTS
from generation.importers.formats.arena import ARENA
from generation.importers.formats.argilla import ARGILLA
from generation.importers.formats.format import Format, Record
from generation.importers.formats.inspect_log import INSPECT_LOG
from generation.importers.formats.label_studio import LABEL_STUDIO
from generation.importers.formats.langfuse import LANGFUSE
from generation.importers.formats.lm_eval import LM_EVAL
from generation.importers.formats.openai_batch import OPENAI_BATCH
from generation.importers.formats.preference_pairs import PREFERENCE_PAIRS
from generation.importers.formats.promptfoo import PROMPTFOO_RESULTS
from generation.importers.formats.source import Source

FORMATS = {
    each.key: each
    for each in (
        LABEL_STUDIO,
        ALPACA_ANNOTATIONS,
        ALPACA_OUTPUTS,
        ARENA,
        PROMPTFOO_RESULTS,
        LM_EVAL,
        OPENAI_BATCH,
        LANGFUSE,
        PREFERENCE_PAIRS,
        ARGILLA,
        INSPECT_LOG,
    )
}
"""By the name that commands, pages and the API give them; a file is of the first that recognises it."""
MOST_FIELDS = 12
"""Fields that a sentence lists."""


@dataclass(frozen=True)
class Recognised:
    """The format of a file, and the sentence that says by what it was recognised."""

    format: Format
    reason: Message


def format_named(name: str) -> Format:
    """Return the format of this name. Raises UserError."""
    if name not in FORMATS:
        raise UserError(messages.NO_FORMAT(name=repr(name), known=", ".join(FORMATS)))
    return FORMATS[name]


def recognised(path: Path) -> Recognised | None:
    """Return the format of a file by its first row, None where none fits or nothing can be read."""
    try:
        return next(_by_rows(path), None)
    except UserError:
        return None


def _by_rows(path: Path) -> Iterator[Recognised]:
    archived = list(_archives(path))
    yield from archived
    if archived:
        return
    for row, within in _first_rows(path):
        for each in FORMATS.values():
            if (not within or tuple(each.within) == within) and (sign := each.sign_in(row)):
                yield Recognised(each, messages.HAS_FIELDS(fields=sorted(sign)))


def _archives(path: Path) -> Iterator[Recognised]:
    for each in FORMATS.values():
        if each.is_archive is not None and each.is_archive(path):
            yield Recognised(each, messages.IS_ARCHIVE(format=each.name))


def _first_rows(path: Path) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """Yield the first row of the file, as it is and at each place where a format keeps its rows."""
    places = dict.fromkeys([(), *(tuple(each.within) for each in FORMATS.values() if each.within)])
    for within in places:
        try:
            for _place, row in islice(Source(path, _pass).objects(within), 1):
                yield row, within
        except BadRow:
            continue


def _pass(problem: BadRow) -> None:
    """Pass over a bad row, which the load reports."""


def read_format(found: Format, source: Source) -> Iterator[Record]:
    """Yield the records of a file. Raises BadRow where its first row is not of the format, saying which one it fits."""
    _check(found, source)
    yield from found.read(source)


def _check(found: Format, source: Source) -> None:
    archived = next(_archives(source.path), None)
    if archived is not None and archived.format is found:
        return
    if archived is not None:
        raise _other_format(found, source, {}, archived)
    problems: list[BadRow] = []
    first = next(Source(source.path, problems.append).objects(found.within), None)
    if first is None:
        if problems:
            raise problems[0]
        raise Place(source.name, 0).bad(NO_ROWS(), COPY_WHOLE())
    row = first[1]
    if found.sign_in(row):
        return
    raise _other_format(found, source, row, recognised(source.path))


def _other_format(found: Format, source: Source, row: Mapping[str, Any], other: Recognised | None) -> BadRow:
    missing = min((sign - row.keys() for sign in found.signs), key=len, default=frozenset())
    remedy = messages.LOOKS_LIKE(format=other.format.name) if other else messages.FIELDS_ARE(fields=_some(row))
    return Place(source.name, 0).bad(
        messages.OTHER_FORMAT(format=found.name, field=", ".join(sorted(missing)) or found.lacking), remedy
    )


def _some(row: Mapping[str, Any]) -> list[str]:
    return [key[:40] for key in islice(row, MOST_FIELDS)]


def not_recognised(path: Path) -> BadRow:
    """Return the problem of a file of which no format is recognised: why it has no row, or which fields its first has."""
    row = next((row for row, _within in _first_rows(path)), {})
    if not row and (problem := _first_problem(path)):
        return problem
    return Place(path.name, 0).bad(messages.NOT_RECOGNISED(fields=_some(row)), messages.NAME_FORMAT())


def _first_problem(path: Path) -> BadRow | None:
    if path.is_file() and _begins_as_zip(path) and not zipfile.is_zipfile(path):
        return Place(path.name, 0).bad(messages.PART_OF_ARCHIVE(), COPY_WHOLE())
    problems: list[BadRow] = []
    try:
        row = next(Source(path, problems.append).objects(()), None)
    except BadRow as problem:
        return problem
    if problems or row is not None:
        return problems[0] if problems else None
    return Place(path.name, 0).bad(NO_ROWS(), COPY_WHOLE())


def _begins_as_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"
