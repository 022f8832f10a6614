"""Pairwise judging: which of two texts is better. PURE.

A method sees the text shown first as A. `canonical` turns its verdict to the task's own sides: positive means the
task's response A, whatever was shown first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from core.messages.message import Wording
from judging.methods import messages as reply_messages, parsing_one_answer as replies
from judging.methods.guided import guidance_fields, require
from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.methods.prompts import Item, Question, marker, render
from judging.methods.scales import WrongScale, only_item

Side: TypeAlias = Literal["a", "b"]
TIE, BOTH_BAD = "tie", "both_bad"
SCORES = {"a_much": 2.0, "a": 1.0, TIE: 0.0, BOTH_BAD: 0.0, "b": -1.0, "b_much": -2.0}
"""The levels of preference criteria by key. Both bad scores as a tie and is told from it by its level only."""
MIRROR = {"a_much": "b_much", "a": "b", TIE: TIE, BOTH_BAD: BOTH_BAD, "b": "a", "b_much": "a_much"}
THREE = {"A": "a", "tie": TIE, "B": "b"}
FOUR = {"A": "a", "tie": TIE, "B": "b", "both bad": BOTH_BAD}
FIVE = {"A++": "a_much", "A+": "a", "A=B": TIE, "B+": "b", "B++": "b_much"}
CHOICE_NAMES = ("choice", "verdict", "preference", "winner", "better")
NEEDED = ("conversation", "first", "second", "answer_shape")
TOKENS_A_TEXT = 400
TOKENS_FOR_THE_REST = 100


NO_PREFERENCE = Wording("method.no_preference", "%(value)s is not a preference; the preferences are %(known)s.")
NO_SUCH_LEVEL = Wording("method.no_such_level", "Criterion %(item)s has no level %(level)s; its levels are %(values)s.")
OTHER_CHOICES = Wording(
    "method.other_choices", "Method %(method)s chooses among %(options)s; criterion %(item)s has %(values)s."
)


@dataclass(frozen=True)
class Choice(Answer):
    """A preference: its score, and the key of the level, which alone tells both bad from a tie."""

    level: str


def chosen(key: str, level: str, reason: str) -> Choice:
    return Choice(key, SCORES[level], reason, level)


def level_of(answer: Answer) -> str:
    """Return the key of the level of an answer to a preference criterion. Raises WrongScale if no level has the score."""
    if isinstance(answer, Choice):
        return answer.level
    level = next((level for level, score in SCORES.items() if score == answer.value), None)
    if level is None:
        raise WrongScale(NO_PREFERENCE(value=f"{answer.value:g}", known=sorted(set(SCORES.values()))))
    return level


def direction(answer: Answer) -> int:
    """Return 1 if A is better, -1 if B is, 0 for a tie and for both bad."""
    return (answer.value > 0) - (answer.value < 0)


def in_order(question: Question, shown_first: Side) -> Question:
    """Return the question with its two responses, given as (A, B), in the order in which they are shown."""
    first, second = question.responses
    return question if shown_first == "a" else replace(question, responses=(second, first))


def canonical(outcome: Verdict | Unscored, shown_first: Side) -> Verdict | Unscored:
    """Return the verdict in terms of the task's own A and B. The reason of a turned verdict says that its letters are
    turned.
    """
    if isinstance(outcome, Unscored) or shown_first == "a":
        return outcome
    note = "(Sides were exchanged: A in this reason is the task's response B.)"
    return Verdict(
        tuple(
            chosen(answer.key, MIRROR[level_of(answer)], f"{note} {answer.reason}" if answer.reason else "")
            for answer in outcome.answers
        )
    )


def preference(item: Item, side: int, reason: str) -> Verdict:
    """Return a verdict for A (1), B (-1) or neither (0), on a scale that has plain A, B and tie. Raises WrongScale."""
    level = {1: "a", 0: TIE, -1: "b"}[side]
    if SCORES[level] not in item.values:
        raise WrongScale(NO_SUCH_LEVEL(item=repr(item.key), level=side, values=item.values))
    return Verdict((chosen(item.key, level, reason),))


@dataclass(frozen=True)
class PairMethod:
    """A method with one choice: `options` are the words to choose from with their levels, `texts` are written before,
    as in ScoreMethod.
    """

    KEY: str
    TEMPLATE: str
    options: Mapping[str, str]
    texts: tuple[tuple[str, str], ...]
    needs: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    TASK_KIND: str = "pair"
    ROLE: str = "preference"

    def messages(self, template: str, question: Question, *, with_schema: bool) -> list[dict[str, str]]:
        """Fill in the template; A is responses[0]. Raises BadTemplate, WrongScale, UserError if a part is missing."""
        whole = require(question, self.needs, 2)
        item = self._item(whole.items)
        first, second = whole.responses
        both = f"{first}\n{second}"
        fields = {
            **guidance_fields(whole),
            "question": item.question,
            "choices": "\n".join(self._choice_line(item, word) for word in self.options),
            "key": item.key,
            "first_mark": marker("text A", both),
            "first": first,
            "second_mark": marker("text B", both),
            "second": second,
            "answer_shape": replies.shape_text(
                item, self._names(), CHOICE_NAMES[0], self.schema(whole.items) if with_schema else None
            ),
        }
        return render(template, fields, (*NEEDED, *self.shown))

    def _names(self) -> tuple[str, ...]:
        return tuple(name for name, _before in self.texts)

    def _choice_line(self, item: Item, word: str) -> str:
        """Return the choices with the words of their levels; of the two levels that score 0 the tie comes first."""
        key = self.options[word]
        levels = [level for level in item.levels if level.value == SCORES[key]]
        level = levels[1 if key == BOTH_BAD else 0]
        meaning = ". ".join(part for part in (level.label, level.description) if part)
        return f'"{word}": {meaning}'

    def _item(self, items: Sequence[Item]) -> Item:
        item = only_item(items)
        if sorted(item.values) != sorted(SCORES[level] for level in self.options.values()):
            raise WrongScale(
                OTHER_CHOICES(method=self.KEY, options=", ".join(self.options), item=repr(item.key), values=item.values)
            )
        return item

    def schema(self, items: Sequence[Item]) -> dict[str, object]:
        field = {"type": "string", "enum": list(self.options)}
        return replies.one_member(self._item(items), self._names(), CHOICE_NAMES[0], field)

    def answer_tokens(self, items: Sequence[Item]) -> int:
        return TOKENS_FOR_THE_REST + TOKENS_A_TEXT * len(self.texts)

    def parse(self, text: str, items: Sequence[Item], finish_reason: str) -> Verdict | Unscored:
        """Return the choice in terms of the sides as shown; `canonical` turns it."""
        item = self._item(items)
        said = replies.read_one(text, item, CHOICE_NAMES, finish_reason=finish_reason)
        if isinstance(said, Unscored):
            return said
        choice = said[CHOICE_NAMES[0]]
        levels = {_plain(word): level for word, level in self.options.items()}
        level = levels.get(_plain(choice)) if isinstance(choice, str) else None
        if level is None:
            return Unscored(
                Why.OFF_SCALE,
                reply_messages.OFF_SCALE(
                    item=repr(item.key), score=repr(str(choice)[:40]), scale=", ".join(self.options)
                ),
            )
        return Verdict((chosen(item.key, level, replies.joined(said, self.texts)),))

    def correction(self, unscored: Unscored) -> Mapping[str, str]:
        return replies.ask_again(unscored)


def _plain(choice: str) -> str:
    """Return the choice without case, spaces, quotes and a leading 'text' or 'response'."""
    plain = "".join(choice.casefold().replace("_", " ").split()).strip("\"'`.*[]()")
    for word in ("response", "text"):
        plain = plain.removeprefix(word)
    return plain
