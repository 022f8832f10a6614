"""Settings stop the start on nonsense, naming the variable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SECRET = "kD93-xY_27qLmZpA0vTfUe5WcRbNhGs1iJo4"[::-1] + "kD93-xY_27qLmZ"


def start(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", "from django.conf import settings; print(settings.DATABASES['default']['ENGINE'])"],
        cwd=ROOT,
        env=kept | {"DJANGO_SETTINGS_MODULE": "config.settings", "PLUMBLINE_DATA_DIR": str(folder)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_need_be_set(tmp_path):
    done = start(tmp_path / "new")
    assert done.stdout.strip() == "django.db.backends.sqlite3", done.stderr
    assert (tmp_path / "new" / "broker").is_dir()


def test_an_address_chooses_postgresql(tmp_path):
    done = start(tmp_path, DATABASE_URL="postgres://someone@db.example:5432/plumbline")
    assert done.stdout.strip() == "django.db.backends.postgresql", done.stderr


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"PLUMBLINE_MODE": "staging"}, "PLUMBLINE_MODE='staging' is invalid; set it to one of: local, production"),
        ({"PLUMBLINE_DEBUG": "maybe"}, "PLUMBLINE_DEBUG='maybe' is neither true nor false"),
        ({"PLUMBLINE_SWEEP_SECONDS": "-3"}, "PLUMBLINE_SWEEP_SECONDS='-3' is invalid; set it to a whole number"),
        ({"DATABASE_URL": "mongodb://db"}, "DATABASE_URL must begin with"),
        ({"REDIS_URL": "amqp://queue"}, "REDIS_URL must begin with"),
        ({"PLUMBLINE_MODE": "production"}, "PLUMBLINE_SECRET_KEY is invalid"),
        ({"PLUMBLINE_MODE": "production", "PLUMBLINE_SECRET_KEY": SECRET}, "set PLUMBLINE_ALLOWED_HOSTS"),
        ({"DATABASE_URL": "postgres://someone@db:port/x"}, "DATABASE_URL is invalid; write it as"),
        ({"PLUMBLINE_DATA_DIR": "/dev/null/x"}, "PLUMBLINE_DATA_DIR='/dev/null/x' cannot be created"),
        ({"PLUMBLINE_LOG_LEVEL": "loud"}, "PLUMBLINE_LOG_LEVEL='loud' is invalid; set it to one of: debug"),
        ({"PLUMBLINE_TRUSTED_PROXIES": "10.0.0.5, nginx"}, "or the word 'unix'."),
        (
            {"PLUMBLINE_TRUSTED_PROXIES": "10.0.0.5/24"},
            "PLUMBLINE_TRUSTED_PROXIES contains '10.0.0.5/24', which is not valid",
        ),
        ({"PLUMBLINE_MODEL_HOSTS": "http://10.0.0.5"}, "PLUMBLINE_MODEL_HOSTS: 'http://10.0.0.5' is neither a name"),
        ({"PLUMBLINE_MODEL_KEYS": "OPENAI_API_KEY"}, "PLUMBLINE_MODEL_KEYS: 'OPENAI_API_KEY' is not of the form"),
        ({"PLUMBLINE_MODEL_KEYS": "REDIS_URL@a.example/all"}, "REDIS_URL belongs to Plumbline itself"),
        ({"PLUMBLINE_SCRIPT_DIR": "/nowhere/at/all"}, "PLUMBLINE_SCRIPT_DIR='/nowhere/at/all' is not a folder"),
        ({"PLUMBLINE_LANGUAGE": "fr"}, "PLUMBLINE_LANGUAGE='fr' is invalid; set it to one of: en, zh-hans"),
        ({"PLUMBLINE_TOKEN_DAYS": "400"}, "PLUMBLINE_TOKEN_DAYS=400 exceeds PLUMBLINE_TOKEN_DAYS_MOST=365"),
        ({"PLUMBLINE_HSTS_SECONDS": "a year"}, "PLUMBLINE_HSTS_SECONDS='a year' is invalid"),
        ({"PLUMBLINE_REDIRECT_HTTPS": "0"}, "no setting PLUMBLINE_REDIRECT_HTTPS; did you mean PLUMBLINE_REDIRECT_TO"),
        ({"PLUMBLINE_NONSENSE_OF_SOME_KIND": "0"}, "There is no setting PLUMBLINE_NONSENSE_OF_SOME_KIND;"),
    ],
)
def test_nonsense_stops_the_start(tmp_path, variables, named):
    done = start(tmp_path, **variables)
    assert done.returncode != 0
    assert named in done.stderr


LOCAL = {"PLUMBLINE_BIND": "127.0.0.1:8000"}
PRODUCTION = {"PLUMBLINE_MODE": "production", "PLUMBLINE_SECRET_KEY": SECRET, "PLUMBLINE_ALLOWED_HOSTS": "localhost"}


@pytest.mark.parametrize(
    ("variables", "alone"),
    [
        (LOCAL, True),
        ({"PLUMBLINE_BIND": "localhost"}, True),
        ({"PLUMBLINE_BIND": "[::1]:8000"}, True),
        # What listens is not known.
        ({}, False),
        ({"PLUMBLINE_BIND": "0.0.0.0:8000"}, False),
        ({"PLUMBLINE_BIND": "192.168.1.5"}, False),
        ({"PLUMBLINE_BIND": "unix:/run/plumbline.sock"}, False),
        # A proxy in front answers others under another name.
        ({**LOCAL, "PLUMBLINE_ALLOWED_HOSTS": "localhost,rate.example"}, False),
        ({**LOCAL, "PLUMBLINE_ALLOWED_HOSTS": "*"}, False),
        ({**LOCAL, "PLUMBLINE_TRUSTED_ORIGINS": "https://rate.example"}, False),
        ({**LOCAL, **PRODUCTION}, False),
    ],
)
def test_only_a_local_server_on_loopback_is_one_persons_own_machine(tmp_path, variables, alone):
    done = subprocess.run(
        [sys.executable, "-c", "from django.conf import settings; print(settings.ON_LOOPBACK)"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings"}
        | {"PLUMBLINE_DATA_DIR": str(tmp_path)}
        | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(alone)


def test_a_command_in_a_shell_is_one_persons_own_machine_in_local_mode(tmp_path):
    show = ("shell", "--no-imports", "-c", "from django.conf import settings as s; print(s.ON_LOOPBACK)")
    assert command(tmp_path, *show).stdout.strip() == "True"
    assert command(tmp_path, *show, **PRODUCTION).stdout.strip() == "False"
    assert command(tmp_path, *show, PLUMBLINE_BIND="0.0.0.0").stdout.strip() == "False"


def test_production_sends_cookies_over_https_only(tmp_path):
    script = "from django.conf import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PLUMBLINE_DATA_DIR": str(tmp_path),
            "PLUMBLINE_MODE": "production",
            "PLUMBLINE_SECRET_KEY": SECRET,
            "PLUMBLINE_ALLOWED_HOSTS": "rate.example",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[:2] == ["True", "True"]


def command(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=kept | {"PLUMBLINE_DATA_DIR": str(folder)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"DATABASE_URL": "nonsense"}, "DATABASE_URL must begin with sqlite:// or postgres:// or postgresql://."),
        ({}, "migrations to apply; run `manage.py migrate` first."),
        ({"DATABASE_URL": "sqlite:////dev/null/x.sqlite3"}, "check DATABASE_URL and that its server runs."),
        ({"DATABASE_URL": "postgres://u@127.0.0.1:9/x"}, "check DATABASE_URL and that its server runs."),
    ],
)
def test_a_command_that_cannot_start_says_why_in_one_sentence(tmp_path, variables, said):
    done = command(tmp_path, "report_agreement", "essays", **variables)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.strip().endswith(said)
    assert done.stderr.count("\n") == 1
    assert "Traceback" in command(tmp_path, "report_agreement", "essays", "--traceback", **variables).stderr
