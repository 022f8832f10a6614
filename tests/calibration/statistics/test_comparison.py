import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.comparison import accuracy_against_majority, confusion, majority_labels


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
