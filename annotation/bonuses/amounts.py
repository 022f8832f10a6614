"""Amounts of bonuses: those that a lead writes, and the rules that count what a rater did. PURE.

Money is in whole minor units (cents, pence). Nothing here is a float.
"""

import csv
import re
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from itertools import islice

AMOUNT = re.compile(r"(-?)([0-9]{1,7})(?:\.([0-9]{1,2}))?")
MOST_LINES = 2_000
LONGEST_NAME = 100
AMOUNT_COLUMN = "amount"
NAME_COLUMNS = ("rater", "participant_id", "platform_id", "submission_id")
"""Headings of the list to approve or reject and of Prolific's own export, of which the first that is there counts."""


@dataclass(frozen=True)
class GivenAmount:
    """One line of a lead's list: who (the name of a rater, or an id of Prolific's), and the amount as it was written.

    `minor` is None where the amount is no amount; `minor` of a negative one is negative.
    """

    line: int
    name: str
    written: str
    minor: int | None


def minor_units(text: str) -> int | None:
    """Return an amount such as "12", "1.5" or "-0.25" in minor units, or None for whatever else."""
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        return None
    minor = int(match[2]) * 100 + int((match[3] or "").ljust(2, "0"))
    return -minor if match[1] else minor


def major(minor: int) -> Decimal:
    """Return an amount of minor units in major units, with two decimals."""
    return Decimal(minor).scaleb(-2)


def given_amounts(text: str) -> list[GivenAmount]:
    """Read "R1,1.50", one rater to a line, separated by a comma, a semicolon, a tab or spaces; a heading may come first.

    At most MOST_LINES + 1 lines are returned, so that a caller sees that there are more. A line with more or fewer than
    two cells has no amount; with a heading that names the columns, a line has as many as the heading.
    """
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = next((one for one in ("\t", ";", ",") if one in first), None)
    if separator is None:
        lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    else:
        lines = _cells(text, separator)
    rows = iter(
        [(number, [cell.strip() for cell in row]) for number, row in lines if any(cell.strip() for cell in row)]
    )
    who, what, width = 0, 1, 2
    found: list[GivenAmount] = []
    for place, (number, row) in enumerate(islice(rows, MOST_LINES + 2)):
        if place == 0 and (columns := _columns(row)) is not None:
            who, what, width = *columns, len(row)
            continue
        fits = len(row) == width
        written = row[what] if fits else " ".join(row[1:])
        name = row[who] if fits else row[0]
        found.append(GivenAmount(number, name[:LONGEST_NAME], written[:40], minor_units(written) if fits else None))
    return found[: MOST_LINES + 1]


def _cells(text: str, separator: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(StringIO(text), delimiter=separator, strict=True)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error:  # a quotation mark is never closed, or a cell is endless
        return [(number, line.split(separator)) for number, line in enumerate(text.splitlines(), 1)]


def _columns(row: list[str]) -> tuple[int, int] | None:
    """The places of the name and the amount where the row is a heading."""
    names = [cell.lower().replace(" ", "_") for cell in row]
    if AMOUNT_COLUMN not in names:
        return None
    who = next((names.index(name) for name in NAME_COLUMNS if name in names), None)
    return None if who is None else (who, names.index(AMOUNT_COLUMN))


def for_answers(counted: int, above: int, each_minor: int) -> int:
    """What a rater gets for each counted answer beyond the first `above`."""
    return max(0, counted - above) * each_minor


def for_owed(owed: Decimal, paid_minor: int) -> int:
    """What is owed (major units, to the cent) beyond what was paid; never negative."""
    return max(0, int(owed.scaleb(2)) - paid_minor)


def for_checks(answered: int, failed: int, *, fewest: int, percent: int, amount_minor: int) -> int:
    """The amount for a rater who answered at least `fewest` checks and passed at least `percent` percent of them."""
    if answered < max(1, fewest) or 100 * (answered - failed) < percent * answered:
        return 0
    return amount_minor
