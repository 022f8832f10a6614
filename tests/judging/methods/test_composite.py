"""composite: chosen on one half, decided on the other, so that no task has a part in the choice made for it."""

import random

import numpy as np
import pytest

from judging.methods.pairs.base import chosen
from judging.methods.pairs.composite import Agreement, TooFewTasks, choices_from, cross_fit, says_composite, verdict_of
from judging.methods.parsing import Unscored, Verdict

TWO = np.repeat([1, 2], 20)
OWN = np.arange(40)
ONE = np.ones(40, dtype=np.int64)


def rows(category, rates, n=40, per_instruction=1):
    """n tasks on which each method agrees with exactly its rate of people."""
    return [
        Agreement(f"{category}{task}", f"{category}-i{task // per_instruction}", category, method, rate)
        for task in range(n)
        for method, rate in rates.items()
    ]


TABLE = rows("open", {"judge": 0.6, "embedding": 0.7, "rouge": 0.5}) + rows("closed", {"judge": 0.8, "embedding": 0.4})


class TestCrossFitting:
    def test_each_category_gets_its_best_method_and_every_task_counts(self):
        matches = {
            "poet": np.where(TWO == 1, 1.0, 0.0),
            "coder": np.where(TWO == 2, 1.0, 0.0),
            "half": np.full(40, 0.6),
        }
        found = cross_fit(matches, TWO, OWN, seed=1, splits=5)
        assert found.choices == {1: (("poet", 10),), 2: (("coder", 10),)}
        assert found.composite.tolist() == [1.0] * 40
        # One for all: "half" has .6 of every half, the others .5.
        assert found.singles == (("half", 10),)
        assert found.single == pytest.approx(np.full(40, 0.6))

    def test_no_task_is_decided_by_a_choice_it_took_part_in(self):
        """By hand: "lone" is right on one instruction alone, so it is chosen for the half without it, where it is wrong."""
        matches = {"lone": np.where(OWN == 7, 1.0, 0.0), "base": np.zeros(40)}
        found = cross_fit(matches, ONE, OWN, seed=0, splits=8)
        assert found.composite.tolist() == [0.0] * 40
        for split in found.splits:
            assert split.methods[1, 1 - int(split.half[7])] == "lone"
            assert split.method_of(1, 7) == "base"

    def test_the_best_of_many_coins_is_no_better_than_a_coin(self):
        rng = np.random.default_rng(5)
        rates, naive = [], []
        for seed in range(30):
            matches = {f"m{n:02}": (rng.random(60) < 0.5).astype(float) for n in range(40)}
            found = cross_fit(matches, np.ones(60, dtype=np.int64), np.arange(60), seed=seed, splits=4)
            rates.append(found.composite.mean())
            naive.append(max(values.mean() for values in matches.values()))
        assert np.mean(naive) > 0.6
        assert 0.46 < np.mean(rates) < 0.54

    def test_halves_are_halves_of_instructions_and_another_split_is_another(self):
        instruction = OWN // 4
        found = cross_fit({"m": np.ones(40)}, ONE, instruction, seed=0, splits=3)
        for split in found.splits:
            assert {len(set(split.half[instruction == one])) for one in range(10)} == {1}
            assert int(split.half.sum()) == 20
        assert len({tuple(split.half.tolist()) for split in found.splits}) > 1

    def test_a_method_with_too_few_verdicts_is_not_chosen_and_a_gap_is_no_value(self):
        picky = np.where(OWN % 2 == 0, 1.0, np.nan)
        found = cross_fit({"picky": picky, "judge": np.full(40, 0.5)}, ONE, OWN, seed=2)
        assert found.singles == (("judge", 40),)
        found = cross_fit({"picky": picky, "judge": np.full(40, 0.5)}, ONE, OWN, seed=2, least_share=0.1)
        assert found.singles == (("picky", 40),)
        often = np.where(OWN == 3, np.nan, 1.0)
        found = cross_fit({"often": often, "judge": np.full(40, 0.5)}, ONE, OWN, seed=2)
        assert np.isnan(found.composite[3])
        assert np.nanmean(found.composite) == 1.0

    def test_equal_methods_go_by_name_and_the_order_of_methods_does_not_matter(self):
        rng = np.random.default_rng(0)
        values = {name: (rng.random(40) < 0.5).astype(float) for name in "abc"}
        one = cross_fit({**values, "zeta": values["a"]}, TWO, OWN, seed=9)
        other = cross_fit(dict(reversed([*values.items(), ("zeta", values["a"])])), TWO, OWN, seed=9)
        assert one.choices == other.choices
        assert np.array_equal(one.composite, other.composite)
        assert all(name != "zeta" for counts in one.choices.values() for name, _n in counts)

    @pytest.mark.parametrize(
        ("matches", "instruction"),
        [({}, OWN), ({"m": np.ones(40)}, np.zeros(40, dtype=np.int64)), ({"m": np.full(40, np.nan)}, OWN)],
    )
    def test_too_little_to_choose_by_is_said(self, matches, instruction):
        with pytest.raises(TooFewTasks):
            cross_fit(matches, ONE, instruction, seed=0)


class TestChoices:
    def test_rated_tasks_are_decided_without_themselves_and_others_by_all(self):
        # "lone" is right on the tasks of one instruction alone; "base" on none, and goes first by name.
        table = [
            Agreement(f"t{n}", f"i{n}", "c", method, float(method == "lone" and n == 7))
            for n in range(12)
            for method in ("base", "lone")
        ]
        found = choices_from(table, seed=4)
        assert found.method_of("t7", "c") == "base"
        assert found.method_of("never rated", "c") == "lone"
        assert found.method_of("never rated", "unknown") is None

    def test_the_same_seed_gives_the_same_result_whatever_the_order(self):
        shuffled = list(TABLE)
        random.Random(3).shuffle(shuffled)
        assert choices_from(shuffled, seed=5) == choices_from(TABLE, seed=5)

    @pytest.mark.parametrize(
        "table", [[], rows("c", {"m": 1.0}, n=1), [Agreement(str(t), str(t), "c", "m", None) for t in range(4)]]
    )
    def test_too_little_to_choose_by_is_said(self, table):
        with pytest.raises(TooFewTasks):
            choices_from(table, seed=0)

    def test_the_verdict_is_that_of_the_tasks_method(self):
        found = choices_from(TABLE, seed=1)
        assert set(found.rated.values()) == {"judge", "embedding"}
        judge, near = (Verdict((chosen("preference", side, ""),)) for side in ("a", "b"))
        verdicts = {"judge": judge, "embedding": near}
        assert verdict_of(found, "open3", "open", verdicts) == near
        assert verdict_of(found, "closed3", "closed", verdicts) == judge
        assert verdict_of(found, "new", "open", verdicts) == near
        assert isinstance(verdict_of(found, "new", "unknown", verdicts), Unscored)
        assert isinstance(verdict_of(found, "open3", "open", {"judge": judge}), Unscored)


def test_a_composites_name_says_so():
    assert says_composite("rule: composite") and says_composite("Composite GPT4") and says_composite("best (composite)")
    assert not says_composite("compositely") and not says_composite("href")
