"""Reasons of cells are stored as messages, so that every reader has them in the own language; and notes on tables."""

import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from core.messages.message import Message, sentences
from core.messages.rendering import render
from generation.models import Benchmark
from judging.published.computed_tables import compute_table
from judging.published.papers import href, llmeval
from judging.published.registry import paper_tables
from tests.factories import make_user, make_workspace
from tests.llmeval_files import write_llmeval2
from tests.markup import markup

pytestmark = pytest.mark.django_db
TABLES = [pytest.param(table, id=f"{slug} {table.number}") for slug, rows in paper_tables().items() for table in rows]


@pytest.mark.parametrize("table", TABLES)
def test_what_is_missing_is_said_in_the_readers_language(table):
    reasons = {cell.reason for cell in table.compute(make_workspace()) if cell.reason}
    for reason in reasons:
        assert isinstance(reason, Message), reason
        assert render(reason, "zh-hans") != str(reason)


def test_why_cells_differ_is_said_in_the_readers_language(tmp_path):
    write_llmeval2(tmp_path)
    call_command("load_benchmark", "llmeval2", str(tmp_path), stdout=io.StringIO())
    workspace = Benchmark.objects.get(slug="llmeval2").workspace
    for table in llmeval.TABLES:
        for cell in table.compute(workspace):
            assert not cell.reason or isinstance(cell.reason, Message), (table.number, cell.reason)


def test_every_sentence_of_a_compound_reason_is_translated():
    both = sentences([href.ON_PAIRS(n=18), href.BOTH_RANDOM()])
    assert both == "Computed on 18 pairs. Both the paper's choices and ours are random."
    assert not set(render(both, "zh-hans")) & set("abcdefghijklmnopqrstuvwxyz")


def test_a_contradiction_of_the_paper_stands_beside_its_table(client):
    workspace = make_workspace()
    Benchmark.objects.create(workspace=workspace, slug="llmeval2")
    table = next(table for table in llmeval.TABLES if (table.benchmark, table.number) == ("llmeval2", "9"))
    compute_table(workspace, table)
    out = io.StringIO()
    call_command("published_table", "llmeval2", "9", workspace=workspace.slug, stdout=out)
    assert "Xunfei-Xinghuo's is 3.1 and CIIC-Zhigong's 11.7 less" in " ".join(out.getvalue().split())
    client.force_login(make_user("analyst", workspace))
    client.cookies["django_language"] = "zh-hans"
    html = markup(client.get(reverse("judging:paper_tables", args=[f"{workspace.slug}/llmeval2"]), {"table": "9"}))
    assert "与表8中的总分矛盾" in html
    assert "is stored" not in html and "Upload its files" not in html


def test_the_totals_of_all_but_two_models_follow_from_their_rows():
    """Least squares of table 8's totals on tables 9 and 10, in percent of full marks, without the models of the note."""
    import numpy as np

    published = llmeval.published_tables("llmeval2")
    rows = published["table_8"]["rows"]
    for side, place in (("judge", 0), ("people", 2)):
        shares = {
            model: [
                sum(published["table_9"]["criteria"][side][model]) / 5 * 100,
                sum(published["table_10"]["criteria"][side][model]) / 14 * 100,
            ]
            for model in rows
        }
        fitted = [model for model in rows if model not in llmeval.MIXED]
        totals = np.array([rows[model][place] for model in fitted])
        weights = np.linalg.lstsq(np.array([shares[model] for model in fitted]), totals, rcond=None)[0]
        gaps = {model: rows[model][place] - float(np.array(shares[model]) @ weights) for model in rows}
        assert max(abs(gaps[model]) for model in fitted) < 0.3
        if side == "judge":
            assert gaps["Xunfei-Xinghuo"] == pytest.approx(-3.1, abs=0.05)
            assert gaps["CIIC-Zhigong"] == pytest.approx(-11.7, abs=0.05)
            exchanged = np.array(shares["CIIC-Zhigong"]) @ weights
            assert abs(rows["Xunfei-Xinghuo"][place] - exchanged) < 0.3
        else:
            assert max(abs(gap) for gap in gaps.values()) < 0.3
