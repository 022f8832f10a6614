from fractions import Fraction

import evalica
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from calibration.statistics.agreement.alpha import krippendorff_alpha
from calibration.statistics.agreement.kappas import cohen_kappa, fleiss_kappa
from calibration.statistics.agreement.leave_one_out import leave_one_out, outer_leave_one_out
from calibration.statistics.agreement.rater_correlations import icc, rater_matrix
from calibration.statistics.errors import NoStatistic, TooFewRatings
from tests.calibration.undefined import undefined

METRICS = ("nominal", "ordinal", "interval", "ratio")

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", example D: four observers, twelve units.
KRIPPENDORFF_2011 = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]

# Fleiss (1971) as worked in many textbooks: ten subjects, fourteen raters, five categories.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]

# Shrout and Fleiss (1979), table 2: six targets, four judges.
SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])

ratings = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=2, max_size=40)


def columns(pairs):
    array = np.array(pairs, dtype=np.int64)
    return array[:, 0], array[:, 1]


def flat(table):
    """A complete table of units by raters, one line per rating: units, raters, values."""
    units, raters = np.indices(table.shape).reshape(2, -1)
    return units, raters, table.reshape(-1)


def from_counts(counts):
    table = np.array(counts)
    units, labels = np.indices(table.shape).reshape(2, -1)
    return np.repeat(units, table.reshape(-1)), np.repeat(labels, table.reshape(-1))


def krippendorff_example():
    cells = [
        (unit, float(value)) for row in KRIPPENDORFF_2011 for unit, value in enumerate(row.split()) if value != "."
    ]
    return np.array([unit for unit, _ in cells]), np.array([value for _, value in cells])


def definition_of_leave_one_out(tasks, labels, judge=None):
    """Algorithm 1 of HREF, word for word but with the expectation of its random choice, in exact fractions."""
    rates = []
    for task in sorted(set(tasks)):
        own = [label for where, label in zip(tasks, labels, strict=True) if where == task]
        if len(own) < 2:
            continue
        right = Fraction(0)
        for index, label in enumerate(own):
            others = own[:index] + own[index + 1 :]
            top = max(others.count(one) for one in others)
            modes = {one for one in others if others.count(one) == top}
            predicted = label if judge is None else judge[task]
            right += Fraction(int(predicted in modes), len(modes))
        rates.append(right / len(own))
    return float(sum(rates) / len(rates))


@pytest.fixture(scope="module")
def recipes(shared_data):
    rows = pd.read_csv(shared_data("recipes.csv.gz"))
    overall = rows[rows["criterion"] == "overall"]
    return pd.factorize(overall["item_id"])[0], overall["score"].to_numpy()


@pytest.fixture(scope="module")
def pandalm(shared_data):
    return pd.read_csv(shared_data("pandalm_wide.csv"))


def pandalm_ratings(pandalm):
    table = pandalm[["annotator1", "annotator2", "annotator3"]].to_numpy()
    units, _, labels = flat(table)
    return units, labels


