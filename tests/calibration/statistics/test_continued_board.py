"""The leaderboard that continues over a bridge: whose mean a model keeps, and how far its interval and its places hold."""

import numpy as np
import pytest

from calibration.statistics.judges.bridge import bridge, continued

MODELS, INSTRUCTIONS = 10, 40
OLD, NEW = range(5), range(5, 10)
"""Models that the old judge scored whole and the new one in part, and models that the new judge scored whole; the last of
them has no anchors."""


def drawn(rng, ability):
    """Scores of instructions drawn anew; the expected old score of a model is 1 + 0.8 times its ability."""
    model = np.repeat(np.arange(MODELS), INSTRUCTIONS)
    instruction = np.tile(np.arange(INSTRUCTIONS), MODELS)
    quality = ability[model] + rng.normal(0, 0.4, INSTRUCTIONS)[instruction] + rng.normal(0, 0.5, model.size)
    new = quality + rng.normal(0, 0.3, model.size)
    old = 1.0 + 0.8 * quality + rng.normal(0, 0.3, model.size)
    anchor = rng.random(model.size) < 0.5
    old[np.isin(model, list(NEW)) & ~(anchor & (model < MODELS - 1))] = np.nan
    new[np.isin(model, list(OLD)) & ~anchor] = np.nan
    return new, old, model, instruction


def board_of(new, old, model, instruction):
    names = np.array([f"m{one}" for one in model])
    known, scored = ~np.isnan(new), ~np.isnan(old)
    found = bridge(new[known], old[known], names[known], instruction[known], margin=0.2)
    return found, {one.model: one for one in continued(found, old[scored], names[scored], instruction[scored])}


def test_every_model_stands_on_the_old_scale_by_its_own_scores_or_over_the_bridge():
    rng = np.random.default_rng(5)
    new, old, model, instruction = drawn(rng, np.array([*np.linspace(-1, 1, MODELS - 1), 0.0]))
    found, board = board_of(new, old, model, instruction)
    assert len(board) == MODELS
    assert {board[f"m{one}"].kind for one in OLD} == {"old"}
    assert {board[f"m{one}"].kind for one in range(5, 9)} == {"anchored"} and board["m9"].kind == "carried"
    for one in OLD:
        assert board[f"m{one}"].value == pytest.approx(old[model == one].mean())
        assert board[f"m{one}"].n == INSTRUCTIONS and 0 < board[f"m{one}"].n_both < INSTRUCTIONS
    for mean in found.models:
        if mean.kind in ("anchored", "carried"):
            row = board[mean.model]
            assert row.value == mean.value and row.high - row.low > mean.high - mean.low
    placed = list(board.values())
    assert [one.value for one in placed] == sorted((one.value for one in placed), reverse=True)
    assert all(1 <= one.first <= place <= one.last <= MODELS for place, one in enumerate(placed, start=1))


def test_the_interval_of_a_mean_by_hand_where_the_old_judge_scored_everything():
    """20 instructions, one response each: values 0 and 1 by turns, mean .5, sum of squares 5, variance 20/19 x 5/400."""
    old = np.tile([0.0, 1.0], 20)
    new = old + np.linspace(0, 0.1, 40)
    names, instruction = np.repeat(["a", "b"], 20), np.tile(np.arange(20), 2)
    found = bridge(new, old, names, instruction, margin=0.2)
    board = continued(found, old, names, instruction)
    reach = 2.093024 * (20 / 19 * 5 / 400) ** 0.5  # t at 19 degrees of freedom
    for one in board:
        assert (one.kind, one.low, one.high) == ("old", pytest.approx(0.5 - reach), pytest.approx(0.5 + reach))
        assert (one.first, one.last) == (1, 2)


def test_few_instructions_have_no_interval_and_few_responses_no_place():
    rng = np.random.default_rng(6)
    new, old, model, instruction = drawn(rng, rng.normal(0, 1, MODELS))
    few = (model == 0) & (instruction >= 19)
    new, old, model, instruction = (one[~few] for one in (new, old, model, instruction))
    _found, board = board_of(new, old, model, instruction)
    row = board["m0"]
    assert (row.low, row.reason, row.first) == (None, "few_instructions", None) and list(board)[-1] == "m0"
    assert max(one.last for one in board.values() if one.last) == MODELS - 1


def test_intervals_hold_the_expected_mean_and_places_the_true_place_nineteen_times_in_twenty():
    rng = np.random.default_rng(7)
    held = {"old": [], "anchored": [], "carried": []}
    places = []
    for _ in range(150):
        ability = rng.normal(0, 0.5, MODELS)
        truth = 1 + 0.8 * ability
        _found, board = board_of(*drawn(rng, ability))
        stated = [one for one in range(MODELS) if board[f"m{one}"].low is not None]
        right = []
        for one in stated:
            row = board[f"m{one}"]
            held[row.kind].append(row.low <= truth[one] <= row.high)
            right.append(row.first <= 1 + (truth[stated] > truth[one]).sum() <= row.last)
        places.append(all(right))
    # At 95 %: standard errors of .008 (old), .009 (anchored) and .018 (carried).
    assert all(len(values) > 100 for values in held.values())
    assert {kind: np.mean(values) > 0.92 for kind, values in held.items()} == dict.fromkeys(held, True), {
        kind: np.mean(values) for kind, values in held.items()
    }
    assert np.mean(places) > 0.93
