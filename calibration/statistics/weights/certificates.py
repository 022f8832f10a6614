"""Fits and certificates as plain JSON values and back, exactly. PURE.

Floats keep every digit (JSON carries the shortest text that reads back the same double); an infinite pooling
strength, which JSON has no number for, is written "inf".
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from math import isinf
from typing import Any

import numpy as np

from calibration.statistics.weights.fit import Baseline, OutOfSample, WeightCertificate, WeightFit, WeightIntervals
from calibration.statistics.weights.pooling import PooledCategory, PooledFits

Plain = dict[str, Any]
RowResult = WeightFit | Baseline | OutOfSample | WeightIntervals | PooledCategory

_VECTORS = {
    "weights",
    "raw_weights",
    "weights_low",
    "weights_high",
    "at_floor",
    "plain_raw_weights",
    "parent_raw_weights",
}


def fit_to_dict(fit: WeightFit) -> Plain:
    """A fit as JSON values."""
    return _flat_to_dict(fit)


def fit_from_dict(plain: Mapping[str, Any]) -> WeightFit:
    """The fit that fit_to_dict wrote; KeyError names a field that is missing."""
    return WeightFit(**_flat_from_dict(WeightFit, plain))


def certificate_to_dict(certificate: WeightCertificate) -> Plain:
    """A certificate as JSON values."""
    return {
        "fit": _flat_to_dict(certificate.fit),
        "equal_fitted": _flat_to_dict(certificate.equal_fitted),
        "equal_plain": _flat_to_dict(certificate.equal_plain),
        "ols": _flat_to_dict(certificate.ols),
        "ols_no_intercept": _flat_to_dict(certificate.ols_no_intercept),
        "clusters": dict(certificate.clusters),
        "out_of_sample": {kind: _flat_to_dict(one) for kind, one in certificate.out_of_sample.items()},
        "intervals": {kind: _flat_to_dict(one) for kind, one in certificate.intervals.items()},
        "warnings": list(certificate.warnings),
        "draws": certificate.draws,
        "seed": certificate.seed,
    }


def certificate_from_dict(plain: Mapping[str, Any]) -> WeightCertificate:
    """The certificate that certificate_to_dict wrote; KeyError names a field that is missing."""
    return WeightCertificate(
        fit=fit_from_dict(plain["fit"]),
        equal_fitted=Baseline(**_flat_from_dict(Baseline, plain["equal_fitted"])),
        equal_plain=Baseline(**_flat_from_dict(Baseline, plain["equal_plain"])),
        ols=Baseline(**_flat_from_dict(Baseline, plain["ols"])),
        ols_no_intercept=Baseline(**_flat_from_dict(Baseline, plain["ols_no_intercept"])),
        clusters=dict(plain["clusters"]),
        out_of_sample={
            kind: OutOfSample(**_flat_from_dict(OutOfSample, one)) for kind, one in plain["out_of_sample"].items()
        },
        intervals={
            kind: WeightIntervals(**_flat_from_dict(WeightIntervals, one)) for kind, one in plain["intervals"].items()
        },
        warnings=tuple(plain["warnings"]),
        draws=plain["draws"],
        seed=plain["seed"],
    )


def pooled_to_dict(pooled: PooledFits) -> Plain:
    """Pooled fits as JSON values."""
    return {
        "strength": _strength_out(pooled.strength),
        "path": [[_strength_out(strength), mse] for strength, mse in pooled.path],
        "gain": pooled.gain,
        "parent": dict(pooled.parent),
        "categories": {name: _flat_to_dict(one) for name, one in pooled.categories.items()},
        "folds": pooled.folds,
        "floor": pooled.floor,
        "seed": pooled.seed,
    }


def pooled_from_dict(plain: Mapping[str, Any]) -> PooledFits:
    """The pooled fits that pooled_to_dict wrote; KeyError names a field that is missing."""
    categories = {}
    for name, one in plain["categories"].items():
        values = _flat_from_dict(PooledCategory, one)
        categories[name] = PooledCategory(**{**values, "keys": tuple(values["keys"])})
    return PooledFits(
        strength=float(plain["strength"]),
        path=tuple((float(strength), mse) for strength, mse in plain["path"]),
        gain=plain["gain"],
        parent=dict(plain["parent"]),
        categories=categories,
        folds=plain["folds"],
        floor=plain["floor"],
        seed=plain["seed"],
    )


def _flat_to_dict(result: RowResult) -> Plain:
    plain = {}
    for name, value in asdict(result).items():
        if isinstance(value, np.ndarray):
            value = value.tolist()
        plain[name] = list(value) if isinstance(value, tuple) else value
    return plain


def _flat_from_dict(kind: type[RowResult], plain: Mapping[str, Any]) -> Plain:
    return {
        field.name: np.asarray(plain[field.name]) if field.name in _VECTORS else plain[field.name]
        for field in fields(kind)
    }


def _strength_out(strength: float) -> float | str:
    return "inf" if isinf(strength) else strength