class TestLeaveOneOut:
    def test_recipes(self, recipes):
        tasks, scores = recipes
        found = leave_one_out(tasks, scores, draws=500)
        assert found.rate == pytest.approx(0.328106, abs=1e-6)
        assert (found.n_tasks, found.n_labels, found.n_tasks_left_out) == (52, 1056, 0)
        assert found.interval_kind == "wilson95"
        assert found.low < found.rate < found.high
        assert found.chance < found.low

    def test_pandalm(self, pandalm):
        assert leave_one_out(*pandalm_ratings(pandalm)).rate == pytest.approx(0.919920, abs=1e-6)

    @pytest.mark.parametrize(
        ("judge", "unusable", "rate", "n", "missing"),
        [
            ("judge_gpt35", "wrong", 0.688689, 999, 25),
            ("judge_gpt35", "exclude", 0.706366, 974, 25),
            ("judge_pandalm7b", "wrong", 0.660327, 999, 0),
            ("judge_pandalm7b", "exclude", 0.660327, 999, 0),
        ],
    )
    def test_pandalm_judges(self, pandalm, judge, unusable, rate, n, missing):
        verdicts = pandalm[judge].fillna(-1).to_numpy().astype(np.int64)
        found = outer_leave_one_out(*pandalm_ratings(pandalm), verdicts, unusable=unusable)
        assert found.rate == pytest.approx(rate, abs=1e-6)
        assert (found.n_tasks, found.n_unusable, found.unusable) == (n, missing, unusable)

    def test_dices(self, shared_data):
        rows = pd.read_csv(shared_data("dices350_crowd.csv.gz"))
        tasks, labels = pd.factorize(rows["item_id"])[0], pd.factorize(rows["label"])[0]
        assert leave_one_out(tasks, labels).rate == pytest.approx(0.684657, abs=1e-6)
        alpha = krippendorff_alpha(tasks, labels, metric="nominal")
        assert alpha.value == pytest.approx(0.160860, abs=1e-6)
        assert (alpha.n_units, alpha.n_values) == (350, 43_050)

    def test_by_hand(self):
        # Task 0: a a b. Leaving out an a leaves {a, b}, two modes: 1/2 each; leaving out b leaves {a, a}: b is
        # wrong. (1/2 + 1/2 + 0)/3 = 1/3. Task 1: a a, right twice: 1. Task 2: one rater, left out. Mean 2/3.
        found = leave_one_out(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 0, 0, 1]))
        assert found.rate == pytest.approx(2 / 3)
        assert (found.n_tasks, found.n_labels, found.n_tasks_left_out) == (2, 5, 1)
        assert (found.interval_kind, found.low, found.high) == ("none", found.rate, found.rate)
        # Labels at random: a with 4/5, b with 1/5. Task 0's modes: a has (1/2 + 1/2 + 1)/3 = 2/3, b 1/3; task 1's: a.
        # Chance: ((4/5)(2/3) + (1/5)(1/3) + 4/5)/2 = (9/15 + 12/15)/2 = .7.
        assert found.chance == pytest.approx(0.7)

    def test_a_judge_by_hand(self):
        # Task 0 as above: a judge saying a gets 1/2 + 1/2 + 1 over 3 = 2/3; task 1: a judge saying b gets 0.
        tasks, labels = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 0])
        found = outer_leave_one_out(tasks, labels, np.array([0, 1]))
        assert found.rate == pytest.approx(1 / 3)
        # Its labels a, b dealt at random: task 0: (2/3 + 1/3)/2 = 1/2, task 1: 1/2.
        assert found.chance == pytest.approx(0.5)
        unusable = outer_leave_one_out(tasks, labels, np.array([0, -1]))
        assert (unusable.rate, unusable.n_tasks, unusable.n_unusable) == (pytest.approx(2 / 3), 1, 1)
        wrong = outer_leave_one_out(tasks, labels, np.array([0, -1]), unusable="wrong")
        assert (wrong.rate, wrong.n_tasks, wrong.n_unusable) == (pytest.approx(1 / 3), 2, 1)

    def test_a_label_no_rater_gives_is_never_right(self):
        assert outer_leave_one_out(np.array([0, 0]), np.array([1, 1]), np.array([7])).rate == 0

    @given(ratings)
    def test_equals_the_definition(self, pairs):
        tasks, labels = columns(pairs)
        assume(np.bincount(tasks).max() >= 2)
        found = leave_one_out(tasks, labels)
        assert found.rate == pytest.approx(definition_of_leave_one_out(tasks.tolist(), labels.tolist()))
        judge = np.arange(7) % 4
        outer = outer_leave_one_out(tasks, labels, judge)
        assert outer.rate == pytest.approx(definition_of_leave_one_out(tasks.tolist(), labels.tolist(), judge))

    @given(ratings, st.permutations(range(4)), st.randoms(use_true_random=False))
    def test_names_of_labels_and_order_of_ratings_do_not_matter(self, pairs, renamed, random):
        tasks, labels = columns(pairs)
        assume(np.bincount(tasks).max() >= 2)
        order = list(range(len(tasks)))
        random.shuffle(order)
        other = leave_one_out((6 - tasks)[order] * 1_000_000, np.array(renamed)[labels][order])
        found = leave_one_out(tasks, labels)
        assert other.rate == pytest.approx(found.rate)
        assert other.chance == pytest.approx(found.chance)

    def test_few_tasks_get_a_range_over_leaving_one_out(self):
        # Rates 1, 0, 0: leaving the first out 0, another out 1/2.
        found = leave_one_out(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 0]), draws=100)
        assert (found.interval_kind, found.low, found.high) == ("leave_one_out_range", 0, 0.5)

    def test_clusters_of_tasks_are_drawn_whole(self):
        rng = np.random.default_rng(0)
        tasks = np.repeat(np.arange(300), 3)
        agreed = np.repeat(rng.random(30) < 0.5, 30)
        labels = np.where(agreed, 0, np.tile([0, 1, 2], 300))
        alone = leave_one_out(tasks, labels, draws=400)
        together = leave_one_out(tasks, labels, draws=400, clusters=np.repeat(np.arange(30), 30))
        assert (alone.clusters, together.clusters) == (300, 30)
        assert together.rate == alone.rate
        assert together.high - together.low > 2 * (alone.high - alone.low)

    def test_refusals(self):
        with pytest.raises(TooFewRatings):
            leave_one_out(np.array([0, 1]), np.array([0, 0]))
        with pytest.raises(TooFewRatings):
            leave_one_out(np.array([], dtype=int), np.array([], dtype=int))
        with pytest.raises(ValueError, match="from 0 up"):
            leave_one_out(np.array([0, 0]), np.array([0, -1]))
        with pytest.raises(ValueError, match="one task for each label"):
            leave_one_out(np.array([0, 0]), np.array([0]))
        with pytest.raises(ValueError, match="integer codes"):
            leave_one_out(np.array([0, 0]), np.array([0.5, 1]))
        with pytest.raises(TooFewRatings, match="usable verdict"):
            outer_leave_one_out(np.array([0, 0]), np.array([0, 0]), np.array([-1]))
        with pytest.raises(ValueError, match="no entry"):
            outer_leave_one_out(np.array([3, 3]), np.array([0, 0]), np.array([1, 1]))
        with pytest.raises(ValueError, match="different clusters"):
            leave_one_out(np.array([0, 0]), np.array([0, 0]), clusters=["a", "b"])


