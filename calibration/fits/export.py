"""The export of a stored fit and its rows as JSON, and the computation of the same fit from that JSON alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

from calibration.fits.categories import FitRefused, FitSettings, StoredRows, fit_categories, rows_from_json
from calibration.fits.store import versions
from calibration.models import CategoryFit, Fit
from calibration.statistics.weights.certificates import (
    StoredCertificate,
    StoredPooled,
    StoredPopulations,
    certificate_from_dict,
    certificate_to_dict,
    pooled_to_dict,
)
from calibration.statistics.weights.fit import WeightCertificate
from core.errors import UserError

FORMAT = "plumbline-fit-1"
MISSING = object()


class ExportedCategory(TypedDict):
    """The exported result of a category; a figure without a value (with a single instruction) is null."""

    category: str
    n: int
    items: list[str]
    weights: list[float]
    raw_weights: list[float | None]
    r2: float | None
    mse: float | None
    at_floor: list[str]
    r2_leave_one_instruction_out: float | None
    mse_leave_one_instruction_out: float | None
    r2_leave_one_rater_out: float | None
    mse_leave_one_rater_out: float | None
    r2_leave_one_model_out: float | None
    mse_leave_one_model_out: float | None
    held_out: Mapping[str, object] | None
    r2_equal_weights_leave_one_instruction_out: float | None
    r2_equal_weights: float
    r2_mean_of_answers: float
    r2_ols: float
    intervals: Mapping[str, object]
    rank: int
    collinear: bool
    condition_number: float
    kkt_violation: float
    clusters: Mapping[str, int]
    warnings: Sequence[str]
    gain_over_equal_weights: Mapping[str, Any] | None
    better_than_equal_weights: bool | None
    populations: StoredPopulations | None
    certificate: StoredCertificate
    pooled: StoredPooled | None
    dropped_not_applicable: int
    dropped_incomplete: int
    rows: NotRequired[StoredRows | None]


class StoredSettings(TypedDict):
    """FitSettings as JSON values, with the numbers of answers of the categories that were `skipped`."""

    floor: float
    pool: bool
    draws: int
    seed: int
    skipped: NotRequired[Mapping[str, int]]


class FitExport(TypedDict):
    """An exported fit."""

    format: str
    fit: str
    name: str
    study: str
    benchmark: str
    created_at: str
    settings: StoredSettings
    data_hash: str
    versions: Mapping[str, str]
    categories: list[ExportedCategory]


def fit_to_json(fit: Fit, *, rows: bool = True) -> FitExport:
    """Convert a fit that was computed here to JSON values, with its rows; without `rows`, only its results."""
    categories = fit.categories.prefetch_related("weights").order_by("position")
    if not rows:
        categories = categories.defer("rows")
    return {
        "format": FORMAT,
        "fit": fit.public_id,
        "name": fit.published_name,
        "study": fit.study.slug if fit.study else "",
        "benchmark": fit.benchmark.slug if fit.benchmark else "",
        "created_at": fit.created_at.isoformat(),
        "settings": fit.settings,
        "data_hash": fit.data_hash,
        "versions": fit.versions,
        "categories": [_category_to_json(category, rows) for category in categories],
    }


def _category_to_json(category: CategoryFit, rows: bool) -> ExportedCategory:
    weights = sorted(category.weights.all(), key=lambda weight: weight.position)
    made = category.diagnostics
    results = _results(
        category.key,
        [weight.criterion_key for weight in weights],
        [weight.weight for weight in weights],
        [weight.raw_weight for weight in weights],
        category.r2,
        category.mse,
        made["certificate"],
        made["pooled"],
        made["dropped_not_applicable"],
        made["dropped_incomplete"],
    )
    if rows:
        results["rows"] = category.rows
    return results


def _results(
    key: str,
    items: Sequence[str],
    weights: Sequence[float],
    raw_weights: Sequence[float | None],
    r2: float | None,
    mse: float | None,
    certificate: StoredCertificate,
    pooled: StoredPooled | None,
    dropped_not_applicable: int,
    dropped_incomplete: int,
) -> ExportedCategory:
    fit, left_out = certificate["fit"], certificate["out_of_sample"]
    instruction, rater, model = (left_out.get(kind) for kind in ("instruction", "rater", "model"))
    return {
        "category": key,
        "n": fit["n"],
        "items": list(items),
        "weights": list(weights),
        "raw_weights": list(raw_weights),
        "r2": r2,
        "mse": mse,
        "at_floor": [
            item for item, raw in zip(items, raw_weights, strict=True) if raw is not None and raw <= fit["floor"] + 1e-9
        ],
        "r2_leave_one_instruction_out": instruction["r2"] if instruction else None,
        "mse_leave_one_instruction_out": instruction["mse"] if instruction else None,
        "r2_leave_one_rater_out": rater["r2"] if rater else None,
        "mse_leave_one_rater_out": rater["mse"] if rater else None,
        "r2_leave_one_model_out": model["r2"] if model else None,
        "mse_leave_one_model_out": model["mse"] if model else None,
        "held_out": certificate.get("held_out"),
        "r2_equal_weights_leave_one_instruction_out": instruction["equal_r2"] if instruction else None,
        "r2_equal_weights": certificate["equal_fitted"]["r2"],
        "r2_mean_of_answers": certificate["equal_plain"]["r2"],
        "r2_ols": certificate["ols"]["r2"],
        "intervals": certificate["intervals"],
        "rank": fit["rank"],
        "collinear": fit["collinear"],
        "condition_number": fit["condition_number"],
        "kkt_violation": fit["kkt_violation"],
        "clusters": certificate["clusters"],
        "warnings": certificate["warnings"],
        "gain_over_equal_weights": certificate.get("gain"),
        "better_than_equal_weights": certificate.get("better") if certificate.get("gain") else None,
        "populations": (pooled["categories"][key] if pooled else certificate).get("populations"),
        "certificate": certificate,
        "pooled": pooled,
        "dropped_not_applicable": dropped_not_applicable,
        "dropped_incomplete": dropped_incomplete,
    }


def _repeats(new: Any, old: Any) -> bool:
    """Whether a figure is the same; what exports of earlier versions did not have yet does not count."""
    if old is MISSING:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        return old.keys() <= new.keys() and all(_repeats(value, old.get(name, MISSING)) for name, value in new.items())
    return bool(new == old)


@dataclass(frozen=True)
class Refit:
    """A fit computed again from its export: its results, and the figures that differ."""

    payload: FitExport
    differences: tuple[str, ...]


def refit_from_json(payload: object) -> Refit:
    """Compute every category of an export again from its rows, and compare the results with the exported ones.

    Raises FitRefused if the payload is not an export with rows.
    """
    if not isinstance(payload, dict) or payload.get("format") != FORMAT:
        found = payload.get("format") if isinstance(payload, dict) else None
        raise FitRefused(f"This is not an exported fit (its format is {found!r}, not {FORMAT!r}).")
    try:
        stated = list(payload["categories"])
        settings = FitSettings(**{name: payload["settings"][name] for name in ("floor", "pool", "draws", "seed")})
        rows = [rows_from_json(one["category"], one["rows"]) for one in stated]
    except (KeyError, IndexError, TypeError, ValueError, UserError) as error:
        raise FitRefused(
            f"The exported fit is incomplete ({error}); export it again with --export, which keeps the rows."
        ) from error
    again = []
    for one in fit_categories(rows, settings):
        plain = _results(
            one.rows.key,
            one.rows.items,
            one.weights,
            one.raw_weights,
            one.r2,
            one.mse,
            certificate_to_dict(one.certificate),
            pooled_to_dict(one.pooled) if one.pooled else None,
            one.rows.dropped_not_applicable,
            one.rows.dropped_incomplete,
        )
        again.append(plain)
    different = [
        f"{new['category']}: {name}"
        for new, old in zip(again, stated, strict=True)
        for name, value in new.items()
        if not _repeats(value, old.get(name, MISSING))
    ]
    kept = {name: value for name, value in payload.items() if name != "categories"}
    repeated = cast(FitExport, {**kept, "versions": versions(), "categories": again})
    return Refit(repeated, tuple(different))


def certificate_of(category: CategoryFit) -> WeightCertificate:
    """Read a stored certificate as a dataclass; KeyError for a published fit, which has none."""
    return certificate_from_dict(category.diagnostics["certificate"])
