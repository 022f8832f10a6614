"""The cells of a paper's table as they are computed and stored: by a command at once, for a page by a worker.

A stored table is a Report without a study. Its settings hold the state of the rows on which it rests, so that it is
computed again once these change.
"""

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.translation import override

from accounts.models import Workspace
from annotation.models import Study, excluded_shown
from calibration.models import Fit, Report
from calibration.report_store.questions import SHAPE, asked_hash_of, hash_of
from calibration.report_store.refreshes import pause_after
from calibration.report_store.state import state_of
from core.background import send_after_commit
from core.clock import Clock
from core.errors import UserError
from core.messages.message import Wording, from_json, to_json
from core.models import RequestedTask
from core.workers.requests import key_of
from generation.execution.code_version import code_version
from generation.models import Instruction, LanguageModel, Response
from judging.published.paper_table import Cell, PaperTable, Status

logger = logging.getLogger(__name__)

KIND = "paper-table"
TASK = "judging.build_paper_table"
CELLS = 2
"""Raised with what is stored of a cell, so that no table stored before is shown without it."""
FAILED = Wording("paper_table_failed", "This table could not be computed; the log of the worker says why.")


@dataclass(frozen=True)
class ComputedTable:
    """A table with its cells, or with the `error` why there are none. `computed_at` is None before the first time.

    Where it is not `current`, the rows have changed since; `under_way` says that a worker has been asked.
    """

    table: PaperTable
    cells: tuple[Cell, ...] = ()
    error: str = ""
    computed_at: datetime | None = None
    current: bool = True
    under_way: bool = False

    @property
    def counts(self) -> Mapping[Status, int]:
        found = Counter(cell.status for cell in self.cells)
        return {status: found[status] for status in Status}

    @property
    def equal(self) -> int:
        return self.counts[Status.EQUAL]

    def as_json(self, failed: Sequence[str] = (), scripted: Sequence[str] = ()) -> dict[str, object]:
        """What `published_table --json` prints: every cell, with all digits.

        `failed` names the judges of the benchmark that failed their canary texts; without one, the keys are left out.
        A row names those on whose other verdicts its figure rests. `scripted` names the scripted judges among those of
        the cells, likewise.
        """
        return {
            "benchmark": self.table.benchmark,
            "table": self.table.number,
            "cells": len(self.cells),
            "equal": self.equal,
            **({"failed_judges": list(failed)} if failed else {}),
            **({"scripted_judges": list(scripted)} if scripted else {}),
            "rows": [
                {
                    "row": str(cell.row),
                    "column": str(cell.column),
                    "printed": cell.printed,
                    "recomputed": cell.recomputed,
                    "status": cell.status.value,
                    "reason": str(cell.reason),
                    **({"failed_judges": among(cell.judges, failed)} if failed else {}),
                }
                for cell in self.cells
            ],
        }


def among(judges: Sequence[str], failed: Collection[str]) -> list[str]:
    """Return those of a cell's judges that failed, or are scripted, in their order."""
    return [judge for judge in judges if judge in failed]


def compute_table(workspace: Workspace, table: PaperTable) -> ComputedTable:
    """Compute the cells now and store them for the page; a UserError becomes the table's `error`."""
    state = rows_state(workspace, table.benchmark)
    begun = time.monotonic()
    found = _computed(workspace, table)
    _store(workspace, table, state, found, time.monotonic() - begun)
    return found


def _computed(workspace: Workspace, table: PaperTable) -> ComputedTable:
    """In English, as all that is stored; a page translates the messages among the words."""
    try:
        with override("en"), excluded_shown(False):
            return ComputedTable(table, tuple(table.compute(workspace)), computed_at=timezone.now())
    except UserError as error:
        return ComputedTable(table, error=str(error), computed_at=timezone.now())


def build_table(workspace: Workspace, table: PaperTable) -> None:
    """Compute a table in a worker, unless it is stored for the present rows; a fault is stored, so that it is shown."""
    state = rows_state(workspace, table.benchmark)
    if _current(workspace, table, state) is not None:
        return
    begun = time.monotonic()
    try:
        found = _computed(workspace, table)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("Table %s of %s could not be computed", table.number, table.benchmark)
        found = ComputedTable(table, error=FAILED(), computed_at=timezone.now())
    _store(workspace, table, state, found, time.monotonic() - begun)


def shown_tables(
    workspace: Workspace, tables: Sequence[PaperTable], *, clock: Clock = timezone.now
) -> list[ComputedTable]:
    """Return what is stored of one benchmark's tables, and ask a worker for those that are missing or outdated."""
    state = rows_state(workspace, tables[0].benchmark) if tables else []
    return [_shown(workspace, table, state, clock) for table in tables]


