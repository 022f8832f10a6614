"""`plumbline audit FILE`: the audit of a table without a database. Exit status 0: clean, 2: a finding, 1: an error. PURE."""

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from core.errors import UserError
from core.messages.message import Message
from judging.audit.languages import FOLDERS, Language, language_of, visible

CLEAN, ERROR, FINDING = 0, 1, 2
DESCRIPTION = (
    "Audit the judges in a table of ratings: agreement with people beside its human ceiling, bias by length, position "
    "and family, repeats, and what the table cannot say. CSV, TSV, JSON, JSON Lines (each also with .gz), Parquet or xlsx; "
    "one rating in each row, or one column for each rater. The exit status is 0 without a finding, 2 with one and 1 on an "
    "error."
)


class Parser(ArgumentParser):
    """argparse's own exit status for a wrong option is 2, which here means a finding."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ERROR, f"{self.prog}: {message}\n")


def parser(program: str = "plumbline") -> Parser:
    found = Parser(prog=f"{program} audit", description=DESCRIPTION)
    found.add_argument("file", type=Path, metavar="FILE")
    found.add_argument(
        "--people", nargs="+", default=(), metavar="COLUMN", help="Columns of people, or names in the raters' column."
    )
    found.add_argument(
        "--judge", nargs="+", default=(), metavar="COLUMN", help="Columns of judges, or names in the raters' column."
    )
    found.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=COLUMN",
        help="Which column is what: item, model, criterion, rater, kind, score, length or position.",
    )
    found.add_argument("--html", type=Path, metavar="OUT", help="Write the audit as one self-contained page.")
    found.add_argument("--json", action="store_true", help="Print the audit as JSON.")
    found.add_argument("--language", choices=sorted(FOLDERS), default="", help="Instead of the language of LANG.")
    return found


def main(arguments: Sequence[str], program: str = "plumbline") -> int:
    """Run the command; return its exit status."""
    # A reader that has seen enough, such as head, closes the pipe: that is no error of the audit.
    try:
        options = parser(program).parse_args(arguments)
        language = Language(language_of(options.language, os.environ))
        return _run(options.file, options, language)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR


def _run(path: Path, options: object, language: Language) -> int:
    from judging.audit import messages
    from judging.audit.auditing import audit
    from judging.audit.page import html_page
    from judging.audit.roles import AuditOptions

    given = vars(options)
    try:
        columns = {}
        for word in given["column"]:
            role, equals, column = word.partition("=")
            if not equals or not column:
                raise UserError(messages.UNKNOWN_ROLE(given=repr(word), roles=list(messages.ROLES)))
            columns[role] = column
        report = audit(path, AuditOptions(tuple(given["people"]), tuple(given["judge"]), columns))
        page = html_page(report, language) if given["html"] else ""
    except UserError as error:
        sys.stderr.write(visible(language.text(error.message)) + "\n")
        return ERROR
    if given["html"]:
        try:
            given["html"].write_text(page, encoding="utf-8")
        except OSError as error:
            said = messages.NOT_WRITTEN(path=given["html"], words=error.strerror or error)
            sys.stderr.write(visible(language.text(said)) + "\n")
            return ERROR
    if given["json"]:
        found = asdict(report, dict_factory=_plain)
        found["findings"] = len(report.findings)
        print(json.dumps(found, ensure_ascii=False, indent=1, default=str))
    else:
        print("\n".join(visible(line) for line in _lines(report, language, given["html"])))
    sys.stdout.flush()
    return FINDING if report.findings else CLEAN


def _plain(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The fields of a report, messages as English text; a tuple of them too."""
    return {name: _text(value) for name, value in pairs}


def _text(value: object) -> object:
    if isinstance(value, Message):
        return "".join(value)
    return [_text(each) for each in value] if isinstance(value, tuple | list) else value


def _lines(report: object, language: Language, page: Path | None) -> list[str]:
    from judging.audit import messages
    from judging.audit.report import AuditReport
    from judging.audit.sections import sections, verdict

    assert isinstance(report, AuditReport)
    lines = [language.text(messages.TITLE(file=report.file)), language.text(verdict(report))]
    for section in sections(report):
        lines += ["", language.text(section.title)]
        for place, sentence in enumerate(section.sentences):
            lines.append(f"{'!' if place in section.findings else '-'} {language.text(sentence)}")
    if page is not None:
        lines += ["", language.text(messages.WRITTEN(path=page))]
    return lines
