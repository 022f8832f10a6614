"""The first owner: made on the first page of a new installation, by one person, at the machine or with a code."""

import logging
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.db.models import F
from django.test import Client
from django.utils import timezone

from accounts.management.commands import serve
from accounts.members.changes import PeopleRefused
from accounts.members.first_owner import CodeRefused, OwnerKnown, make_first_owner, new_code
from accounts.models import Event, Membership, SetupCode, SignInAttempt, User, Workspace
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
SENT = {"name": "olga", "new_password1": "my own words 5", "new_password2": "my own words 5"}
CODE = re.compile(r"[0-9a-f]{4}(?:-[0-9a-f]{4}){4}")


@pytest.fixture
def reached_by_others(settings):
    settings.ON_LOOPBACK = False


def send(client=None, headers=None, **more):
    return (client or Client()).post("/begin/", {**SENT, **more}, headers=headers)


def owners():
    return list(Membership.objects.filter(role="owner").values_list("user__username", "workspace__slug"))


def test_a_new_installation_opens_on_the_page_and_its_owner_is_signed_in(client):
    for address in ("/", "/sign-in/", "/studies/"):
        assert client.get(address, follow=True).redirect_chain[-1][0] == "/begin/"
    page = markup(client.get("/begin/"))
    assert "Welcome to Plumbline" in page and 'name="code"' not in page
    assert send(client)["Location"] == "/"
    assert owners() == [("olga", "main")]
    user = User.objects.get()
    assert (user.is_staff, user.is_superuser, user.password_given, user.demonstration) == (False,) * 4
    assert user.check_password("my own words 5")
    home = client.get("/")
    assert home.status_code == 200 and "sign in as olga" in markup(home)
    events = list(Event.objects.values_list("verb", "actor__username"))
    assert events == [("signed in", "olga"), ("first owner made", "olga")]


def test_the_page_is_closed_as_soon_as_there_is_an_account(client):
    """The attack: a page that makes owners is found again later."""
    make_user("rater", make_workspace("lab"), username="rosa")
    assert client.get("/begin/")["Location"] == "/"
    assert send(client)["Location"] == "/"
    assert client.get("/sign-in/").status_code == 200
    assert User.objects.count() == 1 and owners() == []


