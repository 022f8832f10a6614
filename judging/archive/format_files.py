"""Files of a study's answers in other tools' formats: rows of the database in, a file or a zip of several out.

Raters are named by pseudonym, and their reasons are left out unless texts are asked for. Answers that no result counts are
left out, as are answers to canary texts and to degraded copies, because other tools cannot tell them apart.
"""

import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import IO

from django.db.models import QuerySet

from annotation.models import Assignment, Criterion, Score, Study, counting, latest_scores
from annotation.monitoring.lead_names import names_outside
from annotation.rubrics.scales import number_in
from core.errors import UserError
from core.messages.message import Wording
from generation.models import Response
from judging.archive.answer_table import PARQUET as ANSWERS_AS, answer_count, columns_of, write_answers
from judging.formats.answers import ExportedAnswer, ExportedResponse, ExportedScore, ExportedTask, WriteOptions
from judging.formats.dataset_card import HUGGING_FACE, PARQUET, dataset_card
from judging.formats.registry import check_tasks
from judging.formats.writer import Writer

BATCH = 1000
MOST_FILES = 500
NO_ROWS = Wording(
    "formats.no_rows", "Study %(study)s has no answer that %(format)s can hold; nothing has been written."
)
MANY_FILES = Wording("formats.many_files", "The study has more than %(n)s models, and each needs a file of its own.")
RATED = (Response.Kind.RESPONSE, Response.Kind.REFERENCE)


@dataclass(frozen=True)
class FormatFile:
    """What was written: rows of the file, answers that were looked at, and answers that no result counts."""

    rows: int
    answers: int
    left_out: int


def counted_answers(study: Study) -> QuerySet[Assignment]:
    """The answers that formats of other tools hold: those that count, to responses that are neither canaries nor copies."""
    return (
        Assignment.objects.filter(counting(), task__study=study, task__response_a__kind__in=RATED)
        .exclude(task__response_b__kind__in=(Response.Kind.CANARY, Response.Kind.CONTROL, Response.Kind.PROBE))
        .filter(task__reviews=None)
    )


def file_name(study: Study, writer: Writer) -> str:
    return f"{study.slug}-{writer.key}.{'zip' if writer.several else writer.ending}"


def write_format(
    study: Study,
    writer: Writer,
    path: Path,
    options: WriteOptions,
    *,
    texts: bool = False,
    progress: Callable[[int], None] = lambda _done: None,
) -> FormatFile:
    """Write the study's answers to a file. Raises UserError where the format cannot hold them, or holds none of them."""
    check_tasks(writer, pairs=study.kind == Study.Kind.PAIR)
    if writer.table:
        return _write_dataset(study, path, progress)
    answers = counted_answers(study)
    total = answers.count()
    everything = Assignment.objects.filter(task__study=study).exclude(
        status__in=(Assignment.Status.OPEN, Assignment.Status.SKIPPED, Assignment.Status.ABSENT)
    )
    with _Files(path, several=writer.several) as files:
        rows = writer.write(_answered(study, answers, texts=texts, progress=progress), files, options)
        if not rows:
            raise UserError(NO_ROWS(study=study.slug, format=writer.name))
    return FormatFile(rows, total, everything.count() - total)


def _write_dataset(study: Study, path: Path, progress: Callable[[int], None]) -> FormatFile:
    """Write the table of answers, with those that do not count marked, as a dataset folder in a zip."""
    licence = study.benchmark.licence if study.benchmark else ""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        table = Path(folder) / "table"
        for done in write_answers(study, table, ANSWERS_AS, texts=True):
            progress(done)
        rows = answer_count(study)
        if not rows:
            raise UserError(NO_ROWS(study=study.slug, format=HUGGING_FACE.name))
        columns = columns_of(study, texts=True)
        card = dataset_card(study.name, _licence_key(licence), columns, rows, table.stat().st_size)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("README.md", card)
            archive.write(table, PARQUET)
    return FormatFile(rows, rows, 0)


def _licence_key(licence: str) -> str:
    """Return the licence as Hugging Face writes it, such as cc-by-4.0; '' where it is no such key."""
    key = re.sub(r"\s+", "-", licence.strip().lower())
    return key if re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,40}", key) else ""


