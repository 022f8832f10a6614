"""The next task, held ready while one is open: at most one, and its time starts when it is shown."""

import pytest
from django.urls import reverse

from annotation.answers.recording import skip
from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.leases import release_expired
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import hold_next, next_assignment
from annotation.assignment.rater_status import pause
from annotation.assignment.slots import claim_slot
from annotation.models import Assignment, Rater, Seat
from annotation.recruitment.participation import rater_in
from tests.annotation.raters_at_work import NOON, answer, clock, make_study
from tests.factories import make_checklist_study, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
GOOD = {"c-item0": "0", "c-item1": "3", "c-item2": "4", "c-overall": "7"}


@pytest.fixture
def study():
    study = make_checklist_study(instructions=3, models=1)
    make_seats(study)
    return study


@pytest.fixture
def page(client, study):
    client.force_login(make_user("rater", study.workspace))
    client.post(reverse("annotation:start", args=[study]))
    return client, Assignment.objects.get()


def url_of(name, assignment):
    return reverse(f"annotation:{name}", args=[assignment.public_id])


def hold(client, assignment):
    return client.post(url_of("hold", assignment), headers=HTMX)


def held_one():
    return Assignment.objects.get(status="open", shown_at=None)


def test_one_task_is_held_however_often_it_is_asked_for(page):
    client, assignment = page
    pages = [markup(hold(client, assignment)) for _ in range(3)]
    assert all(f'data-assignment="{held_one().public_id}"' in html for html in pages)
    assert Seat.objects.filter(state="held").count() == 2
    assert held_one().seat.state == "held"


def test_time_starts_when_the_held_task_is_shown(page):
    client, assignment = page
    hold(client, assignment)
    held = held_one()
    response = client.post(url_of("rate", assignment), GOOD | {"held": held.public_id}, headers=HTMX)
    assert response.status_code == 204
    assert held.public_id in response["HX-Trigger"]
    held.refresh_from_db()
    assignment.refresh_from_db()
    assert held.shown_at >= assignment.submitted_at
    assert not response.content


def test_a_held_task_is_the_next_one_without_javascript_too(page, study):
    client, assignment = page
    hold(client, assignment)
    held = held_one()
    response = client.post(url_of("rate", assignment), GOOD)
    assert response["Location"] == url_of("rate", held)
    client.get(response["Location"])
    held.refresh_from_db()
    assert held.shown_at is not None


def test_a_held_task_answered_offline_began_as_long_ago_as_it_took(page):
    client, assignment = page
    hold(client, assignment)
    held = held_one()
    client.post(url_of("rate", held), GOOD | {"alone": "1", "active": "3", "idle": "2"})
    held.refresh_from_db()
    assert held.status == "submitted"
    assert held.created_at <= held.shown_at <= held.submitted_at


def test_an_answer_sent_alone_claims_nothing(page):
    client, assignment = page
    response = client.post(url_of("rate", assignment), GOOD | {"alone": "1"})
    assert response.json() == {"stored": assignment.public_id}
    assert client.post(url_of("rate", assignment), GOOD | {"alone": "1"}).json() == {"stored": assignment.public_id}
    assert assignment.scores.count() == 4
    assert not Assignment.objects.filter(status="open").exists()
    assert client.post(url_of("rate", assignment), {"alone": "1"}).status_code == 422


@pytest.mark.parametrize("name", ["nothing", "", "x" * 200])
def test_a_task_that_is_not_held_is_not_shown(page, name):
    client, assignment = page
    response = client.post(url_of("rate", assignment), GOOD | {"held": name}, headers=HTMX)
    assert response.status_code == 200
    assert 'data-assignment="' in markup(response)


def test_nobody_shows_what_somebody_else_holds(page, client, study):
    _client, assignment = page
    hold(client, assignment)
    held = held_one()
    client.force_login(make_user("rater", study.workspace))
    client.post(reverse("annotation:start", args=[study]))
    own = Assignment.objects.exclude(pk__in=[assignment.pk, held.pk]).get()
    response = client.post(url_of("rate", own), GOOD | {"held": held.public_id}, headers=HTMX)
    assert response.status_code == 200
    held.refresh_from_db()
    assert held.shown_at is None


def test_nothing_is_held_beyond_the_quota(page, study):
    client, assignment = page
    study.policies = {"quota": 1}
    study.save()
    assert hold(client, assignment).status_code == 204
    assert Assignment.objects.count() == 1


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_nothing_is_held_in_a_study_that_is_not_open(page, study, state):
    client, assignment = page
    study.status = state
    study.save()
    assert hold(client, assignment).status_code == 204


def test_a_stopped_rater_neither_holds_nor_is_shown_a_held_task(page, study):
    client, assignment = page
    hold(client, assignment)
    held = held_one()
    pause(assignment.rater, message="Wait.", by=None)
    response = client.post(url_of("rate", assignment), GOOD | {"held": held.public_id}, headers=HTMX)
    assert response["HX-Redirect"] == reverse("annotation:done", args=[study])
    assert hold(client, held).status_code == 204


def test_holding_needs_a_post(page):
    client, assignment = page
    assert client.get(url_of("hold", assignment)).status_code == 405


def test_a_skip_shows_the_held_task(page):
    client, assignment = page
    hold(client, assignment)
    held = held_one()
    skipped = client.post(url_of("skip_task", assignment), {"reason": "broken", "held": held.public_id}, headers=HTMX)
    assert skipped.status_code == 204
    held.refresh_from_db()
    assert held.shown_at is not None


# What may be held, at times of our choosing


def begun(study, minutes=0):
    """A rater of the study and the task they have open."""
    rater = make_rater(study)
    return rater, next_assignment(rater, study, clock=clock(minutes))[0]


