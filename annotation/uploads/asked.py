"""What a person or a program says of an uploaded table, checked before a worker reads it."""

import re
from collections.abc import Mapping
from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.models import Study
from annotation.rubrics.scales import parse_scales
from annotation.uploads.format_requests import request_of, scales_in
from annotation.uploads.kept_files import CHECKING, NEW, TableUpload
from annotation.uploads.kinds import CRITERION, KINDS, NEEDS_BENCHMARK, NEEDS_STUDY
from annotation.uploads.loaders import NO_BENCHMARK
from annotation.uploads.loading import ENCODINGS, SEPARATORS
from core.errors import UserError
from core.uploads.kept_files import LOADING
from generation.importers.formats.registry import format_named
from generation.models import Benchmark

OPTIONS = ("scale", "overall", "duplicates", "benchmark", "model", "labels", "cohort", "exclude", "judges", "fields")
DUPLICATES = ("refuse", "repeat", "drop")
LONGEST_OPTION = 1000
ONE_OF = {"checklists": ("instruction", "category"), "rubrics": ("question", "criterion"), "raters": ("name", "email")}
"""Kinds whose tables need at least one of these columns."""
SLUG = re.compile(r"\w[-\w]{0,99}", re.ASCII)


def described(
    upload: TableUpload,
    *,
    kind: str,
    columns: Mapping[str, str],
    into: str,
    options: Mapping[str, str],
    encoding: str = "",
    separator: str = "",
    skip: bool = False,
) -> TableUpload:
    """Return the upload with what is said of it. Raises UserError for a word that means nothing here."""
    if kind not in KINDS:
        raise UserError(_("Choose what the table holds."))
    names = {field.name for field in KINDS[kind].fields} | ({CRITERION} if kind == "ratings" else set())
    held = {column: name for column, name in columns.items() if name in names}
    if encoding not in ("", *ENCODINGS) or separator not in ("", *SEPARATORS):
        raise UserError(_("The file cannot be read in this way. Choose one of the ways that are offered."))
    given = {name: str(options.get(name, "")).strip()[:LONGEST_OPTION] for name in OPTIONS}
    return replace(
        upload,
        kind=kind,
        columns=held,
        into=into.strip(),
        options={name: value for name, value in given.items() if value},
        encoding=encoding,
        separator=separator,
        skip=skip,
    )


def in_format(upload: TableUpload, name: str) -> TableUpload:
    """Return the upload as a file of another tool's format, or as a table if `name` is empty. Raises UserError."""
    if name:
        format_named(name)
    return replace(
        upload, format=name, recognised_by="", mapping="", problem="", counts={}, bad=0, bad_rows=[], state=NEW
    )


def described_format(upload: TableUpload, *, into: str, options: Mapping[str, str], skip: bool = False) -> TableUpload:
    """Return an upload of another tool's format with what is said of it."""
    given = {name: str(options.get(name, "")).strip()[:LONGEST_OPTION] for name in OPTIONS}
    return replace(
        upload, into=into.strip(), options={name: value for name, value in given.items() if value}, skip=skip
    )


def check_description(upload: TableUpload) -> None:
    """Raise UserError, which says what to choose, while the table cannot be read as it is described."""
    if upload.format:
        _check_format(upload)
        return
    if upload.kind not in KINDS:
        raise UserError(_("Choose what the table holds."))
    kind, held = KINDS[upload.kind], list(upload.columns.values())
    for name in kind.needed:
        if name not in held:
            field = kind.field(name)
            raise UserError(_("Choose the column of: %(field)s.") % {"field": field.label if field else name})
    if (some := ONE_OF.get(upload.kind)) and not set(some) & set(held):
        labels = [str(field.label) for name in some if (field := kind.field(name))]
        raise UserError(_("Choose the column of: %(one)s, or of: %(other)s.") % {"one": labels[0], "other": labels[1]})
    for name in held:
        field = kind.field(name)
        if name != CRITERION and held.count(name) > 1 and field is not None:
            raise UserError(_("Two columns are chosen for %(field)s. Choose one of them.") % {"field": field.label})
    if upload.kind == "ratings" and ("value" in held) == (CRITERION in held):
        raise UserError(
            _("Choose either one column of answers, or the columns that are criteria, each with its answers.")
        )
    if upload.kind == "ratings" and CRITERION in held and {"criterion", "reason"} & set(held):
        raise UserError(_("Where each criterion has a column, no column names the criterion or the reason."))
    if not SLUG.fullmatch(upload.into) and (upload.into or upload.kind != "rubrics"):
        raise UserError(
            _("Give the study or benchmark a short name of at most 100 letters, digits, hyphens and underscores.")
        )
    if upload.kind == "responses" and "model" not in held and not upload.options.get("model"):
        raise UserError(_("Name the model that wrote the responses, or choose the column that names it."))
    _check_destination(upload)
    if upload.options.get("duplicates", "refuse") not in DUPLICATES:
        raise UserError(_("Choose what happens to repeated answers."))
    parse_scales(scales_in(upload.options.get("scale", "")))


def _check_format(upload: TableUpload) -> None:
    if not SLUG.fullmatch(upload.into):
        raise UserError(
            _("Give the study or benchmark a short name of at most 100 letters, digits, hyphens and underscores.")
        )
    if upload.options.get("duplicates", "refuse") not in DUPLICATES:
        raise UserError(_("Choose what happens to repeated answers."))
    request_of(upload, upload.path)


def _check_destination(upload: TableUpload) -> None:
    """Raise UserError where the study or benchmark to which the rows must belong does not exist."""
    known = Study.objects.filter(workspace=upload.workspace, slug=upload.into)
    if upload.kind in NEEDS_STUDY and not known.exists():
        sentences = {
            "truth": _("There is no study %(slug)s. Load its ratings before their correct answers."),
            "gold": _("There is no study %(slug)s. Create the study before its known answers."),
            "raters": _("There is no study %(slug)s. Create the study before you list its raters."),
        }
        raise UserError(sentences[upload.kind] % {"slug": upload.into})
    benchmarks = Benchmark.objects.filter(workspace=upload.workspace, slug=upload.into)
    needed = upload.kind in NEEDS_BENCHMARK or (upload.kind == "rubrics" and upload.into)
    if needed and not benchmarks.exists():
        raise UserError(NO_BENCHMARK(slug=upload.into))


def begin_check(upload: TableUpload) -> TableUpload:
    """Ask a worker what loading would store. Raises UserError."""
    return _begin(upload, CHECKING)


def begin_loading(upload: TableUpload) -> TableUpload:
    """Ask a worker to load the table. Raises UserError."""
    return _begin(upload, LOADING)


def _begin(upload: TableUpload, state: str) -> TableUpload:
    if upload.is_at_work:
        raise UserError(_("A worker is reading this file. Wait until it is done."))
    if upload.is_over:
        raise UserError(_("This file has been loaded or removed. Upload it again."))
    check_description(upload)
    begun = replace(upload, state=state, rows=0, problem="", counts={}, bad=0, bad_rows=[])
    begun.ask_for_work()
    return begun
