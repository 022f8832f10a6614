"""What a worker does with an uploaded file, whatever its kind: once, with what became of it kept for the page."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError

from core.errors import UserError
from core.messages.message import Wording, as_value
from core.tables.rows_left_out import SkippedRows
from core.uploads.kept_files import REFUSED, KeptUpload

logger = logging.getLogger(__name__)
AnyUpload = TypeVar("AnyUpload", bound=KeptUpload)
SECONDS_BETWEEN_WRITES = 0.5
FAULT = Wording("upload.fault", "The program has a fault here, which is in its log.")


def carried_out(
    kind: type[AnyUpload],
    public_id: str,
    work: Callable[[AnyUpload, SkippedRows], AnyUpload],
    *,
    when_over: Callable[[AnyUpload], AnyUpload],
) -> None:
    """Do the work that the upload asks for; nothing if it asks for none or its folder is not on this machine.

    `work` returns the upload as it is then, and passes its bad rows to the collector. A refusal is kept as the problem;
    after a fault of the program the page says so and the error goes on. Where the database goes away, the request stays and
    the file with it. `when_over` clears up, in each case but the last.
    """
    upload = kind.known(public_id)
    if upload is None:
        logger.error(
            "Upload %s is not in this worker's folder %s; servers and workers must share one", public_id, kind.PLACE
        )
        return
    if not upload.is_at_work:
        return
    skipped = SkippedRows()
    try:
        ended = work(upload, skipped)
    except (OperationalError, InterfaceError):
        raise
    except (UserError, CommandError) as problem:
        ended = replace(upload.latest(), state=REFUSED, problem=as_value(str(problem)))
    except Exception:
        when_over(replace(upload.latest(), state=REFUSED, problem=as_value(FAULT()))).save()
        raise
    when_over(ended.with_bad_rows(skipped)).save()


class Shown(Generic[AnyUpload]):
    """Keeps how far an upload is, not more often than a page asks."""

    def __init__(self, upload: AnyUpload) -> None:
        self.upload = upload
        self.written = time.monotonic()

    def change(self, **fields: Any) -> None:
        self.upload = replace(self.upload, **fields)
        if time.monotonic() - self.written >= SECONDS_BETWEEN_WRITES:
            self.upload.save()
            self.written = time.monotonic()
