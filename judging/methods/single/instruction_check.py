"""Whether the text of a sub-task fulfils an instruction: yes or no. PURE. LongGenBench (arXiv 2409.02076), 2.4."""

import sys
from collections.abc import Mapping, Sequence
from typing import cast

from core.messages.message import Wording, marked
from judging.methods import messages as reply_messages, parsing_one_answer as replies
from judging.methods.guided import guidance_fields, require
from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.methods.prompts import Item, Question, marker, render
from judging.methods.scales import WrongScale, only_item
from judging.methods.spec import LONGGENBENCH, ChatMethod, MethodSpec, Transport

KEY = "instruction_check"
TEMPLATE = "instruction_check.txt"
TASK_KIND = "check"
ROLE = "check"
NEEDED = ("question", "response", "answer_shape")
VERDICT_NAMES = ("fulfilled", "answer", "verdict", "score")
WORDS = {"no": 0.0, "yes": 1.0}
READ_AS = {"no": 0.0, "false": 0.0, "0": 0.0, "yes": 1.0, "true": 1.0, "1": 1.0}
TOKENS = 300


NOT_YES_OR_NO = Wording(
    "method.not_yes_or_no", "An instruction is fulfilled (1) or not (0); criterion %(item)s has %(values)s."
)


def messages(template: str, question: Question, *, with_schema: bool) -> list[dict[str, str]]:
    """Fill in the template: the item's question is the instruction, responses[0] only the sub-task's text.

    Raises BadTemplate, WrongScale, and UserError where a part is missing.
    """
    whole = require(question, (), 1)
    item, response = _item(whole.items), whole.responses[0]
    fields = {
        **guidance_fields(whole),
        "question_mark": marker("instruction", item.question),
        "question": item.question,
        "key": item.key,
        "response_mark": marker("text", response),
        "response": response,
        "answer_shape": replies.shape_text(
            item, ("reason",), VERDICT_NAMES[0], schema(whole.items) if with_schema else None
        ),
    }
    return render(template, fields, NEEDED)


def _item(items: Sequence[Item]) -> Item:
    item = only_item(items)
    if set(item.values) != set(WORDS.values()):
        raise WrongScale(NOT_YES_OR_NO(item=repr(item.key), values=item.values))
    return item


def schema(items: Sequence[Item]) -> dict[str, object]:
    return replies.one_member(_item(items), ("reason",), VERDICT_NAMES[0], {"type": "string", "enum": list(WORDS)})


def answer_tokens(items: Sequence[Item]) -> int:
    return TOKENS


def parse(text: str, items: Sequence[Item], finish_reason: str) -> Verdict | Unscored:
    """Return 1 for yes, 0 for no; true, false, 1 and 0 are read too."""
    item = _item(items)
    said = replies.read_one(text, item, VERDICT_NAMES, finish_reason=finish_reason)
    if isinstance(said, Unscored):
        return said
    answer = said[VERDICT_NAMES[0]]
    value = READ_AS.get(str(answer).strip().strip(".").casefold())
    if value is None:
        words = reply_messages.NEITHER(item=repr(item.key), score=repr(str(answer)[:40]))
        return Unscored(Why.OFF_SCALE, words)
    return Verdict((Answer(item.key, value, str(said.get("reason") or "").strip()),))


def correction(unscored: Unscored) -> Mapping[str, str]:
    return replies.ask_again(unscored)


SPECS = (
    MethodSpec(
        key=KEY,
        name=marked("Instruction check"),
        asks=marked("Whether the text of one sub-task does what was asked: yes or no."),
        source=LONGGENBENCH,
        task_kind=TASK_KIND,
        role=ROLE,
        transport=Transport.CHAT,
        chat=cast(ChatMethod, sys.modules[__name__]),
    ),
)
