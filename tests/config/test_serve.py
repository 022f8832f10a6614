"""Serving: a worker that ends after a while is replaced; one that cannot begin, or the web server, ends the command."""

import re
import sys

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.management.commands import serve

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
    monkeypatch.setattr(serve, "_workers", lambda: {"worker of runs": program(worker)})
    # The third does not last, so it is not replaced.
    with pytest.raises(CommandError, match="The worker of runs ended with code 3"):
        call_command("serve")
    assert log.read_text() == "begun begun begun "
    told = re.findall(r"The worker of runs ended with code (\d)", capfd.readouterr().err)
    assert told == ["1", "2"]


def test_without_its_web_server_it_ends(monkeypatch):
    monkeypatch.setattr(serve, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(serve, "_web", lambda *_: program("import sys; sys.exit(7)"))
    monkeypatch.setattr(serve, "_workers", lambda: {"worker of runs": program("import time; time.sleep(60)")})
    with pytest.raises(CommandError, match="The web server ended with code 7"):
        call_command("serve")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_both_programs_are_told_what_the_server_listens_on(monkeypatch, tmp_path, host):
    """Also where the variable says otherwise: what is passed on is what is so."""
    monkeypatch.setenv("PLUMBLINE_BIND", "localhost")
    write = "import os, sys, pathlib; pathlib.Path({!r}).write_text(os.environ['PLUMBLINE_BIND']); sys.exit({})"
    monkeypatch.setattr(serve, "QUICK_SECONDS", 60.0)
    worker = write.format(str(tmp_path / "worker"), 0) + "; import time; time.sleep(60)"
    monkeypatch.setattr(serve, "_workers", lambda: {"worker of runs": program(worker.replace("sys.exit(0)", "0"))})
    web = f"import time; [time.sleep(0.1) for _ in range(100) if not os.path.exists({str(tmp_path / 'worker')!r})]"
    monkeypatch.setattr(
        serve, "_web", lambda *_: program(f"import os; {web}; " + write.format(str(tmp_path / "web"), 7))
    )
    with pytest.raises(CommandError, match="The web server ended with code 7"):
        call_command("serve", "--host", host)
    assert (tmp_path / "web").read_text() == (tmp_path / "worker").read_text() == host


@pytest.mark.parametrize(("tables", "made"), [([], ["migrate"]), (["django_migrations"], [])])
def test_a_database_is_made_where_there_is_none_and_not_changed_where_there_is_one(monkeypatch, capsys, tables, made):
    """What another version left is refused with a sentence by the first query, as in every command."""
    called = []
    monkeypatch.setattr(serve, "call_command", lambda name, **_options: called.append(name))
    monkeypatch.setattr(type(connection.introspection), "table_names", lambda *_args, **_options: tables)
    monkeypatch.setattr(serve, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(serve, "_web", lambda *_: program("import sys; sys.exit(7)"))
    with pytest.raises(CommandError, match="The web server ended with code 7"):
        call_command("serve", "--without-worker")
    assert called == made
    assert ("Making a new database" in capsys.readouterr().out) == bool(made)
