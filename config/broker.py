"""Messages to the worker as files: kombu's filesystem transport, whose files appear whole or not at all.

Its own are read while they are being written: the reader finds an empty message or table, and its process ends.
"""

import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps

logger = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Adds the message to the queue. Raises ChannelError where it cannot be written."""
        folder = Path(self.data_folder_out)
        # By the wall clock and of one width: names sort as they were sent, after a restart of the machine too.
        name = f"{time.time_ns() // 1_000_000:015d}_{uuid4()}.{queue}.msg"
        try:
            _write_whole(folder / name, dumps(payload))  # type: ignore[no-untyped-call]
        except OSError as error:
            raise ChannelError(f"A message cannot be written to {folder}: {error}") from error

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The next message. One that cannot be read is left out, and told."""
        try:
            return super()._get(queue)  # type: ignore[no-untyped-call]
        except ValueError:
            logger.warning("A message to %s that cannot be read was left out", queue)
            raise Empty from None

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        table: Path = self._exchange_file(exchange)  # type: ignore[no-untyped-call]
        if not table.exists():
            table.parent.mkdir(parents=True, exist_ok=True)
            # Another was quicker, or the file system has no links: then kombu makes it in its own way.
            with suppress(OSError):
                _write_whole(table, "[]", replace=False)
        super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[no-untyped-call]


class Transport(filesystem.Transport):
    Channel = Channel


def _write_whole(path: Path, text: str, *, replace: bool = True) -> None:
    """Raises FileExistsError where the file is there and is not to be replaced."""
    unfinished = path.with_name(f".{uuid4()}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        if replace:
            unfinished.replace(path)
        else:
            os.link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
