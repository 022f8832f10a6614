"""The dialogs of LLMEval's two stages (arXiv 2312.07398): one question, and one model's reply to it. PURE.

Both repositories hold them as JSON arrays of objects with question_uuid, dialog_uuid, llm_name, dialog (a list of
{role: user or llm, content}), hint and type.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from core.tables.bad_rows import Place
from core.text import storable
from generation.importers.messages import of_files
from generation.importers.records import InstructionRecord, ResponseRecord

DIALOG_FIELDS = frozenset({"question_uuid", "dialog_uuid", "llm_name", "dialog", "hint", "type"})
ROLES = {"user": "user", "llm": "assistant", "assistant": "assistant", "system": "system"}
JUDGE = "GPT-4"
LANGUAGE = "zh-hans"
RESTORE = of_files.RESTORE_FILE()


class UnknownFields(Counter[str]):
    """Rows that have a field which the reader does not know, by "file pattern: field"."""

    def note(self, pattern: str, fields: Iterable[str]) -> None:
        self.update(f"{pattern}: {field}" for field in fields)


def name_of(place: Place, value: Mapping[str, Any], field: str) -> str:
    """Return a name, such as a question's; numbers are read as text. Raises BadRow where there is none."""
    found = value.get(field)
    if isinstance(found, int) and not isinstance(found, bool):
        found = str(found)
    if not isinstance(found, str) or not found.strip():
        raise place.bad(of_files.NO_TEXT(field=repr(field)), RESTORE)
    return storable(found.strip())


def response_of(
    place: Place, value: Mapping[str, Any], category: str, *, rubric: str = "", tags: tuple[str, ...] = ()
) -> ResponseRecord:
    """Return the reply with its question; what comes before them is the conversation's history. Raises BadRow."""
    turns = _turns(place, value.get("dialog"))
    asked = max((number for number, (role, _text) in enumerate(turns) if role == "user"), default=None)
    if asked is None:
        raise place.bad(of_files.NO_USER_TURN(), RESTORE)
    replies = [text for role, text in turns[asked + 1 :] if role == "assistant"]
    hint = value.get("hint")
    question = InstructionRecord(
        place,
        name_of(place, value, "question_uuid"),
        turns[asked][1],
        category,
        history=tuple(turns[:asked]),
        hint=storable(hint).strip() if isinstance(hint, str) else "",
        language=LANGUAGE,
        tags=tags,
        rubric=rubric,
    )
    return ResponseRecord(place, question, name_of(place, value, "llm_name"), replies[-1] if replies else None)


def _turns(place: Place, dialog: object) -> list[tuple[str, str]]:
    if not isinstance(dialog, list) or not dialog:
        raise place.bad(of_files.NO_DIALOG(), RESTORE)
    turns = []
    for turn in dialog:
        role, text = (turn.get("role"), turn.get("content")) if isinstance(turn, dict) else (None, None)
        if role not in ROLES or not isinstance(text, str):
            raise place.bad(of_files.BAD_TURN(), RESTORE)
        turns.append((ROLES[role], storable(text)))
    return turns


def squashed(name: str) -> str:
    """Return a name's letters alone, in lower case and in the singular, so that spellings of one name are equal."""
    return re.sub(r"[\W\d_]+", "", name.casefold()).removesuffix("s")


def size_of(path: Path) -> int:
    return path.stat().st_size
