"""What the program can do itself about a table that is refused: the options that a button sets before the next check."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.utils.translation import gettext as _

from annotation.rubrics.scales import number_in
from annotation.uploads.kept_files import TableUpload
from annotation.uploads.kinds import CRITERION
from annotation.uploads.loading import rewritten
from core.errors import UserError
from core.tables.reading import read_rows
from generation.importers.formats.registry import format_named, read_format
from generation.importers.formats.source import Source
from generation.importers.records import RatingRecord

MOST_ROWS = 20_000
"""Rows of a table from which a scale is proposed."""
MOST_BAD = 1 << 16
"""Characters of the list of bad rows that are searched."""
TWO_ANSWERS = "use --duplicates"
NO_SCALE = re.compile("has numbers and no scale")


@dataclass(frozen=True)
class Fix:
    """A button: the option of the upload that it sets, the value, and what is written on it."""

    option: str
    value: str
    label: str


def fixes_for(upload: TableUpload) -> list[Fix]:
    """Return the buttons that put right what the last check or load found."""
    if upload.kind != "ratings" and not upload.format:
        return []
    said = str(upload.problem) + _bad_rows(upload)
    found = []
    if TWO_ANSWERS in said:
        found.append(Fix("duplicates", "drop", _("Keep the first of repeated answers")))
        found.append(Fix("duplicates", "repeat", _("Count them as repeated answers")))
    if NO_SCALE.search(said) and (scale := proposed_scale(upload)):
        found.append(Fix("scale", scale, _("Use the scale of the values: %(scale)s") % {"scale": scale}))
    return found


def proposed_scale(upload: TableUpload) -> str:
    """Return the lowest and highest number of each criterion as a scale, '' if some criterion has no two numbers."""
    ends: dict[str, list[float]] = {}
    try:
        with tempfile.TemporaryDirectory(dir=upload.folder) as scratch:
            for criterion, value in _given(upload, Path(scratch)):
                if (number := number_in(value)) is not None:
                    low, high = ends.get(criterion, [number, number])
                    ends[criterion] = [min(low, number), max(high, number)]
    except UserError:
        return ""
    scales = {criterion: f"{low:g}:{high:g}" for criterion, (low, high) in ends.items() if low < high}
    if not scales or len(scales) < len(ends):
        return ""
    if len(set(scales.values())) == 1:
        return next(iter(scales.values()))
    return "; ".join(f"{criterion}={scale}" for criterion, scale in scales.items())


def _given(upload: TableUpload, scratch: Path) -> Iterator[tuple[str, str]]:
    """Yield the criterion and value of each answer in the first rows."""
    if upload.format:
        source = Source(upload.path, lambda _problem: None)
        for record in islice(read_format(format_named(upload.format), source), MOST_ROWS):
            if isinstance(record, RatingRecord):
                yield record.criterion, record.value
        return
    for row in islice(read_rows(rewritten(upload, scratch)), MOST_ROWS):
        yield from _answers(upload, row.values).items()


def _answers(upload: TableUpload, values: Mapping[str, str]) -> dict[str, str]:
    """Return the answer to each criterion in a row."""
    held = {name: column for column, name in upload.columns.items()}
    if "value" in held:
        return {values.get(held.get("criterion", ""), ""): values.get(held["value"], "")}
    return {column: values.get(column, "") for column, name in upload.columns.items() if name == CRITERION}


def _bad_rows(upload: TableUpload) -> str:
    path = upload.bad_rows_file
    if not upload.bad or not path.is_file():
        return ""
    with path.open(encoding="utf-8") as file:
        return file.read(MOST_BAD)
