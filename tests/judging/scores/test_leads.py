"""How far a board's first model is ahead: by hand, on what both have, corrected, and what leaves it unstated."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from judging.scores.leads import leads_of
from judging.scores.paired_difference import paired_difference
from judging.scores.points import PointsRule

PLAIN = PointsRule(0, 1)


def entries(points, categories=None):
    """Arguments of leads_of from points (models, instructions), nan for none; the first model leads."""
    model, instruction = np.nonzero(np.isfinite(points))
    category = np.zeros(len(model), dtype=int) if categories is None else categories[instruction]
    arrays = {"model": model, "instruction": instruction, "category": category, "points": points[model, instruction]}
    return {**arrays, "leader": 0, "others": list(range(1, len(points)))}


def drawn(models=2, n=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + rng.normal(size=(models, n)) + 0.8 * (np.arange(models)[:, None] == 0)


def test_one_column_is_students_paired_test_and_columns_are_welchs():
    points = drawn()
    tested = ttest_1samp(points[0] - points[1], 0)
    lead = leads_of(**entries(points), rule=PLAIN)[1]
    assert (lead.value, lead.p) == pytest.approx(((points[0] - points[1]).mean(), tested.pvalue))
    assert (lead.low, lead.high) == pytest.approx(tuple(tested.confidence_interval()))
    columns = np.arange(30) % 3
    of_columns = paired_difference(columns, points[0] - points[1], PLAIN)
    lead = leads_of(**entries(points, columns), rule=PLAIN)[1]
    # A column's jackknife has its own n/(n - 1) already, so that it is the same test.
    assert (lead.value, lead.p) == pytest.approx((of_columns.overall.value, of_columns.p))


def test_only_common_instructions_count():
    points = drawn(n=60)
    points[1, 30:] = np.nan
    points[0, 30:] += 50
    lead = leads_of(**entries(points), rule=PLAIN)[1]
    assert lead.n == 30 and lead.value == pytest.approx((points[0] - points[1])[:30].mean())


def test_p_is_holms_and_a_lead_that_is_not_stated_counts():
    points = drawn(models=4)
    alone = [leads_of(**entries(points[[0, other]]), rule=PLAIN)[1].p for other in (1, 2, 3)]
    found = leads_of(**entries(points), rule=PLAIN)
    order = np.argsort(alone)
    steps = np.minimum(np.maximum.accumulate(np.array(alone)[order] * [3, 2, 1]), 1)
    assert [found[1 + place].p for place in order] == pytest.approx(steps.tolist())
    points[3, 10:] = np.nan
    fewer = leads_of(**entries(points), rule=PLAIN)
    assert 3 not in fewer and fewer[1].compared == 3
    assert fewer[1].p >= alone[0]


def test_ratios_and_constant_differences():
    points = drawn() ** 2
    under = np.full(60, 2.0)
    given = entries(points)
    pooled = leads_of(**given, under=under, rule=PointsRule(0, 100, pooled=True))[1]
    assert pooled.value == pytest.approx(50 * (points[0] - points[1]).mean())
    constant = leads_of(**entries(np.tile(np.arange(30.0), (2, 1)) + [[1.0], [0.0]]), rule=PLAIN)[1]
    assert (constant.low, constant.high) == (1, 1) and constant.p == pytest.approx(2 * 0.5**30)


def test_nineteen_instructions_or_a_column_of_one_state_nothing():
    assert leads_of(**entries(drawn(n=19)), rule=PLAIN) == {}
    assert leads_of(**entries(drawn(), (np.arange(30) == 0).astype(int)), rule=PLAIN) == {}
