"""Export a study as one file from which every number on its pages can be computed again: rows, fits, reports.

The file is a zip of JSON lines, one file for each table, with the keys of the rows; `tables/scores.csv` is for people.
Raters are named by pseudonym. The texts of instructions, responses, prompts and reasons, what raters wrote in own words in
a questionnaire, users and access codes are left out; of a response's text only the length is exported, on which length
bias depends.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, TypedDict

from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Length

from accounts.models import Workspace
from annotation.models import (
    Assignment,
    CheckOutcome,
    Cohort,
    Criterion,
    Exclusion,
    LateChange,
    Questionnaire,
    QuestionnaireAnswer,
    Rater,
    Rubric,
    Score,
    Study,
    Task,
    excluded_shown,
    why_not_counted,
)
from annotation.monitoring.exclusion import excluded_in
from annotation.questionnaires.answer_lines import LINE_COLUMNS, answer_lines
from annotation.questionnaires.asking import questions_of
from annotation.questionnaires.questions import without_texts
from calibration.data.verdicts import judged_elsewhere
from calibration.fits.export import fit_to_json
from calibration.fits.store import versions
from calibration.models import CategoryFit, Fit, FittedWeight
from calibration.reports.cache import CHOICES, current_reports
from calibration.reports.codec import stored
from calibration.reports.judges import judges_beside
from calibration.reports.people.reviewed_verdicts import review_scores
from core.messages.message import ENDING
from core.tables.formula_cells import CsvWriter
from generation.models import Benchmark, Category, GenerationRun, Instruction, LanguageModel, Response
from judging.leaderboards.check_counts import beside_tasks
from judging.leaderboards.reports import NAME as LEADERBOARD, leaderboards_of
from judging.models import Judge

FORMAT = "plumbline-study-1"
SCORE_COLUMNS = (
    "study",
    "task",
    "instruction",
    "category",
    "model",
    "model_b",
    "rater",
    "rater_kind",
    "cohort",
    "repeat",
    "status",
    "shown_first",
    "active_seconds",
    "criterion",
    "role",
    "revision",
    "value",
    "not_applicable",
    "not_counted",
    "discredited",
    "item",
    "item_b",
)


Row = dict[str, Any]
"""A row of a table by the names of its columns."""


class StoredReport(TypedDict):
    """A line of reports.jsonl."""

    kind: str
    settings: Mapping[str, Any]
    data_hash: str
    result: Any


class Manifest(TypedDict):
    format: str
    study: str
    workspace: str
    versions: Mapping[str, str]
    rows: Mapping[str, int]
    excluded: Mapping[str, int]


@dataclass(frozen=True)
class ExportPart:
    """One table: the rows that are exported, and the values that replace the fields that are left out."""

    model: type[Model]
    rows: QuerySet[Any]
    hidden: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"rows/{self.model._meta.label_lower}.jsonl"


def export_study(study: Study, target: Path | IO[bytes]) -> dict[str, int]:
    """Write the export and return the number of rows of each table."""
    counts: dict[str, int] = {}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in parts_of(study):
            counts[part.model._meta.label_lower] = _write_lines(archive, part.name, _plain_rows(part))
        counts["fits"] = _write_fits(archive, study)
        reports = [
            StoredReport(kind=row.kind, settings=asked(row.settings), data_hash=row.data_hash, result=row.result)
            for row in current_reports(study)
        ]
        for settings, data_hash, board in leaderboards_of(study):
            reports.append(StoredReport(kind=LEADERBOARD, settings=settings, data_hash=data_hash, result=stored(board)))
        counts["reports"] = _write_lines(archive, "reports.jsonl", reports)
        _write_scores(archive, study)
        if study.questionnaires.exists():
            _write_questionnaires(archive, study)
        manifest = Manifest(
            format=FORMAT,
            study=study.slug,
            workspace=study.workspace.slug,
            versions=versions(),
            rows=counts,
            excluded={
                name: n for name, n in asdict(excluded_in(task__study=study)).items() if n or name != "by_source"
            },
        )
        archive.writestr("manifest.json", json.dumps(manifest, indent=1, sort_keys=True))
    return counts


def asked(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a report was asked for, without the state of the rows under which it is stored."""
    return {name: value for name, value in settings.items() if name not in ("study", "shape", "state", CHOICES)}


