"""Readers of variables that stop the start: weak secrets, and variables that nothing reads."""

import re
import string
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import environment

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (ROOT / "config" / "settings.py", ROOT / "config" / "identity.py")
GOOD = string.ascii_letters[:50]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("short", "fewer than 40 characters"),
        ("", "fewer than 40 characters"),
        ("abcabdd" * 8, "fewer than 8 different characters"),
        ("0123456789" * 5, "it repeats itself"),
        ("django-insecure-" + GOOD, "the key of a new Django project"),
        ("for-one-machine-only-" + "0" * 40, "the key of local mode"),
        ("Replace-this-" + GOOD, "the example of the documentation"),
    ],
)
def test_a_secret_that_can_be_guessed_is_refused(monkeypatch, word, reason):
    monkeypatch.setenv("PLUMBLINE_SECRET_KEY", word)
    with pytest.raises(ImproperlyConfigured, match=f"PLUMBLINE_SECRET_KEY is invalid: .*{reason}.*; set it to what"):
        environment.secret("PLUMBLINE_SECRET_KEY")


def test_a_secret_of_random_characters_is_taken(monkeypatch):
    monkeypatch.setenv("PLUMBLINE_SECRET_KEY", GOOD)
    assert environment.secret("PLUMBLINE_SECRET_KEY") == GOOD
    monkeypatch.delenv("PLUMBLINE_SECRET_KEY")
    assert environment.secret("PLUMBLINE_SECRET_KEY", default="local") == "local"


def test_every_example_of_a_secret_in_the_documents_is_refused(monkeypatch):
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    examples = [one for page in pages for one in re.findall(r"PLUMBLINE_SECRET_KEY=([^\s`$]+)", page.read_text())]
    assert examples
    for example in examples:
        monkeypatch.setenv("PLUMBLINE_SECRET_KEY", example)
        with pytest.raises(ImproperlyConfigured):
            environment.secret("PLUMBLINE_SECRET_KEY")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("PLUMBLINE_ALLOWED_HOST", "did you mean PLUMBLINE_ALLOWED_HOSTS?"),
        ("PLUMBLINE_TRUSTED_PROXY", "did you mean PLUMBLINE_TRUSTED_PROXIES?"),
        ("plumbline_mode", "did you mean PLUMBLINE_MODE?"),
        ("PLUMBLINE_QQQQQQ_XXXXXXX_ZZZZ", "remove it."),
        ("PLUMBLINE_REPORT", "There is no setting PLUMBLINE_REPORT"),
    ],
)
def test_a_variable_that_nothing_reads_stops_the_start(monkeypatch, name, near):
    monkeypatch.setenv(name, "1")
    with pytest.raises(ImproperlyConfigured, match=re.escape(near)):
        environment.refuse_unknown(*SETTINGS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLUMBLINE_SERVICE_HOST", "10.0.0.1"),
        ("PLUMBLINE_SERVICE_PORT", "80"),
        ("PLUMBLINE_SERVICE_PORT_HTTP", "80"),
        ("PLUMBLINE_PORT", "tcp://10.0.0.1:80"),
        ("PLUMBLINE_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("PLUMBLINE_WEB_SERVICE_HOST", "10.0.0.1"),
        ("PLUMBLINE_WEB_SERVICE_PORT", "80"),
        ("PLUMBLINE_DB_PORT", "tcp://10.0.0.1:5432"),
        ("PLUMBLINE_DB_PORT_5432_TCP_PROTO", "tcp"),
    ],
)
def test_what_kubernetes_and_container_links_set_is_ignored(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    environment.refuse_unknown(*SETTINGS)


def test_a_variable_that_is_read_anywhere_or_named_in_the_settings_is_known(monkeypatch, tmp_path):
    source = tmp_path / "settings.py"
    source.write_text('if OTHER:\n    A = environment.text("PLUMBLINE_ONLY_BESIDE_ANOTHER")\n')
    monkeypatch.setattr(environment, "_read", set())
    for name in ("PLUMBLINE_BIND", "PLUMBLINE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLUMBLINE_ONLY_BESIDE_ANOTHER", "1")
    monkeypatch.setenv("PLUMBLINE_READ_ELSEWHERE", "1")
    with pytest.raises(ImproperlyConfigured, match="PLUMBLINE_READ_ELSEWHERE"):
        environment.refuse_unknown(source)
    environment.text("PLUMBLINE_READ_ELSEWHERE")
    environment.refuse_unknown(source)


def test_every_setting_stands_in_the_table_of_the_operators_and_no_other():
    page = (ROOT / "docs" / "operations.md").read_text()
    listed = set(re.findall(r"^\| `(PLUMBLINE_[A-Z0-9_]+)`", page, re.MULTILINE))
    assert listed == {name for file in SETTINGS for name in environment.NAMES.findall(file.read_text())}
