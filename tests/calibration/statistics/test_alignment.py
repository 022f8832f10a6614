"""The split into three parts, the levels of looks, and what a look may claim."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.agreement import LabelledTasks, beside_baseline, compare_judges
from calibration.statistics.judges.alignment import (
    LEAST,
    PARTS,
    chosen_on_validation,
    claim_of,
    instructions_needed,
    level_of_look,
    sizes_of,
    split,
    usable_shares,
)


def labelled(n, raters=4, seed=3):
    """People who agree in about four of five cases, on three labels; and what most of them say."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    label = np.where(rng.random((n, raters)) < 0.8, truth[:, None], rng.integers(0, 3, (n, raters)))
    people = LabelledTasks(
        task=np.repeat(np.arange(n), raters),
        label=label.reshape(-1),
        rater=np.tile(np.arange(raters), n),
        instruction=np.repeat(np.arange(n), raters),
    )
    return people, truth


def judged(truth, right, seed):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(truth)) < right, truth, (truth + 1) % 3)


@given(
    n=st.integers(0, 400),
    shares=st.tuples(st.floats(0.05, 0.4), st.floats(0.05, 0.4)).map(lambda pair: (*pair, 1 - sum(pair))),
)
def test_the_parts_hold_every_instruction_once_in_their_shares(n, shares):
    sizes = sizes_of(n, shares)
    assert sum(sizes) == n
    assert all(abs(size - share * n) < 1.001 for size, share in zip(sizes, shares, strict=True))


def test_sizes_by_hand():
    # 65 x .3 = 19.5 twice and 65 x .4 = 26: one of the two halves goes up, the later part's.
    assert sizes_of(65, (0.3, 0.3, 0.4)) == (19, 20, 26)
    assert sizes_of(10, (0.3, 0.3, 0.4)) == (3, 3, 4)
    # 64 x .3 = 19.2: the rest goes to test (25.6), so validation has 19 and 65 is the fewest.
    assert sizes_of(64, (0.3, 0.3, 0.4)) == (19, 19, 26)
    assert instructions_needed((0.3, 0.3, 0.4)) == 65
    # 50 x .2 = 10 and 50 x .4 = 20, the least of each part.
    assert instructions_needed((0.2, 0.4, 0.4)) == 50


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n=st.integers(65, 200))
def test_a_split_depends_on_the_seed_and_the_instructions_alone(seed, n):
    instructions = [7 * place + 3 for place in range(n)]
    found = split(instructions, seed=seed)
    assert split(instructions[::-1], seed=seed) == found
    assert sorted(pk for part in PARTS for pk in found[part]) == instructions
    assert all(len(found[part]) >= LEAST[part] for part in PARTS)


def test_another_seed_gives_other_parts_and_what_is_kept_stays():
    first, second = split(range(100), seed=1), split(range(100), seed=2)
    assert first != second
    again = split(range(150), seed=2, kept=first)
    assert all(set(first[part]) <= set(again[part]) for part in PARTS)
    assert sum(len(again[part]) for part in PARTS) == 150
    # What is kept and not given does not come in.
    assert max(pk for part in split(range(90), seed=2, kept=first).values() for pk in part) == 89


def test_too_few_instructions_are_refused_with_the_number_needed():
    with pytest.raises(TooFewRatings) as refused:
        split(range(64))
    assert (refused.value.n, refused.value.needed) == (64, 65)
    split(range(65))


def test_the_number_needed_allows_for_what_is_kept():
    # Validation and test have enough, and the training part gets only three of ten others.
    kept = {"training": [], "validation": range(100, 130), "test": range(130, 160)}
    given = [*range(20), *range(100, 160)]
    with pytest.raises(TooFewRatings) as refused:
        split(given, kept=kept)
    needed = refused.value.needed
    assert refused.value.n == 80 < needed
    split([*range(needed - 60), *range(100, 160)], kept=kept)
    with pytest.raises(TooFewRatings):
        split([*range(needed - 61), *range(100, 160)], kept=kept)


def test_shares():
    assert usable_shares([0.3, 0.3, 0.4]) == (0.3, 0.3, 0.4)
    for wrong in ([0.5, 0.5], [0.3, 0.3, 0.5], [0.01, 0.49, 0.5], [float("nan"), 0.5, 0.5], [-0.5, 0.5, 1.0]):
        assert usable_shares(wrong) is None


def test_the_levels_of_all_looks_add_up_to_five_percent():
    assert [level_of_look(number) for number in (1, 2, 3)] == [0.025, 0.0125, 0.00625]
    assert sum(level_of_look(number) for number in range(1, 60)) == pytest.approx(0.05)
    with pytest.raises(ValueError, match="from 1"):
        level_of_look(0)


