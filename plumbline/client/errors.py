"""The one error of the client."""

from collections.abc import Mapping, Sequence
from typing import Any


class PlumblineError(Exception):
    """What the server refused, in its own sentence, or why there is no answer of it.

    `status` is the HTTP status, None where no answer came. `row_errors` lists the rows that were not stored, each with its
    number from 1 as `row`, a `reason` and a `remedy`.
    """

    def __init__(
        self, sentence: str, *, status: int | None = None, row_errors: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(sentence)
        self.sentence, self.status, self.row_errors = sentence, status, tuple(row_errors)

    def __str__(self) -> str:
        """Return the sentence, and of rows that were refused the first three."""
        rows = [f"row {one['row']}: {one['reason']} {one['remedy']}".strip() for one in self.row_errors[:3]]
        return " ".join([self.sentence, *rows])
