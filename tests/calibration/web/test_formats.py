"""The files of a result page's tables."""

import json

from calibration.web.blocks import Block, Column, ResultPage, Table, interval_cells
from calibration.web.table_files import as_csv, as_json, as_latex, page_as_json


class Interval:
    low, high, interval_kind = 0.25, 0.75, "bootstrap95"


def table(*rows):
    return Table([Column("Rater"), *Column.interval("Alpha_1 & more", 2)], rows)


def test_an_interval_is_three_columns_and_three_cells():
    assert [column.label for column in table().columns] == ["Rater", "Alpha_1 & more", "From", "To"]
    assert interval_cells(0.5, Interval()) == (0.5, 0.25, 0.75)
    assert interval_cells(0.5, None) == (0.5, None, None)


def test_latex_escapes_its_signs_and_rounds_as_the_page():
    lines = as_latex(table(["50% of {x}_y\\z", 1 / 3, 0.1, None])).splitlines()
    assert lines[0] == r"\begin{tabular}{lrrr}"
    assert lines[2] == r"Rater & Alpha\_1 \& more & From & To \\"
    assert lines[4] == r"50\% of \{x\}\_y\textbackslash{}z & 0.33 & 0.10 & -- \\"


def test_latex_has_no_sign_that_its_usual_fonts_lack():
    lines = as_latex(table(["ρ, τ-b, κ, Δ ≥ 3 ≤ −2", -0.5, None, None])).splitlines()
    assert lines[4] == (r"$\rho$, $\tau$-b, $\kappa$, $\Delta$ $\geq$ 3 $\leq$ $-$2 & $-$0.50 & -- & -- \\")


def test_an_optional_column_is_shown_if_a_row_has_a_value():
    columns = [Column("Item"), Column("Published", 2, optional=True)]
    empty, filled = Table(columns, [["a", None]]), Table(columns, [["a", None], ["b", 0.0]])
    assert [column.label for column in empty.shown_columns] == ["Item"] and len(empty.shown[0]) == 1
    assert [cell.words for cell in filled.shown[1]] == ["b", "0.00"]
    assert as_csv(empty).splitlines() == ["\ufeffItem,Published", "a,"]
    assert r"\begin{tabular}{l}" in as_latex(empty)


def test_csv_and_json_keep_every_digit():
    shown = table(["=1+1", 1 / 3, float("nan"), float("inf")])
    assert as_csv(shown).splitlines()[1].startswith(f"'=1+1,{1 / 3!r},")
    assert json.loads(as_json(shown))["rows"] == [["=1+1", 1 / 3, None, "inf"]]


def test_a_page_as_json_holds_its_answer_and_every_block():
    blocks = [Block("alpha", "Alpha", table=table(["a", 0.5, None, None])), Block("none", "None", reason="Too few.")]
    found = json.loads(page_as_json(ResultPage("Agreement", "They agree.", blocks, []), {"answers_since": 2}))
    assert (found["answer"], found["answers_since"]) == ("They agree.", 2)
    assert [block["key"] for block in found["blocks"]] == ["alpha", "none"]
    assert found["blocks"][0]["table"]["rows"] == [["a", 0.5, None, None]]
    assert found["blocks"][1]["reason"] == "Too few." and found["blocks"][1]["table"] is None


def test_a_small_p_is_never_shown_as_zero_and_files_keep_it():
    table = Table([Column("Method"), Column.p()], [["a", 0.00003], ["b", 0.001], ["c", 0.0], ["d", None]])
    assert [row[1].words for row in table.shown] == ["< 0.001", "0.001", "< 0.001", "–"]
    assert as_csv(table).splitlines()[1] == "a,3e-05"
    assert r"\textless{} 0.001" in as_latex(table)
    # Other columns still show a zero as what it is.
    assert Column("n", 4).shown(0.0) == "0.0000"


def test_the_rows_of_a_table_are_escaped_and_lead_where_they_should():
    table = Table(
        [Column("Rater"), Column("Mean", 2), Column("Mark")],
        [["<b>ann</b>", 0.5, 'x" onclick="'], ["bob", None, ""]],
        links=["/a/?b=1&c='", ""],
        mark_links=["/mark/", ""],
    )
    first, second = table.body.split("\n")
    assert first == (
        '<tr><th scope="row"><a href="/a/?b=1&amp;c=&#x27;">&lt;b&gt;ann&lt;/b&gt;</a></th><td class="num">0.50</td>'
        '<td><a href="/mark/">x&quot; onclick=&quot;</a></td></tr>'
    )
    assert second == '<tr><th scope="row">bob</th><td class="num">–</td><td>–</td></tr>'