def parts_of(study: Study) -> list[ExportPart]:
    """Return the rows of every table, each after those to which it refers."""
    with excluded_shown():  # an export has the excluded answers, marked
        elsewhere, beside, reviews = judged_elsewhere(study), judges_beside(study), review_scores(study)
    reviewed = reviews.values("assignment__task__reviews")
    tasks = Task.objects.filter(
        Q(study=study)
        | Q(pk__in=elsewhere.values("task"))
        | Q(pk__in=beside.values("task"))
        | Q(pk__in=reviews.values("assignment__task"))
        | Q(assignments__in=reviewed)
    ).distinct()
    answers = Assignment.objects.filter(
        Q(task__study=study)
        | Q(pk__in=elsewhere.values("pk"))
        | Q(pk__in=beside.values("pk"))
        | Q(pk__in=reviews.values("assignment"))
        | Q(pk__in=reviewed)
    )
    unasked, asking = _beside_tasks(tasks)
    responses = Response.objects.filter(
        Q(pk__in=tasks.values("response_a")) | Q(pk__in=tasks.values("response_b")) | Q(pk__in=unasked)
    )
    instructions = Instruction.objects.filter(pk__in=responses.values("instruction"))
    benchmarks = Benchmark.objects.filter(Q(pk__in=instructions.values("benchmark")) | Q(pk=study.benchmark_id))
    rubrics = Rubric.objects.filter(Q(pk__in=tasks.values("answer_rubric")) | Q(pk__in=asking))
    asked = QuestionnaireAnswer.objects.filter(questionnaire__study=study)
    raters = Rater.objects.filter(Q(pk__in=answers.values("rater")) | Q(pk__in=asked.values("rater")))
    judges = Judge.objects.filter(rater__in=raters)
    fits = Fit.objects.filter(Q(study=study) | Q(workspace=study.workspace_id, kind=Fit.Kind.PUBLISHED))
    runs = GenerationRun.objects.filter(pk__in=responses.values("run"))
    models = LanguageModel.objects.filter(
        Q(responses__in=responses) | Q(pk__in=judges.values("language_model"))
    ).distinct()
    return [
        ExportPart(Workspace, Workspace.objects.filter(pk=study.workspace_id)),
        ExportPart(Benchmark, benchmarks),
        ExportPart(Category, Category.objects.filter(benchmark__in=benchmarks)),
        ExportPart(Instruction, instructions, {"messages": None, "parts": None, "reference": "", "hint": ""}),
        ExportPart(LanguageModel, models, {"endpoint_id": None, "parameters": {}}),
        ExportPart(GenerationRun, runs, {"manifest": {}, "parameters": {}, "message": "", "created_by_id": None}),
        ExportPart(Response, responses, {"derived_from_id": None}),
        ExportPart(Rubric, rubrics),
        ExportPart(Criterion, Criterion.objects.filter(rubric__in=rubrics)),
        ExportPart(
            Study,
            Study.objects.filter(pk__in=tasks.values("study")) | Study.objects.filter(pk=study.pk),
            {"created_by_id": None, "guideline_id": None},
        ),
        ExportPart(Cohort, Cohort.objects.filter(raters__in=raters).distinct(), {"consents": {}, "codes": {}}),
        ExportPart(Rater, raters, {"user_id": None}),
        ExportPart(Exclusion, Exclusion.objects.filter(rater__in=raters), {"by_id": None, "lifted_by_id": None}),
        ExportPart(Task, tasks, {"guide_rubric_id": None}),
        ExportPart(Assignment, answers, {"seat_id": None}),
        ExportPart(Score, Score.objects.filter(assignment__in=answers), {"reason": "", "evidence": None}),
        ExportPart(LateChange, LateChange.objects.filter(assignment__in=answers)),
        ExportPart(CheckOutcome, CheckOutcome.objects.filter(assignment__in=answers)),
        ExportPart(Questionnaire, Questionnaire.objects.filter(study=study), {"created_by_id": None}),
        ExportPart(QuestionnaireAnswer, asked),
        ExportPart(Judge, judges, {"prompt": "", "parameters": {}}),
        ExportPart(Fit, fits, {"created_by_id": None}),
        ExportPart(CategoryFit, CategoryFit.objects.filter(fit__in=fits)),
        ExportPart(FittedWeight, FittedWeight.objects.filter(category_fit__fit__in=fits)),
    ]


def _beside_tasks(tasks: QuerySet[Task]) -> tuple[set[int], set[int]]:
    """Return, for studies of checks, the responses without a task and the rubrics on which their counts rest."""
    responses: set[int] = set()
    rubrics: set[int] = set()
    for study in Study.objects.filter(pk__in=tasks.values("study"), kind=Study.Kind.CHECK):
        absent, asking = beside_tasks(study)
        responses |= absent
        rubrics |= asking
    return responses, rubrics


