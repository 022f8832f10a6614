"""What only looks stores nothing, and waits for nobody who writes."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Workspace
from core.db.stores_nothing import stores_nothing

pytestmark = pytest.mark.django_db(transaction=True)


@stores_nothing
def made():
    Workspace.objects.create(slug="seen", name="Seen")
    return Workspace.objects.count()


@stores_nothing
def looked():
    return Workspace.objects.count()


def test_what_is_written_is_there_within_and_gone_afterwards():
    before = Workspace.objects.count()
    assert made() == before + 1
    assert Workspace.objects.count() == before
    with transaction.atomic():
        kept = Workspace.objects.create(slug="kept", name="Kept")
        assert made() == before + 2
    assert list(Workspace.objects.filter(slug__in=["seen", "kept"])) == [kept]


def test_looking_takes_no_lock_and_the_next_transaction_takes_it_as_ever():
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite has one lock for all who write")
    with CaptureQueriesContext(connection) as asked:
        looked()
    assert [one["sql"] for one in asked if one["sql"].startswith("BEGIN")] == ["BEGIN DEFERRED"]
    with CaptureQueriesContext(connection) as asked, transaction.atomic():
        Workspace.objects.count()
    assert [one["sql"] for one in asked if one["sql"].startswith("BEGIN")] == ["BEGIN IMMEDIATE"]
