"""Reports by kind. Each is computed from a study's rows alone, stored by the hash of the data, and can be rebuilt.

A report is plain JSON values. A part of it that has no answer is {"why": the error's name, "reason": its sentence}.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isinf
from typing import Any

import numpy as np

from annotation.models import Study
from calibration.data.frames import NothingToRead
from calibration.reports.cache import cached_report, known_report
from calibration.statistics.errors import NoStatistic

Plain = dict[str, Any]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class ReportKind:
    """`compute` gives the hash of the data read and the report; `slow_from` scores on it is left to a worker."""

    name: str
    compute: Callable[[Study, Settings], tuple[str, Plain]]
    slow_from: int


_kinds: dict[str, ReportKind] = {}


def register(kind: ReportKind) -> ReportKind:
    _kinds[kind.name] = kind
    return kind


def report_kind(name: str) -> ReportKind | None:
    return _kinds.get(name)


def report_of(study: Study, kind: ReportKind, settings: Settings) -> Plain:
    """Return the report, from the cache if nothing has changed."""
    return cached_report(study, kind.name, settings, lambda: kind.compute(study, settings))


def known(study: Study, kind: ReportKind, settings: Settings) -> Plain | None:
    """Return the stored report, or None if it has to be computed."""
    return known_report(study, kind.name, settings)


def part(compute: Callable[[], Any]) -> Any:
    """Compute a part of a report as plain values, or state why there is none."""
    try:
        return plain(compute())
    except (NoStatistic, NothingToRead) as error:
        return {"why": type(error).__name__, "reason": str(error)}


def missing(value: Any) -> bool:
    """Whether a part of a report has no answer (and states why)."""
    return isinstance(value, Mapping) and set(value) == {"why", "reason"}


def plain(value: Any) -> Any:
    """Convert dataclasses and arrays to JSON values; floats keep every digit, infinity becomes "inf"."""
    if value is None or type(value) in (str, int, bool):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def settled(report: Plain) -> Plain:
    """Return the report as it is read back from storage. Raises ValueError for a value that JSON cannot carry exactly."""
    found: Plain = json.loads(json.dumps(plain(report), allow_nan=False))
    return found
