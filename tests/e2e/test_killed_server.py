"""The server is killed while it stores an answer, and once it stored one but has not said so: nothing lost or doubled."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from accounts.models import User
from tests.e2e.answers import do_by_keyboard, make_study
from tests.e2e.rating_pages import SIZES, begin, submit, wait_until, wait_until_said

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WAITING = "Object.keys(localStorage).some(key => key.startsWith('plumbline:outbox:'))"


class Server:
    """A web server of its own, with a copy of the test's database as a file."""

    def __init__(self, folder):
        self.database = folder / "copy.sqlite3"
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(self.database)])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{self.database}",
            "PLUMBLINE_DATA_DIR": str(folder),
        }
        self.process = None

    def start(self):
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(
            [*command, "--worker-class", "gthread", "--threads", "4", "--log-level", "error"],
            cwd=settings.BASE_DIR,
            env=self.environment,
            start_new_session=True,
        )

    def kill(self):
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def answers(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health/", timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def stored(self, assignment):
        """How many scores of an assignment there are, and of how many criteria."""
        reading = sqlite3.connect(self.database)
        try:
            return reading.execute(
                "SELECT count(*), count(DISTINCT criterion_id) FROM annotation_score JOIN annotation_assignment"
                " ON assignment_id = annotation_assignment.id WHERE public_id = ?",
                [assignment],
            ).fetchone()
        finally:
            reading.close()


@pytest.fixture
def server(tmp_path):
    if connection.vendor != "sqlite":
        pytest.skip("the copy of the database is SQLite's")
    make_study("checklist", tasks=3)
    User.objects.update(password=PBKDF2PasswordHasher().encode("plumb line 12", "salt"))
    server = Server(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def page(browser, server):
    context = browser.new_context(viewport=SIZES["desktop"], base_url=server.url)
    page = context.new_page()
    wait_until(page, server.answers, seconds=90)
    page.goto("/sign-in/")
    begin(page)
    yield page
    context.close()


def shown(page):
    return page.evaluate("document.getElementById('task').dataset.assignment")


def start_again(page, server):
    server.start()
    wait_until(page, server.answers, seconds=90)
    page.evaluate("window.dispatchEvent(new Event('online'))")


def test_a_server_killed_while_it_stores_and_one_killed_before_it_answers(page, server):
    first = shown(page)
    do_by_keyboard(page, "checklist", None)
    wait_until_said(page, "saved")
    writing = sqlite3.connect(server.database, isolation_level=None)
    writing.execute("BEGIN IMMEDIATE")  # the server's own transaction has to wait for this one
    with page.expect_request(lambda request: request.url.endswith(f"/rate/{first}/")):
        submit(page)
    server.kill()
    writing.execute("ROLLBACK")
    writing.close()
    page.wait_for_function(f"() => {WAITING}")
    assert server.stored(first) == (0, 0)
    start_again(page, server)
    page.wait_for_function("id => document.getElementById('task').dataset.assignment !== id", arg=first)
    wait_until(page, lambda: server.stored(first) == (4, 4))

    second = shown(page)
    replies = []

    def kill_before_the_reply(route):
        if route.request.method == "POST" and not replies:
            replies.append(route.fetch())
            server.kill()
            route.abort()
        else:
            route.continue_()

    page.route(f"**/rate/{second}/", kill_before_the_reply)
    do_by_keyboard(page, "checklist", None)
    submit(page)
    page.wait_for_function(f"() => {WAITING}")
    assert server.stored(second) == (4, 4)
    start_again(page, server)
    page.wait_for_function("() => !Object.keys(localStorage).some(key => key.startsWith('plumbline:outbox:'))")
    assert server.stored(first) == server.stored(second) == (4, 4)