def _plain_rows(part: ExportPart) -> Iterator[Row]:
    fields = part.model._meta.concrete_fields
    names = [column.attname for column in fields if not column.name.endswith(ENDING)]
    rows = part.rows.order_by("pk")
    if part.model is Response:
        rows, names = rows.annotate(characters=Length("text")), [*names, "characters"]
    kept = [name for name in names if name not in part.hidden and not (part.model is Response and name == "text")]
    for row in rows.values(*kept).iterator(chunk_size=5000):
        yield _without_names(part.model, {**row, **part.hidden})


def _without_names(model: type[Model], row: Row) -> Row:
    """Name a rater by pseudonym only; drop a cohort's secret, and texts of late changes and questionnaires."""
    if model is LateChange:
        sent = {key: {**answer, "reason": "", "evidence": None} for key, answer in row["answers"].items()}
        return {**row, "answers": sent}
    if model is Rater:
        shown = row["pseudonym"] or row["label"]
        return {**row, "label": row["public_id"], "pseudonym": shown}
    if model is QuestionnaireAnswer:
        questions = questions_of(Questionnaire.objects.get(pk=row["questionnaire_id"]))
        return {**row, "answers": without_texts(questions, row["answers"])}
    if model is Cohort:
        return {**row, "entry_token": f"cohort-{row['id']}"}
    return row


def _write_lines(archive: zipfile.ZipFile, name: str, rows: Iterable[Mapping[str, object]]) -> int:
    count = 0
    with archive.open(name, "w", force_zip64=True) as out:
        for row in rows:
            line = json.dumps(row, default=_exactly, ensure_ascii=False, sort_keys=True)
            out.write(line.encode() + b"\n")
            count += 1
    return count


def _exactly(value: Any) -> str:
    """Write times to the microsecond, because they order the answers, and decimals digit by digit."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be exported")


def _write_fits(archive: zipfile.ZipFile, study: Study) -> int:
    """Write each fit in the form that fit_weights --from reads, and return their number."""
    fits = list(study.fits.exclude(kind=Fit.Kind.PUBLISHED).order_by("pk"))
    for fit in fits:
        archive.writestr(f"fits/{fit.public_id}.json", json.dumps(fit_to_json(fit), ensure_ascii=False))
    return len(fits)


def _write_scores(archive: zipfile.ZipFile, study: Study) -> None:
    """Write tables/scores.csv: one line for each score, with labels instead of keys.

    `not_counted` says why an answer is not counted: "excluded" by a lead; of a surplus answer "closed", the state in which
    its rater was stopped, or "full" where others had taken every assignment slot. Late changes are only in
    rows/annotation.latechange.jsonl, the reasons of exclusions only in rows/annotation.exclusion.jsonl. `item` and `item_b`
    are what the files that were loaded call the responses, so that a line can be joined to them.
    """
    columns = (
        "assignment__task__study__slug",
        "assignment__task__key",
        "assignment__task__response_a__instruction__external_id",
        "assignment__task__response_a__instruction__category__key",
        "assignment__task__response_a__model__name",
        "assignment__task__response_b__model__name",
        "assignment__rater__pseudonym",
        "assignment__rater__label",
        "assignment__rater__kind",
        "assignment__rater__cohort__name",
        "assignment__repeat",
        "assignment__status",
        "assignment__shown_first",
        "assignment__active_seconds",
        "criterion__key",
        "criterion__role",
        "revision",
        "value",
        "not_applicable",
        "assignment__reason",
        "assignment__discredited",
        "assignment__task__response_a__external_id",
        "assignment__task__response_b__external_id",
    )
    rows = Score.objects.filter(assignment__task__study=study).order_by("pk").values_list(*columns)
    with archive.open("tables/scores.csv", "w", force_zip64=True) as binary:
        out = io.TextIOWrapper(binary, "utf-8", newline="")
        writer = CsvWriter(out)
        writer.writerow(SCORE_COLUMNS)
        for *row, item, item_b in rows.iterator(chunk_size=5000):
            called = [row[6] or row[7]]
            why = why_not_counted(row[11], row[-2])
            writer.writerow((*row[:6], *called, *row[8:-2], why, bool(row[-1]), item, item_b))
        out.flush()
        out.detach()


def _write_questionnaires(archive: zipfile.ZipFile, study: Study) -> None:
    """Write tables/questionnaires.csv: one line for each answer of a rater about themselves, without free texts."""
    with archive.open("tables/questionnaires.csv", "w", force_zip64=True) as binary:
        out = io.TextIOWrapper(binary, "utf-8", newline="")
        writer = CsvWriter(out)
        writer.writerow(LINE_COLUMNS)
        for line in answer_lines(study, texts=False):
            writer.writerow(line.cells)
        out.flush()
        out.detach()
