"""The files of the write-ahead log: none stays open, a failure of one does not end the log, none replaces another."""

import errno
import os

import pytest

from generation.execution import write_ahead_log as write_ahead_log
from generation.execution.leases import new_worker_name
from generation.execution.write_ahead_log import LogUnusable, WriteAheadLog, logs_left_by_others
from tests.generation.execution.test_write_ahead_log import folder, one, worker_of_a_dead_process  # noqa: F401 - a fixture


@pytest.fixture
def opened(monkeypatch):
    """A file a line, and the descriptors of all that were opened."""
    descriptors, open_ = [], os.open

    def noting(*given, **named):
        descriptors.append(open_(*given, **named))
        return descriptors[-1]

    monkeypatch.setattr(write_ahead_log, "LINES_A_FILE", 1)
    monkeypatch.setattr(write_ahead_log.os, "open", noting)
    return descriptors


def test_a_run_of_many_files_keeps_one_of_them_open(folder, opened):  # noqa: F811
    log = WriteAheadLog("run", new_worker_name())
    for item in range(4):
        log.append(one(item))
    assert len(opened) == len(list(folder.iterdir())) == 4
    assert len(set(opened)) == 1, "the lowest free descriptor is given out again, once it was closed"
    log.close()


def test_after_a_file_that_could_not_be_made_the_next_one_is_written(folder, opened, monkeypatch):  # noqa: F811
    log = WriteAheadLog("run", worker_of_a_dead_process())
    log.append(one(1))

    def full(*_given, **_named):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(write_ahead_log.os, "open", full)
        with pytest.raises(LogUnusable, match="The disk of the folder"):
            log.append(one(2))
    log.append(one(3))
    log.close()
    left = list(logs_left_by_others("run", new_worker_name()))
    assert sorted(kept.item for each in left for kept in each.replies) == [1, 3]


def test_what_several_dead_workers_kept_is_taken_over_side_by_side(folder):  # noqa: F811
    for item in (1, 2, 3):
        WriteAheadLog("run", worker_of_a_dead_process()).append(one(item))
    left = list(logs_left_by_others("run", new_worker_name()))
    assert len({each.path for each in left}) == len(list(folder.iterdir())) == 3
    for each in left:
        each.put_back()
    again = logs_left_by_others("run", new_worker_name())
    assert sorted(kept.item for each in again for kept in each.replies) == [1, 2, 3]
