"""In a board's standings of pairs, a model with a tenth of the others' instructions is listed last, without a rank."""

import numpy as np

from calibration.statistics.ranking.coverage import Unranked
from judging.leaderboards.observations import Observations
from judging.leaderboards.sections import standings
from judging.web.leaderboards.messages import notes_on_unranked

NAMES = {1: "good", 2: "poor", 9: "seldom"}


def observed(seldom):
    """Pairs of responses, each from both sides, on 60 instructions; "seldom" always wins, on `seldom` of them."""
    rows = []
    for instruction in range(1, 61):
        pairs = [(1, 2, 1.0 if instruction % 4 else 0.0)]
        if instruction <= seldom:
            pairs += [(9, 1, 1.0), (9, 2, 1.0)]
        for a, b, top in pairs:
            for one, other, points in ((a, b, top), (b, a, 1 - top)):
                rows.append(
                    (100 * instruction + one, 100 * instruction + other, instruction, 1, 0, one, other, points, 1.0)
                )
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Observations(*columns)


def test_it_comes_last_and_has_no_rank():
    observations = observed(seldom=6)
    rows = standings(observations, observations, NAMES).rows
    assert [row.model for row in rows] == ["good", "poor", "seldom"]
    assert rows[2].per_comparison == 1.0 > rows[0].per_comparison
    assert [row.rank for row in rows] == [1, 2, None]
    assert [row.not_ranked for row in rows] == [None, None, Unranked.FEW]
    (note,) = notes_on_unranked({row.model: (row.not_ranked, row.instructions) for row in rows})
    assert "fewer than half of the median number of instructions" in note and note.endswith("seldom (6).")


def test_with_enough_of_them_it_leads():
    observations = observed(seldom=40)
    rows = standings(observations, observations, NAMES).rows
    assert [row.model for row in rows] == ["seldom", "good", "poor"]
    assert all(row.not_ranked is None and row.rank is not None for row in rows)
