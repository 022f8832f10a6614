from dataclasses import replace
from decimal import Decimal
from time import perf_counter

import pytest
from hypothesis import given, settings, strategies as st

from calibration.statistics.design.planner import Assumptions, PlannedStudy, plan_study
from calibration.statistics.errors import NoStatistic
from tests.calibration.undefined import undefined

STUDY = PlannedStudy(instructions=60, models=4, raters=10, overlap=3)


def test_hours_and_cost_by_hand():
    # 10 * 2 * 3 = 60 first answers and 6 repeats. One: (500 + 100) words at 200 a minute = 180 s, 10 answers of
    # 3 s = 30 s; 66 * 210 s = 13,860 s = 3.85 h; at 20 an hour 77.
    study = PlannedStudy(
        instructions=10,
        models=2,
        raters=4,
        overlap=3,
        items=9,
        repeat_share=0.1,
        words_per_response=500,
        words_per_instruction=100,
        reading_speed=200,
        seconds_per_answer=3,
        hourly_pay=Decimal(20),
    )
    plan = plan_study(study, simulations=1, draws=10)
    assert (plan.assignments, plan.repeats, plan.per_rater) == (66, 6, 17)
    assert plan.seconds == pytest.approx(210)
    assert plan.hours == pytest.approx(3.85)
    assert plan.cost == Decimal("77.00")
    # 80 % of 6 repeats is nearest to 5 of 6; each rater has one repeat, which comes out as 1 of 1.
    assert plan.consistency[0].value == pytest.approx(5 / 6)
    assert plan.consistency_of_rater[0].value == 1


def test_more_of_anything_narrows_what_it_bears_on():
    base = plan_study(STUDY)
    more = plan_study(replace(STUDY, instructions=240))
    assert more.agreement["alpha"].width < 0.7 * base.agreement["alpha"].width
    assert more.agreement["leave_one_out"].width < 0.7 * base.agreement["leave_one_out"].width
    assert all(b.width < 0.75 * a.width for a, b in zip(base.weights, more.weights, strict=True))
    repeats = plan_study(replace(STUDY, repeat_share=0.2))
    assert repeats.consistency[0].width < base.consistency[0].width
    assert base.weights[0].interval_kind == "bootstrap95"
    assert base.simulations > 1


def test_assumed_agreement_and_weights_come_out():
    # Qualities in the middle of the scale, so that its ends hardly matter.
    assumed = Assumptions(agreement=0.6, weights=(1, 2, 3, 4, 5, 6), quality=0.5)
    plan = plan_study(replace(STUDY, instructions=200), assumed)
    assert plan.agreement["alpha"].value == pytest.approx(0.6, abs=0.08)
    # The planted weights of 100, drawn together by the errors in the answers.
    assert [weight.value for weight in plan.weights] == pytest.approx([100 * w / 21 for w in (1, 2, 3, 4, 5, 6)], abs=4)


def test_the_seed_decides():
    assert plan_study(STUDY, simulations=2, seed=5) == plan_study(STUDY, simulations=2, seed=5)
    assert plan_study(STUDY, simulations=2, seed=5) != plan_study(STUDY, simulations=2, seed=6)


def test_what_a_study_cannot_say_is_absent():
    alone = plan_study(replace(STUDY, overlap=1, repeat_share=0))
    assert (alone.agreement, alone.consistency, alone.consistency_of_rater) == ({}, (), ())
    tiny = plan_study(PlannedStudy(instructions=2, models=1, raters=2, overlap=1, items=6))
    assert (tiny.weights, tiny.r2) == ((), ())
    few = plan_study(replace(STUDY, instructions=12))
    assert few.agreement["alpha"].interval_kind == "leave_one_out_range"


@pytest.mark.parametrize(
    "change",
    [{"overlap": 11}, {"instructions": 0}, {"repeat_share": 1.5}, {"reading_speed": 0}, {"seconds_per_answer": -1}],
)
def test_impossible_plans_are_named(change):
    with pytest.raises(NoStatistic):
        plan_study(replace(STUDY, **change))


def test_impossible_assumptions_are_named():
    with undefined("OutOfRange"):
        plan_study(STUDY, Assumptions(agreement=1.2))
    with pytest.raises(NoStatistic, match="weights for 6"):
        plan_study(STUDY, Assumptions(weights=(1, 2)))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 5), st.integers(1, 4), st.floats(0, 1))
def test_every_possible_plan_has_an_answer(instructions, models, raters, overlap, share):
    study = PlannedStudy(instructions, models, raters, min(overlap, raters), items=3, repeat_share=share)
    plan = plan_study(study, Assumptions(agreement=share), simulations=2, draws=30)
    assert plan.assignments == instructions * models * study.overlap + plan.repeats
    assert plan.per_rater * raters >= plan.assignments
    for found in (*plan.agreement.values(), *plan.weights, *plan.r2, *plan.consistency):
        assert found.width >= 0


def test_a_usual_study_is_planned_in_under_two_seconds():
    start = perf_counter()
    plan_study(PlannedStudy(instructions=150, models=8, raters=20, overlap=3))
    assert perf_counter() - start < 2


def test_a_study_of_pairs_compares_pairs_and_has_no_weights():
    # 30 instructions x 3 pairs x 2 raters = 180 answers; each reads two texts of 100 words and 38 of the instruction:
    # 238 words = 60 s, and answers one question in 6 s.
    pairs = replace(STUDY, instructions=30, models=3, pairs=3, overlap=2, repeat_share=0, levels=(0.0, 0.5, 1.0))
    plan = plan_study(replace(pairs, words_per_response=100, words_per_instruction=38), simulations=3, draws=50)
    assert (plan.assignments, plan.seconds) == (180, 66)
    assert plan.weights == plan.r2 == ()
    close = plan_study(pairs, Assumptions(agreement=0.95), simulations=3, draws=50)
    apart = plan_study(pairs, Assumptions(agreement=0.2), simulations=3, draws=50)
    assert close.agreement["alpha"].value > apart.agreement["alpha"].value + 0.2
    with pytest.raises(NoStatistic):
        plan_study(replace(pairs, models=1))


def test_without_an_overall_score_agreement_is_that_of_the_first_question():
    alone = replace(STUDY, items=1, overall=False, levels=(0.0, 1.0))
    plan = plan_study(alone, simulations=3, draws=50)
    assert plan.weights == () and plan.seconds == plan_study(STUDY, simulations=1, draws=10).seconds - 6 * 6
    assert 0 < plan.agreement["alpha"].value < 1
