"""The gain of a panel of judges over the best of them: by hand, against stacked_panel, and as properties."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.statistics.design.stacking import stacked_panel
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.judges.panels import (
    JudgedAlike,
    _fitted,
    _from_moments,
    _moments,
    _quantities,
    _without_each,
    panel_gain,
)

INSTRUCTIONS, MODELS, RATERS = 30, 4, 4


def given(qualities, *, instructions=INSTRUCTIONS, seed=0, noise=0.5):
    """Judges with these correlations with the truth, and four raters of every response."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(instructions, MODELS))
    judges = [q * truth + np.sqrt(1 - q**2) * rng.normal(size=truth.shape) for q in qualities]
    n = instructions * MODELS
    response = np.repeat(np.arange(n), RATERS)
    rater = np.tile(np.arange(RATERS), n)
    severity = rng.normal(size=RATERS)
    value = truth.ravel()[response] + severity[rater] + noise * rng.normal(size=n * RATERS)
    return JudgedAlike(
        judges=np.array([judge.ravel() for judge in judges]),
        instructions=np.repeat(np.arange(instructions), MODELS),
        models=np.tile(np.arange(MODELS), instructions),
        response=response,
        rater=rater,
        value=value,
    )


def test_two_judges_with_errors_of_their_own_are_shown_to_be_better_than_one():
    found = panel_gain(given([0.7, 0.7], instructions=60))
    assert found.gain.excludes_zero and found.gain.value > 0.1
    assert found.panel.value == pytest.approx(found.single.value + found.gain.value)
    assert sum(member.share for member in found.members) == pytest.approx(1)
    assert found.gain.population == "such" and found.gain.low < found.gain.these_low
    assert (found.n, found.instructions, found.pool, found.raters) == (240, 60, 60, RATERS)
    assert found.most == 0


@pytest.mark.parametrize("pairs", [False, True])
def test_sums_of_products_give_what_the_rows_give(pairs):
    """The bootstrap works on products by instruction; every instruction taken once is the data themselves."""
    data = given([0.7, 0.5, 0.2])
    if pairs:
        data = replace(data, rivals=(np.asarray(data.models) + 1) % MODELS)
    fitted = _fitted(data, 5, 0)
    moments = _moments(fitted.rows, fitted.people, fitted.scores)
    first = np.unique(fitted.rows.instruction, return_index=True)[1]
    found = _from_moments(moments, 3, [fold[first] for fold in fitted.splits], np.ones((1, INSTRUCTIONS)))
    assert found[0] == pytest.approx(_quantities(fitted.rows, fitted.people[None], fitted.predicted, 3)[0])


def test_what_leaving_out_changes_is_computed_together_as_one_by_one(monkeypatch):
    """Also where a response loses its only rating, and where the replicates are too many for one part."""
    monkeypatch.setattr("calibration.statistics.judges.panels.NUMBERS_AT_ONCE", 1_000)
    data = given([0.7, 0.2])
    some = (data.rater == 0) | (np.random.default_rng(6).random(len(data.rater)) < 0.6)
    fitted = _fitted(replace(data, response=data.response[some], rater=data.rater[some], value=data.value[some]), 5, 0)
    size = len(fitted.people)
    codes = np.random.default_rng(5).integers(60, size=len(fitted.place))
    found = _without_each(fitted, codes)
    alone = 0
    for code in range(60):
        kept = codes != code
        counts = np.bincount(fitted.place[kept], minlength=size)
        rated = counts > 0
        alone += not rated.all()
        means = np.bincount(fitted.place[kept], weights=fitted.value[kept], minlength=size)[rated] / counts[rated]
        one = _quantities(fitted.rows.select(rated), means[None], fitted.predicted[:, rated], 3)[0]
        assert found[code] == pytest.approx(one, abs=1e-12)
    assert 0 < alone < 60


def test_a_judge_without_relation_is_not_shown_to_help():
    found = panel_gain(given([0.8, 0.0, 0.0]))
    assert not (found.gain.excludes_zero and found.gain.value > 0)
    assert found.members[0].chosen == found.fits and found.members[0].share > 0.8
    assert found.members[0].alone.value == pytest.approx(found.single.value)


