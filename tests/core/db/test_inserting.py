"""Rows by prepared statements: the same as the models' own would be, all of a call or none."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Workspace
from core.db.bulk_insert import Inserting
from core.db.many_ids import with_ids
from generation.models import Endpoint

pytestmark = pytest.mark.django_db
NEW = Inserting(Endpoint, "name", "base_url", "input_price", "capabilities")
REST = [
    field.attname
    for field in Endpoint._meta.concrete_fields
    if field.attname not in ("id", "name", "base_url", "input_price", "capabilities", "workspace_id")
]


def rest():
    """What an instance would fill in of itself."""
    fresh = Endpoint(created_at=timezone.now()) if "created_at" in REST else Endpoint()
    return {name: getattr(fresh, name) for name in REST}


def test_what_is_inserted_reads_back_as_a_models_own_row_would():
    workspace = Workspace.objects.create(slug="w", name="W")
    given = ("own", "http://x/v1?a=100%s", Decimal("0.125"), {"json_schema": True, "text": "naïve “quotes” %"})
    NEW.insert([given], workspace=workspace.pk, **rest())
    stored = Endpoint.objects.get()
    twin = Endpoint.objects.create(
        workspace=workspace, name="twin", base_url=given[1], input_price=given[2], capabilities=given[3]
    )
    twin.refresh_from_db()
    for field in Endpoint._meta.concrete_fields:
        if field.attname not in ("id", "name", "created_at", "public_id"):
            assert getattr(stored, field.attname) == getattr(twin, field.attname), field.attname


def test_characters_that_end_fields_and_rows_in_a_stream_are_kept():
    workspace = Workspace.objects.create(slug="w", name="W")
    texts = ["a\tb", "a\nb\r\n", "\\N", "\\.", "", '"a,b"', "\u2028字"]
    rows = [(f"n{n}", text, Decimal(n), {"text": text}) for n, text in enumerate(texts)]
    NEW.insert(rows, workspace=workspace.pk, **rest())
    stored = Endpoint.objects.order_by("name").values_list("name", "base_url", "input_price", "capabilities")
    assert list(stored) == rows


def test_rows_are_found_by_many_ids():
    workspace = Workspace.objects.create(slug="w", name="W")
    NEW.insert([(f"n{n}", "http://x", Decimal(0), {}) for n in range(5)], workspace=workspace.pk, **rest())
    ids = list(Endpoint.objects.order_by("name").values_list("pk", flat=True))
    wanted = {ids[3]: "some", ids[1]: "keys", 10**9: "of a mapping"}
    rows = with_ids(Endpoint.objects.exclude(name="n1").select_related("workspace"), wanted)
    assert [row.name for row in rows] == ["n3"]
    assert not with_ids(Endpoint.objects.all(), []).exists()


def test_a_row_that_breaks_a_constraint_takes_the_whole_call_with_it():
    workspace = Workspace.objects.create(slug="w", name="W")
    rows = [(name, "http://x", Decimal(0), {}) for name in ("one", "two", "one")]
    with pytest.raises(IntegrityError), transaction.atomic():
        NEW.insert(rows, workspace=workspace.pk, **rest())
    assert not Endpoint.objects.exists()


def test_rows_that_are_known_can_be_left_out():
    workspace = Workspace.objects.create(slug="w", name="W")
    new = Inserting(Endpoint, "name", "base_url", "input_price", "capabilities", skip_known=True)
    for address in ("http://x", "http://y"):
        rows = [(name, address, Decimal(0), {}) for name in ("one", "two", "one", address[-1])]
        new.insert(rows, workspace=workspace.pk, **rest())
    found = Endpoint.objects.order_by("name").values_list("name", "base_url")
    assert list(found) == [("one", "http://x"), ("two", "http://x"), ("x", "http://x"), ("y", "http://y")]


def test_no_rows_are_no_statement(django_assert_num_queries):
    with django_assert_num_queries(0):
        NEW.insert([], workspace=1)
