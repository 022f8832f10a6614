"""Words are looked for in what an instruction says, kept beside it in small letters: alike on every database."""

from collections.abc import Collection

from django.db.models import Q

from core.text import storable
from generation.models import Instruction, InstructionText


def note_texts(instructions: Collection[Instruction]) -> None:
    """To be called wherever the messages of instructions are stored, in the same transaction."""
    said = {one.pk: folded("\n".join(_contents(one))) for one in instructions}
    InstructionText.objects.bulk_create(
        [InstructionText(instruction_id=pk, text=text) for pk, text in said.items() if text],
        update_conflicts=True,
        unique_fields=["instruction"],
        update_fields=["text"],
    )
    silent = [pk for pk, text in said.items() if not text]
    if silent:
        InstructionText.objects.filter(pk__in=silent).delete()


def saying(words: str) -> Q:
    """Of instructions: those with these words in a message or in their id; small and large letters are the same."""
    return Q(external_id__icontains=words) | Q(folded__text__contains=folded(words))


def folded(text: str) -> str:
    return storable(text).casefold()


def _contents(instruction: Instruction) -> list[str]:
    """What is not text was never checked by a loader or a form; it is passed over."""
    messages = instruction.messages if isinstance(instruction.messages, list) else []
    contents = [one.get("content") for one in messages if isinstance(one, dict)]
    return [one for one in contents if isinstance(one, str)]
