"""Scores corrected by people: by hand, and against what is true on simulated judges."""

import numpy as np
import pytest

from calibration.statistics.errors import TooFewRatings
from judging.scores.corrected_scores import Entries, RaterEntries, corrected_score, pseudo_values, strata_of
from judging.scores.points import HELLOBENCH, PointsRule


def entries(column, instruction, top, under=None):
    top = np.asarray(top, dtype=float)
    return Entries(
        np.asarray(column), np.asarray(instruction), top, np.ones(top.size) if under is None else np.asarray(under)
    )


def test_pseudo_values_have_the_scores_mean_by_hand():
    # Two columns, means 80 and 50: mean of columns 65, pooled (80 + 90 + 70 + 50)/4 = 72.5.
    own = entries([1, 1, 1, 2], [1, 2, 3, 4], [80, 90, 70, 50])
    assert pseudo_values(own, HELLOBENCH).mean() == pytest.approx(65)
    assert pseudo_values(own, PointsRule(0, 1, pooled=True)).mean() == pytest.approx(72.5)
    # A ratio: 3 of 5 and 1 of 3 stars are 4 of 8.
    stars = entries([1, 1], [1, 2], [3, 1], [5, 3])
    assert pseudo_values(stars, PointsRule(0, 100)).mean() == pytest.approx(0.5)


def test_a_judge_that_is_off_by_a_constant_is_put_right():
    rng = np.random.default_rng(1)
    n, labelled = 400, 60
    truth = rng.normal(80, 6, n)
    judge = truth - 10
    where, column = np.arange(n), np.zeros(n, dtype=int)

    def part(values, rows):
        return entries(column[rows], where[rows], values[rows])

    few, rest = slice(0, labelled), slice(labelled, n)
    found = corrected_score(part(truth, few), part(judge, few), part(judge, rest), HELLOBENCH)
    exact = (truth.mean() - 75) * 4
    assert found.value == pytest.approx(exact, abs=1e-6 + 4 * 10 * (1 - found.power))
    assert found.low < exact < found.high
    assert found.power > 0.8
    assert found.effective_n > 2 * labelled
    assert found.people.high - found.people.low > found.high - found.low
    # Nobody said who gave which score, so the interval is for exactly these raters.
    assert (found.population, found.why_not) == ("these", "counted_together")


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(7)
    held, draws, n, labelled = 0, 300, 300, 60
    for _ in range(draws):
        ability = rng.normal(0, 5, n)
        human = 75 + ability + rng.normal(0, 5, n)
        judge = 70 + 0.7 * ability + rng.normal(0, 4, n)
        column, where = np.arange(n) % 3, np.arange(n)
        few, rest = slice(0, labelled), slice(labelled, n)
        found = corrected_score(
            entries(column[few], where[few], human[few]),
            entries(column[few], where[few], judge[few]),
            entries(column[rest], where[rest], judge[rest]),
            HELLOBENCH,
        )
        held += found.low <= 0.0 <= found.high
    assert 0.91 <= held / draws <= 0.985


def test_without_further_verdicts_people_stand_alone_and_a_category_without_people_is_named():
    own = entries([1, 1, 2, 2], [1, 2, 3, 4], [80, 90, 70, 50])
    none = entries([], [], [])
    found = corrected_score(own, own, none, HELLOBENCH)
    assert found.value == found.people.value == pytest.approx((72.5 - 75) * 4)
    assert found.power == 0
    with pytest.raises(TooFewRatings, match="categories"):
        corrected_score(
            entries([1, 1], [1, 2], [80, 90]), entries([1, 1], [1, 2], [80, 90]), entries([2], [3], [70]), HELLOBENCH
        )


def test_columns_are_strata_unless_they_share_instructions_or_are_pooled():
    people = entries([1, 1, 2, 2, 3], [10, 11, 12, 13, 14], [80] * 5)
    further = entries([1, 3, 3], [20, 21, 22], [70] * 3)
    first, second = strata_of([people, further], HELLOBENCH)
    assert [len(set(first[:2])), len(set(first[2:4])), len({*first})] == [1, 1, 3]
    assert (second[0], second[1], second[2]) == (first[0], first[4], first[4])
    # Baselines of one board stand on the same instructions: together they are one stratum.
    baselines = entries([1, 2, 3, 1, 2, 3], [10, 10, 10, 11, 11, 11], [80] * 6)
    assert len({*strata_of([baselines, further], HELLOBENCH)[0]}) == 1
    assert not strata_of([people, further], PointsRule(0, 1, pooled=True))[0].any()


def few_a_category(rng, labelled, categories=3, further=60):
    """People's and a judge's scores of `labelled` instructions a category, and the judge's of others: three Entries."""
    parts = []
    for place in range(categories):
        level = rng.normal(75, 7, labelled + further)
        people = level + rng.normal(0, 6, level.size)
        parts.append(
            (
                np.full(level.size, place),
                np.arange(level.size) + 1000 * place,
                people,
                people + 6 + rng.normal(0, 5, level.size),
            )
        )
    column, instruction, people, judge = (np.concatenate(part) for part in zip(*parts, strict=True))
    few = instruction % 1000 < labelled
    return tuple(
        entries(column[mask], instruction[mask], of[mask]) for of, mask in ((people, few), (judge, few), (judge, ~few))
    )


def test_seven_instructions_a_category_are_not_overrated():
    held, draws = 0, 400
    for seed in range(draws):
        found = corrected_score(*few_a_category(np.random.default_rng(seed), 7), HELLOBENCH)
        held += found.low <= 0.0 <= found.high
    assert held / draws >= 0.93


def test_a_single_instruction_in_every_category_states_nothing():
    rng = np.random.default_rng(3)
    with pytest.raises(TooFewRatings, match="one category"):
        corrected_score(*few_a_category(rng, 1, categories=25), HELLOBENCH)


def rated_by_few(rng, raters=5, labelled=40, further=160, severity=8.0):
    """What corrected_score takes of one category: each response by three of the raters, who differ in severity."""
    level = rng.normal(75, 7, labelled + further)
    judge = level + 6 + rng.normal(0, 5, level.size)
    place = np.repeat(np.arange(labelled), 3)
    rater = rng.random((labelled, raters)).argsort(axis=1)[:, :3].ravel()
    score = level[place] + (severity * rng.normal(size=raters))[rater] + rng.normal(0, 5, place.size)
    where, column = np.arange(level.size), np.zeros(level.size, dtype=int)
    few, rest = slice(0, labelled), slice(labelled, None)
    people = entries(column[few], where[few], np.bincount(place, weights=score) / 3)
    single = RaterEntries(place, rater, score, np.ones(place.size))
    parts = people, entries(column[few], where[few], judge[few]), entries(column[rest], where[rest], judge[rest])
    return parts, single


def test_the_interval_for_raters_like_these_comes_first_and_holds():
    held, these, draws = 0, 0, 200
    for seed in range(draws):
        parts, single = rated_by_few(np.random.default_rng(seed))
        found = corrected_score(*parts, HELLOBENCH, single=single)
        assert (found.population, found.raters, found.why_not) == ("such", 5, "")
        assert found.low < found.these_low < found.these_high < found.high
        held += found.low <= 0.0 <= found.high
        these += found.these_low <= 0.0 <= found.these_high
    assert held / draws >= 0.93 and these / draws < 0.8
    # What is said of exactly these raters does not depend on who gave which score.
    alone = corrected_score(*parts, HELLOBENCH)
    assert (alone.low, alone.high) == pytest.approx((found.these_low, found.these_high))
