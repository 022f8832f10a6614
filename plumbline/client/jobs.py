"""Work that a worker does: runs of judges, generation, loading of files, exports and fits."""

import time
from typing import Any

from plumbline.client.errors import PlumblineError
from plumbline.client.generated import shapes
from plumbline.client.generated.operations import Operations
from plumbline.client.transport import Download, Transport

OVER = ("done", "failed", "cancelled")
STOPPED = ("paused", "failed", "cancelled")


class Job:
    """A job by its id, such as run-Zm9v."""

    def __init__(self, transport: Transport, job_id: str) -> None:
        self.id = job_id
        self._transport, self._operations = transport, Operations(transport)

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    def state(self) -> shapes.Job:
        """Return how far it is now."""
        return self._operations.job(self.id)

    def wait(self, *, timeout: float = 3600, every: float = 1.0) -> shapes.Job:
        """Return its state when it is done. Raises PlumblineError if it stops before that, or after `timeout` seconds."""
        until = time.monotonic() + timeout
        while True:
            found = self.state()
            if found["state"] == "done":
                return found
            if found["state"] in STOPPED:
                why = found["error"] or "The server gives no reason."
                raise PlumblineError(f"The job {self.id} is {found['state']}: {why}")
            if time.monotonic() + every > until:
                raise PlumblineError(f"The job {self.id} is not done after {timeout:g} seconds; it goes on.")
            time.sleep(every)

    def cancel(self) -> shapes.Job:
        """Cancel it and return its state."""
        return self._operations.cancel_job(self.id)

    def result(self) -> Any:
        """Return what came of it: JSON, the rows of a list, or the file of an export. Raises PlumblineError before that."""
        found = self.state()
        if not found["result"] or found["state"] not in OVER:
            raise PlumblineError(f"The job {self.id} has no result yet; wait for it first.")
        if found["kind"] == "export":
            return self._transport.download(found["result"])
        answered = self._transport.answer("GET", found["result"])
        is_list = isinstance(answered, dict) and {"next", "results"} <= answered.keys()
        return self._transport.rows(found["result"]) if is_list else answered

    def file(self) -> Download:
        """Return the file of an export. Raises PlumblineError before it is there."""
        found = self.result()
        if not isinstance(found, Download):
            raise PlumblineError(f"The job {self.id} makes no file.")
        return found
