"""Equal scores are tied, whatever the rounding of their sums says: in every statistic that ranks or counts matches."""

from fractions import Fraction
from itertools import combinations
from math import sqrt
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, strategies as st

from calibration.statistics.agreement.alternative_annotator import alternative_annotator_test
from calibration.statistics.agreement.rater_correlations import rater_matrix
from calibration.statistics.agreement.rating_tables import level_codes
from calibration.statistics.errors import ConstantScores
from calibration.statistics.judges.correlations import ScoredResponses, people_correlation
from calibration.statistics.ranking.power import shared_ranks
from calibration.statistics.ranking.rank_intervals import ranks
from calibration.statistics.ranking.scores import mean_scores
from calibration.statistics.ties import descending, level_places, settle_ties
from judging.methods.pairs.composite import cross_fit
from judging.scores.points import model_scores

GRADES = [Fraction(n, 5) for n in range(6)]
RATINGS = st.lists(st.lists(st.sampled_from(GRADES), min_size=3, max_size=3), min_size=5, max_size=25)


def mean_of(given_grades):
    """The mean as numpy adds it up in this order: 0.6 + 0.2 + 0.4 is another number than 0.4 + 0.2 + 0.6."""
    total = 0.0
    for grade in given_grades:
        total += float(grade)
    return total / len(given_grades)


def exact_rank_correlations(x, y):
    """Spearman's rho and Kendall's tau-b of fractions, ties decided exactly; by their definitions."""
    pairs = list(combinations(range(len(x)), 2))
    sign = lambda number: (number > 0) - (number < 0)  # noqa: E731
    net = sum(sign(x[i] - x[j]) * sign(y[i] - y[j]) for i, j in pairs)
    untied = [sum(values[i] != values[j] for i, j in pairs) for values in (x, y)]
    ranked = []
    for values in (x, y):
        mid = [
            Fraction(sum(other < value for other in values)) + Fraction(sum(other == value for other in values) + 1, 2)
            for value in values
        ]
        middle = sum(mid, Fraction(0)) / len(mid)
        ranked.append([one - middle for one in mid])
    crossed = sum(a * b for a, b in zip(*ranked, strict=True))
    spread = sum(a * a for a in ranked[0]) * sum(b * b for b in ranked[1])
    return float(crossed) / sqrt(spread), net / sqrt(untied[0] * untied[1])


def beside(judge, people, instruction):
    """Responses that a judge and one person scored."""
    places = np.arange(len(judge))
    return ScoredResponses(judge, instruction, 0 * places, places, 0 * places, people)


@given(RATINGS, st.randoms(use_true_random=False))
def test_rank_correlations_are_those_of_exact_fractions(ratings, random):
    judge = [random.choice(ratings) for _ in ratings]
    x, y = ([sum(grades, Fraction(0)) / 3 for grades in rows] for rows in (judge, ratings))
    if len(set(x)) < 2 or len(set(y)) < 2:
        return
    spearman, kendall = exact_rank_correlations(x, y)
    found = people_correlation(
        beside(
            np.array([mean_of(random.sample(grades, 3)) for grades in judge]),
            np.array([mean_of(random.sample(grades, 3)) for grades in ratings]),
            np.arange(len(ratings)),
        ),
        intervals=False,
    )
    assert found.spearman.value == pytest.approx(spearman, abs=1e-10)
    assert found.kendall.value == pytest.approx(kendall, abs=1e-10)


