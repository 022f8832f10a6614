"""What the readers of outside files hand on: plain records, each naming the file and line it came from."""

from dataclasses import dataclass

from core.tables.bad_rows import Place

MAIN, LONG_CONTEXT = "main", "long_context"


@dataclass(frozen=True, slots=True)
class PromptParts:
    """What a prompt was put together from, as its source gave it."""

    task: str
    data: str = ""
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstructionRecord:
    """A prompt. `category` is the key its source uses, `parent` that of the category above, if known.

    `history` is what stands before the text in a conversation, as (role, content) from its beginning. `parts` say what
    the text was put together from, where it was. `rubric` is the key of the benchmark's rubric by which its responses
    are rated; empty where the nearest one is. `prefill` is the first line of the answer, given to the model.
    `checklist` are questions about this instruction alone, and `overall` is the scale of an overall score that its own
    rubric has, such as 1:10. `asked_by` is the id of the user who asked, and `difficulty` ratings from 1, very easy, to
    5, very hard.
    """

    place: Place
    external_id: str
    text: str | None
    category: str = ""
    parent: str = ""
    words_asked: int | None = None
    history: tuple[tuple[str, str], ...] = ()
    parts: PromptParts | None = None
    reference: str = ""
    hint: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()
    rubric: str = ""
    prefill: str = ""
    checklist: tuple[str, ...] = ()
    overall: str = ""
    asked_by: str = ""
    difficulty: tuple[int, ...] = ()

    @property
    def messages(self) -> list[dict[str, str]] | None:
        """The whole chat, which ends with the assistant's words where an answer is prefilled; None if no text is known."""
        if self.text is None:
            return None
        turns = (*self.history, ("user", self.text), *([("assistant", self.prefill)] if self.prefill else []))
        return [{"role": role, "content": content} for role, content in turns]


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """A model's answer to the instruction it names; `instruction` says what was asked, should it be unknown.

    `tokens` are those written; what its source does not say is empty or None. `item` is the response's own name where it
    has one beside its instruction's.
    """

    place: Place
    instruction: InstructionRecord
    model: str
    text: str | None
    sample: int = 0
    finish_reason: str = ""
    input_tokens: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    item: str = ""


@dataclass(frozen=True, slots=True)
class RatingRecord:
    """One rater's value for one criterion of one item; `value` as written, empty where none was given.

    `instruction` is what the item belongs to, empty where the item stands for itself. `variant` tells a
    judge's prompts or settings apart. A `position` names the criterion by its place in the checklist. `rater_kind`
    is onsite, crowd or public, empty where unknown. `hint` says whether the rater saw the instruction's hint. `left_out`
    says why the answer does not count; empty where it does. With `is_key` it is the correct answer.
    """

    place: Place
    item: str
    rater: str
    is_judge: bool
    criterion: str
    value: str
    instruction: str = ""
    model: str = ""
    category: str = ""
    variant: str = ""
    order: int | None = None
    seconds: float | None = None
    reason: str = ""
    position: int | None = None
    rater_kind: str = ""
    hint: bool | None = None
    left_out: str = ""
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class PreferenceRecord:
    """One rater's choice between two responses to one item: A, B, tie, both_bad, or empty where none.

    `strength` is how much better the chosen one is: 2 much, 1 slightly, None where the source does not grade.
    `reason` is what the rater wrote; `rater_kind`, `hint`, `left_out` and `is_key` as in RatingRecord.
    """

    place: Place
    item: str
    model_a: str
    model_b: str
    rater: str
    is_judge: bool
    choice: str
    instruction: str = ""
    category: str = ""
    variant: str = ""
    shown_first: str = ""
    order: int | None = None
    seconds: float | None = None
    rater_kind: str = ""
    hint: bool | None = None
    strength: int | None = None
    reason: str = ""
    left_out: str = ""
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """A judge's score for the checklist item at `position`, counted from 0."""

    position: int
    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """A judge's scores for a response's whole checklist; where unusable, no items and the reason why."""

    response: ResponseRecord
    items: tuple[ItemVerdict, ...]
    unusable: str = ""


@dataclass(frozen=True, slots=True)
class WeightRecord:
    """The published weights of one category, by checklist position."""

    place: Place
    category: str
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RubricRecord:
    """The checklist of one category as its source words it, by position."""

    place: Place
    category: str
    parent: str
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """A yes-or-no question about numbered parts of a long response, or about all of it where `numbers` is empty.

    `mark` is what a part is called, such as Week; `kind` is single, range, periodic or whole; `asked` is how many parts
    the instruction asks for, None if it does not say.
    """

    question: str
    numbers: tuple[int, ...] = ()
    mark: str = ""
    kind: str = "whole"
    asked: int | None = None
    question_zh: str = ""


@dataclass(frozen=True, slots=True)
class CheckSetRecord:
    """All checks of one instruction, named by its external id, in their order."""

    place: Place
    instruction: str
    checks: tuple[CheckRecord, ...]


@dataclass(frozen=True, slots=True)
class AggregateRecord:
    """What the authors counted of one model's outputs to all instructions with the tag `version`, as they published it.

    LongGenBench: `checks` were asked, `answered` of them in a part that is there, `fulfilled` with yes. `completion` is
    in percent, and `words` the mean of the outputs that they took as complete; None where they give none.
    """

    place: Place
    model: str
    version: str
    checks: int
    answered: int
    fulfilled: int
    completion: float | None
    words: float | None
