"""A clone of HelloBench's repository (MIT): instructions, checklists, responses, GPT-4o's verdicts, weights.

    data/main_data/TASK.jsonl                                  id, category, instruction
    data/length_constrained_data/TASK_{2k,4k,8k,16k}.jsonl     the same with a length asked for
    checklists/TASK_checklist.json                             category -> questions
    results/{generations,judgements}/EXPERIMENT/MODEL/TASK[_LENGTH]_results.jsonl
    Annnotation_Interface/ or ckwise_results_hm/ stats*.jsonl  human annotations, see hellobench_people.py
    weighted_scores.txt                                        category -> weights, a Python literal, never run

What is absent or empty is listed and passed over. Where an instruction's file is missing, the results say what
was asked, and a summary's kind is read from the first line of its instruction.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.tables.reading import json_lines, lines
from core.text import has_piled_marks, storable
from generation.importers.benchmark_files import Part, Record, StudyShape
from generation.importers.hellobench_people import human_parts
from generation.importers.messages import of_files
from generation.importers.records import (
    LONG_CONTEXT,
    MAIN,
    InstructionRecord,
    ItemVerdict,
    ResponseRecord,
    RubricRecord,
    VerdictRecord,
    WeightRecord,
)
from generation.llm.protocol.wrapping import LENGTHS

JUDGE = "gpt-4o"
TASKS = ("open_ended_qa", "summarization", "chat", "text_completion", "heuristic_text_generation")
EXPERIMENTS = (MAIN, *LENGTHS, LONG_CONTEXT)
FOLDERS = {MAIN: "main_exp", **dict.fromkeys(LENGTHS, "length_constrained_exp"), LONG_CONTEXT: "longcontext_exp"}
SIZES = {experiment: experiment.removeprefix("length-") for experiment in LENGTHS}
"""What the repository's files call each length."""
INSTRUCTION_FIELDS = frozenset({"id", "category", "instruction"})
RESPONSE_FIELDS = INSTRUCTION_FIELDS | {"response"}
VERDICT_FIELDS = RESPONSE_FIELDS | {"checklist_wise_evaluation"}
WORDS_ASKED = {SIZES[experiment]: words for experiment, words in LENGTHS.items()}
RESULT_NAME = re.compile(rf"({'|'.join(TASKS)})(?:_({'|'.join(WORDS_ASKED)}))?_results\.jsonl")
SUMMARY_KINDS = (
    ("academic article", "academic_article"),
    ("dialog", "long_dialogue"),
    ("news", "news"),
    ("blog", "blogs"),
    ("report", "report"),
)
STUDIES = {
    MAIN: ("hellobench-gpt-4o", "HelloBench, judged by GPT-4o", "HelloBench，由GPT-4o评判"),
    **{
        experiment: (
            f"hellobench-gpt-4o-{experiment}",
            f"HelloBench with {words:,} words requested, judged by GPT-4o",
            f"HelloBench要求{words:,}词，由GPT-4o评判",
        )
        for experiment, words in LENGTHS.items()
    },
    LONG_CONTEXT: (
        "hellobench-gpt-4o-long-context",
        "HelloBench's long-context models, judged by GPT-4o",
        "HelloBench长上下文实验，由GPT-4o评判",
    ),
}
"""Slug, English and Chinese name of each experiment's study."""
LONGEST_LITERAL = 50_000
"""Characters of a verdict that is read as a Python literal, which takes ten times as long as JSON."""
FIRST_LINE = 300


@dataclass(frozen=True)
class ResultFile:
    """What one model wrote for one task, and how it was judged; either file may be missing."""

    experiment: str
    model: str
    task: str
    length: str
    responses: Path | None
    verdicts: Path | None


