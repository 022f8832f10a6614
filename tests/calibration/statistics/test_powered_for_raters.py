"""Prediction-powered means for raters like these: the raters' part by its definition, and against simulated truth."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.statistics.judges.estimates import SingleAnswers, raters_variance, such_variance
from calibration.statistics.judges.prediction_powered import (
    ModelScores,
    labels_to_separate,
    prediction_powered_difference,
    prediction_powered_mean,
)


def rated(rng, *, labelled=40, further=160, pool=5, each=3, severity=0.6, mean=5.0, level=None, severities=None):
    """A model's scores, each response by `each` of the raters, who differ in severity; the judge sees the quality."""
    quality = mean + (rng.normal(size=labelled + further) if level is None else level)
    judge = quality + 0.4 * rng.normal(size=quality.size)
    place = np.repeat(np.arange(labelled), each)
    rater = rng.random((labelled, pool)).argsort(axis=1)[:, :each].ravel()
    own = severity * rng.normal(size=pool) if severities is None else severities
    score = quality[place] + own[rater] + 0.4 * rng.normal(size=place.size)
    answers = SingleAnswers(
        place=place,
        rater=rater,
        top=score,
        under=np.ones(place.size),
        judge_top=judge[:labelled],
        judge_under=np.ones(labelled),
        column=np.zeros(labelled, dtype=np.int64),
    )
    return ModelScores(
        human=np.bincount(place, weights=score) / each,
        judge=judge[:labelled],
        instructions=np.arange(labelled),
        judge_only=judge[labelled:],
        judge_only_instructions=np.arange(labelled, labelled + further),
        answers=answers,
    )


