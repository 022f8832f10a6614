"""A clone of WildBench's repository (Apache-2.0): responses, scores, graded comparisons; its tasks come as a file.

    eval_results/VERSION/score.v2/eval=JUDGE/MODEL.json                    [{session_id, score, model_output, ...}]
    eval_results/VERSION/pairwise.v2/eval=JUDGE/ref=BASELINE/MODEL.json    [{session_id, winner, extent, ...}]
    result_dirs/wild_bench_v2/MODEL.json                                   [{session_id, output, ...}]
    tasks, a file of rows as in the data set                               id, conversation_input, checklist, tags

The version v2.0522 is the main experiment, every other one an experiment of its own. A file whose name ends in a number of
words, 128 to 1024, is of an experiment with cut responses. The layouts of pairwise.v2, result_dirs and the tasks were read
from the repository's scripts and the data set's description, not from files.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from core.tables import messages as of_tables
from core.tables.bad_rows import BadRow, OnBadRow, Place, refuse
from core.text import storable
from generation.importers.benchmark_files import Part, StudyShape
from generation.importers.json_arrays import json_array
from generation.importers.messages import of_files
from generation.importers.records import (
    MAIN,
    InstructionRecord,
    PreferenceRecord,
    RatingRecord,
    ResponseRecord,
    RubricRecord,
    WeightRecord,
)
from generation.importers.wildbench_tasks import SCALE, TASK_FIELDS, task_name, task_of, task_rows

MAIN_VERSION = "v2.0522"
OVERALL = "score"
CUT_MARK, EMPTY_MARK = "... (truncated)", "[This model response is empty.]"
SECOND_MARK = "<|begin_of_response_B|>\n"
"""Stands before the second response in files that were cut out of the judge's prompt."""
SCORES, PAIRS = "score.v2", "pairwise.v2"
SCORE_FIELDS = frozenset(["session_id", "parsed_result", "meta_data", "model_test", "score", "model_output"])
PAIR_FIELDS = frozenset(
    ["session_id", "parsed_result", "meta_data", "model_A", "model_B", "model_outputs", "winner", "extent"]
)
OUTPUT_FIELDS = frozenset(
    ["session_id", "chat_history", "model_input", "output", "generator", "configs", "dataset", "id"]
)
PAIR_REASONS = ("analysis of A", "analysis of B", "reason of A=B", "reason of A>B", "reason of B>A")
CUT_NAME = re.compile(r"(.+?)[-_.=@]+(?:max|words?|len|trunc\w*)?[-_=]?([1-9]\d{2,3})(?:[-_]?words?)?")
CUT_STEP, LARGEST_CUT = 128, 1024
RESTORE = of_files.RESTORE_IT()


@dataclass(frozen=True)
class EvalFile:
    """A file of one judge's verdicts on one model; `baseline` is '' for scores. `cut` is a number of words, 0 for none."""

    path: Path
    version: str
    judge: str
    model: str
    baseline: str = ""
    cut: int = 0

    @property
    def experiment(self) -> str:
        parts = [self.version] if self.version != MAIN_VERSION else []
        return "_".join([*parts, *([f"words_{self.cut}"] if self.cut else [])]) or MAIN

    @property
    def study(self) -> StudyShape:
        """The study of these verdicts: comparisons with each baseline have their own.

        Two baselines were compared twice, once in the file of each, and both verdicts count.
        """
        end = "" if self.experiment == MAIN else f"-{_slug(self.experiment)}"
        if self.baseline:
            names = {
                "en": f"WildBench: pairs against {self.baseline}",
                "zh-hans": f"WildBench：与{self.baseline}成对比较",
            }
            return StudyShape(
                f"{self.study_slug(self.baseline)}{end}", names, "pair", self.experiment, off_scale="unscored"
            )
        names = {"en": "WildBench: scores", "zh-hans": "WildBench：评分"}
        scales = {OVERALL: SCALE}
        return StudyShape(
            f"wildbench-scores{end}", names, "checklist", self.experiment, OVERALL, scales, off_scale="unscored"
        )

    @staticmethod
    def study_slug(baseline: str) -> str:
        """The study of the main version's comparisons with a baseline."""
        return f"wildbench-pairs-{_slug(baseline)}"


