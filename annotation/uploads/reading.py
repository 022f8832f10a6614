"""The first rows of an uploaded table as it is to be read now, or why it cannot be read."""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from django.db.models import Count, Q

from annotation.uploads.kept_files import TableUpload
from annotation.uploads.kinds import KINDS, OF_INSTRUCTIONS, OF_PEOPLE
from annotation.uploads.loading import SEPARATORS, rewritten
from annotation.uploads.recognition import FirstRows, first_rows, recognised_columns, recognised_kind
from annotation.uploads.saved_mappings import mappings_for, with_mapping
from core.errors import UserError
from core.messages.message import as_value
from generation.importers.formats.registry import recognised
from generation.models import Benchmark

WORD = re.compile("[A-Za-z0-9]+")


@dataclass(frozen=True)
class Preview:
    """The first rows, or the problem; `separator` is one that the only column's name contains, else ''."""

    first: FirstRows | None
    problem: UserError | None = None
    separator: str = ""

    @property
    def by_column(self) -> list[tuple[str, list[str]]]:
        """Return the name of each column with its first values."""
        if self.first is None:
            return []
        return [(name, [row[place] for row in self.first.rows]) for place, name in enumerate(self.first.columns)]


def preview(upload: TableUpload) -> Preview:
    """Read the beginning of an uploaded table; names and addresses of people are masked."""
    try:
        with tempfile.TemporaryDirectory(dir=upload.folder) as scratch:
            first = _masked(upload, first_rows(rewritten(upload, Path(scratch), beginning=True)))
    except UserError as problem:
        return Preview(None, problem)
    inside = [word for word, mark in SEPARATORS.items() if len(first.columns) == 1 and mark in first.columns[0]]
    return Preview(first, separator=inside[0] if inside else "")


def _masked(upload: TableUpload, first: FirstRows) -> FirstRows:
    if upload.kind != "raters":
        return first
    hidden = [upload.columns.get(name) in OF_PEOPLE for name in first.columns]
    rows = [[masked(text) if hide else text for text, hide in zip(row, hidden, strict=True)] for row in first.rows]
    return FirstRows(first.columns, rows)


def masked(text: str) -> str:
    """Return a name or an address of which only the first letter of each part is left: "a…@e…", "A… L…"."""
    return " ".join("@".join(f"{part[:1]}…" for part in word.split("@")) for word in text.split())


def recognise(upload: TableUpload) -> TableUpload:
    """Store with the upload what its columns hold by the newest saved mapping of such a file, else what they probably hold.

    Nothing where it cannot be read yet. A file in another tool's format is recognised by its content.
    """
    stem = "-".join(WORD.findall(upload.file.partition(".")[0]))
    if not upload.mapping and (known := recognised(upload.path)):
        upload = replace(upload, format=known.format.key, recognised_by=as_value(known.reason), into=stem.lower()[:100])
        upload.save()
        return upload
    return recognise_table(upload)


def recognise_table(upload: TableUpload) -> TableUpload:
    """Store with the upload what its columns hold if it is read as a table."""
    shown = preview(upload)
    kind = recognised_kind(shown.first) if shown.first else ""
    columns = recognised_columns(KINDS[kind], shown.first) if kind and shown.first else {}
    stem = "-".join(WORD.findall(upload.file.partition(".")[0]))
    into = "" if kind == "rubrics" else stem.lower()[:100]
    if kind in OF_INSTRUCTIONS and shown.first:
        into = _benchmark_of(upload.workspace, columns, shown.first, into)
    found = replace(upload, kind=kind, columns=columns, into=into)
    saved = mappings_for(upload.workspace, shown.first.columns) if shown.first else []
    found = with_mapping(found, saved[0]) if saved else found
    found.save()
    return found


def _benchmark_of(workspace: int, columns: Mapping[str, str], first: FirstRows, into: str) -> str:
    """Return the slug of the only benchmark that has the instructions that the first rows name, else `into`.

    A benchmark of the slug `into` is preferred: its name stands on the file.
    """
    place = next((place for place, name in enumerate(first.columns) if columns.get(name) == "instruction"), None)
    names = {row[place] for row in first.rows if row[place]} if place is not None else set()
    benchmarks = Benchmark.objects.filter(workspace=workspace)
    if not names or benchmarks.filter(slug=into).exists():
        return into
    named = Count("instructions", filter=Q(instructions__external_id__in=names))
    slugs = benchmarks.annotate(named=named).filter(named=len(names)).values_list("slug", flat=True)[:2]
    return slugs[0] if len(slugs) == 1 else into
