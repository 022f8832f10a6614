"""The scales that a lead can choose for their own questions; they come from the built-in rubrics."""

import json
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.models import Criterion, Study
from annotation.rubrics.instruction_checks import YES_NO
from annotation.rubrics.library import scale_fields

ROLE_ITEM, ROLE_OVERALL = Criterion.Role.ITEM.value, Criterion.Role.OVERALL.value
ROLE_PREFERENCE, ROLE_CHECK = Criterion.Role.PREFERENCE.value, Criterion.Role.CHECK.value
Offer = tuple[str, str | Promise, str]
"""A scale's key, its label, and the role of a question with this scale."""

FULFILMENT: Offer = ("fulfilment", gettext_lazy("Five levels, from not met to fully met"), ROLE_ITEM)
YES_OR_NO: Offer = ("yes_no", gettext_lazy("Yes or no"), ROLE_ITEM)
OVERALL: Offer = ("overall10", gettext_lazy("Overall score from 0 to 10"), ROLE_OVERALL)
OFFERS: dict[str, list[Offer]] = {
    Study.Kind.CHECKLIST: [FULFILMENT, YES_OR_NO, OVERALL],
    Study.Kind.STARS: [
        ("stars3", gettext_lazy("One to three stars"), ROLE_ITEM),
        ("stars5", gettext_lazy("One to five stars"), ROLE_ITEM),
        OVERALL,
    ],
    Study.Kind.PAIR: [
        ("three", gettext_lazy("A, B or a tie"), ROLE_PREFERENCE),
        ("four", gettext_lazy("A, B, a tie, or both bad"), ROLE_PREFERENCE),
        ("five", gettext_lazy("Five steps, from A far better to B far better"), ROLE_PREFERENCE),
    ],
    Study.Kind.CHECK: [("check", gettext_lazy("Yes or no"), ROLE_CHECK)],
}


@cache
def _written() -> dict[str, dict[str, Any]]:
    folder = settings.BASE_DIR / "fixtures" / "rubrics"
    found: dict[str, dict[str, Any]] = {}
    for name in ("hellobench", "preferences"):
        data = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        found |= data["scales"]
    return found


def _stars(most: int) -> list[dict[str, Any]]:
    return [
        {
            "key": str(n),
            "value": n,
            "label": {"en": f"{n} of {most}", "zh-hans": f"{n} 星（共 {most} 星）"},
            "description": {},
        }
        for n in range(1, most + 1)
    ]


def scale_named(key: str) -> dict[str, Any]:
    """The scale as Criterion fields."""
    match key:
        case "yes_no" | "check":
            return scale_fields({"levels": YES_NO})
        case "stars3" | "stars5":
            return scale_fields({"levels": _stars(int(key[-1]))})
    return scale_fields(_written()[key])


def offer_of(kind: str, criterion: Criterion) -> str:
    """The key of the criterion's scale among those offered, or '' for another scale."""
    for key, _name, role in OFFERS.get(Study.Kind(kind), []):
        scale = scale_named(key)
        same = all(getattr(criterion, name) == scale[name] for name in ("levels", "minimum", "maximum", "step"))
        if same and criterion.role == role:
            return key
    return ""