class Wildbench:
    """Raises BadRow where neither the folder holds results nor a file of tasks is given.

    `left_out` counts, by file pattern and reason, the verdicts that are loaded as left out of results.
    """

    slug = "wildbench"

    def __init__(self, root: Path, tasks: Path | None = None) -> None:
        self.root, self.tasks = root, tasks
        self.absent: list[str] = []
        self.unknown: dict[str, int] = {}
        self.left_out: Counter[str] = Counter()
        if tasks is not None and not tasks.is_file():
            raise BadRow(str(tasks), 0, of_files.NO_TASKS_FILE(), of_tables.CHECK_NAME())
        if tasks is None and not any((root / name).is_dir() for name in ("eval_results", "result_dirs")):
            what, remedy = of_files.NO_WILDBENCH(), of_files.NAME_EVAL_RESULTS()
            raise BadRow(str(root), 0, what, remedy)

    def rubrics(self, on_bad: OnBadRow = refuse) -> Iterable[RubricRecord]:
        """None: each task has its own checklist."""
        return ()

    def weights(self) -> Iterable[WeightRecord]:
        """None: answers to a checklist have no weights."""
        return ()

    def parts(self) -> Iterable[Part]:
        """The tasks, whole responses, scores, comparisons; responses before the verdicts on them."""
        if self.tasks is None:
            self._lacks("the tasks (name their file, as downloaded from the data set)")
        else:
            yield Part(self.tasks.name, self.tasks.stat().st_size, self.instructions, experiment="")
        for path in self._json_files("result_dirs/wild_bench_v2/*"):
            yield Part(self._name(path), path.stat().st_size, partial(self._outputs, path))
        for file in (*self._eval_files(f"{SCORES}/eval=*/*"), *self._eval_files(f"{PAIRS}/eval=*/ref=*/*")):
            name, size = self._name(file.path), file.path.stat().st_size
            verdicts = self._comparisons if file.baseline else self._scores
            yield Part(name, size - size // 2, partial(self._responses, file), experiment=file.experiment)
            yield Part(name, size // 2, partial(verdicts, file), file.study, file.experiment)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    def _lacks(self, what: str) -> None:
        if what not in self.absent:
            self.absent.append(what)

    def _json_files(self, pattern: str) -> list[Path]:
        """The files of a pattern that hold something; the others are listed."""
        found = []
        for path in sorted(self.root.glob(pattern)):
            if not path.is_file():
                continue
            if path.suffix != ".json":
                self._lacks(f"{self._name(path)} (its name is not understood)")
            elif not path.stat().st_size:
                self._lacks(f"{self._name(path)} (empty)")
            else:
                found.append(path)
        return found

    def _eval_files(self, pattern: str) -> list[EvalFile]:
        """The main version first; a baseline's file against itself is listed."""
        files = []
        for path in self._json_files(f"eval_results/*/{pattern}"):
            _results, version, _kind, judge, *reference, _file = path.relative_to(self.root).parts
            baseline = reference[0].removeprefix("ref=") if reference else ""
            model, cut = cut_name(path.stem)
            if model == baseline:
                self._lacks(f"{self._name(path)} (a model against itself)")
            else:
                files.append(EvalFile(path, version, judge.removeprefix("eval="), model, baseline, cut))
        if not files:
            self._lacks(f"eval_results/*/{pattern}")
        placed = set(self.root.glob(f"eval_results/*/{pattern}"))
        for path in sorted(self.root.glob(f"eval_results/*/{pattern.split('/')[0]}/**/*.json")):
            if path not in placed:
                self._lacks(f"{self._name(path)} (files of this kind lie in {pattern.rpartition('/')[0]}/)")
        return sorted(files, key=lambda file: (file.experiment != MAIN, file.experiment, file.baseline, file.path))

    def _rows(
        self, path: Path, known: frozenset[str], pattern: str, on_bad: OnBadRow
    ) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        for place, row in json_array(path, on_bad, self._name(path)):
            self._note_unknown(row, known, pattern)
            yield place, row

    def _again(self, path: Path) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        return json_array(path, _already_reported, self._name(path))

    def _note_unknown(self, row: Mapping[str, Any], known: frozenset[str], pattern: str) -> None:
        for field in row.keys() - known:
            key = f"{pattern}: {storable(str(field))}"
            self.unknown[key] = self.unknown.get(key, 0) + 1

    def instructions(self, on_bad: OnBadRow = refuse) -> Iterator[InstructionRecord]:
        """Each task with its conversation, checklist, group and tags."""
        assert self.tasks is not None
        seen: set[str] = set()
        for place, row in task_rows(self.tasks, on_bad):
            self._note_unknown(row, TASK_FIELDS, "tasks")
            try:
                record = task_of(place, row)
                if record.external_id in seen:
                    raise place.bad(of_files.TASK_TWICE(name=repr(record.external_id)), of_tables.KEEP_ONE())
            except BadRow as problem:
                on_bad(problem)
                continue
            seen.add(record.external_id)
            yield record

    @cached_property
    def _task_ids(self) -> dict[str, str] | None:
        """Each task's name by either of its ids; None where no tasks are given."""
        if self.tasks is None:
            return None
        names: dict[str, str] = {}
        for place, row in task_rows(self.tasks, lambda problem: None):
            try:
                name = task_name(place, row)
            except BadRow:
                continue
            names.setdefault(str(row.get("session_id") or name), name)
            names[name] = name
        return names

    def _task(self, place: Place, row: Mapping[str, Any]) -> InstructionRecord:
        """The task that a result is about, without its text. Raises BadRow."""
        name = row.get("session_id")
        if not isinstance(name, str) or not name.strip():
            raise place.bad(of_files.NO_SESSION(), RESTORE)
        if self._task_ids is not None:
            if name not in self._task_ids:
                raise place.bad(of_files.NOT_AMONG_TASKS(name=repr(name[:50])), of_files.SAME_VERSION())
            name = self._task_ids[name]
        return InstructionRecord(place, storable(name), None)

    def _outputs(self, path: Path, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
        """Whole responses; a list holds several samples."""
        for place, row in self._rows(path, OUTPUT_FIELDS, "result_dirs", on_bad):
            try:
                task = self._task(place, row)
                texts = row.get("output")
                for sample, text in enumerate(texts if isinstance(texts, list) else [texts]):
                    yield ResponseRecord(place, task, path.stem, _output(place, "output", text), sample)
            except BadRow as problem:
                on_bad(problem)

    def _judged(self, file: EvalFile, on_bad: OnBadRow) -> Iterator["_Judged"]:
        """Each row of a file of verdicts with the task and the responses that it is about."""
        pattern, known = (PAIRS, PAIR_FIELDS) if file.baseline else (SCORES, SCORE_FIELDS)
        first = on_bad is not _already_reported
        for place, row in self._rows(file.path, known, pattern, on_bad) if first else self._again(file.path):
            try:
                task = self._task(place, row)
                sides = _sides(place, row, file) if file.baseline else None
                if sides:
                    texts = tuple(_output(place, "model_outputs", sides.outputs[name]) for name in sides.names)
                else:
                    texts = (_output(place, "model_output", row.get("model_output")),)
                yield _Judged(place, row, task, texts, sides, why_left_out(texts, file.cut))
            except BadRow as problem:
                on_bad(problem)

    def _responses(self, file: EvalFile, on_bad: OnBadRow) -> Iterator[ResponseRecord]:
        """The responses as the judge saw them; of a pair the model's, then its baseline's."""
        for one in self._judged(file, on_bad):
            for model, text in zip((file.model, file.baseline), one.texts, strict=False):
                yield ResponseRecord(one.place, one.task, model, "" if text.strip() == EMPTY_MARK else text)

    def _scores(self, file: EvalFile, on_bad: OnBadRow) -> Iterator[RatingRecord]:
        """The scores, without the rows that were reported when the file's responses were read."""
        for one in self._judged(file, _already_reported):
            self._count_left_out(SCORES, one)
            yield RatingRecord(
                place=one.place,
                item=one.task.external_id,
                rater=file.judge,
                is_judge=True,
                criterion=OVERALL,
                value=_score(one.row.get("score")),
                instruction=one.task.external_id,
                model=file.model,
                reason=_reasons(one.row, ("strengths", "weaknesses")),
                left_out=one.left_out,
            )

    def _comparisons(self, file: EvalFile, on_bad: OnBadRow) -> Iterator[PreferenceRecord]:
        """The choices, without the rows that were reported when the file's responses were read."""
        for one in self._judged(file, _already_reported):
            assert one.sides is not None
            try:
                choice, strength = _choice(one.place, one.row, one.sides)
            except BadRow as problem:
                on_bad(problem)
                continue
            self._count_left_out(PAIRS, one)
            yield PreferenceRecord(
                place=one.place,
                item=one.task.external_id,
                model_a=file.model,
                model_b=file.baseline,
                rater=file.judge,
                is_judge=True,
                choice=choice,
                instruction=one.task.external_id,
                shown_first=one.sides.shown_first,
                strength=strength,
                reason=_reasons(one.row, PAIR_REASONS),
                left_out=one.left_out,
            )

    def _count_left_out(self, pattern: str, one: "_Judged") -> None:
        if one.left_out:
            self.left_out[f"{pattern}: {one.left_out}"] += 1


@dataclass(frozen=True)
class _Sides:
    """The file's own names of the model and its baseline, their outputs, and which was shown first: a the model, b."""

    names: tuple[str, str]
    outputs: Mapping[str, Any]
    shown_first: str


@dataclass(frozen=True)
class _Judged:
    """A row of a file of verdicts; `texts` are the model's response and, of a pair, its baseline's."""

    place: Place
    row: Mapping[str, Any]
    task: InstructionRecord
    texts: tuple[str, ...]
    sides: _Sides | None
    left_out: str


def _sides(place: Place, row: Mapping[str, Any], file: EvalFile) -> _Sides:
    """Which of the two is the baseline: the one that the folder names. Raises BadRow."""
    outputs = row.get("model_outputs")
    if not isinstance(outputs, dict) or len(outputs) != 2:
        raise place.bad(of_files.NOT_TWO_MODELS(), RESTORE)
    names = list(outputs)
    matching = [name for name in names if _plain(name) == _plain(file.baseline)]
    matching = matching or [name for name in names if file.baseline in name]
    if len(matching) != 1:
        raise place.bad(of_files.NOT_ONE_BASELINE(names=", ".join(names), baseline=file.baseline), RESTORE)
    model = names[1 - names.index(matching[0])]
    first = {model: "a", matching[0]: "b"}.get(str(row.get("model_A")), "")
    return _Sides((model, matching[0]), outputs, first)


def _choice(place: Place, row: Mapping[str, Any], sides: _Sides) -> tuple[str, int | None]:
    """A, B or tie for the model, its baseline or neither, and how much better: 2 or 1. Raises BadRow."""
    winner, extent = row.get("winner"), row.get("extent")
    if winner == "tie":
        return "tie", None
    if winner not in sides.names:
        raise place.bad(of_files.WINNER_OFF(winner=repr(str(winner)[:50])), RESTORE)
    if isinstance(extent, bool) or extent not in (1, 2):
        raise place.bad(of_files.EXTENT_OFF(extent=repr(str(extent)[:20])), RESTORE)
    return "A" if winner == sides.names[0] else "B", int(extent)


def _already_reported(problem: BadRow) -> None:
    """Leave out what was reported when the responses of the same file were read."""


def _plain(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix("@together").casefold()


def _slug(name: str) -> str:
    return re.sub(r"[^-\w]+", "-", name, flags=re.ASCII)[:60]


def cut_name(stem: str) -> tuple[str, int]:
    """Return the model and the number of words after which its responses were cut: 0 where the name states none."""
    match = CUT_NAME.fullmatch(stem)
    if match and int(match[2]) % CUT_STEP == 0 and int(match[2]) <= LARGEST_CUT:
        return match[1], int(match[2])
    return stem, 0


def why_left_out(texts: Iterable[str], cut: int = 0) -> str:
    """Return why a verdict on these texts does not count, or ''; where responses were `cut` on purpose, those count."""
    for text in texts:
        if not cut and text.rstrip().endswith(CUT_MARK):
            return "the response was cut for the judge"
        if text.strip() == EMPTY_MARK:
            return "the response is empty"
    return ""


def _output(place: Place, field: str, value: object) -> str:
    """The text, or the first of a list of texts. Raises BadRow."""
    found = value[0] if isinstance(value, list) and value else value
    if not isinstance(found, str):
        raise place.bad(of_files.NO_TEXT(field=repr(field)), RESTORE)
    return storable(found.removeprefix(SECOND_MARK))


def _score(value: object) -> str:
    """The score as written; '' where there is none. It may be a number or a list of one."""
    found = value[0] if isinstance(value, list) and value else value
    return "" if found is None or isinstance(found, dict | list | bool) else storable(str(found)).strip()


def _reasons(row: Mapping[str, Any], names: Iterable[str]) -> str:
    parsed = row.get("parsed_result")
    if not isinstance(parsed, dict):
        return ""
    found = [(name, parsed.get(name)) for name in names]
    return storable("\n".join(f"{name}: {text}" for name, text in found if isinstance(text, str) and text.strip()))