class TestAlpha:
    @pytest.mark.parametrize(
        ("metric", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
    )
    def test_the_published_example(self, metric, printed):
        found = krippendorff_alpha(*krippendorff_example(), metric=metric)
        assert found.value == pytest.approx(printed, abs=5e-4)
        # Unit 12 has one value and is not pairable: 40 of the 41 values.
        assert (found.n_units, found.n_values) == (11, 40)

    @pytest.mark.parametrize(
        ("metric", "value"), [("nominal", 0.115837), ("ordinal", 0.435101), ("interval", 0.463744)]
    )
    def test_recipes(self, recipes, metric, value):
        found = krippendorff_alpha(*recipes, metric=metric, draws=300)
        assert found.value == pytest.approx(value, abs=1e-6)
        assert found.low < found.value < found.high
        assert found.value == pytest.approx(1 - found.observed / found.expected)

    def test_pandalm(self, pandalm):
        units, labels = pandalm_ratings(pandalm)
        assert krippendorff_alpha(units, labels, metric="nominal").value == pytest.approx(0.864221, abs=1e-6)

    @pytest.mark.parametrize(
        ("criterion", "value"),
        [
            ("Relevance", 0.165052),
            ("Coherence", -0.053903),
            ("Empathy", 0.117139),
            ("Surprise", 0.014875),
            ("Engagement", 0.166599),
        ],
    )
    def test_hanna(self, shared_data, criterion, value):
        rows = pd.read_csv(shared_data("hanna_human.csv.gz"))
        rows = rows[rows["criterion"] == criterion]
        found = krippendorff_alpha(rows["item_id"].to_numpy(), rows["score"].to_numpy(), metric="ordinal")
        assert found.value == pytest.approx(value, abs=1e-6)

    def test_by_hand(self):
        # Units (0, 0), (0, 1), (1, 1): coincidences o01 = o10 = 1, n = 6 with n0 = n1 = 3. Disagreement within
        # 2/6; of all pairs 2*3*3/(6*5) = 18/30. Alpha = 1 - (1/3)/(3/5) = 4/9, whatever the metric of two values.
        units, values = np.array([0, 0, 1, 1, 2, 2]), np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        for metric in METRICS:
            assert krippendorff_alpha(units, values, metric=metric).value == pytest.approx(4 / 9)

    @given(ratings, st.sampled_from(METRICS))
    @settings(deadline=None)
    def test_equals_evalica(self, pairs, metric):
        units, values = columns(pairs)
        rows = pd.DataFrame({"unit": units, "value": values})
        rows["rater"] = rows.groupby("unit").cumcount()
        wide = rows.pivot_table(index="rater", columns="unit", values="value")
        paired = rows[rows["unit"].map(rows["unit"].value_counts()) >= 2]
        assume(paired["value"].nunique() >= 2)
        expected = evalica.alpha(wide, distance=metric).alpha
        assert krippendorff_alpha(units, values, metric=metric).value == pytest.approx(expected, abs=1e-9)

    @given(ratings, st.floats(0.1, 50), st.floats(-20, 20))
    def test_invariances(self, pairs, scale, shift):
        units, values = columns(pairs)
        table = pd.DataFrame({"unit": units, "value": values})
        paired = table[table["unit"].map(table["unit"].value_counts()) >= 2]
        assume(paired["value"].nunique() >= 2)
        moved = values * scale + shift

        def alpha(numbers, metric):
            return krippendorff_alpha(units, numbers, metric=metric).value

        assert alpha(moved, "interval") == pytest.approx(alpha(values, "interval"), abs=1e-7)
        assert alpha(values * scale, "ratio") == pytest.approx(alpha(values, "ratio"), abs=1e-7)
        assert alpha(values.astype(float) ** 3 + values, "ordinal") == pytest.approx(alpha(values, "ordinal"))
        assert alpha((values + 2) % 4, "nominal") == pytest.approx(alpha(values, "nominal"))
        doubled = krippendorff_alpha(np.concatenate([units, units + 7]), np.tile(values, 2), metric="interval")
        assert doubled.observed == pytest.approx(krippendorff_alpha(units, values, metric="interval").observed)

    @pytest.mark.parametrize("metric", METRICS)
    def test_resampled_units_equal_units_written_out(self, metric):
        """The range over leaving one unit out is recomputed from the ratings themselves."""
        units, values = krippendorff_example()
        found = krippendorff_alpha(units, values, metric=metric, draws=10)
        left = [
            krippendorff_alpha(units[units != unit], values[units != unit], metric=metric).value for unit in range(11)
        ]
        assert found.interval_kind == "leave_one_out_range"
        assert (found.low, found.high) == pytest.approx((min(left), max(left)))

    def test_agreement_by_chance_is_near_nought_and_covered(self):
        rng = np.random.default_rng(1)
        found = krippendorff_alpha(np.repeat(np.arange(400), 3), rng.integers(0, 5, 1200), metric="ordinal", draws=500)
        assert found.low < 0 < found.high
        assert abs(found.value) < 0.1

    def test_refusals(self):
        with undefined("NoDisagreementPossible", match=r"All 3 ratings are 2.0"):
            krippendorff_alpha(np.array([0, 0, 0, 1]), np.array([2.0, 2.0, 2.0, 5.0]), metric="interval")
        with pytest.raises(TooFewRatings):
            krippendorff_alpha(np.array([0, 1]), np.array([1.0, 2.0]), metric="nominal")
        with pytest.raises(ValueError, match="from 0 up"):
            krippendorff_alpha(np.array([0, 0]), np.array([-1.0, 2.0]), metric="ratio")
        with pytest.raises(NoStatistic, match="finite"):
            krippendorff_alpha(np.array([0, 0]), np.array([np.nan, 2.0]), metric="nominal")


class TestKappas:
    def test_fleiss_published(self):
        # Mean agreement .378, by chance .213: kappa .210.
        found = fleiss_kappa(*from_counts(FLEISS))
        assert found.value == pytest.approx(0.210, abs=5e-4)
        assert (found.observed, found.expected) == pytest.approx((0.378, 0.213), abs=5e-4)
        assert (found.n_units, found.n_values) == (10, 140)

    def test_fleiss_with_unequal_raters_published(self):
        # The same four raters and twelve subjects in Gwet (2014); irrCAC prints .76117 from .81818 and .23872.
        units, values = krippendorff_example()
        found = fleiss_kappa(units, values.astype(np.int64))
        assert found.value == pytest.approx(0.76117, abs=5e-6)
        assert (found.observed, found.expected) == pytest.approx((0.81818, 0.23872), abs=5e-6)

    def test_fleiss_pandalm(self, pandalm):
        found = fleiss_kappa(*pandalm_ratings(pandalm), draws=200)
        assert found.value == pytest.approx(0.864175, abs=1e-6)
        assert found.low < found.value < found.high

    def test_fleiss_with_unequal_raters_by_hand(self):
        # Units (a, a, b), (a, a), (b): pairs agreeing 1/3 and 1, mean 2/3. Mean shares of a: (2/3 + 1 + 0)/3 = 5/9,
        # of b 4/9: by chance (25 + 16)/81. Kappa = (54 - 41)/(81 - 41) = 13/40.
        found = fleiss_kappa(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 0, 0, 1]))
        assert found.value == pytest.approx(13 / 40)
        assert (found.n_units, found.n_values) == (2, 5)

    @given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=15))
    def test_fleiss_equals_statsmodels_where_raters_are_equal(self, rows):
        table = np.array(rows)
        assume(np.unique(table).size > 1)
        units, _, labels = flat(table)
        counts = np.stack([(table == label).sum(axis=1) for label in range(3)], axis=1)
        assert fleiss_kappa(units, labels).value == pytest.approx(statsmodels_fleiss(counts))

    @pytest.mark.parametrize(("first", "second", "value"), [(1, 2, 0.852023), (1, 3, 0.878944), (2, 3, 0.861661)])
    def test_cohen_pandalm(self, pandalm, first, second, value):
        found = cohen_kappa(
            pandalm[f"annotator{first}"].to_numpy(), pandalm[f"annotator{second}"].to_numpy(), draws=300
        )
        assert found.value == pytest.approx(value, abs=1e-6)
        assert found.low < found.value < found.high

    def test_cohen_by_hand(self):
        # (0,0) 2, (0,1) 1, (1,1) 1: observed 3/4; by chance (3/4)(2/4) + (1/4)(2/4) = 1/2. Kappa 1/2.
        found = cohen_kappa(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
        assert (found.value, found.observed, found.expected) == pytest.approx((0.5, 0.75, 0.5))

    @pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
    def test_cohen_resampled_as_scikit_learn_computes_it(self, weights):
        rng = np.random.default_rng(2)
        first = rng.integers(0, 4, 12)
        second = np.clip(first + rng.integers(-1, 2, 12), 0, 3)
        found = cohen_kappa(first, second, weights=weights, draws=10)
        levels = np.arange(4)
        left = [
            cohen_kappa_score(np.delete(first, i), np.delete(second, i), weights=weights, labels=levels)
            for i in range(12)
        ]
        assert found.value == pytest.approx(cohen_kappa_score(first, second, weights=weights))
        assert (found.low, found.high) == pytest.approx((min(left), max(left)))
        assert found.value == pytest.approx((found.observed - found.expected) / (1 - found.expected))

    def test_refusals(self):
        with undefined("NoDisagreementPossible", match="All 4 ratings are 1"):
            cohen_kappa(np.array([1, 1]), np.array([1, 1]))
        with undefined("NoDisagreementPossible"):
            fleiss_kappa(np.array([0, 0]), np.array([1, 1]))
        with pytest.raises(TooFewRatings):
            fleiss_kappa(np.array([0, 1]), np.array([0, 1]))
        with pytest.raises(TooFewRatings):
            cohen_kappa(np.array([1]), np.array([0]))
        with pytest.raises(ValueError, match="both raters"):
            cohen_kappa(np.array([1, 0]), np.array([0]))


class TestIntraclass:
    def test_the_published_example(self):
        found = icc(*flat(SHROUT_FLEISS))
        assert (found.icc1, found.icc21, found.icc2k) == pytest.approx((0.17, 0.29, 0.62), abs=0.005)
        assert (found.n_units, found.n_raters) == (6, 4)

    def test_by_hand(self):
        # (1, 2), (3, 4): grand 2.5. Between units 2*(1 + 1) = 4 on 1; raters 2*(.25 + .25) = 1 on 1; rest 0; within
        # units (raters and rest) 1 on 2. ICC(1) = (4 - .5)/(4 + .5) = 7/9; ICC(2,1) = 4/(4 + 2*(1)/2) = 4/5;
        # ICC(2,2) = 4/(4 + 1/2) = 8/9.
        found = icc(*flat(np.array([[1, 2], [3, 4]])))
        assert (found.icc1, found.icc21, found.icc2k) == pytest.approx((7 / 9, 4 / 5, 8 / 9))

    def test_resampled_units_equal_units_written_out(self):
        found = icc(*flat(SHROUT_FLEISS), draws=10)
        left = [icc(*flat(np.delete(SHROUT_FLEISS, unit, axis=0))) for unit in range(6)]
        assert found.interval_kind == "leave_one_out_range"
        for name in ("icc1", "icc21", "icc2k"):
            values = [getattr(one, name) for one in left]
            ends = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
            assert ends == pytest.approx((min(values), max(values)))

    @given(
        st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=3, max_size=12),
        st.floats(0.5, 20),
        st.floats(-10, 10),
        st.permutations(range(3)),
    )
    def test_unit_of_measurement_and_order_of_raters_do_not_matter(self, rows, scale, shift, order):
        table = np.array(rows, dtype=float)
        assume(table.mean(axis=1).std() > 0.1)
        try:
            one = icc(*flat(table))
        except NoStatistic:
            assume(False)
        two = icc(*flat(table[:, order] * scale + shift))
        assert two.icc1 == pytest.approx(one.icc1, abs=1e-6)
        assert two.icc21 == pytest.approx(one.icc21, rel=1e-5, abs=1e-6)

    def test_refusals(self):
        units, raters, values = flat(SHROUT_FLEISS)
        with undefined("MissingCells", match="1 of 24 cells"):
            icc(units[1:], raters[1:], values[1:])
        with undefined("RepeatedCell", match="Item 0 was rated more than once by rater 1"):
            icc(np.append(units, 0), np.append(raters, 1), np.append(values, 3))
        with pytest.raises(TooFewRatings, match="raters"):
            icc(np.array([0, 1]), np.array([0, 0]), np.array([1.0, 2.0]))
        with undefined("NoDisagreementPossible"):
            icc(*flat(np.ones((3, 2))))


