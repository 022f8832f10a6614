"""Which task a rater gets next: exact overlap, no task twice, no seat lost."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import IntegrityError, connection, connections
from django.utils.timezone import now

from annotation.answers.recording import Answer, record_answer, skip
from annotation.assignment import next_task
from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.leases import lease_seconds, release_expired, renew_lease
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import StudyNotOpen, has_more, next_assignment
from annotation.assignment.rater_progress import NoTaskLeft, TooFast, progress_of
from annotation.assignment.rater_status import pause
from annotation.assignment.slots import claim_slot, regain_seat
from annotation.models import Assignment, Rater, Seat, Task
from annotation.policies.policies import BadPolicy
from tests.annotation.raters_at_work import make_pairs
from tests.factories import make_checklist_study, make_rater

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def noon():
    return NOON


def later(**delta):
    return lambda: NOON + timedelta(**delta)


def answer_for(assignment):
    return {
        criterion.key: Answer(5.0 if criterion.role == "overall" else 0.5)
        for criterion in assignment.task.answer_rubric.criteria.all()
    }


def submit(assignment, clock=noon):
    return record_answer(assignment=assignment, answers=answer_for(assignment), clock=clock)


@pytest.fixture
def study():
    """Eight tasks, two seats each."""
    study = make_checklist_study(instructions=4, models=2)
    study.policies = {"overlap": 2}
    study.save()
    make_seats(study)
    return study


def test_seats_are_one_a_task_and_place_and_made_once(study):
    assert Seat.objects.filter(study=study, state="free").count() == 16
    assert make_seats(study) == 0
    study.policies["overlap"] = 3
    before = dict(Seat.objects.values_list("pk", "draw_key"))
    assert make_seats(study) == 8
    assert {pk: key for pk, key in Seat.objects.values_list("pk", "draw_key") if pk in before} == before


def test_draws_depend_on_the_seed_only(study):
    keys = list(Seat.objects.order_by("task", "place").values_list("draw_key", flat=True))
    Seat.objects.all().delete()
    make_seats(study)
    assert list(Seat.objects.order_by("task", "place").values_list("draw_key", flat=True)) == keys
    Seat.objects.all().delete()
    study.seed = 1
    make_seats(study)
    assert list(Seat.objects.order_by("task", "place").values_list("draw_key", flat=True)) != keys


@pytest.mark.parametrize(("order", "expected"), [("spread", [0] * 8 + [1] * 8), ("finish", [0, 1] * 8)])
def test_order_policies(study, order, expected):
    Seat.objects.all().delete()
    study.policies["order"] = order
    make_seats(study)
    assert list(Seat.objects.order_by("draw_key").values_list("place", flat=True)) == expected


@pytest.mark.parametrize("policies", [{"overlap": 0}, {"overlap": "2"}, {"overlap": True}, {"order": "odd"}])
def test_nonsense_policies_are_named(study, policies):
    study.policies = policies
    with pytest.raises(BadPolicy, match="Study essays"):
        make_seats(study)


def test_a_claim_is_one_statement(study, django_assert_num_queries):
    rater = make_rater(study)
    with django_assert_num_queries(1):
        seat_id, task_id = claim_slot(rater, study, clock=noon)
    seat = Seat.objects.get(pk=seat_id)
    assert (seat.task_id, seat.state, seat.holder) == (task_id, "held", rater)
    first = Seat.objects.filter(study=study).order_by("draw_key").first()
    assert seat == first


def test_a_claim_uses_the_index_of_free_seats(study):
    if connection.vendor != "sqlite":
        pytest.skip("the plan of a small table says nothing on PostgreSQL")
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN QUERY PLAN SELECT s.id FROM annotation_seat s WHERE s.study_id = %s AND s.state = 'free' "
            "ORDER BY s.draw_key LIMIT 1",
            [study.pk],
        )
        plan = " ".join(str(row) for row in cursor.fetchall())
    assert "seat_free_in_draw_order" in plan
    assert "TEMP B-TREE" not in plan


def test_lease_grows_with_the_text_up_to_a_limit(study):
    """Half an hour, eight tenths of a second a word, and never more than a day; ten minutes before any answer."""
    assert [lease_seconds(words) for words in (0, 1000, 10**6)] == [1800, 2600, 86_400]
    assert [lease_seconds(words, first=True) for words in (0, 1000, 10**6)] == [600, 1400, 86_400]
    task = Task.objects.get(pk=claim_slot(make_rater(study), study, clock=noon)[1])
    seat = Seat.objects.get(task=task, state="held")
    assert task.response_a.words == 7
    assert seat.leased_until == NOON + timedelta(seconds=lease_seconds(7))


@pytest.mark.parametrize(("words", "expected"), [(None, 1000), (5000, 5000)])
def test_lease_in_the_statement_equals_the_function(study, words, expected):
    for task in study.tasks.all():
        task.response_a.words = words
        task.response_a.save()
    claim_slot(make_rater(study), study, clock=noon)
    seat = Seat.objects.get(state="held")
    assert seat.leased_until == NOON + timedelta(seconds=lease_seconds(expected))


def test_overlap_is_exact_and_nobody_gets_a_task_twice(study):
    raters = [make_rater(study) for _ in range(4)]
    answered = 0
    idle = set()
    while len(idle) < len(raters):
        for rater in raters:
            try:
                assignment, _ = next_assignment(rater, study, clock=noon)
            except NoTaskLeft:
                idle.add(rater)
                continue
            submit(assignment)
            answered += 1
    assert answered == 16
    assert Seat.objects.filter(state="taken").count() == 16
    for task in study.tasks.all():
        assert task.assignments.values("rater").distinct().count() == task.assignments.count() == 2


def test_an_open_assignment_is_resumed_first(study):
    rater = make_rater(study)
    first, _ = next_assignment(rater, study, clock=noon)
    again, progress = next_assignment(rater, study, clock=later(minutes=5))
    assert again == first
    assert progress.open == 1
    assert Seat.objects.filter(state="held").count() == 1


def test_shown_at_is_the_time_of_the_claim(study):
    assignment, _ = next_assignment(make_rater(study), study, clock=noon)
    assert assignment.shown_at == NOON
    assert assignment.shown_first == "", "a task of one response has no side"


def test_a_rater_alone_gets_each_task_once(study):
    rater = make_rater(study)
    seen = set()
    for _ in range(8):
        assignment, _progress = next_assignment(rater, study, clock=noon)
        submit(assignment)
        seen.add(assignment.task_id)
    assert len(seen) == 8
    with pytest.raises(NoTaskLeft):
        next_assignment(rater, study, clock=noon)
    assert progress_of(rater).submitted == 8


def test_an_expired_seat_goes_to_another_and_its_late_answer_is_surplus():
    study = make_checklist_study(instructions=1, models=1)
    make_seats(study)
    slow, quick = make_rater(study), make_rater(study)
    late, _ = next_assignment(slow, study, clock=noon)
    with pytest.raises(NoTaskLeft):
        next_assignment(quick, study, clock=later(minutes=10))
    fresh, _ = next_assignment(quick, study, clock=later(hours=5))
    assert fresh.task == late.task
    assert submit(fresh, later(hours=5)) == "recorded"
    late.refresh_from_db()
    assert late.seat is None
    assert submit(late, later(hours=6)) == "surplus"
    late.refresh_from_db()
    assert late.status == "surplus"
    assert late.scores.count() == 4
    assert Seat.objects.filter(state="taken").count() == 1


def test_an_expired_seat_stays_its_holders_while_others_are_free(study):
    late, _ = next_assignment(make_rater(study), study, clock=noon)
    quick = make_rater(study)
    next_assignment(quick, study, clock=later(hours=5))
    assert Assignment.objects.filter(rater=quick).count() == 1
    assert Seat.objects.filter(state="held").count() == 2
    assert submit(late, later(hours=6)) == "recorded"


def test_a_task_is_handed_out_under_the_conditions_of_the_study(study):
    assignment, _ = next_assignment(make_rater(study), study, clock=noon, conditions={"hint": True})
    assert assignment.conditions == {"hint": True}


def test_a_late_answer_still_counts_where_a_seat_is_free():
    study = make_checklist_study(instructions=1, models=1)
    make_seats(study)
    rater = make_rater(study)
    assignment, _ = next_assignment(rater, study, clock=noon)
    assert release_expired(study, clock=later(hours=5)) == 1
    assert Seat.objects.filter(state="free").count() == 1
    assignment.refresh_from_db()
    assert assignment.seat is None
    assert submit(assignment, later(hours=6)) == "recorded"
    assert Seat.objects.get().state == "taken"


def test_an_assignment_without_a_seat_regains_one_when_its_rater_returns():
    study = make_checklist_study(instructions=1, models=1)
    make_seats(study)
    rater = make_rater(study)
    assignment, _ = next_assignment(rater, study, clock=noon)
    release_expired(study, clock=later(hours=5))
    again, _ = next_assignment(rater, study, clock=later(hours=5))
    assert again == assignment
    assert again.seat.holder == rater


def test_a_lease_is_renewed_only_by_its_holder(study):
    rater = make_rater(study)
    assignment, _ = next_assignment(rater, study, clock=noon)
    assert renew_lease(assignment, clock=later(minutes=5))
    assert release_expired(study, clock=later(minutes=14)) == 0
    assert release_expired(study, clock=later(hours=5)) == 1
    assert not renew_lease(assignment, clock=later(hours=5))


def test_an_answered_task_has_no_lease_to_renew(study):
    assignment, _ = next_assignment(make_rater(study), study, clock=noon)
    stale = Assignment.objects.get(pk=assignment.pk)
    submit(assignment)
    assert not renew_lease(stale, clock=later(minutes=5))
    assert Seat.objects.get(holder=assignment.rater).leased_until is None


def test_a_seat_that_went_to_somebody_else_is_theirs():
    study = make_checklist_study(instructions=1, models=1)
    make_seats(study)
    slow, quick = make_rater(study), make_rater(study)
    stale, _ = next_assignment(slow, study, clock=noon)
    next_assignment(quick, study, clock=later(hours=5))
    lease = Seat.objects.get().leased_until
    assert not renew_lease(stale, clock=later(hours=6))
    skip(assignment=stale, reason="cannot judge", clock=later(hours=6))
    seat = Seat.objects.get()
    assert (seat.holder, seat.state, seat.leased_until) == (quick, "held", lease)


def test_a_late_answer_takes_nothing_from_the_one_who_has_the_task_now():
    study = make_checklist_study(instructions=1, models=1)
    make_seats(study)
    slow, quick = make_rater(study), make_rater(study)
    stale, _ = next_assignment(slow, study, clock=noon)
    fresh, _ = next_assignment(quick, study, clock=later(hours=5))
    assert submit(stale, later(hours=5)) == "surplus"
    assert Seat.objects.get().state == "held"
    assert submit(fresh, later(hours=5)) == "recorded"
    assert Seat.objects.get().holder == quick


def test_an_hourly_limit_counts_the_last_hour_only(study):
    study.policies["answers_per_hour"] = 2
    rater = make_rater(study)
    for _ in range(2):
        submit(next_assignment(rater, study, clock=noon)[0])
    with pytest.raises(TooFast):
        next_assignment(rater, study, clock=later(minutes=59))
    assert next_assignment(rater, study, clock=later(minutes=61))[0].status == "open"


def test_a_skipped_task_goes_to_others_and_never_returns(study):
    rater = make_rater(study)
    assignment, _ = next_assignment(rater, study, clock=noon)
    skip(assignment=assignment, reason="cannot judge", clock=noon)
    assert Seat.objects.filter(state="free").count() == 16
    following, progress = next_assignment(rater, study, clock=noon)
    assert following.task != assignment.task
    assert progress.skipped == 1


def test_a_quota_ends_a_raters_work(study):
    study.policies["quota"] = 1
    rater = make_rater(study)
    submit(next_assignment(rater, study, clock=noon)[0])
    with pytest.raises(NoTaskLeft, match="are given"):
        next_assignment(rater, study, clock=noon)


def test_a_quota_is_of_answers_of_any_kind_and_of_one_rater(study):
    """A skipped task is none, a surplus one is; what others did is theirs."""
    study.policies["quota"] = 2
    rater, other = make_rater(study), make_rater(study)
    for _ in range(2):
        submit(next_assignment(other, study, clock=noon)[0])
    skip(assignment=next_assignment(rater, study, clock=noon)[0], reason="cannot judge", clock=noon)
    first = next_assignment(rater, study, clock=noon)[0]
    submit(first)
    Assignment.objects.filter(pk=first.pk).update(status="surplus")
    submit(next_assignment(rater, study, clock=noon)[0])
    with pytest.raises(NoTaskLeft, match="are given"):
        next_assignment(rater, study, clock=noon)


@pytest.mark.parametrize(
    ("policy", "refusal"),
    [("quota", "1 answers of 1 are given"), ("answers_per_hour", "1 answers of 1 an hour are given")],
)
def test_who_is_refused_more_is_refused_it_every_time_and_holds_no_seat(study, policy, refusal):
    study.policies[policy] = 1
    rater = make_rater(study)
    submit(next_assignment(rater, study, clock=noon)[0])
    for _ in range(2):
        with pytest.raises(NoTaskLeft, match=refusal):
            next_assignment(rater, study, clock=noon)
    assert not Seat.objects.filter(state="held").exists()


def test_an_hourly_limit_is_of_one_raters_answers(study):
    study.policies["answers_per_hour"] = 1
    rater, other = make_rater(study), make_rater(study)
    submit(next_assignment(other, study, clock=noon)[0])
    skip(assignment=next_assignment(rater, study, clock=noon)[0], reason="cannot judge", clock=noon)
    submit(next_assignment(rater, study, clock=noon)[0])
    with pytest.raises(TooFast):
        next_assignment(rater, study, clock=noon)


def test_time_worked_is_that_of_answers_given(study):
    rater = make_rater(study)
    given = next_assignment(rater, study, clock=noon)[0]
    submit(given)
    Assignment.objects.filter(pk=given.pk).update(active_seconds=30)
    skipped = next_assignment(rater, study, clock=noon)[0]
    skip(assignment=skipped, reason="cannot judge", clock=noon)
    Assignment.objects.filter(pk=skipped.pk).update(active_seconds=1000)
    submit(next_assignment(make_rater(study), study, clock=noon)[0])
    found = progress_of(rater)
    assert (found.submitted, found.skipped, found.open, found.active_seconds) == (1, 1, 0, 30)


@pytest.mark.parametrize(
    ("when", "open_"),
    [
        (datetime(2026, 5, 4, 23, 59, tzinfo=UTC), True),
        (datetime(2026, 5, 5, 0, 0, tzinfo=UTC), False),
        (datetime(2026, 5, 5, 7, 59, tzinfo=timezone(timedelta(hours=8))), True),
        (datetime(2026, 5, 4, 20, 0, tzinfo=timezone(timedelta(hours=-5))), False),
    ],
)
def test_the_last_day_ends_at_midnight_of_utc(study, when, open_):
    study.policies["last_day"] = "2026-05-04"
    rater, later_one = make_rater(study), make_rater(study)
    begun, _ = next_assignment(rater, study, clock=noon)
    assert has_more(study, later_one, clock=lambda: when) == open_
    assert has_more(study, None, clock=lambda: when) == open_
    if open_:
        assert next_assignment(later_one, study, clock=lambda: when)[0].status == "open"
    else:
        with pytest.raises(NoTaskLeft):
            next_assignment(later_one, study, clock=lambda: when)
    # What was begun may be finished, unless its rater was stopped.
    assert has_more(study, rater, clock=lambda: when)
    assert next_assignment(rater, study, clock=lambda: when)[0] == begun
    pause(rater, message="", by=None)
    assert not has_more(study, rater, clock=lambda: when)


class TestHasMore:
    """Whether starting would bring a task, without claiming one."""

    @pytest.fixture
    def one(self):
        study = make_checklist_study(instructions=1, models=1)
        make_seats(study)
        return study

    def both(self, study, rater, clock):
        """What has_more says, and whether a start brings a task."""
        said = has_more(study, rater, clock=clock)
        try:
            next_assignment(rater, study, clock=clock)
        except NoTaskLeft:
            return said, False
        return said, True

    def test_a_seat_held_by_another_counts_once_its_lease_is_over(self, one):
        next_assignment(make_rater(one), one, clock=noon)
        late = make_rater(one)
        assert not has_more(one, None, clock=later(minutes=10))
        assert self.both(one, late, later(minutes=10)) == (False, False)
        assert has_more(one, None, clock=later(hours=5))
        assert self.both(one, late, later(hours=5)) == (True, True)

    def test_what_the_rater_had_is_no_more(self, one):
        rater = make_rater(one)
        skip(assignment=next_assignment(rater, one, clock=noon)[0], reason="cannot judge", clock=noon)
        assert has_more(one, make_rater(one), clock=noon)
        assert self.both(one, rater, noon) == (False, False)

    def test_an_open_task_is_more(self, one):
        rater = make_rater(one)
        next_assignment(rater, one, clock=noon)
        assert self.both(one, rater, noon) == (True, True)

    @pytest.mark.parametrize(("repeat", "gold"), [(1, None), (0, {"purpose": "gold", "expected": {}})])
    def test_an_open_probe_or_known_task_is_more_though_no_seat_is_free(self, one, repeat, gold):
        rater = make_rater(one)
        submit(next_assignment(rater, one, clock=noon)[0])
        assert self.both(one, rater, noon) == (False, False)
        task = one.tasks.get()
        if gold:
            task.pk, task.public_id, task.key, task.gold = None, "known", "known", gold
            task.save()
        Assignment.objects.create(task=task, rater=rater, repeat=repeat)
        assert self.both(one, rater, noon) == (True, True)

    def test_an_open_task_whose_seat_another_has_is_not(self, one):
        slow = make_rater(one)
        next_assignment(slow, one, clock=noon)
        submit(next_assignment(make_rater(one), one, clock=later(hours=5))[0], later(hours=5))
        assert self.both(one, slow, later(hours=6)) == (False, False)

    def test_the_quota_ends_it(self, study):
        study.policies["quota"] = 2
        rater = make_rater(study)
        for left in (2, 1, 0):
            assert self.both(study, rater, noon) == (left > 0, left > 0)
            if left:
                submit(next_assignment(rater, study, clock=noon)[0])

    @pytest.mark.parametrize("status", ["draft", "paused", "closed"])
    def test_none_in_a_study_that_is_not_open(self, one, status):
        rater = make_rater(one)
        next_assignment(rater, one, clock=noon)
        one.status = status
        assert not has_more(one, rater, clock=noon)
        assert not has_more(one, None, clock=later(hours=5))

    def test_none_for_who_is_stopped(self, study):
        rater = make_rater(study)
        assert has_more(study, rater, clock=noon)
        pause(rater, message="", by=None)
        assert not has_more(study, rater, clock=noon)


def test_seats_of_another_study_stay_as_they_are(study):
    """Neither handed out, nor freed when their lease runs out, nor counted."""
    other = make_checklist_study(slug="letters", instructions=1, models=1)
    make_seats(other)
    assert not Seat.objects.filter(study=other).exclude(task__study=other).exists()
    Seat.objects.filter(study=other).update(draw_key=-1)
    rater = make_rater(study)
    assert claim_slot(rater, study, clock=noon)[1] in set(study.tasks.values_list("pk", flat=True))
    next_assignment(make_rater(other), other, clock=noon)
    assert release_expired(study, clock=later(hours=5)) == 1
    assert Seat.objects.get(study=other).state == "held"
    Seat.objects.filter(study=study).delete()
    assert not has_more(study, None, clock=later(hours=5))


def test_a_freed_seat_is_nobodys(study):
    first = next_assignment(make_rater(study), study, clock=noon)[0]
    second = next_assignment(make_rater(study), study, clock=noon)[0]
    release_expired(study, clock=later(hours=5))
    again = next_assignment(make_rater(study), study, clock=later(hours=5))[0]
    skip(assignment=again, reason="cannot judge", clock=later(hours=5))
    assert not Seat.objects.exclude(state="free", holder=None, leased_until=None).exists()
    assert not Assignment.objects.exclude(seat=None).exists()
    assert {first.status, second.status} == {"open"}


def test_an_answered_seat_has_no_lease(study):
    submit(next_assignment(make_rater(study), study, clock=noon)[0])
    assert Seat.objects.get(state="taken").leased_until is None


def test_dropped_tasks_get_no_seats(study):
    task = study.tasks.first()
    task.seats.all().delete()
    study.policies["dropped"] = [task.key]
    assert make_seats(study) == 0
    study.policies["dropped"] = []
    assert make_seats(study) == 2


@pytest.mark.parametrize(("words", "expected"), [((4000, 6000), 10_000), ((4000, None), 5000), ((10**6, 10**6), 10**7)])
def test_a_pairs_lease_is_of_both_its_texts(words, expected):
    study = make_pairs(tasks=1)
    task = study.tasks.get()
    for response, count in zip((task.response_a, task.response_b), words, strict=True):
        response.words = count
        response.save()
    assignment, _ = next_assignment(make_rater(study), study, clock=noon)
    assert assignment.seat.leased_until == NOON + timedelta(seconds=lease_seconds(expected, first=True))
    assert lease_seconds(expected) <= 24 * 60 * 60
    assert renew_lease(assignment, clock=later(minutes=5))
    lease = Seat.objects.get(task=task).leased_until
    assert lease == NOON + timedelta(minutes=5, seconds=lease_seconds(expected, first=True))


def test_tasks_come_by_the_drawn_keys_and_not_by_their_ids(study):
    rater, keys = make_rater(study), []
    for _ in range(8):
        assignment, _progress = next_assignment(rater, study, clock=noon)
        keys.append(assignment.seat.draw_key)
        submit(assignment)
    assert keys == sorted(keys)
    assert keys != list(Seat.objects.filter(draw_key__in=keys).order_by("pk").values_list("draw_key", flat=True))


@pytest.mark.parametrize("status", ["draft", "paused", "closed"])
def test_only_an_open_study_hands_out(study, status):
    study.status = status
    with pytest.raises(StudyNotOpen):
        next_assignment(make_rater(study), study, clock=noon)


def test_a_claim_lost_to_another_tab_is_made_again_and_holds_one_seat(study, monkeypatch):
    make, lost = next_task._make, []

    def late_at_first(*given, **fields):
        if not lost:
            lost.append(fields["seat_id"])
            raise IntegrityError("the other tab has recorded this task")
        return make(*given, **fields)

    monkeypatch.setattr(next_task, "_make", late_at_first)
    assignment, _ = next_assignment(make_rater(study), study, clock=noon)
    assert assignment.seat.state == "held"
    assert Seat.objects.filter(state="held").count() == 1


def test_a_claim_that_is_lost_again_and_again_holds_no_seat(study, monkeypatch):
    def late(*given, **fields):
        raise IntegrityError("the other tab has recorded this task")

    monkeypatch.setattr(next_task, "_make", late)
    with pytest.raises(NoTaskLeft):
        next_assignment(make_rater(study), study, clock=noon)
    assert not Seat.objects.exclude(state="free").exists()


@pytest.mark.parametrize(
    ("policies", "purpose"), [({"gold_rate": 0.25, "probe_rate": 0}, "gold"), ({"training": True}, "training")]
)
def test_a_check_lost_to_another_tab_costs_the_rater_nothing(monkeypatch, policies, purpose):
    study = make_checklist_study(instructions=6, models=1)
    study.policies = policies
    study.save()
    for task in study.tasks.order_by("pk")[:2]:
        mark_gold(task, {"overall": 5}, purpose=purpose)
    make_seats(study)
    make, lost = next_task._make, []

    def late_at_the_first_check(rater, study_, task_id, coming, kind="", **fields):
        if kind and not lost:
            lost.append(task_id)
            raise IntegrityError("the other tab has recorded this task")
        return make(rater, study_, task_id, coming, kind, **fields)

    monkeypatch.setattr(next_task, "_make", late_at_the_first_check)
    rater = make_rater(study)
    with suppress(NoTaskLeft):
        while True:
            submit(next_assignment(Rater.objects.get(pk=rater.pk), study, clock=noon)[0])
    assert lost
    assert Assignment.objects.filter(rater=rater, status="submitted").count() == 4
    assert Assignment.objects.filter(rater=rater, task__in=lost, status="checked").count() <= 1
    assert not Assignment.objects.filter(status="open").exists()


def test_two_tabs_that_come_back_late_regain_one_seat():
    study = make_checklist_study(instructions=1, models=1)
    study.policies = {"overlap": 2}
    make_seats(study)
    assignment, _ = next_assignment(make_rater(study), study, clock=noon)
    release_expired(study, clock=later(hours=5))
    tabs = [Assignment.objects.select_related("task").get(pk=assignment.pk) for _ in range(2)]
    assert [regain_seat(tab, clock=later(hours=5)) for tab in tabs] == [True, True]
    assert tabs[0].seat_id == tabs[1].seat_id == Seat.objects.get(state="held").pk


@pytest.mark.django_db(transaction=True)
def test_two_tabs_of_one_rater_never_share_a_task():
    """Threads claim at once: every seat once, no rater twice on a task."""
    if connection.vendor == "sqlite":
        pytest.skip("the test database on SQLite is in memory, for one connection")
    from concurrent.futures import ThreadPoolExecutor

    study = make_checklist_study(instructions=5, models=2)
    study.policies = {"overlap": 2, "probe_rate": 0}
    study.save()
    make_seats(study)
    raters = [make_rater(study) for _ in range(2)]

    def work(rater):
        try:
            for _ in range(12):
                try:
                    assignment, _progress = next_assignment(rater, study, clock=now)
                    submit(assignment, now)
                except NoTaskLeft:
                    return
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, raters * 3))
    counted = Assignment.objects.filter(status="submitted")
    assert counted.count() == 20
    assert counted.values("task", "rater").distinct().count() == 20
    assert Seat.objects.filter(state="taken").count() == 20
    assert not Assignment.objects.filter(status="surplus").exists()
