"""LLMEval-1's repository: 453 questions of 17 types, stars and pairs by people and by GPT-4. PURE.

    data/dialogs.json                            questions, hints and the models' replies
    data/分项测评_{gpt4,manual,manual_denoised}.csv   stars: a line for each criterion of a reply
    data/对比测评_{gpt4,manual,manual_denoised}.csv   pairs: a line for each choice between two replies

(On Hugging Face the same files stand in the root.) A question's type is its question_uuid before the last "_". GPT-4's
user_id is -1. A reply that GPT-4 or a person rated twice has its lines twice; both are kept. The columns of pairs
are known from a description only: they are found by the names below, and a file without them is listed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import Row, read_rows
from generation.importers.benchmark_files import Part, StudyShape
from generation.importers.json_arrays import json_array
from generation.importers.llmeval_dialogs import (
    DIALOG_FIELDS,
    JUDGE,
    RESTORE,
    UnknownFields,
    name_of,
    response_of,
    size_of,
    squashed,
)
from generation.importers.messages import of_files, of_rows
from generation.importers.records import (
    MAIN,
    InstructionRecord,
    PreferenceRecord,
    RatingRecord,
    ResponseRecord,
    RubricRecord,
    WeightRecord,
)

TYPES = {
    "classification": (),
    "code": ("coding", "programming", "code_generation"),
    "conversation": ("dialogue", "dialog", "chat"),
    "factual_questions": ("factual_qa", "factual", "fact_questions", "factual_question_answering"),
    "math_solving": ("math", "mathematics", "maths_solving", "mathematical_reasoning"),
    "open_questions": ("open_qa", "open", "open_ended_questions"),
    "outline_generation": ("outline", "framework_generation"),
    "paragraph_generation": ("paragraph",),
    "poetry": ("poem", "poetry_generation"),
    "reading_comprehension": ("reading",),
    "reasoning": ("logical_reasoning",),
    "retrieval": ("retrieve", "information_retrieval"),
    "rewrite": ("rewriting", "paragraph_rewriting", "paragraph_rewrite"),
    "role_playing": ("role_play",),
    "story_generation": ("story",),
    "summary": ("summarization", "summarisation", "summary_generation", "summarize"),
    "translation": ("translate",),
}
"""The 17 types by the benchmark's keys, with other names for them."""
TYPE_OF = {squashed(name): key for key, names in TYPES.items() for name in (key, *names)}
STARS, PAIRS = "stars", "pairs"
CSV_NAME = re.compile(r"(.*)_(gpt4|manual|manual_denoised)\.csv", re.IGNORECASE)
PREFIXES = {STARS: "分项测评", PAIRS: "对比测评"}
STAR_COLUMNS = ("question_uuid", "llm_name", "metric", "score")
OTHER_STAR_COLUMNS = {"id", "dialog_uuid", "user_id", "user_type"}
SIDES = (
    ("llm_name_1", "llm_name_2"),
    ("llm_name1", "llm_name2"),
    ("llm_name_a", "llm_name_b"),
    ("llm_1", "llm_2"),
    ("llm_a", "llm_b"),
    ("left_llm_name", "right_llm_name"),
    ("model_a", "model_b"),
    ("dialog_uuid_1", "dialog_uuid_2"),
    ("dialog_uuid1", "dialog_uuid2"),
    ("dialog_uuid_a", "dialog_uuid_b"),
    ("left_dialog_uuid", "right_dialog_uuid"),
)
CHOICES = ("choice", "answer", "result", "option", "preference", "winner", "label")
SECONDS = ("seconds", "time_s", "duration")
OTHER_PAIR_COLUMNS = {"id", "question_uuid", "dialog_uuid", "user_id", "user_type"}
CHOICE_OF = {
    **{"a": "A", "left": "A", "左边好": "A", "b": "B", "right": "B", "右边好": "B"},
    **{"c": "tie", "tie": "tie", "draw": "tie", "equal": "tie", "一样好": "tie"},
    **{"d": "both_bad", "both bad": "both_bad", "both_bad": "both_bad", "都不好": "both_bad"},
}
KIND_OF = {
    **{"onsite": "onsite", "on-site": "onsite", "现场": "onsite"},
    **{"crowd": "crowd", "crowdsourcing": "crowd", "crowd-sourcing": "crowd", "众包": "crowd"},
    **{"public": "public", "公众": "public"},
}
NOBODY = {"", "-1"}
GPT4, MANUAL, DENOISED = "gpt4", "manual", "manual_denoised"
DENOISED_EXPERIMENT = "denoised"
"""The denoised files repeat a part of the people's answers, which therefore stay out of the benchmark's main numbers."""


def _shape(kind: str, *, denoised: bool) -> StudyShape:
    stars = kind == STARS
    english, chinese = ("stars", "星级评分") if stars else ("pairs", "成对比较")
    note = (" without noise", "（去噪）") if denoised else ("", "")
    return StudyShape(
        slug=f"llmeval1-{kind}{'-denoised' if denoised else ''}",
        names={"en": f"LLMEval-1, {english}{note[0]}", "zh-hans": f"LLMEval-1，{chinese}{note[1]}"},
        kind="stars" if stars else "pair",
        repeats=True,
        experiment=DENOISED_EXPERIMENT if denoised else MAIN,
    )


