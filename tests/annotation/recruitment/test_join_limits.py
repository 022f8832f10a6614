"""Joining with ten thousand fresh ids: neither seats nor raters nor the door are exhausted for honest people."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.models import Assignment, Cohort, DoorKnock, Rater, RefusedAddress, Seat, Standing
from annotation.recruitment.cohorts import make_cohort
from annotation.recruitment.join_limits import NoSeatFree, TooManyFromAddress, check_address, check_room, note_join
from tests.annotation.raters_at_work import NOON, clock, make_study
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
GOOD = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5", "active": "90", "idle": "30"}


@pytest.fixture
def study():
    return make_study(tasks=40, overlap=1, probe_rate=0)


@pytest.fixture
def crowd(study):
    return make_cohort(study, "prolific", "crowd")


@pytest.fixture
def lead(study):
    client = Client()
    client.force_login(make_user("lead", study.workspace))
    return client


@pytest.fixture
def later(monkeypatch):
    """Let so much time pass for every page."""
    now = timezone.now

    def pass_(**delta):
        monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(**delta))

    return pass_


def link(cohort, pid=None):
    query = f"?PROLIFIC_PID={pid}&STUDY_ID=s1&SESSION_ID=x{pid}" if pid else ""
    return reverse("annotation:join", args=[cohort.entry_token]) + query


class Visitor:
    """A browser of its own at an address."""

    def __init__(self, cohort, pid=None, address="203.0.113.7", **headers):
        self.client = Client(REMOTE_ADDR=address, headers=headers)
        self.cohort, self.path = cohort, link(cohort, pid)

    def look(self):
        return self.client.get(self.path)

    def agree(self, answer="yes"):
        return self.client.post(self.path, {"answer": answer})

    def start(self):
        return self.client.post(reverse("annotation:start", args=[self.cohort.study]))

    def go_in(self):
        """Joined and at a task: the address of the task, '' where there is none."""
        if self.agree().status_code != 302:
            return ""
        address = self.start()["Location"]
        return address if "/rate/" in address else ""

    def done(self):
        return self.client.get(reverse("annotation:done", args=[self.cohort.study]))


def test_fresh_ids_from_one_address_take_thirty_seats_at_most(crowd):
    got = [Visitor(crowd, f"fake{n}").go_in() for n in range(60)]
    assert sum(bool(address) for address in got) == 30
    assert Rater.objects.count() == 30
    assert Seat.objects.filter(state="held").count() == 30
    assert Visitor(crowd, "honest", "198.51.100.4").go_in()


def test_an_attacker_cannot_name_another_address(crowd):
    forged = [{"X-Forwarded-For": f"198.51.100.{n}"} for n in range(40)]
    got = [Visitor(crowd, f"fake{n}", **headers).go_in() for n, headers in enumerate(forged)]
    assert sum(bool(address) for address in got) == 30


def test_behind_a_listed_proxy_each_visitor_has_an_own_address(crowd, settings):
    settings.TRUSTED_PROXIES = ["10.0.0.5"]
    Cohort.objects.update(joins_per_hour=1)
    own = [Visitor(crowd, f"w{n}", "10.0.0.5", **{"X-Forwarded-For": f"198.51.100.{n}"}) for n in range(3)]
    assert all(visitor.go_in() for visitor in own)


def test_addresses_of_one_ipv6_network_are_one(crowd):
    Cohort.objects.update(joins_per_hour=2)
    got = [Visitor(crowd, f"w{n}", f"2001:db8:1:2::{n}").agree().status_code for n in range(1, 5)]
    assert got == [302, 302, 429, 429]
    assert Visitor(crowd, "w9", "2001:db8:1:3::1").agree().status_code == 302


def test_refusals_to_take_part_are_limited_too(crowd):
    """Each makes a row of the statistics."""
    got = [Visitor(crowd, f"fake{n}").agree("no").status_code for n in range(40)]
    assert got.count(302) == 30
    assert got.count(429) == 10
    assert Rater.objects.count() == 30


def test_fresh_ids_from_many_addresses_take_no_more_than_the_seats_left(crowd, study, later):
    """They go back in ten minutes, and the seat that somebody at work needs next is not given away."""
    worker = Visitor(crowd, "worker", "198.51.100.200")
    task = worker.go_in()
    fakes = [Visitor(crowd, f"fake{n}", f"203.0.113.{n}") for n in range(120)]
    statuses = [fake.agree().status_code for fake in fakes]
    for fake, status in zip(fakes, statuses, strict=True):
        if status == 302:
            fake.start()
    assert Rater.objects.count() == statuses.count(302) + 1 <= 40
    assert statuses.count(503) >= 80
    answered = worker.client.post(task, GOOD)
    assert "/rate/" not in answered["Location"]  # the first task made nobody hold a seat for the worker yet
    honest = Visitor(crowd, "honest", "198.51.100.201")
    assert honest.agree().status_code == 503
    later(minutes=20)
    assert honest.go_in()
    assert "/rate/" in worker.start()["Location"]


def test_a_seat_is_kept_for_each_rater_at_work(crowd, study):
    worker = Visitor(crowd, "worker", "198.51.100.200")
    worker.client.post(worker.go_in(), GOOD)  # brings the next task: the rater is at work
    fakes = [Visitor(crowd, f"fake{n}", f"203.0.113.{n}") for n in range(60)]
    assert sum(bool(fake.go_in()) for fake in fakes) == 37
    for left in (1, 0):
        task = Assignment.objects.get(rater__identity__key="prolific:worker", status="open")
        following = worker.client.post(reverse("annotation:rate", args=[task.public_id]), GOOD)
        assert ("/rate/" in following["Location"]) == bool(left)


def test_who_joins_and_never_begins_counts_for_half_an_hour(crowd, later):
    fakes = [Visitor(crowd, f"fake{n}", f"203.0.113.{n}") for n in range(60)]
    assert [fake.agree().status_code for fake in fakes].count(302) == 40
    honest = Visitor(crowd, "honest", "198.51.100.4")
    assert honest.look().status_code == 503
    later(minutes=31)
    assert honest.look().status_code == 200
    assert honest.go_in()


def test_no_seat_this_minute_says_come_back_and_ends_nothing(crowd, later):
    Seat.objects.filter(pk__in=list(Seat.objects.values_list("pk", flat=True)[1:])).delete()
    first, second = Visitor(crowd, "first", "203.0.113.1"), Visitor(crowd, "second", "203.0.113.2")
    task = first.go_in()
    for response in (second.look(), second.agree()):
        html = markup(response)
        assert response.status_code == 503
        assert "Other raters are working on all the remaining tasks right now." in html
        assert "You have not been screened out" in html
        assert re.search(r"checks again automatically at \d\d:\d\d:\d\d UTC", html)
        assert re.search(r"The next slot opens by \d\d:\d\d UTC", html)
        assert response["Refresh"] == response["Retry-After"] == "60"
        assert not any(code in html for code in crowd.codes.values())
    assert Rater.objects.count() == 1
    later(minutes=20)
    assert second.go_in()
    assert task


def test_who_is_in_and_finds_no_seat_waits_without_a_code(crowd, study):
    """Two joined for the last seat; the slower one is not screened out."""
    first, second = Visitor(crowd, "first", "203.0.113.1"), Visitor(crowd, "second", "203.0.113.2")
    for visitor in (first, second):
        visitor.agree()
    Seat.objects.filter(pk__in=list(Seat.objects.values_list("pk", flat=True)[1:])).delete()
    task = first.start()["Location"]
    assert "/rate/" in task
    assert "/rate/" not in second.start()["Location"]
    waiting = second.done()
    html = markup(waiting)
    assert "Other raters are working on all the remaining tasks right now." in html
    assert waiting["Refresh"] == "60"
    assert not any(code in html for code in crowd.codes.values())
    assert not Standing.objects.filter(state="screened_out").exists()
    first.client.post(task, GOOD)
    over = second.done()
    assert "Refresh" not in over
    assert "There are no tasks left for you in this study at the moment." in markup(over)


def test_who_lacks_an_answer_while_the_last_task_is_held_gets_no_code_yet(crowd, study):
    study.policies["quota"] = 2
    study.save()
    Seat.objects.filter(pk__in=list(Seat.objects.values_list("pk", flat=True)[2:])).delete()
    worker, holder = Visitor(crowd, "worker", "203.0.113.1"), Visitor(crowd, "holder", "203.0.113.2")
    task = worker.go_in()
    holder.agree()
    held = holder.start()["Location"]
    assert worker.client.post(task, GOOD)["Location"] == worker.done().wsgi_request.path
    waiting = worker.done()
    html = markup(waiting)
    assert "Keep this page open, or come back later with the same link." in html
    assert waiting["Refresh"] == "60"
    assert not any(code in html for code in crowd.codes.values())
    holder.client.post(held, GOOD)
    over = worker.done()
    assert "Refresh" not in over
    assert crowd.codes["quota_full"] in markup(over)


def test_a_study_without_any_seat_left_keeps_nobody_waiting(crowd):
    Seat.objects.update(state="taken")
    assert Visitor(crowd, "late").agree().status_code == 302


def test_everybody_may_come_at_once_where_each_gives_one_answer(study, crowd):
    """A study of one answer a person lets in as many as it has seats, however many have answered already."""
    study.policies["quota"] = 1
    study.save()
    Cohort.objects.update(joins_per_hour=None)
    for n in range(40):
        visitor = Visitor(crowd, f"w{n}")
        task = visitor.go_in()
        assert task
        if n % 2:
            visitor.client.post(task, GOOD)
    assert Visitor(crowd, "w40").agree().status_code == 503


class TestHonestPeople:
    def test_a_campus_reads_what_to_do_and_the_lead_raises_the_limit_in_one_click(self, crowd, study, lead):
        campus = [Visitor(crowd, f"student{n}") for n in range(33)]
        refused = [visitor for visitor in campus if not visitor.go_in()]
        response = refused[0].agree()
        html = markup(response)
        assert (len(refused), response.status_code) == (3, 429)
        assert "30 people have joined from your network in the past hour" in html
        assert "ask the lead to raise the limit" in html
        assert re.search(r"Try again after \d\d:\d\d UTC", html)
        assert 3000 < int(response["Retry-After"]) <= 3600
        page = reverse("annotation:cohorts", args=[study])
        html = markup(lead.get(page))
        assert "203.0.113.7" in html
        assert "4 attempts to join were refused because of a limit." in html
        assert "PLUMBLINE_TRUSTED_PROXIES" in html
        change = reverse("annotation:change_cohort", args=[study, crowd.pk])
        assert 'name="joins_per_hour" value="60"' in html
        lead.post(change, {"do": "joins", "joins_per_hour": "60"})
        assert all(visitor.go_in() for visitor in refused)
        assert "203.0.113.7" not in markup(lead.get(page))
        event = Event.objects.get(verb="change_join_limit")
        assert (event.before, event.after) == ({"joins_per_hour": 30}, {"joins_per_hour": 60})
        assert lead.post(change, {"do": "joins", "joins_per_hour": "0"}).status_code == 302
        assert Cohort.objects.get().joins_per_hour == 60
        lead.post(change, {"do": "joins", "joins_per_hour": ""})
        assert Cohort.objects.get().joins_per_hour is None
        assert "No limit per network" in markup(lead.get(page))

    def test_raters_on_site_share_one_computer(self, study):
        cohort = make_cohort(study, "here", "onsite")
        assert cohort.joins_per_hour is None
        for _ in range(35):
            visitor = Visitor(cohort)
            visitor.client.force_login(make_user("rater", study.workspace))
            assert visitor.go_in()
        assert Rater.objects.count() == 35

    def test_who_is_in_comes_back_by_the_link_however_full_the_door_is(self, crowd):
        visitor = Visitor(crowd, "first")
        visitor.agree()
        Cohort.objects.update(joins_per_hour=1)
        Seat.objects.update(state="held", leased_until=timezone.now() + timedelta(hours=1))
        assert visitor.look().status_code == 200

    def test_the_limit_is_set_where_a_cohort_is_made(self, study, lead):
        page = reverse("annotation:cohorts", args=[study])
        assert re.search(r'id="id_joins"[^>]*value="30"', markup(lead.get(page)))
        for name, kind, limit in (("a", "public", "12"), ("b", "crowd", ""), ("c", "onsite", "12")):
            lead.post(page, {"name": name, "kind": kind, "joins_per_hour": limit})
        assert list(Cohort.objects.order_by("name").values_list("joins_per_hour", flat=True)) == [12, None, None]
        assert lead.post(page, {"name": "d", "kind": "crowd", "joins_per_hour": "0"}).status_code == 422

    def test_another_workspaces_lead_changes_nothing(self, crowd, study):
        stranger = Client()
        stranger.force_login(make_user("lead", make_workspace("elsewhere")))
        change = reverse("annotation:change_cohort", args=[study, crowd.pk])
        assert stranger.post(change, {"do": "joins", "joins_per_hour": "9999"}).status_code == 404
        assert Cohort.objects.get().joins_per_hour == 30


class TestCounting:
    @pytest.fixture
    def public(self, study):
        return make_cohort(study, "open", "public", joins_per_hour=2)

    def join(self, cohort, address, minutes=0):
        check_address(cohort, address, clock=clock(minutes))
        note_join(cohort, address, clock=clock(minutes))

    def test_the_limit_is_an_hours_and_an_addresss(self, public):
        self.join(public, "203.0.113.1")
        self.join(public, "203.0.113.1", 10)
        with pytest.raises(TooManyFromAddress) as refusal:
            self.join(public, "203.0.113.1", 20)
        assert refusal.value.again == NOON + timedelta(hours=1)
        self.join(public, "203.0.113.2", 20)
        self.join(public, "203.0.113.1", 61)

    def test_midnight_does_not_begin_a_new_hour(self, public):
        self.join(public, "203.0.113.1", 11 * 60 + 50)
        self.join(public, "203.0.113.1", 12 * 60 + 5)
        with pytest.raises(TooManyFromAddress):
            self.join(public, "203.0.113.1", 12 * 60 + 10)

    def test_doors_count_for_themselves(self, public, study):
        other = make_cohort(study, "other", "public", joins_per_hour=1)
        self.join(other, "203.0.113.1")
        self.join(public, "203.0.113.1")

    def test_who_joined_is_a_hash_that_goes_after_two_days(self, public):
        self.join(public, "203.0.113.1")
        assert "203.0" not in str(DoorKnock.objects.values().get())
        self.join(public, "203.0.113.1", 3 * 24 * 60)
        assert DoorKnock.objects.count() == 1

    def test_refused_addresses_go_after_two_days(self, public, later):
        for _ in range(3):
            Visitor(public).agree()
        assert RefusedAddress.objects.get().refused == 1
        later(days=3)
        for n in range(3):
            Visitor(public, address=f"198.51.100.{n // 3}").agree()
        assert RefusedAddress.objects.get().address == "198.51.100.0"

    def test_another_door_is_not_full_for_what_waits_at_this_one(self, study, public):
        crowd = make_cohort(study, "crowd", "crowd", joins_per_hour=None)
        for n in range(40):
            Visitor(crowd, f"fake{n}").agree()
        with pytest.raises(NoSeatFree):
            check_room(crowd, clock=timezone.now)
        check_room(public, clock=timezone.now)
