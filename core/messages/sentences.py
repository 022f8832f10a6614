"""Sentences that are English in logs, commands and rows, and can be said again in a reader's language. PURE.

`worded`, `Wording` and `marked` mark their text for translation; tests/translations.py extracts it. What is raised carries
its template and values along. What is stored is plain English and is read back by the `Wording` it was made of, so
that old rows and new ones are shown alike.
"""

import re
from typing import Self

HOLE = re.compile(r"%%|%\((\w+)\)s")
LITERAL = re.compile(r"%\(\w+\)s")
LONGEST_READ = 20_000
"""Characters of a stored text that is read back; a longer one is shown as it is stored."""


class Sentence(str):
    """English text that remembers the `msgid` it was made of and the `values` in it, which may be sentences, too."""

    msgid: str
    values: dict[str, object]

    def __new__(cls, msgid: str, values: dict[str, object] | None = None) -> Self:
        made = super().__new__(cls, msgid % (values or {}))
        made.msgid, made.values = msgid, values or {}
        return made

    def __getnewargs__(self) -> tuple[str, dict[str, object]]:  # type: ignore[override]
        """So that a copy, or one from another process, remembers as much."""
        return self.msgid, self.values


def worded(msgid: str, /, **values: object) -> Sentence:
    """The sentence for an error; `msgid` is written as a literal, with %(name)s where a value goes."""
    return Sentence(msgid, values)


def marked(msgid: str) -> str:
    """The text as it is, marked for translation where it is shown."""
    return msgid


class Wording:
    """The template of a sentence that is stored, kept in a constant so that what was stored is recognised.

    `shapes` are regular expressions that a value must match, where it could be mistaken for somebody's own words.
    """

    known: dict[str, "Wording"] = {}

    def __init__(self, msgid: str, /, **shapes: str) -> None:
        self.msgid = msgid
        self.letters = len(HOLE.sub("", msgid))
        self._pieces = [re.sub("%%", "%", piece) for piece in LITERAL.split(msgid)]
        self._shape = re.compile(_shape_of(msgid, shapes), re.DOTALL)
        Wording.known[msgid] = self

    def __call__(self, **values: object) -> Sentence:
        return Sentence(self.msgid, values)

    def read(self, text: str) -> Sentence | None:
        """The sentence that this text is, None where it was made of something else."""
        if not self._may_be(text):
            return None
        found = self._shape.fullmatch(text)
        return None if found is None else Sentence(self.msgid, dict(found.groupdict()))

    def _may_be(self, text: str) -> bool:
        """Whether the wording's own pieces stand in the text in their order: without them the shape is not tried.

        The shape alone would look for each of its values at every place, and for the next from each of these.
        """
        first, last = self._pieces[0], self._pieces[-1]
        if not (text.startswith(first) and text.endswith(last)):
            return False
        place = len(first)
        for piece in self._pieces[1:-1]:
            place = text.find(piece, place)
            if place < 0:
                return False
            place += len(piece)
        return True


def read_back(text: str) -> Sentence | None:
    """The sentence that a stored text is, of the wordings that fit the one with the most letters of its own."""
    if len(text) > LONGEST_READ:
        return None
    found = [(wording.letters, read) for wording in Wording.known.values() if (read := wording.read(text))]
    return max(found, key=lambda one: one[0])[1] if found else None


def _shape_of(msgid: str, shapes: dict[str, str]) -> str:
    """A regular expression with a group for each value."""
    parts, place = [], 0
    for hole in HOLE.finditer(msgid):
        parts.append(re.escape(msgid[place : hole.start()]))
        name, place = hole[1], hole.end()
        parts.append(f"(?P<{name}>{shapes.get(name, '.*?')})" if name else "%")
    return "".join([*parts, re.escape(msgid[place:])])