@dataclass(frozen=True)
class Table:
    """A CSV file: what it holds, who answered in it, and its columns."""

    path: Path
    kind: str
    who: str
    columns: tuple[str, ...]

    @property
    def pattern(self) -> str:
        return f"{PREFIXES[self.kind]}_*.csv"


@dataclass(frozen=True)
class PairColumns:
    """The columns of a table of pairs."""

    sides: tuple[str, str]
    choice: str

    @classmethod
    def among(cls, columns: Iterable[str]) -> "PairColumns | None":
        known = set(columns)
        sides = next((pair for pair in SIDES if set(pair) <= known), None)
        choice = next((name for name in CHOICES if name in known), None)
        return cls(sides, choice) if sides and choice and "question_uuid" in known else None


class Llmeval1:
    """Raises BadRow where the folder holds neither dialogs nor a table. `tasks` may be another dialogs.json."""

    slug = "llmeval1"

    def __init__(self, root: Path, tasks: Path | None = None) -> None:
        self.root = root
        self.absent: list[str] = []
        self.unknown: dict[str, int] = UnknownFields()
        folder = root / "data" if (root / "data").is_dir() else root
        dialogs = folder / "dialogs.json" if tasks is None else tasks / "dialogs.json" if tasks.is_dir() else tasks
        self.dialogs = dialogs if dialogs.is_file() and size_of(dialogs) else None
        self.tables = [table for path in sorted(folder.glob("*.csv")) for table in self._table(path)]
        if self.dialogs is None and not self.tables:
            what = of_files.NO_LLMEVAL1()
            raise BadRow(str(root), 0, what, of_files.NAME_DATA())
        if self.dialogs is None:
            self.absent.append(self._name(dialogs) + (" (empty)" if dialogs.is_file() else ""))
        there = {(table.kind, table.who) for table in self.tables}
        for kind, prefix in PREFIXES.items():
            lacking = [who for who in (GPT4, MANUAL, DENOISED) if (kind, who) not in there]
            paths = [folder / f"{prefix}_{who}.csv" for who in lacking]
            self.absent += [self._name(path) for path in paths if not path.is_file()]

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def _table(self, path: Path) -> Iterator[Table]:
        """The file, if its name says who answered and its columns what; else it is listed."""
        match = CSV_NAME.fullmatch(path.name)
        if match is None or not size_of(path):
            self.absent.append(f"{self._name(path)} ({'empty' if match else 'its name is not understood'})")
            return
        columns = next((tuple(row.values) for row in islice(read_rows(path, (), lambda problem: None), 1)), ())
        if set(STAR_COLUMNS) <= set(columns):
            yield Table(path, STARS, match[2].lower(), columns)
        elif PairColumns.among(columns):
            yield Table(path, PAIRS, match[2].lower(), columns)
        else:
            self.absent.append(f"{self._name(path)} (its columns are not understood: {', '.join(columns)})")

    def rubrics(self, on_bad: OnBadRow = refuse) -> Iterable[RubricRecord]:
        return ()

    def weights(self) -> Iterable[WeightRecord]:
        return ()

    def parts(self) -> Iterator[Part]:
        """Yield the dialogs or, without them, the names of what was rated, then the tables."""
        if self.dialogs is not None:
            yield Part(self._name(self.dialogs), size_of(self.dialogs), partial(self._responses, self.dialogs))
        for table in self.tables:
            name, size = self._name(table.path), size_of(table.path)
            if self.dialogs is None:
                yield Part(name, size, partial(self._rated, table))
            shape = _shape(table.kind, denoised=table.who == DENOISED)
            yield Part(name, size, partial(self._stars if table.kind == STARS else self._pairs, table), shape)

    def _responses(self, path: Path, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
        for place, value in json_array(path, on_bad, self._name(path)):
            if fields := sorted(set(value) - DIALOG_FIELDS):
                self._unknown("dialogs.json", fields)
            try:
                yield response_of(place, value, type_of(place, name_of(place, value, "question_uuid")))
            except BadRow as problem:
                on_bad(problem)

    def _rated(self, table: Table, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
        """The replies that a table names, without their texts, each once."""
        seen: set[tuple[str, str]] = set()
        pair = PairColumns.among(table.columns)
        for row in self._rows(table, lambda problem: None):
            question = row.values["question_uuid"].strip()
            models = [row.values["llm_name"]] if pair is None else [row.values[side] for side in pair.sides]
            try:
                category = type_of(row.place, question)
            except BadRow:
                continue
            for model in [_model(name, question) for name in models]:
                if model and (question, model) not in seen:
                    seen.add((question, model))
                    yield ResponseRecord(row.place, InstructionRecord(row.place, question, None, category), model, None)

    def _rows(self, table: Table, on_bad: OnBadRow) -> Iterator[Row]:
        name = self._name(table.path)
        for row in read_rows(table.path, (), on_bad):
            yield Row(Place(name, row.place.line), row.values)

    def _unknown(self, pattern: str, fields: Iterable[str]) -> None:
        assert isinstance(self.unknown, UnknownFields)
        self.unknown.note(pattern, fields)

    def _stars(self, table: Table, on_bad: OnBadRow) -> Iterator[RatingRecord]:
        strange = sorted(set(table.columns) - {*STAR_COLUMNS, *OTHER_STAR_COLUMNS, *SECONDS})
        for row in self._rows(table, on_bad):
            self._unknown(table.pattern, strange)
            try:
                yield self._star(table, row)
            except BadRow as problem:
                on_bad(problem)

    def _star(self, table: Table, row: Row) -> RatingRecord:
        values = {name: value.strip() for name, value in row.values.items()}
        question, model = (_needed(row.place, values, name) for name in ("question_uuid", "llm_name"))
        rater, is_judge = _rater(row.place, table, values)
        return RatingRecord(
            row.place,
            question,
            rater,
            is_judge,
            _needed(row.place, values, "metric").lower(),
            values["score"],
            model=model,
            category=type_of(row.place, question),
            seconds=_seconds(row.place, values),
            rater_kind="" if is_judge else KIND_OF.get(values.get("user_type", "").lower(), "onsite"),
        )

    def _pairs(self, table: Table, on_bad: OnBadRow) -> Iterator[PreferenceRecord]:
        pair = PairColumns.among(table.columns)
        assert pair is not None
        strange = sorted(set(table.columns) - {*pair.sides, pair.choice, *OTHER_PAIR_COLUMNS, *SECONDS})
        for row in self._rows(table, on_bad):
            self._unknown(table.pattern, strange)
            try:
                yield self._pair(table, pair, row)
            except BadRow as problem:
                on_bad(problem)

    def _pair(self, table: Table, pair: PairColumns, row: Row) -> PreferenceRecord:
        values = {name: value.strip() for name, value in row.values.items()}
        question = _needed(row.place, values, "question_uuid")
        first, second = (_model(_needed(row.place, values, side), question) for side in pair.sides)
        if first == second:
            raise row.place.bad(of_rows.SAME_SIDES(model=repr(first)), RESTORE)
        rater, is_judge = _rater(row.place, table, values)
        kind = values.get("user_type", "").lower()
        if not is_judge and kind not in KIND_OF and kind not in NOBODY:
            self._unknown(table.pattern, [f"user_type {kind}"])
        return PreferenceRecord(
            row.place,
            question,
            first,
            second,
            rater,
            is_judge,
            _choice(row.place, values[pair.choice], first, second),
            category=type_of(row.place, question),
            shown_first="a",
            seconds=_seconds(row.place, values),
            rater_kind="" if is_judge else KIND_OF.get(kind, ""),
        )


def type_of(place: Place, question: str) -> str:
    """Return the key of a question's type, such as math_solving for Math-Solving_12. Raises BadRow."""
    name = question.rpartition("_")[0]
    key = TYPE_OF.get(squashed(name))
    if key is None:
        raise place.bad(of_files.NO_TYPE(question=repr(name or question)), of_files.TYPES_ARE(types=", ".join(TYPES)))
    return key


def _needed(place: Place, values: Mapping[str, str], name: str) -> str:
    if not values.get(name):
        raise place.bad(of_rows.COLUMN_EMPTY(column=name), RESTORE)
    return values[name]


def _model(name: str, question: str) -> str:
    """Return the model's name, also of a dialog_uuid, which is the name, "_" and the question's."""
    return name.strip().removesuffix(f"_{question}")


def _rater(place: Place, table: Table, values: Mapping[str, str]) -> tuple[str, bool]:
    """Return the name of who answered, and whether a judge; equal ids of two types of users may be two persons."""
    if table.who == GPT4:
        return JUDGE, True
    user, kind = _needed(place, values, "user_id"), values.get("user_type", "")
    return user if kind in NOBODY else f"{kind}-{user}", False


def _seconds(place: Place, values: Mapping[str, str]) -> float | None:
    text = next((values[name] for name in SECONDS if values.get(name)), "")
    try:
        found = float(text) if text else None
    except ValueError:
        found = -1.0
    if found is not None and not 0 <= found < 1e9:
        raise place.bad(of_files.SECONDS_ARE(text=repr(text[:30])), of_files.FROM_0_OR_EMPTY())
    return found


def _choice(place: Place, text: str, first: str, second: str) -> str:
    """Return A, B, tie or both_bad, '' where nothing was chosen. Raises BadRow."""
    if not text:
        return ""
    choice = {first: "A", second: "B"}.get(text) or CHOICE_OF.get(text.casefold())
    if choice is None:
        raise place.bad(of_files.CHOICE_OFF(text=repr(text[:30])), of_files.LOAD_AS_PREFERENCES())
    return choice