class TestRaterMatrix:
    def test_by_hand(self):
        # Items 1, 2, 3: ann 1, 2, 3; bob 2, 4, 6 (r = 1); cat 3, 1, 2 (r = -1/2 in values and ranks).
        table = np.array([[1, 2, 3], [2, 4, 1], [3, 6, 2]])
        items, raters, values = flat(table)
        found = rater_matrix(items, [("ann", "bob", "cat")[i] for i in raters], values)
        assert found.raters == ("ann", "bob", "cat")
        expected = np.array([[1, 1, -0.5], [1, 1, -0.5], [-0.5, -0.5, 1]])
        assert found.pearson == pytest.approx(expected)
        assert found.spearman == pytest.approx(expected)
        assert (found.n == 3).all()
        assert found.defined.all()

    def test_only_common_items_enter(self):
        rng = np.random.default_rng(3)
        table = rng.integers(0, 6, (20, 3)).astype(float)
        items, raters, values = flat(table)
        seen = rng.random(60) < 0.8
        found = rater_matrix(items[seen], raters[seen], values[seen])
        shown = np.where(seen.reshape(20, 3), table, np.nan)
        place = {rater: index for index, rater in enumerate(found.raters)}
        for a, b in ((0, 1), (0, 2), (1, 2)):
            both = ~np.isnan(shown[:, a]) & ~np.isnan(shown[:, b])
            cell = place[a], place[b]
            assert found.n[cell] == both.sum()
            assert found.pearson[cell] == pytest.approx(pearsonr(shown[both, a], shown[both, b]).statistic)
            assert found.spearman[cell] == pytest.approx(spearmanr(shown[both, a], shown[both, b]).statistic)

    def test_cells_without_a_correlation_are_marked(self):
        items = [1, 2, 3, 1, 2, 3, 1, 2]
        raters = ["varies"] * 3 + ["constant"] * 3 + ["few"] * 2
        found = rater_matrix(items, raters, np.array([1, 2, 3, 5, 5, 5, 1, 2]))
        assert found.defined.tolist() == [[True, False, False], [False, False, False], [False, False, False]]
        assert found.n.tolist() == [[3, 3, 2], [3, 3, 2], [2, 2, 2]]
        assert np.isfinite(found.pearson).all()

    @given(st.integers(0, 100))
    @settings(max_examples=20)
    def test_symmetric_and_bounded(self, seed):
        rng = np.random.default_rng(seed)
        items, raters, values = flat(rng.integers(0, 4, (8, 4)))
        found = rater_matrix(items, raters, values)
        for matrix in (found.pearson, found.spearman):
            assert (matrix == matrix.T).all()
            assert (np.abs(matrix) <= 1).all()

    def test_refusals(self):
        with undefined("RepeatedCell", match="Item i was rated more than once by rater r"):
            rater_matrix(["i", "i", "j"], ["r", "r", "s"], np.array([1, 2, 3]))
        with pytest.raises(TooFewRatings):
            rater_matrix(["i", "j"], ["r", "r"], np.array([1, 2]))


def test_ordinal_alpha_is_the_same_by_cluster_sums_and_by_units(monkeypatch):
    rng = np.random.default_rng(8)
    units, values = rng.integers(0, 60, 400), rng.integers(1, 6, 400).astype(float)
    settings = {"metric": "ordinal", "draws": 200, "seed": 3, "clusters": units // 2}
    by_sums = krippendorff_alpha(units, values, **settings)
    monkeypatch.setattr("calibration.statistics.agreement.alpha.MOST_SUMS", 100)
    by_units = krippendorff_alpha(units, values, **settings)
    for name in ("value", "low", "high", "observed", "expected"):
        assert getattr(by_sums, name) == pytest.approx(getattr(by_units, name), rel=1e-12)
