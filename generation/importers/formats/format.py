"""What a format is: a name, a reader, and the fields by which a file of it is recognised. PURE."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from generation.importers.formats.source import Source
from generation.importers.records import InstructionRecord, PreferenceRecord, RatingRecord, ResponseRecord

Record: TypeAlias = InstructionRecord | ResponseRecord | RatingRecord | PreferenceRecord
ANSWERS, RESPONSES = "answers", "responses"
PROPORTION = {"*": "0:1"}
"""The scale of scores that lie between 0 and 1."""


@dataclass(frozen=True)
class Format:
    """A format of files of another tool.

    `holds` says whether files hold answers, which belong into a study, or responses alone, which belong into a benchmark.
    `signs` are sets of fields, one of which the first row of a file of the format has; `within` is where a file that is
    one object holds its rows. `scales` are the scales of its criteria where the user names none.
    """

    key: str
    name: str
    read: Callable[[Source], Iterator[Record]]
    signs: tuple[frozenset[str], ...] = ()
    holds: str = ANSWERS
    within: Sequence[str] = ()
    scales: Mapping[str, str] = field(default_factory=dict)
    fits: Callable[[Mapping[str, Any]], bool] | None = None
    """What else holds of the first row; `lacking` names a field without which it does not."""
    lacking: str = ""
    endings: tuple[str, ...] = ()
    """How the name of a field ends by which a row is recognised, where the names themselves are the users'."""
    is_archive: Callable[[Path], bool] | None = None
    """Whether a file that is no text is one of the format."""

    def sign_in(self, row: Mapping[str, Any]) -> frozenset[str]:
        """Return the fields by which the row is recognised as one of the format; empty where it is not."""
        if self.fits is not None and not self.fits(row):
            return frozenset()
        if self.endings:
            return frozenset([key for key in row if key.endswith(self.endings)][:1])
        return next((sign for sign in self.signs if sign <= row.keys()), frozenset())
