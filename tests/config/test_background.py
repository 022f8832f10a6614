"""Background work is sent by the name of its task, once the transaction that asks for it is committed."""

import pytest
from django.db import transaction

from core.background import send, send_after_commit
from judging import tasks


@pytest.fixture
def sent(monkeypatch):
    found = []
    monkeypatch.setattr(tasks.work, "delay", lambda *given: found.append(given))
    return found


def test_a_task_is_found_by_its_name(sent):
    send("judging.work", 7)
    assert sent == [(7,)]


def test_a_name_that_no_task_has_is_refused():
    with pytest.raises(KeyError):
        send("judging.nothing", 7)


@pytest.mark.django_db(transaction=True)
def test_it_is_sent_after_the_commit_and_not_after_a_rollback(sent):
    with transaction.atomic():
        send_after_commit("judging.work", 1)
        assert sent == []
    assert sent == [(1,)]
    with transaction.atomic():
        send_after_commit("judging.work", 2)
        transaction.set_rollback(True)
    assert sent == [(1,)]
