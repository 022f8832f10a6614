"""A bridge between two judges: hand calculations, coverage, refusals, and what must not change."""

import numpy as np
import pytest

from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.judges.bridge import anchors_for_width, bridge


def scored(rng, models=10, instructions=40, *, departs=0.0, noise=0.4):
    """New scores, old scores of all responses, and labels; model 0 departs from the others' line by `departs`."""
    ability = rng.normal(0, 1, models)
    model = np.repeat(np.arange(models), instructions)
    instruction = np.tile(np.arange(instructions), models)
    quality = ability[model] + rng.normal(0, 0.5, instructions)[instruction] + rng.normal(0, 0.7, model.size)
    new = quality + rng.normal(0, noise, model.size)
    old = 1.0 + 0.8 * quality + rng.normal(0, noise, model.size) + departs * (model == 0)
    return new, old, [f"m{one}" for one in model], instruction


def hidden(rng, old, model, share, without=()):
    seen = np.where(rng.random(old.size) < share, old, np.nan)
    seen[np.isin(np.array(model), list(without))] = np.nan
    return seen


def test_the_old_score_itself_gives_every_mean_exactly_and_the_line_is_the_identity():
    rng = np.random.default_rng(1)
    _, old, model, instruction = scored(rng)
    found = bridge(old, hidden(rng, old, model, 0.5), model, instruction, margin=0.1)
    assert found.slope == pytest.approx(1) and found.intercept == pytest.approx(0, abs=1e-9)
    assert found.equated_slope == pytest.approx(1) and found.correlation == pytest.approx(1)
    for mean in found.models:
        truth = old[np.array(model) == mean.model].mean()
        assert mean.value == pytest.approx(truth)
        assert mean.high - mean.low == pytest.approx(0, abs=1e-9)
    assert found.by_model.verdict == "holds"


def test_a_model_that_the_old_judge_scored_whole_keeps_its_own_mean():
    rng = np.random.default_rng(2)
    new, old, model, instruction = scored(rng)
    seen = hidden(rng, old, model, 0.4)
    whole = np.array(model) == "m3"
    seen[whole] = old[whole]
    found = next(mean for mean in bridge(new, seen, model, instruction, margin=0.1).models if mean.model == "m3")
    assert found.kind == "complete"
    assert found.value == found.low == found.high == pytest.approx(old[whole].mean())


def test_linear_equating_by_hand():
    """Anchors: new 1..20 (mean 10.5), old twice that plus 3: one sd is twice the other, and the means map on each other."""
    new = np.arange(1.0, 21.0)
    found = bridge(new, 2 * new + 3, ["a", "b"] * 10, np.arange(20), margin=1.0)
    assert (found.equated_slope, found.equated_intercept) == (pytest.approx(2), pytest.approx(3))


def test_intervals_of_models_with_anchors_hold_the_old_mean_nineteen_times_in_twenty():
    rng = np.random.default_rng(3)
    held = []
    for _ in range(60):
        new, old, model, instruction = scored(rng)
        seen = hidden(rng, old, model, 0.3)
        found = bridge(new, seen, model, instruction, margin=0.1)
        for mean in found.models:
            if mean.kind == "anchored":
                held.append(mean.low <= old[np.array(model) == mean.model].mean() <= mean.high)
    assert len(held) > 500
    assert 0.92 <= np.mean(held) <= 0.98


def test_a_model_that_departs_from_the_line_is_right_with_anchors_and_fails_the_test_of_invariance():
    rng = np.random.default_rng(4)
    new, old, model, instruction = scored(rng, instructions=100, departs=2.0)
    found = bridge(new, hidden(rng, old, model, 0.4), model, instruction, margin=0.5)
    own = found.models[0]
    assert own.kind == "anchored" and own.low <= old[np.array(model) == "m0"].mean() <= own.high
    assert found.by_model.verdict == "fails"
    assert found.between == pytest.approx(2 / 10**0.5, rel=0.4)


def test_a_model_without_anchors_is_carried_with_the_spread_between_models_or_refused():
    rng = np.random.default_rng(5)
    new, old, model, instruction = scored(rng)
    order = sorted(set(model), key=lambda one: new[np.array(model) == one].mean())
    middle, best = order[4], order[-1]
    carried = bridge(new, hidden(rng, old, model, 0.5, {middle}), model, instruction, margin=0.1)
    mean = next(one for one in carried.models if one.model == middle)
    assert mean.kind == "carried" and mean.n_anchors == 0
    assert mean.low <= old[np.array(model) == middle].mean() <= mean.high
    outside = bridge(new, hidden(rng, old, model, 0.5, {best}), model, instruction, margin=0.1)
    refused = next(one for one in outside.models if one.model == best)
    assert (refused.kind, refused.reason, refused.low) == ("not_stated", "outside_support", None)
    few = [row for row, one in enumerate(model) if one in order[:5] or one == best]
    seen = hidden(rng, old, model, 0.5, {best})
    labels = [model[row] for row in few]
    found = bridge(new[few], seen[few], labels, instruction[few], margin=0.1)
    assert next(one for one in found.models if one.model == best).reason == "few_models"
    assert found.between is None


def test_the_order_of_responses_and_of_labels_changes_nothing():
    rng = np.random.default_rng(6)
    new, old, model, instruction = scored(rng)
    seen = hidden(rng, old, model, 0.4)
    order = rng.permutation(new.size)
    one = bridge(new, seen, model, instruction, margin=0.1)
    other = bridge(new[order], seen[order], [model[row] for row in order], instruction[order], margin=0.1)
    assert other.slope == pytest.approx(one.slope)
    means = {mean.model: mean.value for mean in other.models}
    # The folds differ with the order of instructions, so corrected means agree nearly and not to the last digit.
    assert all(means[mean.model] == pytest.approx(mean.value, abs=0.05) for mean in one.models)


def test_few_anchors_one_score_and_categories_with_one_anchor():
    rng = np.random.default_rng(7)
    new, old, model, instruction = scored(rng)
    seen = np.full(old.size, np.nan)
    seen[:19] = old[:19]
    with pytest.raises(TooFewRatings, match="at least 20"):
        bridge(new, seen, model, instruction, margin=0.1)
    with pytest.raises(ConstantScores):
        bridge(np.ones(new.size), old, model, instruction, margin=0.1)
    with pytest.raises(NoStatistic, match="finite"):
        bridge(np.where(new > 1, np.nan, new), old, model, instruction, margin=0.1)
    category = ["rare" if row % 40 == 0 else "often" for row in range(new.size)]
    seen = hidden(rng, old, model, 0.4)
    found = bridge(new, seen, model, instruction, category, margin=0.1)
    assert all(mean.kind == "anchored" for mean in found.models)


def test_anchors_for_a_width_by_hand():
    """Spread 1, half width .5, 1,000 responses: t(.975, 17) sqrt((1 - .018)/18) = 2.110 x .2336 = .493, and 17 do not do."""
    assert anchors_for_width(1.0, 0.5, 1_000) == 18
    assert anchors_for_width(1.0, 0.001, 30) == 30
    assert anchors_for_width(0.0, 0.1, 100) == 5
    with pytest.raises(NoStatistic):
        anchors_for_width(1.0, 0.0, 100)
