"""How an uploaded file of another tool's format is loaded, from what is said of it on the page or in the API."""

from pathlib import Path

from annotation.importing.format_files import FormatRequest
from annotation.rubrics.scales import parse_scales
from annotation.uploads.kept_files import TableUpload
from core.errors import UserError
from core.messages.message import Wording
from generation.importers.formats.format import RESPONSES
from generation.importers.formats.registry import format_named
from generation.importers.formats.source import NAMES, Options

NO_FIELD_NAME = Wording(
    "uploads.no_field_name", "%(text)s names no field; write NAME=PATH, where NAME is one of %(known)s."
)
NOBODY = "-"
"""What stands in the option of the judges where all raters are people."""


def request_of(upload: TableUpload, path: Path) -> FormatRequest:
    """Return what to load. Raises UserError for an option that means nothing."""
    given = upload.options
    found = format_named(upload.format)
    judges = _names(given.get("judges", ""))
    return FormatRequest(
        format=found,
        path=path,
        into=upload.into,
        benchmark="" if found.holds == RESPONSES else given.get("benchmark", ""),
        options=Options(
            fields=_fields(given.get("fields", "")),
            model=given.get("model", ""),
            judges=frozenset(judges) - {NOBODY} if judges else None,
        ),
        scales=parse_scales(scales_in(given.get("scale", ""))),
        overall=given.get("overall", ""),
        duplicates=given.get("duplicates") or "refuse",
        excluded=frozenset(_names(given.get("exclude", ""))),
    )


def holds_answers(upload: TableUpload) -> bool:
    """Whether the file's rows go into a study, not into a benchmark."""
    return format_named(upload.format).holds != RESPONSES


def scales_in(text: str) -> list[str]:
    """Return "1:5" as the scale of every criterion, and "quality=1:5; overall=0:10" as those of single ones."""
    parts = [part.strip() for part in text.replace("；", ";").replace("：", ":").split(";") if part.strip()]
    return [part if "=" in part else f"*={part}" for part in parts]


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.replace("，", ",").split(",") if part.strip()]


def _fields(text: str) -> dict[str, str]:
    fields = {}
    for part in _names(text):
        name, equals, path = part.partition("=")
        if name.strip() not in NAMES or not equals or not path.strip():
            raise UserError(NO_FIELD_NAME(text=repr(part), known=", ".join(NAMES)))
        fields[name.strip()] = path.strip()
    return fields
