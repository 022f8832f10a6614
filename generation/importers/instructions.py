"""Rows of a table -> instructions: a finished prompt, a conversation, or a task with its data and requirements."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.tables import messages
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import Row, read_rows
from core.text import storable
from generation.importers.records import InstructionRecord, PromptParts
from generation.importers.tidy import EMPTY_WORDS, LARGEST_WHOLE
from generation.llm.protocol.wrapping import wrap

COLUMNS = (
    "instruction",
    "prompt",
    "messages",
    "task",
    "data",
    "requirements",
    "category",
    "parent",
    "words_asked",
    "language",
    "reference",
    "hint",
    "tags",
    "checklist",
    "rubric",
    "user",
    "difficulty",
)
NAMED_ONLY = ("user", "difficulty")
"""Columns that are read only where they are named, since other files use these names for other things."""
BY_OWN_NAME = tuple(name for name in COLUMNS if name not in NAMED_ONLY)
PARTS = ("task", "data", "requirements")
PARTED = ("prompt", "task", "data", "hint")
"""Columns whose value may be a list of texts, which are parts of one text."""
LISTS = ("requirements", "tags", "checklist", "difficulty")
ROLES = ("system", "user", "assistant")
LONGEST_NAME, LONGEST_KEY, LONGEST_LANGUAGE = 200, 100, 10
LANGUAGES = {
    "english": "en",
    "chinese": "zh-hans",
    "中文": "zh-hans",
    "汉语": "zh-hans",
    "英文": "en",
    "英语": "en",
    "zh": "zh-hans",
    "zh-cn": "zh-hans",
    "zh_cn": "zh-hans",
}
LEVELS = ("very easy", "easy", "medium", "hard", "very hard")
"""How hard an instruction is, on WildBench's scale (arXiv 2406.04770, section 2); a rating is the place counted from 1."""
LEVELS_ZH = ("很容易", "容易", "中等", "难", "很难")
_LIST_MARK = re.compile(r"(?<!\s)\s*(?:[-*•·]\s+|\(?\d{1,2}[.):]\s+|\d{1,2}[、．）])")


@dataclass(frozen=True)
class InstructionLayout:
    """Which column of a file holds what.

    `named` gives our name -> the file's column. Those of `by_own_name` go by their own where nothing else is named;
    of these the parts of a prompt count only in rows that have no prompt, since "task" and "data" may be anything.
    `language` is that of all rows that say none, `rubric` the rubric of those that name none, and `overall` the scale of
    the overall score that each instruction's own rubric gets.
    """

    named: Mapping[str, str]
    by_own_name: Collection[str] = BY_OWN_NAME
    language: str = ""
    rubric: str = ""
    overall: str = ""

    def column_of(self, name: str) -> str:
        """The file's column for one of our names, '' where none is read."""
        return self.named.get(name, name if name in self.by_own_name else "")

    def value(self, row: Row, name: str) -> str:
        """The text of a column: of a list its parts, with a blank line between them where the column may have several.

        Messages, requirements, tags, checklists and difficulties may be lists as JSON. Raises BadRow for a list where
        one value belongs.
        """
        column = self.column_of(name)
        if column not in row.nested or name == "messages":
            return row.values.get(column, "") if column else ""
        if name in PARTED:
            return "\n\n".join(row.texts(column))
        return json.dumps(row.texts(column), ensure_ascii=False) if name in LISTS else row.one(column)


def read_instructions(
    path: Path, layout: InstructionLayout, on_bad: OnBadRow = refuse, *, met: dict[str, None] | None = None
) -> Iterator[InstructionRecord]:
    """The instructions of a table, each of its own name and with something that is asked; `met` as in read_rows."""
    seen: set[str] = set()
    needed = ["instruction", *layout.named] if "instruction" not in layout.named else list(layout.named)
    for row in read_rows(path, [layout.named.get(name, name) for name in needed], on_bad, met=met):
        try:
            record = instruction_of(row, layout)
            if record.external_id in seen:
                said = messages.INSTRUCTION_TWICE(name=repr(record.external_id))
                raise row.place.bad(said, messages.KEEP_ONE())
            if record.text is None:
                raise row.place.bad(
                    f"nothing is asked in {record.external_id!r}", "give it a prompt, its messages or a task"
                )
            seen.add(record.external_id)
        except BadRow as problem:
            on_bad(problem)
            continue
        yield record


def instruction_of(row: Row, layout: InstructionLayout) -> InstructionRecord:
    """What a row says of its instruction; without a text where it says nothing of what is asked. Raises BadRow."""
    name = layout.value(row, "instruction").strip()
    if not name:
        raise row.place.bad("it names no instruction", "fill that column in")
    if len(name) > LONGEST_NAME:
        raise row.place.bad("the instruction's name is too long", f"keep names to {LONGEST_NAME} characters")
    language = language_code(row.place, layout.value(row, "language") or layout.language)
    text, history, parts = _asked(row, layout, language)
    return InstructionRecord(
        place=row.place,
        external_id=name,
        text=text,
        history=history,
        parts=parts,
        category=_key(row, layout, "category"),
        parent=_key(row, layout, "parent"),
        words_asked=whole(row.place, "number of words", layout.value(row, "words_asked")),
        reference=layout.value(row, "reference").strip(),
        hint=layout.value(row, "hint").strip(),
        language=language,
        tags=_tags(row, layout),
        rubric=_key(row, layout, "rubric") or layout.rubric,
        checklist=requirements_in(layout.value(row, "checklist")),
        overall=layout.overall,
        asked_by=_user(row, layout),
        difficulty=_difficulty(row, layout),
    )


