"""Fits and certificates as plain JSON values and back, exactly. PURE.

Floats keep every digit (JSON carries the shortest text that reads back the same double); an infinite pooling
strength, which JSON has no number for, is written "inf". Reading raises KeyError for a field that is missing.
"""

from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any, NotRequired, TypedDict, cast, get_origin

import numpy as np
from cattrs import Converter

from calibration.statistics.weights.fit import WeightCertificate, WeightFit
from calibration.statistics.weights.pooling import PooledFits

Plain = dict[str, object]


class StoredFit(TypedDict):
    """What the exports show of a stored WeightFit."""

    n: int
    floor: float
    rank: int
    collinear: bool
    condition_number: float
    kkt_violation: float


class StoredBaseline(TypedDict):
    """What the exports show of a stored Baseline."""

    r2: float


class StoredOutOfSample(TypedDict):
    """What the exports show of a stored OutOfSample."""

    r2: float
    mse: float
    equal_r2: float


class StoredPopulations(TypedDict):
    """What the exports and their readers show of stored WeightPopulations."""

    such_low: Sequence[float]
    such_high: Sequence[float]
    these_low: Sequence[float]
    these_high: Sequence[float]


class StoredCertificate(TypedDict):
    """A stored WeightCertificate, as far as the exports read it; those made by earlier versions lack some parts."""

    fit: StoredFit
    equal_fitted: StoredBaseline
    equal_plain: StoredBaseline
    ols: StoredBaseline
    clusters: Mapping[str, int]
    out_of_sample: Mapping[str, StoredOutOfSample]
    intervals: Mapping[str, object]
    warnings: Sequence[str]
    gain: NotRequired[Plain | None]
    better: NotRequired[bool]
    held_out: NotRequired[Plain | None]
    populations: NotRequired[StoredPopulations | None]


class StoredPooledCategory(TypedDict):
    """What the exports show of a category of stored PooledFits."""

    populations: NotRequired[StoredPopulations | None]


class StoredPooled(TypedDict):
    """Stored PooledFits, as far as the exports read them."""

    categories: Mapping[str, StoredPooledCategory]


def _is_array(shape: Any) -> bool:
    origin: Any = get_origin(shape)
    return origin is np.ndarray


_converter = Converter(detailed_validation=False, unstruct_collection_overrides={tuple: list})
_converter.register_unstructure_hook(float, lambda value: "inf" if isinf(value) else value)
_converter.register_unstructure_hook_func(_is_array, np.ndarray.tolist)
_converter.register_structure_hook_func(_is_array, lambda value, _: np.asarray(value))


def fit_to_dict(fit: WeightFit) -> Plain:
    """Convert a fit to JSON values."""
    return dict(_converter.unstructure(fit))


def fit_from_dict(plain: Mapping[str, object]) -> WeightFit:
    """Read what fit_to_dict wrote."""
    return _converter.structure(plain, WeightFit)


def certificate_to_dict(certificate: WeightCertificate) -> StoredCertificate:
    """Convert a certificate to JSON values."""
    return cast(StoredCertificate, dict(_converter.unstructure(certificate)))


def certificate_from_dict(plain: Mapping[str, object]) -> WeightCertificate:
    """Read what certificate_to_dict wrote."""
    return _converter.structure(plain, WeightCertificate)


def pooled_to_dict(pooled: PooledFits) -> StoredPooled:
    """Convert pooled fits to JSON values."""
    return cast(StoredPooled, dict(_converter.unstructure(pooled)))


def pooled_from_dict(plain: Mapping[str, object]) -> PooledFits:
    """Read what pooled_to_dict wrote."""
    return _converter.structure(plain, PooledFits)
