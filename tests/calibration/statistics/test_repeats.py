import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import t as student
from sklearn.metrics import cohen_kappa_score

from calibration.statistics.agreement.proportions import wilson_ends
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.raters.behaviour import failed_controls, reading_pace, same_answers, side_preference
from calibration.statistics.raters.repeats import consistency, pair_consistency, repeat_kappa
from tests.calibration.undefined import undefined


def test_the_published_example():
    # LLMEval: annotator A answers task 1 with (1, 1, 1, 0), which is 3/4.
    found = consistency([1, 1, 1, 0], units=["t1"] * 4, raters=["A"] * 4, order=np.arange(4))
    assert found.raters["A"].value == 0.75
    assert found.overall.value == 0.75
    assert found.first_repeat["A"].value == 1


def test_consistency_by_hand():
    # A: task 1 (x, x), task 2 (x, y, y): 2 + 2 of 5. B: task 1 (y, x): 1 of 2; task 3 once.
    found = consistency(
        list("xxxyyyxz"),
        units=[1, 1, 2, 2, 2, 1, 1, 3],
        raters=list("AAAAABBB"),
        order=np.array([0, 5, 1, 2, 3, 0, 1, 0]),
        draws=10,
    )
    assert (found.raters["A"].most_frequent, found.raters["A"].asked, found.raters["A"].value) == (4, 5, 0.8)
    assert found.raters["B"].value == 0.5
    assert found.overall.value == pytest.approx(5 / 7)
    assert found.asked_once == 1
    assert (found.first_repeat["A"].value, found.first_repeat["B"].value) == (0.5, 0)
    assert found.first_repeat_overall.n == 3
    # A without task 1: 2/3; without task 2: 2/2.
    assert (found.raters["A"].low, found.raters["A"].high) == pytest.approx((2 / 3, 1))


def test_first_and_second_answers_follow_the_order_given():
    found = consistency(list("aab"), units=[1, 1, 1], raters=[1, 1, 1], order=np.array([2, 0, 1]))
    assert found.first_repeat[1].value == 0


def asked_twice(differs, *, clusters=None, draws=200):
    """One rater's consistency over units asked twice, of which those of `differs` (n,) were answered differently."""
    n = len(differs)
    return consistency(
        np.concatenate([np.zeros(n, dtype=int), np.asarray(differs, dtype=int)]),
        units=np.tile(np.arange(n), 2),
        raters=[1] * (2 * n),
        order=np.repeat([0, 1], n),
        clusters=None if clusters is None else np.tile(clusters, 2),
        draws=draws,
    )


def test_many_tasks_asked_twice_have_wilsons_ends_of_first_repeat_agreement():
    found = asked_twice([1] * 6 + [0] * 34)
    rate, again = found.raters[1], found.first_repeat[1]
    assert rate.interval_kind == again.interval_kind == "wilson95"
    assert (rate.value, again.value) == pytest.approx((37 / 40, 34 / 40))
    # A unit answered alike counts 2 of 2, another 1 of 2: the rate is (1 + agreement)/2, and so are its ends.
    assert (rate.low, rate.high) == pytest.approx(((1 + again.low) / 2, (1 + again.high) / 2))
    assert asked_twice([1] * 6 + [0] * 34, draws=0).raters[1].interval_kind == "none"


def test_a_rater_who_never_differed_may_yet():
    rate = asked_twice([0] * 20).raters[1]
    # Wilson's lower end at 20 of 20 is n/(n + 1.96^2).
    assert (rate.value, rate.high) == (1, 1)
    assert rate.low == pytest.approx((1 + 20 / (20 + 1.959964**2)) / 2)


def test_units_of_one_task_are_not_independent_repeats():
    differs = [1] * 12 + [0] * 108
    alone = asked_twice(differs).raters[1]
    together = asked_twice(differs, clusters=np.repeat(np.arange(30), 4)).raters[1]
    assert together.high - together.low > 1.4 * (alone.high - alone.low)
    assert together.value == alone.value


def test_units_asked_more_often_leave_more_room():
    answers = np.array([[0, 0, 0]] * 20 + [[0, 1, 2]] * 5)
    found = consistency(
        answers.ravel(), units=np.repeat(np.arange(25), 3), raters=[1] * 75, order=np.tile([0, 1, 2], 25), draws=10
    ).overall
    # 40 of 50 further askings gave the most frequent answer again, whole tasks at a time: 25 tasks are 25 of them.
    assert found.value == pytest.approx(65 / 75)
    t = float(student.ppf(0.975, 24))
    n = 0.8 * 0.2 / (25 / 24 * (20 * 0.4**2 + 5 * 1.6**2) / 50**2) * (1.959964 / t) ** 2
    low, high = wilson_ends(0.8, n)
    assert (found.low, found.high) == pytest.approx((1 - (1 - low) * 2 / 3, 1 - (1 - high) * 2 / 3))


