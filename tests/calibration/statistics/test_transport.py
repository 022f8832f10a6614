"""A calibration carried to models without labels: by hand, coverage, support, the test, and what must not change."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.judges.between_models import GroupMean, against_margin
from calibration.statistics.judges.transport import SHAPES, JudgedAndRated, transport


def judged(rng, models=12, instructions=30, *, unrated=(), raters=4, departs=0.0, severity=0.3, noise=0.6):
    """Judge scores, and the ratings of all models but the unrated; people's mean of model 1 departs from the line."""
    ability = np.linspace(-1.5, 1.5, models)[rng.permutation(models)]
    quality = ability[:, None] + rng.normal(0, 0.5, instructions) + rng.normal(0, noise, (models, instructions))
    judge = quality + rng.normal(0, noise, quality.shape)
    people = 5 + 2 * quality + departs * (np.arange(models) == 1)[:, None]
    rated = people[..., None] + rng.normal(0, severity, raters) + rng.normal(0, noise, (*quality.shape, raters))
    model, instruction, rater = np.indices(rated.shape)
    seen = ~np.isin(model, unrated)
    given = JudgedAndRated(
        judge.ravel(),
        [f"m{one}" for one in np.repeat(np.arange(models), instructions)],
        np.tile(np.arange(instructions), models),
        (model * instructions + instruction)[seen],
        rater[seen],
        rated[seen],
    )
    return given, 5 + 2 * ability + departs * (np.arange(models) == 1)


def middle(given):
    """The model whose mean from the judge is the sixth of the models'."""
    names = np.array(given.models)
    return sorted(set(given.models), key=lambda one: given.judge[names == one].mean())[5]


def without(given, *names):
    kept = ~np.isin(np.array(given.models)[given.response], names)
    return replace(given, response=given.response[kept], rater=given.rater[kept], value=given.value[kept])


@pytest.mark.parametrize("shape", SHAPES)
def test_where_people_say_a_line_in_the_judges_score_the_mean_is_exact(shape):
    rng = np.random.default_rng(1)
    given, _ = judged(rng)
    line = replace(given, value=3 - 0.5 * -given.judge[given.response])
    name = middle(line)
    found = transport(without(line, name), margin=0.1, shape=shape)
    (one,) = found.carried
    assert one.model == name and one.n_rated == 0
    truth = 3 + 0.5 * given.judge[np.array(given.models) == name].mean()
    assert one.value == pytest.approx(truth, abs=0.02 if shape == "monotone" else 1e-9)
    assert found.between < (0.05 if shape == "monotone" else 1e-9)
    assert found.test.verdict == "holds"
    if shape != "monotone":
        assert (found.slope, found.intercept) == (pytest.approx(0.5), pytest.approx(3))
    assert list(found.curve) == sorted(found.curve)


def test_the_line_through_means_by_hand():
    """Seven models with means 0 to 6 from the judge and 1 + 2 x from people; responses scatter about them by +-1."""
    judge = np.concatenate([number + np.tile([-1.0, 1.0], 10) for number in range(8)])
    models, instruction = np.repeat(np.arange(8), 20), np.tile(np.arange(20), 8)
    rated = np.flatnonzero(models != 3)
    given = JudgedAndRated(judge, models, instruction, rated, np.zeros(rated.size), 1.0 + 2 * models[rated])
    found = transport(given, margin=0.1)
    assert (found.slope, found.intercept) == (pytest.approx(2), pytest.approx(1))
    assert found.carried[0].value == pytest.approx(7)
    # Through single responses: slope 2 var(model)/(var(model) + 1); of 0, 1, 2, 4, 5, 6, 7 the variance is 6.1224...
    spread = np.var([0, 1, 2, 4, 5, 6, 7])
    assert transport(given, margin=0.1, shape="linear").slope == pytest.approx(2 * spread / (spread + 1))


def test_intervals_hold_what_such_raters_would_say_and_are_wider_than_for_these_raters():
    rng = np.random.default_rng(2)
    held, wider = [], []
    for _ in range(40):
        given, truth = judged(rng, instructions=25, unrated=(0, 2, 3), severity=0.5)
        for one in transport(given, margin=0.2).carried:
            if one.kind == "carried":
                held.append(one.low <= truth[int(one.model[1:])] <= one.high)
                wider.append((one.high - one.low) / (one.these_high - one.these_low))
    assert len(held) > 60
    assert np.mean(held) >= 0.93 and np.median(wider) > 1.05


