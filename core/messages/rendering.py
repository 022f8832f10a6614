"""Messages of the program in the language of whoever reads the page."""

from typing import Any

from django.utils.translation import gettext, override

from core.messages.message import Message, Untranslated, Wording, stored_text


def render(message: Message, language: str | None = None) -> str:
    """The message in `language`, or in the active language unless one is given."""
    if language is None:
        return _rendered(message)
    with override(language):
        return _rendered(message)


def for_reader(said: object) -> str:
    """A message, or an error raised with one, in the active language. A text of others stays as it is."""
    text = str(said)
    return _rendered(text) if isinstance(text, Message) else text


def stored_for_reader(row: object, name: str) -> str:
    """A row's text in the active language if the column beside it holds a message, else as it is stored."""
    return for_reader(stored_text(row, name))


def _rendered(message: Message) -> str:
    wording = Wording.known[message.code]
    template, between = wording.msgid, wording.between
    if not isinstance(wording, Untranslated):
        template = gettext(template)
    if between.strip():
        between = gettext(between)
    return template % {name: _value(value, between) for name, value in message.params.items()}


def _value(value: Any, between: str) -> object:
    if isinstance(value, list):
        return between.join(str(_value(each, between)) for each in value)
    return _rendered(value) if isinstance(value, Message) else value
