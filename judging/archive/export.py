"""Export a study as one file from which every number on its pages can be computed again: rows, fits, reports.

The file is a zip of JSON lines, one file for each table, with the keys of the rows; `tables/scores.csv` is for people.
Raters are named by pseudonym. What raters wrote in own words in a questionnaire, users and access codes are left out, and,
unless texts are asked for, the texts of instructions, responses, prompts and reasons; of a response's text only the length
is then exported, on which length bias depends. An archive with texts also has the runs with their replies, and can be
imported into an empty installation (importing.py).
"""

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, TypedDict
from uuid import UUID

from django.db.migrations.loader import MigrationLoader

from annotation.models import Score, Study, why_not_counted
from annotation.monitoring.exclusion import excluded_in
from annotation.monitoring.lead_names import names_outside
from annotation.questionnaires.answer_lines import LINE_COLUMNS, answer_lines
from annotation.uploads.study_archives import FORMAT
from calibration.fits.export import fit_to_json
from calibration.fits.store import versions
from calibration.models import Fit
from calibration.reports.cache import CHOICES, current_reports
from calibration.reports.codec import stored
from core.tables.formula_cells import CsvWriter
from judging.archive.parts import parts_of
from judging.comparison.methods_against_people import AGAINST_PEOPLE
from judging.leaderboards.reports import NAME as LEADERBOARD, leaderboards_of

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


OF_TEXTS = (AGAINST_PEOPLE.name,)
"""Reports of statistics that are computed from texts; an export without texts cannot have them computed again."""
NO_REASONS: Mapping[str, Any] = {"clauses": [], "reasons": 0}
"""What a report of the causes of disagreement holds of texts."""


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
    texts: bool
    migrations: Mapping[str, str]
    rows: Mapping[str, int]
    excluded: Mapping[str, int]


def export_study(study: Study, target: Path | IO[bytes], *, texts: bool = False) -> dict[str, int]:
    """Write the export and return the number of rows of each table.

    With `texts` it has the texts and all that pages show, so that it can be imported into another installation.
    """
    counts: dict[str, int] = {}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in parts_of(study, texts=texts):
            counts[part.model._meta.label_lower] = _write_lines(archive, part.name, part.plain_rows(texts=texts))
        counts["fits"] = _write_fits(archive, study)
        reports = [
            StoredReport(
                kind=row.kind,
                settings=asked(row.settings),
                data_hash=row.data_hash,
                result=row.result if texts else _without_texts(row.result),
            )
            for row in current_reports(study)
            if texts or row.kind not in OF_TEXTS
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
            texts=texts,
            migrations=newest_migrations(),
            rows=counts,
            excluded={
                name: n for name, n in asdict(excluded_in(task__study=study)).items() if n or name != "by_source"
            },
        )
        archive.writestr("manifest.json", json.dumps(manifest, indent=1, sort_keys=True))
    return counts


def _without_texts(result: Any) -> Any:
    """A report as it is computed where no reason and no guideline is there: causes quote no clause then."""
    return {**result, **NO_REASONS} if isinstance(result, dict) and NO_REASONS.keys() <= result.keys() else result


def newest_migrations() -> dict[str, str]:
    """Return the newest migration of each app whose rows an archive has; another one means other columns."""
    nodes = MigrationLoader(None).graph.leaf_nodes()
    return {
        app: name for app, name in nodes if app in ("accounts", "generation", "annotation", "calibration", "judging")
    }


def asked(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a report was asked for, without the state of the rows under which it is stored."""
    return {name: value for name, value in settings.items() if name not in ("study", "shape", "state", CHOICES)}


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
    if isinstance(value, Decimal | UUID):
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
        "assignment__rater",
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
        leads = names_outside(study)
        for *row, item, item_b in rows.iterator(chunk_size=5000):
            called = [leads.get(row[6]) or row[7] or row[8]]
            why = why_not_counted(row[12], row[-2])
            writer.writerow((*row[:6], *called, *row[9:-2], why, bool(row[-1]), item, item_b))
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
