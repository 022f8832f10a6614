"""Statements compiled once do what the queries they were made from do."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Event, User
from core.db.prepared import EXAMPLE_ID, EXAMPLE_NAME, EXAMPLE_TIME, OTHER_ID, Prepared, PreparedChange, PreparedInsert
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def test_an_update_changes_the_rows_it_is_given_and_says_how_many():
    first, second = make_user(), make_user()
    seen = PreparedChange(
        lambda pk, name, at: (User.objects.filter(pk=pk), {"first_name": name, "last_login": at}),
        EXAMPLE_ID,
        EXAMPLE_NAME,
        EXAMPLE_TIME,
    )
    assert seen.run(first.pk, "Rosa", NOON) == 1
    assert seen.run(2**40, "Nobody", NOON) == 0
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.first_name, first.last_login) == ("Rosa", NOON)
    assert (second.first_name, second.last_login) == ("", None)
    assert seen.run(first.pk, "Rosa", None) == 1
    first.refresh_from_db()
    assert first.last_login is None


def test_a_deletion_deletes_no_others():
    first, second = make_user(), make_user()
    gone = PreparedChange(lambda pk: (User.objects.filter(pk=pk), None), EXAMPLE_ID)
    assert gone.run(first.pk) == 1
    assert list(User.objects.all()) == [second]


def test_an_insert_stores_what_create_would_and_knows_the_id():
    workspace, insert = make_workspace(), PreparedInsert(Event)
    one = Event(workspace=workspace, verb="opened", after={"a": [1, "二"]})
    with CaptureQueriesContext(connection) as captured:
        insert.run(one)
    assert len(captured) == 1
    stored = Event.objects.get(pk=one.pk)
    assert (stored.verb, stored.after, stored.workspace) == ("opened", {"a": [1, "二"]}, workspace)
    insert.run(Event(workspace=workspace, verb="two"), Event(workspace=workspace, verb="three"))
    insert.run()
    assert Event.objects.count() == 3


def test_an_insert_of_what_is_there_already_stores_nothing():
    insert, there = PreparedInsert(User), make_user()
    again = [User(username="new", password=""), User(username=there.username, password="")]
    with pytest.raises(IntegrityError), transaction.atomic():
        insert.run(*again)
    assert User.objects.count() == 1


def test_a_value_that_is_not_among_the_parameters_is_refused():
    ignored = PreparedChange(lambda pk, _other: (User.objects.filter(pk=pk), None), EXAMPLE_ID, OTHER_ID)
    with pytest.raises(ValueError, match="not among its parameters"):
        ignored.run(1, 2)


def test_what_is_made_of_unchanged_rows_is_kept_and_of_changed_ones_made_anew():
    user, known = make_user(), {}
    query = Prepared(lambda pk: User.objects.filter(pk=pk).order_by(), EXAMPLE_ID)
    first = query.kept(tuple, known, user.pk)
    assert query.kept(tuple, known, user.pk) is first
    User.objects.filter(pk=user.pk).update(first_name="Rosa")
    assert query.kept(tuple, known, user.pk)[0].first_name == "Rosa"
    assert first[0].first_name == ""
