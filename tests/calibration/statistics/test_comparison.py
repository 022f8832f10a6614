import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from calibration.statistics.errors import ConstantScores, NoStatistic, TooFewRatings
from calibration.statistics.judges import comparison
from calibration.statistics.judges.comparison import accuracy_against_majority, confusion, correlate, majority_labels

COEFFICIENTS = ("spearman", "kendall", "pearson")


def ends(found):
    return [value for name in COEFFICIENTS for value in (getattr(found, name).low, getattr(found, name).high)]


@pytest.fixture(scope="module")
def hanna(shared_data):
    """Mean human Coherence and one judge's, story by story."""
    human = pd.read_csv(shared_data("hanna_human.csv.gz"))
    judges = pd.read_csv(shared_data("hanna_judges.csv.gz"))
    people = human[human["criterion"] == "Coherence"].groupby("item_id")["score"].mean()
    chosen = (judges["judge"] == "Beluga-13B") & (judges["prompt"] == 1) & (judges["criterion"] == "Coherence")
    judge = judges[chosen].set_index("item_id")["score"]
    return judge.loc[people.index].to_numpy(), people.to_numpy()


class TestCorrelate:
    def test_hanna(self, hanna):
        found = correlate(*hanna, draws=200)
        assert found.n == 1056
        assert found.pearson.value == pytest.approx(0.5198, abs=5e-5)
        assert found.spearman.value == pytest.approx(0.4540, abs=5e-5)
        assert found.kendall.value == pytest.approx(0.3561, abs=5e-5)
        assert found.interval_kind == "bootstrap95"
        for name in COEFFICIENTS:
            one = getattr(found, name)
            assert one.low < one.value < one.high
            assert one.p < 1e-50

    def test_by_hand(self):
        # x 1 2 3 4 against y 1 3 2 4. Ranks the same: rho = 1 - 6*2/(4*15) = .8, and r = .8 as values are ranks.
        # Six pairs, one discordant: tau = (5 - 1)/6.
        found = correlate(np.array([1, 2, 3, 4]), np.array([1, 3, 2, 4]), draws=0)
        assert found.spearman.value == pytest.approx(0.8)
        assert found.pearson.value == pytest.approx(0.8)
        assert found.kendall.value == pytest.approx(4 / 6)
        assert found.interval_kind == "none"
        assert found.pearson.low == found.pearson.high == found.pearson.value

    @given(st.integers(0, 500), st.booleans())
    @settings(max_examples=40, deadline=None)
    def test_leaving_clusters_out_equals_the_pairs_written_out(self, seed, in_clusters):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 5, 18).astype(float)
        y = np.clip(x + rng.integers(-2, 3, 18), 0, 4)
        labels = rng.permutation(np.arange(18) // 2 if in_clusters else np.arange(18))
        kept = [labels != label for label in np.unique(labels)]
        assume(all(np.ptp(x[k]) > 0 and np.ptp(y[k]) > 0 for k in kept))
        found = correlate(x, y, clusters=labels, draws=10)
        assert found.interval_kind == "leave_one_out_range"
        assert found.clusters == len(kept)
        expected = []
        for scipy_function in (spearmanr, kendalltau, pearsonr):
            left = [scipy_function(x[k], y[k]).statistic for k in kept]
            expected += [min(left), max(left)]
        assert ends(found) == pytest.approx(expected, abs=1e-9)

    def test_both_ways_of_resampling_kendall_agree(self, monkeypatch):
        rng = np.random.default_rng(4)
        x = rng.integers(0, 6, 60).astype(float)
        y = x + rng.normal(0, 2, 60)
        clusters = rng.permutation(np.arange(60) % 25)
        by_pairs = correlate(x, y, clusters=clusters, draws=60, seed=3)
        monkeypatch.setattr(comparison, "PAIRWISE_LIMIT", 0)
        by_draw = correlate(x, y, clusters=clusters, draws=60, seed=3)
        assert ends(by_draw) == pytest.approx(ends(by_pairs))

    def test_chunks_of_draws_do_not_matter(self, monkeypatch):
        rng = np.random.default_rng(5)
        x, y = rng.normal(size=(2, 40))
        whole = correlate(x, y, draws=50, seed=1)
        monkeypatch.setattr(comparison, "COUNTS_AT_ONCE", 40 * 7)
        assert ends(correlate(x, y, draws=50, seed=1)) == pytest.approx(ends(whole))

    def test_clusters_of_pairs_widen_the_interval(self):
        rng = np.random.default_rng(6)
        shared = rng.normal(size=(2, 40, 1))
        x, y = (shared + 0.3 * rng.normal(size=(2, 40, 10))).reshape(2, -1)
        labels = np.repeat(np.arange(40), 10)
        alone, together = correlate(x, y, draws=300), correlate(x, y, clusters=labels, draws=300)
        assert together.pearson.value == alone.pearson.value
        assert together.pearson.high - together.pearson.low > 2 * (alone.pearson.high - alone.pearson.low)

    @given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=30))
    def test_invariances(self, pairs):
        x, y = np.array(pairs, dtype=float).T
        assume(np.ptp(x) > 0 and np.ptp(y) > 0)
        found, swapped = correlate(x, y, draws=0), correlate(y, x, draws=0)
        stretched, turned = correlate(np.exp(x), y, draws=0), correlate(3 - 2 * x, y, draws=0)
        for name in COEFFICIENTS:
            value = getattr(found, name).value
            assert -1 <= value <= 1
            assert getattr(swapped, name).value == pytest.approx(value, abs=1e-12)
            assert getattr(turned, name).value == pytest.approx(-value, abs=1e-9)
        assert stretched.spearman.value == pytest.approx(found.spearman.value)
        assert stretched.kendall.value == pytest.approx(found.kendall.value)

    def test_nearly_covers_the_truth(self):
        rng = np.random.default_rng(7)
        hits = []
        for seed in range(160):
            z = rng.normal(size=(2, 100))
            found = correlate(z[0], 0.6 * z[0] + 0.8 * z[1], draws=200, seed=seed)
            hits.append(found.pearson.low <= 0.6 <= found.pearson.high)
        # 160 draws of a 95 % interval: standard error 1.7 points.
        assert 0.9 <= np.mean(hits) <= 0.995

    def test_refusals(self):
        with pytest.raises(ConstantScores, match="All scores compared equal 2"):
            correlate(np.array([2, 2, 2]), np.array([1, 2, 3]))
        with pytest.raises(ConstantScores, match="compared against"):
            correlate(np.array([1, 2, 3]), np.array([0.1, 0.1, 0.1]))
        with pytest.raises(TooFewRatings):
            correlate(np.array([1, 2]), np.array([2, 1]))
        with pytest.raises(NoStatistic, match="finite"):
            correlate(np.array([1, 2, np.nan]), np.array([1, 2, 3]))
        with pytest.raises(ValueError, match="3 scores against 4"):
            correlate(np.array([1, 2, 3]), np.array([1, 2, 3, 4]))
        with pytest.raises(ValueError, match="2 cluster labels"):
            correlate(np.array([1, 2, 3]), np.array([1, 3, 2]), clusters=[1, 2])


