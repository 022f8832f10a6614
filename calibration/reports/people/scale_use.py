"""How raters use the scale: their correlation with the others' consensus, and how far they differ in severity."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibration.data.frames import ScoreFrame
from calibration.reports.codec import Missing, part
from calibration.reports.people.populations import or_none
from calibration.statistics.errors import Undefined
from calibration.statistics.raters.severity_spread import SeveritySpread, severity_spread
from calibration.statistics.raters.standing import Standing, standings

WORTH = 0.05
"""The difference in severity that a study should be able to show, as a share of the scale."""


@dataclass(frozen=True)
class NamedStanding:
    """A rater's Standing; the numbers are None where `unstated` says why there are none."""

    rater: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    instructions: int
    verdict: str
    unstated: str


@dataclass(frozen=True)
class ScaleUse:
    """Every rater's standing, the lowest correlation first and those without one last."""

    raters: list[NamedStanding]


def scale_use_part(frame: ScoreFrame, names: Mapping[int, str], slots: set[int]) -> ScaleUse:
    """Compute the standing of every person. Raises Undefined."""
    if slots and set(np.unique(frame.rater).tolist()) <= slots:
        raise Undefined("OnlySlots", "The raters are positions in a data set.")
    found = standings(frame.value, items=frame.task, raters=frame.rater, instructions=frame.instruction)
    rows = [_row(names[int(str(pk))], one) for pk, one in found.items() if int(str(pk)) not in slots]
    return ScaleUse(sorted(rows, key=lambda row: (row.value is None, row.value or 0.0, row.rater)))


def spread_part(frame: ScoreFrame) -> SeveritySpread | Missing:
    """Test whether raters differ in severity, or say why this cannot be told."""
    if not len(frame):
        return part(lambda: severity_spread(np.zeros(0), items=[], raters=[], clusters=[], worth=1.0))
    worth = WORTH * float(frame.high.max() - frame.low.min())
    return part(
        lambda: severity_spread(
            frame.value, items=frame.task, raters=frame.rater, clusters=frame.instruction, worth=worth
        )
    )


def _row(name: str, one: Standing) -> NamedStanding:
    return NamedStanding(
        name,
        or_none(one.value),
        or_none(one.low),
        or_none(one.high),
        or_none(one.p),
        one.n,
        one.instructions,
        one.verdict,
        one.unstated,
    )
