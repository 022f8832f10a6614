import json
from math import inf, isinf

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls
from sklearn.linear_model import LinearRegression

from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.resampling import bootstrap_counts
from calibration.statistics.weights.certificates import (
    certificate_from_dict,
    certificate_to_dict,
    fit_from_dict,
    fit_to_dict,
    pooled_from_dict,
    pooled_to_dict,
)
from calibration.statistics.weights.fit import certify_weights, fit_weights, pool_weights
from calibration.statistics.weights.least_squares import cluster_sums, floored_solve
from calibration.statistics.weights.populations import TheseEnds, weight_populations
from tests.calibration.undefined import undefined

RECIPE_ITEMS = ["grammar", "fluency", "verbosity", "structure", "success"]
HANNA_ITEMS = ["Relevance", "Coherence", "Empathy", "Surprise", "Complexity"]

levels = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@st.composite
def ratings(draw, least=0):
    p = draw(st.integers(1, 5))
    n = draw(st.integers(max(p, 2) + least, 25))
    x = draw(arrays(np.float64, (n, p), elements=levels))
    y = draw(arrays(np.float64, n, elements=st.integers(0, 10).map(float)))
    if np.ptp(y) == 0:
        y = y.copy()
        y[0] = 10 - y[0] if y[0] != 5 else 0.0
    return x, y


def row_level(x, y, floor=0.5):
    return floor + nnls(x, y - floor * x.sum(axis=1))[0]


def checklists(rng, *, instructions=17, per=20, items=6):
    x = np.round(rng.beta(3, 1.2, size=(instructions * per, items)) * 4) / 4
    y = x @ rng.uniform(0.2, 3, items) + rng.normal(size=len(x))
    return x, np.clip(np.round(y), 0, 10), np.repeat(np.arange(instructions), per)


@pytest.fixture(scope="module")
def recipes(shared_data):
    rows = pd.read_csv(shared_data("recipes.csv.gz"))
    wide = rows.pivot_table(index=["item_id", "annotator", "filler"], columns="criterion", values="score")
    return wide.reset_index()


def recipe_rows(wide):
    """Scales of 1 to 6 as answers in 0..1 and overall scores in 0..10."""
    return (wide[RECIPE_ITEMS].to_numpy() - 1) / 5, (wide["overall"].to_numpy() - 1) * 2