def _shown(workspace: Workspace, table: PaperTable, state: list[Any], clock: Clock) -> ComputedTable:
    row = _current(workspace, table, state)
    if row is not None:
        return _of_row(table, row)
    row = _newest(workspace, table)
    arguments = (workspace.pk, table.benchmark, table.number)
    waits = RequestedTask.objects.filter(key=key_of(TASK, arguments)).exists()
    if not waits and (row is None or row.created_at + pause_after(row.seconds) <= clock()):
        send_after_commit(TASK, *arguments)
        waits = True
    if row is None:
        return ComputedTable(table, current=False, under_way=waits)
    return _of_row(table, row, current=False, under_way=waits)


def rows_state(workspace: Workspace, benchmark: str) -> list[Any]:
    """Return values that change with the rows of a benchmark, the printed figures, or the program."""
    of = {"benchmark__workspace": workspace, "benchmark__slug": benchmark}
    pks = {"n": Count("pk"), "last": Max("pk")}
    responses = Response.objects.filter(**{f"instruction__{name}": value for name, value in of.items()})
    studies = Study.objects.filter(Q(benchmark=None) | Q(benchmark__slug=benchmark), workspace=workspace)
    with excluded_shown(False):
        return [
            code_version(),
            _printed_figures(benchmark),
            Instruction.objects.filter(**of).aggregate(**pks),
            responses.aggregate(**pks),
            Fit.objects.filter(workspace=workspace, benchmark__slug=benchmark).aggregate(**pks),
            LanguageModel.objects.filter(workspace=workspace).aggregate(**pks),
            [[asked_hash_of(study, {}), state_of(study).values] for study in studies.order_by("pk")],
        ]


def _printed_figures(benchmark: str) -> str:
    path = settings.BASE_DIR / "fixtures" / "published" / f"{benchmark}.json"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _asked(workspace: Workspace, table: PaperTable) -> dict[str, object]:
    return {
        "shape": SHAPE,
        "cell": CELLS,
        "workspace": workspace.pk,
        "benchmark": table.benchmark,
        "table": table.number,
    }


def _current(workspace: Workspace, table: PaperTable, state: list[Any]) -> Report | None:
    full = hash_of({**_asked(workspace, table), "state": state})
    return Report.objects.filter(workspace=workspace, kind=KIND, settings_hash=full).order_by("-pk").first()


def _newest(workspace: Workspace, table: PaperTable) -> Report | None:
    asked = hash_of(_asked(workspace, table))
    return Report.objects.filter(workspace=workspace, kind=KIND, asked_hash=asked).order_by("-pk").first()


def _store(workspace: Workspace, table: PaperTable, state: list[Any], found: ComputedTable, seconds: float) -> None:
    """Store the newest result of a table; nothing refers to the ones before it."""
    asked = _asked(workspace, table)
    result = {"cells": [_cell_json(cell) for cell in found.cells], "error": _text_json(found.error)}
    full = {**asked, "state": state}
    row, _new = Report.objects.update_or_create(
        workspace=workspace,
        kind=KIND,
        data_hash=hash_of(result),
        settings_hash=hash_of(full),
        defaults={"settings": full, "result": result, "asked_hash": hash_of(asked), "seconds": seconds},
    )
    Report.objects.filter(workspace=workspace, kind=KIND, asked_hash=row.asked_hash).exclude(pk=row.pk).delete()


def _of_row(table: PaperTable, row: Report, *, current: bool = True, under_way: bool = False) -> ComputedTable:
    return ComputedTable(
        table,
        tuple(_cell(values) for values in row.result["cells"]),
        _text(row.result["error"]),
        row.created_at,
        current,
        under_way,
    )


def _cell_json(cell: Cell) -> dict[str, object]:
    return {
        "row": _text_json(cell.row),
        "column": _text_json(cell.column),
        "printed": cell.printed,
        "recomputed": None if cell.recomputed is None else float(cell.recomputed),
        "status": cell.status.value,
        "reason": _text_json(cell.reason),
        "digits": cell.digits,
        "judges": list(cell.judges),
    }


def _cell(values: Mapping[str, Any]) -> Cell:
    return Cell(
        row=_text(values["row"]),
        column=_text(values["column"]),
        printed=values["printed"],
        recomputed=values["recomputed"],
        status=Status(values["status"]),
        reason=_text(values["reason"]),
        digits=values["digits"],
        judges=tuple(values["judges"]),
    )


def _text_json(text: str) -> Any:
    """A message with its code, any other text as it is."""
    return to_json(text) or str(text)


def _text(found: Any) -> str:
    return found if isinstance(found, str) else from_json(found) or ""
