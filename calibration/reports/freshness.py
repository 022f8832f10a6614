"""Reports as a page shows them while people rate: the newest one that is stored, how old it is, and its refreshing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Generic, TypeVar, cast

from annotation.models import Study
from calibration.models import Report
from calibration.report_store.questions import question_of, shown_setting
from calibration.report_store.refreshes import Refresh, refresh
from calibration.report_store.state import scores_of
from calibration.reports.codec import read_back
from calibration.reports.registry import ReportKind, Settings, stored_report

R = TypeVar("R")
BUILD = "calibration.build_report"


@dataclass(frozen=True)
class Freshness:
    """How old what a page shows is. `newest` is the pk of the newest report shown, 0 for none.

    `computed_at` is the time of the oldest report shown, and `answers_since` counts the answers that it does not have.
    A page whose reports are not `current` polls while a refresh is `under_way`. `missing` says that a report has never
    been computed.
    """

    newest: int = 0
    computed_at: datetime | None = None
    answers_since: int = 0
    current: bool = True
    under_way: bool = False
    failed: bool = False
    missing: bool = False

    def with_other(self, other: "Freshness") -> "Freshness":
        """Return the freshness of a page that shows the reports of both."""
        times = [one.computed_at for one in (self, other) if one.computed_at is not None]
        return Freshness(
            newest=max(self.newest, other.newest),
            computed_at=min(times, default=None),
            answers_since=max(self.answers_since, other.answers_since),
            current=self.current and other.current,
            under_way=self.under_way or other.under_way,
            failed=self.failed or other.failed,
            missing=self.missing or other.missing,
        )

    def of_refresh(self, found: Refresh) -> "Freshness":
        fields = {**vars(self), "under_way": found.under_way, "failed": found.failed and not found.under_way}
        return Freshness(**fields)

    def headers(self) -> Mapping[str, str]:
        """Return what a file's reader is told: when its numbers were computed, and how many answers came since."""
        if self.computed_at is None:
            return {}
        return {
            "X-Plumbline-Computed-At": self.computed_at.isoformat(),
            "X-Plumbline-Answers-Since": str(self.answers_since),
        }

    def values(self) -> dict[str, object]:
        """Return the same for a JSON file."""
        if self.computed_at is None:
            return {}
        return {"computed_at": self.computed_at.isoformat(), "answers_since": self.answers_since}


def together(parts: Iterable[Freshness]) -> Freshness:
    return reduce(Freshness.with_other, parts, Freshness())


@dataclass(frozen=True)
class Shown(Generic[R]):
    """A report and its freshness; `report` is None while the first one is computed."""

    report: R | None
    freshness: Freshness


def freshness_of(row: Report | None, *, current: bool, answers_since: int = 0) -> Freshness:
    if row is None:
        return Freshness(current=False, missing=True)
    return Freshness(row.pk, row.created_at, answers_since, current=current)


def shown_report(study: Study, kind: ReportKind[R], settings: Settings, *, build: str = BUILD) -> Shown[R]:
    """Return the report of the present state, computed here if that is quick, else the newest stored one.

    An outdated or missing report is refreshed in the background, at most once at a time.
    """
    settings = {**settings, **shown_setting()}  # also for the worker that computes it
    question = question_of(study, kind.name, settings)
    row = question.current()
    if row is None and scores_of(study) <= kind.slow_from:
        stored_report(study, kind, settings)
        row = question.current() or question.latest()
    if row is not None and row.settings_hash == question.settings_hash:
        return Shown(_read(kind, row), freshness_of(row, current=True))
    row = row or question.latest()
    since = question.answers_since(row) if row is not None else 0
    freshness = freshness_of(row, current=False, answers_since=since)
    asked = refresh(study, kind.name, settings, build, kind.name, settings)
    return Shown(_read(kind, row) if row is not None else None, freshness.of_refresh(asked))


def _read(kind: ReportKind[R], row: Report) -> R:
    return cast(R, read_back(kind.shape, row.result))
