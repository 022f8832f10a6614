"""Sentences of the program in the language of whoever reads the page."""

import re

from django.utils.translation import gettext

from accounts.sentences import Sentence, read_back

NEXT_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
NEXT_IN_LIST = re.compile("; ")


def for_reader(said: object) -> str:
    """An error, a sentence, or the stored text of one or several. Words that are not the program's own stay as they are."""
    if isinstance(said, BaseException):
        said = said.args[0] if said.args and isinstance(said.args[0], Sentence) else str(said)
    found = [said] if isinstance(said, Sentence) else _read(str(said), NEXT_SENTENCE)
    return " ".join(map(_in_words, found)) if found else str(said)


def is_programs_own(text: str) -> bool:
    """Whether a stored text is made of sentences of this program, and not of an endpoint's words alone."""
    return bool(_read(text, NEXT_SENTENCE))


def _read(text: str, between: re.Pattern[str]) -> list[Sentence]:
    """The sentences that a text consists of, none where a part of it is something else."""
    parts = [read_back(part) for part in between.split(text)]
    if None in parts:
        parts = [read_back(text)]
    return [part for part in parts if part is not None]


def _in_words(sentence: Sentence) -> str:
    return gettext(sentence.msgid) % {name: _value(value) for name, value in sentence.values.items()}


def _value(value: object) -> object:
    """A value may itself be a sentence, or a list of them."""
    if isinstance(value, Sentence):
        return _in_words(value)
    if not isinstance(value, str):
        return value
    listed = _read(value, NEXT_IN_LIST)
    return gettext("; ").join(map(_in_words, listed)) if len(listed) > 1 else for_reader(value)
