"""Read a file that holds one JSON array of objects, each with the line on which it begins. PURE."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import lines
from generation.importers.messages import of_files

SPACE = " \t\r\n"


def json_array(path: Path, on_bad: OnBadRow = refuse, name: str = "") -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of the array. What follows a place that is no JSON cannot be read, which is reported once.

    Raises BadRow where the file is empty, not UTF-8 or no array.
    """
    name = name or path.name
    text = "".join(part for _number, part in lines(path, refuse, name))
    decoder, at, line = json.JSONDecoder(), _after_space(text, 0), 1
    if text[at : at + 1] != "[":
        raise BadRow(name, 1, of_files.NO_JSON_ARRAY(), of_files.RESTORE_IT())
    counted, at = 0, _after_space(text, at + 1)
    while text[at : at + 1] != "]":
        line += text.count("\n", counted, at)
        counted, place = at, Place(name, line)
        try:
            value, end = decoder.raw_decode(text, at)
            at = _after_space(text, end)
            if text[at : at + 1] not in ("]", ","):
                raise json.JSONDecodeError("no comma", text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            broken = Place(name, getattr(error, "lineno", line))
            on_bad(broken.bad(of_files.BROKEN_FROM_HERE(), of_files.RESTORE_FILE()))
            return
        if isinstance(value, dict):
            yield place, value
        else:
            on_bad(place.bad(of_files.ENTRY_NO_OBJECT(), of_files.RESTORE_FILE()))
        at = _after_space(text, at + 1) if text[at] == "," else at


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at