def held_at(assignment, minutes=0, **conditions):
    """A fresh request to hold: nothing known from before."""
    current = Assignment.objects.select_related("task__study", "rater").get(pk=assignment.pk)
    return hold_next(current, clock=clock(minutes), conditions=conditions)


def test_the_quota_counts_the_task_that_is_open():
    study = make_study(tasks=5, probe_rate=0, quota=2)
    rater, first = begun(study)
    second = held_at(first)
    assert second is not None
    answer(first)
    assert next_assignment(rater, study, clock=clock())[0] == second
    assert held_at(second) is None


def test_the_hourly_limit_counts_the_task_that_is_open():
    study = make_study(tasks=5, probe_rate=0, answers_per_hour=2)
    rater, first = begun(study)
    assert held_at(first) is not None
    answer(first)
    second, _ = next_assignment(rater, study, clock=clock(1))
    assert held_at(second, 59) is None
    assert held_at(second, 61) is not None


@pytest.mark.parametrize(("minutes", "held"), [(12 * 60 - 1, True), (12 * 60, False)])
def test_nothing_is_held_after_the_last_day(minutes, held):
    """NOON is twelve hours before the day after."""
    study = make_study(tasks=5, probe_rate=0, last_day=NOON.date().isoformat())
    _rater, first = begun(study)
    assert (held_at(first, minutes) is not None) == held


def test_nothing_is_held_before_the_answers_to_training_are_known():
    study = make_study(tasks=5, seats=False, probe_rate=0, training=True)
    for task in study.tasks.order_by("pk")[:2]:
        mark_gold(task, {"overall": 5}, purpose="training")
    make_seats(study)
    rater, first = begun(study)
    assert held_at(first) is None
    answer(first)
    second, _ = next_assignment(Rater.objects.get(pk=rater.pk), study, clock=clock())
    assert held_at(second) is None
    answer(second)
    third, _ = next_assignment(Rater.objects.get(pk=rater.pk), study, clock=clock())
    assert third.conditions == {}
    assert held_at(third) is not None


def test_a_held_task_has_the_conditions_of_the_study():
    _rater, first = begun(make_study(tasks=3, probe_rate=0))
    assert held_at(first, hint=True).conditions == {"hint": True}


def test_a_check_is_held_where_it_is_due():
    """One in four tasks is a known one, in whatever place: among the eight held, two are."""
    study = make_study(tasks=30, seats=False, probe_rate=0, gold_rate=0.25)
    for task in study.tasks.order_by("pk")[:10]:
        mark_gold(task, {"overall": 5})
    make_seats(study)
    rater, current = begun(study)
    checks = 0
    for _ in range(8):
        held = held_at(current)
        assert held.shown_at is None
        checks += "gold" in held.conditions
        answer(current)
        current, _ = next_assignment(Rater.objects.get(pk=rater.pk), study, clock=clock())
        assert current == held
    assert checks == 2


@pytest.mark.parametrize(
    "rates", [{"probe_rate": 0, "gold_rate": 0.25}, {"probe_rate": 0.25, "probe_gap": 2, "gold_rate": 0}]
)
def test_a_held_check_is_shown_as_any_other_task(client, rates):
    study = make_study(tasks=20, seats=False, **rates)
    for task in study.tasks.order_by("pk")[:5]:
        mark_gold(task, {"overall": 5})
    make_seats(study)
    user = make_user("rater", study.workspace)
    rater = rater_in(study, user)
    current = next_assignment(rater, study, clock=clock())[0]
    while not (held := held_at(current)).conditions:
        answer(current)
        current = held
    client.force_login(user)
    response = client.post(url_of("rate", current), GOOD | {"held": held.public_id}, headers=HTMX)
    assert response.status_code == 204
    held.refresh_from_db()
    assert held.shown_at is not None


def test_a_held_task_that_went_to_somebody_else_is_not_replaced():
    study = make_study(tasks=2, probe_rate=0)
    rater, first = begun(study)
    held = held_at(first)
    assert release_expired(study, clock=clock(600)) == 2
    claim_slot(make_rater(study), study, clock=clock(600))
    claim_slot(make_rater(study), study, clock=clock(600))
    assert held_at(first, 601) is None
    assert Assignment.objects.filter(rater=rater).count() == 2
    Seat.objects.filter(task=held.task).update(state="free", holder=None, leased_until=None)
    again = held_at(first, 602)
    assert again == held
    assert again.seat.holder == rater


def test_a_skip_gives_back_its_own_seat_and_not_that_of_the_held_task():
    rater, first = begun(make_study(tasks=3, probe_rate=0))
    held = held_at(first)
    skip(assignment=first, reason="broken", clock=clock())
    assert Seat.objects.get(state="held").pk == held.seat_id
    assert next_assignment(rater, first.task.study, clock=clock())[0] == held


def test_no_third_task_is_held_for_one_that_went_to_somebody_else():
    study = make_study(tasks=3, probe_rate=0)
    rater, first = begun(study)
    held = held_at(first)
    Seat.objects.filter(pk=held.seat_id).update(holder=make_rater(study))
    Assignment.objects.filter(pk=held.pk).update(seat=None)
    assert Seat.objects.filter(state="free").count() == 1
    assert held_at(first) is None
    assert Assignment.objects.filter(rater=rater).count() == 2


@pytest.mark.parametrize("end", [answer, lambda a: skip(assignment=a, reason="broken", clock=clock())])
def test_nothing_is_held_for_a_task_that_is_done(end):
    _rater, first = begun(make_study(tasks=3, probe_rate=0))
    end(first)
    assert held_at(first) is None
    assert Seat.objects.filter(state="held").count() == 0
