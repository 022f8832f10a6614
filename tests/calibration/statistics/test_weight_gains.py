"""Which weights to use, and how far they depend on floor, raters, models and another fit."""

import numpy as np
import pytest
from scipy.stats import t as student

from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.weights.fit import fit_weights, predict_left_out
from calibration.statistics.weights.gains import error_gain, weigh_verdict
from calibration.statistics.weights.least_squares import cluster_sums
from calibration.statistics.weights.sensitivity import compare_fits, floor_path, without_each

ITEMS = ("a", "b", "c")


def drawn(truth, instructions, *, noise=0.3, each=4, seed=0, prefix="i"):
    rng = np.random.default_rng(seed)
    n = instructions * each
    x = rng.integers(0, 5, (n, len(truth))) / 4
    y = np.clip(x @ np.array(truth) + rng.normal(0, noise, n), 0, 10)
    return x, y, ITEMS[: len(truth)], [f"{prefix}{row // each}" for row in range(n)]


class TestVerdict:
    def test_unequal_truth_earns_its_own_weights(self):
        found = weigh_verdict(drawn((7.0, 2.0, 1.0), 40), {})
        assert found.use == "own" and found.sure and found.own_over_equal.low > 0
        assert found.parent_over_equal == () and found.r2["own"] > found.r2["equal"]

    def test_equal_truth_keeps_equal_weights(self):
        found = weigh_verdict(drawn((3.0, 3.0, 3.0), 40, noise=1.0), {})
        assert found.use == "equal" and found.own_over_equal.low < 0

    def test_a_small_category_takes_its_familys_weights(self):
        # Twenty-five answers tell little of three items; eight hundred of the same truth next door tell it well.
        rows = drawn((7.0, 2.0, 0.6), 25, each=1, noise=1.0, seed=4)
        family = {"sibling": drawn((7.0, 2.0, 0.6), 200, noise=0.5, seed=5, prefix="s")}
        found = weigh_verdict(rows, family)
        assert found.use == "parent" and found.mse["parent"] < found.mse["own"]

    def test_the_errors_are_those_of_leaving_one_instruction_out(self):
        x, y, _, labels = rows = drawn((5.0, 3.0, 1.0), 12)
        found = weigh_verdict(rows, {})
        codes = np.array([int(label[1:]) for label in labels])
        out = predict_left_out(cluster_sums(x, y, codes, 12), 0.5)
        assert found.mse["own"] == pytest.approx(out.mse) and found.r2["equal"] == pytest.approx(out.equal_r2)

    def test_a_family_of_the_same_rows_twice_is_the_own_fit(self):
        # The family's sums are the category's plus one sibling's; with an empty sibling both fits agree.
        x, y, items, labels = drawn((5.0, 3.0, 1.0), 10)
        empty = (np.zeros((1, 3)), np.zeros(1), items, ["z"])
        found = weigh_verdict((x, y, items, labels), {"empty": empty})
        assert found.mse["parent"] == pytest.approx(found.mse["own"])

    def test_few_instructions_are_never_sure(self):
        found = weigh_verdict(drawn((7.0, 2.0, 1.0), 10), {})
        # Own weights predict far better, but nothing is claimed of fewer than 20 instructions.
        assert found.use == "equal" and not found.sure and not found.better
        assert found.own_over_equal.low > 0 and found.own_over_equal.interval_kind == "leave_one_out_range"

    def test_one_instruction_has_no_verdict(self):
        with pytest.raises(TooFewRatings):
            weigh_verdict(drawn((7.0, 2.0, 1.0), 1), {})

    def test_gain_by_hand(self):
        # One row of the first instruction saves 3, two of the second nothing: 3/3 = 1; without one of them 0 or 3.
        found = error_gain(np.array([3.0, 0, 0]), np.array([0, 1, 1]), None, spread=6.0)
        assert (found.value, found.low, found.high, found.interval_kind) == (1.0, 0.0, 3.0, "leave_one_out_range")
        assert (found.share, found.p, found.not_stated) == (0.5, None, "few_instructions")

    def test_a_gain_of_one_rater_a_cell_by_hand(self):
        # Equal cells: the value is the mean, and the variance over instructions that of their means over k.
        rng = np.random.default_rng(0)
        saved = rng.normal(size=(30, 4)) + rng.normal(size=4)
        instructions, raters = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
        found = error_gain(saved.ravel(), instructions, raters, spread=1.0)
        v_i = saved.mean(axis=1).var(ddof=1) / 30
        v_r = saved.mean(axis=0).var(ddof=1) / 4
        v_c = saved.var(ddof=1) / 120
        such = max(v_i + v_r - v_c, v_i, v_r)
        freedom = np.clip(such**2 / (v_i**2 / 29 + v_r**2 / 3), 3, 29)
        half = student.ppf(0.975, freedom) * np.sqrt(such)
        assert (found.such_low, found.such_high) == pytest.approx((found.value - half, found.value + half))
        these = student.ppf(0.975, 29) * np.sqrt(v_i)
        assert (found.low, found.high) == pytest.approx((found.value - these, found.value + these))
        assert found.p == pytest.approx(2 * student.sf(abs(found.value) / np.sqrt(such), freedom))


