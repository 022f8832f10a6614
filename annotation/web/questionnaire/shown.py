"""The questions of a questionnaire as a page shows them, with what is entered and what is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from annotation.questionnaires.questions import LONGEST_ANSWER, AskedQuestion, plain_number
from core.messages.localized import localized

PREFIX = "a-"


@dataclass(frozen=True)
class ShownOption:
    value: str
    text: str
    chosen: bool


@dataclass(frozen=True)
class ShownQuestion:
    """A question with its entries; `problem` says in one sentence why they were not taken."""

    question: AskedQuestion
    entered: Sequence[str] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        return PREFIX + self.question.key

    @property
    def text(self) -> str:
        return localized(self.question.texts)

    @property
    def value(self) -> str:
        return self.entered[0] if self.entered else ""

    @property
    def options(self) -> list[ShownOption]:
        """The options of a choice, or the points of a scale."""
        question = self.question
        shown = [(one.key, localized(one.texts)) for one in question.options] + [(str(n),) * 2 for n in question.steps]
        return [ShownOption(value, text, value in self.entered) for value, text in shown]

    @property
    def ends(self) -> tuple[str, str]:
        return localized(self.question.low_label), localized(self.question.high_label)

    @property
    def bounds(self) -> tuple[str, str]:
        low, high = self.question.minimum, self.question.maximum
        return "" if low is None else plain_number(low), "" if high is None else plain_number(high)

    @property
    def longest(self) -> int:
        return LONGEST_ANSWER.get(self.question.kind, 0)


def given_in(data: QueryDict) -> dict[str, list[str]]:
    """What a form sent, by the key of the question."""
    return {name.removeprefix(PREFIX): data.getlist(name) for name in data if name.startswith(PREFIX)}


def shown_questions(
    questions: Sequence[AskedQuestion],
    given: Mapping[str, Sequence[str]] | None = None,
    problems: Mapping[str, str] | None = None,
) -> list[ShownQuestion]:
    given, problems = given or {}, problems or {}
    return [ShownQuestion(one, given.get(one.key, ()), problems.get(one.key, "")) for one in questions]
