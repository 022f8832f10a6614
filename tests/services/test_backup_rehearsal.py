"""A lab grows from SQLite to PostgreSQL and goes back, while it writes: every export is the same by hash at each step."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import threading
import zipfile
from contextlib import closing

import psycopg
import pytest

from tests.services.test_runs import ROOT, database  # noqa: F401

pytestmark = pytest.mark.services


def manage(folder, address, *command):
    environment = {**os.environ, "PLUMBLINE_DATA_DIR": str(folder), "DATABASE_URL": address}
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def members(path):
    """The hash of each file of an export; PostgreSQL does not keep the order of keys in JSON."""
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    for name, content in found.items():
        if name.startswith("fits/") or name == "reports.jsonl":
            lines = [json.dumps(json.loads(line), sort_keys=True) for line in content.splitlines()]
            found[name] = "\n".join(lines).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


def exported(folder, address, name):
    path = folder / f"{name}.zip"
    manage(folder, address, "export", "demo", "--to", str(path))
    return members(path)


def pairs_of_rows(address, stop):
    """Write two rows in every transaction until told to stop."""
    on_postgres = address.startswith("postgres")
    connection = psycopg.connect(address) if on_postgres else sqlite3.connect(address.removeprefix("sqlite:///"), 20)
    statement = f"INSERT INTO auth_group (name) VALUES ({'%s' if on_postgres else '?'})"
    number = 0
    while not stop.is_set():
        for half in "ab":
            connection.execute(statement, [f"written meanwhile {address[:6]} {number} {half}"])
        connection.commit()
        number += 1
        stop.wait(0.005)
    connection.close()
    assert number > 10


def saved_while_written(folder, address, path):
    """Back up while another program writes, and return the manifest."""
    stop = threading.Event()
    failed = []

    def write():
        try:
            pairs_of_rows(address, stop)
        except Exception as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        manage(folder, address, "backup", str(path))
    finally:
        stop.set()
        writer.join()
    assert failed == []
    with tarfile.open(path) as tar:
        return json.load(tar.extractfile("manifest.json"))


def refuses_changes(address, statement):
    """Run a statement on the rows that are a record, which a trigger must refuse."""
    if address.startswith("postgres"):
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"), psycopg.connect(address) as connection:
            connection.execute(statement)
    else:
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as connection:
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
            connection.rollback()


def test_every_export_is_the_same_after_each_restore(tmp_path, database):  # noqa: F811
    first, second = f"sqlite:///{tmp_path / 'first.sqlite3'}", f"sqlite:///{tmp_path / 'second.sqlite3'}"
    manage(tmp_path, first, "demo", "--no-serve")
    before = exported(tmp_path, first, "before")
    assert len(before) > 10
    hashes = []
    for number, (source, target) in enumerate([(first, database), (database, second)]):
        path = tmp_path / f"backup{number}.tar"
        manifest = saved_while_written(tmp_path, source, path)
        assert manifest["tables"]["auth_group"]["count"] % 2 == 0
        hashes.append({name: one["hash"] for name, one in manifest["tables"].items() if name != "auth_group"})
        said = manage(tmp_path / f"data{number}", target, "restore", str(path))
        assert "counts and hashes agree" in said
        assert exported(tmp_path, target, f"after{number}") == before
        refuses_changes(target, "UPDATE annotation_score SET value = 0")
    assert hashes[0] == hashes[1]
