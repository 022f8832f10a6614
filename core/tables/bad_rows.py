"""Errors in rows of an input file, with their place. PURE."""

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import UserError
from core.tables import messages


class BadRow(UserError):
    """An error in a file, as one message that says where it is, what is wrong and what to do.

    `reason` and `remedy` are messages where a page can show them in its reader's language, else English text.
    `line` counts lines, or rows of a Parquet file, from 1; 0 stands for the whole file.
    """

    def __init__(self, file: str, line: int, reason: str, remedy: str) -> None:
        self.file, self.line, self.reason, self.remedy = file, line, reason, remedy
        super().__init__(file, line, reason, remedy)

    def __str__(self) -> str:
        said = {"file": self.file, "reason": self.reason, "remedy": self.remedy}
        return messages.BAD_ROW(line=self.line, **said) if self.line else messages.BAD_FILE(**said)


OnBadRow = Callable[[BadRow], None]


def refuse(problem: BadRow) -> None:
    """Raise the problem, so that reading stops at the first bad row."""
    raise problem


@dataclass(frozen=True, slots=True)
class Place:
    """The file and line of a record; `line` is 0 for the whole file."""

    file: str
    line: int

    def bad(self, reason: str, remedy: str) -> BadRow:
        return BadRow(self.file, self.line, reason, remedy)
