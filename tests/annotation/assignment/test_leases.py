"""How long seats are kept: never under three times the reading time, prolonged by an open page, and not forever."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.assignment.leases import lease_seconds, release_expired, renew_lease
from annotation.assignment.next_task import hold_next, next_assignment
from annotation.assignment.rater_progress import NoTaskLeft
from annotation.assignment.rater_status import pause, resume
from annotation.assignment.slots import regain_seat
from annotation.models import Assignment, Rater, Seat
from annotation.recruitment.cohorts import CrowdId, join, make_cohort
from generation.models import Response
from tests.annotation.raters_at_work import NOON, answer, clock, make_pairs, make_study
from tests.factories import make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
WORDS_A_MINUTE = 230
HTMX = {"HX-Request": "true"}
GOOD = {"c-item0": "0", "c-item1": "3", "c-item2": "4", "c-overall": "7"}


def of_words(words, tasks=3, **policies):
    study = make_study(tasks=tasks, probe_rate=0, **policies)
    Response.objects.filter(tasks_as_a__study=study).update(words=words)
    return study


def again(assignment):
    return Assignment.objects.select_related(
        "seat", "rater", "task__study", "task__response_a", "task__response_b"
    ).get(pk=assignment.pk)


def three_readings(words):
    return timedelta(minutes=3 * words / WORDS_A_MINUTE)


@pytest.mark.parametrize("words", [7, 500, 10_000, 60_000])
@pytest.mark.parametrize("first", [True, False])
def test_no_lease_is_under_three_times_the_reading_time(words, first):
    assert timedelta(seconds=lease_seconds(words, first=first)) >= three_readings(words)
    study, rater = of_words(words), None
    rater = make_rater(study)
    if not first:
        answer(next_assignment(rater, study, clock=clock())[0])
    assignment, _ = next_assignment(rater, study, clock=clock())
    assert assignment.seat.leased_until - NOON == timedelta(seconds=lease_seconds(words, first=first))


def test_two_tasks_held_are_kept_for_the_reading_of_both():
    study = of_words(10_000)
    assignment, _ = next_assignment(make_rater(study), study, clock=clock())
    hold_next(again(assignment), clock=clock())
    leases = Seat.objects.filter(state="held").values_list("leased_until", flat=True)
    assert len(leases) == 2
    assert min(leases) - NOON >= three_readings(20_000)


def test_both_texts_of_a_pair_count():
    study = make_pairs(tasks=2, probe_rate=0)
    Response.objects.update(words=10_000)
    assignment, _ = next_assignment(make_rater(study), study, clock=clock())
    assert assignment.seat.leased_until - NOON >= three_readings(20_000)


def test_who_never_answers_gives_the_seat_back_sooner():
    study = of_words(60, tasks=1)
    idle, keen = make_rater(study), make_rater(study)
    next_assignment(idle, study, clock=clock())
    with pytest.raises(NoTaskLeft):
        next_assignment(keen, study, clock=clock(10))
    assert next_assignment(keen, study, clock=clock(11))[0].rater == keen


def test_who_came_by_a_link_and_answered_nothing_holds_one_seat():
    study = of_words(60)
    cohort = make_cohort(study, "crowd", "crowd")
    rater = join(cohort, consent="", clock=clock(), crowd=CrowdId("prolific", "prolific:a", {}))
    first, _ = next_assignment(rater, study, clock=clock())
    assert hold_next(again(first), clock=clock()) is None
    answer(first)
    second, _ = next_assignment(rater, study, clock=clock())
    assert hold_next(again(second), clock=clock()) is not None


def open_until(assignment, minutes, every=2):
    """The page of the task stays open: a sign of life every few minutes."""
    for at in range(0, minutes, every):
        renew_lease(again(assignment), clock=clock(at))


@pytest.mark.parametrize("first", [True, False])
def test_an_open_page_keeps_its_seat_up_to_three_leases_and_not_forever(first):
    study = of_words(60, tasks=2)
    rater = make_rater(study)
    if not first:
        answer(next_assignment(rater, study, clock=clock())[0])
    else:
        next_assignment(make_rater(study), study, clock=clock(10**4))
    assignment, _ = next_assignment(rater, study, clock=clock())
    open_until(assignment, 24 * 60)
    held = Seat.objects.get(holder=rater, state="held")
    end = NOON + timedelta(seconds=3 * lease_seconds(60, first=first))
    assert held.leased_until == end
    assert release_expired(study, clock=lambda: end) == 0
    keen = make_rater(study)
    assert next_assignment(keen, study, clock=lambda: end + timedelta(seconds=1))[0].task == assignment.task


def test_a_slow_reader_of_ten_thousand_words_keeps_the_seat():
    """At 60 words a minute, a quarter of the usual pace, with the page open."""
    study = of_words(10_000, tasks=1)
    rater = make_rater(study)
    assignment, _ = next_assignment(rater, study, clock=clock())
    minutes = 10_000 // 60
    open_until(assignment, minutes)
    with pytest.raises(NoTaskLeft):
        next_assignment(make_rater(study), study, clock=clock(minutes))
    assert answer(again(assignment), minutes=minutes) == "recorded"


def test_a_task_held_ready_is_kept_as_long_as_the_open_one():
    study = of_words(60)
    rater = make_rater(study)
    answer(next_assignment(rater, study, clock=clock())[0])
    assignment, _ = next_assignment(rater, study, clock=clock())
    held = hold_next(again(assignment), clock=clock())
    open_until(assignment, 80)
    own, ready = again(assignment).seat, again(held).seat
    assert ready.leased_until - own.leased_until == timedelta(seconds=lease_seconds(60))


def test_going_back_to_a_task_again_and_again_keeps_no_seat_from_others():
    """A rater without an answer regains a free seat after its end, and loses it to whoever wants one."""
    study = of_words(60, tasks=1)
    idle = make_rater(study)
    assignment, _ = next_assignment(idle, study, clock=clock())
    release_expired(study, clock=clock(60))
    assert regain_seat(again(assignment), clock=clock(60))
    assert Seat.objects.get().leased_until == NOON + timedelta(minutes=60)
    assert next_assignment(make_rater(study), study, clock=clock(61))[0].task == assignment.task


def test_who_has_answered_comes_back_to_a_whole_lease():
    study = of_words(60, tasks=2)
    rater = make_rater(study)
    answer(next_assignment(rater, study, clock=clock())[0])
    assignment, _ = next_assignment(rater, study, clock=clock())
    release_expired(study, clock=clock(24 * 60))
    assert next_assignment(rater, study, clock=clock(24 * 60))[0] == assignment
    lease = Seat.objects.get(state="held").leased_until
    assert lease == NOON + timedelta(days=1, seconds=lease_seconds(60))
    renew_lease(again(assignment), clock=clock(24 * 60 + 5))
    assert Seat.objects.get(state="held").leased_until == lease


def test_a_task_taken_back_leaves_room_for_another():
    study = of_words(60, tasks=4)
    rater = make_rater(study)
    first, _ = next_assignment(rater, study, clock=clock())
    for later in (600, 1200, 1800):
        release_expired(study, clock=clock(later))
        Seat.objects.filter(task=first.task).update(state="taken")
        other, _ = next_assignment(rater, study, clock=clock(later))
        assert other != first
        first = other
    assert Assignment.objects.filter(rater=rater, status="open", seat__isnull=False).count() == 1


class TestTheSignOfLife:
    @pytest.fixture
    def study(self):
        return of_words(60)

    @pytest.fixture
    def rater(self, client, study):
        client.force_login(make_user("rater", study.workspace))
        client.post(reverse("annotation:start", args=[study]))
        return client, Assignment.objects.get()

    def alive(self, client, assignment):
        return client.post(reverse("annotation:keep_alive", args=[assignment.public_id]))

    def age(self, minutes):
        """The task was shown so long ago, and its lease is as old."""
        ago = timedelta(minutes=minutes)
        Assignment.objects.update(shown_at=timezone.now() - ago)
        seat = Seat.objects.get(state="held")
        seat.leased_until -= ago
        seat.save()
        return seat.leased_until

    def test_it_prolongs_the_lease(self, rater):
        client, assignment = rater
        before = self.age(5)
        assert self.alive(client, assignment).status_code == 204
        assert Seat.objects.get(state="held").leased_until > before + timedelta(minutes=4)

    def test_it_writes_once_a_minute_at_most(self, rater):
        client, assignment = rater
        self.age(5)
        with CaptureQueriesContext(connection) as captured:
            for _ in range(20):
                assert self.alive(client, assignment).status_code == 204
        assert sum(query["sql"].startswith('UPDATE "annotation_seat"') for query in captured) == 1

    def test_the_page_names_where_to_send_it(self, rater):
        client, assignment = rater
        address = reverse("annotation:keep_alive", args=[assignment.public_id])
        html = markup(client.get(reverse("annotation:rate", args=[assignment.public_id])))
        assert f'data-alive-url="{address}"' in html

    def test_only_its_rater_sends_it_and_with_a_token(self, rater, study):
        client, assignment = rater
        before = self.age(5)
        stranger = Client()
        assert self.alive(stranger, assignment).status_code == 302
        stranger.force_login(make_user("rater", study.workspace))
        assert self.alive(stranger, assignment).status_code == 404
        stranger.force_login(make_user("lead", study.workspace))
        assert self.alive(stranger, assignment).status_code == 404
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(assignment.rater.user)
        assert self.alive(strict, assignment).status_code == 403
        address = reverse("annotation:keep_alive", args=[assignment.public_id])
        assert client.get(address).status_code == 405
        assert Seat.objects.get(state="held").leased_until == before

    def test_it_works_for_the_open_task_only(self, rater):
        client, assignment = rater
        held = reverse("annotation:hold", args=[assignment.public_id])
        client.post(held, headers=HTMX)
        ready = Assignment.objects.get(shown_at=None)
        assert self.alive(client, ready).status_code == 409
        client.post(reverse("annotation:skip_task", args=[assignment.public_id]), {"reason": "broken"})
        assert self.alive(client, assignment).status_code == 409

    def test_it_prolongs_a_held_task_shown_after_an_answer_given_offline(self, rater):
        """The browser shows the held task while the answer to the one before is on its way."""
        client, assignment = rater
        client.post(reverse("annotation:hold", args=[assignment.public_id]), headers=HTMX)
        ready = Assignment.objects.get(shown_at=None)
        client.post(reverse("annotation:rate", args=[assignment.public_id]), GOOD | {"alone": "1"})
        Seat.objects.filter(pk=ready.seat_id).update(leased_until=timezone.now() + timedelta(minutes=1))
        assert self.alive(client, ready).status_code == 204
        left = Seat.objects.get(pk=ready.seat_id).leased_until - timezone.now()
        lease = timedelta(seconds=lease_seconds(60))
        assert lease - timedelta(minutes=1) < left <= lease

    def test_it_says_that_the_seat_is_gone(self, rater):
        client, assignment = rater
        release_expired(assignment.task.study, clock=lambda: timezone.now() + timedelta(days=2))
        response = self.alive(client, assignment)
        assert response.status_code == 409
        assert response.json() == {"error": "Your reservation of this task has expired."}

    def test_who_is_paused_prolongs_nothing(self, rater):
        client, assignment = rater
        pause(Rater.objects.get(), message="", by=None)
        before = self.age(5)
        assert self.alive(client, assignment).status_code == 409
        draft = reverse("annotation:save_draft", args=[assignment.public_id])
        assert client.post(draft, {"serial": 1}).json() == {"kept": True}
        assert Seat.objects.get(state="held").leased_until == before

    def test_who_is_paused_takes_no_seat_back_by_looking(self, rater):
        client, assignment = rater
        pause(Rater.objects.get(), message="", by=None)
        release_expired(assignment.task.study, clock=lambda: timezone.now() + timedelta(days=2))
        page = reverse("annotation:rate", args=[assignment.public_id])
        assert client.get(page).status_code == 200
        assert not Seat.objects.filter(state="held").exists()
        resume(Rater.objects.get(), clock=timezone.now, by=None)
        client.get(page)
        assert Seat.objects.get(state="held").holder == Rater.objects.get()


def test_a_task_whose_seats_are_gone_keeps_nobody_from_the_next():
    study = of_words(60, tasks=3)
    rater = make_rater(study)
    first, _ = next_assignment(rater, study, clock=clock())
    Seat.objects.filter(task=first.task).delete()
    second, _ = next_assignment(rater, study, clock=clock())
    assert second.task != first.task
    assert next_assignment(rater, study, clock=clock())[0] == second


def test_open_tasks_of_before_get_their_places_in_the_queue():
    """Of a rater with three open ones, the first two that have seats; one whose seat is gone has none."""
    migration = import_module("annotation.migrations.0008_one_open_task_and_one_held")
    study = of_words(60, tasks=6)
    rater, other = make_rater(study), make_rater(study)
    first, second, third, lost, single = study.tasks.order_by("pk")[:5]
    for number, (who, task) in enumerate(
        [(rater, lost), (rater, first), (rater, second), (rater, third), (other, single)]
    ):
        seat = Seat.objects.get(task=task) if task != lost else None
        Assignment.objects.create(task=task, rater=who, seat=seat, order=number)
    migration.number_open_tasks(apps, None)
    places = dict(Assignment.objects.values_list("task", "queue_place"))
    expected = {first.pk: 1, second.pk: 2, third.pk: None, lost.pk: None, single.pk: 1}
    assert places == expected
