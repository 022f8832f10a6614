"""Which column of a table is what: by the options given, then by names, then by what the columns hold. PURE."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from core.errors import UserError
from core.messages.message import Message
from core.tables import messages as table_messages
from core.tables.bad_rows import BadRow
from core.tables.reading import read_rows
from judging.audit import messages
from judging.audit.report import ColumnChoice

NAMED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "item": (
        ("item_id", "item"),
        ("question_uuid", "question_id", "prompt_id", "instruction_id", "task_id", "example_id", "sample_id", "doc_id"),
        ("session_id", "dialogue_id", "dialog_id", "story_id"),
        ("id", "idx", "index", "uid", "uuid"),
        ("instruction", "prompt", "question"),
    ),
    "model": (("model", "system", "generator", "llm_name", "model_name", "llm", "model_id"),),
    "criterion": (("criterion", "criteria", "metric", "dimension", "aspect", "attribute"),),
    "rater": (
        ("rater", "rater_id", "annotator", "annotator_id", "annotator_slot", "annotator_pos", "evaluator", "judge"),
        ("worker", "worker_id", "user", "user_id", "completed_by"),
    ),
    "kind": (("rater_kind", "rater_type", "annotator_type", "annotator_kind", "evaluator_type"), ("kind", "source")),
    "score": (("score", "rating", "stars", "preference", "winner", "verdict", "label", "value", "answer"),),
    "position": (("position", "shown_position", "position_shown"),),
    "format": (("format", "formatted", "is_formatted", "markdown", "has_markdown", "is_markdown"),),
    "time": (("judged_at",), ("submitted_at",), ("created_at",), ("timestamp", "tstamp"), ("datetime", "date", "time")),
}
"""Names of columns for each role, the best first; two of one rank are two readings."""
LENGTH = re.compile(
    r"(?:(?:response|output|answer|completion|text|n|num)_?)?(?:length|len|chars?|characters|words?|tokens?)(?:_?count)?"
)
TEXT = re.compile(r"(?:model_)?(?:response|output|answer_text|completion|text|response_text)")
FORMAT = re.compile(r"(?:(?:response|output|answer|completion|text)_?)?(?:format|formatted|markdown)|has_markdown")
SIDE_OF = re.compile(r"(?P<stem>.+?)_?(?P<side>1|2|a|b|left|right|first|second)")
OTHER_SIDE = {"1": "2", "a": "b", "left": "right", "first": "second"}
SIDES = re.compile(r"(?:model|system|generator|llm|model_name)")
PERSON = re.compile(r"(?:human|annotator|rater|person|people|crowd|expert|worker|user|evaluator)(?:_?.*)")
JUDGE = re.compile(
    r"(?:.*_)?(?:ai_)?(?:judge|autorater|llm|gpt|chatgpt|claude|gemini|llama|qwen|mistral|mixtral|deepseek|prometheus|"
    r"pandalm|beluga|orca|gemma|command_r|palm|verdict)(?:[\d_].*)?|judge.*|gpt\d.*|.*_judge"
)
NO_VALUES = re.compile(
    r".*(?:length|len|chars|characters|words|tokens|time|seconds|order|position|prompt|response|output|text|reason|reasoning|"
    r"explanation|comment|rationale|name|model|version|cost|id|uuid|kind|type|count|at|date|timestamp|format)(?:_?(?:1|2|a|b|s))?"
)
READING_ENDS = {
    wording.code
    for wording in (
        table_messages.ARRAY_OPEN,
        table_messages.BAD_CSV,
        table_messages.BAD_ELEMENT,
        table_messages.LONG_ELEMENT,
        table_messages.LONG_VALUE,
        table_messages.NESTED_ELEMENT,
        table_messages.NO_COMMA,
        table_messages.OPEN_QUOTE,
        table_messages.TEXT_AFTER,
    )
}
"""What leaves the rest of a file unread: an audit of a part would be taken for one of the whole."""
MACHINE_KINDS = {"judge", "llm", "model", "machine", "llm_judge", "auto", "ai", "automatic"}
MOST_LABELS = 20
EARLIEST, LATEST = 6e8, 4e9
"""Seconds since 1970, from 1989 to 2096: other numbers are durations or counts."""
LARGEST = 1e60
"""No score and no length is larger; squares of larger numbers have no place in a float."""
OPTION = {"people": "--people COLUMN", "judge": "--judge COLUMN"}


@dataclass(frozen=True)
class AuditTable:
    """A table in memory: its columns, each as long as the table, and the line of each row."""

    file: str
    columns: Mapping[str, Sequence[str]]
    lines: Sequence[int]
    bad_rows: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class AuditOptions:
    """What the options say: columns (or raters) of people and of judges, and columns by role."""

    people: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnLayout:
    """Which column is what; "" where there is none.

    `people` and `judges` are columns of a wide table, and raters of a long one.
    """

    shape: Literal["wide", "long"]
    item: str = ""
    model: str = ""
    sides: tuple[str, ...] = ()
    criterion: str = ""
    rater: str = ""
    score: str = ""
    position: str = ""
    time: str = ""
    formats: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    choices: tuple[ColumnChoice, ...] = ()


def read_table(path: Path) -> AuditTable:
    """Read a whole table; single rows that cannot be read are left out and kept as sentences. Raises BadRow."""
    bad: list[str] = []

    def keep(problem: BadRow) -> None:
        if not problem.line or getattr(problem.reason, "code", "") in READING_ENDS:
            raise problem
        bad.append(str(problem))

    columns: dict[str, list[str]] = {}
    lines: list[int] = []
    for row in read_rows(path, on_bad=keep):
        for name, value in row.values.items():
            if name not in columns:
                columns[name] = [""] * len(lines)
            columns[name].append(value.strip())
        lines.append(row.place.line)
        for values in columns.values():
            if len(values) < len(lines):
                values.append("")
    return AuditTable(path.name, columns, lines, tuple(bad))


def find_layout(table: AuditTable, asked: AuditOptions) -> ColumnLayout:
    """Choose the columns. Raises UserError where one is missing, or where two readings are possible."""
    return _Finder(table, asked).layout()


def plain(name: str) -> str:
    """The name in small letters, with one _ for whatever separates its words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^0-9a-z]+", "_", spaced.lower()).strip("_")