class Clone:
    """A reader of the shape BenchmarkFiles. Raises BadRow where the folder holds neither data nor results."""

    slug = "hellobench"

    def __init__(self, root: Path, tasks: Path | None = None) -> None:
        self.root = root
        self.absent: list[str] = []
        self.unknown: dict[str, int] = {}
        self._read_before: set[Path] = set()
        if tasks is not None:
            raise BadRow(str(tasks), 0, of_files.TASKS_IN_CLONE(), of_files.NO_TASKS_OPTION())
        if not (root / "data").is_dir() and not (root / "results").is_dir():
            what, remedy = of_files.NO_HELLOBENCH(), of_files.NAME_DATA_RESULTS()
            raise BadRow(str(root), 0, what, remedy)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    def _broken(self, path: Path, reason: str) -> BadRow:
        return BadRow(self._name(path), 0, reason, of_files.RESTORE_IT())

    def _rows(self, path: Path | None, on_bad: OnBadRow) -> Iterator[tuple[Place, dict[str, Any]]]:
        return json_lines(path, on_bad, self._name(path)) if path else iter(())

    def _present(self, path: Path) -> Path | None:
        """The file, if it is there and holds something; else it is listed as absent."""
        if path.is_file() and path.stat().st_size:
            return path
        name = self._name(path) + (" (empty)" if path.is_file() else "")
        if name not in self.absent:
            self.absent.append(name)
        return None

    def _note_strange(self, path: Path) -> None:
        note = f"{self._name(path)} (its name is not understood)"
        if note not in self.absent:
            self.absent.append(note)

    def _note_unknown(self, place: Place, value: Mapping[str, Any], known: Collection[str]) -> None:
        """Count the fields that are not read, by the kind of their file: its folder and "*"."""
        for name in value.keys() - known:
            folder = place.file.split("/")
            pattern = "/".join([*folder[: 3 if folder[0] == "results" else -1], "*"])
            key = f"{pattern}: {name}"
            self.unknown[key] = self.unknown.get(key, 0) + 1

    def rubrics(self, on_bad: OnBadRow = refuse) -> Iterator[RubricRecord]:
        """Each category's questions in the repository's words; a file that is none of checklists goes to `on_bad`."""
        for task in TASKS:
            path = self._present(self.root / "checklists" / f"{task}_checklist.json")
            if path is None:
                continue
            try:
                records = list(self._checklists(path, task))
            except BadRow as problem:
                on_bad(problem)
                continue
            yield from records

    def parts(self) -> Iterator[Part]:
        """The instructions of each experiment, then each model's responses and verdicts; last what people answered."""
        for experiment, (slug, english, chinese) in STUDIES.items():
            study = StudyShape(slug, {"en": english, "zh-hans": chinese}, "checklist", experiment, judge=JUDGE)
            asked, answered = self.instruction_files(experiment), self.result_files(experiment)
            if experiment == LONG_CONTEXT and not answered:
                continue  # it asks the main instructions, which are there without it
            for path, task, length in asked:
                yield self._part(path, partial(self.instructions, path, task, length), experiment)
            for file in answered:
                if file.responses:
                    yield self._part(file.responses, partial(self.responses, file), experiment)
                if file.verdicts:
                    yield self._part(file.verdicts, partial(self.verdicts, file), experiment, study)
        yield from human_parts(self.root, self._note_unknown)

    def _part(
        self,
        path: Path,
        records: Callable[[OnBadRow], Iterator[Record]],
        experiment: str,
        study: StudyShape | None = None,
    ) -> Part:
        return Part(self._name(path), path.stat().st_size, records, study, experiment)

    def instruction_files(self, experiment: str) -> list[tuple[Path, str, str]]:
        """(file, task, length) of an experiment; the long-context one has the main one's instructions."""
        data = self.root / "data"
        if experiment in LENGTHS:
            task, size = TASKS[-1], SIZES[experiment]
            names = [(data / "length_constrained_data" / f"{task}_{size}.jsonl", task, size)]
        else:
            names = [(data / "main_data" / f"{task}.jsonl", task, "") for task in TASKS]
        return [(path, task, size) for path, task, size in names if self._present(path)]

    def result_files(self, experiment: str) -> list[ResultFile]:
        """By model and task, of one length where the experiment is about one. Files of other names are listed."""
        size = SIZES.get(experiment, "")
        kinds = [self.root / "results" / kind / FOLDERS[experiment] for kind in ("generations", "judgements")]
        found: dict[tuple[str, str, str], str] = {}
        for folder in kinds:
            if not folder.is_dir():
                self._present(folder)
                continue
            for path in sorted(folder.glob("*/*")):
                match = RESULT_NAME.fullmatch(path.name)
                if match and (match[2] or "") == size:
                    found[path.parent.name, match[1], size] = path.name
                elif path.is_file() and not (match and match[2] and size):
                    self._note_strange(path)
        return [
            ResultFile(experiment, model, task, length, *(self._present(folder / model / name) for folder in kinds))
            for (model, task, length), name in sorted(found.items())
        ]

    def instructions(
        self, path: Path, task: str, length: str, on_bad: OnBadRow = refuse
    ) -> Iterator[InstructionRecord]:
        is_first = path not in self._read_before  # two experiments share the main instructions
        self._read_before.add(path)
        for place, value in json_lines(path, on_bad, self._name(path)):
            if is_first:
                self._note_unknown(place, value, INSTRUCTION_FIELDS)
            try:
                yield self._instruction(place, value, task, length)
            except BadRow as problem:
                on_bad(problem)

    def responses(self, file: ResultFile, on_bad: OnBadRow = refuse) -> Iterator[ResponseRecord]:
        for place, value in self._rows(file.responses, on_bad):
            self._note_unknown(place, value, RESPONSE_FIELDS)
            try:
                yield self._response(place, value, file)
            except BadRow as problem:
                on_bad(problem)

    def verdicts(self, file: ResultFile, on_bad: OnBadRow = refuse) -> Iterator[VerdictRecord]:
        for place, value in self._rows(file.verdicts, on_bad):
            self._note_unknown(place, value, VERDICT_FIELDS)
            try:
                response = self._response(place, value, file)
            except BadRow as problem:
                on_bad(problem)
                continue
            found = read_evaluation(value.get("checklist_wise_evaluation"))
            if isinstance(found, str):
                yield VerdictRecord(response, (), found)
            else:
                yield VerdictRecord(response, found)

    def _response(self, place: Place, value: Mapping[str, Any], file: ResultFile) -> ResponseRecord:
        return ResponseRecord(
            place, self._instruction(place, value, file.task, file.length), file.model, _text(place, value, "response")
        )

    def _instruction(self, place: Place, value: Mapping[str, Any], task: str, length: str) -> InstructionRecord:
        name = _text(place, value, "id")
        text = _text(place, value, "instruction")
        category = value.get("category")
        if not isinstance(category, str):
            category = self._categories.get(name) or (summary_kind(text) if task == "summarization" else "")
        external_id = f"{name}@{length}" if length else name
        return InstructionRecord(place, external_id, text, category, task, WORDS_ASKED.get(length))

    @cached_property
    def _categories(self) -> dict[str, str]:
        """What the main instructions' files say of each id, for results that do not."""
        paths = [self.root / "data" / "main_data" / f"{task}.jsonl" for task in TASKS]
        return {
            str(value.get("id")): str(value.get("category", ""))
            for path in paths
            if path.is_file() and path.stat().st_size
            for _place, value in json_lines(path, lambda problem: None)
        }

    def _checklists(self, path: Path, task: str) -> Iterator[RubricRecord]:
        text = "".join(text for _number, text in lines(path, name=self._name(path)))
        try:
            for category, questions in json.loads(text).items():
                texts = tuple(storable(str(question)) for question in questions)
                yield RubricRecord(Place(self._name(path), 0), category, task, texts)
        except (ValueError, AttributeError, TypeError) as error:
            raise self._broken(path, of_files.NO_CHECKLIST_FILE()) from error

    def weights(self) -> list[WeightRecord]:
        """The published weights, read as a literal. Raises BadRow."""
        path = self._present(self.root / "weighted_scores.txt")
        if path is None:
            return []
        try:
            tree = ast.parse("".join(text for _number, text in lines(path, name=self._name(path))))
            found = [node for node in tree.body if isinstance(node, ast.Assign | ast.Expr)]
            table = ast.literal_eval(found[0].value)
            place = Place(self._name(path), found[0].lineno)
            return [WeightRecord(place, str(key), tuple(map(float, values))) for key, values in table.items()]
        except (SyntaxError, ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
            if isinstance(error, BadRow):
                raise
            raise self._broken(path, of_files.NO_WEIGHTS()) from error


def _text(place: Place, value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or (name == "id" and not found):
        raise place.bad(of_files.NO_TEXT(field=repr(name)), of_files.RESTORE_LINE())
    return storable(found)


def summary_kind(instruction: str) -> str:
    """Which kind of text is to be summarised, by the first such word of the instruction's first line; "" if none."""
    first = instruction.split("\n", 1)[0][:FIRST_LINE].lower()
    places = [(first.find(word), key) for word, key in SUMMARY_KINDS if word in first]
    return min(places)[1] if places else ""


def read_evaluation(value: object) -> tuple[ItemVerdict, ...] | str:
    """The items of a verdict by position, or one phrase on why it cannot be used.

    It may be a list or a string that spells one out in JSON or as a Python literal. Items are numbered from 0,
    or all of them from 1.
    """
    if isinstance(value, str):
        written, value = value, _literal(value)
        if value is written and len(written) > LONGEST_LITERAL:
            return f"no JSON, and more than {LONGEST_LITERAL:,} characters, which is too long for a Python literal"
    if not isinstance(value, list):
        return "no list of items" if value is not None else "no evaluation"
    if not value:
        return "no items"
    items = []
    for place, entry in enumerate(value):
        try:
            number, score = int(entry["checklist_id"]), float(entry["evaluation_score"])
        except (KeyError, TypeError, ValueError, OverflowError):
            return f"item {place} has no number or no score"
        if score != score or abs(score) == float("inf"):
            return f"item {place} has no number or no score"
        items.append(ItemVerdict(number, score, storable(str(entry.get("reason") or ""))))
    numbers = [item.position for item in items]
    if numbers == list(range(1, len(items) + 1)):
        return tuple(ItemVerdict(item.position - 1, item.score, item.reason) for item in items)
    if sorted(numbers) != list(range(len(items))):
        return f"items are numbered {', '.join(map(str, numbers[:10]))}"
    return tuple(sorted(items, key=lambda item: item.position))


def _literal(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > LONGEST_LITERAL or has_piled_marks(text):
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
