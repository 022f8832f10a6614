"""What a judge may be given beside the texts: a hint, a human reference, a guideline, a checklist. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import UserError
from judging.methods import messages as reply_messages
from judging.methods.parsing import Unscored, Why
from judging.methods.prompts import Item, Question, marker, transcript

NONE = "(none)"


@dataclass(frozen=True)
class GuidedQuestion(Question):
    """A question with its guidance; '' and () if there is none.

    For a pair, `responses` holds the text shown first (called A in the prompt) before the other (B). `guides` are the
    checklist's items, which are shown but not answered. `guideline` is the raters' guideline, word for word.
    """

    hint: str = ""
    reference: str = ""
    guideline: str = ""
    guides: tuple[Item, ...] = ()


def guided(question: Question) -> GuidedQuestion:
    """Return the same question as a guided one, without guidance if it has none."""
    if isinstance(question, GuidedQuestion):
        return question
    return GuidedQuestion(question.conversation, question.responses, question.items)


def what_lacks(question: Question, parts: Sequence[str], responses: int) -> Unscored | None:
    """Say why the question cannot be asked: fewer texts than `responses`, or one of `parts` (field names) is empty."""
    whole = guided(question)
    if len(whole.responses) != responses:
        return Unscored(Why.NO_TEXT, reply_messages.OTHER_NUMBER_OF_TEXTS(n=len(whole.responses), wanted=responses))
    names = {
        "hint": reply_messages.NO_HINT(),
        "reference": reply_messages.NO_REFERENCE(),
        "guideline": reply_messages.NO_GUIDELINE(),
        "guides": reply_messages.NO_GUIDES(),
    }
    for part in parts:
        if not getattr(whole, part):
            return Unscored(Why.NO_TEXT, names[part])
    return None


def require(question: Question, parts: Sequence[str], responses: int) -> GuidedQuestion:
    """Return the complete question. Raises UserError."""
    lack = what_lacks(question, parts, responses)
    if lack is not None:
        raise UserError(reply_messages.CANNOT_BE_ASKED(lack=lack.detail))
    return guided(question)


def guidance_fields(question: GuidedQuestion) -> dict[str, str]:
    """Return the placeholders of the conversation and the guidance, each text between lines that it does not contain."""
    conversation = transcript(question.conversation)
    hint, reference = question.hint.strip() or NONE, question.reference.strip() or NONE
    return {
        "conversation_mark": marker("conversation", conversation),
        "conversation": conversation,
        "hint_mark": marker("hint", hint),
        "hint": hint,
        "reference_mark": marker("reference", reference),
        "reference": reference,
        "guideline": question.guideline.strip() or NONE,
        "checklist": "\n".join(f"{n}. {item.question}" for n, item in enumerate(question.guides, 1)) or NONE,
    }