def test_the_gain_by_hand_on_tasks_that_both_judged():
    # Two people agree on each of 24 tasks. The judge matches on all of 24 but the baseline judged only 20, right on 15.
    n = 24
    people = LabelledTasks(
        np.repeat(np.arange(n), 2), np.zeros(2 * n, int), np.tile([0, 1], n), np.repeat(np.arange(n), 2)
    )
    judge = np.zeros(n, int)
    baseline = np.where(np.arange(n) < 15, 0, 1)
    baseline[20:] = -1
    with pytest.raises(TooFewRatings):
        beside_baseline(people, np.vstack([judge, np.full(n, -1)]))
    found = beside_baseline(people, np.vstack([judge, baseline]))
    assert found.n == 20 and found.judge.value == 1.0 and found.baseline.value == 0.75
    assert found.gain.value == pytest.approx(0.25) and found.people.value == 1.0
    # The standard error is the jackknife's of 20 differences, 5 of them 1 and 15 of them 0: sqrt(.25 x .75 / 19).
    half = 2.0930240544 * (0.25 * 0.75 / 19) ** 0.5  # t(.975, 19)
    assert (found.gain.low, found.gain.high) == pytest.approx((0.25 - half, 0.25 + half))


def test_the_gain_is_that_of_the_comparison_of_judges():
    people, truth = labelled(60)
    verdicts = np.vstack([judged(truth, 0.8, 1), judged(truth, 0.6, 2)])
    found, (pair,) = beside_baseline(people, verdicts), compare_judges(people, verdicts).pairs
    for name in ("value", "low", "high", "these_low", "these_high", "p"):
        assert getattr(found.gain, name) == pytest.approx(getattr(pair.difference, name), abs=1e-12)


@pytest.mark.parametrize("raters", [2, 4])
def test_the_interval_of_a_look_and_its_p_never_disagree(raters):
    """At the confidence 1 - p the interval ends at 0; a higher confidence holds it, a lower one does not."""
    people, truth = labelled(60, raters)
    verdicts = np.vstack([judged(truth, 0.8, 1), judged(truth, 0.65, 2)])
    p = beside_baseline(people, verdicts).gain.p
    assert 0 < p < 0.5
    at = beside_baseline(people, verdicts, confidence=1 - p).gain
    assert at.low == pytest.approx(0, abs=1e-9) and at.p == p
    wider, narrower = (beside_baseline(people, verdicts, confidence=one).gain for one in (1 - p / 2, 1 - 2 * p))
    assert wider.low < 0 < narrower.low
    assert claim_of(wider, p / 2) == "not_shown" and claim_of(narrower, 2 * p) == "better"


def test_a_claim_needs_a_stated_interval_and_a_p_of_the_level():
    people, truth = labelled(60)
    gain = beside_baseline(people, np.vstack([judged(truth, 0.9, 1), judged(truth, 0.3, 2)])).gain
    assert claim_of(gain, 0.025) == "better"
    assert claim_of(replace(gain, value=-gain.value, low=-gain.high, high=-gain.low), 0.025) == "worse"
    assert claim_of(replace(gain, p=None), 0.025) == "not_shown"
    assert (
        claim_of(replace(gain, p=0.0251), 0.025) == "not_shown" and claim_of(replace(gain, p=0.025), 0.025) == "better"
    )
    assert claim_of(replace(gain, interval_kind="leave_one_out_range"), 0.025) == "not_shown"


def test_the_version_that_gains_most_is_chosen_and_none_that_loses():
    people, truth = labelled(60)
    found = [
        beside_baseline(people, np.vstack([judged(truth, right, seed), judged(truth, 0.6, 9)]))
        for right, seed in ((0.7, 1), (0.9, 2), (0.9, 2), (0.3, 3))
    ]
    assert chosen_on_validation(found) == 1 and chosen_on_validation(found[2:]) == 0
    assert chosen_on_validation([found[3]]) is None and chosen_on_validation([None, found[0]]) == 1


def test_the_bench_in_small_claims_no_gain_that_is_none():
    file = Path(__file__).resolve().parents[2] / "benchmarks" / "alignment.py"
    spec = importlib.util.spec_from_file_location("bench_of_alignment", file)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    assert bench.share_claimed(20, 70, 4, 0.0, 16) <= 0.05
    assert bench.share_claimed(6, 200, 8, 80.0, 16) >= 0.5
