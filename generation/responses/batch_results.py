"""What came back of batches: how much, and whether the run brings nothing that can be used."""

from dataclasses import astuple, dataclass

from generation.execution.work_queue import UNUSABLE_IN_A_ROW
from generation.llm.protocol.messages import NONE_USABLE


@dataclass(frozen=True)
class Advance:
    """What one call of `advance` did."""

    submitted: int = 0
    ingested: int = 0
    failed: int = 0
    open_batches: int = 0

    def __add__(self, other: "Advance") -> "Advance":
        return Advance(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class UnusableResults:
    """Results of one look that had no text or were errors, in a row and in the order in which they are stored.

    `why` says, once there were UNUSABLE_IN_A_ROW, that the run stops; it is the sentence of a run whose calls are sent one
    by one.
    """

    in_a_row: int = 0
    why: str = ""

    def count(self, problem: str) -> None:
        """Count a result; `problem` is '' for one that can be used."""
        self.in_a_row = self.in_a_row + 1 if problem else 0
        if self.in_a_row >= UNUSABLE_IN_A_ROW and not self.why:
            self.why = NONE_USABLE(n=self.in_a_row, reason=problem)
