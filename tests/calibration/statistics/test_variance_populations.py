"""Intervals of variance components and of what more raters and repeats do to a reliability."""

from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import t as student

from calibration.statistics.raters.decision import decide
from calibration.statistics.raters.variance import Scores, Sources, sources_of, split_by
from calibration.statistics.raters.variance_populations import (
    BothEnds,
    gain_of_rater,
    gain_of_rater_ends,
    of_more_raters,
    split_ends,
)


def rated(rng, instructions=30, raters=5, models=3, again=0.3):
    """Scores of a complete design, of which a part was given twice, with instruction, model and rater."""
    item, model, rater = (axis.ravel() for axis in np.indices((instructions, models, raters)))
    level = rng.normal(0, 0.6, (instructions, models))[item, model] + rng.normal(0, 0.5, instructions)[item]
    shared = level + rng.normal(0, 0.4, raters)[rater] + rng.normal(0, 0.5, item.size)
    twice = np.concatenate([np.arange(item.size), np.flatnonzero(rng.random(item.size) < again)])
    return shared[twice] + rng.normal(0, 0.4, twice.size), item[twice], model[twice], rater[twice]


def ends_of(scores, item, model, rater, *, named=True):
    sources = sources_of(items=item, raters=rater, models=model)
    found = split_by(scores, sources)
    return found, split_ends(scores, sources, found, instructions=item, raters=rater if named else None)


def variances_of(found):
    return {name: one.variance for name, one in found.components.items()}


def test_an_estimate_from_a_part_is_that_of_its_scores_alone():
    scores, item, model, rater = rated(np.random.default_rng(1))
    sources = sources_of(items=item, raters=rater, models=model)
    kept = (rater != 2) & (item != 7)
    part = Sources({name: codes[kept] for name, (codes, _levels) in sources.coded.items()}, sources.names[-1])
    whole_scores, part_scores = Scores(scores, sources), Scores(scores[kept], part)
    left_out = np.flatnonzero(~kept)
    for whole, alone in zip(sources.estimate(whole_scores, left_out), part.estimate(part_scores), strict=True):
        assert whole == pytest.approx(alone, abs=1e-12)


def test_the_interval_for_these_raters_is_the_jackknife_over_instructions():
    scores, item, model, rater = rated(np.random.default_rng(2))
    found, ends = ends_of(scores, item, model, rater)
    variances = variances_of(found)
    beside = (variances["residual"] + variances["repeat"]) * 30 / scores.size
    without = []
    for left_out in range(30):
        kept = item != left_out
        sources = sources_of(items=item[kept], raters=rater[kept], models=model[kept])
        without.append(split_by(scores[kept], sources).components["item"].variance)
    moved = np.log(np.array(without) + beside)
    error = sqrt(29 / 30 * ((moved - moved.mean()) ** 2).sum())
    middle = log(variances["item"] + beside)
    low, high = (exp(middle + sign * student.ppf(0.975, 29) * error) - beside for sign in (-1, 1))
    assert ends.components["item"].these == pytest.approx((low, high), rel=1e-9)


def test_intervals_hold_their_estimates_and_those_for_raters_like_these_are_wider():
    found, ends = ends_of(*rated(np.random.default_rng(3), instructions=60, raters=8))
    variances = variances_of(found)
    study = decide(variances, budget=5)
    assert ends.not_stated == "" and (ends.n_instructions, ends.n_raters) == (60, 8)
    for name, both in ends.components.items():
        assert both.such[0] <= variances[name] <= both.such[1]
        assert both.these[0] <= variances[name] <= both.these[1]
    wide, near = (pair[1] - pair[0] for pair in (ends.components["rater"].such, ends.components["rater"].these))
    assert wide > 2 * near
    assert ends.gain_of_repeat.such[0] < study.gain_of_repeat < ends.gain_of_repeat.such[1]
    for asked in (1, 2):
        single = next(one.reliability for one in study.designs if (one.raters, one.repeats) == (1, asked))
        assert ends.reliability[asked].such[0] < single < ends.reliability[asked].such[1]


def test_without_repeats_nothing_is_said_of_them():
    _found, ends = ends_of(*rated(np.random.default_rng(4), again=0))
    assert ends.gain_of_repeat is None and set(ends.reliability) == {1}


@pytest.mark.parametrize(
    ("shape", "named", "why", "these"),
    [
        ({"instructions": 30, "raters": 2}, True, "few_raters", True),
        ({"instructions": 30, "raters": 1}, True, "few_raters", True),
        ({"instructions": 30, "raters": 5}, False, "positions", True),
        ({"instructions": 19, "raters": 5}, True, "few_instructions", False),
    ],
)
def test_it_is_said_why_there_is_no_interval(shape, named, why, these):
    found, ends = ends_of(*rated(np.random.default_rng(5), **shape), named=named)
    assert ends.not_stated == why
    for name in found.components:
        both = ends.components[name]
        assert both.such is None and (both.these is not None) == these


def test_a_second_rater_adds_most_at_the_root_of_two_less_one():
    # Reliability r of one rater: two have 2r/(1 + r), so the gain is r(1 - r)/(1 + r), with its peak at .414.
    assert gain_of_rater(0.5) == pytest.approx(2 / 3 - 1 / 2)
    low, high = gain_of_rater_ends(BothEnds((0.2, 0.8), None)).such
    assert (low, high) == pytest.approx((0.8 * 0.2 / 1.8, 3 - 2 * sqrt(2)))
    assert gain_of_rater_ends(BothEnds((0.5, 0.8), None)).such == pytest.approx((0.16 / 1.8, 1 / 6))
    assert gain_of_rater_ends(BothEnds(None, None)) == BothEnds(None, None)
    assert of_more_raters(BothEnds((0.2, 0.5), None), 4).such == pytest.approx((0.5, 0.8))


def test_a_source_that_does_not_vary_has_an_interval_from_nought():
    rng = np.random.default_rng(6)
    item, rater = (axis.ravel() for axis in np.indices((40, 6)))
    scores = rng.normal(size=40)[item] + rng.normal(size=item.size)
    sources = sources_of(items=item, raters=rater)
    found = split_by(scores, sources)
    ends = split_ends(scores, sources, found, instructions=item, raters=rater)
    low, high = ends.components["rater"].such
    assert low == 0 and 0 < high < 0.5


def test_many_instructions_are_left_out_in_groups():
    scores, item, model, rater = rated(np.random.default_rng(7), instructions=400, raters=4, models=2)
    found, ends = ends_of(scores, item, model, rater)
    low, high = ends.components["item"].these
    # Normal effects: the standard error of a variance of 400 is about v sqrt(2/400), here with the responses' part.
    variance = found.components["item"].variance
    assert 0.1 * variance < (high - low) / 2 < 0.45 * variance
    assert ends.n_instructions == 400
