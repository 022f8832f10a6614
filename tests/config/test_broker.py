"""Messages as files: none is read before it is whole, and none that is broken ends the worker."""

import os
import time
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from config import broker


@pytest.fixture
def channel(tmp_path):
    options = {
        "data_folder_in": str(tmp_path / "in"),
        "data_folder_out": str(tmp_path / "in"),
        "control_folder": str(tmp_path / "control"),
    }
    (tmp_path / "in").mkdir()
    with Connection("files://", transport_options=options) as connection:
        yield connection.channel()


def test_a_folder_needs_no_host(channel, caplog):
    assert channel.connection.client.clone().info()["hostname"] is None
    assert "hostname" not in caplog.text


def test_messages_come_as_they_were_sent_and_once(channel):
    assert type(channel) is broker.Channel
    for number in range(3):
        channel._put("celery", {"body": f"第 {number}"})
        # Their names are in order of the millisecond.
        time.sleep(0.002)
    channel._put("other", {"body": "elsewhere"})
    assert [channel._get("celery")["body"] for _ in range(3)] == ["第 0", "第 1", "第 2"]
    with pytest.raises(Empty):
        channel._get("celery")
    assert channel._get("other") == {"body": "elsewhere"}


@pytest.mark.parametrize("seconds", [[9.5, 10.5], [99_999.5, 100_000.5], [1_999_999_999.5, 2_000_000_000.5]])
def test_order_holds_where_the_clock_gains_a_digit(channel, monkeypatch, seconds):
    for moment in seconds:
        monkeypatch.setattr(broker.time, "time_ns", lambda moment=moment: int(moment * 1_000_000_000))
        monkeypatch.setattr(broker.time, "monotonic", lambda moment=moment: moment)
        channel._put("celery", {"body": moment})
    assert [channel._get("celery")["body"] for _ in seconds] == seconds


def test_nothing_is_read_while_it_is_written(channel, monkeypatch):
    write, seen = Path.write_text, []

    def write_slowly(path, text, **more):
        for part in (text[:5], text):
            write(path, part, **more)
            with pytest.raises(Empty):
                channel._get("celery")
            seen.append(part)

    monkeypatch.setattr(Path, "write_text", write_slowly)
    channel._put("celery", {"body": "a long one"})
    assert len(seen) == 2
    assert channel._get("celery") == {"body": "a long one"}


def test_a_broken_message_is_left_out_and_the_next_one_read(channel, caplog):
    folder = Path(channel.data_folder_in)
    (folder / "000000000000001_x.celery.msg").write_bytes(b"")
    channel._put("celery", {"body": "whole"})
    with pytest.raises(Empty):
        channel._get("celery")
    assert channel._get("celery") == {"body": "whole"}
    assert "cannot be read" in caplog.text
    assert not list(folder.iterdir())


def test_a_full_disk_is_told_and_leaves_nothing_behind(channel, monkeypatch):
    def full(path, text, **more):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(broker.ChannelError, match="No space left"):
        channel._put("celery", {"body": "x"})
    assert not list(Path(channel.data_folder_out).iterdir())


def test_the_table_of_queues_is_never_seen_empty(channel, monkeypatch):
    link, seen = os.link, []

    def look(source, target):
        seen.append(channel.get_table("celery"))
        link(source, target)
        seen.append(channel.get_table("celery"))

    monkeypatch.setattr(os, "link", look)
    channel._queue_bind("celery", "celery", "", "celery")
    assert seen == [[], []]
    assert [row.queue for row in channel.get_table("celery")] == ["celery"]


def test_where_files_cannot_be_linked_the_table_is_made_all_the_same(channel, monkeypatch):
    monkeypatch.setattr(os, "link", lambda source, target: (_ for _ in ()).throw(PermissionError(1, "not here")))
    channel._queue_bind("celery", "celery", "", "celery")
    assert [row.queue for row in channel.get_table("celery")] == ["celery"]
