"""Why a file is not loaded reaches readers of two languages: every reason and remedy of a reader or loader has a code."""

import ast

import pytest

from core.errors import UserError
from core.messages.message import Message
from core.tables.bad_rows import BadRow
from core.tables.reading import json_objects
from generation.importers.wildbench import Wildbench
from judging.importing.archives import unpack
from tests.config.test_layout import ROOT
from tests.generation.importers.wildbench_files import pair_row, pairs_of, put

FOLDERS = ("core/tables", "generation/importers", "annotation/importing", "annotation/rubrics", "judging/importing")
FIRST = {"BadRow": 2, "bad": 0, "NoWorkbook": 0, "BrokenArray": 1, "UserError": 0}
"""The calls that say what is wrong, with the place of their first reason."""


def plain_reasons(source):
    """The lines on which a reason or remedy is written as a text without a code."""
    for node in ast.walk(ast.parse(source)):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        for given in node.args[FIRST[name] :] if name in FIRST else ():
            if isinstance(given, ast.JoinedStr) or (isinstance(given, ast.Constant) and " " in str(given.value)):
                yield node.lineno


def test_no_reason_is_written_without_a_code():
    assert list(plain_reasons('raise place.bad(f"{x} is bad", REMEDY())')) == [1]
    assert list(plain_reasons('raise UserError("Load it first.")')) == [1]
    assert list(plain_reasons("raise BadRow(name, 0, EMPTY(), COPY())")) == []
    found = {
        f"{file.relative_to(ROOT)}:{line}"
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        for line in plain_reasons(file.read_text())
    }
    assert found == set()


def test_what_a_reader_of_tables_or_of_a_benchmark_says_has_codes(tmp_path):
    found = []
    list(json_objects(put(tmp_path, "table.json", "[1, 2"), found.append))
    rows = [pair_row("t1", "nobody", 1), {"session_id": 7}]
    put(tmp_path, pairs_of("m"), rows)
    for part in Wildbench(tmp_path).parts():
        list(part.records(found.append))
    codes = [(problem.reason.code, problem.remedy.code) for problem in found]
    assert ("table.in_element", "table.object_per_row") in codes and found[0].reason.params[
        "reason"
    ].code == "table.element_no_object"
    assert ("table.no_comma", "table.one_array") in codes
    assert ("files.winner_off", "files.restore_it") in codes and ("files.no_session", "files.restore_it") in codes
    assert all(isinstance(str(problem), Message) for problem in found)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.rar", b"", "archive.no_archive"),
        ("a.zip", b"PK", "archive.damaged"),
        ("a.zip", b"PK\5\6" + bytes(18), "archive.no_file"),
    ],
)
def test_what_is_wrong_with_an_archive_has_a_code(tmp_path, name, content, code):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        unpack(path, tmp_path / "out")
    assert str(refused.value).code == code and not isinstance(refused.value, BadRow)
