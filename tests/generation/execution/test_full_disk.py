"""A full disk pauses a run with its reason; it goes on by itself when there is room, and nothing is paid for twice."""

import errno
import os
import shutil
import subprocess

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone

from core.db import full_disk
from core.web.busy_database import without_database
from generation.execution import states, write_ahead_log
from generation.execution.states import check_room, stopping_at_faults
from generation.execution.worker import WorkerOptions
from generation.llm.scripted import ScriptedChat
from generation.models import GenerationRun, Response
from generation.responses.runs import start_run
from generation.responses.worker import work_on
from generation.tasks import sweep
from tests.generation.responses.test_sampling import make_benchmark, make_model, make_run

pytestmark = pytest.mark.django_db
ONE = WorkerOptions(concurrency=1)
FULL = "is full. The run continues by itself once there is space."


@pytest.fixture
def sent(monkeypatch):
    found = []
    monkeypatch.setattr("generation.tasks.work.delay", found.append)
    return found


@pytest.fixture
def run(settings):
    class Nowhere:
        base_url = "http://127.0.0.1:9/v1"

    settings.DISK_FREE = 0
    return make_run(make_benchmark(6), make_model(Nowhere, "m"))


class Counting:
    def __init__(self):
        self.asked = []

    def chat(self, model):
        def reply(request):
            self.asked.append(str(request.messages))
            return "A text."

        return ScriptedChat(reply)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 512 KB in memory, where this process may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount") or "mount"
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this process may not mount a small disk; the same is played below with the system's error")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_run_whose_journal_has_no_room_waits_and_goes_on_by_itself(run, small_disk, settings, sent, monkeypatch):
    settings.JOURNAL_DIR = small_disk
    filler = small_disk / "filler"
    monkeypatch.setattr(states, "log_has_room", lambda: True)  # it is full only once the run is under way
    file = os.open(filler, os.O_WRONLY | os.O_CREAT)
    while os.statvfs(small_disk).f_bfree:
        os.write(file, b"\0" * 4096)
    os.close(file)
    replies = Counting()
    run = work_on(run, chat_for=replies.chat, options=ONE)
    assert run.status == GenerationRun.Status.PAUSED and run.message.endswith(FULL)
    paid = Response.objects.count()
    assert len(replies.asked) == paid  # what had come in is stored all the same
    monkeypatch.undo()
    monkeypatch.setattr("generation.tasks.work.delay", sent.append)
    sweep()
    run.refresh_from_db()
    assert run.status == GenerationRun.Status.PAUSED and sent == []
    filler.unlink()
    sweep()
    run.refresh_from_db()
    assert (run.status, run.message, sent) == ("running", "", [run.pk])
    assert work_on(run, chat_for=replies.chat).status == "finished"
    assert len(replies.asked) == len(set(replies.asked)) == Response.objects.count() == 6


def test_the_systems_error_pauses_and_any_other_fails(run, monkeypatch):
    for code, status in ((errno.EDQUOT, "paused"), (errno.EIO, "failed")):

        def write(*_arguments, code=code):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(write_ahead_log.os, "write", write)
        run = work_on(run, chat_for=Counting().chat, options=ONE)
        assert run.status == status and (run.message.endswith(FULL)) == (status == "paused")
        start_run(run, clock=timezone.now)


def test_no_call_is_made_where_its_reply_could_not_be_kept(run, settings):
    settings.DISK_FREE = 10**12
    replies = Counting()
    run = work_on(run, chat_for=replies.chat)
    assert run.status == "paused" and replies.asked == []


def full_database():
    """Have the database itself say that it is full."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$")
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        try:
            cursor.execute("CREATE TABLE filler AS SELECT zeroblob(1000000) AS z")
        finally:
            cursor.execute("PRAGMA max_page_count = 1073741823")


def test_a_database_without_room_pauses_the_run(run):
    with stopping_at_faults(run, clock=timezone.now):
        full_database()
    run.refresh_from_db()
    assert run.status == "paused" and run.message == "The disk of the database " + FULL


def test_where_not_even_the_reason_fits_the_run_is_left_to_the_sweep(run, monkeypatch):
    def refuse(*_arguments, **_options):
        raise DatabaseError("full")

    monkeypatch.setattr(states, "pause_run", refuse)
    with pytest.raises(OperationalError), stopping_at_faults(run, clock=timezone.now):
        full_database()
    run.refresh_from_db()
    assert run.status == "running"


@pytest.mark.parametrize("path", ["/", "/api/v1/studies/"])
def test_a_page_says_that_there_is_no_room(rf, path):
    for fault in (full_database, lambda: os.write(os.open("/dev/full", os.O_WRONLY), b"x")):
        with pytest.raises((OperationalError, OSError)) as raised:
            fault()
        answer = without_database(rf.get(path), raised.value)
        assert answer.status_code == 503 and b"space left" in answer.content and answer["Retry-After"]


def test_room_is_seen_by_writing(tmp_path, settings, monkeypatch):
    settings.DISK_FREE, settings.JOURNAL_DIR = 0, tmp_path
    assert full_disk.has_room(tmp_path) and not list(tmp_path.iterdir())
    check_room()

    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(full_disk.tempfile, "NamedTemporaryFile", full)
    assert not full_disk.has_room(tmp_path)