class _Files:
    """The files of a writer: the only one at the path itself, several in a zip there."""

    def __init__(self, path: Path, *, several: bool) -> None:
        self.path, self.several = path, several
        self._open: dict[str, IO[str]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "_Files":
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(dir=self.path.parent)))
        return self

    def write(self, text: str, name: str = "") -> None:
        if name not in self._open:
            if len(self._open) >= MOST_FILES:
                raise UserError(MANY_FILES(n=MOST_FILES))
            target = self._folder / (name or "only")
            self._open[name] = self._stack.enter_context(target.open("w", encoding="utf-8", errors="replace"))
        self._open[name].write(text)

    def __exit__(self, kind: type[BaseException] | None, *_others: object) -> None:
        try:
            for file in self._open.values():
                file.flush()
            if kind is None:
                self._finish()
        finally:
            self._stack.close()

    def _finish(self) -> None:
        if not self.several:
            (self._folder / "only").replace(self.path)
            return
        with zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(self._open):
                archive.write(self._folder / name, name)


def _answered(
    study: Study, answers: QuerySet[Assignment], *, texts: bool, progress: Callable[[int], None]
) -> Iterator[tuple[ExportedTask, list[ExportedAnswer]]]:
    """Yield each task with its answers, with those of one response after each other."""
    found = _exported(study, answers, texts=texts, progress=progress)
    for _pk, group in groupby(found, key=lambda one: one[0].number):
        every = list(group)
        yield every[0][0], [answer for _task, answer in every]


def _exported(
    study: Study, answers: QuerySet[Assignment], *, texts: bool, progress: Callable[[int], None]
) -> Iterator[tuple[ExportedTask, ExportedAnswer]]:
    related = ["task__response_a__instruction__category", "task__response_a__model", "task__response_b__model", "rater"]
    every = answers.select_related(*related).order_by("task__response_a", "task_id", "pk").iterator(chunk_size=BATCH)
    done, leads = 0, names_outside(study)
    while batch := list(islice(every, BATCH)):
        scores: dict[int, list[Score]] = {}
        for score in Score.objects.filter(assignment__in=batch).select_related("criterion"):
            scores.setdefault(score.assignment_id, []).append(score)
        for answer in batch:
            name = leads.get(answer.rater_id) or answer.rater.name
            yield _task(study, answer), _answer(answer, name, scores.get(answer.pk, []), texts=texts)
        done += len(batch)
        progress(done)


def _task(study: Study, answer: Assignment) -> ExportedTask:
    task = answer.task
    instruction = task.response_a.instruction
    asked = [(str(one.get("role", "")), str(one.get("content", ""))) for one in instruction.messages or []]
    return ExportedTask(
        study=study.slug,
        key=task.public_id,
        number=task.pk,
        instruction=instruction.external_id,
        a=_response(task.response_a),
        b=_response(task.response_b) if task.response_b else None,
        category=instruction.category.key if instruction.category else "",
        messages=tuple(asked),
        reference=instruction.reference,
    )


def _response(response: Response) -> ExportedResponse:
    item = response.external_id or response.public_id
    return ExportedResponse(response.model.name if response.model else "", item, response.sample, response.text)


def _answer(answer: Assignment, name: str, scores: list[Score], *, texts: bool) -> ExportedAnswer:
    latest = sorted(latest_scores(scores).values(), key=lambda score: score.criterion.position)
    choice, strength = "", None
    for score in latest:
        if score.criterion.role == Criterion.Role.PREFERENCE:
            choice, strength = _choice(score)
    return ExportedAnswer(
        rater=name,
        rater_kind=answer.rater.kind,
        scores=tuple(_score(score, texts=texts) for score in latest),
        repeat=answer.repeat,
        seconds=answer.active_seconds,
        shown_first=answer.shown_first,
        submitted_at=answer.submitted_at.isoformat() if answer.submitted_at else "",
        choice=choice,
        strength=strength,
    )


def _choice(score: Score) -> tuple[str, int | None]:
    """Return the side, tie or both_bad of a pair's score, and how much better the side is: 2 much, 1 slightly."""
    value = score.value or 0.0
    if score.level == "both_bad":
        return "both_bad", None
    if not value:
        return "tie", None
    return ("a" if value > 0 else "b"), 2 if abs(value) > 1 else 1


def _score(score: Score, *, texts: bool) -> ExportedScore:
    criterion = score.criterion
    low, high = criterion.ends
    return ExportedScore(
        criterion=criterion.key,
        value=None if score.not_applicable else score.value,
        level=score.level,
        labelled=any(number_in(str(level["key"])) is None for level in criterion.levels),
        reason=score.reason if texts else "",
        low=low,
        high=high,
        overall=criterion.role == Criterion.Role.OVERALL,
    )
