"""A clone of LongGenBench's repository (no licence stated): instructions, their checks, outputs, the authors' counts.

    Dataset/Dataset_{short,long}.json            prompt, prefix, type, number, checks_once, checks_range, checks_periodic
    Evalution/results/MODEL_maxlen{16000,32000}.json, or MODEL_16K.json and MODEL_32K.json
                                                 input, output_blocks, and what the authors' programs add
    Evalution/results/static.csv                 the authors' counts, one row for each of these files

The files of outputs are not in the repository; their layout is that of its programs. PURE. Source: arXiv 2409.02076.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import Row, lines, read_rows
from core.text import storable
from generation.importers.benchmark_files import Part
from generation.importers.messages import of_files
from generation.importers.records import (
    AggregateRecord,
    CheckRecord,
    CheckSetRecord,
    InstructionRecord,
    ResponseRecord,
    RubricRecord,
    WeightRecord,
)
from generation.llm.protocol.wrapping import with_first_line

VERSIONS = ("short", "long")
SHORT_PARTS = 100
"""The short version asks for 52 or 100 parts, the long one for 300 and more."""
SCENARIOS = {
    "week": "diary",
    "day": "diary",
    "menu week": "menu",
    "menu day": "menu",
    "floor": "skyscraper_design",
    "block": "urban_planning",
}
KINDS = {"checks_once": "single", "checks_range": "range", "checks_periodic": "periodic"}
QUESTION = "Does this part include the following: {text}?"
QUESTION_ZH = "这一部分是否包含以下内容：{text}？"
NUMBERS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?(?:/(\d{1,6}))?")
LARGEST_NUMBER = 100_000
SEPARATORS = ("#*#", "###")
"""What stands between the parts: the data's, and that of the repository's first revisions."""
RESULTS = "Evalution/results"
RESULT_NAME = re.compile(
    r"(?P<model>.+?)(?:_maxlen(?P<tokens>16000|32000)|(?<=_)(?P<size>16K|32K))\.json", re.IGNORECASE
)
VERSION_OF = {"16000": "short", "16k": "short", "32000": "long", "32k": "long"}
TASK_FIELDS = frozenset(("prompt", "prefix", "type", "number", *KINDS))
OUTPUT_FIELDS = frozenset(("input", "output_blocks", "word_count", "type", "prefix", "number", *KINDS))
AGGREGATES = {
    "Filename": "model",
    "Total Checks": "checks",
    "Total Results": "answered",
    "Total Yes": "fulfilled",
    "Average Word Count": "words",
    "CR": "completion",
}
DERIVED = frozenset(("Ratio Results/Checks", "Ratio Yes/Results", "Ratio Yes/Checks"))
"""Columns that follow from the counts."""
REMEDY = of_files.RESTORE_FILE()
Found = tuple[Place, dict[str, Any]]


class Longgenbench:
    """Raises BadRow where the folder has neither data nor results. `tasks` is a data file that stands elsewhere."""

    slug = "longgenbench"

    def __init__(self, root: Path, tasks: Path | None = None) -> None:
        self.root = root
        self.absent: list[str] = []
        self.unknown: dict[str, int] = {}
        self._data = {version: root / "Dataset" / f"Dataset_{version}.json" for version in VERSIONS}
        if tasks is not None:
            self._data[_version_named(tasks)] = tasks
        if not any(path.is_file() for path in (*self._data.values(), root / RESULTS / "static.csv")):
            what, remedy = of_files.NO_LONGGENBENCH(), of_files.NAME_DATASET_FOLDER()
            raise BadRow(str(root), 0, what, remedy)

    def rubrics(self, on_bad: OnBadRow = refuse) -> list[RubricRecord]:
        return []

    def weights(self) -> list[WeightRecord]:
        return []

    def parts(self) -> Iterator[Part]:
        """Yield instructions, checks, outputs, and the authors' counts."""
        present = {version: path for version, path in self._data.items() if self._present(path)}
        for version, path in present.items():
            yield Part(self._name(path), path.stat().st_size, partial(self._instructions, path, version))
        for version, path in present.items():
            yield Part(f"{self._name(path)} (checks)", path.stat().st_size, partial(self._checks, path, version))
        folder = self.root / RESULTS
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            named = RESULT_NAME.fullmatch(path.name)
            if named is None:
                self._note_absent(f"{self._name(path)} (its name is not understood)")
            elif self._present(path):
                yield Part(self._name(path), path.stat().st_size, partial(self._responses, path, named))
        counts = folder / "static.csv"
        if self._present(counts):
            yield Part(self._name(counts), counts.stat().st_size, partial(self._aggregates, counts))

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else path.name

    def _present(self, path: Path) -> bool:
        """Whether the file is there and holds something; else it is listed as absent."""
        if path.is_file() and path.stat().st_size:
            return True
        self._note_absent(self._name(path) + (" (empty)" if path.is_file() else ""))
        return False

    def _note_absent(self, name: str) -> None:
        if name not in self.absent:
            self.absent.append(name)

    def _note_unknown(self, pattern: str, names: Mapping[str, Any], known: frozenset[str]) -> None:
        for name in names:
            if name not in known:
                place = f"{pattern}: {name}"
                self.unknown[place] = self.unknown.get(place, 0) + 1

    def _instructions(self, path: Path, version: str, on_bad: OnBadRow = refuse) -> Iterator[InstructionRecord]:
        for index, place, value in _numbered(path, self._name(path), on_bad):
            self._note_unknown("Dataset/Dataset_*.json", value, TASK_FIELDS)
            try:
                record = _instruction(place, value, version, index)
                _check_set(place, value, record.external_id)
            except BadRow as problem:
                on_bad(problem)
                continue
            yield record

    def _checks(self, path: Path, version: str, on_bad: OnBadRow = refuse) -> Iterator[CheckSetRecord]:
        """Yield the checks of every instruction that can be read; the others were reported with the instructions."""
        for index, place, value in _numbered(path, self._name(path), lambda problem: None):
            try:
                record = _check_set(place, value, _instruction(place, value, version, index).external_id)
            except BadRow:
                continue
            yield record

    @cached_property
    def _asked(self) -> dict[str, dict[str, list[InstructionRecord]]]:
        """The instructions of each version by their prompt, from the data that can be read."""
        asked: dict[str, dict[str, list[InstructionRecord]]] = {version: {} for version in VERSIONS}
        for version, path in self._data.items():
            if not (path.is_file() and path.stat().st_size):
                continue
            for index, place, value in _numbered(path, self._name(path), lambda problem: None):
                try:
                    record = _instruction(place, value, version, index)
                except BadRow:
                    continue
                asked[version].setdefault(record.text or "", []).append(record)
        return asked

    def _responses(self, path: Path, named: re.Match[str], on_bad: OnBadRow = refuse) -> Iterator[ResponseRecord]:
        version, model = _version_and_model(named)
        seen: Counter[str] = Counter()
        for index, place, value in _numbered(path, self._name(path), on_bad):
            self._note_unknown(f"{RESULTS}/MODEL.json", value, OUTPUT_FIELDS)
            try:
                prompt = _text(place, value, "input")
                blocks = value.get("output_blocks")
                if not isinstance(blocks, list) or not all(isinstance(block, str) for block in blocks):
                    raise place.bad(of_files.NO_BLOCKS(), REMEDY)
                known = self._asked[version].get(prompt, [])
                if known:
                    instruction = known[min(seen[prompt], len(known) - 1)]
                    seen[prompt] += 1
                elif self._asked[version]:
                    raise place.bad(of_files.OTHER_PROMPT(version=version), of_files.ONE_REVISION())
                else:
                    instruction = _instruction(place, {**value, "prompt": prompt}, version, index)
            except BadRow as problem:
                on_bad(problem)
                continue
            separator = SEPARATORS[0] if SEPARATORS[0] in prompt else SEPARATORS[1]
            text = with_first_line(instruction.prefill, storable(separator.join(blocks)))
            yield ResponseRecord(place, instruction, model, text)

    def _aggregates(self, path: Path, on_bad: OnBadRow = refuse) -> Iterator[AggregateRecord]:
        known = frozenset(AGGREGATES) | DERIVED
        for row in read_rows(path, AGGREGATES, on_bad):
            self._note_unknown(f"{RESULTS}/static.csv", row.values, known)
            try:
                yield _aggregate(Row(Place(self._name(path), row.place.line), row.values))
            except BadRow as problem:
                on_bad(problem)


