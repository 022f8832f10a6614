"""HREF's files (arXiv 2412.15524): two data sets of Hugging Face, and what the code of allenai/href writes. PURE.

No file of theirs was at hand. Read from the cards of the data sets allenai/href and allenai/href_preference:

    data/dev-*.parquet    category, instruction, output, generator (of the baseline's output), reference (by a person)
    data/dev-*.parquet    category, instruction, generator_a, output_a, generator_b, output_b, reference,
                          annotations (1: the first is better, 2: the second), annotaters (the people, in that order)

Read from the code of allenai/href, which writes and reads them (its annotations use 0 for a tie):

    MODEL/CATEGORY/responses.jsonl                                  instruction, output, generator, dataset
    MODEL/CATEGORY/JUDGE/annotations.json                           instruction, generator_1, output_1, generator_2,
    human_agreement_analysis/CATEGORY/JUDGE/annotations.json        output_2, preference (1, 2; 0 or 1.5: tie; null)

The data sets are told apart by their fields, so that they may be called and kept as one likes, as Parquet, JSON Lines
or an array in JSON. No file numbers its instructions: each is named by a hash of its text, which is what the authors'
code joins by. Their code writes a fixed name for the baseline; where an output is the development set's, the name is
taken from there. Responses of the agreement set were drawn at another temperature than those of the development set,
so they are an experiment of their own.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from core.tables import messages as of_tables
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import Row, read_rows
from core.text import storable
from generation.importers.benchmark_files import Part, StudyShape
from generation.importers.json_arrays import json_array
from generation.importers.messages import of_files
from generation.importers.records import (
    MAIN,
    InstructionRecord,
    PreferenceRecord,
    ResponseRecord,
    RubricRecord,
    WeightRecord,
)

SLUG = "href"
AGREEMENT = "agreement"
"""The experiment of the human agreement set."""
HUMAN = "human"
"""The model whose responses are the human references, as the authors' code calls it."""
AGREEMENT_STUDY = StudyShape(
    "href-agreement", {"en": "HREF: human agreement set", "zh-hans": "HREF：人工一致性集"}, "pair", AGREEMENT
)
DEVELOPMENT_STUDY = StudyShape(
    "href-development", {"en": "HREF: development set", "zh-hans": "HREF：开发集"}, "pair", MAIN
)
ANALYSIS = "human_agreement_analysis"
COPIES = "_aggregated"
"""Folders of this ending hold the verdicts of several categories a second time."""
FORMATS = (".parquet", ".jsonl", ".ndjson", ".json")
CHOICES = {"1": "A", "2": "B", "0": "tie", "1.5": "tie", "": ""}
PEOPLES_CHOICES = {"1": "A", "2": "B", "0": "tie"}
OTHER_NAMES = {"fact checking or attributed qa": "Fact Checking"}
"""Names of categories in the authors' code that are not those of their paper."""
COMPOSITES = {"href", "href_7b", "href_new", "ahref"}
"""Judges of the authors' code that choose among the others by category; ours are named composite and theirs."""
POINTER = b"version https://git-lfs"
DIGITS_OF_NAME = 16


@dataclass(frozen=True)
class HrefLayout:
    """The fields of one kind of file: those every row needs, and those it may have."""

    name: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def fits(self, fields: Iterable[str]) -> bool:
        return set(self.needed) <= set(fields)


PAIRS = HrefLayout(
    "agreement set",
    ("instruction", "generator_a", "output_a", "generator_b", "output_b", "annotations"),
    ("category", "annotaters", "annotators", "reference"),
)
VERDICTS = HrefLayout(
    "annotations",
    ("instruction", "generator_1", "output_1", "generator_2", "output_2", "preference"),
    ("output_human", "annotator", "dataset", "time_per_example"),
)
TASKS = HrefLayout("development set", ("instruction", "reference"), ("category", "output", "generator"))
RESPONSES = HrefLayout("responses", ("instruction", "output"), ("generator", "dataset"))
LAYOUTS = (PAIRS, VERDICTS, TASKS, RESPONSES)
"""In the order in which they are tried: the fields of the last are among those of the one before."""
NAMED = {"annotations.json": VERDICTS, "responses.jsonl": RESPONSES}
"""What a file is by its name where its rows do not show it, so that loading says what is wrong with it."""


