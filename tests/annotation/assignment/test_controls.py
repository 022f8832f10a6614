"""Gold items and degraded controls: spread evenly, marked rightly, counted nowhere."""

import itertools

import pytest
from hypothesis import given, strategies as st

from annotation.answers.recording import Answer, record_answer
from annotation.assignment.attention_checks import check_tasks, make_controls, mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, CheckOutcome, Criterion, Seat, Task
from annotation.rules.degrading import Damage
from annotation.rules.marking import admits, below, missed
from calibration.data.frames import EVERY_KIND
from calibration.data.scores import score_frame
from core.errors import UserError
from generation.models import Response
from tests.annotation.raters_at_work import answer, answers_to, clock, make_pairs, make_study, work
from tests.factories import make_answer, make_judge_rater, make_rater

values = st.floats(0, 10)


@given(values, values, values)
def test_a_range_admits_what_lies_in_it(low, high, value):
    assert admits([low, high], value) == (low - 1e-9 <= value <= high + 1e-9)


@given(st.dictionaries(st.sampled_from("abc"), values, min_size=1))
def test_the_expected_answer_itself_is_never_missed(expected):
    assert missed(expected, expected) == []
    assert missed(expected, {}) == list(expected)
    assert missed(expected, dict.fromkeys(expected)) == list(expected)


def test_not_applicable_may_be_what_is_expected():
    assert missed({"a": None}, {"a": None}) == []
    assert missed({"a": None}, {"a": 1.0}) == ["a"]


@pytest.mark.parametrize(
    ("value", "original", "seen"),
    [(7, None, True), (7.1, None, False), (8, 9, True), (9, 9, False), (4, 3, False), (0, 0, True), (1, 0, True)],
)
def test_damage_is_seen_where_the_copy_is_rated_below_the_original(value, original, seen):
    """Without a rating of the original, 7 of 10 is the most; at the bottom nothing can be lower."""
    assert below(value, original, (0, 10)) == seen


@pytest.mark.django_db
class TestMaking:
    def test_controls_are_made_in_turn_derived_and_without_seats(self):
        study = make_study(tasks=12)
        made = make_controls(study, 6)
        assert [task.gold["damage"] for task in made] == ["cut", "doubled", "swapped"] * 2
        assert len({task.gold["of"] for task in made}) == 6
        for task in made:
            original = Task.objects.get(pk=task.gold["of"])
            assert task.response_a.kind == Response.Kind.CONTROL
            assert task.response_a.derived_from == original.response_a
            assert task.response_a.model is None
            assert task.response_a.text != original.response_a.text
        assert make_seats(study) == 0
        assert Seat.objects.filter(task__in=made).count() == 0

    def test_making_more_never_makes_a_second_of_one_task(self):
        study = make_study(tasks=4)
        assert len(make_controls(study, 3)) == 3
        assert len(make_controls(study, 3)) == 1
        assert len(make_controls(study, 3)) == 0
        assert check_tasks(study, "control").count() == 4

    def test_texts_absent_or_too_short_are_passed_over(self):
        study = make_study(tasks=3)
        first, second, _third = Response.objects.order_by("pk")
        Response.objects.filter(pk=first.pk).update(text=None)
        Response.objects.filter(pk=second.pk).update(text="Too short.")
        assert len(make_controls(study, 3, damages=[Damage.SWAPPED])) == 1

    def test_a_control_of_a_pair_sets_the_response_beside_its_copy(self):
        study = make_pairs(tasks=3)
        control = make_controls(study, 1)[0]
        assert control.response_b.derived_from == control.response_a
        assert control.gold["expected"] == {"better": [1.0, 1.0]}
        assert check_tasks(study, "control").get() == control

    def test_marking_gold_takes_the_seats(self):
        study = make_study(tasks=3, overlap=2)
        task = study.tasks.first()
        mark_gold(task, {"overall": [6, 8], "item0": 1.0}, why={"en": "It is good."})
        assert not task.seats.exists()
        assert make_seats(study) == 0

    @pytest.mark.parametrize(
        ("expected", "purpose", "message"),
        [
            ({"odd": 1}, "gold", "no criterion 'odd'"),
            ({"overall": 11}, "gold", "not on the scale of overall"),
            ({"overall": [2, 12]}, "gold", "not on the scale"),
            ({}, "gold", "at least one criterion"),
            ({"overall": 1}, "probe", "not one of gold"),
        ],
    )
    def test_nonsense_is_refused(self, expected, purpose, message):
        task = make_study(tasks=1).tasks.get()
        with pytest.raises(UserError, match=message):
            mark_gold(task, expected, purpose=purpose)

    def test_a_task_that_a_judge_alone_answered_is_made_gold(self):
        study = make_study(tasks=1)
        task = study.tasks.get()
        make_answer(task, make_judge_rater(study.workspace), {"overall": 5.0})
        mark_gold(task, {"overall": 5})
        assert check_tasks(study, "gold").get() == task

    def test_a_task_somebody_has_is_not_made_gold(self):
        study = make_study(tasks=1)
        work(make_rater(study), study)
        with pytest.raises(UserError, match="already been given"):
            mark_gold(study.tasks.get(), {"overall": 5})


