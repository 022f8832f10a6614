"""A real browser against a live server. Chromium is Debian's own."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.e2e.proxy import Proxy
from tests.e2e.rating_pages import SIZES
from tests.e2e.serial import serving, turn

# Playwright's loop runs in the tests' own thread, where they also look into the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))


@pytest.fixture(scope="session")
def live_server():
    """The server lives as long as the session, and is made before any test's settings: its middleware is set here."""
    with override_settings(MIDDLEWARE=["tests.e2e.serial.OneAtATime", *settings.MIDDLEWARE]):
        server = LiveServer("localhost")
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _settings_for_a_live_server(transactional_db, tmp_path):
    """Neither two requests nor a request and the test itself use the shared connection at once.

    Files that people send or have made lie in a folder of each test's own: the tables of one must not be another's.
    """

    def in_turn(execute, sql, params, many, context):
        with turn:
            return execute(sql, params, many, context)

    serving.set()
    with override_settings(DATA_DIR=tmp_path), connection.execute_wrapper(in_turn):
        yield
    with turn:
        serving.clear()


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must have Chromium at {CHROMIUM}")
        pytest.skip(f"no Chromium at {CHROMIUM}; install it, or name it in CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def proxy(live_server):
    place = urlsplit(live_server.url)
    proxy = Proxy((place.hostname, place.port))
    yield proxy
    proxy.fail = None
    proxy.kill()


@pytest.fixture
def open_page(browser, live_server):
    """Opens the sign-in page in a fresh browser profile; fails the test where the page complains.

    Without any account, there is no sign-in page; one is made first, unless the installation is to be a new one.
    """
    complaints = []
    contexts = []

    def open_(size="desktop", founded=True, **options):
        if founded and not User.objects.exists():
            User.objects.create_user("founder")
        context = browser.new_context(viewport=SIZES[size], base_url=live_server.url, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(40_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: "Security Policy" in message.text and complaints.append(message.text))
        page.goto("/sign-in/", timeout=120_000)  # the first page waits for the program to load
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
