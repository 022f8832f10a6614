"""The tables of a benchmark's paper: the list with its counts, and each table printed beside recomputed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Study
from annotation.studies.provenance import provenance_of
from calibration.data.verdicts import failed_judges
from calibration.web.blocks import Column, Table
from calibration.web.freshness import not_yet
from calibration.web.serving import SUFFIXES
from calibration.web.table_files import TABLE_FORMATS, as_csv, as_markdown
from generation.library.access import benchmark_read_by
from generation.models import Benchmark
from judging.published.computed_tables import ComputedTable, shown_tables
from judging.published.paper_table import Status
from judging.published.registry import UnknownPaperTable, table_key, tables_of
from judging.web.leaderboards.paper_layout import (
    DAGGER,
    LaidTable,
    cell_list,
    dagger_note,
    laid_out,
    latex_of,
    lines_beside,
    notes_on,
    scripted_on,
    status_words,
    table_name,
    title_of,
    words_of,
)

LIST = "tables"
"""The name of the files of the list."""
BADGES = {
    Status.EQUAL: "badge-finished",
    Status.MISPRINT: "badge-paused",
    Status.DIFFERS: "badge-failed",
    Status.NOT_COMPUTABLE: "",
}


@dataclass(frozen=True)
class ListedTable:
    """A line of the list; `counts` are in the order of `Status`, `error` says why there are none."""

    key: str
    name: str
    title: str
    cells: int
    counts: list[int]
    computed: bool
    error: str


@require_safe
@results_page
def paper_tables(request: HttpRequest, slug: str) -> HttpResponse:
    """The list; ?table= is one table; ?file= is a file of either. What is not computed yet is computed by a worker."""
    benchmark = benchmark_read_by(cast(User, request.user), slug)
    try:
        tables = tables_of(benchmark.slug)
    except UnknownPaperTable:
        tables = ()
    asked = request.GET.get("table", "")
    chosen = [table for table in tables if table_key(table.number) == table_key(asked)] if asked else list(tables)
    if asked and not chosen:
        raise Http404(gettext("The paper has no such table here."))
    found = shown_tables(benchmark.workspace, chosen)
    done = sum(one.current for one in found)
    if getattr(request, "htmx", False) and request.GET.get("waiting") == str(done) and done < len(found):
        return HttpResponse(status=204)
    one = found[0] if asked else None
    if "file" in request.GET:
        return paper_table_file(benchmark, request.GET["file"], found, one)
    discredited = failed_judges(benchmark)
    context: dict[str, object] = {
        "benchmark": benchmark,
        "path": request.path,
        "query": urlencode({"table": table_key(asked)}) if asked else "",
        "tables": [_listed(each) for each in found],
        "statuses": [status_words(status) for status in Status],
        "opening": _opening(found),
        "one": one,
        "done": done,
        "waits": any(each.under_way for each in found),
        "outdated": any(not each.current for each in found),
        "provenance": _provenance(benchmark),
        "discredited": discredited,
        "files": file_names(one),
    }
    if one is not None:
        context |= _one(one, [row.judge.name for row in discredited])
    template = "judging/paper_tables.html"
    return render(request, f"{template}#tables" if getattr(request, "htmx", False) else template, context)


def _one(found: ComputedTable, failed: Sequence[str]) -> dict[str, object]:
    layout = laid_out(found, failed)
    return {
        "name": table_name(found.table),
        "title": title_of(found.table),
        "layout": layout,
        "dagger": DAGGER,
        "dagger_note": dagger_note(layout),
        "error": words_of(found.error),
        "notes": notes_on(found.table),
        "badges": {status: BADGES[status] for status in Status},
        "rows": _rows(layout),
    }


def _rows(layout: LaidTable) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "cells": [None if cell is None else {"laid": cell, "badge": BADGES[cell.status]} for cell in cells],
        }
        for name, cells in layout.rows
    ]


def _listed(found: ComputedTable) -> ListedTable:
    return ListedTable(
        table_key(found.table.number),
        table_name(found.table),
        title_of(found.table),
        len(found.cells),
        list(found.counts.values()),
        found.computed_at is not None,
        words_of(found.error),
    )


def _opening(found: Sequence[ComputedTable]) -> str:
    """State how many of the printed cells come out here, and what the others are."""
    cells = [cell for one in found for cell in one.cells]
    if not cells:
        return ""
    n = {status: sum(cell.status == status for cell in cells) for status in Status}
    sentences = [
        ngettext(
            "%(equal)d of %(n)d printed cell comes out equal here.",
            "%(equal)d of %(n)d printed cells come out equal here.",
            len(cells),
        )
        % {"equal": n[Status.EQUAL], "n": len(cells)}
    ]
    if n[Status.MISPRINT]:
        sentences.append(
            ngettext("%(n)d is a misprint.", "%(n)d are misprints.", n[Status.MISPRINT]) % {"n": n[Status.MISPRINT]}
        )
    if n[Status.DIFFERS]:
        sentences.append(ngettext("%(n)d differs.", "%(n)d differ.", n[Status.DIFFERS]) % {"n": n[Status.DIFFERS]})
    if n[Status.NOT_COMPUTABLE]:
        sentences.append(
            ngettext(
                "%(n)d cannot be computed from what is loaded here.",
                "%(n)d cannot be computed from what is loaded here.",
                n[Status.NOT_COMPUTABLE],
            )
            % {"n": n[Status.NOT_COMPUTABLE]}
        )
    return " ".join(sentences)


def _provenance(benchmark: Benchmark) -> list[str]:
    studies = Study.objects.filter(workspace=benchmark.workspace_id, benchmark=benchmark)
    return sorted({kind for study in studies for kind in provenance_of(study)})


def file_names(one: ComputedTable | None) -> list[tuple[str, str]]:
    """Return the name and the label of each file."""
    stem = LIST if one is None else "table"
    suffixes = [("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"), ("md", "Markdown")]
    return [(f"{stem}.{suffix}", label) for suffix, label in suffixes]


def paper_table_file(
    benchmark: Benchmark, name: str, found: Sequence[ComputedTable], one: ComputedTable | None
) -> HttpResponse:
    """Serve a file of the list or of one table; 202 while the first result is being computed, 404 for another name."""
    if name not in dict(file_names(one)):
        raise Http404(gettext("This page has no such file."))
    if any(each.computed_at is None for each in found):
        return not_yet()
    suffix = name.rpartition(".")[2]
    failed = [row.judge.name for row in failed_judges(benchmark)]
    content = (
        _list_file(found, suffix)
        if one is None
        else _table_file(one, suffix, failed, scripted_on(benchmark.workspace, one))
    )
    response = HttpResponse(content, content_type=SUFFIXES[suffix])
    stem = slugify(f"{benchmark.slug}-{LIST if one is None else table_name(one.table)}")
    response["Content-Disposition"] = f'attachment; filename="{stem}.{suffix}"'
    return response


def _table_file(found: ComputedTable, suffix: str, failed: Sequence[str], scripted: Sequence[str]) -> str:
    """CSV and JSON have one line a cell with all digits; LaTeX and Markdown are laid out as the paper is."""
    if suffix == "json":
        return json.dumps(found.as_json(failed, scripted), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    if suffix == "csv":
        return as_csv(cell_list(found, failed, scripted))
    layout = laid_out(found, failed)
    lines = lines_beside(found, layout, failed, scripted)
    if suffix == "tex":
        return latex_of(layout, lines)
    return as_markdown(layout.as_table) + "".join(f"\n{line}\n" for line in lines)


def _list_file(found: Sequence[ComputedTable], suffix: str) -> str:
    columns = [Column(gettext("Table")), Column(gettext("Title")), Column(gettext("Cells"), 0)]
    columns += [Column(status_words(status), 0) for status in Status]
    rows = [[one.name, one.title, one.cells, *one.counts] for one in map(_listed, found)]
    table = Table(columns, rows)
    return as_markdown(table) if suffix == "md" else TABLE_FORMATS[suffix](table)