def test_workspaces_without_people_belong_to_the_first_owner(client):
    make_workspace("lab")
    make_workspace("other")
    send(client)
    assert owners() == [("olga", "lab"), ("olga", "other")] and Workspace.objects.count() == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "two words"}, "only letters, digits"),
        ({"name": ""}, "This field is required"),
        ({"new_password2": "my own words 6"}, "password fields"),
        ({"new_password1": "12345678", "new_password2": "12345678"}, "too common"),
        ({"name": "olgaolga12", "new_password1": "olgaolga123", "new_password2": "olgaolga123"}, "too similar"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(client, more, said):
    answer = send(client, **more)
    assert answer.status_code == 422 and said in markup(answer)
    assert not User.objects.exists() and not Workspace.objects.exists()


def test_a_form_of_another_site_makes_nobody():
    """The attack: a page elsewhere makes the browser at the machine create an owner whose password it knows."""
    strict = Client(enforce_csrf_checks=True)
    assert send(strict).status_code == 403
    assert not User.objects.exists()


class TestTheCode:
    def test_is_written_to_the_log_once_and_kept_as_a_digest(self, client, caplog, reached_by_others):
        with caplog.at_level(logging.WARNING):
            assert 'name="code"' in markup(client.get("/begin/"))
            client.get("/begin/")
        codes = CODE.findall(caplog.text)
        assert len(codes) == 1
        assert codes[0] not in str(list(SetupCode.objects.values()))
        assert send(client).status_code == 422
        assert send(client, code=f" {codes[0].upper()} ")["Location"] == "/"
        assert owners() == [("olga", "main")]
        assert SetupCode.objects.get().digest == ""

    @pytest.mark.parametrize("code", ["", "0000-0000-0000-0000-0000", "\0"])
    def test_a_wrong_one_opens_nothing(self, client, reached_by_others, code):
        assert send(client, code=code).status_code in (400, 422)
        new_code(clock=timezone.now)
        assert send(client, code=code).status_code in (400, 422)
        assert not User.objects.exists()

    def test_is_void_after_an_hour_and_then_the_log_has_another(self, client, caplog, reached_by_others):
        code = new_code(clock=timezone.now)
        SetupCode.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
        answer = send(client, code=code)
        assert answer.status_code == 422 and "older than an hour" in markup(answer)
        with caplog.at_level(logging.WARNING):
            client.get("/begin/")
        (newer,) = CODE.findall(caplog.text)
        assert newer != code
        assert send(client, code=code).status_code == 422
        assert send(client, code=newer).status_code == 302

    def test_is_void_after_use(self, reached_by_others):
        code = new_code(clock=timezone.now)
        make_first_owner(name="olga", password="my own words 5", code=code, clock=timezone.now)
        User.objects.all().delete()
        with pytest.raises(CodeRefused):
            make_first_owner(name="otto", password="my own words 5", code=code, clock=timezone.now)

    def test_guessing_ends_after_some_attempts_at_the_visitors_address(self, reached_by_others, settings):
        """The attack: guess; and another one: guess so that nobody else can enter the right code."""
        settings.TRUSTED_PROXIES = ["127.0.0.1"]
        code = new_code(clock=timezone.now)
        stranger, owner = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "203.0.113.8"}
        answers = [send(code="wrong", headers=stranger).status_code for _number in range(11)]
        assert answers == [422] * 10 + [429]
        assert send(code=code, headers=stranger).status_code == 429
        assert send(code=code, headers=owner).status_code == 302
        assert SignInAttempt.objects.count() == 10

    def test_a_refused_password_costs_no_attempt(self, client, reached_by_others):
        for _number in range(12):
            send(client, code="wrong", new_password2="another 12345")
        assert not SignInAttempt.objects.exists()

    @pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via"])
    def test_is_needed_behind_a_proxy_whatever_address_it_names(self, client, header):
        """The attack: a proxy at the machine, which the operator did not list, lets everybody in as this machine."""
        page = markup(client.get("/begin/", headers={header: "127.0.0.1"}))
        assert 'name="code"' in page
        assert send(headers={header: "127.0.0.1"}).status_code == 422
        assert not User.objects.exists()

    def test_is_needed_from_another_address(self, client):
        assert client.post("/begin/", SENT, REMOTE_ADDR="192.168.1.5").status_code == 422
        assert client.post("/begin/", SENT, REMOTE_ADDR="::1").status_code == 302


def test_the_second_form_makes_nobody_whatever_it_was_shown_before():
    make_first_owner(name="olga", password="my own words 5", code=None, clock=timezone.now)
    with pytest.raises(OwnerKnown):
        make_first_owner(name="otto", password="my own words 5", code=None, clock=timezone.now)
    assert owners() == [("olga", "main")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_of_four_at_once_one_becomes_the_owner():
    """The attack: two browsers send the form at the same moment."""

    def make(name):
        try:
            return make_first_owner(name=name, password="my own words 5", code=None, clock=timezone.now).username
        except OwnerKnown:
            return ""
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(make, ["olga", "otto", "nina", "rosa"]))
    (name,) = filter(None, made)
    assert owners() == [(name, "main")] and User.objects.count() == 1


def test_a_name_that_nobody_can_sign_in_with_is_refused():
    with pytest.raises(PeopleRefused):
        make_first_owner(name="two words", password="my own words 5", code=None, clock=timezone.now)


@pytest.mark.parametrize(("host", "has_code"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_serving_says_where_to_begin_and_with_which_code(monkeypatch, capsys, host, has_code):
    monkeypatch.setattr(serve, "_started", lambda *_parts: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        call_command("serve", "--host", host, "--without-worker")
    said = capsys.readouterr().out
    assert f"http://{host}:8000/begin/" in said
    codes = CODE.findall(said)
    assert len(codes) == has_code
    if codes:
        assert make_first_owner(name="olga", password="my own words 5", code=codes[0], clock=timezone.now)
