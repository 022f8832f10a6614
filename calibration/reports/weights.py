"""What stands behind a fit: which weights to use, the pooling path, floors, leaving out, cohorts, another fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias, cast

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import NothingToRead
from calibration.fits.categories import LabelledRows, StoredRows, rows_from_json
from calibration.models import Fit, fitted_kind
from calibration.reports.codec import INLINED, Missing, part
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.errors import TooFewRatings, Undefined
from calibration.statistics.resampling import FloatArray, IntervalKind, cluster_codes
from calibration.statistics.weights.fit import fit_weights, weight_intervals
from calibration.statistics.weights.gains import FamilyRows, Verdict, decided, gains_of
from calibration.statistics.weights.least_squares import cluster_sums
from calibration.statistics.weights.pooling import pool_weights
from calibration.statistics.weights.rivals import RivalMethods, rival_methods
from calibration.statistics.weights.sensitivity import (
    Dropped,
    FitsCompared,
    FloorStep,
    compare_fits,
    floor_path,
    without_each,
)

DRAWS = 1000


@dataclass(frozen=True)
class CohortWeights:
    """The weights of `n` answers, arrays (items,) of 100, with their ends over instructions."""

    n: int
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    r2: float
    interval_kind: IntervalKind
    clusters: int


@dataclass(frozen=True)
class Cohort:
    """The weights that one cohort's answers alone give."""

    cohort: str
    fit: CohortWeights | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class CategoryDepth:
    """What stands behind the weights of one category; `other` compares them with another fit, None without one.

    `rivals` compares fitted weights with ridge regression and partial least squares.
    """

    key: str
    items: list[str]
    n: int
    verdict: Verdict | Missing
    floors: list[FloorStep] | Missing
    raters: Dropped | Missing
    models: Dropped | Missing
    cohorts: list[Cohort]
    other: FitsCompared | Missing | None
    rivals: RivalMethods | Missing


@dataclass(frozen=True)
class PoolingPath:
    """The best pooling strength (0 to infinity), its gain, and the error on held-out instructions at each strength.

    `path` holds pairs of strength and mean squared error, `gains` the gain of each category.
    """

    strength: float
    gain: float
    folds: int
    path: list[tuple[float, float]]
    gains: Mapping[str, float]


@dataclass(frozen=True)
class Family:
    """Categories with the same parent, whose weights may be pooled."""

    parent: str
    categories: list[str]
    pooling: PoolingPath | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class WeightsInDepth:
    """What stands behind a fit; `with_` is the fit that it is compared with, '' for none."""

    fit: str
    with_: str
    floor: float
    categories: list[CategoryDepth]
    families: list[Family]


Depth: TypeAlias = WeightsInDepth | Missing


