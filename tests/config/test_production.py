"""What a server in production mode does without further settings, and with which modes it makes its files."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECRET = "kD93-xY_27qLmZpA0vTfUe5WcRbNhGs1iJo4kD93-xY_27qLmZQ"


@pytest.fixture
def production(tmp_path):
    """Run a command in production mode, in a process whose files anybody may read unless it says otherwise."""

    def run(*words, **variables):
        environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings"}
        environment |= {"PLUMBLINE_DATA_DIR": str(tmp_path / "data"), "PLUMBLINE_MODE": "production"}
        environment |= {"PLUMBLINE_SECRET_KEY": SECRET, "PLUMBLINE_ALLOWED_HOSTS": "rate.example"}
        done = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env=environment | variables,
            capture_output=True,
            text=True,
            check=False,
            umask=0,
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


def test_djangos_own_check_of_a_deployment_finds_nothing(production):
    done = production("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert "no issues" in done.stdout + done.stderr
    assert "(2 silenced)" in done.stdout + done.stderr


SHOWN = """
from django.conf import settings as s
print(s.SECURE_HSTS_SECONDS, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_INCLUDE_SUBDOMAINS, s.SECURE_HSTS_PRELOAD)
"""


def test_https_is_asked_for_by_default_and_each_part_has_a_variable(production):
    assert production("-c", SHOWN).stdout.split() == ["3600", "True", "False", "False"]
    changed = {"PLUMBLINE_HSTS_SECONDS": "31536000", "PLUMBLINE_REDIRECT_TO_HTTPS": "0"}
    assert production("-c", SHOWN, **changed).stdout.split() == ["31536000", "False", "False", "False"]
    assert production("-c", SHOWN, PLUMBLINE_MODE="local").stdout.split() == ["0", "False", "False", "False"]


WRITING = """
from datetime import UTC, datetime
from pathlib import Path

import django

django.setup()
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files.base import ContentFile
from django.db import connection

from annotation.texts.rendered_files import KEPT_FROM, kept
from config.celery import app
from core.tables.bad_rows import BadRow
from core.tables.rows_left_out import SkippedRows
from generation.execution.write_ahead_log import LoggedReply, WriteAheadLog

data = Path(settings.DATA_DIR)
settings.STATIC_ROOT = str(data / "public")
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE one (a)")
app.send_task("judging.sweep")
skipped = SkippedRows()
skipped(BadRow("a.csv", 3, "x", "y"))
skipped.write(data / "imports", "ratings", datetime.now(UTC))
kept(data / "rendered", "x" * KEPT_FROM, dict)
WriteAheadLog("run", "worker").append(LoggedReply(1, "h", "a reply", "stop", 1, 1, 0.1, "0"))
staticfiles_storage.save("css/page.css", ContentFile(b"body {}"))
(data / "exports").mkdir()
(data / "exports" / "fit.json").write_text("{}")
"""


def test_files_are_made_for_their_owner_alone_and_static_files_for_everybody(production, tmp_path):
    """Under an umask that would let everybody on the machine read and write them."""
    production("-c", WRITING)
    data = tmp_path / "data"
    made = {path: stat.S_IMODE(path.stat().st_mode) for path in [data, *data.rglob("*")]}
    static = {path: mode for path, mode in made.items() if data / "public" in [path, *path.parents]}
    private = {path: mode for path, mode in made.items() if path not in static}
    top = {path.relative_to(data).parts[0] for path in made if path != data and path.is_file()}
    assert {"plumbline.sqlite3", "broker", "imports", "rendered", "journal", "exports", "public"} <= top
    assert {path.name: oct(mode) for path, mode in private.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}
    assert {mode for path, mode in static.items() if path.is_file()} == {0o644}
    assert static[data / "public" / "css"] == 0o755
