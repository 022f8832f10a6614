"""Questions of a questionnaire from a file: JSON as the API takes it, or a table with one question a row."""

import json
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from annotation.questionnaires.questions import AskedQuestion, read_questions
from core.errors import UserError
from core.tables.bad_rows import BadRow
from core.tables.reading import read_rows

LARGEST_FILE = 1_000_000
YES = ("yes", "true", "1", "x", "是")
NO = ("", "no", "false", "0", "否")
COLUMNS = ("kind", "question", "question_zh", "required", "options", "options_zh", "low", "high")
LABELS = ("low_label", "low_label_zh", "high_label", "high_label_zh", "minimum", "maximum", "key")


def questions_of_file(path: Path) -> tuple[AskedQuestion, ...]:
    """Read a .json file, or a table whose columns are COLUMNS and LABELS. Raises UserError with the line.

    Options stand in one cell, parted by |.
    """
    if path.suffix.lower() == ".json":
        return read_questions(_json(path))
    rows: list[dict[str, Any]] = []
    try:
        for row in read_rows(path):
            values = {name.strip().casefold(): text.strip() for name, text in row.values.items()}
            if any(values.values()):
                try:
                    rows.append(_fields(values))
                except UserError as problem:
                    told = _("Line %(line)s: %(problem)s")
                    raise UserError(told % {"line": row.place.line, "problem": problem}) from problem
    except BadRow as problem:
        raise UserError(str(problem)) from problem
    return read_questions(rows)


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(_("The file is larger than 1 MB."))
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as problem:
        raise UserError(_("%(file)s cannot be opened.") % {"file": path.name}) from problem
    except (ValueError, RecursionError) as problem:
        raise UserError(_("%(file)s is no valid JSON.") % {"file": path.name}) from problem


def _fields(values: dict[str, str]) -> dict[str, Any]:
    known = {*COLUMNS, *LABELS}
    if unknown := sorted(set(values) - known):
        raise UserError(
            _("The column %(name)s is unknown; there are: %(known)s.")
            % {"name": unknown[0][:60], "known": ", ".join(sorted(known))}
        )
    required = values.get("required", "").casefold()
    if required not in (*YES, *NO):
        raise UserError(_("“required” is yes or no."))
    found: dict[str, Any] = {
        "kind": values.get("kind", "").casefold(),
        "texts": {"en": values.get("question", ""), "zh-hans": values.get("question_zh", "")},
        "required": required in YES,
    }
    if values.get("key"):
        found["key"] = values["key"]
    if values.get("options") or values.get("options_zh"):
        found["options"] = options_of(values.get("options", ""), values.get("options_zh", ""), "|")
    for name in ("low", "high", "minimum", "maximum"):
        if values.get(name):
            found[name] = _number(values[name])
    for name in ("low_label", "high_label"):
        found[name] = {"en": values.get(name, ""), "zh-hans": values.get(f"{name}_zh", "")}
    return found


def options_of(english: str, chinese: str, sign: str) -> list[dict[str, str]]:
    """The options of a cell or a field in either language. Raises UserError where their numbers differ."""
    en, zh = ([piece.strip() for piece in text.split(sign) if piece.strip()] for text in (english, chinese))
    if en and zh and len(en) != len(zh):
        raise UserError(
            _("There are %(en)s options in English and %(zh)s in Chinese; write the same options in both.")
            % {"en": len(en), "zh": len(zh)}
        )
    size = max(len(en), len(zh))
    pairs = zip(en or [""] * size, zh or [""] * size, strict=True)
    return [{name: text for name, text in (("en", one), ("zh-hans", other)) if text} for one, other in pairs]


def _number(text: str) -> int | float:
    try:
        value = float(text)
    except ValueError:
        raise UserError(_("“%(text)s” is no number.") % {"text": text[:40]}) from None
    return int(value) if value.is_integer() else value
