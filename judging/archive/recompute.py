"""Every stored number of an export, computed again from the export alone and compared to the last digit."""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.models import Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, NothingToRead, data_hash
from calibration.data.labels import checklist_rows
from calibration.data.scores import score_frame
from calibration.fits.categories import FitRefused, rows_to_json
from calibration.fits.export import fit_to_json, refit_from_json
from calibration.fits.store import labelled_rows, versions
from calibration.models import Fit
from calibration.reports.registry import stored_report
from calibration.statistics.errors import NoStatistic
from judging.archive.export import FORMAT
from judging.archive.scratch_database import ExportRefused, load_rows, scratch_database
from judging.comparison.judge_against_people import KIND as AGAINST_PEOPLE, compare
from judging.leaderboards.weighting import EQUAL, Weighting, fit_name, weighting_of
from judging.report_kinds import report_kind

MOST_DIFFERENCES = 20
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Recomputed:
    """One stored result: `same` where every value came out alike, else the places that differ."""

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
    """Rebuild an export's rows in a database of their own and every report and fit from them. Raises ExportRefused."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive)
            reports = [json.loads(line) for line in archive.read("reports.jsonl").splitlines()]
            fits = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("fits/")]
            with scratch_database():
                load_rows(archive, [name for name in _tables(archive) if "." in name])
                study = Study.objects.get(slug=manifest["study"])
                found = list(_results(study, reports, fits, progress))
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise ExportRefused(
            f"{path} is not a complete export of a study ({error}); create it again with manage.py export."
        ) from error
    return Recomputation(manifest["study"], tuple(found), manifest["versions"], versions())


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    if manifest.get("format") != FORMAT:
        raise ExportRefused(f"The file's format is {manifest.get('format')!r}, not {FORMAT!r}; export the study again.")
    return manifest


def _tables(archive: zipfile.ZipFile) -> list[str]:
    """Labels of the tables in the order they were written, each after those it refers to."""
    names = [name for name in archive.namelist() if name.startswith("rows/")]
    return [name.removeprefix("rows/").removesuffix(".jsonl") for name in names]


def _results(
    study: Study, reports: list[dict[str, Any]], fits: list[dict[str, Any]], progress: Progress | None
) -> Iterator[Recomputed]:
    total = len(reports) + len(fits)
    for done, stored in enumerate(reports):
        name = ", ".join(f"{key} {value}" for key, value in stored["settings"].items() if value not in ("", None))
        if progress:
            progress(done, total, stored["kind"])
        yield _compared(stored["kind"], name, stored["result"], _report(study, stored))
    for done, stored in enumerate(fits, start=len(reports)):
        if progress:
            progress(done, total, "fit")
        yield _fit(study, stored)
    if progress:
        progress(total, total, "")


def _report(study: Study, stored: Mapping[str, Any]) -> Any:
    """The report as the same code computes it from the rows at hand."""
    kind, settings = stored["kind"], stored["settings"]
    if kind == AGAINST_PEOPLE:
        judge = Rater.objects.get(public_id=settings["judge"])
        return compare(study, judge, _weighting(settings["weights"]), draws=settings["draws"], seed=settings["seed"])
    known = report_kind(kind)
    if known is None:
        raise ExportRefused(f"This version has no report of the kind {kind!r}; use the version that made the export.")
    return stored_report(study, known, settings)


def _weighting(name: str) -> Weighting:
    if name == EQUAL:
        return Weighting(EQUAL)
    fit = Fit.objects.get(public_id=name)
    return weighting_of(fit, fit_name(fit))


def _fit(study: Study, stored: dict[str, Any]) -> Recomputed:
    """The fit from its rows; where the study's answers are still the ones fitted, the rows from the scores as well."""
    try:
        again = refit_from_json(stored)
    except FitRefused as error:
        return Recomputed("fit", stored["fit"], False, 0, (str(error),))
    differences = list(again.differences) + _row_differences(study, stored)
    kept = fit_to_json(Fit.objects.get(public_id=stored["fit"]))
    differences += [f"stored row {place}" for place in _different(kept["categories"], stored["categories"], "")]
    values = sum(1 for _ in _leaves(stored["categories"]))
    return Recomputed("fit", stored["fit"], not differences, values, tuple(differences[:MOST_DIFFERENCES]))


def _row_differences(study: Study, stored: Mapping[str, Any]) -> list[str]:
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    if data_hash(frame) != stored["data_hash"]:
        return []
    try:
        rows = {one.key: rows_to_json(one) for one in labelled_rows(frame, checklist_rows(frame))}
    except (NothingToRead, NoStatistic) as error:
        return [str(error)]
    return [
        place
        for one in stored["categories"]
        for place in _different(one["rows"], _plain(rows.get(one["category"])), f"{one['category']}: rows")
    ]


def _compared(kind: str, name: str, stored: Any, found: Any) -> Recomputed:
    differences = tuple(_different(stored, _plain(found), ""))
    values = sum(1 for _ in _leaves(stored))
    return Recomputed(kind, name, not differences, values, differences[:MOST_DIFFERENCES])


def _plain(value: Any) -> Any:
    """The value as storage would give it back."""
    return json.loads(json.dumps(value))


def _different(one: Any, other: Any, place: str) -> Iterator[str]:
    """Where two JSON values differ, as paths; numbers are equal only to the last digit."""
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
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    else:
        yield value