def test_weights_are_those_of_stacked_panel_on_a_complete_table():
    """On complete tables, least squares without instructions' and models' means is that of all differences at once."""
    data = given([0.6, 0.5, 0.3])
    found = panel_gain(data)
    people = np.bincount(data.response, weights=data.value).reshape(INSTRUCTIONS, MODELS) / RATERS
    tables = data.judges.reshape(3, INSTRUCTIONS, MODELS)
    # With the mean of the folds' weights near that of all instructions.
    stacked = stacked_panel(people, tables, tables[:, :0], folds=INSTRUCTIONS // 2)
    assert [member.slope for member in found.members] == pytest.approx(stacked.weights.tolist(), abs=0.02)


def test_a_perfect_judge_predicts_everything_whatever_its_scale_and_the_means():
    data = given([1.0, 0.2], noise=0.0)
    severity = replace(data, judges=7 * data.judges + 3 * np.tile(np.arange(MODELS), INSTRUCTIONS))
    for one in (data, severity):
        found = panel_gain(one)
        assert found.panel.value == pytest.approx(1, abs=1e-6) and found.gain.value == pytest.approx(0, abs=1e-6)


def test_raters_severity_and_the_order_of_rows_leave_it_as_it_is():
    data = given([0.7, 0.5])
    found = panel_gain(data)
    order = np.random.default_rng(5).permutation(len(data.value))
    shifted = replace(data, value=data.value + 4 * data.rater)
    shuffled = replace(data, response=data.response[order], rater=data.rater[order], value=data.value[order])
    for other in (panel_gain(shifted), panel_gain(shuffled)):
        assert other.gain.value == pytest.approx(found.gain.value)
        assert other.gain.low == pytest.approx(found.gain.low)


def test_what_can_be_saved_counts_instructions_that_only_judges_scored():
    data = given([0.7, 0.6], instructions=60)
    labelled = data.response < 40 * MODELS
    some = replace(data, response=data.response[labelled], rater=data.rater[labelled], value=data.value[labelled])
    found = panel_gain(some)
    assert (found.instructions, found.pool) == (40, 60)
    assert found.most == pytest.approx(found.panel.value * (1 - 40 / 60))


def test_preferences_between_two_responses_are_differences_already():
    """A judge's preference is the truth's sign; by hand, its slope is the mean product over the mean square."""
    rng = np.random.default_rng(3)
    n = 80
    first, second = rng.integers(0, 3, n), np.zeros(n, dtype=np.int64)
    second[:] = (first + rng.integers(1, 3, n)) % 3
    truth = rng.normal(size=n)
    judges = np.array([np.sign(truth + 0.5 * rng.normal(size=n)), np.sign(truth + 0.5 * rng.normal(size=n))])
    response = np.repeat(np.arange(n), 3)
    value = np.sign(truth[response] + 0.3 * rng.normal(size=3 * n))
    pairs = JudgedAlike(judges, np.arange(n), first, response, np.tile(np.arange(3), n), value, rivals=second)
    found = panel_gain(pairs)
    assert found.models == 3 and found.instructions == n and found.panel.value > 0.4
    # From the other side, everything is the same.
    turned = replace(pairs, judges=-judges, value=-value, models=second, rivals=first)
    assert panel_gain(turned).gain.value == pytest.approx(found.gain.value)


def test_what_is_missing_is_named_with_the_number_needed():
    with pytest.raises(TooFewRatings, match="1 judges where at least 2"):
        panel_gain(given([0.7]))
    with pytest.raises(TooFewRatings, match=r"19 instructions .* at least 20"):
        panel_gain(given([0.7, 0.5], instructions=19))
    data = given([0.7, 0.5])
    with pytest.raises(ConstantScores, match="differences of judge 2"):
        panel_gain(replace(data, judges=np.vstack([data.judges[0], np.ones(INSTRUCTIONS * MODELS)])))
    with pytest.raises(ConstantScores, match="differences of people"):
        panel_gain(replace(data, value=np.ones(len(data.value))))
