"""Compute every stored number of an export again from the export alone, and compare it to the last digit."""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.models import Rater, Study, excluded_shown
from annotation.uploads.study_archives import FORMAT
from calibration.data.frames import ABOUT_RESPONSES, NothingToRead, data_hash
from calibration.data.labels import checklist_rows
from calibration.data.scores import label_frame
from calibration.fits.categories import FitRefused, rows_to_json
from calibration.fits.export import FitExport, fit_to_json, refit_from_json
from calibration.fits.store import labelled_rows, versions
from calibration.models import Fit
from calibration.reports.cache import EXCLUDED, SHOWN
from calibration.reports.registry import Plain, stored_report
from calibration.statistics.errors import NoStatistic
from core.errors import UserError
from judging.archive.export import Manifest, StoredReport
from judging.archive.scratch_database import load_rows, scratch_database
from judging.comparison.judge_against_people import KIND as AGAINST_PEOPLE, stored_comparison
from judging.leaderboards.weighting import EQUAL, Weighting, fit_name, weighting_of
from judging.report_kinds import report_kind

MOST_DIFFERENCES = 20
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Recomputed:
    """One stored result: `same` if every value is equal, else the places that differ."""

    kind: str
    name: str
    same: bool
    values: int
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Recomputation:
    """All results of an export, and the versions of what computed them then and now."""

    study: str
    results: tuple[Recomputed, ...]
    versions_then: Mapping[str, str]
    versions_now: Mapping[str, str]

    @property
    def same(self) -> bool:
        return all(one.same for one in self.results)


def recompute(path: Path, progress: Progress | None = None) -> Recomputation:
    """Load an export's rows into a database of their own and recompute every report and fit. Raises UserError."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive)
            reports: list[StoredReport] = [json.loads(line) for line in archive.read("reports.jsonl").splitlines()]
            fits: list[FitExport] = [
                json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("fits/")
            ]
            with scratch_database():
                load_rows(archive, [name for name in _tables(archive) if "." in name])
                study = Study.objects.get(slug=manifest["study"])
                results = tuple(_results(study, reports, fits, progress))
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise UserError(
            f"{path} is not a complete export of a study ({error}); create it again with {settings.PROGRAM} export."
        ) from error
    return Recomputation(manifest["study"], results, manifest["versions"], versions())


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    manifest: Manifest = json.loads(archive.read("manifest.json"))
    if manifest.get("format") != FORMAT:
        raise UserError(f"The file's format is {manifest.get('format')!r}, not {FORMAT!r}; export the study again.")
    return manifest


def _tables(archive: zipfile.ZipFile) -> list[str]:
    """Return the labels of the tables in the order they were written, each after those to which it refers."""
    names = [name for name in archive.namelist() if name.startswith("rows/")]
    return [name.removeprefix("rows/").removesuffix(".jsonl") for name in names]


def _results(
    study: Study, reports: Sequence[StoredReport], fits: Sequence[FitExport], progress: Progress | None
) -> Iterator[Recomputed]:
    total = len(reports) + len(fits)
    for done, report in enumerate(reports):
        name = ", ".join(f"{key} {value}" for key, value in report["settings"].items() if value not in ("", None))
        if progress:
            progress(done, total, report["kind"])
        yield _compared(report["kind"], name, report["result"], _report(study, report))
    for done, fit in enumerate(fits, start=len(reports)):
        if progress:
            progress(done, total, "fit")
        yield _fit(study, fit)
    if progress:
        progress(total, total, "")


def _report(study: Study, stored: StoredReport) -> Plain:
    """Compute the report from the imported rows."""
    kind, settings = stored["kind"], stored["settings"]
    if kind == AGAINST_PEOPLE:
        judge = Rater.objects.get(public_id=settings["judge"])
        with excluded_shown(settings.get(EXCLUDED) == SHOWN):
            weighting, draws, seed = _weighting(settings["weights"]), settings["draws"], settings["seed"]
            return stored_comparison(study, judge, weighting, draws=draws, seed=seed)
    known = report_kind(kind)
    if known is None:
        raise UserError(f"This version has no report of the kind {kind!r}; use the version that made the export.")
    return stored_report(study, known, settings)


def _weighting(name: str) -> Weighting:
    if name == EQUAL:
        return Weighting(EQUAL)
    fit = Fit.objects.get(public_id=name)
    return weighting_of(fit, fit_name(fit))


def _fit(study: Study, stored: FitExport) -> Recomputed:
    """Refit from the stored rows; if the study's answers are those that were fitted, compare the rows with the scores."""
    try:
        again = refit_from_json(stored)
    except FitRefused as error:
        return Recomputed("fit", stored["fit"], False, 0, (str(error),))
    differences = list(again.differences) + _row_differences(study, stored)
    kept = fit_to_json(Fit.objects.get(public_id=stored["fit"]))
    differences += [f"stored row {place}" for place in _different(kept["categories"], stored["categories"], "")]
    values = sum(1 for _ in _leaves(stored["categories"]))
    return Recomputed("fit", stored["fit"], not differences, values, tuple(differences[:MOST_DIFFERENCES]))


def _row_differences(study: Study, stored: FitExport) -> list[str]:
    with excluded_shown(Fit.objects.get(public_id=stored["fit"]).kind == Fit.Kind.WITH_EXCLUDED):
        frame = label_frame(kinds=ABOUT_RESPONSES, study=study)
    if data_hash(frame) != stored["data_hash"]:
        return []
    try:
        rows = {category.key: rows_to_json(category) for category in labelled_rows(frame, checklist_rows(frame))}
    except (NothingToRead, NoStatistic) as error:
        return [str(error)]
    return [
        place
        for category in stored["categories"]
        for place in _different(
            category["rows"], _plain(rows.get(category["category"])), f"{category['category']}: rows"
        )
    ]


def _compared(kind: str, name: str, stored: Any, found: Any) -> Recomputed:
    differences = tuple(_different(stored, _plain(found), ""))
    values = sum(1 for _ in _leaves(stored))
    return Recomputed(kind, name, not differences, values, differences[:MOST_DIFFERENCES])


def _plain(value: Any) -> Any:
    """Return the value as it is read back from storage."""
    return json.loads(json.dumps(value))


def _different(one: Any, other: Any, place: str) -> Iterator[str]:
    """Return the paths at which two JSON values differ; numbers must be equal to the last digit."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            if name not in one or name not in other:
                yield f"{place}/{name}: missing"
            else:
                yield from _different(one[name], other[name], f"{place}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _different(mine, theirs, f"{place}/{index}")
    elif one != other or type(one) is not type(other):
        yield f"{place}: {one!r} stored, {other!r} now"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
