"""Stored results in Report, found by the state of a study's rows and stored under the hash of the data read."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import Count, Max, Q

from annotation.models import Assignment, Score, Study, Task, are_excluded_shown, excluded_shown
from annotation.policies.policies import Policies
from calibration.data.verdicts import judged_elsewhere
from calibration.models import Report
from generation.models import Category, Instruction, Response

SHAPE = 3
"""Raised whenever the same rows come to other numbers, so that none computed before is shown."""
SLOW_SCORES = 60_000
SUBMITTED = Count("pk", filter=Q(status="submitted"))
EXCLUDED, SHOWN = "excluded", "shown"
"""The setting of a report that counts excluded answers too; a report that leaves them out does not have it."""
CHOICES = "choices"
DISCREDITED = Count("pk", filter=Q(discredited=True))


def shown_setting() -> dict[str, str]:
    """The setting of reports in a view that counts excluded answers, {} in any other."""
    return {EXCLUDED: SHOWN} if are_excluded_shown() else {}


def cached_report(
    study: Study, kind: str, settings: Mapping[str, Any], compute: Callable[[], tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    """Return a stored result, found by the state of the study's rows, or compute and store it."""
    full = _with_state(study, settings)
    found = _cached(study, kind, full)
    if found is not None:
        return dict(found.result)
    with excluded_shown(settings.get(EXCLUDED) == SHOWN):
        hashed, result = compute()
    row, _ = Report.objects.get_or_create(
        workspace=study.workspace,
        kind=kind,
        data_hash=hashed,
        settings_hash=_hash_of(full),
        defaults={"study": study, "settings": full, "result": result},
    )
    return dict(row.result)


def known_report(study: Study, kind: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the stored result, or None if it has to be computed."""
    found = _cached(study, kind, _with_state(study, settings))
    return dict(found.result) if found else None


def current_reports(study: Study) -> list[Report]:
    """Select the stored results of the study in its present state, which its pages show."""
    rows = Report.objects.filter(study=study).order_by("kind", "pk")
    state = _with_state(study, {})
    kept = [row for row in rows if all(row.settings.get(name) == value for name, value in state.items())]
    return [row for row in kept if row.settings.get(CHOICES) == state.get(CHOICES)]


def is_slow(study: Study) -> bool:
    """Whether a report takes so long to compute that a worker has to do it."""
    return Score.objects.filter(assignment__task__study=study).count() > SLOW_SCORES


def _cached(study: Study, kind: str, settings: Mapping[str, Any]) -> Report | None:
    return Report.objects.filter(study=study, kind=kind, settings_hash=_hash_of(settings)).first()


def _hash_of(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _with_state(study: Study, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Extend the settings by values that change whenever an answer or its category changes.

    Scores are append-only, so counts and maxima are enough; categories can be edited, so a hash of them is included.
    """
    own = Assignment.objects.filter(task__study=study)
    judged = judged_elsewhere(study)
    state = [
        own.aggregate(n=Count("pk"), submitted=SUBMITTED, discredited=DISCREDITED),
        Score.objects.filter(assignment__task__study=study).aggregate(n=Count("pk"), last=Max("pk")),
        judged.aggregate(n=Count("pk"), submitted=SUBMITTED, discredited=DISCREDITED),
        Score.objects.filter(assignment__in=judged).aggregate(n=Count("pk"), last=Max("pk")),
        {"categories": _filed(study)},
    ]
    return {**settings, "study": study.slug, "shape": SHAPE, "state": state, **choices_of(study)}


def choices_of(study: Study) -> dict[str, dict[str, Any]]:
    """What leads chose about which answers count, {} if nothing; when all exclusions are lifted, reports are found again."""
    standing = list(study.exclusions.standing().order_by("pk").values_list("pk", flat=True))
    chosen = {"excluded": standing, "adjudicated": Policies.of(study).adjudicated_labels}
    return {CHOICES: chosen} if any(chosen.values()) else {}


def _filed(study: Study) -> str:
    """SHA-256 over the category of each instruction of the study and over the names of these categories."""
    responses = Response.objects.filter(pk__in=Task.objects.filter(study=study).values("response_a"))
    instructions = Instruction.objects.filter(pk__in=responses.values("instruction"))
    filed = list(instructions.order_by("pk").values_list("pk", "category"))
    leaves = {category for _, category in filed if category is not None}
    named = Category.objects.filter(pk__in=leaves).order_by("pk")
    called = list(named.values_list("pk", "key", "names", "parent", "parent__key", "parent__names"))
    return hashlib.sha256(json.dumps([filed, called], sort_keys=True).encode()).hexdigest()