@pytest.mark.django_db
class TestHandingOut:
    @pytest.fixture
    def study(self):
        """60 ordinary tasks, 12 gold items, 12 controls; one task in ten each."""
        study = make_study(tasks=72, seats=False, gold_rate=0.1, control_rate=0.1, probe_rate=0)
        for task in study.tasks.order_by("pk")[:12]:
            mark_gold(task, {"overall": [4, 6]})
        make_seats(study)
        make_controls(study, 12)
        study.policies["checks"] = {"window": 20, "failed": 20}
        study.save()
        return study

    def test_they_are_spread_evenly_and_never_in_a_row(self, study):
        done = work(make_rater(study), study)
        for kind in ("gold", "control"):
            orders = [a.order for a in done if kind in a.conditions]
            assert len(orders) in (7, 8)
            apart = [later - earlier for earlier, later in itertools.pairwise(orders)]
            assert all(7 <= n <= 13 for n in apart), apart
        checks = [a.order for a in done if a.conditions]
        assert all(later - earlier > 1 for earlier, later in itertools.pairwise(checks))

    def test_each_comes_once_to_a_rater_and_in_another_order_to_another(self, study):
        given_out = []
        for _ in range(2):
            done = work(make_rater(study), study, most=60)
            tasks = [a.task_id for a in done if "gold" in a.conditions]
            assert len(set(tasks)) == len(tasks)
            given_out.append(tasks)
        assert given_out[0] != given_out[1]

    def test_they_count_nowhere(self, study):
        rater = make_rater(study)
        done = work(rater, study)
        checked = [a for a in done if a.conditions]
        assert {a.status for a in checked} == {"checked"}
        assert Assignment.objects.answered().count() == 60
        assert Seat.objects.filter(state="taken").count() == Seat.objects.count() == 60
        assert len(score_frame(kinds=EVERY_KIND, study=study, repeats=True)) == 60 * 4
        assert CheckOutcome.objects.count() == len(checked)

    def test_without_any_nothing_is_missing(self):
        study = make_study(tasks=50, probe_rate=0)
        assert len(work(make_rater(study), study)) == 50


@pytest.mark.django_db
class TestMarking:
    def hand(self, study, task, kind):
        rater = make_rater(study)
        return rater, Assignment.objects.create(task=task, rater=rater, conditions={kind: True})

    @pytest.mark.parametrize(("overall", "passed"), [(4, True), (6, True), (7, False), (3, False)])
    def test_a_gold_item_is_passed_within_its_range(self, overall, passed):
        study = make_study(tasks=1, seats=False)
        task = study.tasks.get()
        mark_gold(task, {"overall": [4, 6]})
        _rater, assignment = self.hand(study, task, "gold")
        record_answer(
            assignment=assignment, answers=answers_to(assignment) | {"overall": Answer(float(overall))}, clock=clock()
        )
        outcome = CheckOutcome.objects.get()
        assert (outcome.passed, outcome.missed) == (passed, [] if passed else ["overall"])

    def test_a_control_is_passed_below_the_raters_own_rating_of_the_original(self):
        study = make_study(tasks=1)
        control = make_controls(study, 1)[0]
        for share, passed in ((0.5, False), (0.3, True), (0.9, False)):
            rater, assignment = self.hand(study, control, "control")
            original = Assignment.objects.create(task_id=control.gold["of"], rater=rater)
            record_answer(assignment=original, answers=answers_to(original, 0.5), clock=clock())
            Assignment.objects.filter(pk=original.pk).update(status="submitted")
            answer(assignment, share)
            assert CheckOutcome.objects.get(assignment=assignment).passed is passed

    def test_a_control_of_an_unrated_original_is_passed_up_to_seven_tenths(self):
        study = make_study(tasks=1)
        control = make_controls(study, 1)[0]
        for share, passed in ((0.7, True), (0.8, False)):
            _rater, assignment = self.hand(study, control, "control")
            answer(assignment, share)
            assert CheckOutcome.objects.get(assignment=assignment).passed is passed

    @pytest.mark.parametrize(
        ("values", "rated", "passed"),
        [
            ((0.75, 0.75, 0.75), 3, True),  # 2.25 in all, below the 2.5 of the original
            ((1.0, 1.0, 0.5), 3, False),  # as much as the original
            ((0.75, 0.75, 0.5), 2, True),  # an item of the original is not rated: 2 of 3 is at most 0.7
            ((0.75, 0.75, 0.75), 2, False),
        ],
    )
    def test_a_control_without_an_overall_score_is_judged_by_the_mean_of_its_items(self, values, rated, passed):
        study = make_study(tasks=1)
        Criterion.objects.filter(key="overall").delete()
        control = make_controls(study, 1)[0]
        rater, assignment = self.hand(study, control, "control")
        whole = dict(zip(("item0", "item1", "item2"), (1.0, 1.0, 0.5), strict=True))
        make_answer(Task.objects.get(pk=control.gold["of"]), rater, dict(list(whole.items())[:rated]))
        given = {key: Answer(value) for key, value in zip(whole, values, strict=True)}
        record_answer(assignment=assignment, answers=given, clock=clock())
        outcome = CheckOutcome.objects.get()
        assert (outcome.passed, outcome.missed) == (passed, [] if passed else list(whole))

    def test_a_control_of_a_pair_is_passed_by_preferring_the_whole_text(self):
        study = make_pairs(tasks=1)
        control = make_controls(study, 1)[0]
        for value, passed in ((1.0, True), (0.0, False), (-1.0, False)):
            _rater, assignment = self.hand(study, control, "control")
            record_answer(assignment=assignment, answers={"better": Answer(value)}, clock=clock())
            assert CheckOutcome.objects.get(assignment=assignment).passed is passed

    def test_changing_the_answer_to_a_gold_item_does_not_change_its_outcome(self):
        study = make_study(tasks=1, seats=False)
        task = study.tasks.get()
        mark_gold(task, {"overall": 5})
        _rater, assignment = self.hand(study, task, "gold")
        answer(assignment, 0.9)
        assert not CheckOutcome.objects.get().passed
        answer(assignment, 0.5)
        assert not CheckOutcome.objects.get().passed
        assert assignment.scores.filter(criterion__key="overall").count() == 2
