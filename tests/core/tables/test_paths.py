"""Dotted paths into objects of JSON and Parquet, as names of columns."""

import json

import pyarrow
import pyarrow.parquet
import pytest

from core.tables.bad_rows import BadRow
from core.tables.paths import value_at
from core.tables.reading import read_rows
from core.tables.rows import unread

ROW = {"data": {"turns": [{"text": "Ask."}], "a.b": 1}, "data.c": 2, "id": "x"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data.turns[0].text", "Ask."),
        ("data.turns.0.text", "Ask."),
        ("data.a.b", 1),
        ("data.c", 2),
        ("data.turns[1].text", None),
        ("data.none.text", None),
        ("id.length", None),
    ],
)
def test_a_path_leads_to_a_value_or_to_none(path, found):
    assert value_at(ROW, path) == found


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.parquet"])
def test_tables_have_columns_by_path(tmp_path, name):
    path = tmp_path / name
    rows = [{"id": "1", "data": {"prompt": "p", "turns": [{"text": "t"}]}}, {"id": "2", "data": {"prompt": None}}]
    if name == "rows.json":
        path.write_text(json.dumps(rows))
    elif name == "rows.jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    met = {}
    wanted = ["id", "data.prompt", "data.turns[0].text"]
    found = [[row.one(column) for column in wanted] for row in read_rows(path, wanted, met=met)]
    assert found == [["1", "p", "t"], ["2", "", ""]]
    assert unread(met, wanted) == []
    with pytest.raises(BadRow, match=r"there is no column 'other\.prompt'"):
        list(read_rows(path, ["other.prompt"]))
