"""Sentences of the program in the language of whoever reads the page."""

import re

from django.utils.translation import gettext

from core.messages.sentences import LONGEST_READ, Sentence, read_back

NEXT_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
NEXT_IN_LIST = re.compile("; ")
DEEPEST = 4


def for_reader(said: object, *, depth: int = 0) -> str:
    """An error, a sentence, or the stored text of one or several. Words that are not the program's own stay as they are."""
    if isinstance(said, BaseException):
        said = said.args[0] if said.args and isinstance(said.args[0], Sentence) else str(said)
    found = [said] if isinstance(said, Sentence) else _read(str(said), NEXT_SENTENCE)
    return " ".join(_in_words(sentence, depth) for sentence in found) if found else str(said)


def is_programs_own(text: str) -> bool:
    """Whether a stored text is made of sentences of this program, and not of an endpoint's words alone."""
    return bool(_read(text, NEXT_SENTENCE))


def _read(text: str, between: re.Pattern[str]) -> list[Sentence]:
    """The sentences that a text consists of, none where a part of it is something else."""
    parts = []
    for part in between.split(text) if len(text) <= LONGEST_READ else ():
        sentence = read_back(part)
        if sentence is None:
            break
        parts.append(sentence)
    else:
        return parts
    whole = read_back(text)
    return [] if whole is None else [whole]


def _in_words(sentence: Sentence, depth: int) -> str:
    values = {name: _value(value, depth) for name, value in sentence.values.items()}
    return gettext(sentence.msgid) % values


def _value(value: object, depth: int) -> object:
    """A value may itself be a sentence, or a list of them, DEEPEST times within one another."""
    if isinstance(value, Sentence):
        return _in_words(value, depth)
    if not isinstance(value, str) or depth >= DEEPEST:
        return value
    listed = _read(value, NEXT_IN_LIST)
    if len(listed) > 1:
        return gettext("; ").join(_in_words(sentence, depth + 1) for sentence in listed)
    return for_reader(value, depth=depth + 1)
