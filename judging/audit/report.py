"""What an audit finds: frozen dataclasses that a command, a page or another program reads. PURE."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ValueKind: TypeAlias = Literal["numbers", "labels", "pairs"]
CheckKind: TypeAlias = Literal[
    "agreement", "severity", "position", "order", "length", "format", "family", "drift", "copy", "swaps"
]
Population: TypeAlias = Literal["such", "these"]


@dataclass(frozen=True)
class ColumnChoice:
    """The columns (or, in a table of one rating a row, the raters) that were taken for a role, and why."""

    role: str
    columns: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Ends:
    """The ends of a 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True)
class AuditEstimate:
    """A value with its intervals for raters like these and for exactly these; `why` says why the first is missing."""

    value: float
    such: Ends | None
    these: Ends | None
    why: str


@dataclass(frozen=True)
class Needed:
    """Items with which a difference of `target` is shown with 80 % power, 95 % interval `low` to `high`; None: no number."""

    target: float
    items: int | None
    low: int
    high: int


@dataclass(frozen=True)
class Check:
    """One test of one judge. `effect` is 0 without bias, in points of the values' own scale; p values are two-sided.

    `population` says which interval p inverts; `detectable` is the smallest effect for which p is below 5 % with 80 % power.
    A `finding` is significant at 5 % after Holm's correction over all checks of the audit. `about` names the person of a
    copy, else "".
    """

    judge: str
    kind: CheckKind
    effect: AuditEstimate
    population: Population
    p: float
    corrected: float
    finding: bool
    detectable: float
    items: int
    needed: Needed | None
    about: str = ""


@dataclass(frozen=True)
class PeopleAgreement:
    """A judge's agreement with people and theirs among themselves, on the same `tasks`, and the difference of both."""

    judge: str
    measure: Literal["share", "correlation"]
    value: AuditEstimate
    ceiling: AuditEstimate
    difference: AuditEstimate
    tasks: int


@dataclass(frozen=True)
class Repeats:
    """How often a judge gave the same answer to a task that it was given again; without ends under 20 items."""

    judge: str
    swapped: bool
    same: float
    ends: Ends | None
    n: int


@dataclass(frozen=True)
class AuditReport:
    """The whole audit of one file; `cannot_say` holds messages, the other texts are codes, names and columns."""

    file: str
    rows: int
    items: int
    kind: ValueKind
    choices: tuple[ColumnChoice, ...]
    people: tuple[str, ...]
    judges: tuple[str, ...]
    unreadable: int
    bad_rows: tuple[str, ...]
    alpha: AuditEstimate | None
    agreement: tuple[PeopleAgreement, ...]
    checks: tuple[Check, ...]
    repeats: tuple[Repeats, ...]
    cannot_say: tuple[str, ...]

    @property
    def findings(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.finding)
