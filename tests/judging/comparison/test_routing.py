"""Routed draws: probabilities from a judge's spread, frozen before the draw; estimates weighted by them."""

import numpy as np
import pytest
from django.core.cache import cache
from django.db import DatabaseError, transaction

from annotation.models import Assignment, Rater, Study, Task
from annotation.policies.policies import change_policies
from calibration.data.frames import ABOUT_RESPONSES
from calibration.data.scores import label_frame, score_frame
from calibration.statistics.judges.routing import draw, routed_mean
from core.errors import UserError
from judging.comparison.next_step import Step, facts_of, next_step
from judging.comparison.routing.draws import (
    RoutingRequest,
    by_stratum,
    drawn_responses,
    freeze_draw,
    make_tasks,
    plan_draw,
)
from judging.comparison.routing.estimates import routing_of
from judging.comparison.routing.pool import pool_of
from judging.models import RoutedDraw
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater

pytestmark = pytest.mark.django_db
LEVELS = (0, 0.25, 0.5, 0.75, 1)
N = 50


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


def number_of(task):
    return int(task.response_a.instruction.external_id.rsplit("-", 1)[1])


def tasks_of(study):
    rows = Task.objects.filter(study=study, gold__isnull=True)
    return rows.select_related("response_a__instruction", "response_a__model", "answer_rubric").order_by("pk")


def judged_by_two():
    """Two judges of 50 instructions x 2 models: they agree on the first 40 and differ by three levels on the last 10."""
    study = make_checklist_study(instructions=N, models=2, items=1)
    change_policies(study, overlap=1)
    judges = [make_judge_rater(study.workspace, name) for name in ("one", "two")]
    for task in tasks_of(study):
        number = number_of(task)
        for place, judge in enumerate(judges):
            level = LEVELS[(0, 3)[place]] if number >= 40 else LEVELS[number % 5]
            make_answer(task, judge, {"item0": level})
    return study


@pytest.fixture
def study():
    return judged_by_two()


def judges_of(study):
    return tuple(Rater.objects.filter(kind="judge", workspace=study.workspace).order_by("label"))


def truth(task):
    """People's score: 2 + 6 x the level; 4 for model0 and 9 for model1 where the judges differ."""
    number = number_of(task)
    if number >= 40:
        return 4.0 if task.response_a.model.name == "model0" else 9.0
    return 2 + 6 * LEVELS[number % 5] + (number % 3) / 10


def rate(study, only=None, raters=1):
    people = [make_rater(study) for _ in range(raters)]
    for task in tasks_of(study):
        if only is None or number_of(task) in only:
            for rater in people:
                make_answer(task, rater, {"item0": 1, "overall": truth(task)})


def asked(study, **given):
    given.setdefault("instructions", 25)
    return RoutingRequest(study, judges_of(study), **given)


def test_more_is_drawn_where_judges_differ_and_never_less_than_a_fifth_of_uniform(study):
    plan = plan_draw(asked(study))
    probability = np.array(plan.probability)
    assert probability.sum() == pytest.approx(25) and probability.min() >= 0.2 * 25 / N - 1e-12
    apart = np.array([unit.spread > 0.5 for unit in plan.pool.units])
    assert apart.sum() == 10 and probability[apart].min() > probability[~apart].max()
    assert plan.pool.spread_kind == "panel" and plan.ratings == pytest.approx(50)
    assert [unit.size for unit in plan.pool.units] == [2] * N, "a unit is the instruction with all responses compared"
    single = plan_draw(asked(study, models=("model1",)))
    assert [unit.size for unit in single.pool.units] == [1] * N and single.ratings == pytest.approx(25)
    by_responses = plan_draw(asked(study, instructions=None, responses=50))
    assert by_responses.probability == plan.probability
    uniform = plan_draw(asked(study, spread="none"))
    assert set(uniform.probability) == {0.5} and uniform.saving.at_best == pytest.approx(0)
    assert len(plan_draw(asked(study, strata="category")).strata) == 1


def test_the_frame_the_probabilities_and_the_seed_are_stored_before_tasks_and_cannot_be_changed(study):
    made = freeze_draw(asked(study, seed=3))
    plan = plan_draw(asked(study))
    assert made.rated_in is None and Study.objects.count() == 1
    assert [unit["probability"] for unit in made.frame] == list(plan.probability)
    assert [unit["drawn"] for unit in made.frame] == draw(np.array(plan.probability), 3).tolist()
    for change in ({"seed": 4}, {"frame": []}, {"overlap": 9}):
        with pytest.raises(DatabaseError), transaction.atomic():
            RoutedDraw.objects.filter(pk=made.pk).update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        RoutedDraw.objects.filter(pk=made.pk).delete()
    with pytest.raises(UserError, match="choose another seed"):
        freeze_draw(asked(study, seed=3))
    other, more = freeze_draw(asked(study)), freeze_draw(asked(study))
    assert len({made.seed, other.seed, more.seed}) == 3, "draws are independent of each other"


