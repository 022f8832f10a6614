"""The export of a stored fit and its rows as JSON, and the computation of the same fit from that JSON alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibration.fits.categories import FitRefused, FitSettings, fit_categories, rows_from_json
from calibration.fits.store import versions
from calibration.models import CategoryFit, Fit
from calibration.statistics.weights.certificates import certificate_from_dict, certificate_to_dict, pooled_to_dict
from calibration.statistics.weights.fit import WeightCertificate
from core.errors import UserError

FORMAT = "plumbline-fit-1"
MISSING = object()


def fit_to_json(fit: Fit, *, rows: bool = True) -> dict[str, Any]:
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


def _category_to_json(category: CategoryFit, rows: bool) -> dict[str, Any]:
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
    )
    results |= {name: made[name] for name in ("dropped_not_applicable", "dropped_incomplete")}
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
    certificate: Mapping[str, Any],
    pooled: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Build the exported result of a category; a figure without a value (with a single instruction) is null."""
    fit, left_out, intervals = certificate["fit"], certificate["out_of_sample"], certificate["intervals"]
    found = {
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
    }
    for kind in ("instruction", "rater", "model"):
        one = left_out.get(kind)
        found[f"r2_leave_one_{kind}_out"] = one["r2"] if one else None
        found[f"mse_leave_one_{kind}_out"] = one["mse"] if one else None
    one = left_out.get("instruction")
    found["held_out"] = certificate.get("held_out")
    found["r2_equal_weights_leave_one_instruction_out"] = one["equal_r2"] if one else None
    found["r2_equal_weights"] = certificate["equal_fitted"]["r2"]
    found["r2_mean_of_answers"] = certificate["equal_plain"]["r2"]
    found["r2_ols"] = certificate["ols"]["r2"]
    found["intervals"] = intervals
    found |= {name: fit[name] for name in ("rank", "collinear", "condition_number", "kkt_violation")}
    found["clusters"] = certificate["clusters"]
    found["warnings"] = certificate["warnings"]
    found["gain_over_equal_weights"] = certificate.get("gain")
    found["better_than_equal_weights"] = certificate.get("better") if certificate.get("gain") else None
    found["populations"] = (pooled["categories"][key] if pooled else certificate).get("populations")
    found["certificate"] = certificate
    found["pooled"] = pooled
    return found


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

    payload: dict[str, Any]
    differences: tuple[str, ...]


def refit_from_json(payload: Mapping[str, Any]) -> Refit:
    """Compute every category of an export again from its rows, and compare the results with the exported ones.

    Raises FitRefused if the payload is not an export with rows.
    """
    if payload.get("format") != FORMAT:
        raise FitRefused(f"This is not an exported fit (its format is {payload.get('format')!r}, not {FORMAT!r}).")
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
        )
        plain["dropped_not_applicable"] = one.rows.dropped_not_applicable
        plain["dropped_incomplete"] = one.rows.dropped_incomplete
        again.append(plain)
    different = [
        f"{new['category']}: {name}"
        for new, old in zip(again, stated, strict=True)
        for name in new
        if not _repeats(new[name], old.get(name, MISSING))
    ]
    kept = {name: value for name, value in payload.items() if name != "categories"}
    return Refit({**kept, "versions": versions(), "categories": again}, tuple(different))


def certificate_of(category: CategoryFit) -> WeightCertificate:
    """Read a stored certificate as a dataclass; KeyError for a published fit, which has none."""
    return certificate_from_dict(category.diagnostics["certificate"])
