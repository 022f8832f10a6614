"""One score for one text, on the range of the rubric's overall criterion. PURE."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judging.methods import parsing_one_answer as replies
from judging.methods.guided import guidance_fields, require
from judging.methods.parsing import SCORE_NAMES, Unscored, Verdict
from judging.methods.prompts import Item, Question, marker, number_text, render
from judging.methods.scales import only_item, scale_lines

NEEDED = ("conversation", "response", "answer_shape")
TOKENS_A_TEXT = 600
TOKENS_FOR_THE_REST = 100


@dataclass(frozen=True)
class ScoreMethod:
    """A method whose answer is one number. `texts` are written before the score, each (member, words before it)."""

    KEY: str
    TEMPLATE: str
    texts: tuple[tuple[str, str], ...]
    needs: tuple[str, ...] = ()
    TASK_KIND: str = "single"
    ROLE: str = "overall"

    def messages(self, template: str, question: Question, *, with_schema: bool) -> list[dict[str, str]]:
        """Fill in the template. Raises BadTemplate, UserError, WrongScale."""
        whole = require(question, self.needs, 1)
        item, response = only_item(whole.items), whole.responses[0]
        fields = {
            **guidance_fields(whole),
            "question": item.question,
            "scale": scale_lines(item.levels),
            "values": ", ".join(map(number_text, item.values)),
            "response_mark": marker("text", response),
            "response": response,
            "answer_shape": replies.shape_text(
                item, self._names(), SCORE_NAMES[0], self.schema(whole.items) if with_schema else None
            ),
        }
        shown = ("checklist",) if "guides" in self.needs else ()
        return render(template, fields, (*NEEDED, *shown))

    def _names(self) -> tuple[str, ...]:
        return tuple(name for name, _before in self.texts)

    def schema(self, items: Sequence[Item]) -> dict[str, object]:
        item = only_item(items)
        return replies.one_member(item, self._names(), SCORE_NAMES[0], {"type": "number", "enum": list(item.values)})

    def answer_tokens(self, items: Sequence[Item]) -> int:
        return TOKENS_FOR_THE_REST + TOKENS_A_TEXT * len(self.texts)

    def parse(self, text: str, items: Sequence[Item], finish_reason: str) -> Verdict | Unscored:
        item = only_item(items)
        said = replies.read_one(text, item, SCORE_NAMES, finish_reason=finish_reason)
        if isinstance(said, Unscored):
            return said
        return replies.on_scale(item, said[SCORE_NAMES[0]], replies.joined(said, self.texts))

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return replies.ask_again(unscored)