def test_what_is_drawn_becomes_tasks_that_carry_their_probability(study):
    made = freeze_draw(asked(study, seed=3, overlap=2))
    rated_in = make_tasks(made, by=None)
    assert make_tasks(made, by=None) == rated_in and Study.objects.count() == 2
    assert rated_in.status == "open" and rated_in.seats.count() == 2 * rated_in.tasks.count()
    carried = dict(rated_in.tasks.values_list("response_a", "drawing_probability"))
    assert carried == pytest.approx(drawn_responses(made)) and len(carried) == 2 * sum(
        unit["drawn"] for unit in made.frame
    )
    assert not study.tasks.filter(drawing_probability__isnull=False).exists()
    assert sum(drawn for _pool, drawn in by_stratum(made).values()) == len(carried) / 2
    words = " ".join(rated_in.names.values())
    assert "one" not in words.split() and "judge" not in words.lower()


def test_answers_to_what_was_drawn_count_in_no_other_statistic(study):
    made = freeze_draw(asked(study, seed=3))
    rated_in = make_tasks(made, by=None)
    rate(rated_in)
    answers = 2 * sum(unit["drawn"] for unit in made.frame)
    of_draw = {"kinds": ABOUT_RESPONSES, "study": rated_in, "judges": False}
    assert len(score_frame(**of_draw)) == 0 and len(score_frame(**of_draw, routed=True)) == 2 * answers
    whole = {"kinds": ABOUT_RESPONSES, "benchmark": study.benchmark, "judges": False}
    assert len(score_frame(**whole)) == 0
    rate(study, only=range(3))
    assert len(score_frame(**whole)) == 2 * 6, "answers that were not drawn count as before"
    assert len(label_frame(kinds=ABOUT_RESPONSES, study=rated_in)) == 0
    assert Assignment.objects.of_people().answered().filter(task__study=rated_in).count() == 0
    facts = facts_of([rated_in])[rated_in.pk]
    assert facts.answered and facts.routed, "how the work stands is no statistic"
    assert next_step(facts) == Step.INVITE, "slots are still free, whoever has answered"
    rated_in.seats.update(state="taken")
    assert next_step(facts_of([rated_in])[rated_in.pk]) == Step.ESTIMATE


def test_the_estimate_is_that_of_the_frozen_frame_and_of_complete_units_alone(study):
    made = freeze_draw(asked(study, seed=3))
    rated_in = make_tasks(made, by=None)
    numbers = sorted({number_of(task) for task in tasks_of(rated_in)})
    rate(rated_in, only=numbers[:-1])
    (batch,) = routing_of(study).batches
    assert (batch.state, batch.drawn - batch.complete, batch.wanted - batch.ratings) == ("waiting", 1, 2)
    assert routing_of(study).groups == []
    Study.objects.filter(pk=rated_in.pk).update(status="closed")
    assert routing_of(study).batches[0].state == "incomplete" and routing_of(study).groups == []
    rate(rated_in, only=numbers[-1:])
    found = routing_of(study)
    assert found.batches[0].state == "complete"
    (group,) = found.groups
    assert group.models == ["model0", "model1"] and group.criterion == "overall" and group.pool == N
    # By hand: the same frame with people's scores at the drawn places.
    judge = np.array([unit["judge"][str(made.language_models[0])] for unit in made.frame])
    rows = {number_of(task): truth(task) for task in tasks_of(study) if task.response_a.model.name == "model0"}
    order = {task.response_a.instruction_id: number_of(task) for task in tasks_of(study)}
    people = np.array([rows[order[unit["instruction"]]] if unit["drawn"] else np.nan for unit in made.frame])
    expected = routed_mean(judge, people, np.array([unit["probability"] for unit in made.frame]), seed=3)
    (zero,) = [one for one in group.means if one.model == "model0"]
    assert zero.found == expected and (zero.low, zero.high) == pytest.approx((expected.low, expected.high))
    assert zero.uniform_low < zero.found.value < zero.uniform_high
    (apart,) = group.differences
    assert apart.found.value == pytest.approx(-1.0, abs=0.6) and apart.low < -1 < apart.high


def test_two_batches_are_combined_by_inverse_variance_and_a_lead_s_own_answer_is_no_rating(study):
    for seed in (3, 4):
        rate(make_tasks(freeze_draw(asked(study, seed=seed, instructions=25 + seed)), by=None))
    (group,) = routing_of(study).groups
    assert len(group.batches) == 2 and group.ratings == sum(one.ratings for one in routing_of(study).batches)
    one = group.means[0].found
    assert one.n == sum(batch.drawn for batch in routing_of(study).batches)
    before = group.means[0].found.value
    rated_in = Study.objects.filter(routed_draw__isnull=False).first()
    key = Rater.objects.create(workspace=study.workspace, study=rated_in, kind="key", label="adjudicated")
    for task in tasks_of(rated_in):
        make_answer(task, key, {"item0": 0, "overall": 0})
    assert routing_of(study).groups[0].means[0].found.value == before
    people = Rater.objects.filter(study=rated_in, kind="person").first()
    chosen = Assignment.objects.filter(rater=people).order_by("pk").first()
    Assignment.objects.filter(pk=chosen.pk).update(status="excluded")
    (one, other) = routing_of(study).batches
    assert {one.state, other.state} == {"waiting", "complete"}, "an excluded answer no longer completes its unit"
    assert len(routing_of(study).groups[0].batches) == 1


