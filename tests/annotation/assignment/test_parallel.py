"""Requests that arrive at once: no error, one open task and at most one held, every answer once."""

import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.answers.recording import record_answer
from annotation.assignment import next_task
from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.leases import release_expired
from annotation.assignment.rater_status import pause
from annotation.models import Assignment, Exclusion, Flag, Rater, Score, Seat
from annotation.monitoring.exclusion import exclude, lift
from annotation.recruitment.cohorts import make_cohort
from annotation.studies.life_cycle import release_rater
from core.errors import UserError
from tests.annotation.raters_at_work import answers_to, make_study
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)
GOOD = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5", "active": "9", "idle": "1"}
HTMX = {"HX-Request": "true"}
AT_ONCE = 20


@pytest.fixture
def together(monkeypatch):
    """Whoever asks for a task has counted the rater's open ones before anybody claims: the worst moment."""

    def hold_until(number):
        gate, count, met = threading.Barrier(number), next_task.state_of, threading.local()

        def counted(*given):
            found = count(*given)
            if not getattr(met, "yes", False):
                met.yes = True
                gate.wait(30)
            return found

        monkeypatch.setattr(next_task, "state_of", counted)

    return hold_until


@pytest.fixture
def study():
    return make_study(tasks=30, overlap=2, probe_rate=0)


@pytest.fixture
def browser(study):
    """A rater's browser; every call of it is a tab or a click of its own."""
    user = make_user("rater", study.workspace)
    client = Client()
    client.force_login(user)

    def tab(path, fields=None, **headers):
        own = Client(raise_request_exception=False)
        own.cookies.load({name: cookie.value for name, cookie in client.cookies.items()})
        return own.post(path, fields or {}, headers=headers)

    return tab


def to(name, assignment):
    return reverse(f"annotation:{name}", args=[assignment.public_id])


def start_of(browser, study):
    return lambda: browser(reverse("annotation:start", args=[study]))


def held_and_open():
    return Assignment.objects.filter(status="open").count(), Seat.objects.filter(state="held").count()


def test_twenty_starts_at_once_open_one_task(study, browser, at_once, together):
    together(AT_ONCE)
    replies = at_once(*[start_of(browser, study)] * AT_ONCE)
    assert {reply.status_code for reply in replies} == {302}
    assert len({reply["Location"] for reply in replies}) == 1
    assert "/rate/" in replies[0]["Location"]
    assert at_once(lambda: (held_and_open(), Rater.objects.count())) == [((1, 1), 1)]


def test_starts_at_once_open_one_task_in_training(browser, at_once, together, study):
    """Tasks that measure raters have no seats; the rater's queue bounds them all the same."""
    study.policies |= {"training": True}
    study.save()
    for task in study.tasks.order_by("pk")[:6]:
        mark_gold(task, {"overall": 5}, purpose="training")
    together(6)
    replies = at_once(*[start_of(browser, study)] * 6)
    assert {reply.status_code for reply in replies} == {302}
    assert at_once(lambda: Assignment.objects.filter(status="open").count()) == [1]


def begun(browser, study, at_once):
    at_once(start_of(browser, study))
    return at_once(lambda: Assignment.objects.select_related("task", "rater").get())[0]


def test_twenty_submits_of_one_task_store_one_answer(study, browser, at_once, together):
    first = begun(browser, study, at_once)
    together(AT_ONCE)
    submit = lambda: browser(to("rate", first), GOOD | {"note": "Long."}, **HTMX)  # noqa: E731
    replies = at_once(*[submit] * AT_ONCE)
    assert {reply.status_code for reply in replies} == {200}
    assert len({reply["HX-Push-Url"] for reply in replies}) == 1

    def counts():
        answered = Assignment.objects.get(pk=first.pk)
        rows = Score.objects.count(), Seat.objects.filter(state="taken").count(), Flag.objects.count()
        return answered.status, rows, held_and_open()

    assert at_once(counts) == [("submitted", (4, 1, 1), (1, 1))]


def test_answers_at_once_that_differ_are_kept_in_some_order(study, browser, at_once):
    first = begun(browser, study, at_once)
    replies = at_once(
        *[lambda n=n: browser(to("rate", first), GOOD | {"c-overall": str(n)}, **HTMX) for n in range(1, 9)]
    )
    assert {reply.status_code for reply in replies} == {200}

    def revisions():
        overall = Score.objects.filter(criterion__key="overall").order_by("revision")
        return list(overall.values_list("revision", flat=True)), len(set(overall.values_list("value", flat=True)))

    ((numbers, values),) = at_once(revisions)
    assert numbers == list(range(8))
    assert values == 8