def _version_named(path: Path) -> str:
    """Return the version that a data file's name says. Raises BadRow."""
    for version in VERSIONS:
        if version in path.name.lower():
            return version
    raise BadRow(str(path), 0, of_files.SHORT_OR_LONG(), of_files.NAME_DATASET())


def _version_and_model(named: re.Match[str]) -> tuple[str, str]:
    """Return the version of a result file and its model, whose name keeps a size of 16K or 32K that is part of it."""
    size = named["size"]
    return VERSION_OF[(named["tokens"] or size).lower()], named["model"] + (size or "")


def _numbered(path: Path, name: str, on_bad: OnBadRow) -> Iterator[tuple[int, Place, dict[str, Any]]]:
    """Yield the objects of a JSON array with their index and line. Raises BadRow where the array itself is broken."""
    text = "".join(line for _number, line in lines(path, name=name))
    decoder, at, line, index = json.JSONDecoder(), _after_space(text, 0), 1, 0
    if text[at : at + 1] != "[":
        raise BadRow(name, 1, of_files.NOT_AN_ARRAY(), REMEDY)
    line += text.count("\n", 0, at)
    at, counted = at + 1, at
    while True:
        at = _after_space(text, at)
        line, counted = line + text.count("\n", counted, at), at
        if text[at : at + 1] == "]" and not index:
            return
        place = Place(name, line)
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise place.bad(of_files.BROKEN(), REMEDY) from error
        if isinstance(value, dict):
            yield index, place, value
        else:
            on_bad(place.bad(of_files.THIS_ENTRY_NO_OBJECT(), REMEDY))
        index += 1
        at = _after_space(text, at)
        if text[at : at + 1] == "]":
            return
        if text[at : at + 1] != ",":
            raise place.bad(of_files.BROKEN_AFTER(), REMEDY)
        at += 1


