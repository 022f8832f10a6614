"""Of two judges one failed its canary texts: only the cells that rest on its verdicts say so, in every form."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from accounts.models import Workspace
from annotation.models import Assignment, Rater
from calibration.web.blocks import Column, Table
from calibration.web.table_files import as_latex
from generation.models import Benchmark
from judging.published.computed_tables import ComputedTable, compute_table
from judging.published.paper_table import PaperTable, compared
from judging.published.registry import table_numbered
from judging.web.leaderboards.paper_layout import DAGGER, dagger_note, laid_out
from tests.factories import make_user
from tests.judging.published.test_hellobench_tables import people_answer, summaries_by_two_models
from tests.markup import markup

HONEST, FAILED = "gpt-4o", "gpt2-large"
FROM_FAILED = {("PPL", "rho"), ("PPL", "p")}


@pytest.fixture
def workspace(tmp_path, db):
    """HelloBench's table 4: two rows by gpt-4o, one by gpt2-large, five counted in the texts; gpt2-large failed."""
    names, _people = summaries_by_two_models(tmp_path)
    values = {"claude35": (10, 20, 30), "qwen2_72b": (40, 20, 90)}
    rows = [(name, model, "", own[n]) for model, own in values.items() for n, name in enumerate(names)]
    people_answer(tmp_path, "ppl", "perplexity", rows, "--scale", "perplexity=1:1000", judge=FAILED)
    first = Assignment.objects.filter(rater__in=Rater.objects.filter(label=FAILED)).order_by("pk").first()
    Assignment.objects.filter(pk=first.pk).update(discredited=True)
    return Workspace.objects.get()


def printed(**options):
    out = io.StringIO()
    call_command("published_table", "hellobench", "4", stdout=out, **options)
    return out.getvalue()


def test_each_form_marks_the_cells_of_the_failed_judge_and_no_other(workspace):
    cells = {(cell.row, cell.column): cell for cell in table_numbered("hellobench", "4").compute(workspace)}
    assert {cell.judges for place, cell in cells.items() if cell.recomputed is not None} == {(), (HONEST,), (FAILED,)}
    assert cells["HelloEval", "rho"].judges == (HONEST,) and cells["Distinct-4", "rho"].recomputed is not None
    found = json.loads(printed(json=True))
    assert found["failed_judges"] == [FAILED]
    marked = {(row["row"], row["column"]): row["failed_judges"] for row in found["rows"]}
    assert {place for place, names in marked.items() if names} == FROM_FAILED and marked["PPL", "p"] == [FAILED]
    lines = list(csv.DictReader(io.StringIO(printed(csv=True))))
    column = "Judges that failed their canary texts"
    assert {(line["Row"], line["Column"]) for line in lines if line[column]} == FROM_FAILED
    for text, sign in ((printed(markdown=True), DAGGER), (printed(latex=True), r"$\dagger$"), (printed(), DAGGER)):
        rows = [line for line in text.splitlines() if line.count("|") > 2 or " & " in line or "│" in line]
        assert {line.count(sign) for line in rows if "PPL" in line} == {2}, text
        assert not any(sign in line for line in rows if "PPL" not in line), text
        assert f"canary texts ({FAILED})" in " ".join(text.split())


def test_the_page_marks_the_same_cells_and_leads_to_the_reason(workspace, client):
    compute_table(workspace, table_numbered("hellobench", "4"))
    client.force_login(make_user("lead", workspace))
    address = reverse("judging:paper_tables", args=[Benchmark.objects.get(slug="hellobench")])
    html = markup(client.get(address, {"table": "4"}))
    rows = {row.split("</th>")[0]: row.count('href="#failed-judges"') for row in html.split('<th scope="row">')[1:]}
    assert {name: n for name, n in rows.items() if n} == {"PPL": 2} and len(rows) > 5
    assert html.count('id="failed-judges"') == 1
    found = client.get(address, {"table": "4", "file": "table.md"}).content.decode()
    assert found.count(DAGGER) == 3
    Assignment.objects.filter(discredited=True).update(discredited=None)
    html = markup(client.get(address, {"table": "4"}))
    assert "failed-judges" not in html and DAGGER not in html


def test_a_cell_without_a_number_rests_on_nobody():
    cells = [
        compared("a", "x", 1.0, 1.0, digits=0, judges=["kind", "stern", "kind"]),
        compared("a", "y", 1.0, None, digits=0, missing="Load it.", judges=["stern"]),
        compared("b", "x", 1.0, 2.0, digits=0, reason="Why."),
    ]
    assert [cell.judges for cell in cells] == [("kind", "stern"), (), ()]
    table = PaperTable("birds", "1", {"en": "Birds"}, "Somebody", lambda _workspace: cells)
    found = laid_out(ComputedTable(table, tuple(cells)), ["stern"])
    words = [[cell and cell.words for cell in row] for _name, row in found.rows]
    assert words == [[f"1 = {DAGGER}", "1 / – [1]"], ["1 / 2 [2]", None]]
    assert "stern" in dagger_note(found) and "kind" not in dagger_note(found)
    assert dagger_note(laid_out(ComputedTable(table, tuple(cells)), ["absent"])) == ""
    assert r"$\dagger$" in as_latex(Table([Column("x")], [[f"1 {DAGGER}"]]))
