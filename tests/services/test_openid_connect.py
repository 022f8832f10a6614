"""Signing in by OpenID Connect, against a provider that this test serves over HTTP."""

import base64
import hashlib
import json
import secrets
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.members.invitations import invite
from accounts.models import Event, Membership, User
from tests.accounts.identity.codes import set_up_app
from tests.factories import make_user, make_workspace
from tests.identity_on import EVERYTHING, turned_on
from tests.markup import markup

pytestmark = [pytest.mark.services, pytest.mark.django_db]
START = "/sign-in/provider/openid/"
BACK = "/sign-in/provider/openid/back/"


class Provider:
    """An OpenID Connect provider with authorization codes, PKCE, signed ID tokens and user information."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.codes, self.tokens = {}, {}
        self.claims = self.userinfo = None
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(provider.get(urlsplit(self.path).path, self.headers))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(provider.exchange({name: values[0] for name, values in parse_qs(body).items()}))

            def answer(self, found):
                self.send_response(200 if found is not None else 400)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(found or {"error": "invalid_grant"}).encode())

            def log_message(self, *_words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, path, headers):
        if path == "/userinfo":
            return self.tokens.get(headers["Authorization"].removeprefix("Bearer "))
        if path == "/keys":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def authorize(self, address, **claims):
        """What the browser does there: the person agrees, and is sent back with a code and the state."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(self.issuer) and asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self.codes[code] = (asked, claims)
        return {"code": code, "state": asked["state"]}

    def exchange(self, sent):
        asked, claims = self.codes.pop(sent.get("code"), (None, None))
        if asked is None or sent.get("client_secret") != EVERYTHING.client_secret:
            return None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=")
        if challenge.decode() != asked["code_challenge"]:
            return None
        access, now = secrets.token_urlsafe(), int(time.time())
        self.tokens[access] = {**claims, **(self.userinfo or {})}
        signed = {**claims, "iss": self.issuer, "aud": asked["client_id"], "iat": now, "exp": now + 60}
        token = jwt.encode(signed, self.key, algorithm="RS256", headers={"kid": "one"})
        return {"access_token": access, "token_type": "Bearer", "expires_in": 60, "id_token": token}


@pytest.fixture(scope="module")
def served():
    provider = Provider()
    yield provider
    provider.server.shutdown()


@pytest.fixture(scope="module")
def _on(served, django_db_setup, django_db_blocker, tmp_path_factory):
    identity = replace(EVERYTHING, required=False, issuer=served.issuer)
    with django_db_blocker.unblock(), turned_on(identity, tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture
def provider(served, _on, db):
    cache.clear()
    served.userinfo = None
    return served


def come_in(provider, client=None, start=START, **claims):
    client = client or Client()
    return client, client.get(BACK, provider.authorize(client.post(start).context["target"], **claims))


def signed_in(client):
    page = client.get("/account/")
    return page.wsgi_request.user.username if page.status_code == 200 else None


def connect(provider, user, subject):
    client = Client()
    client.force_login(user)
    _client, back = come_in(provider, client, f"{START}?process=connect", sub=subject)
    assert back["Location"] == "/account/identities/"
    client.post("/sign-out/")


def verified(user, email):
    from allauth.account.models import EmailAddress

    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)


def test_the_way_to_the_provider_is_a_page_and_needs_no_exception_for_forms(provider):
    page = Client().post(START)
    assert (page.status_code, "form-action 'self';" in page["Content-Security-Policy"] + ";") == (200, True)
    assert f'content="0; url={provider.issuer}/authorize?' in markup(page)


def test_an_identity_that_its_owner_connected_opens_the_account(provider):
    user = make_user(username="lena")
    connect(provider, user, "abc")
    client, back = come_in(provider, sub="abc", email="new@example.org", email_verified=True)
    assert (back["Location"], signed_in(client)) == ("/", "lena")
    assert Event.objects.filter(verb="identity connected", actor=user).exists()
    assert Event.objects.filter(verb="signed in").latest("pk").after["by"] == ["socialaccount"]


