"""Signing in tells nobody which names exist, is limited, and is closed to the demonstration in production."""

import re
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db.models import F
from django.test import Client

from accounts.api.tokens import issue_token
from accounts.models import SignInAttempt, User
from tests.factories import make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
RIGHT = "plumb line 12"
LIMIT = 10


def attempt(name, password="wrong one 12", client=None, **extra):
    return (client or Client()).post("/sign-in/", {"username": name, "password": password}, **extra)


def words_of(page):
    html = markup(page)
    return page.status_code, re.findall(r'role="alert">(.+?)</p>', html)


def test_the_words_and_the_work_are_the_same_whether_a_name_exists():
    """Time is told by the number of passwords hashed: one for each attempt, whatever the account."""
    make_user(username="lena")
    make_user(username="gone", is_active=False)
    locked = make_user(username="locked")
    locked.set_unusable_password()
    locked.save()
    answers, work = [], []
    encode = MD5PasswordHasher.encode
    for name, password in (("lena", "wrong one 12"), ("nobody", "wrong one 12"), ("gone", RIGHT), ("locked", RIGHT)):
        hashed = []
        with patch.object(
            MD5PasswordHasher, "encode", lambda *parts, hashed=hashed: hashed.append(1) or encode(*parts)
        ):
            answers.append(words_of(attempt(name, password)))
        work.append(len(hashed))
    assert answers == [(200, ["The name or the password is incorrect. Both are case-sensitive."])] * 4
    assert work == [1, 1, 1, 1]


@pytest.mark.parametrize("name", ["lena", "nobody"])
def test_guessing_at_a_name_ends_after_some_attempts(name):
    """The attack: a list of passwords against one name. A name that nobody has is limited in the same words."""
    make_user(username="lena")
    answers = [words_of(attempt(name)) for _number in range(LIMIT + 1)]
    assert {status for status, _words in answers[:-1]} == {200}
    status, (words,) = answers[-1]
    assert status == 429
    assert "Try again in 15 minutes. If you have forgotten your password, ask the lead" in words
    assert attempt(name, RIGHT).status_code == 429
    # Refused attempts do not make the wait longer.
    assert SignInAttempt.objects.count() == LIMIT
    SignInAttempt.objects.update(at=F("at") - timedelta(minutes=16))
    assert attempt("lena", RIGHT).status_code == 302
    assert SignInAttempt.objects.count() == 0


def test_the_administration_is_entered_by_the_sign_in_page_and_its_limits(client):
    """The attack: guessing on the administration's own form, which would count nothing."""
    User.objects.create_superuser("root", password=RIGHT)
    page = client.get("/admin/login/?next=/admin/accounts/user/")
    assert (page.status_code, page["Location"]) == (302, "/sign-in/?next=/admin/accounts/user/")
    assert client.post("/admin/login/", {"username": "root", "password": RIGHT}).status_code == 405
    assert client.get("/admin/", follow=True).redirect_chain[-1][0] == "/sign-in/?next=/admin/"
    assert attempt("root", RIGHT, client).status_code == 302
    assert client.get("/admin/").status_code == 200
    assert client.post("/admin/password_change/")["Location"] == "/account/password/"


def test_who_is_no_administrator_is_told_so_and_not_sent_in_circles(client):
    client.force_login(make_user())
    assert client.get("/admin/", follow=True).status_code == 403


def test_nobody_is_locked_out_from_elsewhere():
    make_user(username="lena")
    for _number in range(LIMIT + 1):
        attempt("lena", REMOTE_ADDR="198.51.100.7")
    assert attempt("lena", RIGHT, REMOTE_ADDR="198.51.100.8").status_code == 302


def test_a_campus_behind_one_address_signs_in(settings):
    """Everybody mistypes twice, then signs in: slips in the browser that signed in are not counted."""
    settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "address": 8}
    for number in range(12):
        make_user(username=f"rater{number}x")
        browser = Client()
        browser.get("/sign-in/")
        for _slip in range(2):
            assert attempt(f"rater{number}x", client=browser).status_code == 200
        assert attempt(f"rater{number}x", RIGHT, browser).status_code == 302


def test_one_password_against_many_names_from_one_address_ends(settings):
    settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "address": 8}
    make_user(username="lena")
    answers = [attempt(f"guess{number}").status_code for number in range(9)]
    assert answers == [200] * 8 + [429]
    refused = attempt("lena", RIGHT)
    assert (refused.status_code, refused["Retry-After"]) == (429, "900")
    assert attempt("lena", RIGHT, REMOTE_ADDR="198.51.100.8").status_code == 302


def test_an_ipv6_customer_is_one_address_and_only_a_listed_proxys_word_counts(settings):
    make_user(username="lena")
    for number in range(LIMIT):
        attempt("lena", REMOTE_ADDR=f"2001:db8:1:2::{number:x}")
    assert attempt("lena", REMOTE_ADDR="2001:db8:1:2:ffff::1").status_code == 429
    assert attempt("lena", REMOTE_ADDR="2001:db8:1:3::1").status_code == 200
    for number in range(LIMIT + 1):
        last = attempt("lena", HTTP_X_FORWARDED_FOR=f"198.51.100.{number}")
    assert last.status_code == 429
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    for number in range(LIMIT + 1):
        last = attempt("lena", HTTP_X_FORWARDED_FOR=f"192.0.2.{number}, 203.0.113.9")
    assert last.status_code == 429
    assert attempt("lena", RIGHT, HTTP_X_FORWARDED_FOR="203.0.113.9, 203.0.113.10").status_code == 302


def test_names_and_addresses_are_not_kept_in_the_clear():
    attempt("lena", REMOTE_ADDR="198.51.100.7")
    kept = str(list(SignInAttempt.objects.values()))
    assert "lena" not in kept and "198.51" not in kept


@pytest.fixture
def demonstration():
    user = make_user("owner", username="lead", demonstration=True)
    user.set_password("plumb line demo")
    user.save()
    return user


def test_the_demonstrations_password_opens_nothing_in_production(client, settings, demonstration):
    """The attack: a server that once showed the demonstration goes live with its accounts."""
    _token, secret = issue_token(user=demonstration, name="script")
    bearer = {"Authorization": f"Bearer {secret}"}
    assert attempt("lead", "plumb line demo", client).status_code == 302
    assert client.get("/studies/").status_code == 200
    assert Client().get("/api/v1/studies/", headers=bearer).status_code == 200
    settings.LOCAL = False
    status, (words,) = words_of(attempt("lead", "plumb line demo"))
    assert (status, "command add_person" in words) == (200, True)
    assert client.get("/studies/").status_code == 302
    assert Client().get("/api/v1/studies/", headers=bearer).status_code == 401
    # Nobody learns from the sentence which accounts there are.
    assert words_of(attempt("nobody", "plumb line demo")) == (200, [words])