class TestPublished:
    """Values computed from public data, stated with those data."""

    def test_recipes(self, recipes):
        x, y = recipe_rows(recipes)
        fit = fit_weights(x, y)
        assert fit.n == 1056
        assert fit.weights == pytest.approx([5.43, 41.10, 6.29, 11.45, 35.73], abs=0.005)
        assert fit.raw_weights == pytest.approx([0.5, 3.7826, 0.5789, 1.0537, 3.2890], abs=1e-4)
        assert fit.r2 == pytest.approx(0.8507, abs=5e-5)
        assert fit.at_floor.tolist() == [True, False, False, False, False]
        assert (fit.rank, fit.collinear) == (5, False)

    def test_recipes_item_means(self, recipes):
        means = recipes.groupby("item_id")[[*RECIPE_ITEMS, "overall"]].mean()
        fit = fit_weights(*recipe_rows(means))
        assert fit.n == 52
        assert fit.weights == pytest.approx([5.37, 55.90, 5.94, 5.37, 27.42], abs=0.005)
        assert fit.r2 == pytest.approx(0.9711, abs=5e-5)

    def test_recipes_without_attention_fillers(self, recipes):
        fit = fit_weights(*recipe_rows(recipes[recipes["filler"] == 0]))
        assert fit.n == 880
        assert fit.weights == pytest.approx([5.39, 38.05, 10.96, 9.57, 36.02], abs=0.005)
        assert fit.r2 == pytest.approx(0.8530, abs=5e-5)

    def test_recipes_certificate(self, recipes):
        x, y = recipe_rows(recipes)
        certificate = certify_weights(
            x,
            y,
            instructions=recipes["item_id"].tolist(),
            raters=recipes["annotator"].tolist(),
            models=[item.rsplit("/", 1)[1] for item in recipes["item_id"]],
        )
        assert certificate.ols.r2 == pytest.approx(0.8617, abs=5e-5)
        assert certificate.ols_no_intercept.r2 == pytest.approx(0.8509, abs=5e-5)
        assert certificate.clusters == {"instruction": 52, "rater": 88, "model": 7}
        assert certificate.warnings == ()
        by_instruction = certificate.out_of_sample["instruction"]
        assert certificate.fit.r2 > by_instruction.r2 > by_instruction.equal_r2
        for kind in ("instruction", "rater"):
            ends = certificate.intervals[kind]
            assert (ends.interval_kind, ends.draws) == ("bootstrap95", 1000)
            assert (ends.weights_low <= certificate.fit.weights + 1e-9).all()
            assert (ends.weights_high >= certificate.fit.weights - 1e-9).all()
            assert ends.r2_low < certificate.fit.r2 < ends.r2_high

    def test_hanna_engagement_as_overall(self, shared_data):
        rows = pd.read_csv(shared_data("hanna_human.csv.gz"))
        wide = rows.pivot_table(index=["item_id", "annotator_slot"], columns="criterion", values="score")
        fit = fit_weights((wide[HANNA_ITEMS].to_numpy() - 1) / 4, (wide["Engagement"].to_numpy() - 1) * 2.5)
        assert fit.weights == pytest.approx([4.90, 31.53, 15.68, 8.98, 38.90], abs=0.005)
        assert fit.r2 == pytest.approx(0.6981, abs=5e-5)


