"""What identifies a stored report: the settings that were asked for, and the state of the study's rows."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from annotation.models import Study, are_excluded_shown
from annotation.policies.policies import Policies
from calibration.models import Report
from calibration.report_store.state import state_of

SHAPE = 9
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
    full: Mapping[str, Any]
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


def question_of(study: Study, kind: str, settings: Mapping[str, Any]) -> Question:
    state = state_of(study)
    return Question(study, kind, {**settings, **_asked(study), "state": state.values}, state.answers)


def are_current(study: Study, asked: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Whether the report of every kind and settings is there for the study in its present state; three queries."""
    state = state_of(study)
    more = {**_asked(study), "state": state.values}
    wanted = {(kind, hash_of({**settings, **more})) for kind, settings in asked}
    rows = Report.objects.filter(study=study, settings_hash__in=[hashed for _kind, hashed in wanted])
    return wanted <= set(rows.values_list("kind", "settings_hash"))


def latest_of(study: Study, kind: str, asked_hash: str) -> Report | None:
    return Report.objects.filter(study=study, kind=kind, asked_hash=asked_hash).order_by("-pk").first()


def asked_hash_of(study: Study, settings: Mapping[str, Any]) -> str:
    """Return the hash of what is asked for, without reading the study's state."""
    asked = {name: value for name, value in settings.items() if name not in STATE}
    return hash_of({**asked, **_asked(study)})


def _asked(study: Study) -> dict[str, Any]:
    return {"study": study.slug, "shape": SHAPE, **_choices_of(study), **shown_setting()}


_read: ContextVar[dict[int, list[int]] | None] = ContextVar("exclusions_read", default=None)


@contextmanager
def exclusions_read_once() -> Iterator[None]:
    """Within this block, which computes no report, a study's exclusions are read once, however many reports are read."""
    before = _read.set({})
    try:
        yield
    finally:
        _read.reset(before)


def _standing(study: Study) -> list[int]:
    known = _read.get()
    if known is not None and study.pk in known:
        return known[study.pk]
    standing = list(study.exclusions.standing().order_by("pk").values_list("pk", flat=True))
    if known is not None:
        known[study.pk] = standing
    return standing


def _choices_of(study: Study) -> dict[str, dict[str, Any]]:
    standing = _standing(study)
    chosen = {"excluded": standing, "adjudicated": Policies.of(study).adjudicated_labels}
    return {CHOICES: chosen} if any(chosen.values()) else {}


def shown_setting() -> dict[str, str]:
    """Return the setting of reports in a view that counts excluded answers, {} in any other."""
    return {EXCLUDED: SHOWN} if are_excluded_shown() else {}


def hash_of(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
