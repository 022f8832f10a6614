"""Papers' tables beside ours: the command in every form, what is stored for the page, and the page."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from calibration.models import Report
from calibration.report_store.pruning import prune
from core.errors import UserError
from core.messages.message import Wording
from generation.models import Benchmark, Instruction, LanguageModel, Response
from judging.published import registry
from judging.published.computed_tables import KIND, compute_table
from judging.published.paper_table import PaperTable, Status, compared
from judging.published.registry import table_key
from tests.factories import make_workspace

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
    assert r"lark & 11.0 / 10.5 [2] & 3 / 2 [1] \\" in latex and latex.startswith(r"\begin{tabular}{lrr}")
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
    assert table_key("Table 3") == table_key("3") == "3"


def test_a_computed_table_is_stored_once_and_survives_pruning(workspace, tables):
    first = compute_table(workspace, tables[0])
    Response.objects.filter(model__name="lark").update(words=11)
    second = compute_table(workspace, tables[0])
    assert (first.equal, second.equal) == (1, 2)
    row = Report.objects.get(kind=KIND)
    assert row.study is None and row.result["cells"][2]["status"] == Status.EQUAL
    prune()
    assert Report.objects.filter(pk=row.pk).exists()