def by_definition(answers, instructions, power, dropped):
    """The mean without each of the dropped masks of lines, recomputed from the lines that are left."""
    found = []
    for mask in dropped:
        keep = ~mask
        means = []
        for column in np.unique(answers.column):
            sums = np.zeros(4)
            for place in np.flatnonzero(answers.column == column):
                lines = keep & (answers.place == place)
                if lines.any():
                    own = answers.top[lines].mean(), answers.under[lines].mean()
                    sums += [*own, answers.judge_top[place], answers.judge_under[place]]
            means.append(sums[0] / sums[1] - power * sums[2] / sums[3])
        found.append(np.mean(means))
    values = np.array(found)
    return (len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()


def test_the_raters_part_leaves_out_raters_and_cells_by_its_definition():
    rng = np.random.default_rng(1)
    n, lines = 12, 30
    # Uneven numbers of answers, so that some responses lose all of them; two responses an instruction; two categories.
    place = np.concatenate([np.arange(n), rng.integers(n, size=lines - n)])
    answers = SingleAnswers(
        place=place,
        rater=np.concatenate([np.arange(n) % 4, rng.integers(4, size=lines - n)]),
        top=rng.uniform(1, 5, size=lines),
        under=rng.choice([5.0, 10.0], size=lines),
        judge_top=rng.uniform(1, 5, size=n),
        judge_under=np.full(n, 5.0),
        column=np.repeat([0, 1], n // 2),
    )
    instructions = np.arange(n) // 2
    found = raters_variance([(answers, instructions, 1.0)], 0.6)
    raters = [answers.rater == rater for rater in range(4)]
    cell = instructions[answers.place] * 4 + answers.rater
    cells = [cell == code for code in np.unique(cell)]
    assert found.raters == 4 and found.why_not == ""
    assert found.by_raters == pytest.approx(by_definition(answers, instructions, 0.6, raters))
    assert found.by_cells == pytest.approx(by_definition(answers, instructions, 0.6, cells))


def test_of_complete_ratings_the_raters_part_is_that_of_their_means_by_hand():
    # Three raters, two instructions: means 2, 4 and 6. Without each: 5, 4, 3; 2/3 x ((5 - 4)^2 + 0 + (3 - 4)^2) = 4/3,
    # which is the variance 4 of the raters' means over their number.
    top = np.array([1.0, 3.0, 7.0, 3.0, 5.0, 5.0])
    answers = SingleAnswers(
        np.repeat([0, 1], 3),
        np.tile([7, 8, 9], 2),
        top,
        np.ones(6),
        np.ones(2),
        np.ones(2),
        np.zeros(2, dtype=np.int64),
    )
    found = raters_variance([(answers, [0, 1], 1.0)], 0.0)
    assert found.by_raters == pytest.approx(4 / 3)
    # V = V_I + V_R - V_C, not below V_R; with three raters there are two degrees of freedom.
    such, freedom = such_variance(10.0, 1.0, found)
    assert such == pytest.approx(10 + 4 / 3 - found.by_cells) and freedom == 2
    assert such_variance(0.0, 1.0, found)[0] == pytest.approx(4 / 3)


def test_who_is_said_where_nothing_can_be_said_of_raters_like_these():
    scores = rated(np.random.default_rng(2))
    answers = scores.answers
    cases = {
        "counted_together": None,
        "positions": replace(answers, positions=True),
        "few_raters": replace(answers, rater=np.zeros_like(answers.rater)),
        # A category that one rater alone has answered.
        "undefined_without_one": replace(
            answers, column=np.array([1] + [0] * 39), rater=np.where(answers.place == 0, 99, answers.rater)
        ),
    }
    for why, own in cases.items():
        found = prediction_powered_mean(replace(scores, answers=own)).powered
        assert (found.why_not, found.population, found.such_error) == (why, "these", None)
        assert (found.low, found.high) == (found.these_low, found.these_high)
    few = rated(np.random.default_rng(2), labelled=12)
    found = prediction_powered_mean(few).powered
    assert (found.why_not, found.interval_kind, found.these_low) == ("few_instructions", "leave_one_out_range", None)


def test_the_interval_for_raters_like_these_knows_that_few_raters_are_severe_or_lenient():
    found = [prediction_powered_mean(rated(np.random.default_rng(seed))).powered for seed in range(200)]
    spread = np.std([one.value for one in found])
    assert np.median([one.such_error for one in found]) == pytest.approx(spread, rel=0.25)
    assert np.median([one.error for one in found]) < 0.6 * spread
    such = np.mean([one.low <= 5 <= one.high for one in found])
    these = np.mean([one.these_low <= 5 <= one.these_high for one in found])
    assert such >= 0.93 and these < 0.8


def pair(rng, gap, *, pool=5, taste=0.0):
    """Two models on the same instructions, rated by the same raters, whose taste for the second differs."""
    severities = 0.6 * rng.normal(size=pool)
    level = rng.normal(size=200)
    liking = severities + taste * rng.normal(size=pool)
    one = rated(rng, level=level, severities=severities, pool=pool, each=pool)
    return one, rated(rng, mean=5.0 - gap, level=level, severities=liking, pool=pool, each=pool)


def test_severity_cancels_out_of_a_difference_and_taste_does_not():
    plain = [prediction_powered_difference(*pair(np.random.default_rng(seed), 0.5)).powered for seed in range(30)]
    assert np.median([one.such_error / one.error for one in plain]) < 1.1
    # The raters' tastes make the difference 0.6/sqrt(5) = 0.27 uncertain, whatever the number of instructions.
    mixed = [
        prediction_powered_difference(*pair(np.random.default_rng(seed), 0.5, taste=0.6)).powered for seed in range(30)
    ]
    raters = [(one.such_error**2 - one.error**2) ** 0.5 for one in mixed]
    assert np.median(raters) == pytest.approx(0.27, rel=0.35)


def test_where_raters_differ_too_much_no_number_of_their_labels_separates_two_models():
    found = labels_to_separate(*pair(np.random.default_rng(3), 0.2, pool=3, taste=1.5))
    assert (found.population, found.separated) == ("such", False)
    assert (found.total, found.more, found.alone) == (None, None, None)
    # For raters who do not differ in taste, a number of labels does.
    found = labels_to_separate(*pair(np.random.default_rng(4), 0.3, pool=8))
    assert found.separated or found.more > 0
