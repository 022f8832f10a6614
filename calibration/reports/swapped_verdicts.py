"""Pairs of a study that one rater judged twice, with the sides swapped."""

import numpy as np

from annotation.models import Study, Task
from calibration.data.circumstances import circumstances
from calibration.data.frames import ROLES, Bools, Floats, Ints
from calibration.data.scores import score_frame
from calibration.statistics.judges.bias import SwapAgreement, swap_agreement
from calibration.statistics.report_reasons import NeverSwapped


def swap_part(study: Study, judge: int | None, draws: int, seed: int) -> SwapAgreement:
    """Compute swap agreement of a judge (its rater's pk) or of people, over each (rater, task) seen in both orders.

    Of several answers in one order, the first counts. Raises NeverSwapped if nobody saw a pair in both orders.
    """
    frame = score_frame(
        kinds=[Task.Kind.PAIR],
        study=study,
        people=judge is None,
        judges=judge is not None,
        raters=None if judge is None else [judge],
        keep_derived=False,
        repeats=True,
    )
    own = frame.select((frame.role == ROLES.index("preference")) & frame.applicable)
    around = circumstances(study)
    side = around.first[around.rows(own.assignment)] if len(own) else np.zeros(0, dtype=np.int64)
    points = (1 + np.sign(own.value)) / 2
    first, once = _earliest(own.rater, own.task, own.criterion, own.repeat, side == 1)
    second, again = _earliest(own.rater, own.task, own.criterion, own.repeat, side == 2)
    _, left, right = np.intersect1d(first, second, return_indices=True)
    if not left.size:
        raise NeverSwapped("No pair was shown to the same rater from both sides.")
    return swap_agreement(
        _points(points, once[left]),
        1 - _points(points, again[right]),
        clusters=own.instruction[once[left]],
        draws=draws,
        seed=seed,
    )


def _points(points: Floats, places: Ints) -> Floats:
    return np.asarray(points[places], dtype=np.float64)


def _earliest(rater: Ints, task: Ints, criterion: Ints, repeat: Ints, mask: Bools) -> tuple[Ints, Ints]:
    """Return a sorted key for each (rater, task, criterion) in `mask`, and the index of its earliest answer."""
    places = np.flatnonzero(mask)
    if not places.size:
        return np.zeros(0, dtype=np.int64), places
    places = places[np.argsort(repeat[places], kind="stable")]
    width = int(criterion.max()) + 1
    key = (rater[places] * (int(task.max()) + 1) + task[places]) * width + criterion[places]
    keys, at = np.unique(key, return_index=True)
    return keys, places[at]
