"""A printed table of a paper beside our recomputation, cell by cell, each with a status and a reason."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from accounts.models import Workspace


class Status(StrEnum):
    EQUAL = "equal"
    MISPRINT = "misprint"
    DIFFERS = "differs"
    NOT_COMPUTABLE = "not computable"


@dataclass(frozen=True)
class Cell:
    """One printed figure and ours. `printed` is None for a dash; `reason` is empty for an equal cell only.

    `digits` are the decimals printed, `judges` the names of the judges on whose verdicts our figure rests.
    """

    row: str
    column: str
    printed: float | None
    recomputed: float | None
    status: Status
    reason: str = ""
    digits: int = 2
    judges: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperTable:
    """A table or figure that a paper printed. `number` is the paper's, such as "2" or "figure 3".

    `titles` map language codes to its title, and `source` names authors, paper and number. `compute` gives every
    printed cell, in the paper's order, from what the workspace holds; where that lacks something, the cell is not
    computable and its reason says what to load.
    """

    benchmark: str
    number: str
    titles: Mapping[str, str]
    source: str
    compute: Callable[[Workspace], Sequence[Cell]]


def compared(
    row: str,
    column: str,
    printed: float | None,
    recomputed: float | None,
    *,
    digits: int,
    missing: str = "",
    misprint: str = "",
    reason: str = "",
    judges: Iterable[str] = (),
) -> Cell:
    """Compare a printed figure with ours: equal where ours rounds to it, in either direction at a half.

    `missing` says what a figure that cannot be computed lacks, `misprint` why the printed one cannot be right,
    `reason` why ours differs; `judges` are those on whose verdicts ours rests.
    """
    if recomputed is None:
        status, why = Status.NOT_COMPUTABLE, missing
    elif printed is not None and abs(recomputed - printed) <= 0.5 * 10.0**-digits + 1e-9:
        status, why = Status.EQUAL, ""
    elif misprint:
        status, why = Status.MISPRINT, misprint
    else:
        status, why = Status.DIFFERS, reason
    named = () if recomputed is None else tuple(dict.fromkeys(judges))
    return Cell(row, column, printed, recomputed, status, why, digits, named)