def test_over_many_draws_the_routed_estimate_is_right_and_the_unweighted_mean_is_not(study):
    plan = plan_draw(asked(study, instructions=30))
    probability = np.array(plan.probability)
    order = {task.response_a.instruction_id: number_of(task) for task in tasks_of(study)}
    rows = {number_of(task): truth(task) for task in tasks_of(study) if task.response_a.model.name == "model1"}
    model = next(pk for pk, name in plan.pool.models.items() if name == "model1")
    judge = np.array([unit.judge[model] for unit in plan.pool.units])
    people = np.array([rows[order[unit.instruction]] for unit in plan.pool.units])
    routed, plain, held = [], [], []
    for seed in range(400):
        drawn = draw(probability, seed)
        if drawn.sum() < 20:
            continue
        found = routed_mean(judge, np.where(drawn, people, np.nan), probability, seed=seed)
        routed.append(found.value - people.mean())
        plain.append(people[drawn].mean() - people.mean())
        held.append(found.low <= people.mean() <= found.high)
    error = np.std(routed) / np.sqrt(len(routed))
    assert abs(np.mean(routed)) < 3 * error + 0.02, "right up to the error of the simulation"
    assert np.mean(plain) > 10 * abs(np.mean(routed)) and np.mean(plain) > 0.1, "as the plain mean is not"
    assert np.mean(held) > 0.93


def test_a_spread_comes_from_repeats_or_soft_verdicts_too(study):
    one, two = judges_of(study)
    with pytest.raises(UserError, match=r"one verdict, so .* at least 2 judges, let it judge at least 2 times"):
        pool_of(study, (one,))
    assert pool_of(study, (one,), spread="soft").spread_kind == "soft"
    with pytest.raises(UserError, match="one judge, or take the spread between the 2"):
        pool_of(study, (one, two), spread="soft")
    with pytest.raises(UserError, match="no usable scores"):
        pool_of(study, (make_judge_rater(study.workspace, "third"),))
    for task in tasks_of(study):
        level = LEVELS[4 if number_of(task) < 10 else 0]
        make_answer(task, one, {"item0": level}, repeat=1)
    pool = pool_of(study, (one,))
    assert pool.spread_kind == "repeats" and len({round(unit.spread, 6) for unit in pool.units}) > 3
    soft = make_judge_rater(study.workspace, "soft")
    for task in tasks_of(study):
        make_answer(task, soft, {"item0": 0.5 if number_of(task) % 2 else 0.93})
    by_share = pool_of(study, (soft,))
    assert by_share.spread_kind == "soft"
    assert {round(unit.spread, 9) for unit in by_share.units} == {0.5, round((0.93 * 0.07) ** 0.5, 9)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"instructions": 51},
            "for 51 of 50 instructions on which the judge scored every model compared; ask for at most 50",
        ),
        ({"instructions": 19}, "at least 20 instructions .* this budget is for 19; .* with 40 of their responses"),
        ({"instructions": None}, "one of the two"),
        ({"instructions": 30, "responses": 60}, "one of the two"),
        ({"instructions": float("nan")}, "one of the two"),
        ({"overlap": 0}, "at most 1000 ratings"),
        ({"seed": -1}, "seed must be"),
        ({"models": ("model9",)}, "no response of the model model9 in this study; it scored: model0, model1"),
    ],
)
def test_bad_input_is_refused_in_a_sentence_with_the_number_needed(study, given, words):
    with pytest.raises(UserError, match=words):
        plan_draw(asked(study, **given))
    assert not RoutedDraw.objects.exists()


def test_a_pool_that_is_too_small_and_a_study_of_pairs_are_refused(study):
    few = Task.objects.filter(study=study, response_a__model__name="model1").order_by("pk")[:35]
    Assignment.objects.filter(task__in=list(few)).update(status="unscored")
    with pytest.raises(UserError, match=r"at least 20 instructions that people rate, and .* on 15"):
        plan_draw(asked(study))
    assert len(plan_draw(asked(study, models=("model0",))).pool.units) == N
    with pytest.raises(UserError, match="Name at least one judge"):
        plan_draw(RoutingRequest(study, (), instructions=30))
    Study.objects.filter(pk=study.pk).update(kind="pair")
    study.refresh_from_db()
    with pytest.raises(UserError, match="single responses"):
        plan_draw(asked(study))


def test_what_is_saved_is_measured_on_people_s_ratings_where_there_are_enough(study):
    plan = plan_draw(asked(study))
    assert plan.saving.measured is None and plan.saving.n == 0
    assert plan.saving.at_best > 0 > plan.saving.if_unrelated
    rate(study, only=range(15, N))
    measured = plan_draw(asked(study)).saving
    assert measured.n == 35 and measured.low < measured.measured < measured.high
    assert measured.measured > 0, "people's deviations are where the judges differ"
