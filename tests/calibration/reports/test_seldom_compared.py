"""A model with a tenth of the others' comparisons is listed and not ranked, in every ranking from pairs."""

import numpy as np
import pytest

from calibration.data.played_games import PlayedGames
from calibration.reports.pair_rankings import _davidson, _elo, _points, _strength
from calibration.statistics.ranking.bradley_terry import bradley_terry_intervals
from calibration.statistics.ranking.comparisons import as_games
from calibration.statistics.ranking.coverage import Unranked, unranked_in
from calibration.web.rankings.page import _pairs_opening
from calibration.web.rankings.pairs import (
    _davidson as davidson_block,
    _elo as elo_block,
    _points as points_block,
    _strength as strength_block,
)

NAMES = {1: "good", 2: "fair", 3: "poor", 9: "seldom"}


def played(*, seldom):
    """Three models on 60 instructions; "seldom" wins all but one of its comparisons, on `seldom` instructions."""
    rows, random = [], np.random.default_rng(3)
    for instruction in range(60):
        for a, b in ((1, 2), (2, 3), (1, 3)):
            rows.append((a, b, random.choice([1.0, 1.0, 0.5, 0.0]), instruction))
        if instruction < seldom:
            rows.append((9, 1 + instruction % 3, float(instruction != 1), instruction))
    first, second, score, instruction = (np.array(column) for column in zip(*rows, strict=True))
    none = np.zeros(len(rows), dtype=np.int64)
    return PlayedGames(
        games=as_games(first, second, score, clusters=instruction),
        names=NAMES,
        known_side=none.astype(bool),
        first_chars=none,
        second_chars=none,
        known_length=none.astype(bool),
        category=none,
        category_names={},
        instruction=instruction,
    )


@pytest.fixture(scope="module")
def games():
    return played(seldom=6)


def test_the_rule_is_that_of_means(games):
    assert unranked_in(games.games) == {3: Unranked.FEW}
    assert unranked_in(played(seldom=40).games) == {}


def test_strength(games):
    found = _strength(games, draws=200, seed=0)
    strongest = max(found.models, key=lambda row: row.strength)
    assert strongest.model == found.models[-1].model == "seldom"
    assert [(row.rank, row.not_ranked) for row in found.models] == [(1, ""), (2, ""), (3, ""), (None, "few")]
    assert found.models[-1].clusters == 6
    assert all(1 <= row.rank_low <= row.rank <= row.rank_high <= 3 for row in found.models[:3])
    first, second = found.models[:2]
    lead = found.differences[0]
    assert (lead.first, lead.second) == ("good", "fair") and lead.value == pytest.approx(
        first.strength - second.strength
    )
    opening = _pairs_opening(found, "instructions")
    assert "good" in opening and "seldom" not in opening
    block = strength_block(found, "instructions")
    assert block.table.rows[-1][-1] == "few" and block.table.rows[-1][7:10] == [None, None, None]
    assert any("fewer than half of the median number" in note and "seldom (6)" in note for note in block.notes)


def test_where_all_are_ranked_nobody_is_left_out():
    compared = played(seldom=40)
    found, plain = _strength(compared, draws=200, seed=0), bradley_terry_intervals(compared.games, draws=200, seed=0)
    expected = dict(zip((NAMES[pk] for pk in (1, 2, 3, 9)), plain.fit.rank.tolist(), strict=True))
    assert {row.model: row.rank for row in found.models} == expected and len(found.differences) == 6
    assert all(row.rank_low <= row.rank <= row.rank_high for row in found.models)
    notes = strength_block(found, "instructions").notes
    assert found.models[0].model == "seldom" and not any("without a rank" in note for note in notes)


def test_elo_points_and_davidson(games):
    elo = _elo(games, seed=0)
    assert elo.models[-1].model == "seldom" and elo.models[-1].rating > elo.models[1].rating
    assert [row.rank for row in elo.models] == [1, 2, 3, 0]
    assert max(row.rank_high for row in elo.models) == 3
    assert elo_block(elo, _strength(games, 100, 0)).table.rows[-1][2] is None
    points = _points(games, games.games, 100, 0)
    assert sorted(points.rank_per_game.tolist()) == [0, 1, 2, 3]
    row = points_block(points, None, "instructions").table.rows[-1]
    assert (row[0], row[2], row[-1]) == ("seldom", None, None)
    row = davidson_block(_davidson(games, 100, 0), None).table.rows[-1]
    assert row[0] == "seldom" and row[-1] is None
