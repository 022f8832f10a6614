"""Guessing API tokens ends per address, costs the database little, and closes nothing to good tokens."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.api import limit
from accounts.api.tokens import issue_token, revoke_token
from accounts.models import SignInAttempt
from tests.factories import make_user

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/studies/"


@pytest.fixture(autouse=True)
def fresh(settings):
    settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "token": 5}
    limit.forget_everything()
    yield
    limit.forget_everything()


def call(secret, **extra):
    return Client().get(ADDRESS, headers={"Authorization": f"Bearer {secret}"}, **extra)


def guess(number, **extra):
    return call(f"plumbline_guess{number}", **extra)


def test_guessing_ends_and_is_then_answered_without_the_database(django_assert_num_queries):
    assert [guess(number).status_code for number in range(5)] == [401] * 5
    with django_assert_num_queries(0):
        refused = guess(6)
    assert refused.status_code == 429 and 0 < int(refused["Retry-After"]) <= 900
    assert "throttled" in refused.json()["detail"]
    assert guess(7, REMOTE_ADDR="198.51.100.8").status_code == 401
    kept = str(list(SignInAttempt.objects.values()))
    assert "plumbline_" not in kept and "127.0" not in kept


def test_another_process_closes_the_address_at_its_first_failure():
    for number in range(5):
        guess(number)
    limit.forget_everything()  # what another process knows
    assert [guess(6).status_code, guess(7).status_code] == [401, 429]
    assert SignInAttempt.objects.count() == 5


def test_a_good_token_of_the_same_address_goes_on_and_costs_no_more(django_assert_max_num_queries):
    user = make_user("lead")
    _token, secret = issue_token(user=user, name="script")
    assert call(secret).status_code == 200
    for number in range(6):
        guess(number)
    assert call(secret).status_code == 200
    assert call(secret, REMOTE_ADDR="198.51.100.8").status_code == 200


def test_a_script_that_repeats_a_revoked_token_closes_nothing_to_its_neighbours():
    token, secret = issue_token(user=make_user("lead"), name="script")
    revoke_token(token=token, clock=timezone.now)
    assert {call(secret).status_code for _time in range(20)} == {401}
    assert SignInAttempt.objects.count() == 1


def test_a_revoked_token_that_was_accepted_before_is_still_looked_up():
    token, secret = issue_token(user=make_user("lead"), name="script")
    assert call(secret).status_code == 200
    revoke_token(token=token, clock=timezone.now)
    assert call(secret).status_code == 401