def test_nothing_repeated_is_named():
    with pytest.raises(TooFewRatings, match="twice"):
        consistency([1, 2], units=[1, 2], raters=[1, 1], order=np.array([0, 1]))


repeated = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3), st.integers(0, 1000)),
    min_size=2,
    max_size=50,
    unique_by=lambda row: (row[0], row[1], row[3]),
)


@settings(max_examples=60, deadline=None)
@given(repeated)
def test_consistency_is_between_chance_of_one_answer_and_one(rows):
    unit, rater, answer, order = (np.array(column) for column in zip(*rows, strict=True))
    times = np.unique(rater * 10 + unit, return_counts=True)[1]
    if times.max() < 2:
        return
    found = consistency(answer, units=unit, raters=rater, order=order, draws=5)
    assert 1 / times.max() <= found.overall.value <= 1
    renamed = consistency([f"answer {a}" for a in answer], units=unit, raters=rater, order=order)
    assert renamed.overall.value == found.overall.value
    same = consistency(np.zeros_like(answer), units=unit, raters=rater, order=order)
    assert same.overall.value == 1


def test_repeat_kappa_is_scikit_learns():
    rng = np.random.default_rng(5)
    first = rng.integers(1, 6, size=60)
    second = np.clip(first + rng.integers(-1, 2, size=60), 1, 5)
    found = repeat_kappa(
        np.concatenate([first, second]).astype(float),
        units=np.tile(np.arange(60), 2),
        raters=np.ones(120, dtype=int),
        order=np.repeat([0, 1], 60),
        draws=100,
    )
    assert found.value == pytest.approx(cohen_kappa_score(first, second, weights="quadratic"))
    assert found.low < found.value < found.high
    with undefined("NoDisagreementPossible"):
        repeat_kappa(np.ones(4), units=[1, 2, 1, 2], raters=[1] * 4, order=np.array([0, 0, 1, 1]))


def test_a_rater_who_follows_the_side_is_seen():
    # Always the left one: as before it is the same response, swapped it is the other.
    found = pair_consistency(
        ["r1", "r1", "r1", "r1"], ["r1", "r1", "r2", "r2"], swapped=np.array([False, False, True, True])
    )
    assert (found["same"].value, found["swapped"].value) == (1, 0)
    assert list(pair_consistency(["a"], ["a"], swapped=np.array([True]))) == ["swapped"]
    with pytest.raises(TooFewRatings):
        pair_consistency([], [], swapped=np.array([], dtype=bool))


def test_pace_by_hand():
    # A: 60 s for 200 words and 60 s for 100: 30 and 60 a hundred; together 120 for 300 = 40.
    found = reading_pace(np.array([60.0, 60, 10]), np.array([200, 100, 100]), ["A", "A", "B"])
    assert (found["A"].total, found["A"].median, found["A"].n) == (40, 45, 2)
    assert found["B"].total == 10
    with undefined("OutOfRange"):
        reading_pace(np.array([1.0]), np.array([0]), ["A"])
    with undefined("OutOfRange"):
        reading_pace(np.array([-1.0]), np.array([10]), ["A"])


def test_straight_lining_by_hand():
    found = same_answers([3, 3, 3, 3, 1, 2, 5], tasks=[1, 1, 2, 2, 1, 1, 2], raters=list("AAAABBB"))
    assert (found["A"].most_common, found["A"].flat_tasks, found["A"].tasks) == (1, 2, 2)
    assert (found["B"].most_common, found["B"].flat_tasks, found["B"].tasks) == (pytest.approx(1 / 3), 0, 1)


def test_side_preference_by_hand():
    found = side_preference(np.array([1] * 9 + [2] + [0] * 3 + [0]), raters=["A"] * 13 + ["B"])
    assert found["A"].first.value == 0.9
    # It inverts Wilson's interval of 9 in 10: (.9 - .5)/sqrt(.25/10) = 2.53 standard errors.
    assert found["A"].p == pytest.approx(0.011412, abs=1e-6)
    assert not found["A"].preferred
    assert found["A"].first.low > 0.5
    assert found["A"].ties == 3
    assert "B" not in found
    with undefined("OutOfRange"):
        side_preference(np.array([3]), raters=["A"])


def test_failed_controls_by_hand():
    found = failed_controls(np.array([True, False, False, False, True]), list("AAAAB"))
    assert (found["A"].value, found["B"].value) == (0.25, 1)
    assert found["B"].low < 1
