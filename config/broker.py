"""kombu's filesystem transport, changed so that the file of a message appears whole or not at all.

The original transport reads files while they are being written: the reader finds an empty message or table, and its
process ends.
"""

import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any, ClassVar
from uuid import uuid4

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps

logger = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Add the message to the queue. Raises ChannelError if it cannot be written."""
        folder = Path(self.data_folder_out)
        # The name starts with the time in a fixed width, so names sort in the order of sending, also after a restart.
        name = f"{time.time_ns() // 1_000_000:015d}_{uuid4()}.{queue}.msg"
        try:
            _write_whole(folder / name, dumps(payload))  # type: ignore[no-untyped-call]
        except OSError as error:
            raise ChannelError(f"A message cannot be written to {folder}: {error}") from error

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """Return the next message; a message that cannot be read is skipped and logged."""
        try:
            return super()._get(queue)  # type: ignore[no-untyped-call]
        except ValueError:
            logger.warning("A message to %s that cannot be read was left out", queue)
            raise Empty from None

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        table: Path = self._exchange_file(exchange)  # type: ignore[no-untyped-call]
        if not table.exists():
            table.parent.mkdir(parents=True, exist_ok=True)
            # Another process was faster, or the file system has no links; kombu then writes the file in its own way.
            with suppress(OSError):
                _write_whole(table, "[]", replace=False)
        super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[no-untyped-call]


class Transport(filesystem.Transport):
    Channel = Channel
    default_connection_params: ClassVar[dict[str, object]] = {}
    """A folder has no host; kombu's own default is localhost, which it reports as missing from the address files://."""


def _write_whole(path: Path, text: str, *, replace: bool = True) -> None:
    """Write the file completely or not at all. Raises FileExistsError if it exists and must not be replaced."""
    unfinished = path.with_name(f".{uuid4()}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        if replace:
            unfinished.replace(path)
        else:
            os.link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