class _Finder:
    def __init__(self, table: AuditTable, asked: AuditOptions) -> None:
        self.table, self.asked = table, asked
        self.names = {column: plain(column) for column in table.columns}
        self.choices: list[ColumnChoice] = []

    def layout(self) -> ColumnLayout:
        self._check_options()
        sides = self._sides()
        wide_people, wide_judges = self._wide()
        rater, score = self._role("rater"), self._role("score")
        named = [name for name in (*self.asked.people, *self.asked.judges) if name in self.names]
        is_long = bool(rater and score) and not named
        if is_long and ((wide_people and wide_judges) or len(wide_people) > 1):
            self._two(
                messages.READ_LONG(rater=rater, score=score),
                messages.READ_WIDE(columns=[*wide_people, *wide_judges]),
                "--people COLUMN --judge COLUMN",
            )
        item = self._role("item", say=True)
        model = "" if sides else self._role("model", say=True)
        criterion = self._role("criterion", say=True)
        position = "" if sides or is_long else self._role("position", say=True)
        lengths, texts = self._measured(bool(sides))
        formats, time = self._formats(bool(sides), texts), self._time()
        people, judges = wide_people, wide_judges
        if is_long:
            if not item:
                raise self._missing("item", "--column item=COLUMN")
            self._say("rater", (rater,), messages.BY_NAME())
            self._say("score", (score,), messages.BY_NAME())
            people, judges = self._raters(rater)
        else:
            for name in (*self.asked.people, *self.asked.judges):
                if name not in self.names:
                    raise self._unknown(name)
            self._say_wide(item, people, judges)
        return ColumnLayout(
            shape="long" if is_long else "wide",
            item=item,
            model=model,
            sides=sides,
            criterion=criterion,
            rater=rater if is_long else "",
            score=score if is_long else "",
            position=position,
            time=time,
            formats=formats,
            lengths=lengths,
            texts=texts,
            people=people,
            judges=judges,
            choices=tuple(self.choices),
        )

    def _say_wide(self, item: str, people: tuple[str, ...], judges: tuple[str, ...]) -> None:
        """Note why the columns were taken. Raises UserError where none holds a rater's values."""
        if not item:
            self._say("item", (), messages.EVERY_ROW())
        for role, columns, given in (("people", people, self.asked.people), ("judge", judges, self.asked.judges)):
            if columns:
                self._say(role, columns, messages.BY_OPTION() if given else messages.BY_NAME_AND_CONTENT())
        if not people and not judges:
            raise self._missing("judge", "--people COLUMN --judge COLUMN")

    def _check_options(self) -> None:
        for role, column in self.asked.columns.items():
            if role not in (*NAMED, "length"):
                raise UserError(messages.UNKNOWN_ROLE(given=f"{role}={column}", roles=[*NAMED, "length"]))
            if column not in self.names:
                raise self._unknown(column)
        for name in self.asked.people:
            if name in self.asked.judges:
                raise UserError(messages.BOTH(file=self.table.file, name=repr(name)))

    def _unknown(self, column: str) -> UserError:
        file, known = self.table.file, self._known()
        return UserError(messages.UNKNOWN_COLUMN(file=file, column=repr(column), columns=known))

    def _known(self) -> str:
        return ", ".join(self.names)

    def _say(self, role: str, columns: Sequence[str], reason: Message) -> None:
        self.choices.append(ColumnChoice(role, tuple(columns), reason))

    def _missing(self, role: str, option: str) -> UserError:
        return UserError(
            messages.NOT_FOUND(file=self.table.file, role=messages.ROLES[role](), option=option, columns=self._known())
        )

    def _two(self, one: Message, other: Message, option: str) -> None:
        raise UserError(messages.TWO_READINGS(file=self.table.file, one=one, other=other, option=option))

    def _role(self, role: str, *, say: bool = False) -> str:
        given = self.asked.columns.get(role, "")
        if given:
            if say:
                self._say(role, (given,), messages.BY_OPTION())
            return given
        taken = {*self.asked.people, *self.asked.judges}
        for rank in NAMED[role]:
            found = [column for column, name in self.names.items() if name in rank and column not in taken]
            if len(found) > 1:
                one, other = (messages.ONE_ROLE(column=column, role=messages.ROLES[role]()) for column in found[:2])
                self._two(one, other, f"--column {role}=COLUMN")
            if found:
                if say:
                    self._say(role, found, messages.BY_NAME())
                return found[0]
        return ""

    def _pairs_of(self, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
        """Columns of two sides whose common name matches, such as (model1, model2)."""
        by_name = {name: column for column, name in self.names.items()}
        found = []
        for column, name in self.names.items():
            split = SIDE_OF.fullmatch(name)
            if split and split["side"] in OTHER_SIDE and pattern.fullmatch(split["stem"]):
                other = by_name.get(name[: split.start("side")] + OTHER_SIDE[split["side"]])
                if other is not None:
                    found.append((column, other))
        return found

    def _sides(self) -> tuple[str, ...]:
        found = self._pairs_of(SIDES)
        if len(found) > 1:
            one, other = (
                messages.ONE_ROLE(column=", ".join(pair), role=messages.ROLES["sides"]()) for pair in found[:2]
            )
            self._two(one, other, "--column model=COLUMN")
        if found and "model" not in self.asked.columns:
            self._say("sides", found[0], messages.BY_NAME())
            return found[0]
        return ()

    def _measured(self, pairs: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns of lengths, and of texts, whose characters are counted without the former: two for pairs, else one."""
        texts = self._sided(TEXT, pairs)
        if given := self.asked.columns.get("length", ""):
            self._say("length", (given,), messages.BY_OPTION())
            return (given,), texts
        lengths = self._sided(LENGTH, pairs)
        if lengths or texts:
            self._say("length", lengths or texts, messages.BY_NAME() if lengths else messages.FROM_TEXT())
        return lengths, texts

    def _sided(self, pattern: re.Pattern[str], pairs: bool) -> tuple[str, ...]:
        """The first columns whose names match: of both sides for pairs, else one; () where there are none."""
        if pairs:
            return next(iter(self._pairs_of(pattern)), ())
        return next(((column,) for column, name in self.names.items() if pattern.fullmatch(name)), ())

    def _formats(self, pairs: bool, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Columns that say whether a response is formatted; without them, texts tell."""
        found = self._sided(FORMAT, True) if pairs else tuple(filter(None, (self._role("format"),)))
        if found or texts:
            given = "format" in self.asked.columns
            reason = messages.BY_OPTION() if given else messages.BY_NAME() if found else messages.FROM_MARKS()
            self._say("format", found or texts, reason)
        return found

    def _time(self) -> str:
        """The column of the moments of verdicts; one that holds durations or nothing is none."""
        if "time" in self.asked.columns:
            return self._role("time", say=True)
        for rank in NAMED["time"]:
            for column, name in self.names.items():
                if name in rank and any(moment(value) is not None for value in self.table.columns[column]):
                    self._say("time", (column,), messages.BY_NAME_AND_MOMENTS())
                    return column
        return ""

    def _wide(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns with the values of one person or one judge each: those named, else those that name and content fit."""
        known = [name for name in (*self.asked.people, *self.asked.judges) if name in self.names]
        # A column called judge holds names where another one holds their scores, and otherwise the scores themselves.
        raters = {name for rank in NAMED["rater"] for name in rank} if self._role("score") else set()
        single = {column for column, name in self.names.items() if name in raters}
        judges = self.asked.judges or tuple(
            column
            for column, name in self.names.items()
            if JUDGE.fullmatch(name) and column not in single and column not in known and self._holds_values(column)
        )
        people = self.asked.people or tuple(
            column
            for column, name in self.names.items()
            if PERSON.fullmatch(name)
            and column not in single
            and column not in known
            and column not in judges
            and self._holds_values(column)
        )
        return tuple(n for n in people if n in self.names), tuple(n for n in judges if n in self.names)

    def _holds_values(self, column: str) -> bool:
        if NO_VALUES.fullmatch(self.names[column]) or column in self.asked.columns.values():
            return False
        kinds = {value for value in self.table.columns[column] if value}
        return len(kinds) > 1 and (len(kinds) <= MOST_LABELS or all(is_number(value) for value in list(kinds)[:200]))

    def _raters(self, rater: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The raters of a long table, people and judges apart."""
        everyone = tuple(dict.fromkeys(name for name in self.table.columns[rater] if name))
        for name in (*self.asked.people, *self.asked.judges):
            if name not in everyone:
                raise UserError(
                    messages.UNKNOWN_RATER(
                        file=self.table.file, name=repr(name), raters=", ".join(everyone[:MOST_LABELS])
                    )
                )
        kind = self._role("kind")
        reason = messages.BY_OPTION()
        if self.asked.judges or self.asked.people:
            judges = self.asked.judges or tuple(name for name in everyone if name not in self.asked.people)
            people = self.asked.people or tuple(name for name in everyone if name not in judges)
        else:
            if kind:
                kinds = zip(self.table.columns[rater], self.table.columns[kind], strict=True)
                machines = {name for name, what in kinds if plain(what) in MACHINE_KINDS}
                reason = messages.BY_KIND(column=kind)
            elif self.names[rater] == "judge":
                machines, reason = set(everyone), messages.BY_COLUMN(column=rater)
            else:
                machines = {name for name in everyone if JUDGE.fullmatch(plain(name))}
                reason = messages.BY_RATER(column=rater) if machines else messages.ALL_PEOPLE(column=rater)
            judges = tuple(name for name in everyone if name in machines)
            people = tuple(name for name in everyone if name not in machines)
        self._say("judge" if judges else "people", judges or (rater,), reason)
        return people, judges


def moment(text: str) -> float | None:
    """Seconds since 1970 of a date, with a time or without (ISO 8601), or of seconds or milliseconds; else None."""
    if is_number(text):
        seconds = float(text)
        return (
            seconds if EARLIEST <= seconds < LATEST else seconds / 1000 if EARLIEST <= seconds / 1000 < LATEST else None
        )
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def is_number(text: str) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return abs(value) <= LARGEST
