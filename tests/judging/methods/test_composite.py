"""composite: chosen on one half, reported on the other."""

import random
from statistics import fmean

import pytest

from judging.methods.pairs import composite
from judging.methods.pairs.base import chosen
from judging.methods.pairs.composite import Agreement, TooFewTasks, choose, verdict_of
from judging.methods.parsing import Unscored, Verdict


def rows(category, rates, n=40, per_instruction=1):
    """n tasks on which each method agrees with exactly its rate of people."""
    return [
        Agreement(f"{category}{task}", f"{category}-i{task // per_instruction}", category, method, rate)
        for task in range(n)
        for method, rate in rates.items()
    ]


TABLE = rows("open", {"judge": 0.6, "embedding": 0.7, "rouge": 0.5}) + rows("closed", {"judge": 0.8, "embedding": 0.4})


def test_each_category_gets_the_method_that_agreed_best():
    result = choose(TABLE, seed=1)
    assert result.method_of == {"closed": "judge", "open": "embedding"}
    assert [(c.tasks, c.chosen_tasks) for c in result.choices] == [(20, 20), (20, 20)]
    # By hand: held-out agreement (20 x 0.8 + 20 x 0.7) / 40; judge alone (20 x 0.8 + 20 x 0.6) / 40.
    assert result.rate == pytest.approx(0.75)
    assert (result.single, result.tasks) == ("judge", 40)
    assert result.single_rate == pytest.approx(0.7)


def test_what_is_reported_had_no_part_in_the_choice():
    # Forty methods of pure chance: the best looks far better than chance where it is chosen, not where it is tested.
    gaps = []
    for seed in range(60):
        draws = random.Random(seed)
        noise = [
            Agreement(str(task), str(task), "all", f"m{method:02}", float(draws.random() < 0.5))
            for task in range(60)
            for method in range(40)
        ]
        (choice,) = choose(noise, seed=seed).choices
        gaps.append((choice.chosen_rate, choice.rate))
    assert fmean(chosen_rate for chosen_rate, _rate in gaps) > 0.65
    assert 0.46 < fmean(rate for _chosen, rate in gaps) < 0.54


def test_tasks_of_one_instruction_stay_together():
    table = rows("c", {"m": 0.5}, n=30, per_instruction=3)
    first = composite._halves(table, "0 c", "c")
    halves = [{task[1:] for task in half} for half in first]
    assert {int(task) // 3 for task in halves[0]}.isdisjoint({int(task) // 3 for task in halves[1]})
    assert len(halves[0]) == len(halves[1]) == 15


def test_a_method_that_judged_too_few_tasks_is_not_chosen():
    silent = [Agreement(f"c{t}", f"c-i{t}", "c", "picky", 1.0 if t % 2 else None) for t in range(40)]
    (choice,) = choose(rows("c", {"judge": 0.6}) + silent, seed=0).choices
    assert (choice.method, choice.left_out) == ("judge", ("picky",))
    (choice,) = choose(rows("c", {"judge": 0.6}) + silent, seed=0, least_share=0.1).choices
    assert choice.method == "picky"


def test_the_same_seed_gives_the_same_result_whatever_the_order():
    shuffled = list(TABLE)
    random.Random(3).shuffle(shuffled)
    assert choose(shuffled, seed=5) == choose(TABLE, seed=5)


def test_equal_methods_go_by_name():
    (choice,) = choose(rows("c", {"zeta": 0.5, "alpha": 0.5}), seed=0).choices
    assert choice.method == "alpha"


@pytest.mark.parametrize(
    "table", [[], rows("c", {"m": 1.0}, n=1), [Agreement(str(t), str(t), "c", "m", None) for t in range(4)]]
)
def test_too_little_to_choose_by_is_said(table):
    with pytest.raises(TooFewTasks):
        choose(table, seed=0)


def test_the_verdict_is_that_of_the_categorys_method():
    result = choose(TABLE, seed=1)
    judge, near = (Verdict((chosen("preference", side, ""),)) for side in ("a", "b"))
    verdicts = {"judge": judge, "embedding": near}
    assert verdict_of(result, "open", verdicts) == near
    assert verdict_of(result, "closed", verdicts) == judge
    assert isinstance(verdict_of(result, "unknown", verdicts), Unscored)
    assert isinstance(verdict_of(result, "open", {"judge": judge}), Unscored)
