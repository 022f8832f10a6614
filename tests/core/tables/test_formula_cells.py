"""No text of a CSV file is run as a formula by a spreadsheet, and our own files are read back as they were."""

import csv
import io
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from calibration.web.blocks import Column, Table
from calibration.web.table_files import as_csv
from core.tables.bad_rows import BadRow
from core.tables.formula_cells import CsvWriter, escaped, unescaped
from core.tables.reading import read_rows
from core.tables.rows_left_out import SkippedRows

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = ["=1+1", "+1+cmd|'/c calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", '=HYPERLINK("x";"y")']
RUN = tuple("=+-@\t\r\n＝＋－＠")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_formula_begins_with_an_apostrophe(text):
    assert escaped(text).startswith("'") and unescaped(escaped(text)) == text


@pytest.mark.parametrize("text", ["", "plain", "-5", "+3.25", "-1e-07", "a=b", "'quoted'", "'@' is a sign", "1-2"])
def test_other_texts_and_numbers_stay_as_they_are(text):
    assert escaped(text) == text == unescaped(text)


@given(st.text(alphabet="'=+-@\t\r\n＝a1 .e"))
def test_every_text_comes_back_and_none_is_run(text):
    cell = escaped(text)
    assert unescaped(cell) == text
    try:
        float(cell)
    except ValueError:
        assert not cell.startswith(RUN)


@given(st.lists(st.tuples(st.text(alphabet="'=+-@\t\r\n\",;a1"), st.text(min_size=1)), min_size=1, max_size=5))
def test_a_table_that_we_wrote_is_read_as_it_was(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("round") / "table.csv"
    storable = [(text, other.replace("\x00", "").encode("utf-8", "ignore").decode() or "x") for text, other in rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow(["=item", "@other"])
        for row in storable:
            writer.writerow(row)
    assert [(row.values["=item"], row.values["@other"]) for row in read_rows(path, ["=item"])] == storable


def cells(text):
    return [cell for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")) for cell in row]


def test_a_table_of_a_page_escapes_names_of_columns_and_values_and_keeps_numbers():
    table = Table(
        [Column("=model"), Column("score", 2)], [[text, -0.5] for text in HOSTILE] + [["-", Decimal("-1.50")]]
    )
    found = cells(as_csv(table))
    assert {"'=model", "-0.5", "-1.50", "'-"} <= set(found)
    assert [cell for cell in found if cell.startswith(RUN) and cell not in ("-0.5", "-1.50")] == []


def test_a_report_of_rows_left_out_escapes_what_the_file_said(tmp_path):
    skipped = SkippedRows()
    skipped(BadRow("=cmd.csv", 3, "@reason", "-remedy"))
    path = skipped.write(tmp_path, "ratings", datetime(2026, 1, 1))
    assert cells(path.read_text(encoding="utf-8"))[4:] == ["'=cmd.csv", "3", "'@reason", "'-remedy"]


def test_every_csv_file_is_written_by_the_one_writer():
    folders = ("core", "accounts", "generation", "annotation", "calibration", "judging", "config")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    writers = [file.name for file in files if "csv.writer(" in file.read_text() or "DictWriter" in file.read_text()]
    assert len(files) > 400 and writers == ["formula_cells.py"]
