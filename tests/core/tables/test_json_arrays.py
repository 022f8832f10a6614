"""JSON arrays as tables: read in pieces, every element named by its line and number, broken ones with what was read."""

import gzip
import json

import pytest
from hypothesis import example, given, strategies as st

from core.tables import reading as table
from core.tables.bad_rows import BadRow
from core.tables.json_arrays import BrokenArray, array_elements, member_at
from core.tables.reading import read_rows

ROWS = [{"item": "x", "value": 3}, {"item": "y", "value": 4}]
VALUES = st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(), st.lists)


def rows_of(path, *columns, **options):
    return [(row.place.line, dict(row.values)) for row in read_rows(path, columns, **options)]


def written(folder, name, content):
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["r.json", "r.json.gz"])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (json.dumps(ROWS).encode(), [1, 1]),
        (b"\xef\xbb\xbf" + json.dumps(ROWS, indent=1).encode(), [2, 6]),
        (b"".join(json.dumps(row).encode() + b"\n" for row in ROWS), [1, 2]),
    ],
)
def test_an_array_or_lines_give_the_same_rows(tmp_path, name, content, lines):
    expected = [{"item": "x", "value": "3"}, {"item": "y", "value": "4"}]
    assert rows_of(written(tmp_path, name, content), "item") == list(zip(lines, expected, strict=True))


@example([0.5, 1e22, -3e-7, 12], 1, None)
@given(st.lists(VALUES), st.integers(1, 7), st.sampled_from([None, 1]))
def test_however_the_text_is_cut_the_values_are_those_of_json(values, size, indent):
    text = json.dumps(values, indent=indent)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    found = list(array_elements(pieces, 10_000))
    assert [element.value for element in found] == values
    assert [element.number for element in found] == list(range(1, len(values) + 1))
    if indent and values:
        assert found[0].line == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"item": 1}, {"item": }]', "r.json line 1: element 2 is not valid JSON (Expecting value)"),
        (b'[{"item": 1},\n{"item": 2}', "r.json line 2: after element 2 there is neither a comma nor a closing"),
        (b'[{"item": 1}]\n[]', "r.json line 2: there is text after the end of the array"),
        (b'[{"item": 1}, 7]', "r.json line 1: element 2: it is not a JSON object; write one JSON object per row."),
        (b'[{"item": 1}, {"item": "\xd6\xd0"}]', "r.json line 1: element 2: it has bytes that are not UTF-8;"),
        (b'[{"it": 1}]', "r.json line 1: element 1: there is no column 'item'; the columns are it."),
        (b'{\n "a": 1}', "r.json line 1: the file is neither an array of JSON objects nor one JSON object per line;"),
        (b'"a"', "r.json line 1: the file does not begin with [; write the file as one array"),
        (b"[]", "r.json: the file has no rows below its header;"),
        (b"", "r.json: the file is empty;"),
    ],
)
def test_what_cannot_be_read_is_named_by_line_and_element(tmp_path, content, message):
    with pytest.raises(BadRow) as refused:
        rows_of(written(tmp_path, "r.json", content), "item")
    assert str(refused.value).startswith(message)


def test_what_stands_before_a_break_is_read_where_bad_rows_are_left_out(tmp_path):
    problems = []
    path = written(tmp_path, "r.json", b'[{"a": 1}, 2, {"a": "\xd6\xd0"}, {"a": 4}, {"a": }, {"a": 6}]')
    assert [row["a"] for _line, row in rows_of(path, on_bad=problems.append)] == ["1", "4"]
    assert [problem.line for problem in problems] == [1, 1, 1]


def test_an_element_without_an_end_and_a_bomb_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "LONGEST_LINE", 1_000)
    with pytest.raises(BadRow, match="element 1 is longer than 1,000 characters"):
        rows_of(written(tmp_path, "r.json", b'[{"a": "' + b"x" * 3_000_000))
    monkeypatch.setattr(table, "LEAST_EXPANDED", 100_000)
    with pytest.raises(BadRow, match="unpacks to more than"):
        rows_of(written(tmp_path, "r.json.gz", b"[" + b'{"a": 1},' * 200_000 + b"{}]"))


def test_lists_keep_their_parts_and_one_value_in_a_list_is_that_value(tmp_path):
    path = written(tmp_path, "r.json", b'[{"a": ["x"], "b": ["x", "y"], "c": {"k": 1}, "d": []}]')
    (row,) = read_rows(path)
    assert (row.one("a"), row.one("d"), row.texts("b")) == ("x", "", ["x", "y"])
    with pytest.raises(BadRow, match=r"r\.json line 1: element 1: b holds a list of 2 where one value belongs"):
        row.one("b")
    with pytest.raises(BadRow, match="c holds an object"):
        row.one("c")


@given(size=st.integers(1, 40))
def test_a_member_is_found_however_the_text_is_cut_and_nothing_after_it_is_read(size):
    text = '{"a": [1, {"eval": 0}], "eval": {"model": "m", "n": 1.5}, "samples": [broken'
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert member_at(pieces, ["eval"], 1000) == {"model": "m", "n": 1.5}
    assert member_at(pieces, ["eval", "n"], 1000) == 1.5
    with pytest.raises(BrokenArray):
        member_at(pieces, ["results"], 1000)
