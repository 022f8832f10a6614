"""Tables that are wider than the terminal: turned, or in parts."""

from io import StringIO

from rich.console import Console

from calibration.management.terminal_tables import terminal_tables
from calibration.web.blocks import Column, Table


def printed(table, width):
    paper = StringIO()
    console = Console(file=paper, width=width)
    parts = terminal_tables(table, width, title="Scores [all]")
    for part in parts:
        console.print(part)
    return len(parts), paper.getvalue()


def board(models, categories):
    columns = [Column("Model"), *(Column(f"category number {n}", 2) for n in range(categories))]
    return Table(columns, [[f"model{m}", *(10.0 * m + n for n in range(categories))] for m in range(models)])


def test_a_table_that_fits_stays_as_it_is():
    parts, text = printed(board(2, 3), 100)
    assert parts == 1 and "Scores [all]" in text
    assert next(line for line in text.splitlines() if "model1" in line).split("│")[1:-1] == [
        " model1 ",
        "             10.00 ",
        "             11.00 ",
        "             12.00 ",
    ]


def test_seventeen_categories_become_rows_and_no_name_is_cut():
    parts, text = printed(board(5, 17), 100)
    assert parts == 1
    assert all(f"category number {n} " in text for n in range(17))
    assert "…" not in text and max(map(len, text.splitlines())) <= 100
    row = next(line for line in text.splitlines() if "category number 16" in line)
    assert row.replace("│", " ").split() == ["category", "number", "16", "16.00", "26.00", "36.00", "46.00", "56.00"]


def test_what_is_wide_both_ways_comes_in_parts_with_the_names_in_each():
    parts, text = printed(board(30, 17), 100)
    assert parts > 1 and "…" not in text
    assert all(f"model{m} " in text for m in range(30)) and text.count("category number 16") == parts


def test_brackets_are_text():
    _parts, text = printed(Table([Column("Name"), Column("Cell")], [["[red]a", "71.0 / 70.2 [1]"]]), 80)
    assert "[red]a" in text and "70.2 [1]" in text
