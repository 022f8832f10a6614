"""Stored results in Report, found by the state of a study's rows and stored under the hash of the data read."""

import time
from collections.abc import Callable, Mapping

from django.db import transaction
from django.utils import timezone

from annotation.models import Study, excluded_shown
from calibration.models import Report
from calibration.report_store.questions import (
    CHOICES,
    EXCLUDED,
    SHAPE,
    SHOWN,
    asked_hash_of,
    latest_of,
    question_of,
    scores_known,
    shown_setting,
)
from generation.webhooks.events import EventName, listening, named, store_messages

SLOW_SCORES = 60_000
MOST_COMPARED = 50
"""Older reports of a kind among which the one with the same settings is looked for."""
__all__ = [
    "CHOICES",
    "EXCLUDED",
    "SHAPE",
    "SHOWN",
    "SLOW_SCORES",
    "cached_report",
    "current_reports",
    "is_slow",
    "known_report",
    "latest_report",
    "latest_reports",
    "shown_setting",
]


def cached_report(
    study: Study,
    kind: str,
    settings: Mapping[str, object],
    compute: Callable[[], tuple[str, dict[str, object]]],
    announce: Callable[[Report], object] = lambda _row: None,
) -> dict[str, object]:
    """Return a stored result, found by the state of the study's rows, or compute and store it.

    `announce` is called with a new row, in the transaction that stores it.
    """
    question = question_of(study, kind, settings)
    found = question.current()
    if found is not None:
        return dict(found.result)
    begun = time.monotonic()
    with excluded_shown(question.full.get(EXCLUDED) == SHOWN):
        hashed, result = compute()
    with transaction.atomic():
        row, made = Report.objects.get_or_create(
            workspace=study.workspace,
            kind=kind,
            data_hash=hashed,
            settings_hash=question.settings_hash,
            defaults={
                "study": study,
                "settings": question.full,
                "result": result,
                "asked_hash": question.asked_hash,
                "answers": question.answers,
                "seconds": time.monotonic() - begun,
            },
        )
        if made:
            announce(row)
    return dict(row.result)


def announce_change(
    study: Study, asked: Mapping[str, object], number: Callable[[dict[str, object]], float | None], row: Report
) -> None:
    """Tell webhooks if the main number of a new report differs from that of the newest one before it.

    Reports of the view that counts excluded answers are neither told of nor compared with.
    """
    if EXCLUDED in row.settings or not (hooks := listening(study.workspace_id, EventName.REPORT_CHANGED)):
        return
    wanted = {**asked, "shape": SHAPE}
    older = Report.objects.filter(study=study, kind=row.kind).exclude(pk=row.pk).order_by("-pk")
    before = next((one for one in older[:MOST_COMPARED] if _is_of(one, wanted)), None)
    if before is None:
        return
    was, now = number(before.result), number(row.result)
    if was != now:
        about = {"study": named(study), "report": row.kind, "before": was, "after": now}
        store_messages(hooks, EventName.REPORT_CHANGED, about, clock=timezone.now)


def _is_of(row: Report, wanted: Mapping[str, object]) -> bool:
    return EXCLUDED not in row.settings and all(row.settings.get(name) == value for name, value in wanted.items())


def known_report(study: Study, kind: str, settings: Mapping[str, object]) -> dict[str, object] | None:
    """Return the stored result, or None if it has to be computed."""
    found = question_of(study, kind, settings).current()
    return dict(found.result) if found else None


def latest_report(study: Study, kind: str, settings: Mapping[str, object]) -> Report | None:
    """Return the newest stored report with these settings, even if there are newer answers."""
    return latest_of(study, kind, asked_hash_of(study, settings))


def current_reports(study: Study) -> list[Report]:
    """Select the stored results of the study in its present state, which its pages show."""
    rows = Report.objects.filter(study=study).order_by("kind", "pk")
    now = question_of(study, "", {}).full
    kept = [row for row in rows if all(row.settings.get(name) == value for name, value in now.items())]
    return [row for row in kept if row.settings.get(CHOICES) == now.get(CHOICES)]


def latest_reports(study: Study) -> list[tuple[Report, int]]:
    """Select the newest report of each kind and settings, with the number of answers that have arrived since."""
    question = question_of(study, "", {})
    newest: dict[tuple[str, str], Report] = {}
    for row in Report.objects.filter(study=study).order_by("kind", "pk"):
        alike = row.settings.get(CHOICES) == question.full.get(CHOICES)
        if row.asked_hash and alike and row.settings.get("shape") == SHAPE:
            newest[row.kind, row.asked_hash] = row
    return [(row, question.answers_since(row)) for row in newest.values()]


def is_slow(study: Study) -> bool:
    """Whether a report takes so long to compute that a worker has to do it."""
    return scores_known(study) > SLOW_SCORES
