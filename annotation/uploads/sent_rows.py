"""Rows that a program sends instead of a file: read, checked and loaded as an uploaded table of the same kind is."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from accounts.models import User, Workspace
from annotation.uploads.asked import ONE_OF, check_description, described
from annotation.uploads.kept_files import TableUpload
from annotation.uploads.kinds import CRITERION, KINDS, TableKind
from annotation.uploads.loading import load_file
from core.errors import UserError
from core.messages.message import Wording
from core.tables.bad_rows import BadRow, Place
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_to

MOST_ROWS = 10_000
"""Rows that one request may send."""
FILE = "rows.jsonl"
"""What the rows are called where a file would be named."""
CRITERIA = "criteria"
"""The field of a rating with the answers to several criteria by their keys."""

NO_OBJECT = Wording("sent_rows.no_object", "the row is not a JSON object")
SEND_OBJECT = Wording("sent_rows.send_object", "send one object with the fields of the row")
UNKNOWN_FIELD = Wording("sent_rows.unknown_field", "there is no field %(name)s")
KNOWN_FIELDS = Wording("sent_rows.known_fields", "use one of: %(known)s")
MISSING_FIELD = Wording("sent_rows.missing_field", "the field %(name)s is missing or empty")
FILL_FIELD = Wording("sent_rows.fill_field", "give it a value")
NO_ANSWERS = Wording("sent_rows.no_answers", "criteria is not an object of criteria and answers")
SEND_ANSWERS = Wording("sent_rows.send_answers", 'send it as {"clarity": 4}, with at least one criterion')
BOTH_WAYS = Wording("sent_rows.both_ways", "beside criteria, the row gives %(name)s")
ONE_WAY = Wording("sent_rows.one_way", "send either criteria, or criterion and value")
NO_KEY = Wording("sent_rows.no_key", "%(key)s cannot be the key of a criterion here")
OTHER_KEY = Wording(
    "sent_rows.other_key", "use letters, digits, spaces and . _ - and no name of a field, or send criterion and value"
)
CRITERION_KEY = re.compile(r"[\w .-]{1,60}")


class RowsRefused(UserError):
    """Rows were sent of which none was stored; `bad` says what is wrong with each, in order of the rows."""

    def __init__(self, problem: str, bad: Sequence[BadRow] = ()) -> None:
        super().__init__(problem)
        self.bad = list(bad)


@dataclass(frozen=True)
class StoredRows:
    """What became of rows: `counts` as of a load, the `imported` record by which it can be undone, and the bad rows.

    `imported` is None where nothing changed, because everything was there already.
    """

    counts: dict[str, int]
    imported: int | None
    bad: list[BadRow] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def store_rows(
    *,
    workspace: Workspace,
    by: User,
    kind: str,
    into: str,
    rows: Sequence[object],
    options: Mapping[str, str],
    skip: bool,
) -> StoredRows:
    """Load rows of a kind of table: all or nothing, or with `skip` those that are not bad.

    Each row is an object with our names of the fields of its kind; a rating may have "criteria", an object of criteria
    and answers, instead of "criterion" and "value". Raises RowsRefused where nothing is stored.
    """
    table, skipped, remarks = KINDS[kind], SkippedRows(), list[str]()
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR) as folder:
        path = Path(folder) / FILE
        columns = _written(table, rows, path, skipped)
        _refuse_bad(skipped, skip=skip, nothing=not columns)
        upload = TableUpload(
            public_id="", workspace=workspace.pk, user=by.pk, file=FILE, asked_at=timezone.now().isoformat(), skip=True
        )
        upload = described(upload, kind=kind, columns=columns, into=into, options=options, skip=True)
        try:
            check_description(upload)
            with progress_to(_unshown), transaction.atomic():
                found = load_file(upload, path, skipped, remarks)
                _refuse_bad(skipped, skip=skip)
        except RowsRefused:
            raise
        except (UserError, CommandError) as problem:
            bad = _sorted(skipped)
            raise RowsRefused(str(bad[0] if bad else problem), bad) from problem
    counts = {name: n for name, n in found.counts.items() if n} if found else {}
    return StoredRows(counts, found.pk if found else None, _sorted(skipped), remarks)


def _unshown(steps: int) -> None:
    """Show no progress: whoever sent the rows waits for the answer."""


def fields_of(kind: TableKind) -> dict[str, bool]:
    """Return the names of the fields of a row, with whether each row must have it."""
    return {one.name: one.name in kind.needed for one in kind.fields}


def _written(table: TableKind, rows: Sequence[object], path: Path, skipped: SkippedRows) -> dict[str, str]:
    """Write the rows that are complete as JSON Lines, with a blank line for each other one; return their columns."""
    columns: dict[str, str] = {}
    checked: list[dict[str, Any] | None] = []
    for number, row in enumerate(rows, start=1):
        try:
            values, held = _checked(table, row, Place(FILE, number))
        except BadRow as problem:
            skipped(problem)
            checked.append(None)
        else:
            columns |= held
            checked.append(values)
    with path.open("w", encoding="utf-8", errors="replace") as file:
        for found in checked:
            if found is not None:
                file.write(json.dumps({name: found.get(name, "") for name in columns}, ensure_ascii=False))
            file.write("\n")
    return columns


def _checked(table: TableKind, row: object, place: Place) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a row's values by column, and what each column holds. Raises BadRow."""
    if not isinstance(row, dict):
        raise place.bad(NO_OBJECT(), SEND_OBJECT())
    known = fields_of(table)
    values = {name: value for name, value in row.items() if not _is_empty(value)}
    answers = values.pop(CRITERIA, None) if table.key == "ratings" else None
    for name in values:
        if name not in known:
            names = [*known, CRITERIA] if table.key == "ratings" else list(known)
            raise place.bad(UNKNOWN_FIELD(name=repr(name[:50])), KNOWN_FIELDS(known=", ".join(names)))
    missing = [name for name, needed in known.items() if needed and name not in values]
    if table.key == "ratings" and answers is None:
        missing += [name for name in ("value",) if name not in values]
    if one_of := ONE_OF.get(table.key):
        missing += [] if set(one_of) & set(values) else [one_of[0]]
    if missing:
        raise place.bad(MISSING_FIELD(name=missing[0]), FILL_FIELD())
    held = {name: name for name in values}
    if answers is not None:
        if not isinstance(answers, dict) or not answers:
            raise place.bad(NO_ANSWERS(), SEND_ANSWERS())
        for name in ("criterion", "value", "reason"):
            if name in values:
                raise place.bad(BOTH_WAYS(name=name), ONE_WAY())
        for key, value in answers.items():
            if key in known or not CRITERION_KEY.fullmatch(key):
                raise place.bad(NO_KEY(key=repr(key[:50])), OTHER_KEY())
            values[key], held[key] = value, CRITERION
    return values, held


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _refuse_bad(skipped: SkippedRows, *, skip: bool, nothing: bool = False) -> None:
    """Raise RowsRefused where a bad row forbids storing the others, or none is left."""
    if len(skipped) and (nothing or not skip):
        bad = _sorted(skipped)
        raise RowsRefused(str(bad[0]), bad)


def _sorted(skipped: SkippedRows) -> list[BadRow]:
    return sorted(skipped.problems, key=lambda one: one.line)