def test_a_model_beyond_the_rated_ones_has_no_level():
    given, _ = judged(np.random.default_rng(3))
    names = np.array(given.models)
    best = max(set(given.models), key=lambda one: given.judge[names == one].mean())
    (one,) = transport(without(given, best), margin=0.2).carried
    assert (one.kind, one.reason, one.value, one.low) == ("not_stated", "mean_outside", None, None)
    name = middle(given)
    judge = given.judge.copy()
    rows = np.flatnonzero(names == name)
    judge[rows[:2]], judge[rows[2:4]] = judge.max() + 5, judge.min() - 5
    moved = replace(without(given, name), judge=judge)
    (one,) = transport(moved, margin=0.2).carried
    assert one.reason == "verdicts_outside" and one.inside == pytest.approx(1 - 4 / 30)
    (one,) = transport(moved, margin=0.2, least_inside=0.8).carried
    assert one.kind == "carried"


def test_the_test_holds_fails_or_cannot_tell_and_names_who_departs():
    rng = np.random.default_rng(4)
    given, _ = judged(rng, instructions=60, departs=4.0)
    found = transport(given, margin=1.5)
    assert found.test.verdict == "fails"
    assert [one.name for one in found.test.groups if one.departs] == ["m1"]
    assert found.between > 0.8 and not found.carried
    honest, _ = judged(rng, instructions=60)
    assert transport(honest, margin=1.5).test.verdict == "holds"
    assert transport(honest, margin=0.05).test.verdict == "cannot_tell"
    assert transport(honest, margin=0.05).between < 0.3


def test_simultaneous_intervals_and_holms_steps_by_hand():
    """Two groups: 90 % simultaneous is t(.975) each. The second, p .053 doubled, departs only in Holm's second step."""
    groups = [GroupMean("a", 5.0, 1.0, 1e9, 9), GroupMean("b", 2.85, 1.0, 1e9, 9)]
    found = against_margin(groups, 1.0, 0)
    assert found.groups[0].low == pytest.approx(5 - 1.96, abs=1e-3)
    assert [one.departs for one in found.groups] == [True, True] and found.groups[1].low < 1
    alone = against_margin([groups[1], GroupMean("c", 0.0, 1.0, 1e9, 9)], 1.0, 0)
    assert [one.departs for one in alone.groups] == [False, False] and alone.verdict == "cannot_tell"


def test_one_rater_positions_and_the_order_of_rows():
    given, _ = judged(np.random.default_rng(5), unrated=(3,))
    several = transport(given, margin=0.2)
    assert several.why_not_such is None and several.raters == 4
    kept = given.rater == 0
    one = replace(given, response=given.response[kept], rater=given.rater[kept], value=given.value[kept])
    found = transport(one, margin=0.2)
    assert found.why_not_such == "few_raters"
    assert (found.carried[0].low, found.carried[0].high) == (found.carried[0].these_low, found.carried[0].these_high)
    assert transport(replace(given, positions=True), margin=0.2).why_not_such == "positions"
    order = np.random.default_rng(6).permutation(given.value.size)
    mixed = replace(given, response=given.response[order], rater=given.rater[order], value=given.value[order])
    assert transport(mixed, margin=0.2).carried[0].value == pytest.approx(several.carried[0].value)


def test_too_little_is_a_sentence_with_the_number_needed():
    given, _ = judged(np.random.default_rng(7), models=7)
    with pytest.raises(TooFewRatings, match=r"5 models of which people rated .* at least 6 are needed"):
        transport(without(given, "m0", "m1"), margin=0.2)
    few, _ = judged(np.random.default_rng(8), instructions=19)
    with pytest.raises(TooFewRatings, match="19 instructions with people's ratings where at least 20"):
        transport(few, margin=0.2)
    with pytest.raises(ConstantScores):
        transport(replace(given, value=np.ones(given.value.size)), margin=0.2)
    with pytest.raises(NoStatistic, match="above 0"):
        transport(given, margin=0.0)
    with pytest.raises(NoStatistic, match="finite"):
        transport(replace(given, judge=np.where(given.judge > 1, np.nan, given.judge)), margin=0.2)


def test_a_model_with_a_few_ratings_counts_as_unrated():
    given, _ = judged(np.random.default_rng(9))
    name = middle(given)
    rows = np.array(given.models)[given.response] == name
    instruction = given.instructions[given.response]
    kept = ~rows | (instruction < 4)
    few = replace(given, response=given.response[kept], rater=given.rater[kept], value=given.value[kept])
    found = transport(few, margin=0.2)
    assert found.carried[0].model == name and found.carried[0].n_rated == 4 and found.test.left_out == 1
    assert found.carried[0].value == pytest.approx(transport(without(given, name), margin=0.2).carried[0].value)
