"""Versions of a judge: chosen on one part of the instructions, and shown to be better on another. PURE.

Instructions are split into training, validation and test. Whoever writes a version may read the training part, versions
are chosen on the validation part, and a look at the test part measures one version there. Look k is tested at the level
.05/2^k, so that the looks together claim a gain that is none with a probability of at most .05, however many follow.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.agreement import BesideBaseline
from calibration.statistics.judges.estimates import SIGNIFICANT, PeopleEstimate
from calibration.statistics.resampling import MIN_CLUSTERS

Part: TypeAlias = Literal["training", "validation", "test"]
Parts: TypeAlias = Mapping[Part, Sequence[int]]
Shares: TypeAlias = tuple[float, float, float]
"""The shares of the three parts, in the order of PARTS; they add up to 1."""
Claim: TypeAlias = Literal["better", "worse", "not_shown"]

PARTS: tuple[Part, Part, Part] = ("training", "validation", "test")
USUAL_SHARES: Shares = (0.3, 0.3, 0.4)
LEAST: Mapping[Part, int] = {"training": 10, "validation": MIN_CLUSTERS, "test": MIN_CLUSTERS}
"""The fewest instructions of each part; an interval needs MIN_CLUSTERS."""
SMALLEST_SHARE = 0.05
ROUNDING = 1e-6


def level_of_look(number: int) -> float:
    """The level of look `number`, from 1 up: .05/2^number, which add up to .05. Raises ValueError under 1."""
    if number < 1:
        raise ValueError("Looks are counted from 1.")
    return SIGNIFICANT / 2.0**number


def usable_shares(shares: Sequence[float]) -> Shares | None:
    """The shares of the three parts; None unless there are three, each at least SMALLEST_SHARE, that add up to 1."""
    if len(shares) != len(PARTS) or not all(SMALLEST_SHARE <= share < 1 for share in shares):
        return None
    first, second, third = map(float, shares)
    return (first, second, third) if abs(first + second + third - 1) < ROUNDING else None


def sizes_of(n: int, shares: Shares) -> tuple[int, int, int]:
    """How many of `n` instructions each part gets: by the largest remainder, of equal ones the later part first."""
    exact = np.asarray(shares) * n
    whole = np.floor(exact + ROUNDING).astype(np.int64)
    rest = np.round(exact - whole, 6)
    for place in sorted(range(len(PARTS)), key=lambda place: (rest[place], place), reverse=True)[: n - whole.sum()]:
        whole[place] += 1
    return int(whole[0]), int(whole[1]), int(whole[2])


def instructions_needed(shares: Shares = USUAL_SHARES, kept: Parts | None = None) -> int:
    """The fewest instructions from which on every part has at least LEAST of them; the number includes those `kept`."""
    given = {part: len((kept or {}).get(part, ())) for part in PARTS}
    least = [max(0, LEAST[part] - given[part]) for part in PARTS]
    n = max(int(np.ceil(few / share)) for few, share in zip(least, shares, strict=True)) + 1
    while n > sum(least) and all(size >= few for size, few in zip(sizes_of(n - 1, shares), least, strict=True)):
        n -= 1
    return sum(given.values()) + n


def split(
    instructions: Collection[int], *, shares: Shares = USUAL_SHARES, seed: int = 0, kept: Parts | None = None
) -> dict[Part, list[int]]:
    """Put each instruction, named by a number, into one part, at random by the seed; the order given does not matter.

    Those that `kept` names stay in the part that it gives them, the others are split by the shares. Raises TooFewRatings,
    with the number needed, where a part would have fewer than LEAST instructions.
    """
    given = set(instructions)
    found: dict[Part, list[int]] = {part: sorted(given & set((kept or {}).get(part, ()))) for part in PARTS}
    stay = {part: list(found[part]) for part in PARTS}
    rest = np.array(sorted(given.difference(*found.values())), dtype=np.int64)
    order = np.random.default_rng(seed).permutation(rest)
    start = 0
    for part, size in zip(PARTS, sizes_of(len(rest), shares), strict=True):
        found[part] = sorted([*found[part], *order[start : start + size].tolist()])
        start += size
    if any(len(found[part]) < LEAST[part] for part in PARTS):
        raise TooFewRatings(len(given), instructions_needed(shares, stay), "instructions that two people rated")
    return found


def chosen_on_validation(found: Sequence[BesideBaseline | None]) -> int | None:
    """The place of the version that gains most over the baseline on the validation part, the first of several.

    None where no version gains anything there, or has been measured.
    """
    gains = [(one.gain.value, -place) for place, one in enumerate(found) if one is not None and one.gain.value > 0]
    return -max(gains)[1] if gains else None


def claim_of(gain: PeopleEstimate, level: float) -> Claim:
    """What a look at this level may say of the gain on the test part; nothing without an interval of 1 - level."""
    if gain.p is None or gain.p > level or gain.interval_kind != "crossed95":
        return "not_shown"
    return "better" if gain.value > 0 else "worse"
