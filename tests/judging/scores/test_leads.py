"""How far a board's models are ahead of each other: by hand, on what both have, corrected, and the ranks that are left."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from judging.scores.leads import Lead, comparisons_of, ranks_left
from judging.scores.paired_difference import paired_difference
from judging.scores.points import PointsRule

PLAIN = PointsRule(0, 1)


def entries(points, categories=None):
    """Arguments of comparisons_of from points (models, instructions), nan for none."""
    model, instruction = np.nonzero(np.isfinite(points))
    category = np.zeros(len(model), dtype=int) if categories is None else categories[instruction]
    arrays = {"model": model, "instruction": instruction, "category": category, "points": points[model, instruction]}
    return {**arrays, "models": list(range(len(points)))}


def drawn(models=2, n=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + rng.normal(size=(models, n)) + 0.8 * (np.arange(models)[:, None] == 0)


def test_one_column_is_students_paired_test_and_columns_are_welchs():
    points = drawn()
    tested = ttest_1samp(points[0] - points[1], 0)
    lead = comparisons_of(**entries(points), rule=PLAIN)[0, 1]
    assert (lead.value, lead.p) == pytest.approx(((points[0] - points[1]).mean(), tested.pvalue))
    assert (lead.low, lead.high) == pytest.approx(tuple(tested.confidence_interval()))
    columns = np.arange(30) % 3
    of_columns = paired_difference(columns, points[0] - points[1], PLAIN)
    lead = comparisons_of(**entries(points, columns), rule=PLAIN)[0, 1]
    # A column's jackknife has its own n/(n - 1) already, so that it is the same test.
    assert (lead.value, lead.p) == pytest.approx((of_columns.overall.value, of_columns.p))


def test_only_common_instructions_count():
    points = drawn(n=60)
    points[1, 30:] = np.nan
    points[0, 30:] += 50
    lead = comparisons_of(**entries(points), rule=PLAIN)[0, 1]
    assert lead.n == 30 and lead.value == pytest.approx((points[0] - points[1])[:30].mean())


def test_p_is_holms_for_all_pairs_and_one_that_is_not_stated_counts():
    points = drawn(models=4)
    pairs = list(combinations(range(4), 2))
    alone = np.array([comparisons_of(**entries(points[list(pair)]), rule=PLAIN)[0, 1].p for pair in pairs])
    found = comparisons_of(**entries(points), rule=PLAIN)
    order = np.argsort(alone)
    steps = np.minimum(np.maximum.accumulate(alone[order] * np.arange(6, 0, -1)), 1)
    assert [found[pairs[place]].p for place in order] == pytest.approx(steps.tolist())
    assert {lead.compared for lead in found.values()} == {6}
    points[3, 10:] = np.nan
    fewer = comparisons_of(**entries(points), rule=PLAIN)
    assert set(fewer) == {(0, 1), (0, 2), (1, 2)} and fewer[0, 1].compared == 6
    assert fewer[0, 1].p >= alone[0]


def lead(value, p):
    return Lead(value, value - 1, value + 1, p, 30, 3)


def test_the_ranks_left_follow_from_what_is_shown_by_hand():
    # 7 is shown to be ahead of 5 and of 9, 5 and 9 are not told apart: 7 is first, the others second or third.
    found = {(7, 5): lead(3, 0.01), (7, 9): lead(4, 0.02), (5, 9): lead(1, 0.2)}
    assert ranks_left([7, 5, 9], found) == {7: (1, 1), 5: (2, 3), 9: (2, 3)}
    # Shown to be behind on what both have, whatever the scores say.
    assert ranks_left([7, 5], {(7, 5): lead(-3, 0.01)}) == {7: (2, 2), 5: (1, 1)}
    # What is not stated shows nothing, and one model alone is first.
    assert ranks_left([7, 5], {}) == {7: (1, 2), 5: (1, 2)}
    assert ranks_left([7], {}) == {7: (1, 1)} and ranks_left([], {}) == {}


def test_the_ranks_left_hold_the_true_ranks_all_at_once():
    ability, right = np.array([0.0, 0.0, 0.6, 1.2, 1.2]), 0
    # The two worst are equal: each of them has rank 4 of five, as three are better.
    true = [4, 4, 3, 1, 1]
    for seed in range(200):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=60) + rng.normal(size=(5, 60)) + ability[:, None]
        order = np.argsort(-points.mean(axis=1)).tolist()
        found = ranks_left(order, comparisons_of(**{**entries(points), "models": order}, rule=PLAIN))
        right += all(
            low <= rank <= high for rank, (low, high) in zip(true, (found[pk] for pk in range(5)), strict=True)
        )
    assert right / 200 >= 0.93


@pytest.mark.parametrize("pooled", [True, False])
def test_a_line_an_instruction_says_the_same_as_a_table_by_category(pooled):
    rng, rule = (
        np.random.default_rng(4),
        PointsRule(1.0, 3.0, pooled=pooled, weights={} if pooled else {0: 2.0, 2: 0.5}),
    )
    given = entries(drawn(models=3, n=90, seed=5) ** 2, np.arange(90) % 3)
    under = rng.choice([1.0, 2.0], size=270)
    fast = comparisons_of(**given, under=under, rule=rule)
    # One more model on an instruction of its own that has two categories: the table is needed, and nothing else changes.
    more = {
        name: np.append(given[name], [value, value])
        for name, value in (("model", 7), ("instruction", 99), ("points", 1.0))
    }
    more["category"] = np.append(given["category"], [0, 1])
    slow = comparisons_of(**more, models=given["models"], under=np.append(under, [1.0, 1.0]), rule=rule)
    for pair, lead in fast.items():
        assert vars(lead) == pytest.approx(vars(slow[pair]))


def test_ratios_and_constant_differences():
    points = drawn() ** 2
    under = np.full(60, 2.0)
    given = entries(points)
    pooled = comparisons_of(**given, under=under, rule=PointsRule(0, 100, pooled=True))[0, 1]
    assert pooled.value == pytest.approx(50 * (points[0] - points[1]).mean())
    constant = comparisons_of(**entries(np.tile(np.arange(30.0), (2, 1)) + [[1.0], [0.0]]), rule=PLAIN)[0, 1]
    assert (constant.low, constant.high) == (1, 1) and constant.p == pytest.approx(2 * 0.5**30)


def test_nineteen_instructions_or_a_column_of_one_state_nothing():
    assert comparisons_of(**entries(drawn(n=19)), rule=PLAIN) == {}
    assert comparisons_of(**entries(drawn(), (np.arange(30) == 0).astype(int)), rule=PLAIN) == {}
