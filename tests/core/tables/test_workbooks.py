"""Workbooks as tables: the values as CSV would have them, one sheet, and nothing that unpacks without end."""

import zipfile
from datetime import date

import pytest
from openpyxl import Workbook

from core.tables import reading as table
from core.tables.bad_rows import BadRow
from core.tables.reading import read_rows


def saved(folder, *sheets, name="r.xlsx"):
    book = Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"s{number}")
        for row in rows:
            sheet.append(row)
    book.save(folder / name)
    return folder / name


def rows_of(path, *columns, **options):
    return [(row.place.line, dict(row.values)) for row in read_rows(path, columns, **options)]


def test_cells_are_texts_and_empty_rows_and_sheets_are_passed_over(tmp_path):
    rows = [[], ["item", "value", "day"], ["x", 3, date(2024, 1, 2)], [], ["中文", 4.5, None]]
    assert rows_of(saved(tmp_path, [], rows, []), "item") == [
        (3, {"item": "x", "value": "3", "day": "2024-01-02"}),
        (5, {"item": "中文", "value": "4.5", "day": ""}),
    ]


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        (
            [[["item"], ["x"]], [["note"]]],
            "r.xlsx: 2 sheets have values: s1, s2; save the table as a workbook of its own.",
        ),
        ([[["item", None, "b"], ["x", 1, 2]]], "r.xlsx line 1: column 2 has no name; give each column its own name."),
        ([[["item", "item"], ["x", 1]]], "r.xlsx line 1: there are two columns named 'item'; give each column"),
        ([[["a"], ["x"]]], "r.xlsx line 1: there is no column 'item'; the columns are a."),
        ([[["item"], ["x", "beside"]]], "r.xlsx line 2: the row has a value beside the table; give its column a name"),
        ([[["item"]]], "r.xlsx: the file has no rows below its header;"),
        ([[]], "r.xlsx: the file has no rows below its header;"),
    ],
)
def test_what_is_no_table_is_named(tmp_path, sheets, message):
    with pytest.raises(BadRow) as refused:
        rows_of(saved(tmp_path, *sheets), "item")
    assert str(refused.value).startswith(message)


def test_other_files_under_the_name_of_a_workbook_are_refused(tmp_path):
    path = tmp_path / "r.xlsx"
    for content in (b"item,value\n", b"PK\x03\x04nonsense"):
        path.write_bytes(content)
        with pytest.raises(BadRow, match="not a workbook that can be read"):
            rows_of(path)
    path.write_bytes(b"")
    with pytest.raises(BadRow, match="the file is empty"):
        rows_of(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "LEAST_EXPANDED", 1_000_000)
    path = saved(tmp_path, [["item"], ["x"]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 50_000_000)
    with pytest.raises(BadRow, match="unpacks to more than"):
        rows_of(path)


def test_entities_of_a_part_are_not_expanded(tmp_path):
    path = saved(tmp_path, [["item"], ["x"]])
    hostile = tmp_path / "h.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(hostile, "w") as target:
        for part in source.infolist():
            content = source.read(part)
            if part.filename.startswith("xl/worksheets/"):
                content = b'<!DOCTYPE a [<!ENTITY b "bbbb">]>' + content
            target.writestr(part.filename, content)
    with pytest.raises(BadRow, match="not a workbook that can be read"):
        rows_of(hostile)


def test_a_claimed_row_far_below_does_not_count_to_it(tmp_path):
    path = saved(tmp_path, [["item"], ["x"]])
    hostile = tmp_path / "h.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(hostile, "w") as target:
        for part in source.infolist():
            target.writestr(part.filename, source.read(part).replace(b'<row r="2"', b'<row r="99999999"'))
    with pytest.raises(BadRow, match="more than 1,048,576 rows"):
        rows_of(hostile)