def test_an_address_opens_an_account_only_where_both_sides_verified_it(provider):
    lena, otto = make_user(username="lena"), make_user(username="otto", email="otto@example.org")
    verified(lena, "lena@example.org")
    # The attacks: an address that the provider did not check, one that is only written into an account, and a word.
    for claims in (
        {"sub": "1", "email": "lena@example.org", "email_verified": False},
        {"sub": "2", "email": "lena@example.org"},
        {"sub": "3", "email": "lena@example.org", "email_verified": "false"},
        {"sub": "4", "email": otto.email, "email_verified": True},
    ):
        client, page = come_in(provider, **claims)
        assert signed_in(client) is None and "No account belongs to this identity" in markup(page)
    assert User.objects.count() == 2
    client, _back = come_in(provider, sub="5", email="Lena@example.org", email_verified=True)
    assert signed_in(client) == "lena"


def test_nobody_signs_up_without_an_invitation_and_an_invited_person_does_once(provider):
    lab = make_workspace("lab")
    lead = make_user("lead", lab)
    client, page = come_in(provider, sub="ann", preferred_username="ann")
    assert signed_in(client) is None and "No account belongs" in markup(page)
    _invitation, secret = invite(workspace=lab, role="rater", note="Ann", days=7, by=lead, clock=timezone.now)
    address = reverse("accounts:invitation", args=[secret])
    assert f'action="{address}provider/"' in markup(Client().get(address))
    client, _back = come_in(provider, start=f"{address}provider/", sub="ann", preferred_username="ann <b>")
    assert signed_in(client) == "annb@lab"
    assert not User.objects.get(username="annb@lab").has_usable_password()
    assert Membership.objects.get(user__username="annb@lab").role == "rater"
    again, _back = come_in(provider, sub="ann")
    assert signed_in(again) == "annb@lab"
    assert Client().post(f"{address}provider/").status_code == 410


def test_a_second_factor_is_asked_for_after_the_provider_too(provider):
    user = make_user(username="lena")
    connect(provider, user, "abc")
    owner = Client()
    owner.force_login(user)
    set_up_app(owner)
    client, back = come_in(provider, sub="abc")
    assert back["Location"] == "/sign-in/second/" and signed_in(client) is None


def test_a_forged_or_foreign_answer_opens_nothing(provider):
    connect(provider, make_user(username="lena"), "abc")
    client = Client()
    answer = provider.authorize(client.post(START).context["target"], sub="abc")
    # Somebody else's answer in this browser (login CSRF), an answer with another state, and one that was used.
    assert signed_in(_after(Client(), answer)) is None
    assert signed_in(_after(client, {**answer, "state": "forged"})) is None
    provider.userinfo = {"sub": "another"}  # what the token opens is not whom it names
    other = Client()
    assert come_in(provider, other, sub="abc")[1].status_code == 401 and signed_in(other) is None


def _after(client, answer):
    client.get(BACK, answer)
    return client


def test_the_identity_of_one_account_is_not_taken_by_another(provider):
    connect(provider, make_user(username="lena"), "abc")
    mallory = Client()
    mallory.force_login(make_user(username="mallory"))
    come_in(provider, mallory, f"{START}?process=connect", sub="abc")
    client, _back = come_in(provider, sub="abc")
    assert signed_in(client) == "lena"


def test_only_a_form_of_ours_starts_it_and_it_leads_back_only_here(provider):
    client = Client(enforce_csrf_checks=True)
    assert client.post(START).status_code == 403
    asked = client.get(START)  # a page with a form, which goes nowhere by itself
    assert asked.status_code == 200 and provider.issuer not in markup(asked)
    connect(provider, make_user(username="lena"), "abc")
    client, back = come_in(provider, start=f"{START}?next=https://evil.example/", sub="abc")
    assert back["Location"] == "/" and signed_in(client) == "lena"