def _asked(
    row: Row, layout: InstructionLayout, language: str
) -> tuple[str | None, tuple[tuple[str, str], ...], PromptParts | None]:
    """The text asked, what was said before it, and what it was put together from."""
    if _is_chat(row.nested.get(layout.column_of("prompt"))):
        prompt, chat = "", row.values[layout.column_of("prompt")]
    else:
        prompt, chat = layout.value(row, "prompt"), layout.value(row, "messages").strip()
    by_chance = (prompt.strip() or chat) and not any(name in layout.named for name in PARTS)
    task, data, demands = ("", "", "") if by_chance else (layout.value(row, name) for name in PARTS)
    given = [what for what, text in (("a prompt", prompt), ("messages", chat), ("a task", task)) if text.strip()]
    if len(given) > 1:
        raise row.place.bad(f"it has both {given[0]} and {given[1]}", "say in one way what is asked")
    if prompt.strip():
        return prompt, (), None
    if chat:
        *before, (_role, last) = _turns(row.place, chat)
        return last, tuple(before), None
    if not task.strip():
        if data.strip() or demands.strip():
            raise row.place.bad("it has data or requirements and no task", "say in the task what to do with them")
        return None, (), None
    parts = PromptParts(task.strip(), data.strip(), requirements_in(demands))
    return wrap(parts.task, parts.data, parts.requirements, language=language), (), parts


def _is_chat(prompt: object) -> bool:
    """Whether a prompt is written as a list of messages."""
    return isinstance(prompt, list) and any(isinstance(part, dict) for part in prompt)


def _turns(place: Place, text: str) -> list[tuple[str, str]]:
    """A chat written as JSON: it ends with what its user says, which is what the model answers."""
    try:
        turns = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise place.bad(
            "its messages are not JSON", 'write them as [{"role": "user", "content": "..."}, ...]'
        ) from error
    found: list[tuple[str, str]] = []
    for turn in turns if isinstance(turns, list) else [turns]:
        role, content = (turn.get("role"), turn.get("content")) if isinstance(turn, dict) else (None, None)
        if role not in ROLES or not isinstance(content, str):
            raise place.bad(
                f"message {len(found) + 1} is none with a role of {', '.join(ROLES)} and a text as its content",
                'write messages as [{"role": "user", "content": "..."}, ...]',
            )
        found.append((role, storable(content)))
    if not found or found[-1][0] != "user" or not found[-1][1].strip():
        raise place.bad(
            "its messages do not end with something that the user says", "leave out the answer that is to be written"
        )
    return found


def requirements_in(text: str) -> tuple[str, ...]:
    """A JSON list, or one requirement a line; numbers and dashes before them go, since they are numbered anew."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    lines = [str(one) for one in listed] if isinstance(listed, list) else text.splitlines()
    plain = (_LIST_MARK.sub("", storable(line), count=1).strip() for line in lines)
    return tuple(line for line in plain if line)


def whole(place: Place, what: str, text: str) -> int | None:
    """A whole number from 0 up that every database keeps, None where there is none. Raises BadRow."""
    text = text.strip()
    if text.lower() in EMPTY_WORDS:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= LARGEST_WHOLE or number != int(number):
        raise place.bad(f"{text[:40]!r} is no {what}", "write a whole number or leave it empty")
    return int(number)


def language_code(place: Place, text: str) -> str:
    """Such as en or zh-hans, also from a language's English name. Raises BadRow."""
    text = text.strip().lower()
    code = LANGUAGES.get(text, "" if text in EMPTY_WORDS else text)
    if len(code) > LONGEST_LANGUAGE:
        raise place.bad(f"{text[:40]!r} is no language", "write its code, such as en or zh-hans")
    return code


def _key(row: Row, layout: InstructionLayout, name: str) -> str:
    key = layout.value(row, name).strip()
    if len(key) > LONGEST_KEY:
        raise row.place.bad(f"the {name} {key[:30]!r}... is too long", f"keep its name to {LONGEST_KEY} characters")
    return key


def _tags(row: Row, layout: InstructionLayout) -> tuple[str, ...]:
    """A JSON list, or words with commas between."""
    text = layout.value(row, "tags").strip()
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    words = [str(one) for one in listed] if isinstance(listed, list) else re.split("[,，;；]", text)
    tags = tuple(dict.fromkeys(storable(word).strip() for word in words if word.strip()))
    if any(len(tag) > LONGEST_KEY for tag in tags):
        raise row.place.bad("a tag is too long", f"keep tags to {LONGEST_KEY} characters")
    return tags


def _user(row: Row, layout: InstructionLayout) -> str:
    user = storable(layout.value(row, "user")).strip()
    if len(user) > LONGEST_NAME:
        raise row.place.bad("the user's id is too long", f"keep it to {LONGEST_NAME} characters")
    return user


def _difficulty(row: Row, layout: InstructionLayout) -> tuple[int, ...]:
    """Ratings of one or several raters: a JSON list, or with commas between."""
    text = layout.value(row, "difficulty").strip()
    if text.lower() in EMPTY_WORDS:
        return ()
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    written = [str(one) for one in listed] if isinstance(listed, list) else re.split("[,，;；]", text)
    ratings = [difficulty_rating(one) for one in written if one.strip()]
    if None in ratings:
        known = f"write {', '.join(LEVELS)}, or 1 to {len(LEVELS)}"
        raise row.place.bad(f"{text[:40]!r} is no difficulty", known)
    return tuple(rating for rating in ratings if rating is not None)


def difficulty_rating(text: str) -> int | None:
    """The rating from 1 to 5 that a level or a number states; None where it states none."""
    text = " ".join(text.strip().casefold().split())
    for levels in (LEVELS, LEVELS_ZH):
        if text in levels:
            return levels.index(text) + 1
    return int(text) if text in ("1", "2", "3", "4", "5") else None