class TestMajority:
    @pytest.mark.parametrize(
        ("judge", "unusable", "rate", "n"),
        [
            ("judge_gpt35", "wrong", 0.697698, 999),
            ("judge_gpt35", "exclude", 0.715606, 974),
            ("judge_pandalm7b", "exclude", 0.667668, 999),
        ],
    )
    def test_pandalm(self, shared_data, judge, unusable, rate, n):
        rows = pd.read_csv(shared_data("pandalm_wide.csv"))
        labels = rows[["annotator1", "annotator2", "annotator3"]].to_numpy().reshape(-1)
        verdicts = rows[judge].fillna(-1).to_numpy().astype(np.int64)
        found = accuracy_against_majority(verdicts, np.repeat(np.arange(999), 3), labels, unusable, draws=200)
        assert found.rate == pytest.approx(rate, abs=1e-6)
        assert (found.n_tasks, found.n_tied) == (n, 0)
        assert found.n_unusable == (25 if judge == "judge_gpt35" else 0)
        assert found.low < found.rate < found.high

    def test_dices_expert_against_the_crowd(self, shared_data):
        crowd = pd.read_csv(shared_data("dices350_crowd.csv.gz"))
        expert = pd.read_csv(shared_data("dices350_expert.csv")).set_index("item_id")["expert_label"]
        codes = {"No": 0, "Yes": 1, "Unsure": 2}
        tasks, items = pd.factorize(crowd["item_id"])
        verdicts, labels = expert.loc[items].map(codes).to_numpy(), crowd["label"].map(codes).to_numpy()
        shared = accuracy_against_majority(verdicts, tasks, labels, ties="share")
        assert shared.rate == pytest.approx(0.6543, abs=5e-5)
        assert (shared.n_tasks, shared.n_tied) == (350, 2)
        assert accuracy_against_majority(verdicts, tasks, labels).n_tasks == 348

    def test_by_hand(self):
        # Task 0: a a b, majority a. Task 1: a b, tied. Task 2: b. Task 3: nobody. Task 4: c c.
        tasks, labels = np.array([0, 0, 0, 1, 1, 2, 4, 4]), np.array([0, 0, 1, 0, 1, 1, 2, 2])
        assert majority_labels(tasks, labels).tolist() == [0, -1, 1, -1, 2]
        judge = np.array([0, 0, 0, 2, -1])
        found = accuracy_against_majority(judge, tasks, labels)
        assert (found.rate, found.n_tasks, found.n_tied, found.n_unusable) == (1 / 2, 2, 1, 1)
        wrong = accuracy_against_majority(judge, tasks, labels, "wrong")
        assert (wrong.rate, wrong.n_tasks, wrong.n_unusable) == (pytest.approx(1 / 3), 3, 1)
        # The tie counts a half for a: (1 + 1/2 + 0)/3.
        assert accuracy_against_majority(judge, tasks, labels, ties="share").rate == pytest.approx(1 / 2)

    def test_confusion_by_hand(self):
        # Lines are the people's label: 0 said as 0 and as 1, 2 said as 1; one verdict unusable, one tie.
        found = confusion(np.array([0, 1, 1, -1, 2]), np.array([0, 0, 2, 1, -1]))
        assert found.counts.tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]
        assert (found.n, found.n_unusable, found.n_without_majority) == (3, 1, 1)

    @given(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=30),
        st.lists(st.integers(-1, 3), min_size=6, max_size=6),
    )
    def test_accuracy_is_the_diagonal_of_the_confusion(self, pairs, verdicts):
        tasks, labels = np.array(pairs).T
        majority = np.full(6, -1)
        decided = majority_labels(tasks, labels)
        majority[: len(decided)] = decided
        judge = np.array(verdicts)
        assume(((majority >= 0) & (judge >= 0)).any())
        table = confusion(judge, majority)
        found = accuracy_against_majority(judge, tasks, labels)
        assert found.rate == pytest.approx(np.trace(table.counts) / table.n)
        assert (found.n_tasks, found.n_unusable) == (table.n, table.n_unusable)

    def test_refusals(self):
        with pytest.raises(TooFewRatings, match="usable verdict"):
            accuracy_against_majority(np.array([-1]), np.array([0]), np.array([0]))
        with pytest.raises(ValueError, match="no entry"):
            accuracy_against_majority(np.array([0]), np.array([1]), np.array([0]))
        with pytest.raises(TooFewRatings):
            confusion(np.array([-1]), np.array([0]))
        with pytest.raises(ValueError, match="both for each task"):
            confusion(np.array([1]), np.array([0, 1]))