@dataclass(frozen=True)
class HrefFile:
    """A file that was understood. `judge` and `experiment` are of verdicts, `folder` is the category's, `model` above."""

    path: Path
    layout: HrefLayout
    judge: str = ""
    folder: str = ""
    model: str = ""
    experiment: str = MAIN


class Href:
    """Whatever there is of HREF below one folder; `tasks` is a further file in the development set's shape.

    Raises BadRow where the folder holds none of its files. `unknown` counts by kind of file and field.
    """

    slug = SLUG

    def __init__(self, root: Path, tasks: Path | None = None) -> None:
        self.root, self.tasks = root, tasks
        self.absent: list[str] = []
        self.unknown: Counter[str] = Counter()
        self._texts: dict[tuple[str, str, str], tuple[int, Place]] = {}
        self._judged: dict[tuple[str, ...], tuple[str, Place]] = {}
        self._unreadable: list[tuple[Path, BadRow]] = []
        below = [path for path in sorted(root.rglob("*")) if path.is_file() and _is_data(path.relative_to(root))]
        paths = [tasks, *below] if tasks else below
        self.files = [file for path in paths if (file := self._understood(path))]
        if not self.files and not self._unreadable:
            what = of_files.NO_HREF()
            remedy = of_files.NAME_HREF()
            raise BadRow(str(root), 0, what, remedy)
        for layout, where in ((TASKS, "allenai/href"), (PAIRS, "allenai/href_preference")):
            if not self._of(layout):
                self.absent.append(f"{layout.name} (data/dev-*.parquet of {where})")

    def rubrics(self, on_bad: OnBadRow = refuse) -> Iterable[RubricRecord]:
        return ()

    def weights(self) -> Iterable[WeightRecord]:
        return ()

    def parts(self) -> Iterator[Part]:
        """Instructions, the responses to them, then preferences of people and of judges.

        The many files of one model's responses, and of one judge's verdicts, are one part.
        """
        self._texts.clear()
        self._judged.clear()
        for path, problem in self._unreadable:
            yield Part(self._name(path), path.stat().st_size, partial(_refused, problem))
        for file in (*self._of(TASKS), *self._of(PAIRS)):
            yield self._part([file], self.instructions, experiment=AGREEMENT if file.layout is PAIRS else MAIN)
        for file in self._of(TASKS):
            yield self._part([file], self.responses)
        for files in _grouped(self._of(RESPONSES), lambda file: file.model):
            yield self._part(files, self.responses)
        for file in self._of(PAIRS):
            yield self._part([file], self.paired_responses, experiment=AGREEMENT)
            yield self._part([file], self.choices, AGREEMENT_STUDY)
        for files in _grouped(self._of(VERDICTS), lambda file: file.experiment):
            yield self._part(files, self.paired_responses, experiment=files[0].experiment)
        for files in _grouped(self._of(VERDICTS), lambda file: f"{file.experiment}/{file.judge}"):
            study = AGREEMENT_STUDY if files[0].experiment == AGREEMENT else DEVELOPMENT_STUDY
            yield self._part(files, self.verdicts, study)

    def _part(
        self,
        files: Sequence[HrefFile],
        read: Callable[[HrefFile, OnBadRow], Iterator[Any]],
        study: StudyShape | None = None,
        experiment: str = MAIN,
    ) -> Part:
        """Make one part of files that are read in the same way."""
        name = self._name(files[0].path)
        if len(files) > 1:
            name += f" (+{len(files) - 1})"

        def records(on_bad: OnBadRow) -> Iterator[Any]:
            for file in files:
                yield from read(file, on_bad)

        size = sum(file.path.stat().st_size for file in files)
        return Part(name, size, records, study, study.experiment if study else experiment)

    def _of(self, layout: HrefLayout) -> list[HrefFile]:
        return [file for file in self.files if file.layout is layout]

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else path.name

    def _understood(self, path: Path) -> HrefFile | None:
        """What kind of file it is by the fields of its first row; None, and listed, where that is none of HREF's."""
        if not path.stat().st_size:
            self.absent.append(f"{self._name(path)} (empty)")
            return None
        with path.open("rb") as file:
            if file.read(len(POINTER)) == POINTER:
                what, remedy = of_files.LFS_POINTER(), of_files.PULL_LFS()
                raise BadRow(self._name(path), 0, what, remedy)
        try:
            first = next(self._rows(path, lambda problem: None), None)
        except BadRow as problem:
            if path == self.tasks:
                raise
            if path.suffix.lower() == ".parquet":
                self._unreadable.append((path, problem))
                return None
            first = None
        layout = next((one for one in LAYOUTS if first and one.fits(first.values)), NAMED.get(path.name))
        if layout is None:
            self.absent.append(f"{self._name(path)} (its name or fields are not understood)")
            return None
        return self._placed(path, layout)

    def _placed(self, path: Path, layout: HrefLayout) -> HrefFile:
        """Read judge, category and model from the folders, as the authors' code lays them out."""
        above = [*reversed(self._name(path).split("/")[:-1]), "", "", ""]
        if layout is RESPONSES:
            return HrefFile(path, layout, folder=above[0], model=above[1])
        if layout is not VERDICTS:
            return HrefFile(path, layout)
        experiment = AGREEMENT if ANALYSIS in above else MAIN
        return HrefFile(path, layout, judge=above[0], folder=above[1], model=above[2], experiment=experiment)

    def _rows(self, path: Path, on_bad: OnBadRow) -> Iterator[Row]:
        """Yield a file's rows with the name that the folder gives it. Raises BadRow."""
        name = self._name(path)

        def renamed(problem: BadRow) -> None:
            on_bad(BadRow(name, problem.line, problem.reason, problem.remedy))

        try:
            rows = _array(path, renamed) if path.suffix.lower() == ".json" else read_rows(path, (), renamed)
            for row in rows:
                yield Row(replace(row.place, file=name), row.values)
        except BadRow as problem:
            raise BadRow(name, problem.line, problem.reason, problem.remedy) from problem

    def _read(self, file: HrefFile, on_bad: OnBadRow, read: Callable[[Row], Iterator[Any]]) -> Iterator[Any]:
        """Yield what `read` makes of each row that has the layout's fields; a bad row yields nothing."""
        for row in self._rows(file.path, on_bad):
            try:
                for field in file.layout.needed:
                    if field not in row.values:
                        raise row.place.bad(of_files.NO_FIELD(field=repr(field)), of_files.RESTORE_ROW())
                records = list(read(row))
            except BadRow as problem:
                on_bad(problem)
                continue
            yield from records

    def instructions(self, file: HrefFile, on_bad: OnBadRow) -> Iterator[InstructionRecord]:
        """The instructions with their human references; here the fields that the reader does not know are counted."""

        def read(row: Row) -> Iterator[InstructionRecord]:
            self._count_unknown(file, row)
            yield self._instruction(file, row)

        return self._read(file, on_bad, read)

    def responses(self, file: HrefFile, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
        """A model's responses; of the development set the baseline's and the human references."""

        def read(row: Row) -> Iterator[ResponseRecord]:
            instruction = self._instruction(file, row)
            if file.layout is RESPONSES:
                self._count_unknown(file, row)
            else:
                human = ResponseRecord(row.place, instruction, HUMAN, instruction.reference or None)
                yield from self._once(MAIN, human)
                if "output" not in row.values:
                    return
            generator = row.values.get("generator", "").strip() or file.model
            if not generator:
                raise row.place.bad(of_files.NO_MODEL_NAMED(), of_files.ADD_GENERATOR())
            text = storable(row.values["output"])
            yield from self._once(MAIN, ResponseRecord(row.place, instruction, generator, text))

        return self._read(file, on_bad, read)

    def paired_responses(self, file: HrefFile, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
        """Both responses of each pair that no row before had, and the human reference."""
        experiment = AGREEMENT if file.layout is PAIRS else file.experiment

        def read(row: Row) -> Iterator[ResponseRecord]:
            instruction = self._instruction(file, row)
            pairs = [(model, storable(row.values[output])) for model, output in self._sides(file, row)]
            if file.layout is PAIRS and instruction.reference:
                pairs.append((HUMAN, instruction.reference))
            for model, text in pairs:
                yield from self._once(experiment, ResponseRecord(row.place, instruction, model, text))

        return self._read(file, on_bad, read)

    def choices(self, file: HrefFile, on_bad: OnBadRow) -> Iterator[PreferenceRecord]:
        """What people preferred, one record a person."""

        def read(row: Row) -> Iterator[PreferenceRecord]:
            (model_a, _), (model_b, _) = self._sides(file, row)
            people = row.values.get("annotaters", "") or row.values.get("annotators", "")
            given = _listed(row, "annotations", row.values["annotations"])
            names = _listed(row, "annotaters", people) if people else [f"rater {n}" for n in range(1, len(given) + 1)]
            if len(names) != len(given):
                what = of_files.ANNOTATIONS_BY(n=len(given), people=len(names))
                raise row.place.bad(what, of_files.RESTORE_ROW())
            instruction = self._instruction(file, row)
            for person, value in zip(names, given, strict=True):
                choice = PEOPLES_CHOICES.get(_plain(value))
                if choice is None:
                    raise row.place.bad(of_files.ANNOTATION_OFF(value=repr(value[:20])), of_files.RESTORE_THE_ROW())
                yield PreferenceRecord(
                    row.place,
                    instruction.external_id,
                    model_a,
                    model_b,
                    person,
                    False,
                    choice,
                    category=instruction.category,
                )

        return self._read(file, on_bad, read)

    def verdicts(self, file: HrefFile, on_bad: OnBadRow) -> Iterator[PreferenceRecord]:
        """What a judge preferred. The same verdict in several files, as the copies of a composite's are, counts once."""

        def read(row: Row) -> Iterator[PreferenceRecord]:
            self._count_unknown(file, row)
            instruction = self._instruction(file, row)
            (model_a, _), (model_b, _) = self._sides(file, row)
            choice = CHOICES.get(_plain(row.values["preference"]))
            if choice is None:
                what = of_files.PREFERENCE_OFF(preference=repr(row.values["preference"][:20]))
                raise row.place.bad(what, of_files.RESTORE_ROW())
            judge = file.judge or row.values.get("annotator", "").strip()
            if not judge:
                raise row.place.bad(of_files.NO_JUDGE_NAMED(), of_files.ADD_ANNOTATOR())
            judge = f"composite {judge}" if judge in COMPOSITES else judge
            key = file.experiment, judge, instruction.external_id, model_a, model_b
            known, place = self._judged.setdefault(key, (choice, row.place))
            if known != choice:
                what = of_files.OTHER_VERDICT(judge=repr(judge), file=place.file, line=place.line)
                raise row.place.bad(what, of_tables.KEEP_ONE())
            if place == row.place:
                yield PreferenceRecord(
                    row.place,
                    instruction.external_id,
                    model_a,
                    model_b,
                    judge,
                    True,
                    choice,
                    category=instruction.category,
                    seconds=_seconds(row),
                )

        return self._read(file, on_bad, read)

    def _instruction(self, file: HrefFile, row: Row) -> InstructionRecord:
        text = storable(row.values["instruction"])
        if not text.strip():
            raise row.place.bad(of_files.EMPTY_INSTRUCTION(), of_files.RESTORE_ROW())
        name = instruction_name(text)
        category = row.values.get("category", "").strip() or self._categories.get(name, "")
        if not category:
            dataset = row.values.get("dataset", "").strip()
            category = dataset.removeprefix("href_") or file.folder.replace("_", " ")
        category = OTHER_NAMES.get(category.casefold(), category)
        reference = storable(row.values.get("reference", ""))
        return InstructionRecord(row.place, name, text, category, reference=reference, language="en")

    def _sides(self, file: HrefFile, row: Row) -> tuple[tuple[str, str], tuple[str, str]]:
        """(model, field of its output) of both responses of a pair, the baseline under the name that its data set has."""
        first, second = ("a", "b") if file.layout is PAIRS else ("1", "2")
        names = []
        for side in (first, second):
            model = row.values[f"generator_{side}"].strip()
            if file.layout is VERDICTS and file.experiment == MAIN:
                name = instruction_name(row.values["instruction"])
                generator, text = self._baseline.get(name, ("", ""))
                model = generator if generator and text == row.values[f"output_{side}"] else model
            if not model:
                raise row.place.bad(of_files.EMPTY_GENERATOR(side=side), of_files.RESTORE_ROW())
            names.append((model, f"output_{side}"))
        if names[0][0] == names[1][0]:
            raise row.place.bad(of_files.BOTH_OF(model=repr(names[0][0])), of_files.RESTORE_ROW())
        return names[0], names[1]

    def _once(self, experiment: str, record: ResponseRecord) -> Iterator[ResponseRecord]:
        """Yield the record unless the same was there. Raises BadRow for another text of the same model."""
        if record.text is None:
            return
        key = experiment, record.instruction.external_id, record.model
        text, place = self._texts.setdefault(key, (hash(record.text), record.place))
        if place == record.place:
            yield record
        elif text != hash(record.text):
            what = of_files.OTHER_RESPONSE(model=repr(record.model))
            raise record.place.bad(what, of_files.KEEP_ONE_OF_MODEL())

    def _count_unknown(self, file: HrefFile, row: Row) -> None:
        known = {*file.layout.needed, *file.layout.optional}
        self.unknown.update(f"{file.layout.name}: {field}" for field in row.values if field not in known)

    @cached_property
    def _categories(self) -> dict[str, str]:
        """The category of each instruction of the data sets, by the instruction's name."""
        rows = (row for file in (*self._of(TASKS), *self._of(PAIRS)) for row in self._rows(file.path, lambda bad: None))
        return {
            instruction_name(row.values["instruction"]): category
            for row in rows
            if (category := row.values.get("category", "").strip()) and "instruction" in row.values
        }

    @cached_property
    def _baseline(self) -> dict[str, tuple[str, str]]:
        """The baseline's name and output by the instruction's name, as the development set has them."""
        rows = (row for file in self._of(TASKS) for row in self._rows(file.path, lambda bad: None))
        return {
            instruction_name(row.values["instruction"]): (generator, row.values["output"])
            for row in rows
            if (generator := row.values.get("generator", "").strip()) and {"instruction", "output"} <= set(row.values)
        }


def _refused(problem: BadRow, _on_bad: OnBadRow) -> Iterator[Any]:
    """The records of a file that cannot be read: none. Raises BadRow."""
    raise problem
    yield


def _grouped(files: Iterable[HrefFile], key: Callable[[HrefFile], str]) -> list[list[HrefFile]]:
    """Return the files of each key, in the order in which keys are met."""
    groups: dict[str, list[HrefFile]] = {}
    for file in files:
        groups.setdefault(key(file), []).append(file)
    return list(groups.values())


def instruction_name(text: str) -> str:
    """Name an instruction by a hash of its words, whatever the spaces between them."""
    return f"href-{hashlib.sha256(' '.join(text.split()).encode()).hexdigest()[:DIGITS_OF_NAME]}"


def _is_data(path: Path) -> bool:
    folders = path.parts[:-1]
    hidden = any(folder.startswith(".") or folder.endswith(COPIES) for folder in folders)
    return path.suffix.lower() in FORMATS and not hidden


@dataclass(frozen=True, slots=True)
class _Entry(Place):
    """Where an entry of an array begins, with its number: several may begin on one line."""

    number: int


def _array(path: Path, on_bad: OnBadRow) -> Iterator[Row]:
    """Yield the objects of a JSON array, every value as text, as other tables are read. Raises BadRow."""
    for number, (place, value) in enumerate(json_array(path, on_bad)):
        yield Row(_Entry(place.file, place.line, number), {str(key): _text(item) for key, item in value.items()})


def _text(value: object) -> str:
    if value is None:
        return ""
    return storable(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _listed(row: Row, field: str, text: str) -> list[str]:
    """Return the values of a list, which tables hold as its JSON text. Raises BadRow for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not found:
        raise row.place.bad(of_files.NO_LIST(field=repr(field)), of_files.RESTORE_ROW())
    return [str(value) for value in found]


def _plain(value: str) -> str:
    """Return a number as text without a zero behind the point: 1.0 is 1."""
    value = value.strip()
    return value.removesuffix(".0") if value.replace(".", "", 1).isdigit() else value


def _seconds(row: Row) -> float | None:
    try:
        seconds = float(row.values.get("time_per_example", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None
