"""WildBench's tasks as rows of its data set: JSON Lines, Parquet, or an array of JSON; read from the set's description.

Each row has an id (in the first version a number, beside a session_id), conversation_input with its messages, checklist,
primary_tag and secondary_tags. The fields intent, references, length and appropriate are known and not loaded.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.tables import messages as of_tables
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import json_lines, read_rows
from core.text import storable
from generation.importers.instructions import LONGEST_NAME, ROLES, language_code
from generation.importers.json_arrays import json_array
from generation.importers.messages import of_files
from generation.importers.records import InstructionRecord

SCALE = "1:10"
"""Of the score by which a response is graded."""
RESTORE = of_files.RESTORE_FROM_SET()
SHORT_NUMBER = 6
"""An id of at most so many digits is a number of the first version, not a name."""
TAGS = (
    "Information seeking",
    "Advice seeking",
    "Creative Writing",
    "Editing",
    "Brainstorming",
    "Role playing",
    "Others",
    "Coding & Debugging",
    "Planning",
    "Reasoning",
    "Math",
    "Data Analysis",
)
TASK_FIELDS = frozenset(
    [
        "id",
        "session_id",
        "conversation_input",
        "checklist",
        "primary_tag",
        "secondary_tags",
        "intent",
        "references",
        "length",
        "appropriate",
    ]
)


def task_rows(path: Path, on_bad: OnBadRow = refuse) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield the rows of the tasks: JSON Lines, Parquet, or an array of JSON. Raises BadRow."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson")):
        rows: Iterator[tuple[Place, Mapping[str, Any]]] = json_lines(path, on_bad)
    elif name.endswith(".json"):
        rows = json_array(path, on_bad)
    elif name.endswith(".parquet"):
        rows = ((row.place, {key: _nested(text) for key, text in row.values.items()}) for row in read_rows(path))
    else:
        remedy = of_files.TASKS_FORMATS()
        raise BadRow(path.name, 0, of_files.UNKNOWN_ENDING(), remedy)
    for place, row in rows:
        inner = row.get("row")
        yield place, inner if isinstance(inner, dict) else row


def _nested(text: str) -> object:
    """A list or a structure of a Parquet column, which is read as JSON text."""
    if not text.startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def task_name(place: Place, row: Mapping[str, Any]) -> str:
    """Return the task's id, by which results name it; where that is a number, its session_id. Raises BadRow."""
    for field in ("id", "session_id"):
        name = row.get(field)
        if not isinstance(name, str) or not name.strip():
            continue
        if field == "id" and name.isdecimal() and len(name) <= SHORT_NUMBER and row.get("session_id"):
            continue
        if len(name) > LONGEST_NAME:
            raise place.bad(of_files.LONG_FIELD(field=repr(field)), of_tables.KEEP_IT(most=LONGEST_NAME))
        return storable(name).strip()
    raise place.bad(of_files.NO_ID(), RESTORE)


def task_of(place: Place, row: Mapping[str, Any]) -> InstructionRecord:
    turns = row.get("conversation_input")
    found = [(turn.get("role"), turn.get("content"), turn.get("language")) for turn in _dicts(turns)]
    if not found or len(found) != len(turns if isinstance(turns, list) else ()):
        raise place.bad(of_files.NO_CONVERSATION(), RESTORE)
    if any(role not in ROLES or not isinstance(content, str) for role, content, _language in found):
        raise place.bad(of_files.EMPTY_MESSAGE(), RESTORE)
    if found[-1][0] != "user":
        raise place.bad(of_files.NO_LAST_QUESTION(), RESTORE)
    *before, (_role, text, language) = found
    tags = _tags(place, row)
    return InstructionRecord(
        place=place,
        external_id=task_name(place, row),
        text=storable(str(text)),
        category=tags[0] if tags else "",
        history=tuple((str(role), storable(str(content))) for role, content, _language in before),
        language=language_code(place, language) if isinstance(language, str) else "",
        tags=tags,
        checklist=_checklist(place, row),
        overall=SCALE,
    )


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _tags(place: Place, row: Mapping[str, Any]) -> tuple[str, ...]:
    """The primary tag, then the secondary ones, each once. Raises BadRow for one that the benchmark does not have."""
    primary, secondary = row.get("primary_tag"), row.get("secondary_tags") or []
    written = [*([primary] if primary else []), *(secondary if isinstance(secondary, list) else [secondary])]
    known = {tag.casefold(): tag for tag in TAGS}
    tags = [known.get(str(tag).strip().casefold(), "") for tag in written]
    if "" in tags:
        unknown = str(written[tags.index("")])[:50]
        raise place.bad(of_files.NO_TAG(tag=repr(unknown)), of_files.TAGS_ARE(tags=", ".join(TAGS)))
    return tuple(dict.fromkeys(tags))


def _checklist(place: Place, row: Mapping[str, Any]) -> tuple[str, ...]:
    questions = row.get("checklist") or []
    if not isinstance(questions, list) or not all(isinstance(one, str) for one in questions):
        raise place.bad(of_files.NO_CHECKLIST(), RESTORE)
    return tuple(storable(one).strip() for one in questions if one.strip())
