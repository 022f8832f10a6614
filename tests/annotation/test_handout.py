"""Which task a rater gets next: exact overlap, no task twice, no seat lost."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections
from django.utils import timezone

from annotation.handout import (
    BadPolicy,
    NoTaskLeft,
    QuotaReached,
    StudyNotOpen,
    TooFast,
    claim_seat,
    lease_seconds,
    make_seats,
    next_assignment,
    progress_of,
    release_expired,
    renew_lease,
)
from annotation.models import Assignment, Seat, Task
from annotation.recording import Answer, record_answer, skip
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
        seat_id, task_id = claim_seat(rater, study, clock=noon)
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
    assert lease_seconds(0) < lease_seconds(1000) < lease_seconds(10_000)
    assert lease_seconds(10**6) == lease_seconds(10**7)
    task = Task.objects.get(pk=claim_seat(make_rater(study), study, clock=noon)[1])
    seat = Seat.objects.get(task=task, state="held")
    assert task.response_a.words == 7
    assert seat.leased_until == NOON + timedelta(seconds=lease_seconds(7))


@pytest.mark.parametrize(("words", "expected"), [(None, 1000), (5000, 5000)])
def test_lease_in_the_statement_equals_the_function(study, words, expected):
    for task in study.tasks.all():
        task.response_a.words = words
        task.response_a.save()
    claim_seat(make_rater(study), study, clock=noon)
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
    assert renew_lease(assignment, clock=later(minutes=20))
    assert release_expired(study, clock=later(minutes=40)) == 0
    assert release_expired(study, clock=later(hours=5)) == 1
    assert not renew_lease(assignment, clock=later(hours=5))


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
    with pytest.raises(QuotaReached):
        next_assignment(rater, study, clock=noon)


@pytest.mark.parametrize("status", ["draft", "paused", "closed"])
def test_only_an_open_study_hands_out(study, status):
    study.status = status
    with pytest.raises(StudyNotOpen):
        next_assignment(make_rater(study), study, clock=noon)


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
                    assignment, _progress = next_assignment(rater, study, clock=timezone.now)
                    submit(assignment, timezone.now)
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
