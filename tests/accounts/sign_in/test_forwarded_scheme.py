"""Whether a visitor came by HTTPS: only a listed proxy may say so."""

import pytest
from django.http import HttpResponse
from django.middleware.security import SecurityMiddleware
from django.test import RequestFactory

from accounts.sign_in.forwarded_scheme import ForwardedSchemeMiddleware


def scheme(settings, proxies, sender, **headers):
    """The scheme that a view sees; `believed` is what the web server made of the connection."""
    settings.TRUSTED_PROXIES = proxies
    believed = headers.pop("believed", "http")
    seen = []
    middleware = ForwardedSchemeMiddleware(lambda request: seen.append(request) or HttpResponse())
    middleware(RequestFactory().get("/", REMOTE_ADDR=sender, **{"wsgi.url_scheme": believed}, **headers))
    assert "HTTP_X_FORWARDED_PROTO" not in seen[0].META
    return seen[0].scheme


def test_a_visitor_cannot_claim_https(settings):
    """The attack: cookies that are sent over HTTPS only are sent in the clear, and no redirect prevents it."""
    claim = {"HTTP_X_FORWARDED_PROTO": "https"}
    assert scheme(settings, [], "203.0.113.7", **claim) == "http"
    assert scheme(settings, ["10.0.0.0/24", "unix"], "203.0.113.7", **claim) == "http"
    assert scheme(settings, ["10.0.0.0/24"], "", **claim) == "http"


@pytest.mark.parametrize("name", ["HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_PROTOCOL", "HTTP_X_FORWARDED_SSL"])
def test_a_web_server_that_believed_the_claim_changes_nothing(settings, name):
    assert scheme(settings, [], "127.0.0.1", believed="https", **{name: "https"}) == "http"


@pytest.mark.parametrize(
    ("said", "expected"),
    [("https", "https"), ("HTTPS ", "https"), ("http", "http"), ("https, http", "http"), ("http, https", "https")],
)
def test_a_listed_proxy_is_believed_in_what_it_wrote_itself(settings, said, expected):
    assert scheme(settings, ["10.0.0.0/24"], "10.0.0.5", HTTP_X_FORWARDED_PROTO=said) == expected
    assert scheme(settings, ["unix"], "", HTTP_X_FORWARDED_PROTO=said, believed="https") == expected


def test_without_the_header_the_connection_decides(settings):
    assert scheme(settings, [], "203.0.113.7", believed="https") == "https"
    assert scheme(settings, ["10.0.0.5"], "10.0.0.5") == "http"


def test_the_operator_is_told_once_of_a_proxy_that_is_not_listed(settings, caplog):
    settings.TRUSTED_PROXIES = []
    middleware = ForwardedSchemeMiddleware(lambda request: HttpResponse())
    for _ in range(3):
        middleware(RequestFactory().get("/", REMOTE_ADDR="10.0.0.5", HTTP_X_FORWARDED_PROTO="https"))
    assert [record.getMessage() for record in caplog.records] == [
        "X-Forwarded-Proto from 10.0.0.5 is not believed, because PLUMBLINE_TRUSTED_PROXIES does not list this proxy."
    ]


def answer(settings, path, proxies, **headers):
    settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS, settings.TRUSTED_PROXIES = True, 3600, proxies
    view = SecurityMiddleware(lambda request: HttpResponse("here"))
    return ForwardedSchemeMiddleware(view)(RequestFactory().get(path, **headers))


def test_pages_are_redirected_to_https_and_the_health_of_a_process_is_not(settings):
    away = answer(settings, "/studies/?q=1", [])
    assert (away.status_code, away["Location"]) == (301, "https://testserver/studies/?q=1")
    for path in ("/health/", "/health/live/", "/health/ready/"):
        assert answer(settings, path, []).content == b"here"
    assert answer(settings, "/studies/health/", []).status_code == 301
    forged = answer(settings, "/studies/", [], HTTP_X_FORWARDED_PROTO="https")
    assert forged.status_code == 301
    through = answer(settings, "/studies/", ["127.0.0.1"], HTTP_X_FORWARDED_PROTO="https")
    assert (through.status_code, through["Strict-Transport-Security"]) == (200, "max-age=3600")