def test_holding_and_starting_at_once_keep_one_open_and_one_held(study, browser, at_once):
    first = begun(browser, study, at_once)
    hold = lambda: browser(to("hold", first), **HTMX)  # noqa: E731
    replies = at_once(*[hold, start_of(browser, study)] * 8)
    assert {reply.status_code for reply in replies} <= {200, 302}
    assert at_once(held_and_open) == [(2, 2)]
    submit = lambda: browser(to("rate", first), GOOD, **HTMX)  # noqa: E731
    replies = at_once(*[submit, hold, start_of(browser, study)] * 6)
    assert {reply.status_code for reply in replies} <= {200, 204, 302}
    open_, held = at_once(held_and_open)[0]
    assert open_ == held <= 2


def test_a_submit_against_a_skip_is_one_of_the_two(study, browser, at_once):
    for _ in range(4):
        at_once(start_of(browser, study))
        (first,) = at_once(lambda: Assignment.objects.filter(status="open").get())
        replies = at_once(
            *[
                lambda a=first: browser(to("rate", a), GOOD, **HTMX),
                lambda a=first: browser(to("skip_task", a), {"reason": "broken"}, **HTMX),
            ]
            * 4
        )
        assert {reply.status_code for reply in replies} <= {200, 302}

        def ended(pk=first.pk):
            found = Assignment.objects.get(pk=pk)
            taken = Seat.objects.filter(task=found.task_id, state="taken").count()
            return found.status, found.scores.count(), taken

        assert at_once(ended)[0] in [("submitted", 4, 1), ("skipped", 0, 0)]
        assert at_once(held_and_open) == [(1, 1)]


def test_a_submit_against_the_end_of_its_lease_keeps_the_answer(study, browser, at_once):
    first = begun(browser, study, at_once)
    late = lambda: timezone.now() + timedelta(days=2)  # noqa: E731
    replies = at_once(
        *[lambda: browser(to("rate", first), GOOD, **HTMX)] * 4,
        *[lambda: release_expired(study, clock=late)] * 4,
        *[lambda: release_rater(study, first.rater_id, by=None)] * 2,
    )
    assert {reply.status_code for reply in replies[:4]} == {200}

    def ended():
        found = Assignment.objects.get(pk=first.pk)
        return (found.status, found.scores.count(), Seat.objects.filter(task=found.task_id, state="taken").count())

    assert at_once(ended) == [("submitted", 4, 1)]
    open_, held = at_once(held_and_open)[0]
    assert open_ >= held


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_a_late_answer_waits_for_slots_that_others_are_changing(study, browser, at_once):
    first = begun(browser, study, at_once)
    at_once(lambda: release_expired(study, clock=lambda: timezone.now() + timedelta(days=2)))
    locked = threading.Event()

    def change():
        with transaction.atomic():
            seats = len(Seat.objects.select_for_update().filter(task=first.task_id))
            locked.set()
            time.sleep(1)
        return seats

    def send():
        locked.wait(30)
        return browser(to("rate", first), GOOD, **HTMX).status_code

    assert at_once(change, send) == [2, 200]
    assert at_once(lambda: Assignment.objects.get(pk=first.pk).status) == ["submitted"]
    assert at_once(lambda: Assignment.objects.filter(status="open").count())[0] <= 2


def test_starts_against_a_pause_open_one_task_at_most(study, browser, at_once):
    first = begun(browser, study, at_once)
    at_once(lambda: browser(to("skip_task", first), {"reason": "broken"}))
    at_once(lambda: browser(to("skip_task", Assignment.objects.get(status="open")), {"reason": "broken"}))
    starts = [start_of(browser, study)] * 8
    replies = at_once(*starts, lambda: pause(Rater.objects.get(), message="", by=None))
    assert {reply.status_code for reply in replies[:-1]} == {302}
    assert at_once(held_and_open)[0] in [(0, 0), (1, 1)]
    done = reverse("annotation:done", args=[study])
    assert at_once(*starts)[0]["Location"] == done


