"""Rows of tables: every format gives the same rows, and what cannot be read is named with file, line and remedy."""

import gzip
import json
from datetime import date
from decimal import Decimal

import pyarrow as arrow
import pytest
from hypothesis import given, strategies as st
from pyarrow import parquet

from core.tables import reading as table
from core.tables.bad_rows import BadRow
from core.tables.reading import json_lines, read_rows
from core.text import storable

CSV = b"item,rater,value\nx,p0,3\ny,p1,4\n"


def rows_of(path, *columns, **options):
    return [(row.place.line, dict(row.values)) for row in read_rows(path, columns, **options)]


def written(folder, name, content):
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
    return path


ROWS = [{"item": "x", "rater": "p0", "value": "3"}, {"item": "y", "rater": "p1", "value": "4"}]
JSONL = b"".join(json.dumps({**row, "value": int(row["value"])}).encode() + b"\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("r.csv", CSV, [2, 3]),
        ("r.csv.gz", CSV, [2, 3]),
        ("r.csv", b"\xef\xbb\xbf" + CSV, [2, 3]),
        ("r.tsv", CSV.replace(b",", b"\t"), [2, 3]),
        ("R.TSV", CSV.replace(b",", b"\t"), [2, 3]),
        ("old.tsv.csv", CSV, [2, 3]),
        ("R.CSV.GZ", CSV, [2, 3]),
        ("r.jsonl", JSONL, [1, 2]),
        ("r.jsonl.gz", JSONL, [1, 2]),
    ],
)
def test_formats_give_the_same_rows(tmp_path, name, content, lines):
    assert rows_of(written(tmp_path, name, content), "item") == list(zip(lines, ROWS, strict=True))


def test_parquet_gives_the_same_rows(tmp_path):
    path = tmp_path / "r.parquet"
    parquet.write_table(arrow.Table.from_pylist(ROWS), path)
    assert rows_of(path, "item") == [(1, ROWS[0]), (2, ROWS[1])]


def test_a_parquet_files_own_kinds_of_values_come_as_plain_text(tmp_path):
    path = tmp_path / "r.parquet"
    row = {"price": Decimal("1.50"), "day": date(2024, 1, 2), "raw": b"abc", "list": ["a", "b"], "on": True}
    parquet.write_table(arrow.Table.from_pylist([row]), path)
    assert rows_of(path) == [
        (1, {"price": "1.50", "day": "2024-01-02", "raw": "abc", "list": '["a", "b"]', "on": "True"})
    ]


def test_a_very_long_text_is_read_from_csv(tmp_path):
    text = "word " * 200_000
    path = written(tmp_path, "r.csv", f'item,value\nx,"{text}"\n'.encode())
    assert rows_of(path) == [(2, {"item": "x", "value": text})]


def test_a_value_over_several_lines_counts_where_it_ends(tmp_path):
    path = written(tmp_path, "r.csv", b'item,value\n"a\nb",1\nc,2\n')
    assert rows_of(path) == [(3, {"item": "a\nb", "value": "1"}), (4, {"item": "c", "value": "2"})]


def test_missing_values_are_empty(tmp_path):
    path = written(tmp_path, "r.jsonl", b'{"a": null, "b": NaN, "c": true}\n')
    assert rows_of(path, "a") == [(1, {"a": "", "b": "", "c": "True"})]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.csv", b"", "r.csv: the file is empty; check that the file was written or copied completely."),
        ("r.jsonl", b"", "r.jsonl: the file is empty; check that the file was written or copied completely."),
        ("r.parquet", b"", "r.parquet: the file is empty; check that the file was written or copied completely."),
        ("r.csv.gz", b"", "r.csv.gz: the file is empty; check that the file was written or copied completely."),
        (
            "r.csv",
            b"item,rater,value\n",
            "r.csv: the file has no rows below its header; check that the file was written or copied completely.",
        ),
        ("r.csv", b"rater,value\np0,3\n", "r.csv line 1: there is no column 'item'; the columns are rater, value."),
        ("r.jsonl", b'{"a": 1}\n', "r.jsonl line 1: there is no column 'item'; the columns are a."),
        (
            "r.csv",
            b"item,item\nx,y\n",
            "r.csv line 1: there are two columns named 'item'; give each column its own name.",
        ),
        (
            "r.csv",
            b"item,value\nx,3\ny,\xff4\n",
            "r.csv line 3: byte 3 of the line is not UTF-8; save the file as UTF-8.",
        ),
        (
            "r.csv",
            b"item,value\nx,3,4\n",
            "r.csv line 2: the row has 3 values for 2 columns; quote values that contain commas.",
        ),
        (
            "r.csv",
            b'item,value\nx,"3\ny,4\n',
            "r.csv line 3: the file is not valid CSV (unexpected end of data); "
            "check the quotation marks in and above this line.",
        ),
        (
            "r.jsonl",
            b'{"item": 1}\n{"item":\n',
            "r.jsonl line 2: the line is not valid JSON; write one JSON object per line.",
        ),
        ("r.jsonl", b"[1]\n", "r.jsonl line 1: the line is not a JSON object; write one JSON object per line."),
        (
            "r.parquet",
            b"PAR1nonsense",
            "r.parquet: the file is not valid Parquet; check that the file was written or copied completely.",
        ),
        ("r.jsonl", b"item\n", "r.jsonl line 1: the line is not valid JSON; write one JSON object per line."),
        ("r.jsonl", b"NaN\n", "r.jsonl line 1: the line is not a JSON object; write one JSON object per line."),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, name, content, message):
    with pytest.raises(BadRow) as refused:
        rows_of(written(tmp_path, name, content), "item")
    assert str(refused.value) == message


