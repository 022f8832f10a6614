"""What is wrong with a row of an outside file, and where it stands. PURE."""

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import UserError


class BadRow(UserError):
    """An error in a file, as one message: where it is, what is wrong and what to do about it.

    `line` counts from 1 (a Parquet file's rows do too) and is 0 where the file as a whole is meant.
    """

    def __init__(self, file: str, line: int, reason: str, remedy: str) -> None:
        self.file, self.line, self.reason, self.remedy = file, line, reason, remedy
        super().__init__(file, line, reason, remedy)

    def __str__(self) -> str:
        place = f"{self.file} line {self.line}" if self.line else self.file
        return f"{place}: {self.reason}; {self.remedy}."


OnBadRow = Callable[[BadRow], None]


def refuse(problem: BadRow) -> None:
    """The strict way with a bad row: stop there."""
    raise problem


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands."""

    file: str
    line: int

    def bad(self, reason: str, remedy: str) -> BadRow:
        return BadRow(self.file, self.line, reason, remedy)
