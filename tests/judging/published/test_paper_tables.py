"""Papers' tables beside ours: the command in every form, what is stored for the page, and the page."""

import csv
import io
import json
import re

import pytest
from celery import current_app
from django.core.management import CommandError, call_command
from django.urls import reverse

from calibration.models import Report
from calibration.report_store.pruning import prune
from core.errors import UserError
from core.messages.message import Wording
from core.models import RequestedTask
from generation.models import Benchmark, Instruction, LanguageModel, Response
from judging.published import registry
from judging.published.computed_tables import KIND, TASK, compute_table
from judging.published.paper_table import PaperTable, Status, compared
from judging.published.registry import table_key
from judging.tasks import build_paper_table
from judging.web.leaderboards.paper_layout import table_name
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
NO_RESPONSES = Wording("test_no_responses", "Load the responses of %(model)s with load_responses.")
PRINTED = {"kite": 2.0, "lark": 11.0, "wren": 7.5}
"""Mean words as an imaginary paper printed them."""


def mean_words(workspace):
    """One figure a model: the mean words of its responses, and a count that was misprinted."""
    cells = []
    for model, printed in PRINTED.items():
        rows = Response.objects.filter(instruction__benchmark__workspace=workspace, model__name=model)
        words = list(rows.values_list("words", flat=True))
        ours = sum(words) / len(words) if words else None
        missing = NO_RESPONSES(model=model)
        cells.append(compared(model, "mean words", printed, ours, digits=1, missing=missing, reason="Seen elsewhere."))
        cells.append(
            compared(model, "n", 3, float(len(words)) if words else None, digits=0, missing=missing, misprint="Only 2.")
        )
    return cells


def refused(_workspace):
    raise UserError("The benchmark has two baselines; remove one.")


def table(number, compute=mean_words):
    titles = {"en": "Mean words | of birds", "zh-hans": "平均词数"}
    return PaperTable("birds", number, titles, "Somebody, a paper", compute)


@pytest.fixture
def tables(monkeypatch):
    known = (table("2"), table("figure 3"), table("4", refused))
    monkeypatch.setattr(registry, "paper_tables", lambda: {"birds": known})
    return known


@pytest.fixture
def workspace(tables):
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="birds", names={"en": "Birds"})
    models = [LanguageModel.objects.create(workspace=workspace, name=name) for name in ("kite", "lark")]
    for number in range(2):
        instruction = Instruction.objects.create(
            benchmark=benchmark, external_id=f"i{number}", messages=[{"role": "user", "content": "Write."}]
        )
        for model, words in zip(models, (2, 10 + number), strict=True):
            Response.objects.create(instruction=instruction, model=model, text="text", words=words)
    return workspace


def printed(*args, **options):
    out = io.StringIO()
    call_command("published_table", *args, stdout=out, **options)
    return out.getvalue()


def test_json_has_every_cell_with_its_status_and_reason(workspace):
    found = json.loads(printed("birds", "2", json=True))
    assert {key: found[key] for key in ("benchmark", "table", "cells", "equal")} == {
        "benchmark": "birds",
        "table": "2",
        "cells": 6,
        "equal": 1,
    }
    rows = {(row["row"], row["column"]): row for row in found["rows"]}
    assert rows["kite", "mean words"] == {
        "row": "kite",
        "column": "mean words",
        "printed": 2.0,
        "recomputed": 2.0,
        "status": "equal",
        "reason": "",
    }
    # 10 and 11 words: 10.5 on average, where 11.0 was printed.
    assert (rows["lark", "mean words"]["recomputed"], rows["lark", "mean words"]["status"]) == (10.5, "differs")
    assert (rows["lark", "n"]["status"], rows["lark", "n"]["reason"]) == ("misprint", "Only 2.")
    assert rows["wren", "n"]["status"] == "not computable"
    assert rows["wren", "n"]["reason"] == "Load the responses of wren with load_responses."


