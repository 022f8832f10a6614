"""The rubric for reviewing a judge's verdict: whether the reason for each of its answers is sound."""

from annotation.models import Criterion, Rubric
from annotation.rubrics.library import keep_rubric

PREFIX = "review-"
REASONABLE = [
    {
        "key": "reasonable",
        "value": 1,
        "label": {"en": "Reasonable", "zh-hans": "合理"},
        "description": {
            "en": "The answer follows from the response, and the reason given for it is true of the response.",
            "zh-hans": "该判断与回答相符，所给理由也确实符合回答的内容。",
        },
    },
    {
        "key": "not-reasonable",
        "value": 0,
        "label": {"en": "Not reasonable", "zh-hans": "不合理"},
        "description": {
            "en": "The answer is wrong, or the reason given for it is not true of the response. Say why.",
            "zh-hans": "该判断有误，或所给理由与回答的内容不符。请说明原因。",
        },
    },
]


def review_rubric(judged_by: Rubric) -> Rubric:
    """The rubric for reviewing verdicts given by `judged_by`: its criteria by the same keys, reasonable or not."""
    key = f"{PREFIX}{judged_by.key}-v{judged_by.version}"[:150]
    criteria = [
        {
            "key": criterion.key,
            "questions": criterion.questions,
            "role": Criterion.Role.ITEM.value,
            "position": position,
            "levels": REASONABLE,
            "anchors": [],
            "may_not_apply": False,
        }
        for position, criterion in enumerate(judged_by.criteria.all())
    ]
    names = {language: f"{_NAMES.get(language, _NAMES['en'])}{name}" for language, name in judged_by.names.items()}
    keep_rubric(judged_by.workspace, None, None, key=key, names=names, criteria=criteria)
    return Rubric.objects.filter(workspace=judged_by.workspace, key=key).order_by("-version")[0]


_NAMES = {"en": "Review: ", "zh-hans": "复核："}
