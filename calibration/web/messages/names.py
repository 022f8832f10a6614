"""Names of criteria and categories, and menus, that several result pages share."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.models import Study
from calibration.reports.registry import Plain
from calibration.web.blocks import Choice
from calibration.web.messages.statistics import criterion_words
from calibration.web.weights.page import criterion_questions
from generation.models import Category


def criterion_name(study: Study, key: str) -> str:
    return criterion_questions(study).get(key) or criterion_words(key)


def criterion_choice(study: Study, report: Plain) -> Choice:
    questions = criterion_questions(study)
    options = [(key, questions.get(key) or criterion_words(key)) for key in report["criteria"]]
    return Choice("criterion", gettext("Criterion"), options, report["criterion"])


def category_names(rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Map pks of categories in a report's rows to names in the reader's language; the key if a category is gone."""
    known = {row.pk: row.name for row in Category.objects.filter(pk__in=[row["category_pk"] for row in rows])}
    return {row["category_pk"]: known.get(row["category_pk"], str(row["category"])) for row in rows}