_SPACE = re.compile(r"\s*")


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _instruction(place: Place, value: Mapping[str, Any], version: str, index: int) -> InstructionRecord:
    """Return the instruction; its category is the scenario in this version. Raises BadRow."""
    named = _text(place, value, "type")
    scenario = SCENARIOS.get(" ".join(named.lower().split()))
    if scenario is None:
        known = ", ".join(sorted(SCENARIOS))
        raise place.bad(of_files.NO_SCENARIO(named=repr(named)), of_files.TYPES_ARE(types=known))
    return InstructionRecord(
        place,
        f"{version}-{index:03d}",
        _text(place, value, "prompt"),
        f"{scenario}_{version}",
        scenario,
        language="en",
        tags=(version,),
        prefill=_text(place, value, "prefix", needed=False),
    )


def _check_set(place: Place, value: Mapping[str, Any], instruction: str) -> CheckSetRecord:
    """Return the checks, those of one kind with one text as one question about several parts. Raises BadRow."""
    asked = _number_of_parts(place, value.get("number"))
    mark = _text(place, value, "type").split()[-1]
    checks = []
    for field, kind in KINDS.items():
        texts = value.get(field)
        if not isinstance(texts, dict):
            raise place.bad(of_files.NO_OBJECT(field=repr(field)), REMEDY)
        parts: dict[str, set[int]] = {}
        for key, text in texts.items():
            if not isinstance(text, str) or not text.strip():
                raise place.bad(of_files.NO_TEXT_FOR(field=repr(field), key=repr(key)), REMEDY)
            parts.setdefault(storable(text.strip()), set()).update(_numbers(place, field, key))
        checks += [
            CheckRecord(
                QUESTION.format(text=text), tuple(sorted(numbers)), mark, kind, asked, QUESTION_ZH.format(text=text)
            )
            for text, numbers in parts.items()
        ]
    return CheckSetRecord(place, instruction, tuple(checks))


def _numbers(place: Place, field: str, key: str) -> range:
    """Return the parts that a key names: 19, 13-48, or 13-48/5 for every fifth. Raises BadRow."""
    read = NUMBERS.fullmatch(key.strip())
    first = int(read[1]) if read else 0
    last, step = (int(read[2] or first), int(read[3] or 1)) if read else (0, 1)
    if not (0 < first <= last <= LARGEST_NUMBER and step):
        raise place.bad(of_files.NO_PART(key=repr(key), field=repr(field)), of_files.PART_KEYS())
    return range(first, last + 1, step)


def _number_of_parts(place: Place, value: object) -> int:
    written = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not (written.isdecimal() and written.isascii() and 0 < int(written) <= LARGEST_NUMBER):
        raise place.bad(of_files.NO_NUMBER_OF_PARTS(), REMEDY)
    return int(written)


def _text(place: Place, value: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    found = value.get(name, "" if not needed else None)
    if not isinstance(found, str) or (needed and not found.strip()):
        raise place.bad(of_files.NO_TEXT(field=repr(name)), REMEDY)
    return storable(found)


def _aggregate(row: Row) -> AggregateRecord:
    """Return the counts of one file of outputs. Raises BadRow."""
    named = RESULT_NAME.fullmatch(row.values["Filename"].strip())
    if named is None:
        raise row.place.bad(of_files.NO_MODEL_AND_VERSION(filename=repr(row.values["Filename"])), REMEDY)
    version, model = _version_and_model(named)
    checks, answered, fulfilled = (_count(row, column) for column in ("Total Checks", "Total Results", "Total Yes"))
    if not checks >= answered >= fulfilled:
        raise row.place.bad(of_files.MORE_THAN_CHECKED(), REMEDY)
    return AggregateRecord(
        row.place,
        model,
        version,
        checks,
        answered,
        fulfilled,
        completion=_share(row, "CR"),
        words=_share(row, "Average Word Count"),
    )


def _count(row: Row, column: str) -> int:
    written = row.values[column].strip()
    if not (written.isdecimal() and written.isascii()):
        raise row.place.bad(of_files.NO_COUNT(column=column, written=repr(written)), REMEDY)
    return int(written)


def _share(row: Row, column: str) -> float | None:
    written = row.values[column].strip()
    if not written:
        return None
    try:
        value = float(written)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise row.place.bad(of_files.NO_NUMBER_FROM_0(column=column, written=repr(written)), REMEDY)
    return value
