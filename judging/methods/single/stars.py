"""Several criteria, each with its own stars. PURE. LLMEval (arXiv 2312.07398), figures 9, 11 and 12.

The stars are those of the study's rubric, so that people and judges answer on the same levels.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.messages.message import marked
from judging.methods.guided import guidance_fields, require
from judging.methods.parsing import Unscored, Verdict, read_answers
from judging.methods.prompts import Item, Question, marker, number_text, render
from judging.methods.scales import scale_lines
from judging.methods.single import checklist
from judging.methods.spec import LLMEVAL, chat_spec

NEEDED = ("criteria", "conversation", "response", "answer_shape")


@dataclass(frozen=True)
class StarsMethod:
    """A method for objective questions, whose one right answer is the hint, or for subjective ones, which may have a
    hint.
    """

    KEY: str
    TEMPLATE: str
    needs: tuple[str, ...] = ()
    TASK_KIND: str = "single"
    ROLE: str = "item"

    def messages(self, template: str, question: Question, *, with_schema: bool) -> list[dict[str, str]]:
        """Fill in the template. Raises BadTemplate, UserError."""
        whole = require(question, self.needs, 1)
        items, response = whole.items, whole.responses[0]
        shape = "{" + ", ".join(f'{json.dumps(i.key)}: {{"reason": "...", "score": ...}}' for i in items) + "}"
        if with_schema:
            schema = json.dumps(self.schema(items), separators=(",", ":"), ensure_ascii=False)
            shape += f"\nIts JSON schema: {schema}"
        fields = {
            **guidance_fields(whole),
            "criteria": "\n\n".join(_criterion_text(number, item) for number, item in enumerate(items, 1)),
            "count": str(len(items)),
            "response_mark": marker("text", response),
            "response": response,
            "answer_shape": shape,
        }
        return render(template, fields, (*NEEDED, *self.needs))

    def schema(self, items: Sequence[Item]) -> dict[str, object]:
        return checklist.schema(items)

    def answer_tokens(self, items: Sequence[Item]) -> int:
        return checklist.answer_tokens(items)

    def parse(self, text: str, items: Sequence[Item], finish_reason: str) -> Verdict | Unscored:
        return read_answers(text, items, finish_reason=finish_reason)

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return checklist.correction(unscored)


def _criterion_text(number: int, item: Item) -> str:
    scores = ", ".join(map(number_text, item.values))
    return f"{number}. {item.key}: {item.question} Its scores are {scores}:\n{scale_lines(item.levels)}"


SUBJECTIVE = StarsMethod(KEY="stars", TEMPLATE="stars.txt")
OBJECTIVE = StarsMethod(KEY="stars_objective", TEMPLATE="stars_objective.txt", needs=("hint",))

SPECS = (
    chat_spec(
        SUBJECTIVE,
        name=marked("Stars"),
        asks=marked("Each criterion on its own scale of stars. A hint is shown if there is one."),
        source=LLMEVAL,
    ),
    chat_spec(
        OBJECTIVE,
        name=marked("Stars with reference answer"),
        asks=marked("Stars for instructions with one correct answer, which is given in the hint."),
        source=LLMEVAL,
    ),
)
