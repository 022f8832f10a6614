"""Questions that many studies ask, to begin with and to change: who somebody is, and how demanding the work was.

The workload scales are those of the NASA Task Load Index (Hart and Staveland, 1988) without its weighting, each with 21
gradations.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.questionnaires.questions import AskedQuestion, read_questions


def _two(english: str, chinese: str) -> dict[str, str]:
    return {"en": english, "zh-hans": chinese}


_PERSON: list[dict[str, Any]] = [
    {
        "key": "age_group",
        "kind": "choice",
        "texts": _two("How old are you?", "您的年龄是？"),
        "options": [
            {"key": "18_24", "texts": _two("18 to 24", "18–24 岁")},
            {"key": "25_34", "texts": _two("25 to 34", "25–34 岁")},
            {"key": "35_44", "texts": _two("35 to 44", "35–44 岁")},
            {"key": "45_54", "texts": _two("45 to 54", "45–54 岁")},
            {"key": "55_64", "texts": _two("55 to 64", "55–64 岁")},
            {"key": "65", "texts": _two("65 or older", "65 岁及以上")},
            {"key": "not_said", "texts": _two("I prefer not to say", "不愿透露")},
        ],
    },
    {"key": "native_language", "kind": "text", "texts": _two("What is your native language?", "您的母语是什么？")},
    {
        "key": "expertise",
        "kind": "scale",
        "texts": _two("How well do you know the subject of the texts?", "您对这些文本的主题有多了解？"),
        "low": 1,
        "high": 5,
        "low_label": _two("not at all", "完全不了解"),
        "high_label": _two("I work in this field", "从事该领域的工作"),
    },
]
_LEVEL = {"low_label": _two("very low", "很低"), "high_label": _two("very high", "很高")}
_OUTCOME = {"low_label": _two("perfect", "完美"), "high_label": _two("failure", "失败")}
_WORKLOAD: list[dict[str, Any]] = [
    {"key": key, "kind": "scale", "texts": texts, "low": 0, "high": 20, **ends}
    for key, texts, ends in (
        ("mental_demand", _two("How mentally demanding was the work?", "这项工作需要多少脑力？"), _LEVEL),
        ("physical_demand", _two("How physically demanding was the work?", "这项工作需要多少体力？"), _LEVEL),
        ("temporal_demand", _two("How hurried was the pace of the work?", "工作节奏有多紧迫？"), _LEVEL),
        (
            "performance",
            _two("How successful were you in what you were asked to do?", "您在多大程度上完成了要求？"),
            _OUTCOME,
        ),
        ("effort", _two("How hard did you have to work?", "您付出了多大努力？"), _LEVEL),
        (
            "frustration",
            _two(
                "How insecure, discouraged, irritated or stressed were you?", "您感到多大程度的不安、沮丧、烦躁或压力？"
            ),
            _LEVEL,
        ),
    )
]
_WORKLOAD.append(
    {
        "key": "comment",
        "kind": "long_text",
        "texts": _two("What else would you like to tell us?", "您还有什么想告诉我们的？"),
    }
)
PRESETS: Mapping[str, tuple[str | Promise, list[dict[str, Any]]]] = {
    "person": (_("Age group, native language, expertise"), _PERSON),
    "workload": (_("Six workload scales (NASA-TLX) and a comment"), _WORKLOAD),
}


def preset(name: str) -> tuple[AskedQuestion, ...]:
    """The questions of a preset; none if there is no such preset."""
    return read_questions(PRESETS[name][1]) if name in PRESETS else ()