def depth_settings(study: Study, fit: str = "", other: str = "") -> Settings:
    """Return the settings: `fit` by public id ('' for the newest), and `other`, a fit to compare it with ('' for none)."""
    newest = study.fits.filter(kind=fitted_kind()).order_by("-created_at", "-pk").first()
    return {"fit": fit or (newest.public_id if newest else ""), "with": other, "draws": DRAWS, "seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, Depth]:
    fit = study.fits.filter(public_id=settings["fit"], kind=fitted_kind()).first()
    if fit is None:
        return "", Missing.because(NothingToRead("no weights have been fitted yet"))
    other = study.fits.filter(public_id=settings["with"], kind=fitted_kind()).first()
    rows, rivals = _rows_of(fit), _rows_of(other) if other else {}
    cohorts = _cohorts(study)
    floor, draws, seed = float(fit.settings["floor"]), int(settings["draws"]), int(settings["seed"])
    categories = []
    for category in rows.values():
        against = _against(category, rivals, floor, other) if other else None
        categories.append(_category(category, rows, floor, cohorts, against, draws, seed))
    return fit.data_hash, WeightsInDepth(
        fit=fit.public_id,
        with_=other.public_id if other else "",
        floor=floor,
        categories=_decided(categories),
        families=_families(rows, floor, seed),
    )


WEIGHTS: ReportKind[Depth] = register(ReportKind("weights in depth", _compute, slow_from=60_000, shape=Depth))


def _decided(categories: list[CategoryDepth]) -> list[CategoryDepth]:
    """Decide for all categories together, as the fit does, so that both state the same finding."""
    known = [row.verdict for row in categories if not isinstance(row.verdict, Missing)]
    verdicts = iter(decided(known))
    return [row if isinstance(row.verdict, Missing) else replace(row, verdict=next(verdicts)) for row in categories]


def _rows_of(fit: Fit) -> dict[str, LabelledRows]:
    categories = fit.categories.order_by("position")
    return {
        category.key: rows_from_json(category.key, cast(StoredRows, category.rows or {})) for category in categories
    }


def _cohorts(study: Study) -> dict[str, str]:
    """Map raters' names to the names of their cohorts."""
    raters = Rater.objects.filter(study=study, cohort__isnull=False).select_related("cohort").order_by("pk")
    return {row.name: row.cohort.name for row in raters if row.cohort}


def _family_rows(rows: LabelledRows) -> FamilyRows:
    return rows.answers, rows.overall, rows.items, rows.instructions


def _category(
    category: LabelledRows,
    rows: Mapping[str, LabelledRows],
    floor: float,
    cohorts: Mapping[str, str],
    other: FitsCompared | Missing | None,
    draws: int,
    seed: int,
) -> CategoryDepth:
    family = {
        key: _family_rows(sibling)
        for key, sibling in rows.items()
        if sibling.parent == category.parent and key != category.key
    }
    raters = category.raters or None
    return CategoryDepth(
        key=category.key,
        items=list(category.items),
        n=len(category.overall),
        verdict=part(lambda: gains_of(_family_rows(category), family, floor=floor, raters=raters)),
        floors=part(lambda: list(floor_path(category.answers, category.overall, category.instructions))),
        raters=part(lambda: _dropped(category, category.raters, floor)),
        models=part(lambda: _dropped(category, category.models, floor)),
        cohorts=[
            Cohort(name, part(partial(_cohort, category, name, cohorts, floor, draws, seed)))
            for name in sorted({cohorts[rater] for rater in category.raters if rater in cohorts})
        ],
        other=other,
        rivals=part(
            lambda: rival_methods(
                category.answers, category.overall, category.instructions, raters, floor=floor, seed=seed
            )
        ),
    )


def _dropped(category: LabelledRows, labels: Sequence[str], floor: float) -> Dropped:
    if not labels:
        raise TooFewRatings(0, 2, "raters or models with a name")
    return without_each(category.answers, category.overall, labels, floor=floor)


def _cohort(
    category: LabelledRows, name: str, cohorts: Mapping[str, str], floor: float, draws: int, seed: int
) -> CohortWeights:
    """Fit the weights to one cohort's answers alone."""
    mask = np.array([cohorts.get(rater) == name for rater in category.raters], dtype=np.bool_)
    if mask.sum() < len(category.items):
        raise TooFewRatings(int(mask.sum()), len(category.items), "complete answers")
    x, y = category.answers[mask], category.overall[mask]
    fit = fit_weights(x, y, floor=floor)
    codes, k = cluster_codes([label for label, kept in zip(category.instructions, mask, strict=True) if kept])
    ends = weight_intervals(cluster_sums(x, y, codes, k), floor, draws=draws, seed=seed)
    return CohortWeights(
        n=int(mask.sum()),
        weights=fit.weights,
        low=ends.weights_low,
        high=ends.weights_high,
        r2=fit.r2,
        interval_kind=ends.interval_kind,
        clusters=ends.clusters,
    )


def _against(
    category: LabelledRows, rivals: Mapping[str, LabelledRows], floor: float, other: Fit
) -> FitsCompared | Missing:
    """Compare this category's fit with that of the other fit, on this fit's rows."""
    rival = rivals.get(category.key)
    if rival is None or set(rival.items) != set(category.items):
        return Missing.because(NothingToRead("the other fit has no category with these items"))
    columns = [rival.items.index(item) for item in category.items]
    return part(
        lambda: compare_fits(
            (category.answers, category.overall, category.instructions),
            (rival.answers[:, columns], rival.overall, rival.instructions),
            floors=(floor, float(other.settings["floor"])),
            raters=category.raters or None,
        )
    )


def _families(rows: Mapping[str, LabelledRows], floor: float, seed: int) -> list[Family]:
    """Compute each family's pooling path: error on held-out instructions by how strongly weights are drawn together."""
    families = []
    for parent in sorted({category.parent for category in rows.values()}):
        members = {key: _family_rows(category) for key, category in rows.items() if category.parent == parent}
        families.append(Family(parent, list(members), part(partial(_pooled, members, floor, seed))))
    return families


def _pooled(members: Mapping[str, FamilyRows], floor: float, seed: int) -> PoolingPath:
    if len(members) < 2:
        raise Undefined("NoPooling", "One category has no family.")
    found = pool_weights(members, floor=floor, seed=seed)
    return PoolingPath(
        strength=found.strength,
        gain=found.gain,
        folds=found.folds,
        path=list(found.path),
        gains={key: category.gain for key, category in found.categories.items()},
    )
