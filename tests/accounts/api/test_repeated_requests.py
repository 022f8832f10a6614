"""Requests with an Idempotency-Key: done once, answered the same again, and kept apart by caller."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.api.repeated import forget_old
from accounts.api.tokens import issue_token
from accounts.models import AnsweredRequest, Membership
from generation.models import Import, Instruction
from tests.factories import make_user, make_workspace
from tests.many_connections import many_connections

pytestmark = pytest.mark.django_db
ROWS = {"into": "tea", "rows": [{"instruction": "a1", "prompt": "Write."}]}
OTHER = {"into": "tea", "rows": [{"instruction": "a2", "prompt": "Write."}]}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


@pytest.fixture
def lead():
    return make_user("lead", make_workspace("lab"), username="lena")


def bearer(user, **options):
    return f"Bearer {issue_token(user=user, name='s', scopes=('change', 'read'), **options)[1]}"


def send(client, token, sent=ROWS, key="k1", slug="lab"):
    headers = {"Authorization": token, **({} if key is None else {"Idempotency-Key": key})}
    return client.post(reverse("api:add_instructions", args=[slug]), sent, "application/json", headers=headers)


def test_the_same_request_is_done_once_and_answered_the_same(client, lead):
    token = bearer(lead)
    first = send(client, token)
    again = send(client, token)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json() and first.json()["counts"] == {"created": 1}
    assert "Idempotent-Replayed" not in first and again["Idempotent-Replayed"] == "true"
    # Without the key, the second would say that everything is there.
    assert send(client, token, key=None).json()["counts"] == {}
    assert Import.objects.count() == 1


def test_another_request_with_the_key_is_refused(client, lead):
    token = bearer(lead)
    send(client, token)
    refused = send(client, token, OTHER)
    assert refused.status_code == 409 and "another request" in refused.json()["detail"]
    Membership.objects.create(user=lead, workspace=make_workspace("other"), role="lead")
    assert send(client, token, slug="other").status_code == 409
    assert Instruction.objects.count() == 1
    assert send(client, token, OTHER, key="k2").status_code == 201


@pytest.mark.parametrize("key", ["k1", None])
@pytest.mark.parametrize("address", ["api:add_instructions", "api:endpoints", "api:add_responses"])
def test_a_body_of_null_is_refused_in_a_sentence(client, lead, key, address):
    headers = {"Authorization": bearer(lead), **({"Idempotency-Key": key} if key else {})}
    refused = client.post(reverse(address, args=["lab"]), "null", "application/json", headers=headers)
    assert refused.status_code == 400 and refused.json()


def test_a_key_is_its_callers_own(client, lead):
    """The attack: with a colleague's key, or with another of one's own tokens, to see what was answered there."""
    send(client, bearer(lead))
    other = make_user("lead", make_workspace("other"), username="otto")
    assert send(client, bearer(other)).status_code == 404
    limited = bearer(lead, workspace=make_workspace("other"))
    assert send(client, limited).status_code in (403, 404)
    assert send(client, bearer(lead)).json()["counts"] == {}
    assert AnsweredRequest.objects.count() == 2


def test_a_request_that_failed_is_tried_again(client, lead):
    token = bearer(lead)
    bad = {"into": "tea", "rows": [{"instruction": "a1"}]}
    assert send(client, token, bad).status_code == 400
    assert not AnsweredRequest.objects.exists()
    assert send(client, token).status_code == 201


def test_a_fault_leaves_neither_change_nor_answer(client, lead, monkeypatch):
    token = bearer(lead)

    def breaks(self, *args, **kwargs):
        raise RuntimeError

    monkeypatch.setattr("accounts.api.repeated.JSONRenderer.render", breaks)
    client.raise_request_exception = False
    assert send(client, token).status_code == 500
    assert not Instruction.objects.exists() and not AnsweredRequest.objects.exists()


def test_keys_are_kept_for_a_day(client, lead):
    token = bearer(lead)
    send(client, token)
    forget_old(lambda: timezone.now() + timedelta(hours=23, minutes=59))
    assert AnsweredRequest.objects.exists()
    forget_old(lambda: timezone.now() + timedelta(hours=24, minutes=1))
    assert not AnsweredRequest.objects.exists()


@pytest.mark.parametrize("key", ["", "x" * 256, "é"])
def test_a_key_that_is_none_is_refused(client, lead, key):
    answer = send(client, bearer(lead), key=key)
    assert answer.status_code == 400 and "Idempotency-Key" in answer.json()["detail"]
    assert not Instruction.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_that_arrive_together_are_one(lead, tmp_path):
    token, answers, imports, ready = bearer(lead), [], [], threading.Barrier(2)

    def sends():
        try:
            ready.wait()
            answers.append(send(Client(), token))
            imports.append(Import.objects.count())
        finally:
            connections.close_all()

    with many_connections(tmp_path):
        threads = [threading.Thread(target=sends) for _each in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert sorted("Idempotent-Replayed" in answer for answer in answers) == [False, True]
    assert imports == [1, 1]
