"""The values of a JSON array that is read in pieces, so that a large file is never in memory at once. PURE."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.tables import messages

LONGEST_TOKEN = 16
"""From this many characters before the end of what was read on, an error may only mean that more must be read."""
DELIMITERS = " \t\r\n,]"
NOT_SPACE = re.compile(r"[^ \t\r\n]")
NOT_DECODED = re.compile("[\udc80-\udcff]")
"""What a byte that is not UTF-8 becomes under the error handler surrogateescape."""


class BrokenArray(Exception):
    """The text is no JSON array from `line` on; nothing after it can be read."""

    def __init__(self, line: int, reason: str) -> None:
        self.line, self.reason = line, reason
        super().__init__(line, reason)


@dataclass(frozen=True, slots=True)
class Element:
    """A value of the array: its number from 1, the line where it begins, and whether all of its bytes were UTF-8."""

    number: int
    line: int
    value: object
    decoded: bool


class _Text:
    """The text that has been read and not used yet, and the line on which it begins."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self.text, self.at, self.line, self.ended = "", 0, 1, False

    def more(self) -> None:
        """Read on: at least as much as there is, so that a long value is not tried once for each piece."""
        kept = self.text[self.at :]
        pieces, size, wanted = [kept], 0, max(1, len(kept))
        while size < wanted:
            piece = next(self._pieces, None)
            if piece is None:
                self.ended = True
                break
            pieces.append(piece)
            size += len(piece)
        self.text, self.at = "".join(pieces), 0

    def skip_to(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def next_mark(self) -> str:
        """The next character that is no space, which is not used yet; '' at the end."""
        while True:
            found = NOT_SPACE.search(self.text, self.at)
            if found:
                self.skip_to(found.start())
                return found.group()
            self.skip_to(len(self.text))
            if self.ended:
                return ""
            self.more()


def array_elements(pieces: Iterable[str], longest: int) -> Iterator[Element]:
    """Yield the values of the array whose text comes in `pieces`. Raises BrokenArray.

    `longest` is the maximum number of characters of one value. Bytes that are not UTF-8 are expected to be decoded by
    the error handler surrogateescape.
    """
    text = _Text(pieces)
    yield from _elements(text, longest)
    if text.next_mark():
        raise BrokenArray(text.line, messages.TEXT_AFTER())


def elements_at(pieces: Iterable[str], path: Sequence[str], longest: int) -> Iterator[Element]:
    """Yield the values of the array at `path`, such as ("results", "results"), of the object whose text comes in `pieces`.

    What follows the array is not read. Raises BrokenArray, also where no such array is there.
    """
    text = _Text(pieces)
    for key in path:
        _enter(text, key, longest)
    yield from _elements(text, longest)


def member_at(pieces: Iterable[str], path: Sequence[str], longest: int) -> object:
    """Return the value at `path` of the object whose text comes in `pieces`. Raises BrokenArray, also where there is none.

    What follows the value is not read.
    """
    text = _Text(pieces)
    for key in path:
        _enter(text, key, longest)
    text.next_mark()
    return _value(text, 0, longest)[0]


def _enter(text: _Text, key: str, longest: int) -> None:
    """Go to the value of this key of the object that begins here."""
    if text.next_mark() != "{":
        raise BrokenArray(text.line, messages.NO_MEMBER(key=key))
    text.skip_to(text.at + 1)
    while (mark := text.next_mark()) not in ("", "}"):
        if mark == ",":
            text.skip_to(text.at + 1)
            continue
        name = _value(text, 0, longest)[0]
        if text.next_mark() != ":":
            break
        text.skip_to(text.at + 1)
        if name == key:
            return
        text.next_mark()
        _value(text, 0, longest)
    raise BrokenArray(text.line, messages.NO_MEMBER(key=key))


def _elements(text: _Text, longest: int) -> Iterator[Element]:
    if text.next_mark() != "[":
        raise BrokenArray(text.line, messages.NO_BRACKET())
    text.skip_to(text.at + 1)
    number = 0
    while (mark := text.next_mark()) != "]" or number:
        if not mark:
            raise BrokenArray(text.line, messages.ARRAY_OPEN())
        number += 1
        line = text.line
        value, decoded = _value(text, number, longest)
        yield Element(number, line, value, decoded)
        mark = text.next_mark()
        if mark not in (",", "]"):
            raise BrokenArray(text.line, messages.NO_COMMA(number=number))
        if mark == "]":
            break
        text.skip_to(text.at + 1)
    text.skip_to(text.at + 1)


def _value(text: _Text, number: int, longest: int) -> tuple[object, bool]:
    """Return the value that begins here, and whether all of its bytes were UTF-8, and go to its end."""
    decoder = json.JSONDecoder()
    while True:
        try:
            value, end = decoder.raw_decode(text.text, text.at)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos >= len(text.text) - LONGEST_TOKEN
            if text.ended or not cut:
                line = text.line + text.text.count("\n", text.at, error.pos)
                raise BrokenArray(line, messages.BAD_ELEMENT(number=number, words=error.msg)) from error
        except (RecursionError, ValueError) as error:
            raise BrokenArray(text.line, messages.NESTED_ELEMENT(number=number)) from error
        else:
            # A number may be cut after its point or exponent: 1 is read of "1." and of "1e+".
            left = text.text[end : end + LONGEST_TOKEN]
            if text.ended or (left and (left[0] in DELIMITERS or len(left) == LONGEST_TOKEN)):
                break
        if len(text.text) - text.at > longest:
            raise BrokenArray(text.line, messages.LONG_ELEMENT(number=number, most=f"{longest:,}"))
        text.more()
    decoded = NOT_DECODED.search(text.text, text.at, end) is None
    text.skip_to(end)
    return value, decoded
