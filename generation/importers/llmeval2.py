"""LLMEval-2's repository: 480 questions of twelve subjects, and the stars that people and GPT-4 gave. PURE.

    results/{human,gpt}-score/<Subject>_data.json   dialogs with `stars`, a number by criterion
    data/<Subject>_data.json                        the same dialogs without stars (on Hugging Face: in the root)

`type` is A for an objective question (correctness, explanation correctness) and B for a subjective one (accuracy,
informativeness, fluency, logicality); each names its question's own rubric. People's file has one value for each
response and criterion and names no rater, so that they are a position in the data. Where its values are off the
printed scales (a correctness of 2, or of 0 where nobody rated the response), they are kept.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
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
from generation.importers.messages import of_files
from generation.importers.records import RatingRecord, ResponseRecord, RubricRecord, WeightRecord

SUBJECTS = {
    "biological_science": "Biological_Science",
    "chemistry": "Chemistry",
    "chinese_language_and_literature": "Chinese_Language_and_Literature",
    "computer_science": "Computer_Science",
    "economics": "Economics",
    "foreign_languages": "Foreign_Languages",
    "law": "Law",
    "mathematics": "Mathematics",
    "medicine": "Medicine",
    "optics": "Optics",
    "physics": "Physics",
    "social_science": "Social_Science",
}
"""The benchmark's key of each subject, and how file names spell it."""
OTHER_NAMES = {"biology": "biological_science", "computer": "computer_science", "math": "mathematics"}
KEYS = {squashed(key): key for key in SUBJECTS} | {squashed(name): key for name, key in OTHER_NAMES.items()}
TYPES = {"A": "objective", "B": "subjective"}
HUMAN = "human"
SCORES = {"human-score": (HUMAN, False), "gpt-score": (JUDGE, True)}
"""The folders of results/, whose stars they hold, and whether a judge's."""
STUDY = StudyShape(
    slug="llmeval2-stars",
    names={"en": "LLMEval-2, stars by people and by GPT-4", "zh-hans": "LLMEval-2，人工与GPT-4的星级评分"},
    kind="stars",
    repeats=True,
    off_scale="keep",
    slots=True,
)


@dataclass(frozen=True)
class SubjectFile:
    path: Path
    subject: str
    folder: str


class Llmeval2:
    """Raises BadRow where the folder holds no file of a subject. `tasks` may be another folder with dialogs."""

    slug = "llmeval2"

    def __init__(self, root: Path, tasks: Path | None = None) -> None:
        self.root = root
        self.absent: list[str] = []
        self.unknown: dict[str, int] = UnknownFields()
        folders = {f"results/{name}": root / "results" / name for name in SCORES}
        folders |= {"data": root / "data", "": root}
        if tasks is not None:
            folders[str(tasks)] = tasks
        self.files = [file for label, folder in folders.items() for file in self._files(label, folder)]
        if not self.files:
            what = of_files.NO_LLMEVAL2()
            raise BadRow(str(root), 0, what, of_files.NAME_RESULTS_DATA())
        self._note_absent()

    def _files(self, label: str, folder: Path) -> Iterator[SubjectFile]:
        for path in sorted(folder.glob("*_data.json")) if folder.is_dir() else ():
            subject = KEYS.get(squashed(path.stem.removesuffix("_data")))
            if subject is None:
                self.absent.append(f"{self._name(path)} (it names none of the twelve subjects)")
            elif not size_of(path):
                self.absent.append(f"{self._name(path)} (empty)")
            else:
                yield SubjectFile(path, subject, label)

    def _note_absent(self) -> None:
        for folder in SCORES:
            there = {file.subject for file in self.files if file.folder == f"results/{folder}"}
            missing = [name for key, name in SUBJECTS.items() if key not in there]
            if len(missing) == len(SUBJECTS):
                self.absent.append(f"results/{folder}")
            else:
                self.absent += [f"results/{folder}/{name}_data.json" for name in missing]

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def rubrics(self, on_bad: OnBadRow = refuse) -> Iterable[RubricRecord]:
        return ()

    def weights(self) -> Iterable[WeightRecord]:
        return ()

    def parts(self) -> Iterator[Part]:
        """Yield the responses of every file, then the stars of both folders."""
        for file in self.files:
            yield Part(self._name(file.path), size_of(file.path), partial(self._responses, file))
        for file in self.files:
            if file.folder.removeprefix("results/") in SCORES:
                yield Part(self._name(file.path), size_of(file.path), partial(self._stars, file), STUDY)

    def _responses(self, file: SubjectFile, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
        def record(place: Place, value: Mapping[str, Any]) -> list[ResponseRecord]:
            kind = TYPES[_type_of(place, value)]
            return [response_of(place, value, file.subject, rubric=f"{self.slug}-{kind}", tags=(kind,))]

        for place, value in json_array(file.path, on_bad, self._name(file.path)):
            self._note_unknown(file, value)
            yield from _each(record, place, value, on_bad)

    def _note_unknown(self, file: SubjectFile, value: Mapping[str, Any]) -> None:
        known = DIALOG_FIELDS | {"stars"} if file.folder.startswith("results/") else DIALOG_FIELDS
        if fields := sorted(set(value) - known):
            assert isinstance(self.unknown, UnknownFields)
            self.unknown.note(f"{file.folder}/*_data.json".lstrip("/"), fields)

    def _stars(self, file: SubjectFile, on_bad: OnBadRow) -> Iterator[RatingRecord]:
        rater, is_judge = SCORES[file.folder.removeprefix("results/")]

        def records(place: Place, value: Mapping[str, Any]) -> list[RatingRecord]:
            question, model = name_of(place, value, "question_uuid"), name_of(place, value, "llm_name")
            return [
                RatingRecord(place, question, rater, is_judge, criterion, stars, model=model, category=file.subject)
                for criterion, stars in _stars_of(place, value)
            ]

        for place, value in json_array(file.path, on_bad, self._name(file.path)):
            yield from _each(records, place, value, on_bad)


def _each(
    read: Callable[[Place, Mapping[str, Any]], list[Any]], place: Place, value: Mapping[str, Any], on_bad: OnBadRow
) -> list[Any]:
    """Return what `read` makes of a row, nothing where the row is bad."""
    try:
        return read(place, value)
    except BadRow as problem:
        on_bad(problem)
        return []


def _type_of(place: Place, value: Mapping[str, Any]) -> str:
    kind = value.get("type")
    if kind not in TYPES:
        raise place.bad(of_files.TYPE_OFF(kind=repr(kind)), RESTORE)
    return str(kind)


def _stars_of(place: Place, value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each criterion with its stars as text, '' where they are null. Raises BadRow."""
    stars = value.get("stars")
    if not isinstance(stars, dict) or not stars:
        raise place.bad(of_files.NO_STARS(), RESTORE)
    found = []
    for criterion, number in stars.items():
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number)
        ):
            raise place.bad(of_files.STARS_OFF(criterion=repr(criterion), number=repr(str(number)[:30])), RESTORE)
        found.append((str(criterion), "" if number is None else f"{number:g}"))
    return found