class TestByHand:
    def test_an_exact_solution_above_the_floor(self):
        # 1*w1 = 4, 1*w2 = 2, w1 + w2 = 6: w = (4, 2) without error.
        fit = fit_weights(np.array([[1, 0], [0, 1], [1, 1]]), np.array([4, 2, 6]))
        assert fit.raw_weights == pytest.approx([4, 2])
        assert fit.weights == pytest.approx([400 / 6, 200 / 6])
        assert fit.r2 == pytest.approx(1)
        assert not fit.at_floor.any()

    def test_a_weight_held_by_the_floor(self):
        # y = (4, 0, 4) pulls w2 below .5; with w2 = .5, w1 minimises (4 - w1)^2 + (3.5 - w1)^2: w1 = 3.75.
        # Errors .25, -.5, -.25: SSE = .375. Mean 8/3: SST = 2*(4/3)^2 + (8/3)^2 = 32/3. R2 = 1 - 1.125/32.
        fit = fit_weights(np.array([[1, 0], [0, 1], [1, 1]]), np.array([4, 0, 4]))
        assert fit.raw_weights == pytest.approx([3.75, 0.5])
        assert fit.at_floor.tolist() == [False, True]
        assert fit.r2 == pytest.approx(1 - 1.125 / 32)
        assert fit.mse == pytest.approx(0.125)

    def test_collinear_items_share_by_smallest_norm(self):
        # The second item is half the first: 4 = w1 + w2/2. With v = w - .5: v1 + v2/2 = 3.25, and the shortest
        # such v lies along (1, .5): v = 3.25/1.25 * (1, .5) = (2.6, 1.3).
        x = np.array([[1, 0.5], [0.5, 0.25], [0, 0]])
        fit = fit_weights(x, x @ np.array([2, 4]))
        assert fit.raw_weights == pytest.approx([3.1, 1.8])
        assert (fit.rank, fit.collinear) == (1, True)
        assert fit.condition_number == pytest.approx(1)

    def test_an_item_nobody_ever_credits_stays_at_the_floor(self):
        fit = fit_weights(np.array([[1, 0], [0.5, 0], [0, 0]]), np.array([8, 4, 0]))
        assert fit.raw_weights == pytest.approx([8, 0.5])
        assert fit.at_floor.tolist() == [False, True]
        assert fit.collinear

    def test_answers_that_are_all_nought_leave_every_weight_at_the_floor(self):
        fit = fit_weights(np.zeros((3, 2)), np.array([1, 2, 3]))
        assert fit.raw_weights.tolist() == [0.5, 0.5]
        assert (fit.rank, fit.collinear) == (0, True)
        # Every prediction is 0: SSE 14, SST 2.
        assert fit.r2 == pytest.approx(1 - 14 / 2)

    def test_baselines(self):
        # Sum of answers s = (1, 1, 2), y = (4, 2, 6): equal weight s.y/s.s = 18/6 = 3, errors 1, -1, 0; SST = 8.
        # Mean answer times 10 = (5, 5, 10): errors -1, -3, -4, SSE 26.
        x, y = np.array([[1, 0], [0, 1], [1, 1]]), np.array([4, 2, 6])
        certificate = certify_weights(x, y, instructions=[1, 2, 3], draws=0)
        assert certificate.equal_fitted.raw_weights == pytest.approx([3, 3])
        assert certificate.equal_fitted.r2 == pytest.approx(1 - 2 / 8)
        assert certificate.equal_fitted.mse == pytest.approx(2 / 3)
        assert certificate.equal_plain.raw_weights == pytest.approx([5, 5])
        assert certificate.equal_plain.r2 == pytest.approx(1 - 26 / 8)

    def test_prediction_of_left_out_instructions(self):
        # One item, answers 1: w is the mean of the other instructions. y = 2, 4, 9; left out they are predicted
        # 6.5, 5.5, 3: errors 4.5, 1.5, 6, SSE 58.5; mean 5, SST 26; R2 = 1 - 58.5/26 = -1.25.
        certificate = certify_weights(np.ones((3, 1)), np.array([2, 4, 9]), instructions=["a", "b", "c"])
        left_out = certificate.out_of_sample["instruction"]
        assert left_out.r2 == left_out.equal_r2 == pytest.approx(-1.25)
        assert left_out.mse == pytest.approx(19.5)
        assert certificate.warnings == ("few_clusters", "not_better_than_equal", "rows_under_10_per_item")
        # The range leaving one out: the weight is always 100 of 100; R2 of a constant prediction at the mean is 0.
        ends = certificate.intervals["instruction"]
        assert ends.interval_kind == "leave_one_out_range"
        assert (ends.weights_low[0], ends.weights_high[0]) == (100, 100)
        assert (ends.r2_low, ends.r2_high) == pytest.approx((0, 0), abs=1e-12)

    def test_pooling_toward_the_parent(self):
        # Each category has one item "q" with answers 1; the plain weight is the mean. a: (2, 4), b: (6, 8);
        # parent 5. With strength s: (sum y + s*5)/(2 + s).
        ones = np.ones((2, 1))
        pooled = pool_weights(
            {"a": (ones, np.array([2, 4]), ["q"], [1, 2]), "b": (ones, np.array([6, 8]), ["q"], [1, 2])},
            strengths=[2.0],
            folds=2,
        )
        assert pooled.parent == {"q": pytest.approx(5)}
        assert [strength for strength, _ in pooled.path] == [0, 2, inf]
        expected = {0: (3, 7), 2: (4, 6), inf: (5, 5)}[pooled.strength]
        for name, weight in zip("ab", expected, strict=True):
            assert pooled.categories[name].raw_weights == pytest.approx([weight])
        # Folds leave one row out of each category; whichever row pairs with which, the plain error is 4 for each.
        assert pooled.path[0][1] == pytest.approx(4)


