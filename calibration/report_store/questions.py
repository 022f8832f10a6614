"""What identifies a stored report: the settings that were asked for, and the state of the study's rows."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import Study, are_excluded_shown
from annotation.policies.policies import Policies
from calibration.models import Report
from calibration.report_store.state import state_of

SHAPE = 8
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


def latest_of(study: Study, kind: str, asked_hash: str) -> Report | None:
    return Report.objects.filter(study=study, kind=kind, asked_hash=asked_hash).order_by("-pk").first()


def asked_hash_of(study: Study, settings: Mapping[str, Any]) -> str:
    """Return the hash of what is asked for, without reading the study's state."""
    asked = {name: value for name, value in settings.items() if name not in STATE}
    return hash_of({**asked, **_asked(study)})


def _asked(study: Study) -> dict[str, Any]:
    return {"study": study.slug, "shape": SHAPE, **_choices_of(study), **shown_setting()}


def _choices_of(study: Study) -> dict[str, dict[str, Any]]:
    standing = list(study.exclusions.standing().order_by("pk").values_list("pk", flat=True))
    chosen = {"excluded": standing, "adjudicated": Policies.of(study).adjudicated_labels}
    return {CHOICES: chosen} if any(chosen.values()) else {}


def shown_setting() -> dict[str, str]:
    """Return the setting of reports in a view that counts excluded answers, {} in any other."""
    return {EXCLUDED: SHOWN} if are_excluded_shown() else {}


def hash_of(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