def test_other_forms_show_the_same_cells(workspace):
    lines = list(csv.reader(io.StringIO(printed("birds", "figure", "3", csv=True))))
    assert lines[0] == ["Row", "Column", "Printed", "Recomputed", "Status", "Reason"]
    assert lines[3] == ["lark", "mean words", "11.0", "10.5", "differs", "Seen elsewhere."]
    markdown = printed("birds", "2", markdown=True).splitlines()
    assert markdown[:3] == ["|  | mean words | n |", "| --- | ---: | ---: |", "| kite | 2.0 = | 3 / 2 [1] |"]
    assert "[2] differs, 1: Seen elsewhere." in markdown
    assert "Table 2: Mean words | of birds. Source: Somebody, a paper." in markdown
    latex = printed("birds", "2", latex=True)
    comments = [line for line in latex.splitlines() if line.startswith("%")]
    assert r"lark & 11.0 / 10.5 [2] & 3 / 2 [1] \\" in latex
    assert latex.splitlines()[len(comments)] == r"\begin{tabular}{lrr}"
    assert "% [2] differs, 1: Seen elsewhere." in comments
    assert "% 6 cells: 1 equal, 2 misprint, 1 differs, 2 not computable." in comments
    terminal = printed("birds", "2")
    assert "11.0 / 10.5 [2]" in terminal
    assert "6 cells: 1 equal, 2 misprint, 1 differs, 2 not computable." in terminal
    assert "[3] not computable, 2: Load the responses of wren with load_responses." in terminal


def test_the_list_counts_every_table_and_names_the_one_that_fails(workspace):
    found = json.loads(printed("birds", json=True))["tables"]
    assert [row["table"] for row in found] == ["2", "figure 3", "4"]
    assert found[0] | {"title": ""} == {
        "table": "2",
        "title": "",
        "cells": 6,
        "equal": 1,
        "misprint": 2,
        "differs": 1,
        "not_computable": 2,
    }
    assert found[2]["error"] == "The benchmark has two baselines; remove one."
    assert "Table 4: The benchmark has two baselines; remove one." in printed("birds")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("owls",), "No paper's tables are known for owls; they are known for: birds."),
        (("birds", "9"), "The paper of birds has no table 9 here; it has: 2, figure 3, 4."),
        (("birds", "4"), "The benchmark has two baselines; remove one."),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(workspace, asked, why):
    with pytest.raises(CommandError, match=why.replace("?", r"\?")):
        printed(*asked)


@pytest.mark.parametrize("written", ["figure 3", "Figure 3", "figure-3", "fig. 3", "Fig.3", "figure_3"])
def test_a_number_is_known_however_it_is_written(written):
    assert table_key(written) == "figure-3"
    assert table_key("Table 3") == table_key("3") == table_key("tab. 3") == "3"
    assert table_key("Section 4.3") == "section-4.3" and table_key("table B2") == "b2"


def test_tables_figures_and_sections_are_called_by_their_kind():
    numbers = ("3", "figure 3", "section 4.3", "B2")
    assert [table_name(table(one)) for one in numbers] == ["Table 3", "Figure 3", "Section 4.3", "Table B2"]


def test_a_computed_table_is_stored_once_and_survives_pruning(workspace, tables):
    first = compute_table(workspace, tables[0])
    Response.objects.filter(model__name="lark").update(words=11)
    second = compute_table(workspace, tables[0])
    assert (first.equal, second.equal) == (1, 2)
    row = Report.objects.get(kind=KIND)
    assert row.study is None and row.result["cells"][2]["status"] == Status.EQUAL
    prune()
    assert Report.objects.filter(pk=row.pk).exists()


@pytest.fixture
def address(workspace):
    return reverse("judging:paper_tables", args=[f"{workspace.slug}/birds"])


def work_of(workspace):
    """What a worker would be told: the arguments of every request that waits, which are then done."""
    rows = RequestedTask.objects.filter(task=TASK)
    asked = [tuple(row.arguments) for row in rows.order_by("pk")]
    rows.delete()
    return asked


def test_the_page_answers_at_once_and_a_worker_fills_it(workspace, address, client, monkeypatch):
    sent = []
    monkeypatch.setattr("judging.published.computed_tables.compute_table", None)
    monkeypatch.setattr("core.background.send", lambda task, *args, key="": sent.append((task, args)))
    client.force_login(make_user("analyst", workspace))
    html = markup(client.get(address))
    assert "is being computed in the background" in html and "birds, table" not in html
    asked = work_of(workspace)
    assert asked == [(workspace.pk, "birds", number) for number in ("2", "figure 3", "4")]
    for arguments in asked:
        build_paper_table(*arguments)
    html = markup(client.get(address))
    assert "being computed" not in html
    # The two tables that can be computed have the same six cells each.
    assert "2 of 12 printed cells come out equal here. 4 are misprints. 2 differ." in html
    assert "4 cannot be computed from what is loaded here." in html
    assert "The benchmark has two baselines; remove one." in html
    assert work_of(workspace) == []


