"""The human annotations of HelloBench's repository as ratings. PURE.

The layout is known from two of the repository's scripts, its annotation interface and regression.py; no annotated file
was seen. A file is called stats.jsonl or stats_TASK.jsonl and stands in Annnotation_Interface/ (spelt so) or in
ckwise_results_hm/, itself or in a folder of one annotator. Each line has

    instruction_en, response_en     what was rated
    category                        the subcategory
    checklist                       [[question in English, question in Chinese], ...]
    evaluation_results              an answer of 0 to 4 for each question, and last the overall score, 0 to 10
    flags                           whether it was answered

A line names neither a model nor an annotator: the model is the one that wrote this response in the repository's
results, and the annotator is the folder, else the number of times that the response was rated so far. Fields id, model
and annotator count where a line has them.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from core.tables.bad_rows import BadRow, OnBadRow, Place
from core.tables.reading import json_lines
from generation.importers.benchmark_files import Part, StudyShape
from generation.importers.messages import of_files
from generation.importers.records import RatingRecord

FOLDERS = ("Annnotation_Interface", "Annotation_Interface", "ckwise_results_hm")
HIGHEST_ANSWER, HIGHEST_OVERALL = 4, 10
OVERALL = "overall"
PEOPLE = StudyShape(
    slug="hellobench-people",
    names={"en": "HelloBench, rated by people", "zh-hans": "HelloBench，由人评分"},
    kind="checklist",
    overall=OVERALL,
)
FIELDS = frozenset(
    {
        *("id", "model", "annotator", "category", "checklist", "evaluation_results", "flags"),
        *("instruction_en", "response_en", "instruction_zh", "response_zh"),
    }
)
OnFields = Callable[[Place, Mapping[str, Any], Collection[str]], None]
Writers = Callable[[], Mapping[str, tuple[str, str]]]
REMEDY = of_files.RESTORE_LINE()


def annotated_files(root: Path) -> list[Path]:
    """Return the annotated files below the root of a clone, in order of their paths."""
    found = {path for folder in FOLDERS for path in (root / folder).glob("**/stats*.jsonl") if path.stat().st_size}
    return sorted(found)


def human_parts(root: Path, note_unknown: OnFields) -> Iterator[Part]:
    """Yield a part for each annotated file; the responses that they are matched with are read once, at the first.

    `note_unknown` is handed each line, with the fields that are known.
    """
    files = annotated_files(root)
    writers: dict[str, tuple[str, str]] = {}
    for path in files:
        name = str(path.relative_to(root))
        read = partial(
            _ratings, path, name, _annotator(root, path), lambda: writers or _note(writers, root), note_unknown
        )
        yield Part(name, path.stat().st_size, read, study=PEOPLE)


def _annotator(root: Path, path: Path) -> str:
    """Return the folder between the known one and the file, '' where the file stands in the known one itself."""
    return "/".join(path.relative_to(root).parts[1:-1])


def _note(writers: dict[str, tuple[str, str]], root: Path) -> dict[str, tuple[str, str]]:
    """Note which instruction and model each response of the main experiment belongs to, by a hash of both texts."""
    places = [root / "results" / "generations" / "main_exp", *(root / name / "labeling_data" for name in FOLDERS)]
    for place in places:
        for path in sorted(place.glob("*/*_results.jsonl")):
            for _place, value in json_lines(path, _pass_over):
                key = _key(value.get("instruction"), value.get("response"))
                if isinstance(value.get("id"), str):
                    writers.setdefault(key, (value["id"], path.parent.name))
    return writers


def _pass_over(_problem: BadRow) -> None:
    """A response that cannot be read matches nothing; its own loader names the line."""


def _key(instruction: object, response: object) -> str:
    texts = (" ".join(text.split()) if isinstance(text, str) else "" for text in (instruction, response))
    return hashlib.sha256("\x1f".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def _ratings(
    path: Path, name: str, annotator: str, writers: Writers, note_unknown: OnFields, on_bad: OnBadRow
) -> Iterator[RatingRecord]:
    times: Counter[tuple[str, str]] = Counter()
    for place, value in json_lines(path, on_bad, name):
        note_unknown(place, value, FIELDS)
        if value.get("flags") is False:
            continue
        try:
            instruction, model = _written_by(place, value, writers)
            answers = _answers(place, value)
        except BadRow as problem:
            on_bad(problem)
            continue
        times[instruction, model] += 1
        given = value.get("annotator")
        rater = given if isinstance(given, str) and given else annotator or f"annotator {times[instruction, model]}"
        for position, answer in enumerate(answers[:-1]):
            yield _record(place, instruction, model, rater, answer / HIGHEST_ANSWER, position)
        yield _record(place, instruction, model, rater, answers[-1], None)


def _record(place: Place, instruction: str, model: str, rater: str, value: float, position: int | None) -> RatingRecord:
    return RatingRecord(
        place=place,
        item=instruction,
        rater=rater,
        is_judge=False,
        criterion=OVERALL if position is None else "",
        value=f"{value:g}",
        model=model,
        position=position,
    )


def _written_by(place: Place, value: Mapping[str, Any], writers: Writers) -> tuple[str, str]:
    """Return the instruction and the model of a line. Raises BadRow where no response of the clone is this one."""
    named = value.get("id"), value.get("model")
    if all(isinstance(one, str) and one for one in named):
        return str(named[0]), str(named[1])
    found = writers().get(_key(value.get("instruction_en"), value.get("response_en")))
    if found is None:
        raise place.bad(of_files.NOT_THE_RATED(), REMEDY)
    return found


def _answers(place: Place, value: Mapping[str, Any]) -> list[float]:
    """Return the answers to the checklist and the overall score behind them. Raises BadRow."""
    questions, given = value.get("checklist"), value.get("evaluation_results")
    if not isinstance(questions, list) or not isinstance(given, list) or len(given) <= len(questions):
        raise place.bad(of_files.WHOLE_ANSWER_NEEDED(), REMEDY)
    # The interface has a fixed number of buttons, so between the answers and the overall score there may be empty ones.
    chosen = [*given[: len(questions)], given[-1]]
    highest = [HIGHEST_ANSWER] * len(questions) + [HIGHEST_OVERALL]
    answers = []
    for answer, most in zip(chosen, highest, strict=True):
        if isinstance(answer, bool) or not isinstance(answer, int | float) or not 0 <= answer <= most:
            raise place.bad(of_files.ANSWER_OFF(answer=repr(answer), most=most), REMEDY)
        answers.append(float(answer))
    return answers
