"""Replies between their coming and their storing: kept in files, found once when their worker has been killed."""

import os
import subprocess
from dataclasses import replace
from decimal import Decimal

import pytest

from generation.execution.leases import new_worker_name
from generation.execution.recovery import store_all_logged, store_logged
from generation.execution.write_ahead_log import (
    LINES_A_FILE,
    LoggedReply,
    LogUnusable,
    WriteAheadLog,
    logs_left_by_others,
    runs_with_logs,
)
from generation.llm.requests import Reply
from generation.models import GenerationRun
from tests.generation.responses.test_sampling import make_benchmark


@pytest.fixture
def folder(settings, tmp_path):
    settings.JOURNAL_DIR = tmp_path / "journal"
    return settings.JOURNAL_DIR


def one(item, text="Yes."):
    return LoggedReply.of(item, Reply(text, "stop", 10, 2, 0.25), Decimal("0.0015"), "hash")


def worker_of_a_dead_process():
    ended = subprocess.Popen(["true"])
    ended.wait()
    place, mine, draw = new_worker_name().split(":")
    assert mine == str(os.getpid())
    return f"{place}:{ended.pid}:{draw}"


def found(run, by=None):
    replies = []
    for left in logs_left_by_others(run, by or new_worker_name()):
        replies += left.replies
        left.delete()
    return replies


def test_what_is_stored_leaves_no_file(folder):
    log = WriteAheadLog("run", new_worker_name())
    for item in (1, 2):
        log.append(one(item))
    assert len(list(folder.iterdir())) == 1
    log.stored([1, 2])
    log.close()
    assert not list(folder.iterdir())


def test_a_run_without_a_reply_writes_nothing(folder):
    WriteAheadLog("run", new_worker_name()).close()
    assert not folder.exists()
    assert not list(logs_left_by_others("run", new_worker_name()))
    assert runs_with_logs() == set()


def test_a_full_file_goes_while_the_worker_goes_on(folder):
    log = WriteAheadLog("run", new_worker_name())
    for item in range(LINES_A_FILE + 1):
        log.append(one(item))
    assert len(list(folder.iterdir())) == 2
    log.stored(range(LINES_A_FILE))
    assert len(list(folder.iterdir())) == 1
    log.stored([LINES_A_FILE])
    log.close()
    assert not list(folder.iterdir())


def test_an_item_with_two_replies_needs_both_of_them_stored(folder):
    log = WriteAheadLog("run", worker_of_a_dead_process())
    log.append(one(1, "first"))
    log.stored([1])
    log.append(one(1, "second"))
    log.close()
    assert [kept.text for kept in found("run")] == ["first", "second"]


def test_what_a_dead_worker_kept_is_found_whole_and_once(folder):
    log = WriteAheadLog("run", worker_of_a_dead_process())
    text = "a\\nb \\u4f60 \\ud800 \\x00" + "\n"
    log.append(one(7, text))
    assert runs_with_logs() == {"run"}
    (kept,) = found("run")
    assert kept == one(7, text)
    assert kept.reply == Reply(text, "stop", 10, 2, 0.25)
    assert (kept.cost, kept.request_hash) == ("0.0015", "hash")
    assert found("run") == []


def test_what_a_worker_leaves_unstored_is_found_though_its_process_lives(folder):
    log = WriteAheadLog("run", new_worker_name())
    for item in (1, 2):
        log.append(one(item))
    log.stored([1])
    assert found("run") == []
    log.close()
    taken, *others = logs_left_by_others("run", new_worker_name())
    assert not others and [kept.item for kept in taken.replies] == [1, 2]
    taken.put_back()
    assert [kept.item for kept in found("run")] == [1, 2]
    log.append(one(3))
    assert found("run") == []
    log.stored([3])
    log.close()
    assert not list(folder.iterdir())


def test_a_living_worker_and_another_run_keep_theirs(folder):
    WriteAheadLog("run", new_worker_name()).append(one(1))
    WriteAheadLog("other", worker_of_a_dead_process()).append(one(2))
    WriteAheadLog("run", new_worker_name().replace(new_worker_name()[:4], "else", 1)).append(one(3))
    assert found("run") == []


def test_of_two_that_take_over_one_gets_the_file_and_its_own_death_loses_nothing(folder):
    WriteAheadLog("run", worker_of_a_dead_process()).append(one(1))
    killed = worker_of_a_dead_process()
    first = logs_left_by_others("run", killed)
    assert len(next(first).replies) == 1  # and is killed before it has stored them
    assert [kept.item for kept in found("run")] == [1]


def test_a_line_cut_off_by_the_kill_is_left_out(folder):
    log = WriteAheadLog("run", worker_of_a_dead_process())
    for item in (1, 2):
        log.append(one(item))
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    assert [kept.item for kept in found("run")] == [1]


@pytest.mark.parametrize(("part", "value"), [("text", {"a": 1}), ("item", "1"), ("seconds", None), ("cost", 3)])
def test_a_line_of_another_shape_is_left_out(folder, part, value):
    log = WriteAheadLog("run", worker_of_a_dead_process())
    log.append(one(1))
    log.append(replace(one(2), **{part: value}))
    assert [kept.item for kept in found("run")] == [1]


def test_what_could_not_be_stored_is_there_for_whoever_asks_next(folder):
    WriteAheadLog("run", worker_of_a_dead_process()).append(one(1))
    run = GenerationRun(public_id="run")

    def broken(_run, _replies):
        raise RuntimeError("the database is gone")

    with pytest.raises(RuntimeError):
        store_logged(run, broken)
    assert store_logged(run, lambda _run, replies: len(replies)) == 1
    assert not list(folder.iterdir())


@pytest.mark.django_db
def test_a_run_whose_replies_cannot_be_stored_holds_no_other_up(folder, caplog):
    benchmark = make_benchmark(1)
    runs = [GenerationRun.objects.create(benchmark=benchmark, name=name) for name in ("first", "second")]
    for run in runs:
        WriteAheadLog(run.public_id, worker_of_a_dead_process()).append(one(1))
    stored = []

    def store(run, replies):
        if run == runs[0]:
            raise RuntimeError("it cannot be stored")
        stored.append(run.name)
        return len(replies)

    store_all_logged(GenerationRun, store)
    assert stored == ["second"]
    assert f"GenerationRun {runs[0]} is left for the next sweep" in caplog.text
    assert runs_with_logs() == {runs[0].public_id}


def test_a_line_broken_off_by_a_full_disk_costs_no_other_and_is_told(folder, monkeypatch):
    log = WriteAheadLog("run", worker_of_a_dead_process())
    log.append(one(1))
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, line: write(file, line[:20]))
        with pytest.raises(LogUnusable, match=r"The disk of the folder .* is full\."):
            log.append(one(2))
    log.append(one(3))
    assert [kept.item for kept in found("run")] == [1, 3]


def test_a_folder_that_cannot_be_used_is_named_with_what_to_do(folder):
    folder.parent.joinpath("journal").write_text("a file where the folder should be")
    with pytest.raises(LogUnusable, match=r"journal, where replies are kept .* make it writable"):
        WriteAheadLog("run", new_worker_name()).append(one(1))
