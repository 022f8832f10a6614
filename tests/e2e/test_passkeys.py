"""Passkeys in a real browser with a virtual authenticator, against a server on which they are turned on."""

import base64
import hmac
import re
import subprocess
import sys
import time

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from accounts.models import User
from tests.e2e.looked_over import SHAPES, speak, wrong_here
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


# The same pages in Chinese
PLACES = {
    "before": (
        "/sign-in/",
        "/sign-in/closed/",
        "/sign-in/cancelled/",
        "/sign-in/error/",
        "/password/",
        "/password/sent/",
        "/password/done/",
        "/password/0-nothing/",
        "/account/e-mail/nothing/",
    ),
    "without an app": ("/account/factors/app/",),
    "within": (
        "/account/password/",
        "/account/factors/",
        "/account/factors/app/remove/",
        "/account/factors/confirm/?next=/account/",
        "/account/factors/keys/",
        "/account/factors/keys/add/",
        "/account/factors/keys/confirm/?next=/account/",
        "/account/factors/recovery/",
        "/account/factors/recovery/new/",
        "/account/e-mail/",
        "/account/identities/",
        "/account/confirm/?next=/account/",
    ),
    "a key": ("/account/factors/keys/{key}/", "/account/factors/keys/{key}/remove/"),
    "half way in": ("/sign-in/second/",),
}
NO_PAGES = {
    "/sign-out/": "is sent to",
    "/sign-in/form/": "a part of a page",
    "/sign-in/passkey/": "what a script reads",
    "/account/factors/recovery/file/": "a file",
    "/sign-in/provider/": "leads to the provider",
    "/invitation/": "leads to the provider",
}
ENGLISH = re.compile(r"[A-Za-z][A-Za-z'’-]*(?:[ ,]+[A-Za-z][A-Za-z'’-]*){2,}")
"""Three words of Latin letters in a row: names of things in a Chinese sentence are shorter."""


def code_of(secret):
    """What an authenticator app shows now, by RFC 6238."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, int(time.time() // 30).to_bytes(8, "big"), "sha1").digest()
    place = digest[-1] & 15
    return f"{(int.from_bytes(digest[place : place + 4], 'big') & 0x7FFFFFFF) % 10**6:06}"


def wrong_in_chinese(page, axe, address, shape):
    """What axe finds, and English left on a page, in its title, or in what is read aloud of it."""
    reply = page.goto(address)
    if reply.status != (401 if address == "/sign-in/error/" else 200):
        yield f"status {reply.status}"
    if "?" not in address and not page.url.endswith(address):
        yield f"led to {page.url}"
    if page.locator("html").get_attribute("lang") != "zh-hans":
        yield "not in Chinese"
    yield from wrong_here(page, axe, [shape])
    said = page.evaluate(
        """() => [document.title, document.body.innerText,
            ...[...document.querySelectorAll('[aria-label], [alt], [title], [placeholder]')].flatMap(
                one => ['aria-label', 'alt', 'title', 'placeholder'].map(name => one.getAttribute(name) ?? '')),
            ...[...document.querySelectorAll('[data-passkey-error], noscript')].map(one => one.textContent)]"""
    )
    yield from (f"English: {found}" for one in said for found in ENGLISH.findall(one))


def test_english_is_found():
    assert ENGLISH.findall("请输入 Confirm your identity 再继续") == ["Confirm your identity"]
    assert not ENGLISH.findall("Plumbline 用 Lab ID 登录，PLUMBLINE_OIDC")


def test_every_address_is_looked_at_in_chinese():
    """A new page of django-allauth is looked at below, or listed with why it is none."""
    written = (settings.BASE_DIR / "accounts" / "identity" / "urls.py").read_text()
    routes = re.findall(r"path\(\s*r?\"\^?([^\"$]+)", written)
    seen = {address for places in PLACES.values() for address in places}

    def is_known(route):
        beginning = "/" + re.split(r"[<(]", route)[0]
        return any(one.startswith(beginning) for one in [*seen, *NO_PAGES])

    assert len(routes) > 20
    assert [route for route in routes if not is_known(route)] == []


def test_every_page_is_chinese_where_the_reader_is(page, axe):
    wrong = []

    def look(places, **parts):
        for number, place in enumerate(PLACES[places]):
            address = place.format(**parts)
            shape = SHAPES["zh-hans"][number % 2]
            wrong.extend((address, problem) for problem in wrong_in_chinese(page, axe, address, shape))
        page.set_viewport_size(SIZES["desktop"])

    page.goto("/sign-in/")
    speak(page, "zh-hans")
    look("before")
    password(page)
    page.wait_for_url("**/")
    page.goto("/account/factors/app/")
    page.fill("#id_password", RIGHT)
    page.click("main form button")
    look("without an app")
    secret = page.inner_text("main code")
    page.fill("#id_code", code_of(secret))
    page.click("main form button")
    page.wait_for_url("**/account/factors/recovery/")
    page.goto("/account/factors/keys/add/")
    page.fill("#id_name", "laptop")
    page.click("form[data-passkey] button")
    page.wait_for_url(lambda url: not url.endswith("/add/"))
    look("within")
    page.goto("/account/factors/keys/")
    (key, *_same) = re.findall(r"/account/factors/keys/(\d+)/", page.content())
    look("a key", key=key)
    sign_out(page)
    password(page)
    page.wait_for_url("**/sign-in/second/")
    look("half way in")
    assert wrong == []