class TestSensitivity:
    def test_the_floor_holds_small_weights_up(self):
        x, y, _, labels = drawn((8.0, 0.1, 1.5), 30, noise=0.1)
        steps = floor_path(x, y, labels, floors=(0.0, 0.5, 1.0))
        assert [step.at_floor for step in steps] == [0, 1, 1]
        assert steps[0].r2 >= steps[1].r2 >= steps[2].r2
        assert steps[1].weights == pytest.approx(fit_weights(x, y, floor=0.5).weights)
        assert floor_path(x[:4], y[:4], labels[:4], floors=(0.0,))[0].unseen_r2 == ()

    def test_leaving_out_equals_fitting_the_rest(self):
        x, y, _, _ = drawn((5.0, 3.0, 1.0), 10)
        raters = ["one", "two", "three", "four"] * 10
        found = without_each(x, y, raters, floor=0.5)
        assert found.labels == ("one", "two", "three", "four") and found.rows.tolist() == [30] * 4
        rest = np.array([rater != "two" for rater in raters])
        assert found.weights[1] == pytest.approx(fit_weights(x[rest], y[rest]).weights)
        whole = fit_weights(x, y).weights
        assert found.shift[1] == pytest.approx(np.abs(found.weights[1] - whole).sum() / 2)

    def test_one_who_gave_nearly_all_answers_cannot_be_left_out(self):
        x, y, _, _ = drawn((5.0, 3.0, 1.0), 10)
        found = without_each(x, y, ["all"] * 38 + ["few"] * 2, floor=0.5)
        assert found.impossible == ("all",) and found.labels == ("few",)
        with pytest.raises(TooFewRatings):
            without_each(x, y, ["all"] * 40, floor=0.5)

    def test_a_fit_compared_with_itself_saves_nothing(self):
        x, y, _, labels = drawn((5.0, 3.0, 1.0), 25)
        found = compare_fits((x, y, labels), (x, y, labels), floors=(0.5, 0.5))
        assert (found.gain.value, found.gain.low, found.gain.high, found.shift) == (0, 0, 0, 0)
        assert found.correlation == pytest.approx(1)

    def test_a_fit_to_another_truth_is_worse(self):
        x, y, _, labels = drawn((8.0, 1.0, 1.0), 40)
        other = drawn((1.0, 1.0, 8.0), 40, prefix="other", seed=9)
        found = compare_fits((x, y, labels), (other[0], other[1], other[3]), floors=(0.5, 0.5))
        assert found.gain.low > 0 and found.mse[0] < found.mse[1] and found.shift > 50

    def test_points_without_variation_have_no_correlation(self):
        x = np.ones((4, 2))
        y = np.array([5.0, 6, 5, 6])
        with pytest.raises((ConstantScores, TooFewRatings)):
            compare_fits((x, y, list("abcd")), (x, y, list("abcd")), floors=(0.5, 0.5))
