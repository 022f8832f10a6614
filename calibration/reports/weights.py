"""What stands behind a fit: which weights to use, the pooling path, floors, leaving out, cohorts, another fit."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from annotation.models import Rater, Study
from calibration.fits.categories import LabelledRows, rows_from_json
from calibration.models import Fit
from calibration.reports.codec import plain, plain_part, stored
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.report_reasons import NoPooling
from calibration.statistics.resampling import cluster_codes
from calibration.statistics.weights.fit import fit_weights, weight_intervals
from calibration.statistics.weights.gains import FamilyRows, weigh_verdict
from calibration.statistics.weights.least_squares import cluster_sums
from calibration.statistics.weights.pooling import pool_weights
from calibration.statistics.weights.sensitivity import compare_fits, floor_path, without_each

DRAWS = 1000


def depth_settings(study: Study, fit: str = "", other: str = "") -> Plain:
    """The fit asked for by public id, else the newest; `other` a fit to compare it with, '' for none."""
    newest = study.fits.filter(kind=Fit.Kind.FITTED).order_by("-created_at", "-pk").first()
    return {"fit": fit or (newest.public_id if newest else ""), "with": other, "draws": DRAWS, "seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, Plain]:
    fit = study.fits.filter(public_id=settings["fit"], kind=Fit.Kind.FITTED).first()
    if fit is None:
        return "", {"why": "NothingToRead", "reason": "no weights have been fitted yet"}
    other = study.fits.filter(public_id=settings["with"], kind=Fit.Kind.FITTED).first()
    rows, rivals = _rows_of(fit), _rows_of(other) if other else {}
    cohorts = _cohorts(study)
    floor, draws, seed = float(fit.settings["floor"]), int(settings["draws"]), int(settings["seed"])
    found = [
        _category(one, rows, floor, cohorts, draws, seed)
        | {"other": _against(one, rivals, floor, other, draws, seed) if other else None}
        for one in rows.values()
    ]
    report = {
        "fit": fit.public_id,
        "with": other.public_id if other else "",
        "floor": floor,
        "categories": found,
        "families": _families(rows, floor, seed),
    }
    return fit.data_hash, stored(report)


WEIGHTS = register(ReportKind("weights in depth", _compute, slow_from=60_000))


def _rows_of(fit: Fit) -> dict[str, LabelledRows]:
    rows = {}
    for one in fit.categories.order_by("position"):
        rows[one.key] = rows_from_json(one.key, one.diagnostics["rows"])
    return rows


def _cohorts(study: Study) -> dict[str, str]:
    """Each rater's cohort by the rater's name."""
    raters = Rater.objects.filter(study=study, cohort__isnull=False).select_related("cohort").order_by("pk")
    return {row.name: row.cohort.name for row in raters if row.cohort}


def _family_rows(one: LabelledRows) -> FamilyRows:
    return one.answers, one.overall, one.items, one.instructions


def _category(
    one: LabelledRows, rows: Mapping[str, LabelledRows], floor: float, cohorts: Mapping[str, str], draws: int, seed: int
) -> Plain:
    family = {key: _family_rows(other) for key, other in rows.items() if other.parent == one.parent and key != one.key}
    return {
        "key": one.key,
        "items": list(one.items),
        "n": len(one.overall),
        "verdict": plain_part(lambda: weigh_verdict(_family_rows(one), family, floor=floor, draws=draws, seed=seed)),
        "floors": plain_part(lambda: floor_path(one.answers, one.overall, one.instructions)),
        "raters": plain_part(lambda: _dropped(one, one.raters, floor)),
        "models": plain_part(lambda: _dropped(one, one.models, floor)),
        "cohorts": [
            plain_part(partial(_cohort, one, name, cohorts, floor, draws, seed)) | {"cohort": name}
            for name in sorted({cohorts[rater] for rater in one.raters if rater in cohorts})
        ],
    }


def _dropped(one: LabelledRows, labels: Sequence[str], floor: float) -> Any:
    if not labels:
        raise TooFewRatings(0, 2, "raters or models with a name")
    return without_each(one.answers, one.overall, labels, floor=floor)


def _cohort(one: LabelledRows, name: str, cohorts: Mapping[str, str], floor: float, draws: int, seed: int) -> Plain:
    """The weights of one cohort's answers alone."""
    mask = np.array([cohorts.get(rater) == name for rater in one.raters], dtype=np.bool_)
    if mask.sum() < len(one.items):
        raise TooFewRatings(int(mask.sum()), len(one.items), "complete answers")
    x, y = one.answers[mask], one.overall[mask]
    fit = fit_weights(x, y, floor=floor)
    codes, k = cluster_codes([label for label, own in zip(one.instructions, mask, strict=True) if own])
    ends = weight_intervals(cluster_sums(x, y, codes, k), floor, draws=draws, seed=seed)
    return {
        "n": int(mask.sum()),
        "weights": plain(fit.weights),
        "low": plain(ends.weights_low),
        "high": plain(ends.weights_high),
        "r2": fit.r2,
        "interval_kind": ends.interval_kind,
        "clusters": ends.clusters,
    }


def _against(
    one: LabelledRows, rivals: Mapping[str, LabelledRows], floor: float, other: Fit, draws: int, seed: int
) -> Any:
    """This category under the other fit, on this fit's rows."""
    rival = rivals.get(one.key)
    if rival is None or set(rival.items) != set(one.items):
        return {"why": "NothingToRead", "reason": "the other fit has no category with these items"}
    columns = [rival.items.index(item) for item in one.items]
    return plain_part(
        lambda: compare_fits(
            (one.answers, one.overall, one.instructions),
            (rival.answers[:, columns], rival.overall, rival.instructions),
            floors=(floor, float(other.settings["floor"])),
            draws=draws,
            seed=seed,
        )
    )


def _families(rows: Mapping[str, LabelledRows], floor: float, seed: int) -> list[Plain]:
    """The pooling path of every family: error on unseen instructions by how strongly weights are drawn together."""
    found = []
    for parent in sorted({one.parent for one in rows.values()}):
        members = {key: _family_rows(one) for key, one in rows.items() if one.parent == parent}
        own: Any = plain_part(partial(_pooled, members, floor, seed))
        found.append({"parent": parent, "categories": list(members), **own})
    return found


def _pooled(members: Mapping[str, FamilyRows], floor: float, seed: int) -> Plain:
    if len(members) < 2:
        raise NoPooling("One category has no family.")
    found = pool_weights(members, floor=floor, seed=seed)
    return {
        "strength": plain(found.strength),
        "gain": found.gain,
        "folds": found.folds,
        "path": [[plain(strength), error] for strength, error in found.path],
        "gains": {key: one.gain for key, one in found.categories.items()},
    }
