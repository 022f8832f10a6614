"""Yes-or-no rubrics that check what an instruction asked for, one question per screen."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from annotation.models import Criterion, Rubric

YES_NO = [
    {
        "key": "no",
        "value": 0,
        "label": {"en": "No", "zh-hans": "否"},
        "description": {
            "en": "The text does not do this, or only in part.",
            "zh-hans": "文本没有做到这一点，或只做到一部分。",
        },
    },
    {
        "key": "yes",
        "value": 1,
        "label": {"en": "Yes", "zh-hans": "是"},
        "description": {"en": "The text does all of this.", "zh-hans": "文本完全做到了这一点。"},
    },
]
PREFIX = "check-"


def check_fields(key: str, questions: dict[str, str], position: int, subtasks: dict[str, Any] | None) -> dict[str, Any]:
    """A check as fields of Criterion."""
    return {
        "key": key,
        "questions": questions,
        "role": Criterion.Role.CHECK.value,
        "position": position,
        "levels": YES_NO,
        "subtasks": subtasks,
    }


def single_rubrics(checks: Iterable[Criterion]) -> dict[int, int]:
    """For each check, by its id, a rubric that asks only this check; it is created if missing.

    A screen asks one check about one text, as a judge is asked. Three queries for any number of checks.
    """
    wanted = {_key(check): check for check in checks}
    known = dict(Rubric.objects.filter(key__in=list(wanted)).values_list("key", "pk"))
    missing = {key: check for key, check in wanted.items() if key not in known}
    with transaction.atomic():
        made = [
            Rubric(workspace_id=check.rubric.workspace_id, key=key, names=check.questions)
            for key, check in missing.items()
        ]
        Rubric.objects.bulk_create(made, batch_size=500)
        Criterion.objects.bulk_create(
            (
                Criterion(rubric=rubric, **check_fields(check.key, check.questions, 0, check.subtasks))
                for rubric, check in zip(made, missing.values(), strict=True)
            ),
            batch_size=500,
        )
    known |= {rubric.key: rubric.pk for rubric in made}
    return {check.pk: known[key] for key, check in wanted.items()}


def _key(check: Criterion) -> str:
    """The key of a check's own rubric. It uses the row id, which changes with each version of the rubric."""
    return f"{PREFIX}{check.pk}"
