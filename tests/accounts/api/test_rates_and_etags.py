"""The rate limit of tokens with its headers, and answers that a client does not need to read again."""

import threading

import pytest
from django.db import connections

from accounts.api import rates
from accounts.api.headers import etag_of
from accounts.api.tokens import issue_token
from accounts.models import TokenMinute
from tests.factories import make_checklist_study, make_user
from tests.many_connections import many_connections

pytestmark = pytest.mark.django_db
STUDIES = "/api/v1/studies/"


@pytest.fixture(autouse=True)
def fresh():
    rates.forget_everything()
    yield
    rates.forget_everything()


@pytest.fixture
def now(monkeypatch):
    """The seconds since 1970 that the rate limit sees, 10 s into a minute; a list, so that a test can move on."""
    seconds = [6_000_010.0]
    monkeypatch.setattr("accounts.api.rates.time.time", lambda: seconds[0])
    return seconds


@pytest.fixture
def study():
    return make_checklist_study(instructions=1, models=1)


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def bearer(user):
    token, secret = issue_token(user=user, name="s", scopes=("read", "change"))
    return token, {"Authorization": f"Bearer {secret}"}


def test_a_token_has_so_many_requests_a_minute(client, lead, settings, now):
    settings.API_RATE = 3
    (_token, head), (_other, another) = bearer(lead), bearer(lead)
    seen = [client.get(STUDIES, headers=head) for _each in range(4)]
    assert [one.status_code for one in seen] == [200, 200, 200, 429]
    assert [one["RateLimit-Remaining"] for one in seen] == ["2", "1", "0", "0"]
    refused = seen[-1]
    assert (refused["RateLimit-Limit"], refused["RateLimit-Policy"]) == ("3", "3;w=60")
    assert refused["Retry-After"] == refused["RateLimit-Reset"] == "50"
    assert refused.json()["detail"]
    assert client.get(STUDIES, headers=another).status_code == 200
    now[0] += 50
    assert client.get(STUDIES, headers=head).status_code == 200


def test_a_refused_request_changes_nothing(client, lead, settings, study, now):
    settings.API_RATE = 1
    _token, head = bearer(lead)
    path = f"/api/v1/w/{study.workspace.slug}/instructions/"
    sent = {"into": "tea", "rows": [{"instruction": "a", "prompt": "Write."}]}
    assert client.get(STUDIES, headers=head).status_code == 200
    assert client.post(path, sent, "application/json", headers=head).status_code == 429
    assert not study.workspace.benchmarks.filter(slug="tea").exists()


def test_processes_share_the_minute(lead, settings):
    """Two processes, each with its own memory: together not more than the limit, and both get some."""
    token, _head = bearer(lead)
    held, allowed = [{}, {}], [0, 0]
    for number in range(60):
        rates._held.clear()
        rates._held.update(held[number % 2])
        allowed[number % 2] += rates.take(token.pk, now=0.0, limit=40).allowed
        held[number % 2] = dict(rates._held)
    assert sum(allowed) == 40 and min(allowed) >= 15
    assert TokenMinute.objects.get(token=token).taken == 40


def test_requests_write_seldom(lead, django_assert_num_queries):
    token, _head = bearer(lead)
    rates.take(token.pk, now=0.0, limit=600)
    with django_assert_num_queries(0):
        for _each in range(29):
            rates.take(token.pk, now=0.0, limit=600)
    with django_assert_num_queries(2):
        rates.take(token.pk, now=0.0, limit=600)


@pytest.mark.django_db(transaction=True)
def test_threads_together_get_the_limit(lead, tmp_path):
    token, _head = bearer(lead)
    allowed = []

    def takes():
        try:
            allowed.extend(rates.take(token.pk, now=0.0, limit=30).allowed for _each in range(20))
        finally:
            connections.close_all()

    with many_connections(tmp_path):
        threads = [threading.Thread(target=takes) for _each in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(allowed), sum(allowed)) == (60, 30)


def test_browsers_and_0_have_no_limit(client, lead, settings):
    settings.API_RATE = 1
    client.force_login(lead)
    assert [client.get(STUDIES).status_code for _each in range(3)] == [200] * 3
    client.logout()
    settings.API_RATE = 0
    _token, head = bearer(lead)
    seen = [client.get(STUDIES, headers=head) for _each in range(3)]
    assert [one.status_code for one in seen] == [200] * 3 and "RateLimit-Limit" not in seen[0]


def test_what_is_the_same_is_not_sent_again(client, lead, study):
    _token, head = bearer(lead)
    first = client.get(STUDIES, headers=head)
    tag = first["ETag"]
    assert tag == etag_of(first.content) and "private" in first["Cache-Control"]
    again = client.get(STUDIES, headers={**head, "If-None-Match": tag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert "RateLimit-Remaining" in again
    study.names = {"en": "Another name"}
    study.save()
    changed = client.get(STUDIES, headers={**head, "If-None-Match": tag})
    assert changed.status_code == 200 and changed["ETag"] != tag


def test_an_etag_is_no_way_in(client, lead, study):
    """The attack: with the ETag of an answer, to hear from 304 or 412 what a token may not read."""
    tag = client.get(STUDIES, headers=bearer(lead)[1])["ETag"]
    for name in ("If-None-Match", "If-Match"):
        assert client.get(STUDIES, headers={name: tag}).status_code == 401
    outsider = make_user("rater", study.workspace, username="rita")
    assert client.get(STUDIES, headers={**bearer(outsider)[1], "If-None-Match": tag}).status_code == 403


def test_pages_have_no_etag(client, lead):
    client.force_login(lead)
    assert "ETag" not in client.get("/")
