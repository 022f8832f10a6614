"""The optional ways to sign in are read strictly, and cost nothing while they are off."""

import subprocess
import sys

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config import identity

OIDC = {
    "PLUMBLINE_OIDC_ISSUER": "https://id.example.org/",
    "PLUMBLINE_OIDC_CLIENT_ID": "plumbline",
    "PLUMBLINE_OIDC_CLIENT_SECRET": "secret",
}
ADDRESSES = (
    "/account/factors/",
    "/account/factors/app/",
    "/account/e-mail/",
    "/account/identities/",
    "/account/confirm/",
    "/password/",
    "/sign-in/second/",
    "/sign-in/passkey/",
    "/sign-in/provider/openid/",
    "/invitation/x/provider/",
)


@pytest.fixture
def read(monkeypatch):
    def reader(local=False, **variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return identity.read(local=local)

    return reader


def test_everything_is_off_by_default(read):
    assert not read() and not settings.IDENTITY


@pytest.mark.parametrize("left_out", OIDC)
def test_a_provider_is_named_whole_or_not_at_all(read, left_out):
    assert read(**OIDC).issuer == "https://id.example.org"
    with pytest.raises(ImproperlyConfigured, match="PLUMBLINE_OIDC_ISSUER, PLUMBLINE_OIDC_CLIENT_ID"):
        read(**{**OIDC, left_out: ""})


def test_a_provider_without_https_is_refused_in_production(read):
    insecure = {**OIDC, "PLUMBLINE_OIDC_ISSUER": "http://id.example.org"}
    with pytest.raises(ImproperlyConfigured, match="https://"):
        read(**insecure)
    assert read(local=True, **insecure)


def test_mail_needs_a_host_and_a_sender_and_is_encrypted_unless_said(read):
    with pytest.raises(ImproperlyConfigured, match="PLUMBLINE_EMAIL_FROM"):
        read(PLUMBLINE_EMAIL_URL="smtp://mail.example.org")
    with pytest.raises(ImproperlyConfigured, match="smtps://"):
        read(PLUMBLINE_EMAIL_URL="mail.example.org", PLUMBLINE_EMAIL_FROM="a@example.org")
    found = {}
    for url in ("smtp://u:p%40ss@mail.example.org", "smtps://mail.example.org", "smtp+plain://localhost:2525"):
        turned_on = read(PLUMBLINE_EMAIL_URL=url, PLUMBLINE_EMAIL_FROM="a@example.org")
        values = identity.settings_of(turned_on, redis_url="", data_dir=settings.DATA_DIR)
        found[url] = tuple(values[f"EMAIL_{name}"] for name in ("PORT", "USE_TLS", "USE_SSL", "HOST_PASSWORD"))
    assert list(found.values()) == [(587, True, False, "p@ss"), (465, False, True, ""), (2525, False, False, "")]


def test_requiring_what_nobody_can_have_is_refused(read):
    with pytest.raises(ImproperlyConfigured, match="PLUMBLINE_SECOND_FACTOR or"):
        read(PLUMBLINE_REQUIRE_SECOND_FACTOR="1")


@pytest.mark.django_db
def test_no_address_answers_while_it_is_off(client):
    assert {client.get(address).status_code for address in ADDRESSES} == {404}
    assert {client.post(address).status_code for address in ADDRESSES} == {404}


def test_nothing_of_it_is_imported_while_it_is_off():
    program = (
        "import django, sys; django.setup(); import config.urls; "
        "print([name for name in sys.modules if name.split('.')[0] in ('allauth', 'fido2', 'qrcode', 'oauthlib')])"
    )
    environment = {"PATH": "/usr/bin:/bin", "DJANGO_SETTINGS_MODULE": "config.settings"}
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True
    )
    assert said.stdout.strip() == "[]", said.stderr
