"""Passkeys in a real browser with a virtual authenticator, against a server on which they are turned on."""

import subprocess
import sys

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from accounts.models import User
from tests.e2e.looked_over import SHAPES, wrong_here
from tests.e2e.rating_pages import SIZES, wait_until
from tests.e2e.test_accessibility import axe as axe
from tests.e2e.test_killed_server import Server
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
RIGHT = "plumb line 12"

EVERYTHING = {
    "PLUMBLINE_PASSKEYS": "1",
    "PLUMBLINE_SECOND_FACTOR": "1",
    "PLUMBLINE_OIDC_ISSUER": "http://localhost:1",
    "PLUMBLINE_OIDC_CLIENT_ID": "plumbline",
    "PLUMBLINE_OIDC_CLIENT_SECRET": "secret",
    "PLUMBLINE_EMAIL_URL": "smtp://localhost:1",
    "PLUMBLINE_EMAIL_FROM": "plumbline@example.org",
}


@pytest.fixture
def server(tmp_path):
    if connection.vendor != "sqlite":
        pytest.skip("the server works on a copy of a SQLite database")
    make_user(username="lena")
    User.objects.update(password=PBKDF2PasswordHasher().encode(RIGHT, "salt", 1000))
    server = Server(tmp_path)
    # A passkey belongs to a name and not to a number, and browsers take localhost for secure.
    server.url = server.url.replace("127.0.0.1", "localhost")
    server.environment |= EVERYTHING
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=settings.BASE_DIR, env=server.environment, check=True)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def page(browser, server):
    context = browser.new_context(viewport=SIZES["desktop"], base_url=server.url, reduced_motion="reduce")
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: "Security Policy" in message.text and complaints.append(message.text))
    devices = context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    device = {**options, "isUserVerified": True, "automaticPresenceSimulation": True}
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": device})
    wait_until(page, server.answers, seconds=90)
    yield page
    context.close()
    assert complaints == []


def password(page):
    page.goto("/sign-in/")
    page.fill("#id_username", "lena")
    page.fill("#id_password", RIGHT)
    page.click("form:has(#id_username) button")


def sign_out(page):
    page.click("details.menu summary")
    page.click("form[action='/sign-out/'] button")
    page.wait_for_url("**/sign-in/")


def test_a_passkey_is_added_signs_in_alone_and_is_a_second_factor_after_a_password(page):
    password(page)
    page.wait_for_url("**/")
    page.goto("/account/factors/keys/add/")
    page.fill("#id_password", RIGHT)
    page.click("main form button")
    page.fill("#id_name", "my laptop")
    page.check("#id_passwordless")
    page.click("form[data-passkey] button")
    page.wait_for_url("**/account/factors/recovery/")
    assert page.locator("main code").count() == 10
    page.goto("/account/factors/")
    assert "my laptop" in page.inner_text("main")
    sign_out(page)
    page.click("form[data-passkey='sign-in'] button")
    page.wait_for_url(lambda url: "sign-in" not in url)
    sign_out(page)
    password(page)
    page.wait_for_url("**/sign-in/second/")
    page.click("form[data-passkey='get'] button")
    page.wait_for_url(lambda url: "sign-in" not in url)
    sign_out(page)


PAGES = (
    *("factors/", "factors/app/", "factors/keys/", "factors/keys/add/", "factors/recovery/new/", "e-mail/"),
    *("identities/", "confirm/?next=/account/"),
)


def test_the_pages_are_legible_in_each_size_and_theme(page, axe):
    page.goto("/sign-in/")
    wrong = list(wrong_here(page, axe, SHAPES["en"]))
    page.goto("/password/")
    wrong += [("/password/", problem) for problem in wrong_here(page, axe, SHAPES["en"])]
    password(page)
    page.wait_for_url("**/")
    page.goto("/account/factors/app/")
    page.fill("#id_password", RIGHT)
    page.click("main form button")
    for number, address in enumerate(PAGES):
        page.goto(f"/account/{address}")
        shape = SHAPES["en"][number % 2]
        wrong += [(address, problem) for problem in wrong_here(page, axe, [shape])]
    assert wrong == []


def test_a_browser_without_the_passkey_says_so_and_lets_nobody_in(page):
    page.goto("/sign-in/")
    page.click("form[data-passkey='sign-in'] button")
    page.wait_for_selector("[data-passkey-error]:visible")
    page.goto("/account/")
    assert "/sign-in/" in page.url