class TestProperties:
    @given(ratings(), st.sampled_from([0.1, 0.5, 1.0]))
    def test_optimal_and_above_the_floor(self, rows, floor):
        x, y = rows
        fit = fit_weights(x, y, floor=floor)
        assert (fit.raw_weights >= floor - 1e-12).all()
        assert fit.weights.sum() == pytest.approx(100)
        assert fit.kkt_violation < 1e-8
        gradient = x.T @ (x @ fit.raw_weights - y)
        assert (gradient > -1e-7).all()
        assert np.abs(gradient[~fit.at_floor]).max(initial=0) < 1e-7
        assert np.mean((y - x @ fit.raw_weights) ** 2) == pytest.approx(fit.mse)

    @given(ratings())
    def test_the_same_optimum_as_scikit_learn(self, rows):
        x, y = rows
        fit = fit_weights(x, y)
        theirs = LinearRegression(positive=True, fit_intercept=False).fit(x, y - 0.5 * x.sum(axis=1))
        error = np.mean((y - x @ (0.5 + theirs.coef_)) ** 2)
        assert fit.mse == pytest.approx(error, abs=1e-9)
        if not fit.collinear:
            assert fit.raw_weights == pytest.approx(0.5 + theirs.coef_, abs=1e-7)

    @given(ratings(), st.randoms(use_true_random=False))
    def test_order_of_rows_and_items_does_not_matter(self, rows, random):
        x, y = rows
        row_order, item_order = list(range(len(x))), list(range(x.shape[1]))
        random.shuffle(row_order)
        random.shuffle(item_order)
        fit = fit_weights(x, y)
        shuffled = fit_weights(x[row_order][:, item_order], y[row_order])
        assert shuffled.raw_weights == pytest.approx(fit.raw_weights[item_order], abs=1e-7)
        assert shuffled.r2 == pytest.approx(fit.r2)

    @given(ratings())
    def test_repeating_every_row_changes_nothing_but_n(self, rows):
        x, y = rows
        once, twice = fit_weights(x, y), fit_weights(np.vstack([x, x]), np.concatenate([y, y]))
        assert twice.raw_weights == pytest.approx(once.raw_weights, abs=1e-7)
        assert (twice.r2, twice.mse, twice.n) == (pytest.approx(once.r2), pytest.approx(once.mse), 2 * once.n)

    @given(ratings())
    def test_duplicated_item_shares_its_weight_evenly(self, rows):
        x, y = rows
        if len(x) < x.shape[1] + 1:
            return
        fit = fit_weights(np.column_stack([x, x[:, 0]]), y)
        assert fit.collinear
        assert fit.raw_weights[0] == pytest.approx(fit.raw_weights[-1], abs=1e-7)

    @given(ratings())
    @settings(max_examples=60)
    def test_collinear_items_get_the_limit_of_a_vanishing_ridge(self, rows):
        x, y = rows
        x = np.column_stack([x, x.mean(axis=1), x[:, :1]])
        if len(x) < x.shape[1]:
            return
        fit = fit_weights(x, y)
        shifted = y - 0.5 * x.sum(axis=1)
        plain = nnls(x, shifted)[0]
        ridge = 1e-5 * np.eye(x.shape[1])
        limit = nnls(np.vstack([x, ridge]), np.concatenate([shifted, np.zeros(x.shape[1])]))[0]
        assert x @ (fit.raw_weights - 0.5) == pytest.approx(x @ plain, abs=1e-7)
        assert np.linalg.norm(fit.raw_weights - 0.5) <= np.linalg.norm(limit) + 1e-5

    @given(ratings(), st.integers(0, 1000))
    @settings(max_examples=60)
    def test_refits_from_sums_equal_refits_from_rows(self, rows, seed):
        x, y = rows
        codes = np.arange(len(x)) % 4
        counts = bootstrap_counts(4, 10, np.random.default_rng(seed))
        drawn = cluster_sums(x, y, codes, 4).combine(counts)
        batch = floored_solve(drawn, 0.5)
        for number, weights in zip(counts, batch, strict=True):
            repeats = number[codes].astype(int)
            rows_x, rows_y = np.repeat(x, repeats, axis=0), np.repeat(y, repeats)
            plain = row_level(rows_x, rows_y)
            assert rows_x @ weights == pytest.approx(rows_x @ plain, abs=1e-8)
            if np.linalg.matrix_rank(rows_x) == x.shape[1]:
                assert weights == pytest.approx(plain, abs=1e-8)

    @given(ratings(least=2), st.floats(0, 50))
    @settings(max_examples=50)
    def test_pooling_runs_from_the_plain_fit_to_the_parent(self, rows, strength):
        x, y = rows
        keys = [f"k{i}" for i in range(x.shape[1])]
        half = len(x) // 2
        if half < 1 or np.ptp(y[:half]) == 0 or np.ptp(y[half:]) == 0:
            return
        labels = np.arange(len(x))
        pooled = pool_weights(
            {"a": (x[:half], y[:half], keys, labels[:half]), "b": (x[half:], y[half:], keys, labels[half:])},
            strengths=[strength],
        )
        whole = fit_weights(x, y)
        assert list(pooled.parent.values()) == pytest.approx(whole.raw_weights, abs=1e-6)
        best = min(mse for _, mse in pooled.path)
        assert dict(pooled.path)[pooled.strength] == best
        assert pooled.gain >= 0
        for name, part in (("a", slice(0, half)), ("b", slice(half, None))):
            plain = pooled.categories[name].plain_raw_weights
            assert x[part] @ plain == pytest.approx(x[part] @ row_level(x[part], y[part]), abs=1e-6)
            chosen = {0.0: plain, inf: whole.raw_weights}.get(pooled.strength)
            if chosen is not None:
                assert pooled.categories[name].raw_weights == pytest.approx(chosen, abs=1e-6)


