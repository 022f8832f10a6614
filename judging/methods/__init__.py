"""The ways a judge is asked, by name. Each is a module with the same functions. PURE."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from judging.methods.pairs import five as pair_of_five, four as pair_of_four, three as pair_of_three
from judging.methods.parsing import Unscored, Verdict
from judging.methods.prompts import Item, Question
from judging.methods.single import (
    checklist,
    graded_score,
    instruction_check,
    overall,
    overall_with_checklist,
    stars,
)


class Method(Protocol):
    """KEY names it, TEMPLATE is its stock prompt's file, TASK_KIND the kind of task it can judge."""

    @property
    def KEY(self) -> str: ...

    @property
    def TEMPLATE(self) -> str: ...

    @property
    def TASK_KIND(self) -> str: ...

    def messages(self, template: str, question: Question, *, with_schema: bool) -> list[dict[str, str]]: ...

    def schema(self, items: Sequence[Item]) -> dict[str, Any]: ...

    def answer_tokens(self, items: Sequence[Item]) -> int: ...

    def parse(self, text: str, items: Sequence[Item], finish_reason: str) -> Verdict | Unscored: ...

    def correction(self, unscored: Unscored) -> Mapping[str, str]: ...


METHODS: Mapping[str, Method] = {
    checklist.KEY: checklist,
    overall.METHOD.KEY: overall.METHOD,
    overall_with_checklist.METHOD.KEY: overall_with_checklist.METHOD,
    stars.SUBJECTIVE.KEY: stars.SUBJECTIVE,
    stars.OBJECTIVE.KEY: stars.OBJECTIVE,
    pair_of_three.PLAIN.KEY: pair_of_three.PLAIN,
    pair_of_three.WITH_REFERENCE.KEY: pair_of_three.WITH_REFERENCE,
    pair_of_four.METHOD.KEY: pair_of_four.METHOD,
    pair_of_five.METHOD.KEY: pair_of_five.METHOD,
    graded_score.METHOD.KEY: graded_score.METHOD,
    instruction_check.KEY: instruction_check,
}


class UnknownMethod(LookupError):
    """No method has this name."""


def method_named(key: str) -> Method:
    if key not in METHODS:
        raise UnknownMethod(f"There is no judging method {key!r}; there are: {', '.join(METHODS)}.")
    return METHODS[key]
