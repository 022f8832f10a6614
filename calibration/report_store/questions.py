"""What identifies a stored report: the settings that were asked for, and the state of the study's rows."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from django.db.models import Max

from annotation.counters.counts import StudyCounts, counts_of
from annotation.models import Study, are_excluded_shown
from annotation.policies.policies import Policies
from calibration.models import Report
from calibration.report_store.state import State, scores_of, state_of

T = TypeVar("T")
SHAPE = 18
"""Raised whenever the same rows come to other numbers, so that none computed before is shown."""
STATE = frozenset(["state", "beside", "reviews"])
"""Settings that say which rows there were, not what was asked for."""
EXCLUDED, SHOWN = "excluded", "shown"
"""The setting of a report that counts excluded answers too; a report that leaves them out does not have it."""
CHOICES = "choices"
"""The setting that says what leads chose about which answers count; without a choice, a report does not have it."""


@dataclass(frozen=True)
class Question:
    """A report that is asked for: its kind and settings, and the state in which the study is now."""

    study: Study
    kind: str
    full: Mapping[str, object]
    answers: int

    @property
    def asked_hash(self) -> str:
        return hash_of({name: value for name, value in self.full.items() if name not in STATE})

    @property
    def settings_hash(self) -> str:
        return hash_of(self.full)

    def current(self) -> Report | None:
        """Return the report of the study in its present state, or None if it has to be computed."""
        return Report.objects.filter(study=self.study, kind=self.kind, settings_hash=self.settings_hash).first()

    def latest(self) -> Report | None:
        """Return the newest report with the same settings, whatever the state of the study was."""
        return (
            Report.objects.filter(study=self.study, kind=self.kind, asked_hash=self.asked_hash).order_by("-pk").first()
        )

    def answers_since(self, row: Report) -> int:
        """How many answers the study has now that it did not have when the report was computed."""
        return max(0, self.answers - row.answers)


def question_of(study: Study, kind: str, settings: Mapping[str, object]) -> Question:
    state = _state(study)
    return Question(study, kind, {**settings, **_asked(study), "state": state.values}, state.answers)


def are_current(study: Study, asked: Sequence[tuple[str, Mapping[str, object]]]) -> bool:
    """Whether the report of every kind and settings is there for the study in its present state; three queries."""
    state = _state(study)
    more = {**_asked(study), "state": state.values}
    wanted = {(kind, hash_of({**settings, **more})) for kind, settings in asked}
    rows = Report.objects.filter(study=study, settings_hash__in=[hashed for _kind, hashed in wanted])
    return wanted <= set(rows.values_list("kind", "settings_hash"))


def latest_of(study: Study, kind: str, asked_hash: str) -> Report | None:
    return Report.objects.filter(study=study, kind=kind, asked_hash=asked_hash).order_by("-pk").first()


def rows_of(questions: Sequence[Question]) -> list[Report | None]:
    """Return the report that a page shows for each question about one study and kind: of the study's present state,
    otherwise the newest one, None without any. Two queries for any number of questions.
    """
    if not questions:
        return []
    stored = Report.objects.filter(study=questions[0].study, kind=questions[0].kind)
    current = {
        row.settings_hash: row for row in stored.filter(settings_hash__in=[one.settings_hash for one in questions])
    }
    older = [one.asked_hash for one in questions if one.settings_hash not in current]
    newest = stored.filter(asked_hash__in=older).order_by().values("asked_hash").annotate(newest=Max("pk"))
    latest = {row.asked_hash: row for row in stored.filter(pk__in=newest.values("newest"))} if older else {}
    return [current.get(one.settings_hash) or latest.get(one.asked_hash) for one in questions]


def asked_hash_of(study: Study, settings: Mapping[str, object]) -> str:
    """Return the hash of what is asked for, without reading the study's state."""
    asked = {name: value for name, value in settings.items() if name not in STATE}
    return hash_of({**asked, **_asked(study)})


def _asked(study: Study) -> dict[str, object]:
    return {"study": study.slug, "shape": SHAPE, **_choices_of(study), **shown_setting()}


_read: ContextVar[dict[tuple[str, int], Any] | None] = ContextVar("state_read", default=None)


@contextmanager
def state_read_once() -> Iterator[None]:
    """Within this block, which computes no report, the state of a study's rows is read once for all its reports."""
    before = _read.set({})
    try:
        yield
    finally:
        _read.reset(before)


def _known(name: str, study: Study, read: Callable[[], T]) -> T:
    known = _read.get()
    if known is None:
        return read()
    if (name, study.pk) not in known:
        known[name, study.pk] = read()
    return cast(T, known[name, study.pk])


def _counts(study: Study) -> StudyCounts | None:
    return _known("counts", study, lambda: counts_of(study))


def _state(study: Study) -> State:
    return _known("state", study, lambda: state_of(study, _counts))


def scores_known(study: Study) -> int:
    """Return how many scores a study has; within `state_read_once` as of when its state was read."""
    return scores_of(study, _counts)


def _standing(study: Study) -> list[int]:
    rows = study.exclusions.standing().order_by("pk")
    return _known("exclusions", study, lambda: list(rows.values_list("pk", flat=True)))


def _choices_of(study: Study) -> dict[str, dict[str, Sequence[int] | bool]]:
    standing = _standing(study)
    chosen: dict[str, Sequence[int] | bool] = {
        "excluded": standing,
        "adjudicated": Policies.of(study).adjudicated_labels,
    }
    return {CHOICES: chosen} if any(chosen.values()) else {}


def shown_setting() -> dict[str, str]:
    """Return the setting of reports in a view that counts excluded answers, {} in any other."""
    return {EXCLUDED: SHOWN} if are_excluded_shown() else {}


def hash_of(settings: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
