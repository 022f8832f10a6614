"""Stores reports as JSON and reads them back as the dataclasses that they were made of.

A report is a frozen dataclass. Its fields are numbers, texts, other dataclasses, arrays, and lists and mappings of these;
the JSON object of a dataclass has the names of its fields as keys. Mappings may have integers as keys. A part of a report
that could not be computed is a `Missing`, so its field has the type `Part | Missing`. A field with `metadata=INLINED` adds
the keys of its own object to those of the dataclass, in place of one key with its name. The underscore at the end of a
field's name (`with_`) is not part of its key.
"""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from math import isfinite, isinf, isnan
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from cattrs import Converter

from calibration.data.frames import NothingToRead
from calibration.statistics.errors import NoStatistic, TooFewRatings, code_of

T = TypeVar("T")
INLINED: Mapping[str, bool] = {"inlined": True}
SCALARS = (int, str, bool, type(None))
_AS_THEY_ARE = frozenset(SCALARS)


@dataclass(frozen=True)
class Missing:
    """A part of a report that has no answer: `why` is the code of the error, `reason` its sentence.

    Where there is too little of something, `counts` says how much there is (`n`), how much is `needed`, and of `what`.
    """

    why: str
    reason: str
    counts: Mapping[str, int | str] = field(default_factory=dict, hash=False, metadata=INLINED)

    @classmethod
    def because(cls, error: Exception) -> "Missing":
        return cls(code_of(error), str(error), counts_of(error))


def counts_of(error: BaseException | None) -> dict[str, int | str]:
    """What an error says there is too little of, for a sentence about it; empty for errors about other things."""
    if not isinstance(error, TooFewRatings):
        return {}
    return {"n": int(error.n), "needed": int(error.needed), "what": error.what}


def part(compute: Callable[[], T]) -> T | Missing:
    """Compute a part of a report, or state why there is none."""
    try:
        return compute()
    except (NoStatistic, NothingToRead) as error:
        return Missing.because(error)


def plain(value: Any) -> Any:
    """Convert dataclasses and arrays to JSON values; floats keep every digit, infinity becomes "inf"."""
    kind: Any = type(value)
    if kind is float:
        return value if isfinite(value) or isnan(value) else "inf" if value > 0 else "-inf"
    if kind in _AS_THEY_ARE:
        return value
    if kind is list or kind is tuple:
        return [plain(item) for item in value]
    if kind is dict:
        return {str(key): plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Any] = {}
        for name, key in _keys(kind):
            values = plain(getattr(value, name))
            if key is None:
                found |= values
            else:
                found[key] = values
        return found
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


@cache
def _keys(kind: Any) -> list[tuple[str, str | None]]:
    """Each field of a dataclass with its key in JSON, None where the keys of its own object take its place."""
    return [(each.name, None if each.metadata.get("inlined") else each.name.rstrip("_")) for each in fields(kind)]


def stored(report: Any) -> Any:
    """Return the report as it is kept in a JSON column. Raises ValueError for a value that JSON cannot carry exactly."""
    return json.loads(json.dumps(plain(report), allow_nan=False))


def read_back(shape: type[T], found: Any) -> T:
    """Return what `stored` made of a value of type `shape`; raises an error of cattrs if it is something else.

    Arrays have the element type that numpy infers from their JSON list.
    """
    return _converter().structure(found, shape)


@cache
def _converter() -> Converter:
    converter = Converter(detailed_validation=False)
    converter.register_structure_hook_func(_is_array, _array)
    converter.register_structure_hook_func(_has_missing, lambda value, shape: _part_or_missing(converter, value, shape))
    converter.register_structure_hook_func(lambda shape: shape in (Any, object, Hashable), lambda value, _: value)
    converter.register_structure_hook_func(_is_scalar_union, lambda value, _: value)
    converter.register_structure_hook_func(_has_special_keys, lambda value, shape: _by_keys(converter, value, shape))
    return converter


def _is_array(shape: Any) -> bool:
    origin: Any = get_origin(shape)
    return origin is np.ndarray


def _array(value: Any, shape: Any) -> Any:
    """Return an array of the element type that the annotation `NDArray[...]` names."""
    (element,) = get_args(get_args(shape)[1]) or (None,)
    return np.asarray(value, dtype=element if isinstance(element, type) else None)


def _has_missing(shape: Any) -> bool:
    return get_origin(shape) in (Union, UnionType) and Missing in get_args(shape)


def _part_or_missing(converter: Converter, value: Any, shape: Any) -> Any:
    if isinstance(value, Mapping) and set(value) - {"n", "needed", "what"} == {"why", "reason"}:
        counts = {name: value[name] for name in ("n", "needed", "what") if name in value}
        return Missing(str(value["why"]), str(value["reason"]), counts)
    others: Any = Union[tuple(member for member in get_args(shape) if member is not Missing)]  # noqa: UP007
    return converter.structure(value, others)


def _is_scalar_union(shape: Any) -> bool:
    """Whether the type is a union of JSON's own scalars or literals (`int | str | None`); values stay as stored."""
    members = get_args(shape)
    if get_origin(shape) not in (Union, UnionType) or float in members:
        return False
    return len(members) > 1 and all(member in SCALARS or get_origin(member) is Literal for member in members)


def _has_special_keys(shape: Any) -> bool:
    return is_dataclass(shape) and any(
        each.metadata.get("inlined") or each.name.endswith("_") for each in fields(shape)
    )


def _by_keys(converter: Converter, value: Mapping[str, Any], shape: Any) -> Any:
    """Build a dataclass whose inlined fields are made of the keys that belong to no other field."""
    types = get_type_hints(shape)
    keys = {each.name: each.name.rstrip("_") for each in fields(shape) if not each.metadata.get("inlined")}
    rest = {key: item for key, item in value.items() if key not in keys.values()}
    return shape(
        **{name: converter.structure(value[keys[name]] if name in keys else rest, types[name]) for name in types}
    )
