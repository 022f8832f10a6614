"""Each request has an id and a line in the log, and no log holds what would let a reader of it in."""

import json
import logging

import pytest
from django.core.exceptions import PermissionDenied

from config import home
from config.observability import logs
from config.observability.reporting import without_people
from config.observability.secrets_in_paths import masked
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
TOKEN = "s3cretTokenOfAnInvitationXYZ-0123456789"


@pytest.fixture
def lines(caplog):
    """What the console would get, as text."""
    handler_filter, formatter = logs.WithoutSecrets(), logs.Json("%(message)s")
    logging.getLogger("plumbline.access").setLevel(logging.INFO)

    def written():
        for record in caplog.records:
            handler_filter.filter(record)
        return [json.loads(formatter.format(record)) for record in caplog.records]

    with caplog.at_level(logging.INFO):
        yield written


def test_an_id_is_made_and_given_back_and_a_strangers_is_not_believed(client):
    answer = client.get("/sign-in/", headers={"X-Request-ID": "chosen-by-anybody"})
    assert len(answer["X-Request-ID"]) == 16
    assert client.get("/sign-in/")["X-Request-ID"] != answer["X-Request-ID"]


def test_the_id_of_a_listed_proxy_is_kept_if_it_is_one(client, settings):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert client.get("/sign-in/", headers={"X-Request-ID": "a1b2-c3"})["X-Request-ID"] == "a1b2-c3"
    for bad in ("a b", "x" * 65, "a\\nb", "{}"):
        assert len(client.get("/sign-in/", headers={"X-Request-ID": bad})["X-Request-ID"]) == 16


@pytest.mark.parametrize("path", ["/join/%s/", "/invitation/%s/", "/no-such-page/%s/", "/join/%s/more/"])
def test_no_log_holds_the_token_of_a_link(client, lines, path):
    client.get(path % TOKEN + "?token=" + TOKEN)
    written = lines()
    assert any(line["logger"] == "plumbline.access" for line in written)
    assert TOKEN not in json.dumps(written)
    assert "***" in json.dumps(written)


def test_a_line_says_what_was_asked_and_how_long_it_took(client, lines):
    make_user()
    answer = client.get("/sign-in/?next=/somewhere/private/")
    line = next(line for line in lines() if line["logger"] == "plumbline.access")
    assert (line["method"], line["path"], line["status"]) == ("GET", "/sign-in/", 200)
    assert line["milliseconds"] >= 0 and "private" not in json.dumps(line)
    assert answer["X-Request-ID"]


def test_health_checks_fill_no_log(client, lines):
    client.get("/health/live/")
    assert not lines()


def test_a_refusal_has_no_traceback_and_a_fault_has(client, lines, monkeypatch):
    client.raise_request_exception = False
    client.force_login(make_user("lead", make_workspace()))

    def refuse(*_arguments, **_options):
        raise PermissionDenied

    def fail(*_arguments, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr(home, "render", refuse)
    assert client.get("/").status_code == 403
    assert "Traceback" not in json.dumps(lines())
    monkeypatch.setattr(home, "render", fail)
    assert client.get("/").status_code == 500
    assert "ZeroDivisionError" in json.dumps(lines())


def test_paths_are_masked_by_name_and_by_shape():
    assert masked("/join/abc/") == "/join/***/"
    assert masked("/studies/essays/desk/") == "/studies/essays/desk/"
    assert masked("/x/" + TOKEN) == "/x/***"
    assert masked("/a\r\nforged line") == "/aforged line"


def test_a_report_of_a_fault_says_nothing_of_people():
    event = {
        "user": {"id": 1, "ip_address": "10.0.0.1"},
        "server_name": "host",
        "request": {
            "method": "POST",
            "url": f"https://rate.example/join/{TOKEN}/?a=secret",
            "cookies": {"sessionid": "s"},
            "headers": {"Authorization": "Bearer t"},
            "data": {"note": "private words"},
            "env": {"REMOTE_ADDR": "10.0.0.1"},
        },
        "breadcrumbs": {"values": [{"message": "private words"}]},
        "extra": {"sys.argv": ["private words"]},
        "exception": {
            "values": [
                {
                    "type": "ValueError",
                    "value": "private words",
                    "stacktrace": {"frames": [{"function": "f", "vars": {"password": "private words"}}]},
                }
            ]
        },
    }
    left = json.dumps(without_people(event, {}))
    for secret in (TOKEN, "private words", "10.0.0.1", "sessionid", "Bearer", "secret"):
        assert secret not in left
    assert "ValueError" in left and "/join/***/" in left and '"f"' in left
