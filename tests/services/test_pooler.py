"""PgBouncer that pools transactions between Plumbline and PostgreSQL: every client may get another session each time."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.services.test_runs import (
    ROOT,
    SET_UP,
    absent,
    asked,
    environment_of,
    free_port,
    python,
    start_redis,
    start_worker,
    wait_until,
)

pytestmark = pytest.mark.services

SETTINGS = """
[databases]
* = host=127.0.0.1 port=5432 user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
unix_socket_dir =
"""


@pytest.fixture
def pooled(processes, tmp_path, database):
    """The address of the database through a pooler with three sessions for everybody."""
    binary = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer") or absent("pgbouncer")
    port = free_port()
    # The folders of tests belong to their user alone, and the pooler runs as another one.
    folder = Path(tempfile.mkdtemp(prefix="plumbline-pooler-"))
    folder.chmod(0o755)
    written = folder / "pgbouncer.ini"
    written.write_text(SETTINGS.format(port=port))
    # It refuses to run as root.
    as_user = ("-u", "nobody") if os.geteuid() == 0 else ()
    processes.start("pgbouncer", binary, *as_user, str(written))
    address = f"postgres://postgres@127.0.0.1:{port}/{database.rpartition('/')[2]}"

    def answers():
        with suppress(psycopg.OperationalError), psycopg.connect(address, connect_timeout=2):
            return True

    wait_until(answers, "the pooler answers")
    yield address
    shutil.rmtree(folder)


def test_a_run_by_two_workers_behind_a_pooler(tmp_path, processes, pooled, rows, server):
    port = free_port()
    start_redis(processes, port)
    environment = {**environment_of(pooled, port, tmp_path), "PLUMBLINE_DATABASE_POOLER": "transaction"}
    python(environment, "manage.py", "migrate", "--verbosity", "0")
    workers = [start_worker(processes, f"worker{n}", environment) for n in range(2)]
    python(environment, "-c", SET_UP.format(items=300, url=server.base_url, calls=None))
    wait_until(lambda: rows.run_status() == "finished", "the run ends", 90.0)
    assert rows.items("scored") == 300 == rows.one("SELECT count(*) FROM judging_reply") == len(asked(server))
    assert all(worker.poll() is None for worker in workers)
    for log in tmp_path.glob("worker*.log"):
        assert "prepared statement" not in log.read_text()


RATING = """
import sys; sys.path.insert(0, "tests")
import threading
import django; django.setup()
from django.db import connection
from core.db.prepared import PreparedValues
from accounts.models import Workspace
slugs = PreparedValues(lambda pk: Workspace.objects.filter(pk=pk).values_list("slug"), 2**40 + 61)
faults = []
def ask():
    try:
        for n in range(60):
            slugs.all(n)
            list(Workspace.objects.filter(pk=n).iterator(2))
    except Exception as error:
        faults.append(error)
    finally:
        connection.close()
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(faults), *faults[:1])
"""


def test_statements_of_many_threads_share_three_sessions_and_without_the_setting_they_do_not(tmp_path, pooled):
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": pooled}
    environment |= {"PLUMBLINE_DATA_DIR": str(tmp_path / "data"), "PLUMBLINE_DATABASE_POOLER": "transaction"}
    python(environment, "manage.py", "migrate", "--verbosity", "0")

    def faults(**more):
        done = subprocess.run(
            [sys.executable, "-c", RATING], cwd=ROOT, env=environment | more, capture_output=True, text=True, check=True
        )
        return int(done.stdout.split()[0])

    assert faults() == 0
    assert faults(PLUMBLINE_DATABASE_POOLER="session") > 0
