"""Reports by kind. Each is computed from a study's rows alone, stored by the hash of the data, and can be rebuilt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

from annotation.models import Study
from calibration.report_store.refreshes import computing
from calibration.reports.cache import announce_change, cached_report, known_report
from calibration.reports.codec import read_back, stored

Plain = dict[str, object]
Settings = Mapping[str, Any]
R = TypeVar("R")
K = TypeVar("K", bound="ReportKind[Any]")


@dataclass(frozen=True)
class MainNumber(Generic[R]):
    """The number with which a report's opening sentence begins, of the report with these settings.

    `read` returns it, rounded as the sentence shows it at most, or None where the report states none.
    """

    settings: Settings
    read: Callable[[R], float | None]


@dataclass(frozen=True)
class ReportKind(Generic[R]):
    """A kind of report. `compute` gives the hash of the data read and the report, whose type is `shape`.

    `slow_from` scores on it is left to a worker. If the `main` number changes, webhooks are told.
    """

    name: str
    compute: Callable[[Study, Settings], tuple[str, R]]
    slow_from: int
    shape: Any
    main: MainNumber[R] | None = None


_kinds: dict[str, ReportKind[Any]] = {}


def register(kind: K) -> K:
    _kinds[kind.name] = kind
    return kind


def report_kind(name: str) -> ReportKind[Any] | None:
    return _kinds.get(name)


def report_of(study: Study, kind: ReportKind[R], settings: Settings) -> R:
    """Return the report, from the cache if nothing has changed."""
    return cast(R, read_back(kind.shape, stored_report(study, kind, settings)))


def stored_report(study: Study, kind: ReportKind[Any], settings: Settings) -> Plain:
    """Return the report as JSON values, from the cache if nothing has changed."""

    def compute() -> tuple[str, Plain]:
        hashed, report = kind.compute(study, settings)
        return hashed, stored(report)

    main = kind.main
    if main is None or dict(settings) != dict(main.settings):
        return cached_report(study, kind.name, settings, compute)
    number = main.read
    announce = partial(announce_change, study, main.settings, lambda plain: number(read_back(kind.shape, plain)))
    return cached_report(study, kind.name, settings, compute, announce=announce)


def known(study: Study, kind: ReportKind[R], settings: Settings) -> R | None:
    """Return the stored report, or None if it has to be computed."""
    found = known_report(study, kind.name, settings)
    return None if found is None else cast(R, read_back(kind.shape, found))


def refresh_report(study: int, kind: ReportKind[Any] | None, settings: Settings) -> None:
    """Compute a report that a page has asked for, unless another worker does; no study and no kind is no work."""
    row = Study.objects.filter(pk=study).first()
    if row is None or kind is None:
        return
    with computing(row, kind.name, settings) as wanted:
        if wanted:
            stored_report(row, kind, settings)
