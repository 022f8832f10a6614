"""Fits and certificates as plain JSON values and back, exactly. PURE.

Floats keep every digit (JSON carries the shortest text that reads back the same double); an infinite pooling
strength, which JSON has no number for, is written "inf". Reading raises KeyError for a field that is missing.
"""

from collections.abc import Mapping
from math import isinf
from typing import Any, get_origin

import numpy as np
from cattrs import Converter

from calibration.statistics.weights.fit import WeightCertificate, WeightFit
from calibration.statistics.weights.pooling import PooledFits

Plain = dict[str, Any]


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


def fit_from_dict(plain: Mapping[str, Any]) -> WeightFit:
    """Read what fit_to_dict wrote."""
    return _converter.structure(plain, WeightFit)


def certificate_to_dict(certificate: WeightCertificate) -> Plain:
    """Convert a certificate to JSON values."""
    return dict(_converter.unstructure(certificate))


def certificate_from_dict(plain: Mapping[str, Any]) -> WeightCertificate:
    """Read what certificate_to_dict wrote."""
    return _converter.structure(plain, WeightCertificate)


def pooled_to_dict(pooled: PooledFits) -> Plain:
    """Convert pooled fits to JSON values."""
    return dict(_converter.unstructure(pooled))


def pooled_from_dict(plain: Mapping[str, Any]) -> PooledFits:
    """Read what pooled_to_dict wrote."""
    return _converter.structure(plain, PooledFits)
