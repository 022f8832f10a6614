"""Serving: a worker that ends after a while is replaced; one that cannot begin, or the web server, ends the command."""

import re
import sys

import pytest
from django.core.management import CommandError, call_command

from judging.management.commands import serve

pytestmark = pytest.mark.django_db


def program(script):
    return [sys.executable, "-c", script]


def test_a_worker_that_was_killed_is_replaced(monkeypatch, tmp_path, capfd):
    log = tmp_path / "log"
    monkeypatch.setattr(serve, "QUICK_SECONDS", 1.5)
    monkeypatch.setattr(serve, "_web", lambda *_: program("import time; time.sleep(60)"))
    worker = (
        f"import sys, time, pathlib; log = pathlib.Path({str(log)!r}); log.open('a').write('begun ');"
        "n = log.read_text().count('begun'); n < 3 and time.sleep(2.5); sys.exit(n)"
    )
    monkeypatch.setattr(serve, "_worker", lambda: program(worker))
    # The third does not last, so it is not replaced.
    with pytest.raises(CommandError, match="The worker ended with code 3"):
        call_command("serve")
    assert log.read_text() == "begun begun begun "
    told = re.findall(r"The worker ended with code (\d)", capfd.readouterr().err)
    assert told == ["1", "2"]


def test_without_its_web_server_it_ends(monkeypatch):
    monkeypatch.setattr(serve, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(serve, "_web", lambda *_: program("import sys; sys.exit(7)"))
    monkeypatch.setattr(serve, "_worker", lambda: program("import time; time.sleep(60)"))
    with pytest.raises(CommandError, match="The web server ended with code 7"):
        call_command("serve")