class TestCertificate:
    def test_leaving_clusters_out_equals_refitting_the_rows(self):
        x, y, instructions = checklists(np.random.default_rng(1), instructions=25)
        raters = np.tile(np.arange(5), len(x) // 5)
        certificate = certify_weights(x, y, instructions=instructions, raters=raters, draws=0)
        for kind, labels in (("instruction", instructions), ("rater", raters)):
            predicted, equal = np.empty(len(y)), np.empty(len(y))
            for label in np.unique(labels):
                out = labels == label
                predicted[out] = x[out] @ row_level(x[~out], y[~out])
                score = x[~out].mean(axis=1)
                equal[out] = x[out].mean(axis=1) * (score @ y[~out]) / (score @ score)
            spread = ((y - y.mean()) ** 2).sum()
            found = certificate.out_of_sample[kind]
            assert found.r2 == pytest.approx(1 - ((y - predicted) ** 2).sum() / spread, abs=1e-10)
            assert found.equal_r2 == pytest.approx(1 - ((y - equal) ** 2).sum() / spread, abs=1e-10)
            assert found.mse == pytest.approx(((y - predicted) ** 2).mean())

    def test_ols_equals_statsmodels(self):
        x, y, instructions = checklists(np.random.default_rng(2))
        certificate = certify_weights(x, y, instructions=instructions, draws=0)
        with_intercept = sm.OLS(y, sm.add_constant(x)).fit()
        assert certificate.ols.r2 == pytest.approx(with_intercept.rsquared)
        assert certificate.ols.raw_weights == pytest.approx(with_intercept.params[1:])
        assert certificate.ols.intercept == pytest.approx(with_intercept.params[0])
        without = sm.OLS(y, x).fit()
        assert certificate.ols_no_intercept.raw_weights == pytest.approx(without.params)
        # statsmodels reports an uncentred R2 without intercept; ours is centred throughout.
        assert certificate.ols_no_intercept.r2 == pytest.approx(1 - without.ssr / ((y - y.mean()) ** 2).sum())

    def test_few_clusters_get_a_range_and_many_an_interval(self):
        x, y, instructions = checklists(np.random.default_rng(3))
        raters = np.tile(np.arange(5), len(x) // 5)
        few = certify_weights(x, y, instructions=instructions, raters=raters)
        assert {ends.interval_kind for ends in few.intervals.values()} == {"leave_one_out_range"}
        assert {"few_clusters", "few_raters"} <= set(few.warnings)
        forced = certify_weights(x, y, instructions=instructions, raters=raters, min_clusters=2)
        assert {ends.interval_kind for ends in forced.intervals.values()} == {"bootstrap95"}
        assert (forced.intervals["instruction"].weights_low < few.intervals["instruction"].weights_low).all()

    def test_one_instruction_cannot_be_cross_validated(self):
        x, y, _ = checklists(np.random.default_rng(4))
        certificate = certify_weights(x, y, instructions=["only"] * len(y))
        assert "no_cross_validation" in certificate.warnings
        assert (certificate.out_of_sample, certificate.intervals) == ({}, {})
        assert certificate.clusters == {"instruction": 1}

    def test_weights_that_do_not_beat_equal_ones_are_called_so(self):
        rng = np.random.default_rng(7)
        x = np.round(rng.random((30, 6)) * 4) / 4
        y = np.clip(np.round(x.mean(axis=1) * 10 + rng.normal(0, 2, 30)), 0, 10)
        certificate = certify_weights(x, y, instructions=np.arange(30), draws=0)
        assert certificate.out_of_sample["instruction"].r2 < certificate.out_of_sample["instruction"].equal_r2
        assert certificate.warnings == ("not_better_than_equal", "rows_under_10_per_item")

    def test_collinear_items_and_short_folds_are_called_so(self):
        x = np.array([[1, 1], [0.5, 0.5], [0, 0], [1, 1]])
        certificate = certify_weights(x, np.array([8, 5, 0, 9]), instructions=[1, 1, 1, 2])
        assert {"collinear", "underdetermined_fold"} <= set(certificate.warnings)

    def test_nearly_cover_the_truth(self):
        """95 % intervals over 40 instructions, with an effect shared by each instruction's rows."""
        rng = np.random.default_rng(11)
        truth = np.array([1.0, 3.0, 2.0])

        def study(instructions):
            latent = rng.normal(size=(instructions, 1, 1)) * 0.7 + rng.normal(size=(instructions, 10, 3))
            x = np.clip(np.round(latent + 2), 0, 4) / 4
            y = x @ truth + 2 + rng.normal(size=(instructions, 1)) * 0.5 + rng.normal(size=(instructions, 10)) * 0.6
            return x.reshape(-1, 3), np.clip(y.reshape(-1), 0, 10), np.repeat(np.arange(instructions), 10)

        x, y, _ = study(40_000)
        aim = fit_weights(x, y)
        hits = []
        for seed in range(200):
            x, y, labels = study(40)
            ends = certify_weights(x, y, instructions=labels, draws=300, seed=seed).intervals["instruction"]
            hits.append(
                [
                    *((ends.weights_low <= aim.weights) & (aim.weights <= ends.weights_high)),
                    ends.r2_low <= aim.r2 <= ends.r2_high,
                ]
            )
        # 800 yes-or-no results, correlated within a study; a row bootstrap of these designs covers well under .90.
        assert 0.92 <= np.mean(hits) <= 0.975

    def test_the_same_seed_gives_the_same_certificate(self):
        x, y, instructions = checklists(np.random.default_rng(5), instructions=30)
        one, two = (certify_weights(x, y, instructions=instructions, draws=50, seed=9) for _ in range(2))
        assert certificate_to_dict(one) == certificate_to_dict(two)


class TestPooling:
    def test_cross_validation_leaves_instructions_out_of_category_and_parent(self):
        rng = np.random.default_rng(6)
        categories = {}
        for name in ("a", "b", "c"):
            x, y, instructions = checklists(rng, instructions=6, per=5, items=3)
            categories[name] = (x, y, ["shared", "other", f"own_{name}"], instructions)
        pooled = pool_weights(categories, strengths=[4.0], folds=18, seed=2)
        # Eighteen instructions in eighteen folds: the folds are "leave one instruction out" whatever the seed.
        keys = list(pooled.parent)
        errors = {0.0: 0.0, 4.0: 0.0, inf: 0.0}
        for left, (_, _, _, instructions) in categories.items():
            for number in np.unique(instructions):
                whole_x, whole_y, kept = [], [], {}
                for name, (x, y, own, labels) in categories.items():
                    stay = ~((labels == number) & (name == left))
                    wide = np.zeros((stay.sum(), len(keys)))
                    wide[:, [keys.index(key) for key in own]] = x[stay]
                    whole_x.append(wide)
                    whole_y.append(y[stay])
                    kept[name] = (x[stay], y[stay])
                parent = row_level(np.vstack(whole_x), np.concatenate(whole_y))
                x, y, own, labels = categories[left]
                parent = parent[[keys.index(key) for key in own]]
                train_x, train_y = kept[left]
                out = labels == number
                ridge = row_level(np.vstack([train_x, 2 * np.eye(3)]), np.concatenate([train_y, 2 * parent]))
                for strength, weights in ((0.0, row_level(train_x, train_y)), (4.0, ridge), (inf, parent)):
                    errors[strength] += ((y[out] - x[out] @ weights) ** 2).sum()
        assert dict(pooled.path) == pytest.approx({s: e / 90 for s, e in errors.items()}, abs=1e-9)

    def test_pooling_helps_small_categories_that_share_their_weights(self):
        rng = np.random.default_rng(8)
        truth = np.array([1.0, 4.0, 2.0, 1.5])
        categories = {}
        for name in "abcdefgh":
            x = np.round(rng.random((10, 4)) * 4) / 4
            y = np.clip(x @ truth + rng.normal(size=10), 0, 10)
            categories[name] = (x, y, ["w", "x", "y", "z"], np.arange(10))
        pooled = pool_weights(categories)
        assert pooled.strength > 0
        assert pooled.gain > 0
        off_plain = np.mean([np.abs(c.plain_raw_weights - truth).mean() for c in pooled.categories.values()])
        off_pooled = np.mean([np.abs(c.raw_weights - truth).mean() for c in pooled.categories.values()])
        assert off_pooled < off_plain

    def test_pooled_altogether_a_weight_at_its_floor_has_the_interval_of_the_fit_of_all_rows(self):
        rng = np.random.default_rng(7)
        instructions, raters = np.repeat(np.arange(24), 4), np.tile(np.arange(6), 16)
        x = np.round(rng.random((96, 3)) * 4) / 4
        y = np.clip(x @ np.array([3.0, 0.45, 4.0]) + rng.normal(size=96), 0, 10)
        of = instructions % 3
        pooled = pool_weights(
            {name: (x[of == name], y[of == name], ["a", "b", "c"], instructions[of == name]) for name in (0, 1, 2)},
            raters={name: raters[of == name] for name in (0, 1, 2)},
        )
        fit = fit_weights(x, y)
        none = TheseEnds(fit.weights, fit.weights, fit.r2, fit.r2, "none")
        whole = weight_populations(x, y, instructions, raters, floor=0.5, at_floor=fit.at_floor, these=none)
        assert isinf(pooled.strength) and fit.at_floor.tolist() == [False, True, False]
        for part in pooled.categories.values():
            found = part.populations
            assert found is not None
            assert found.such_low == pytest.approx(whole.such_low) and found.such_high == pytest.approx(whole.such_high)

    def test_a_strength_barely_above_nought_does_what_the_plain_fit_does(self):
        # Items that differ on three rows only: a billionth of a row is all that tells some weights apart.
        x = np.full((12, 4), 0.5)
        x[0, 0], x[1, 3], x[2, :2] = 1, 1, 0
        y = np.array([0, 0, 2, 10, 10, 0, 0, 0, 1, 0, 10, 0.0])
        keys = ["a", "b", "c", "d"]
        plain = pool_weights({"one": (x, y, keys, np.arange(12))}, strengths=[1e-9]).path
        assert plain[0][0] == 0
        assert plain[1][0] == 1e-9
        assert plain[1][1] == pytest.approx(plain[0][1], abs=1e-4)

    def test_a_category_with_fewer_rows_than_items_can_be_pooled(self):
        x, y, instructions = checklists(np.random.default_rng(9), items=3)
        keys = ["a", "b", "c"]
        pooled = pool_weights(
            {"large": (x, y, keys, instructions), "tiny": (x[:2], np.array([3.0, 8.0]), keys, ["p", "q"])}
        )
        assert pooled.categories["tiny"].weights.sum() == pytest.approx(100)

    def test_what_cannot_be_pooled_is_named(self):
        ones = np.ones((2, 1))
        with pytest.raises(ConstantScores, match="category a"):
            pool_weights({"a": (ones, np.array([2, 2]), ["q"], [1, 2])})
        with pytest.raises(TooFewRatings, match="instructions"):
            pool_weights({"a": (ones, np.array([2, 3]), ["q"], [1, 1])})
        with pytest.raises(ValueError, match="negative"):
            pool_weights({"a": (ones, np.array([2, 3]), ["q"], [1, 2])}, strengths=[-1])
        with pytest.raises(ValueError, match="name each once"):
            pool_weights({"a": (ones, np.array([2, 3]), ["q", "q"], [1, 2])})


class TestRefusals:
    def test_fewer_rows_than_items(self):
        with pytest.raises(TooFewRatings) as refused:
            fit_weights(np.ones((2, 3)), np.array([1, 2]))
        assert (refused.value.n, refused.value.needed) == (2, 3)

    def test_constant_overall(self):
        with pytest.raises(ConstantScores):
            fit_weights(np.array([[0.5], [1.0]]), np.array([7, 7]))

    @pytest.mark.parametrize("bad", [-0.25, 1.25, np.nan, np.inf])
    def test_answers_off_the_range(self, bad):
        with undefined("OutOfRange", match="Checklist answers must lie between 0 and 1"):
            fit_weights(np.array([[0.5], [bad], [1.0]]), np.array([7, 6, 5]))

    def test_overall_off_the_range(self):
        with undefined("OutOfRange", match="found 11"):
            fit_weights(np.array([[0.5], [1.0]]), np.array([7, 11]))

    def test_shapes_that_do_not_match(self):
        with pytest.raises(ValueError, match="do not match"):
            fit_weights(np.ones((3, 1)), np.array([1, 2]))
        with pytest.raises(ValueError, match="2 rater labels for 3"):
            certify_weights(np.ones((3, 1)), np.array([1, 2, 3]), instructions=[1, 2, 3], raters=[1, 2])


class TestWriting:
    def test_a_certificate_survives_json(self):
        x, y, instructions = checklists(np.random.default_rng(10), instructions=30)
        certificate = certify_weights(x, y, instructions=instructions, models=instructions % 3, draws=20)
        written = json.dumps(certificate_to_dict(certificate), allow_nan=False)
        read = certificate_from_dict(json.loads(written))
        assert json.dumps(certificate_to_dict(read)) == written
        assert (read.fit.weights == certificate.fit.weights).all()
        assert read.fit.at_floor.dtype == bool
        assert read.out_of_sample == certificate.out_of_sample

    def test_a_fit_survives_json(self):
        fit = fit_weights(*checklists(np.random.default_rng(12))[:2])
        read = fit_from_dict(json.loads(json.dumps(fit_to_dict(fit))))
        assert (read.raw_weights == fit.raw_weights).all()
        assert read.kkt_violation == fit.kkt_violation

    def test_pooled_fits_survive_json(self):
        x, y, instructions = checklists(np.random.default_rng(13), items=2)
        pooled = pool_weights({"a": (x, y, ["p", "q"], instructions)})
        written = json.dumps(pooled_to_dict(pooled), allow_nan=False)
        read = pooled_from_dict(json.loads(written))
        assert read.path == pooled.path
        assert read.path[-1][0] == inf
        assert read.categories["a"].keys == ("p", "q")
        assert json.dumps(pooled_to_dict(read)) == written
