"""Strangers who guess at an account lock out neither its owner nor the people behind the same address."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core import signing
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Event, KnownBrowser, SignInAttempt
from accounts.sign_in.devices import COOKIE, SALT
from tests.factories import make_user
from tests.many_connections import many_connections

RIGHT = "plumb line 12"
ACCOUNT_LIMIT = 12


@pytest.fixture(autouse=True)
def limits(settings):
    settings.SIGN_IN_LIMITS = {"visitor": 4, "device": 3, "account": ACCOUNT_LIMIT, "address": 200, "token": 30}


def attempt(name, password="wrong one 12", client=None, **extra):
    return (client or Client()).post("/sign-in/", {"username": name, "password": password}, **extra).status_code


def hammer(name):
    """Guess at the account from many addresses until strangers are refused."""
    answers = [attempt(name, REMOTE_ADDR=f"198.51.100.{number}") for number in range(ACCOUNT_LIMIT + 1)]
    assert answers[-1] == 429


def browser_of(name):
    """A browser in which the account signed in and out, with its cookies."""
    browser = Client()
    assert attempt(name, RIGHT, browser) == 302
    browser.post("/sign-out/")
    return browser


@pytest.mark.django_db
class TestAnOwner:
    def test_signs_in_where_they_did_before_whatever_strangers_do_from_many_addresses(self):
        make_user(username="lena")
        known = browser_of("lena")
        hammer("lena")
        assert attempt("lena", RIGHT, Client(), REMOTE_ADDR="203.0.113.9") == 429
        assert attempt("lena", RIGHT, known, REMOTE_ADDR="203.0.113.9") == 302

    def test_signs_in_behind_the_address_of_an_attacker(self, settings):
        settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "address": 3}
        make_user(username="lena")
        known = browser_of("lena")
        assert [attempt(f"guess{number}") for number in range(4)] == [200, 200, 200, 429]
        assert attempt("lena", RIGHT, known) == 302

    def test_has_a_limit_of_their_own_in_a_known_browser_that_a_success_resets(self):
        make_user(username="lena")
        known = browser_of("lena")
        assert [attempt("lena", client=known) for _slip in range(2)] == [200, 200]
        assert attempt("lena", RIGHT, known) == 302
        known.post("/sign-out/")
        assert [attempt("lena", client=known) for _slip in range(4)] == [200, 200, 200, 429]
        assert attempt("lena", RIGHT, known) == 429
        # The failures of the known browser count for nobody else.
        assert attempt("lena", RIGHT) == 302

    def test_whose_password_changes_revokes_the_cookies_of_all_other_browsers(self):
        user = make_user(username="lena")
        known, other = browser_of("lena"), browser_of("lena")
        attempt("lena", RIGHT, known)
        form = {"old_password": RIGHT, "new_password1": "plumb line 13", "new_password2": "plumb line 13"}
        assert known.post("/account/password/", form).status_code == 302
        assert user.known_browsers.count() == 1
        known.post("/sign-out/")
        hammer("lena")
        assert attempt("lena", "plumb line 13", other) == 429
        assert attempt("lena", "plumb line 13", known) == 302

    def test_makes_every_browser_unknown_by_one_click(self):
        user = make_user(username="lena")
        known = browser_of("lena")
        assert Client().post("/account/browsers/forget/").status_code == 302 and user.known_browsers.count() == 1
        attempt("lena", RIGHT, known)
        assert "from 1 browser that is known" in known.get("/account/").content.decode()
        known.post("/account/browsers/forget/")
        known.post("/sign-out/")
        hammer("lena")
        assert attempt("lena", RIGHT, known) == 429


@pytest.mark.django_db
class TestACookie:
    def refused(self, browser):
        hammer("lena")
        return attempt("lena", RIGHT, browser, REMOTE_ADDR="203.0.113.9") == 429

    def test_of_another_account_helps_nothing(self):
        """The attack: to register or sign in as oneself and use the own cookie to guess at somebody else."""
        make_user(username="lena")
        make_user(username="mallory")
        assert self.refused(browser_of("mallory"))

    def test_that_is_forged_helps_nothing(self):
        user = make_user(username="lena")
        browser_of("lena")
        digest = user.known_browsers.get().digest
        forged = Client()
        for value in ("x", digest, signing.dumps([digest], salt=SALT), signing.dumps([digest], salt="another")):
            forged.cookies[COOKIE] = value
            assert attempt("lena", client=forged, REMOTE_ADDR="203.0.113.10") == 200
        assert not SignInAttempt.objects.exclude(device="").exists()
        assert self.refused(forged)

    def test_that_has_expired_or_is_revoked_helps_nothing(self):
        user = make_user(username="lena")
        old, revoked = browser_of("lena"), browser_of("lena")
        user.known_browsers.order_by("pk")[1].delete()
        KnownBrowser.objects.update(made_at=F("made_at") - timedelta(days=181))
        hammer("lena")
        assert attempt("lena", RIGHT, old) == attempt("lena", RIGHT, revoked) == 429

    def test_that_was_copied_ends_when_the_owner_signs_in_again(self):
        make_user(username="lena")
        known, thief = browser_of("lena"), Client()
        thief.cookies[COOKIE] = known.cookies[COOKIE].value
        assert attempt("lena", RIGHT, known) == 302
        assert self.refused(thief)

    def test_remembers_the_last_accounts_of_a_shared_computer_and_is_kept_from_scripts(self):
        shared = Client()
        for number in range(7):
            make_user(username=f"rater{number}x")
            attempt(f"rater{number}x", RIGHT, shared)
            shared.post("/sign-out/")
        cookie = shared.cookies[COOKIE]
        assert cookie["httponly"] and cookie["samesite"] == "Lax" and len(cookie.value) < 400
        assert len(signing.loads(cookie.value, salt=SALT)) == 5
        for _guess in range(3):
            attempt("rater6x", client=shared)
        assert SignInAttempt.objects.exclude(device="").count() == 3


@pytest.mark.django_db
def test_a_success_behind_an_address_resets_nothing_for_others():
    """The attack: to guess at Lena from her own network, and to go on whenever she or the attacker has signed in."""
    make_user(username="lena")
    make_user(username="mallory")
    guesser, lena = Client(), Client()
    guesser.get("/sign-in/")
    lena.get("/sign-in/")
    for _guess in range(3):
        assert attempt("lena", client=guesser) == 200
    assert attempt("mallory", RIGHT, guesser) == 302
    assert attempt("lena", client=lena) == 200
    # The attacker's failures leave no attempt in a new browser at this address, so Lena comes in from another one.
    assert attempt("lena", RIGHT, lena) == 429
    assert attempt("lena", RIGHT, lena, REMOTE_ADDR="203.0.113.9") == 302
    guesser.post("/sign-out/")
    assert [attempt("lena", client=guesser) for _guess in range(2)] == [200, 429]


@pytest.mark.django_db(transaction=True)
def test_parallel_guesses_are_no_more_than_the_limit(tmp_path):
    make_user(username="lena")

    def guess(_number):
        try:
            return attempt("lena")
        finally:
            connection.close()

    with many_connections(tmp_path), ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(guess, range(12)))
    assert 1 <= answers.count(200) <= 4 and set(answers) <= {200, 429, 503}


@pytest.mark.django_db
class TestChangingThePassword:
    def test_guessing_the_old_password_in_a_stolen_session_ends_and_does_not_close_the_sign_in_page(self, client):
        user = make_user(username="lena")
        client.force_login(user)
        form = {"old_password": "wrong one 12", "new_password1": "plumb line 13", "new_password2": "plumb line 13"}
        answers = [client.post("/account/password/", form) for _guess in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429]
        assert answers[-1]["Retry-After"] == "900" and "Try again in 15 minutes" in answers[-1].content.decode()
        assert client.post("/account/password/", {**form, "old_password": RIGHT}).status_code == 429
        assert attempt("lena", RIGHT) == 302

    def test_is_an_event(self, client):
        user = make_user(username="lena")
        client.force_login(user)
        form = {"old_password": RIGHT, "new_password1": "plumb line 13", "new_password2": "plumb line 13"}
        client.post("/account/password/", form)
        event = Event.objects.get(verb="password changed")
        assert (event.actor, event.object_id, event.after) == (user, user.public_id, {"how": "account page"})


@pytest.mark.django_db
def test_the_database_works_as_much_for_a_name_that_nobody_has():
    """The attack: to tell by the time of a failure whether an account exists."""
    make_user(username="lena")
    work = {}
    for name in ("lena", "nobody", "lena", "nobody"):
        with CaptureQueriesContext(connection) as queries:
            attempt(name)
        work[name] = len(queries)  # of the second failure; the first one in an hour is an event of the account
    assert work["lena"] == work["nobody"]


@pytest.mark.django_db
class TestTheLog:
    def test_tells_of_sign_ins_and_whether_the_browser_was_known(self):
        user = make_user(username="lena")
        known = browser_of("lena")
        attempt("lena", RIGHT, known)
        events = Event.objects.filter(verb="signed in", actor=user, object_id=user.public_id).order_by("pk")
        assert [event.after["known_browser"] for event in events] == [False, True]

    def test_does_not_grow_with_each_guess(self):
        """The attack: to fill the log of an account, which nobody may change, by guessing for ever."""
        user = make_user(username="lena")
        for number in range(40):
            attempt("lena", REMOTE_ADDR=f"198.51.100.{number}")
            attempt("nobody", REMOTE_ADDR=f"198.51.100.{number}")
        events = Event.objects.exclude(verb="signed in").order_by("pk")
        assert [(event.verb, event.object_id, event.actor) for event in events] == [
            ("sign-in failed", user.public_id, None),
            ("sign-in refused", user.public_id, None),
        ]
        assert "198.51" not in str(list(Event.objects.values()))