def test_a_truncated_gzip_is_named(tmp_path):
    whole = gzip.compress(b"item\n" + b"".join(b"row%d\n" % n for n in range(20_000)))
    path = tmp_path / "r.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadRow, match=r"^r\.csv\.gz line \d+: the gzip file ends early; copy or download it again\.$"):
        rows_of(path)


def test_a_file_that_is_no_gzip_is_named(tmp_path):
    path = tmp_path / "r.csv.gz"
    path.write_bytes(CSV)
    with pytest.raises(BadRow, match=r"^r\.csv\.gz line 1: the gzip file is damaged; copy or download it again\.$"):
        rows_of(path)


def test_a_missing_file_and_an_unknown_ending_are_named(tmp_path):
    with pytest.raises(BadRow, match=r"^r\.csv: the file cannot be opened \(No such file or directory\);"):
        rows_of(tmp_path / "r.csv")
    with pytest.raises(BadRow, match=r"^r\.parquet: the file cannot be opened"):
        rows_of(tmp_path / "r.parquet")
    with pytest.raises(BadRow, match=r"the name does not end in"):
        rows_of(written(tmp_path, "r.xls", CSV))


def test_bad_rows_may_be_collected_while_the_rest_is_read(tmp_path):
    path = written(tmp_path, "r.csv", b"item,value\nx,3\n\xff,4\ny,5,6\nz,7\n")
    problems = []
    assert [line for line, _values in rows_of(path, on_bad=problems.append)] == [2, 5]
    assert [problem.line for problem in problems] == [3, 4]


def test_nothing_unstorable_gets_through(tmp_path):
    path = written(tmp_path, "r.jsonl", b'{"a": "x\\u0000y\\ud800"}\n')
    assert rows_of(path) == [(1, {"a": "x\ufffdy\ufffd"})]
    path = written(tmp_path, "r.csv", b"a\nx\x00y\n")
    assert rows_of(path) == [(2, {"a": "x\ufffdy"})]


@given(st.text())
def test_storable_texts_stay_as_they_are(text):
    assert storable(text) == text.replace("\0", "\ufffd")


def test_blank_json_lines_are_passed_over(tmp_path):
    path = written(tmp_path, "r.jsonl", b'\n{"a": 1}\n\n')
    assert [(place.line, value) for place, value in json_lines(path)] == [(2, {"a": 1})]


def test_a_table_that_expands_a_thousandfold_is_refused_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "LEAST_EXPANDED", 1_000_000)
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(8):
            file.write(b"a,b\n" + b"1,2\n" * 250_000)
    taken = []
    take = table.Unpacked.take
    monkeypatch.setattr(table.Unpacked, "take", lambda self, size: (taken.append(size), take(self, size))[1])
    with pytest.raises(BadRow, match=r"bomb.csv.gz: the file unpacks to more than .* PLUMBLINE_TABLE_EXPANSION"):
        list(read_rows(path))
    assert sum(taken) < 250 * path.stat().st_size < 8_000_000


def test_the_operator_may_let_a_table_expand_further(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "LEAST_EXPANDED", 1_000_000)
    monkeypatch.setattr(table, "most_expansion", 2_000)
    path = tmp_path / "large.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 300_000)
    assert sum(1 for _row in read_rows(path)) == 300_000


def test_parquet_that_says_one_value_a_million_times_is_refused(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(table, "LEAST_EXPANDED", 1_000_000)
    path = tmp_path / "bomb.parquet"
    parquet.write_table(arrow.table({"a": ["x" * 10_000] * 10_000}), path)
    with pytest.raises(BadRow, match="unpacks to more than"):
        list(read_rows(path))


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "LONGEST_LINE", 1_000)
    path = tmp_path / "long.jsonl"
    path.write_text('{"a": "' + "x" * 2_000 + '"}')
    with pytest.raises(BadRow, match="line 1: the line is longer"):
        list(read_rows(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.json"])
def test_wide_encodings_are_named(tmp_path, name, encoding):
    with pytest.raises(BadRow, match=r"the file is UTF-16 or UTF-32, not UTF-8; save the file as UTF-8\."):
        rows_of(written(tmp_path, name, CSV.decode().encode(encoding)), on_bad=lambda problem: None)


def test_a_row_with_a_line_in_another_encoding_is_left_out_whole(tmp_path):
    path = written(tmp_path, "r.csv", b'item,value\nx,"one\n' + "二".encode("gbk") + b'\nthree"\ny,4\n')
    problems = []
    assert rows_of(path, on_bad=problems.append) == [(5, {"item": "y", "value": "4"})]
    assert [str(problem) for problem in problems] == [
        "r.csv line 3: byte 1 of the line is not UTF-8, but could be GBK; save the file as UTF-8."
    ]


def test_a_broken_quotation_leaves_out_one_row(tmp_path):
    path = written(tmp_path, "r.csv", b'item,value\nx,3\n"y"z,4\nw,5\n')
    problems = []
    assert [line for line, _values in rows_of(path, on_bad=problems.append)] == [2, 4]
    assert [problem.line for problem in problems] == [3]


def test_where_every_row_is_bad_the_first_problem_is_the_reason(tmp_path):
    path = written(tmp_path, "r.csv", b"item,value\n\xff,1\n\xff,2\n")
    with pytest.raises(BadRow, match="line 2: byte 1 of the line is not UTF-8"):
        rows_of(path, on_bad=lambda problem: None)
