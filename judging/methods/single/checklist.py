"""A reason and a score for every item of the rubric at once. PURE. HelloBench (arXiv 2409.16191), 4.3.

Weighted, the scores are HelloEval's points; with equal weights they are AVG-C.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import cast

from core.errors import UserError
from core.messages.message import Wording, marked
from judging.methods.parsing import Unscored, Verdict, read_answers
from judging.methods.prompts import Item, Level, Question, marker, number_text, render, transcript
from judging.methods.spec import HELLOBENCH, ChatMethod, MethodSpec, Transport

KEY = "checklist"
TEMPLATE = "checklist.txt"
TASK_KIND = "single"
NEEDED = ("items", "conversation", "response", "answer_shape")
TOKENS_AN_ITEM = 250
TOKENS_FOR_THE_REST = 200


DIFFERENT_SCALES = Wording(
    "method.different_scales", "The items of this rubric have different scales; the checklist method needs one for all."
)


class MixedScales(UserError):
    """The items of a rubric have different levels, but this method lists one scale for all."""


def messages(template: str, question: Question, *, with_schema: bool) -> list[dict[str, str]]:
    """Fill in the template. What a benchmark's questions share comes first, the response nearly last.

    `with_schema` writes the JSON schema into the prompt, for endpoints that take none. Raises BadTemplate, MixedScales.
    """
    items, levels = question.items, scale_of(question.items)
    conversation = transcript(question.conversation)
    shape = "{" + ", ".join(f'{json.dumps(i.key)}: {{"reason": "...", "score": ...}}' for i in items) + "}"
    if with_schema:
        shape += "\nIts JSON schema: " + json.dumps(schema(items), separators=(",", ":"), ensure_ascii=False)
    fields = {
        "scale": "\n".join(_level_line(level) for level in levels),
        "values": ", ".join(number_text(level.value) for level in levels),
        "items": "\n".join(f"{n}. {item.key}: {item.question}" for n, item in enumerate(items, 1)),
        "count": str(len(items)),
        "conversation_mark": marker("conversation", conversation),
        "conversation": conversation,
        "response_mark": marker("text", question.responses[0]),
        "response": question.responses[0],
        "answer_shape": shape,
    }
    return render(template, fields, NEEDED)


def _level_line(level: Level) -> str:
    line = f"{number_text(level.value)}: {level.label}"
    return f"{line}. {level.description}" if level.description else line


def scale_of(items: Sequence[Item]) -> tuple[Level, ...]:
    """Return the one scale of all items. Raises MixedScales."""
    if len({item.values for item in items}) != 1:
        raise MixedScales(DIFFERENT_SCALES())
    return items[0].levels


def schema(items: Sequence[Item]) -> dict[str, object]:
    """Return a schema with one member per item, so that a reply that follows it neither lacks nor repeats one."""
    return {
        "type": "object",
        "properties": {
            item.key: {
                "type": "object",
                "properties": {"reason": {"type": "string"}, "score": {"type": "number", "enum": list(item.values)}},
                "required": ["reason", "score"],
                "additionalProperties": False,
            }
            for item in items
        },
        "required": [item.key for item in items],
        "additionalProperties": False,
    }


def answer_tokens(items: Sequence[Item]) -> int:
    """Return the maximum number of tokens of an answer; the limit ends loops of white space under a grammar."""
    return TOKENS_FOR_THE_REST + TOKENS_AN_ITEM * len(items)


def parse(text: str, items: Sequence[Item], finish_reason: str) -> Verdict | Unscored:
    return read_answers(text, items, finish_reason=finish_reason)


def correction(unscored: Unscored) -> Mapping[str, str]:
    """Return the message to the model after an unusable reply."""
    return {
        "role": "user",
        "content": f"That answer cannot be used ({unscored.detail}). Answer all questions once more, as one JSON "
        "object of the form described, and write nothing else.",
    }


SPECS = (
    MethodSpec(
        key=KEY,
        name=marked("Checklist"),
        asks=marked(
            "All items of the checklist at once, each with a reason and a score. The weighted mean gives the points."
        ),
        source=HELLOBENCH,
        task_kind=TASK_KIND,
        role="item",
        transport=Transport.CHAT,
        chat=cast(ChatMethod, sys.modules[__name__]),
    ),
)
