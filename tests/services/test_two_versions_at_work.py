"""A web process of the version before serves raters while the schema is migrated forward beneath it, and afterwards."""

import http.cookiejar
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import psycopg
import pytest

from tests.services.test_runs import ROOT, database, free_port, processes, wait_until  # noqa: F401

pytestmark = pytest.mark.services

BEFORE = "bef32a10cd55c1975c1c9aac85e4c8d9037df0ec"
"""A commit of the version before, whose newest migrations tests/config/test_two_versions.py states as its base."""

SET_UP = """
import sys; sys.path.insert(0, "tests")
import django; django.setup()
from annotation.assignment.new_slots import make_seats
from factories import make_checklist_study, make_user
study = make_checklist_study(instructions={tasks}, models=1)
make_seats(study)
make_user("rater", study.workspace, username="rosa")
"""


@pytest.fixture
def old_tree(tmp_path):
    """The files of the version before."""
    packed = tmp_path / "before.zip"
    done = subprocess.run(["git", "archive", "-o", str(packed), BEFORE], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the version before is not in this copy of the repository: {done.stderr.strip()}")
    folder = tmp_path / "before"
    shutil.unpack_archive(packed, folder)
    return folder


class Rater:
    """A rater without JavaScript, who sends again what met a 503; every other page that is not served is a failure."""

    def __init__(self, url):
        self.url, self.again = url, 0
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def open(self, path, **fields):
        data = urllib.parse.urlencode(fields).encode() if fields else None
        try:
            with self.opener.open(
                urllib.request.Request(urllib.parse.urljoin(self.url, path), data), timeout=60
            ) as reply:
                return reply.url, reply.read().decode()
        except urllib.error.HTTPError as moved:
            if moved.code == 503 and self.again < 5:
                self.again += 1
                time.sleep(0.5)
                return self.open(path, **fields)
            if moved.code != 307:
                raise
            return self.open(moved.headers["Location"], **fields)  # a form sent to an address of the version before

    def sign_in(self):
        url, page = self.open("/sign-in/")
        self.open(url, username="rosa", password="plumb line 12", csrfmiddlewaretoken=token(page))

    def answer_one(self):
        """Answer the task that the study offers."""
        _url, page = self.open("/done/essays/")
        url, page = self.open("/studies/essays/rate/", csrfmiddlewaretoken=token(page))
        choices = dict(re.findall(r'<input[^>]*name="(c-[^"]+)"[^>]*value="([^"]*)"', page))
        assert "/rate/" in url and choices, url
        self.open(url, csrfmiddlewaretoken=token(page), **choices)


def token(page):
    return re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]


def is_up(url):
    try:
        with urllib.request.urlopen(f"{url}/health/", timeout=2) as reply:
            return reply.status == 200
    except OSError:
        return False


def test_the_version_before_serves_while_and_after_the_schema_is_migrated(tmp_path, old_tree, database, processes):  # noqa: F811
    environment = {**os.environ, "DATABASE_URL": database, "PLUMBLINE_DATA_DIR": str(tmp_path / "data")}

    def run(folder, *command):
        subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True, timeout=200)

    def serve(folder, name):
        port = free_port()
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "config.wsgi",
            "--chdir",
            str(folder),
            "--bind",
            f"127.0.0.1:{port}",
        ]
        processes.start(name, *command, "--worker-class", "gthread", "--threads", "4", env=environment)
        wait_until(lambda: is_up(f"http://127.0.0.1:{port}"), f"{name} serves", seconds=90)
        return f"http://127.0.0.1:{port}"

    run(old_tree, "manage.py", "migrate", "--verbosity", "0")
    run(old_tree, "-c", SET_UP.format(tasks=60))
    rater = Rater(serve(old_tree, "before"))
    rater.sign_in()
    rater.answer_one()
    given = 1
    migrating = threading.Thread(target=run, args=(ROOT, "manage.py", "migrate", "--verbosity", "0"))
    migrating.start()
    while migrating.is_alive() and given < 50:
        rater.answer_one()
        given += 1
    migrating.join()
    newer = Rater(serve(ROOT, "after"))
    newer.sign_in()
    for one in (rater, newer, rater, newer):
        one.answer_one()
        given += 1
    with psycopg.connect(database) as connection:
        (stored,) = connection.execute(
            "SELECT count(*) FROM annotation_assignment WHERE status = 'submitted'"
        ).fetchone()
        (doubled,) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM annotation_score GROUP BY assignment_id, criterion_id, revision"
            " HAVING count(*) > 1) AS twice"
        ).fetchone()
    assert (stored, doubled) == (given, 0)
    assert given > 6
