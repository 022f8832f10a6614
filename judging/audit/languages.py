"""Messages in English or Chinese without Django: from the compiled catalogues of the project. PURE."""

import gettext
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from core.messages.message import Message, Untranslated, Wording

CATALOGUES = Path(__file__).resolve().parents[2] / "locale"
FOLDERS = {"en": "", "zh-hans": "zh_Hans"}


def language_of(given: str, environment: Mapping[str, str]) -> str:
    """The language asked for, else the one that the shell's LC_ALL, LC_MESSAGES or LANG names; English otherwise."""
    if given:
        return given
    words = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    return "zh-hans" if words.lower().startswith("zh") else "en"


def visible(text: str) -> str:
    """The text with U+FFFD for what cannot be seen but changes how a terminal or page shows the rest."""
    return "".join("\ufffd" if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter for letter in text)


class Language:
    """Texts in the language of this code ("en" or "zh-hans")."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._catalogue: gettext.NullTranslations = gettext.NullTranslations()
        if folder := FOLDERS[code]:
            with (CATALOGUES / folder / "LC_MESSAGES" / "django.mo").open("rb") as file:
                self._catalogue = gettext.GNUTranslations(file)

    def text(self, said: object) -> str:
        """A message in this language; any other text as it is."""
        if not isinstance(said, Message):
            return str(said)
        wording = Wording.known[said.code]
        template, between = wording.msgid, wording.between
        if not isinstance(wording, Untranslated):
            template = self._catalogue.gettext(template)
        if between.strip():
            between = self._catalogue.gettext(between)
        return template % {name: self._value(value, between) for name, value in said.params.items()}

    def _value(self, value: object, between: str) -> object:
        if isinstance(value, list):
            return between.join(str(self._value(each, between)) for each in value)
        return self.text(value) if isinstance(value, Message) else value
