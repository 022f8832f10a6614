"""Names of criteria and categories, and menus, that several result pages share."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext

from annotation.models import Study
from calibration.web.blocks import Choice
from calibration.web.messages.statistics import criterion_words
from calibration.web.weights.page import criterion_questions
from generation.models import Category


def criterion_name(study: Study, key: str) -> str:
    return named_criterion(criterion_questions(study), key)


def named_criterion(questions: Mapping[str, str], key: str) -> str:
    """Return the criterion's question, given those of the study, and otherwise its key in words."""
    return questions.get(key) or criterion_words(key)


def criterion_choice(study: Study, criteria: Sequence[str], chosen: str) -> list[Choice]:
    """Return the menu of criteria, which a page with a single criterion does not have."""
    if len(criteria) < 2:
        return []
    questions = criterion_questions(study)
    options = [(key, named_criterion(questions, key)) for key in criteria]
    return [Choice("criterion", gettext("Criterion"), options, chosen)]


def category_names(keys: Mapping[int, str]) -> dict[int, str]:
    """Return categories' names in the reader's language by primary key, given their keys; the key if one is gone."""
    return {**keys, **{row.pk: row.name for row in Category.objects.filter(pk__in=keys)}}
