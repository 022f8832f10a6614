"""A check stores nothing and stops nobody: on SQLite, raters' answers are stored while it runs."""

import sqlite3
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, connections
from django.utils import timezone

from annotation.models import Study
from annotation.uploads import loading
from annotation.uploads.kept_files import CHECKING, LOADING, keep_table, known_table
from annotation.uploads.reading import recognise
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = "item,rater,score\n" + "".join(f"i{number},r{number % 7},{number % 5 + 1}\n" for number in range(9000))
SECONDS = 0.2
"""As long as a rater may wait for a check; without a copy it is the whole of the check."""


@contextmanager
def database_in_a_file(path):
    """The test's database as a file, which others can open."""
    real = connections["default"]
    target = sqlite3.connect(path)
    real.connection.backup(target)
    target.execute("PRAGMA journal_mode=WAL")
    target.close()
    connections["default"] = type(real)({**real.settings_dict, "NAME": str(path)}, "default")
    try:
        yield
    finally:
        connections["default"].close()
        connections["default"] = real


@pytest.fixture
def writes(monkeypatch, tmp_path):
    """What became of a rater's writing, tried after every batch of rows: the seconds that it took, None if it could not."""
    tried = []
    after = loading._Shown.after

    def write(shown, steps):
        after(shown, steps)
        begun, other = time.monotonic(), sqlite3.connect(tmp_path / "file.sqlite3", timeout=0, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE accounts_user SET first_name = first_name || 'x'")
            other.execute("COMMIT")
            tried.append(time.monotonic() - begun)
        except sqlite3.OperationalError:
            tried.append(None)
        finally:
            other.close()

    monkeypatch.setattr(loading._Shown, "after", write)
    return tried


@pytest.fixture
def upload(settings, tmp_path):
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite lets one write at a time")
    settings.DATA_DIR = tmp_path / "data"
    workspace = make_workspace()
    sent = SimpleUploadedFile("marks.csv", ROWS.encode())
    user = make_user("lead", workspace, username="lena")
    return recognise(keep_table(workspace=workspace, user=user, sent=sent, clock=timezone.now))


def test_raters_write_while_a_table_is_checked(upload, writes, tmp_path):
    with database_in_a_file(tmp_path / "file.sqlite3"):
        replace(upload, state=CHECKING, options={"scale": "1:5"}).save()
        loading.carry_out(upload.public_id)
        assert not Study.objects.exists()
    found = known_table(upload.public_id)
    assert (found.state, found.problem, found.counts) == ("checked", "", {"created": 9000})
    assert len(writes) >= 4 and None not in writes and max(writes) < SECONDS
    assert not list(upload.folder.rglob("*.sqlite3*"))


def test_the_same_rows_are_loaded_afterwards(upload, tmp_path):
    with database_in_a_file(tmp_path / "file.sqlite3"):
        replace(upload, state=LOADING, options={"scale": "1:5"}).save()
        loading.carry_out(upload.public_id)
        assert Study.objects.get().slug == "marks"
    assert known_table(upload.public_id).counts == {"created": 9000}
