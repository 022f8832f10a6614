"""The numbered sub-tasks of a long response, and those that an instruction is checked in.

PURE. A sub-task begins with a line such as "Week 12:", "#*# Floor 34", "## Day 3" or "第12周". Source: LongGenBench
(arXiv 2409.02076), sections 2.1 to 2.4.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.errors import UserError

LARGEST_NUMBER = 100_000
MOST_NUMBERS = 5_000
MOST_LISTED = 10 * MOST_NUMBERS
"""Numbers that a list may name, including repeated ones."""
NUMBER = r"\d{1,9}"
"""A longer row of digits is not the number of a part."""
_FINISHED = re.compile(r"finished\b", re.IGNORECASE)
_NO_WORD = re.compile(r"\W*")
_MARKS = re.compile(r"[\s#*_>\-–—=]*")
_SPACE = re.compile(r"\s+")
_JOIN = re.compile(r" ?([-–—~至到/]) ?")
_PIECE = re.compile(rf"({NUMBER})(?:[-–—~至到]({NUMBER}))?(?:/({NUMBER}))?")


class UnreadableNumbers(UserError):
    """The text is not a list of sub-task numbers; the message is the part that cannot be read."""


@dataclass(frozen=True)
class Part:
    """One sub-task: its number and its position in the response, in code points."""

    number: int
    start: int
    end: int


def _named(mark: str) -> re.Pattern[str]:
    """Return the pattern of a part's name and number, wherever it stands."""
    word, number = re.escape(mark.strip()), f"({NUMBER})"
    if mark.isascii():
        return re.compile(rf"(?:menu\s+)?{word}\s*(?:no\.?\s*|#\s*)?{number}\b", re.IGNORECASE)
    return re.compile(rf"第\s*{number}\s*{word}", re.IGNORECASE)


def _line_start(text: str, start: int, end: int, before: re.Pattern[str]) -> int | None:
    """Return the first line start from which only text that `before` matches stands until `end`, or None.

    Each character is read once; searching forwards from every line would read long runs of marks again and again.
    """
    run = before.match(text[start:end][::-1])
    first = end - (run.end() if run else 0)
    if first == 0 or text[first - 1] == "\n":
        return first
    line = text.find("\n", first, end)
    return None if line < 0 else line + 1


def _openings(text: str, mark: str, end: int) -> list[tuple[int, int]]:
    """Return (number, start of its first line) for every part that begins before `end`."""
    found = []
    read = 0
    for named in _named(mark).finditer(text, 0, end):
        start = _line_start(text, read, named.start(), _MARKS)
        if start is not None:
            found.append((int(named.group(1)), start))
        read = named.end()
    return found


def _end(text: str) -> int:
    """Return the offset of a line "*** finished", or the length of the text if there is none."""
    read = 0
    for finished in _FINISHED.finditer(text):
        start = _line_start(text, read, finished.start(), _NO_WORD)
        if start is not None and "***" in text[start : finished.start()]:
            return start
        read = finished.end()
    return len(text)


def subtasks_in(text: str, mark: str) -> dict[int, Part]:
    """Return the sub-tasks in the text by number; `mark` is their name ("Week", "Floor", "周").

    Each ends where the next begins or at a line "*** finished". If a number occurs twice, the longer part counts, so
    that a table of contents hides nothing.
    """
    end = _end(text)
    openings = _openings(text, mark, end)
    found: dict[int, Part] = {}
    for place, (number, start) in enumerate(openings):
        stop = openings[place + 1][1] if place + 1 < len(openings) else end
        first, last = start + _space(text[start:stop]), start + len(text[start:stop].rstrip())
        known = found.get(number)
        if known is None or last - first > known.end - known.start:
            found[number] = Part(number, first, last)
    return dict(sorted(found.items()))


def _space(text: str) -> int:
    return len(text) - len(text.lstrip())


def read_numbers(written: str) -> list[int]:
    """Return the sub-task numbers of a text such as "19, 23-25, 13-52/5" (every fifth from 13), each once and sorted.

    Raises UnreadableNumbers.
    """
    numbers: set[int] = set()
    listed = 0
    for piece in re.split(r"[,;，；、\s]+", _JOIN.sub(r"\1", _SPACE.sub(" ", written.strip()))):
        if not piece:
            continue
        read = _PIECE.fullmatch(piece)
        if read is None:
            raise UnreadableNumbers(piece)
        first = int(read.group(1))
        last = int(read.group(2) or first)
        step = int(read.group(3) or 1)
        if not (0 < first <= last <= LARGEST_NUMBER and step):
            raise UnreadableNumbers(piece)
        listed += len(range(first, last + 1, step))
        if listed > MOST_LISTED:
            raise UnreadableNumbers(piece)
        numbers.update(range(first, last + 1, step))
        if len(numbers) > MOST_NUMBERS:
            raise UnreadableNumbers(piece)
    return sorted(numbers)


def write_numbers(numbers: Iterable[int]) -> str:
    """Return the numbers in the shortest form that read_numbers reads: runs, evenly spaced rows, and single numbers."""
    rest, pieces = sorted(set(numbers)), []
    while rest:
        run = _row(rest)
        first, last = run[0], run[-1]
        step = run[1] - first if len(run) > 1 else 1
        if len(run) == 1:
            pieces.append(str(first))
        else:
            pieces.append(f"{first}-{last}" + (f"/{step}" if step > 1 else ""))
        rest = rest[len(run) :]
    return ", ".join(pieces)


def _row(numbers: Sequence[int]) -> Sequence[int]:
    """Return the evenly spaced numbers at the start of `numbers`: at least three if they are apart, otherwise one."""
    if len(numbers) < 2:
        return numbers[:1]
    step, count = numbers[1] - numbers[0], 2
    while count < len(numbers) and numbers[count] - numbers[count - 1] == step:
        count += 1
    return numbers[:count] if count > 2 or step == 1 else numbers[:1]


def kind_of(numbers: Sequence[int]) -> str:
    """Return LongGenBench's term: single (apart), range (consecutive), periodic (evenly spaced); whole without numbers."""
    if not numbers:
        return "whole"
    row = _row(numbers)
    if len(numbers) == 1 or len(row) < len(numbers):
        return "single"
    return "range" if numbers[1] - numbers[0] == 1 else "periodic"
