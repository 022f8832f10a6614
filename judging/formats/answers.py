"""Tasks of a study and the answers to them, as the writers of other tools' formats take them. PURE."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

PERSON_KINDS = ("person", "slot")


@dataclass(frozen=True, slots=True)
class ExportedScore:
    """One criterion's value on its own scale from `low` to `high`; None where the criterion does not apply.

    `level` is the key of the level, empty on a scale without levels, and `labelled` says whether the levels are words.
    `overall` says whether the criterion is the overall score.
    """

    criterion: str
    value: float | None
    level: str = ""
    labelled: bool = False
    reason: str = ""
    low: float = 0.0
    high: float = 1.0
    overall: bool = False

    @property
    def written(self) -> str | float | int | None:
        """The label of a level that is a word, else the number."""
        if self.value is None:
            return None
        return self.level if self.labelled and self.level else number(self.value)


@dataclass(frozen=True, slots=True)
class ExportedAnswer:
    """A rater's answer. `choice` is a, b, tie or both_bad in a pair, referring to the task's own A and B; else empty."""

    rater: str
    rater_kind: str
    scores: tuple[ExportedScore, ...]
    repeat: int = 0
    seconds: float | None = None
    shown_first: str = ""
    submitted_at: str = ""
    choice: str = ""
    strength: int | None = None

    @property
    def is_judge(self) -> bool:
        return self.rater_kind == "judge"

    @property
    def is_person(self) -> bool:
        return self.rater_kind in PERSON_KINDS

    @property
    def reason(self) -> str:
        return "\n".join(dict.fromkeys(score.reason for score in self.scores if score.reason))


@dataclass(frozen=True, slots=True)
class ExportedResponse:
    """A response: its model, its own name, its number among the model's responses from 0, and its text, if known."""

    model: str
    item: str
    sample: int = 0
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ExportedTask:
    """What was rated: one response, or two; `messages` are what was asked, as (role, content)."""

    study: str
    key: str
    number: int
    instruction: str
    a: ExportedResponse
    b: ExportedResponse | None = None
    category: str = ""
    messages: tuple[tuple[str, str], ...] = ()
    reference: str = ""

    @property
    def prompt(self) -> str:
        """The text of a single message, or of all, each after its role."""
        if len(self.messages) == 1:
            return self.messages[0][1]
        return "\n\n".join(f"{role}: {content}" for role, content in self.messages)

    @property
    def turns(self) -> list[dict[str, str]]:
        return [{"role": role, "content": content} for role, content in self.messages]


Answered: TypeAlias = Iterable[tuple[ExportedTask, Sequence[ExportedAnswer]]]


@dataclass(frozen=True)
class WriteOptions:
    """What is written: the criterion and the judge where a format has room for one, and '' for the usual ones."""

    criterion: str = ""
    judge: str = ""


class Files(Protocol):
    """Where a writer writes: one file, or several with names of their own, in any order."""

    def write(self, text: str, name: str = "") -> None:
        """Add text to the file of this name; '' is the only file of a format that has one."""


def number(value: float) -> float | int:
    """Return a whole number as an int, so that it is written as 3 and not as 3.0."""
    return int(value) if value == int(value) else value


def votes(answers: Sequence[ExportedAnswer]) -> dict[str, int]:
    """Return how many people chose a, b, tie and both_bad."""
    counted = dict.fromkeys(("a", "b", "tie", "both_bad"), 0)
    for answer in answers:
        if answer.is_person and answer.choice in counted:
            counted[answer.choice] += 1
    return counted
