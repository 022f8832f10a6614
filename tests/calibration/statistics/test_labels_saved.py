"""What a judge or a panel saves: one weight for all pairs, the ceiling, and predictions that never saw their own labels."""

import numpy as np
import pytest

from calibration.statistics.design.stacking import stacked_panel
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.prediction_powered import (
    ModelScores,
    labels_saved,
    prediction_powered_difference,
    shared_power,
)

N, LABELLED, MODELS = 200, 40, 6


def scores(rng, quality=0.7):
    """People's and a judge's scores (N, models), and the ModelScores with the first 40 instructions labelled."""
    people = rng.normal(size=(N, MODELS))
    judge = quality * people + np.sqrt(1 - quality**2) * rng.normal(size=(N, MODELS))
    some, rest = np.arange(LABELLED), np.arange(LABELLED, N)
    return (
        people,
        judge,
        [ModelScores(people[some, m], judge[some, m], some, judge[rest, m], rest) for m in range(MODELS)],
    )


def test_the_shared_power_is_that_of_least_summed_variance():
    people, judge, models = scores(np.random.default_rng(0))
    found = shared_power(models)

    def summed(power):
        total = 0.0
        for one in range(MODELS):
            for other in range(one):
                human = people[:LABELLED, one] - people[:LABELLED, other]
                own, rest = (judge[:, one] - judge[:, other])[:LABELLED], (judge[:, one] - judge[:, other])[LABELLED:]
                total += (human - power * own).var() / LABELLED + power**2 * rest.var() / (N - LABELLED)
        return total

    grid = np.linspace(0, 1, 2001)
    assert found.power == pytest.approx(grid[np.argmin([summed(power) for power in grid])], abs=1e-3)
    assert set(found.without) == set(range(LABELLED)) and all(
        abs(x - found.power) < 0.1 for x in found.without.values()
    )


def test_a_judge_without_relation_saves_nothing():
    _people, _judge, models = scores(np.random.default_rng(1), quality=0.0)
    shared = shared_power(models)
    assert shared.power < 0.1
    found = prediction_powered_difference(models[0], models[1], shared=shared)
    assert found.powered.error == pytest.approx(found.human_only.error, rel=0.03)
    assert labels_saved(models[0], models[1], found).saved < 0.06


def test_what_is_saved_and_the_most_that_can_be():
    people, judge, models = scores(np.random.default_rng(2))
    found = prediction_powered_difference(models[0], models[1], shared=shared_power(models))
    saved = labels_saved(models[0], models[1], found)
    rho = np.corrcoef((people[:, 0] - people[:, 1])[:LABELLED], (judge[:, 0] - judge[:, 1])[:LABELLED])[0, 1]
    assert saved.rho.value == pytest.approx(rho) and saved.rho.population == "these"
    assert (saved.n, saved.pool) == (LABELLED, N) and saved.most == pytest.approx(rho**2 * (1 - LABELLED / N))
    assert saved.saved == pytest.approx(1 - (found.powered.error / found.human_only.error) ** 2)
    assert 0.6 * saved.most < saved.saved < 1.2 * saved.most


def test_a_shared_power_saves_more_than_own_ones_of_few_labels():
    own, together = [], []
    for seed in range(12):
        _people, _judge, models = scores(np.random.default_rng(seed))
        shared = shared_power(models)
        for place in range(1, MODELS):
            for found, kept in (
                (prediction_powered_difference(models[0], models[place]), own),
                (prediction_powered_difference(models[0], models[place], shared=shared), together),
            ):
                kept.append(1 - (found.powered.error / found.human_only.error) ** 2)
    assert np.mean(together) > np.mean(own) + 0.002


def test_a_panel_weighs_its_judges_and_never_sees_the_labels_that_it_predicts():
    rng = np.random.default_rng(3)
    people = rng.normal(size=(60, MODELS))
    judges = np.array([people + rng.normal(size=people.shape), people + rng.normal(size=people.shape), -people])
    panel = stacked_panel(people[:40], judges[:, :40], judges[:, 40:])
    assert panel.weights[0] == pytest.approx(0.33, abs=0.08) and panel.weights[2] == pytest.approx(0, abs=0.01)
    assert panel.others == pytest.approx(np.tensordot(panel.weights, judges[:, 40:], 1))
    # Labels that are noise are predicted as badly as they must be, with as many judges as one likes.
    noise = rng.normal(size=(40, MODELS))
    many = rng.normal(size=(30, 40, MODELS))
    fitted = stacked_panel(noise, many, many[:, :0]).labelled
    assert abs(np.corrcoef(fitted.ravel(), noise.ravel())[0, 1]) < 0.2
    single = stacked_panel(people[:40], judges[:, :40], judges[:, 40:], single=True)
    assert sorted(single.weights.tolist())[-1] > 0.3 and single.weights.sum() == pytest.approx(1)
    with pytest.raises(TooFewRatings):
        stacked_panel(people[:6], judges[:, :6], judges[:, 6:])
