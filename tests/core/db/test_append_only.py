"""Rows that are a record refuse changes in the database itself, after all migrations and on both databases."""

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db

RECORDS = {
    "accounts_event",
    "annotation_latechange",
    "annotation_score",
    "annotation_timecorrection",
    "generation_endpointgrant",
    "judging_reply",
}


def test_every_record_has_its_trigger():
    if connection.vendor == "postgresql":
        query = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal AND tgname LIKE '%append_only'"
    else:
        query = "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%append_only'"
    with connection.cursor() as cursor:
        cursor.execute(query)
        assert {table for (table,) in cursor.fetchall()} == RECORDS
