"""Messages of the program as a code and parameters: English where they are logged, rendered again for a reader. PURE.

`Wording` and `marked` mark their text for translation; tests/translations.py extracts it. A message is raised and passed
on as English text that remembers its code and parameters. A database stores the text in one column and `to_json` of it
in the column beside, which has the same name and the ending _json.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self

from core.text import storable

DEEPEST = 8
"""Levels of messages within one another that are read from a database."""
ENDING = "_json"


def marked(msgid: str) -> str:
    """The text as it is, marked for translation where it is shown."""
    return msgid


LISTED = marked("; ")
"""Stands between the entries of a list."""


class Message(str):
    """Immutable English text with the `code` of its wording and the `params` in it.

    A parameter is plain, a message, or a list of these; anything else becomes its text. str() of a message, or of an
    error raised with one, is the message itself, so that the code is not lost on the way; slices and joins are plain.
    """

    code: str
    params: Mapping[str, Any]

    def __new__(cls, code: str, params: Mapping[str, Any] | None = None) -> Self:
        """Raise KeyError if no wording has this code, or if one of its parameters is missing."""
        values = {name: _param(value) for name, value in (params or {}).items()}
        message = super().__new__(cls, Wording.known[code].filled(values))
        message.__dict__.update(code=code, params=MappingProxyType(values))
        return message

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a message is immutable: {name}")

    def __str__(self) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies, and messages from another process, keep the code and the parameters."""
        return type(self), (self.code, dict(self.params))


def _param(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_param(each) for each in value]
    return value if isinstance(value, str | int | float) else str(value)


class Wording:
    """The English template of all messages with one code; `%(name)s` stands for a parameter.

    Kept in a constant of a module, because only messages of known codes are read from a database. `between` stands
    between the entries of a list.
    """

    known: ClassVar[dict[str, "Wording"]] = {}

    code: str
    msgid: str
    between: str

    def __init__(self, code: str, msgid: str, /, *, between: str = LISTED) -> None:
        if code in Wording.known and Wording.known[code].msgid != msgid:
            raise ValueError(f"two wordings have the code {code}")
        self.code, self.msgid, self.between = code, msgid, between
        Wording.known[code] = self

    def __call__(self, **params: object) -> Message:
        return Message(self.code, params)

    def filled(self, params: Mapping[str, Any]) -> str:
        """The English text with these parameters."""
        return self.msgid % {
            name: self.between.join(str(each) for each in value) if isinstance(value, list) else value
            for name, value in params.items()
        }


class Untranslated(Wording):
    """A template without words of its own, which is the same in every language and therefore not translated."""


SENTENCES = Untranslated("sentences", "%(parts)s", between=" ")


def sentences(parts: Iterable[str]) -> str:
    """Several messages, or texts of others, as one; a single one stays as it is."""
    found = list(parts)
    return found[0] if len(found) == 1 else SENTENCES(parts=found) if found else ""


def to_json(text: str, longest: int | None = None) -> dict[str, Any] | None:
    """What a JSON column holds of a message, its texts cut to `longest` characters; None for any other text."""
    if not isinstance(text, Message):
        return None
    return {"code": text.code, "params": {name: _dumped(value, longest) for name, value in text.params.items()}}


def _dumped(value: Any, longest: int | None) -> Any:
    if isinstance(value, Message):
        return to_json(value, longest)
    if isinstance(value, list):
        return [_dumped(each, longest) for each in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return storable(value)[:longest] if isinstance(value, str) else value


def from_json(data: object) -> Message | None:
    """The message that a JSON column holds; None for whatever is no message of a known code with its parameters."""
    message = _loaded(data, DEEPEST) if isinstance(data, dict) else None
    return message if isinstance(message, Message) else None


def as_value(text: str) -> str | dict[str, Any]:
    """What a JSON file holds of a text: a message with its code, its parameters and its English; any other as it is."""
    data = to_json(text)
    return text if data is None else {**data, "text": str(text)}


def from_value(value: object) -> str:
    """The text that `as_value` wrote: a message if its code is known here, else the English."""
    if isinstance(value, dict):
        message = from_json(value)
        return str(value.get("text", "")) if message is None else message
    return str(value)


def _loaded(data: object, deepest: int) -> object:
    """A message, a parameter, or None where the data is neither."""
    if isinstance(data, str | int | float):
        return data
    if deepest == 0 or not isinstance(data, list | dict):
        return None
    if isinstance(data, list):
        entries = [_loaded(entry, deepest - 1) for entry in data]
        return None if None in entries else entries
    code, params = data.get("code"), data.get("params")
    if not isinstance(code, str) or code not in Wording.known or not isinstance(params, dict):
        return None
    values = {name: _loaded(value, deepest - 1) for name, value in params.items()}
    try:
        return None if None in values.values() else Message(code, values)
    except KeyError:
        return None


def cut(text: str, longest: int) -> str:
    """The text, or its beginning where it is longer; a message that is short enough stays one."""
    return text if len(text) <= longest else text[:longest]


def stored(name: str, text: str, longest: int | None = None) -> dict[str, Any]:
    """The values of a text column, at most `longest` characters, and of the JSON column beside it."""
    return {name: storable(text)[:longest], name + ENDING: to_json(text, longest)}


def stored_text(row: object, name: str) -> str:
    """The message in the JSON column beside a row's text column, or else the text as it is stored."""
    message = from_json(getattr(row, name + ENDING))
    return getattr(row, name) if message is None else message