@given(RATINGS, st.integers(0, 2**32 - 1))
def test_noise_and_the_order_of_raters_move_no_rank_statistic(ratings, seed):
    rng = np.random.default_rng(seed)
    plain = np.array([mean_of(grades) for grades in ratings])
    turned = np.array([mean_of(rng.permutation(np.array(grades, dtype=object))) for grades in ratings])
    turned += rng.uniform(-1e-12, 1e-12, len(turned))
    judge = rng.integers(0, 4, len(plain)) / 3
    clusters = np.arange(len(plain)) // 2
    models = np.arange(len(plain)) % 3

    def statistics(values):
        table = np.stack([values[:4], values[1:5], judge[:4]], axis=1)
        found = [
            ranks(values).tolist(),
            level_places(values).tolist(),
            level_codes(values)[0].tolist(),
            descending(values).tolist(),
            mean_scores(values, models, clusters=clusters, draws=50, seed=1).rank.tolist(),
            shared_ranks(table, ["one", "two", "three"]).models,
        ]
        try:
            coefficients = people_correlation(beside(judge, values, clusters), seed=3)
        except ConstantScores:
            return [*found, "constant"]
        for one in (coefficients.spearman, coefficients.kendall):
            found += [one.value, one.p, one.low, one.high]
        matrix = rater_matrix(
            np.tile(np.arange(len(values)), 2),
            np.repeat(["judge", "people"], len(values)),
            np.concatenate([judge, values]),
        )
        return [*found, matrix.spearman.tolist()]

    assert statistics(turned) == statistics(plain)


def test_settling_keeps_what_is_apart():
    assert settle_ties(np.array([8.600000000000001, 8.6, 8.4])).tolist() == [8.6, 8.6, 8.4]
    apart = np.array([0.0, 1e-7, 1.0, 1.0000001, 3.0])
    assert settle_ties(apart).tolist() == apart.tolist()
    # What cancels to 0 leaves a rounding of the size of what was added, not of its own.
    assert len(set(settle_ties(np.array([0.1 + 0.2 - 0.3, 0.0, 1.0])))) == 2
    assert settle_ties(np.array([])).size == 0


def test_two_models_with_equal_means_share_a_rank():
    # (0.1 + 0.2 + 0.3)/3 and (0.3 + 0.2 + 0.1)/3 are both 0.2, which floats do not say.
    one, other = mean_of([0.1, 0.2, 0.3]), mean_of([0.3, 0.2, 0.1])
    assert one != other
    assert ranks(np.array([one, other, 0.1])).tolist() == [1, 1, 3]
    board = model_scores(
        model=np.array([2, 1], dtype=np.int64),
        category=np.zeros(2, dtype=np.int64),
        points=np.array(sorted([one, other])),
        unscored={},
        model_names={1: "beta", 2: "alpha"},
        category_keys={0: "all"},
    )
    assert [row.model for row in board] == ["alpha", "beta"]
    ranked = shared_ranks(np.array([[0.3, 0.1], [0.2, 0.2], [0.1, 0.3]]), ["alpha", "beta"])
    assert (ranked.models, ranked.rank.tolist()) == (("alpha", "beta"), [1, 1])


def test_the_best_method_of_equals_is_the_first_by_name():
    # Three tasks of 0.2, and 0.1, 0.2 and 0.3: one mean, added up to two numbers.
    high = {"beta": [0.2, 0.2, 0.2], "alpha": [0.1, 0.2, 0.3]}
    assert fmean(high["beta"]) > fmean(high["alpha"])
    matches = {name: np.array([*values, *values]) for name, values in high.items()}
    category, instruction = np.zeros(6, dtype=np.int64), np.repeat(np.arange(2), 3)
    found = cross_fit(matches, category, instruction, seed=0)
    assert [name for name, _times in found.singles] == ["alpha"]
    assert [name for name, _times in found.choices[0]] == ["alpha"]


def test_a_judges_label_is_a_raters_label_in_spite_of_rounding():
    # The judge's 0.30000000000000004 is the raters' 0.3: it stands for all of them as well as any of them does.
    items = np.repeat(np.arange(40), 3)
    labels = np.tile([0.3, 0.3, 0.7], 40)
    verdicts = dict.fromkeys(range(40), 0.1 + 0.2)
    found, same = (
        alternative_annotator_test(
            items, labels, np.tile(["a", "b", "c"], 40), judged, kind="categorical", epsilon=0.1, min_items=30
        )
        for judged in (verdicts, dict.fromkeys(range(40), 0.3))
    )
    assert found.winning_rate == same.winning_rate
    assert found.advantage == same.advantage
    assert found.advantage.value > 0.5
