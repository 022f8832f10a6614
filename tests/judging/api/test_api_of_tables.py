"""The API's printed tables, rankings beside each other and scores by length: what the commands print as JSON."""

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from judging.published.computed_tables import compute_table
from judging.published.registry import table_numbered, tables_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_user
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
UP, DOWN = "up", "down"


@pytest.fixture
def study():
    """Two judges who rank five models the other way round, but on the one instruction tagged "short" alike."""
    study = make_checklist_study(instructions=20, models=5)
    short = study.benchmark.instructions.order_by("pk").first()
    short.tags = ["short"]
    short.save(update_fields=["tags"])
    for label, turned in ((UP, False), (DOWN, True)):
        judge = make_judge_rater(study.workspace, label)
        for task in study.tasks.select_related("response_a__model"):
            number = int(task.response_a.model.name[-1])
            alike = task.response_a.instruction_id == short.pk
            level = (4 - number if turned or alike else number) / 4
            make_answer(task, judge, {"item0": level, "item1": level, "item2": 0.5})
    return study


def printed(*asked):
    call_command(*asked, "--json", stdout=(out := io.StringIO()))
    return json.loads(out.getvalue())


@pytest.fixture
def ask(client, study):
    client.force_login(make_user("lead", study.workspace))

    def get(path, status=200, **query):
        answer = client.get(f"/api/v1/w/{study.workspace.slug}/{path}", query)
        assert answer.status_code == status, answer.content
        return answer.json()

    return get


def test_rankings_are_what_the_command_prints(study, ask, client):
    slug = study.benchmark.slug
    found = ask(f"leaderboards/{slug}/rankings/", judge=UP, with_judge=DOWN, top=3)
    assert found == printed("compare_rankings", slug, "--judge", UP, "--with-judge", DOWN, "--top", "3")
    assert found["all"]["spearman"]["value"] == pytest.approx(-1) and found["asked"] == 3
    beside = ask(f"leaderboards/{slug}/rankings/", judge=UP, scores="model0,1\nmodel1,2\nmodel2,3\n")
    address = reverse("api:rankings", args=[study.workspace.slug, slug])
    page = reverse("judging:rankings_beside", args=[study.benchmark])
    other = f"{slug}/{study.workspace.raters.get(label=DOWN).public_id}"
    asked = {"judge": UP, "with_judge": DOWN, "top": "3"}
    of_page = {"judge": UP, "weights": "equal", "other": other, "top": "3"}
    assert "ranks.svg" in check_files(client, address, page, asked, asked_of_page=of_page)
    assert beside["all"]["n"] == 3 and beside["alone"] == ["model3", "model4"]


def test_rankings_are_of_a_tag_where_one_is_named(study, ask):
    slug, asked = study.benchmark.slug, {"judge": UP, "with_judge": DOWN}
    found = ask(f"leaderboards/{slug}/rankings/", tag="short", **asked)
    assert found["all"]["spearman"]["value"] == pytest.approx(1)
    assert found == printed("compare_rankings", slug, "--judge", UP, "--with-judge", DOWN, "--tag", "short")
    assert ask(f"leaderboards/{slug}/rankings/", **asked)["all"]["spearman"]["value"] == pytest.approx(-1)
    assert "no verdict" in ask(f"leaderboards/{slug}/rankings/", 400, tag="long", **asked)["detail"].lower()


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"judge": UP}, "Say with what to compare"),
        ({"judge": UP, "with_judge": DOWN, "scores": "a,1"}, "Say with what to compare"),
        ({"judge": UP, "with_judge": "nobody"}, "No judge 'nobody'"),
        ({"judge": UP, "with_judge": DOWN, "top": "-1"}, "top must be a whole number"),
        ({"judge": UP, "with_judge": DOWN, "margin": "wide"}, "margin must be a whole number"),
        ({"judge": UP, "scores": "model0,high\nmodel1,low"}, "is no number"),
        ({"judge": UP, "scores": "model0,1"}, "3"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(study, ask, query, why):
    assert why in ask(f"leaderboards/{study.benchmark.slug}/rankings/", 400, **query)["detail"]


def test_printed_tables_are_what_the_command_prints(study, ask, client):
    study.benchmark.slug = "longgenbench"
    study.benchmark.save(update_fields=["slug"])
    # Before a worker has computed it there is no count, and no cell.
    assert {row["cells"] for row in ask("benchmarks/longgenbench/tables/")["tables"]} == {None}
    assert "being computed" in ask("benchmarks/longgenbench/tables/2/", 202)["detail"]
    for end in ("", "tables.tex/"):
        assert "being computed" in ask(f"benchmarks/longgenbench/tables/files/{end}", 202)["detail"]
    assert "being computed" in ask("benchmarks/longgenbench/tables/2/files/table.tex/", 202)["detail"]
    for table in tables_of("longgenbench"):
        compute_table(study.workspace, table)
    assert ask("benchmarks/longgenbench/tables/") == printed("published_table", "longgenbench")
    found = ask("benchmarks/longgenbench/tables/2/")
    assert found == printed("published_table", "longgenbench", "2") and found["cells"] > 0
    address = reverse("api:paper_tables", args=[study.workspace.slug, "longgenbench"])
    page = reverse("judging:paper_tables", args=[study.benchmark])
    assert check_files(client, address, page) == ["tables.csv", "tables.json", "tables.tex", "tables.md"]
    names = check_files(client, f"{address}2/", page, asked_of_page={"table": "2"})
    assert names == ["table.csv", "table.json", "table.tex", "table.md"]
    assert table_numbered("longgenbench", "2").number == found["table"]
    assert "has no table 99" in ask("benchmarks/longgenbench/tables/99/", 400)["detail"]


def test_a_benchmark_without_a_paper_has_no_tables(study, ask):
    assert "No paper's tables are known" in ask(f"benchmarks/{study.benchmark.slug}/tables/", 400)["detail"]


def test_scores_by_length_say_why_there_are_none(study, ask):
    slug = study.benchmark.slug
    assert "with a requested length" in ask(f"leaderboards/{slug}/lengths/", 400, judge=UP)["detail"]
    assert "No judge 'nobody'" in ask(f"leaderboards/{slug}/lengths/", 400, judge="nobody")["detail"]


def test_another_workspaces_benchmark_is_not_there(study, client):
    client.force_login(make_user("lead", make_checklist_study(slug="other").workspace, username="lea"))
    for end in ("rankings/", "lengths/"):
        path = f"/api/v1/w/nowhere/leaderboards/{study.benchmark.slug}/{end}"
        assert client.get(path).status_code == 404