def test_twelve_who_join_at_once_are_no_more_than_the_door_allows(study, at_once):
    door = make_cohort(study, "crowd", "crowd", joins_per_hour=5)
    path = reverse("annotation:join", args=[door.entry_token])

    def join(pid):
        client = Client(raise_request_exception=False)
        return client.post(f"{path}?PROLIFIC_PID={pid}&SESSION_ID=s{pid}", {"answer": "yes"}).status_code

    statuses = at_once(*[lambda n=n: join(f"w{n}") for n in range(12)])
    assert sorted(statuses) == [302] * 5 + [429] * 7
    assert at_once(Rater.objects.count) == [5]


def test_many_raters_at_once_never_exceed_the_overlap(at_once):
    study = make_study(tasks=4, overlap=2, probe_rate=0)
    clients = []
    for _ in range(8):
        client = Client(raise_request_exception=False)
        client.force_login(make_user("rater", study.workspace))
        clients.append(client)

    def work(client):
        path = reverse("annotation:start", args=[study])
        statuses = []
        for _ in range(6):
            reply = client.post(path)
            statuses.append(reply.status_code)
            if "/rate/" in reply["Location"]:
                statuses.append(client.post(reply["Location"], GOOD).status_code)
        return set(statuses)

    replies = at_once(*[lambda client=client: work(client) for client in clients])
    assert set().union(*replies) == {302}

    def ended():
        answered = Assignment.objects.filter(status="submitted").values_list("task", flat=True)
        return sorted(Counter(answered).values()), Assignment.objects.exclude(status="submitted").count()

    assert at_once(ended) == [([2, 2, 2, 2], 0)]


def test_two_raters_taken_back_at_once_both_find_their_seats(at_once):
    study = make_study(tasks=6, overlap=2, probe_rate=0)
    raters = [Rater.objects.create(workspace=study.workspace, study=study, label=f"rater {n}") for n in range(2)]
    for rater in raters:
        for _ in range(6):
            given, _why = next_task.next_assignment(rater, study, clock=timezone.now)
            record_answer(assignment=given, answers=answers_to(given), clock=timezone.now)
    for _ in range(8):
        standing = at_once(lambda: [exclude(study, one, since=None, reason="too fast", by=None) for one in raters])[0]
        assert at_once(Seat.objects.filter(state="taken").count) == [0]
        back = at_once(*(lambda x=one: lift(x, by=None) for one in standing))
        assert [(one.answers, one.unseated) for one in back] == [(6, 0), (6, 0)]
        assert at_once(Seat.objects.filter(state="taken").count) == [12]


def test_an_answer_given_while_its_rater_is_excluded_or_taken_back(study, at_once):
    """Whichever comes first: no answer counts while the exclusion stands, and none is left out once it is lifted."""
    raters = [Rater.objects.create(workspace=study.workspace, study=study, label=f"rater {n}") for n in range(6)]
    opened = [next_task.next_assignment(rater, study, clock=timezone.now)[0] for rater in raters]

    def answers(assignment):
        return lambda: record_answer(assignment=assignment, answers=answers_to(assignment), clock=timezone.now)

    def excludes(rater):
        return lambda: exclude(study, rater, since=None, reason="too fast", by=None)

    at_once(*(call for one in opened for call in (answers(one), excludes(one.rater))))

    def state():
        status = sorted(Assignment.objects.exclude(status="open").values_list("status", flat=True))
        return status, Seat.objects.filter(state="taken").count()

    assert at_once(state) == [(["excluded"] * 6, 0)]
    more = at_once(lambda: [next_task.next_assignment(rater, study, clock=timezone.now)[0] for rater in raters])[0]
    standing = at_once(lambda: list(Exclusion.objects.select_related("rater")))[0]
    at_once(
        *(
            call
            for one, which in zip(more, standing, strict=True)
            for call in (answers(one), lambda x=which: lift(x, by=None))
        )
    )

    def answers_and_seats():
        given = Counter(Assignment.objects.filter(status="submitted").values_list("task", flat=True))
        taken = Counter(Seat.objects.filter(state="taken").values_list("task", flat=True))
        return given, taken

    # Another rater may have been given the seat of an answer that was left out: the task then has one answer more.
    ((given, taken),) = at_once(answers_and_seats)
    assert given.total() == 12
    assert taken == {task: min(n, 2) for task, n in given.items()}


def test_two_leads_exclude_at_once(study, at_once):
    rater = Rater.objects.create(workspace=study.workspace, study=study, label="rater")

    def excludes():
        try:
            return exclude(study, rater, since=None, reason="too fast", by=None) and "excluded"
        except UserError:
            return "refused"

    assert sorted(at_once(excludes, excludes)) == ["excluded", "refused"]