def test_a_table_is_shown_beside_ours_with_its_reasons_in_both_languages(workspace, address, tables, client):
    compute_table(workspace, tables[1])
    client.force_login(make_user("lead", workspace))
    html = markup(client.get(address, {"table": "figure-3"}))
    assert "<h1>Figure 3</h1>" in html
    assert "Load the responses of wren with load_responses." in html
    assert 'href="#reason-2"' in html
    assert re.search(r'<li id="reason-2">\s*\[2\]', html), html[html.index("reason-2") :][:300]
    client.cookies["django_language"] = "zh-hans"
    assert "平均词数" in markup(client.get(address, {"table": "figure-3"}))


def test_an_outdated_table_stays_on_the_page_until_the_new_one_is_there(
    workspace, address, tables, client, monkeypatch
):
    compute_table(workspace, tables[0])
    client.force_login(make_user("lead", workspace))
    monkeypatch.setattr("core.background.send", lambda *args, key="": None)
    assert work_of(workspace) == []
    Response.objects.filter(model__name="kite").first().delete()
    Report.objects.update(created_at="2020-01-01T00:00:00Z")
    html = markup(client.get(address, {"table": "2"}))
    assert "10.5" in html and "is being computed in the background" in html
    # Nothing moves while nothing is new.
    waiting = client.get(address, {"table": "2", "waiting": "0"}, HTTP_HX_REQUEST="true")
    assert waiting.status_code == 204
    for arguments in work_of(workspace):
        build_paper_table(*arguments)
    fresh = client.get(address, {"table": "2", "waiting": "0"}, HTTP_HX_REQUEST="true")
    assert fresh.status_code == 200 and "being computed" not in markup(fresh)


def test_a_fault_is_stored_as_such_and_not_tried_again_for_the_same_rows(workspace, address, client, monkeypatch):
    tried = []

    def fault(_workspace):
        tried.append(1)
        raise ZeroDivisionError

    monkeypatch.setattr(registry, "paper_tables", lambda: {"birds": (table("2", fault),)})
    build_paper_table(workspace.pk, "birds", "2")
    build_paper_table(workspace.pk, "birds", "2")
    client.force_login(make_user("lead", workspace))
    assert "the log of the worker says why" in markup(client.get(address))
    assert tried == [1]


def test_files_have_what_the_command_prints(workspace, address, tables, client):
    for each in tables:
        compute_table(workspace, each)
    client.force_login(make_user("lead", workspace))
    found = json.loads(client.get(address, {"table": "2", "file": "table.json"}).content)
    assert found == json.loads(printed("birds", "2", json=True))
    answer = client.get(address, {"table": "2", "file": "table.csv"})
    assert answer.content.decode("utf-8-sig") == printed("birds", "2", csv=True)
    assert answer["Content-Disposition"] == 'attachment; filename="birds-table-2.csv"'
    assert client.get(address, {"table": "2", "file": "table.tex"}).content.decode() == printed(
        "birds", "2", latex=True
    )
    listed = list(csv.reader(io.StringIO(client.get(address, {"file": "tables.csv"}).content.decode("utf-8-sig"))))
    assert listed[1] == ["Table 2", "Mean words | of birds", "6", "1", "2", "1", "2"]
    assert client.get(address, {"file": "other.csv"}).status_code == 404
    assert client.get(address, {"table": "7"}).status_code == 404


def test_only_members_who_read_results_see_it_and_another_benchmark_has_none(workspace, address, client):
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(address).status_code == 404
    Benchmark.objects.create(workspace=workspace, slug="owls", names={"en": "Owls"})
    client.force_login(make_user("lead", workspace))
    html = markup(client.get(reverse("judging:paper_tables", args=[f"{workspace.slug}/owls"])))
    assert "tables are known for this benchmark" in html
    library = reverse("generation:benchmark", args=[f"{workspace.slug}/owls"])
    assert "Published tables" not in markup(client.get(library))
    Benchmark.objects.create(workspace=workspace, slug="wildbench", names={"en": "WildBench"})
    assert "Published tables" in markup(client.get(library.replace("owls", "wildbench")))


def test_the_task_has_a_queue_of_its_own_kind():
    assert current_app.conf.task_routes[TASK] == {"queue": "reports"}
