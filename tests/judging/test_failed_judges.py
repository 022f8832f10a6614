"""A judge of which a run failed its canary texts is marked wherever numbers of its other verdicts stand."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Assignment, Rater, Study
from calibration.data.verdicts import failed_judges
from calibration.figures.drawing import figure, text, with_line
from calibration.web.blocks import Column, Table
from calibration.web.failed_judges import judge_label, marked, marking
from calibration.web.table_files import as_csv, as_latex, as_markdown
from tests.calibration.pair_studies import pair_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
MARK = "failed its canary texts"
COLUMN = "Canary texts"


def doubt(judge, n=3):
    """Some verdicts of the judge come from a run that failed its canary texts."""
    given = Assignment.objects.filter(rater=judge).order_by("pk").values("pk")[:n]
    assert Assignment.objects.filter(pk__in=list(given.values_list("pk", flat=True))).update(discredited=True) == n


@pytest.fixture
def study():
    """People and two judges on 24 instructions; a run of "gullible" has failed, "honest" has not."""
    study = make_checklist_study(instructions=24, models=4)
    people = [make_rater(study, label=label) for label in ("ann", "bob", "cy")]
    judges = [make_judge_rater(study.workspace, label) for label in ("gullible", "honest")]
    for place, task in enumerate(study.tasks.order_by("pk")):
        for number, rater in enumerate([*people, *judges]):
            level = (place + number) % 5
            values = {"item0": level / 4, "item1": 0.5, "item2": (place % 3) / 4, "overall": 2 * level}
            make_answer(task, rater, values)
    doubt(judges[0])
    return study


@pytest.fixture
def pairs():
    study = pair_study(models=3, instructions=22)
    for label in ("gullible", "honest"):
        judge = make_judge_rater(study.workspace, label)
        for place, task in enumerate(study.tasks.order_by("pk")):
            make_answer(task, judge, {"preference": (place % 3) - 1}, shown_first="a")
    doubt(Rater.objects.get(label="gullible"))
    return study


def reader(client, study):
    client.force_login(make_user("lead", study.workspace))
    return client


def fetched(client, address, name):
    found = client.get(f"{address}{'&' if '?' in address else '?'}file={name}")
    assert found.status_code == 200, (address, name)
    return found.content.decode("utf-8-sig")


def blocks_of(client, address):
    whole = json.loads(fetched(client, address, "page.json"))
    return whole, {block["key"]: block["table"] for block in whole["blocks"] if block["table"]}


def test_one_function_decides_for_studies_and_benchmarks(study):
    assert [(row.judge.name, row.discredited) for row in failed_judges(study)] == [("gullible", 3)]
    assert [row.judge.name for row in failed_judges(study.benchmark)] == ["gullible"]
    assert failed_judges(study.benchmark, Rater.objects.get(label="honest")) == []
    assert failed_judges(make_checklist_study(slug="another")) == []


def test_a_table_has_the_mark_in_every_format_and_none_without_need(study):
    table = Table([Column("Judge"), Column("n", 0)], [["gullible", 1], ["honest", 2]])
    assert marked(table, ["gullible", "honest"]) == table and judge_label("gullible") == "gullible"
    with marking(failed_judges(study)):
        assert marked(table, ["honest", ""]) == table
        found = marked(table, ["gullible", "honest"])
        assert judge_label("gullible") == f"gullible ({MARK})" and judge_label("honest") == "honest"
    assert as_csv(found).splitlines() == [f"\ufeffJudge,n,{COLUMN}", f"gullible,1,{MARK}", "honest,2,"]
    assert MARK in as_latex(found) and MARK in as_markdown(found)
    judge = Rater.objects.get(label="gullible")
    assert found.shown[0][2].link == reverse("judging:judge", args=[judge.public_id]) and not found.shown[1][2].link


def test_a_figure_gets_a_line_at_its_foot():
    drawn = figure("Title", "What it shows", 40, [text("a", 0, 20)])
    assert 'height="57"' in with_line(drawn, "x < y") and with_line(drawn, "x < y").endswith("x &lt; y</text></svg>")
    with pytest.raises(ValueError, match="This is not a figure"):
        with_line("<p></p>", "x")


@pytest.mark.parametrize(
    ("page", "keys"),
    [
        ("judging:judges_depth", ("soft", "soft-summary", "correlations-1", "gaps-1")),
        ("judging:judges_methods", ("methods",)),
        ("judging:judges_metrics", ("methods",)),
        ("calibration:agreement_detail", ("replacing", "contests")),
    ],
)
def test_the_pages_on_judges_of_scores_mark_it(client, study, page, keys):
    address = reverse(page, args=[study])
    html = markup(reader(client, study).get(address))
    judge = Rater.objects.get(label="gullible")
    assert f'<td><a href="{reverse("judging:judge", args=[judge.public_id])}">{MARK}</a></td>' in html
    whole, tables = blocks_of(client, address)
    assert whole["failed_judges"] == ["gullible"]
    for key in keys:
        table = tables[key]
        assert table["columns"][-1] == COLUMN, key
        marks = {
            (row[0] if "gullible" in str(row[0]) or "honest" in str(row[0]) else "", row[-1]) for row in table["rows"]
        }
        assert all((mark == MARK) == ("gullible" in name) for name, mark in marks if name), key


def test_the_pages_on_judges_of_pairs_mark_it(client, pairs):
    address = reverse("judging:judges_depth", args=[pairs])
    html = markup(reader(client, pairs).get(address))
    assert f"gullible ({MARK})" in html
    _whole, tables = blocks_of(client, address)
    for key in ("matches", "position", "length"):
        rows = {row[0]: row[-1] for row in tables[key]["rows"]}
        assert rows["gullible"] == MARK and rows["honest"] == "", key
    assert {row[-1] for row in tables["confusion-1"]["rows"]} == {MARK}
    assert COLUMN not in tables["confusion-0"]["columns"]


def test_rankings_by_the_judge_are_marked_and_those_by_people_are_not(client, study):
    address, judge = reverse("calibration:rankings", args=[study]), Rater.objects.get(label="gullible")
    reader(client, study)
    by_judge = f"{address}?by={judge.public_id}"
    rows = list(csv.DictReader(io.StringIO(fetched(client, by_judge, "means.csv"))))
    assert {row[COLUMN] for row in rows} == {MARK} and {row["Rank"] for row in rows} > {"1"}
    assert f"gullible ({MARK})" in fetched(client, by_judge, "means.svg")
    assert COLUMN not in fetched(client, address, "means.csv")


def test_the_comparison_with_people_marks_it(client, study):
    address = reverse("judging:judges", args=[study])
    html = markup(reader(client, study).get(address))
    assert html.count("badge-failed") == 1 and f"Judge's points, 0 to 100 ({MARK})" in html
    files = {name: fetched(client, address, name) for name in ("points-1.csv", "points-2.csv", "items-1.csv")}
    assert [COLUMN in files[name] for name in ("points-1.csv", "points-2.csv")].count(True) == 1


def test_the_leaderboard_marks_it(client, study):
    judge = Rater.objects.get(label="gullible")
    address = f"{reverse('judging:leaderboard', args=[study.benchmark])}?judge={judge.public_id}&weights=equal"
    html = markup(reader(client, study).get(address))
    assert f"({MARK})" in html
    rows = list(csv.DictReader(io.StringIO(fetched(client, address, "scores.csv"))))
    assert {row[COLUMN] for row in rows} == {MARK} and {row["Rank"] for row in rows} > {"1"}
    board = json.loads(fetched(client, address, "board.json"))
    assert board["discredited_verdicts"] == 3
    assert all(table["columns"][-1] == COLUMN for table in board["tables"].values())
    pair = f"{reverse('judging:compare_models', args=[study.benchmark])}?judge={judge.public_id}&weights=equal"
    html = markup(client.get(pair))
    assert MARK in html and f"({MARK})" in html
    assert {row[COLUMN] for row in csv.DictReader(io.StringIO(fetched(client, pair, "items.csv")))} == {MARK}
    assert MARK in markup(client.get(pair.replace("/compare/", "/compare/item/")))


def test_a_ranking_beside_another_marks_it(client, study, capsys):
    honest, judge = (Rater.objects.get(label=label).public_id for label in ("honest", "gullible"))
    address = reverse("judging:rankings_beside", args=[study.benchmark])
    address += f"?judge={honest}&weights=equal&other={study.benchmark.slug}/{judge}"
    html = markup(reader(client, study).get(address))
    assert f"gullible ({MARK})" in html and "A run of gullible failed its canary texts" in html
    whole, tables = blocks_of(client, address)
    assert whole["failed_judges"] == ["gullible"] and {row[-1] for row in tables["ranks"]["rows"]} == {MARK}
    asked = (study.benchmark.slug, "--judge", "honest", "--with-judge", "gullible")
    out = io.StringIO()
    call_command("compare_rankings", *asked, "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert (found["failed_judge"], found["other_failed_judge"]) == ("", "gullible")
    out = io.StringIO()
    call_command("compare_rankings", *asked, "--csv", stdout=out)
    assert {row[COLUMN] for row in csv.DictReader(io.StringIO(out.getvalue()))} == {MARK}


def test_printed_tables_name_it(client, study):
    study.benchmark.slug = "longgenbench"
    study.benchmark.save(update_fields=["slug"])
    out = io.StringIO()
    call_command("published_table", "longgenbench", "2", "--json", stdout=out)
    assert json.loads(out.getvalue())["failed_judges"] == ["gullible"]
    out = io.StringIO()
    call_command("published_table", "longgenbench", "2", "--latex", stdout=out)
    assert "\n% A run of gullible failed its canary texts" in out.getvalue()
    address = f"{reverse('judging:paper_tables', args=[study.benchmark])}?table=2"
    assert MARK in markup(reader(client, study).get(address))
    assert "A run of gullible failed" in fetched(client, address, "table.md")


def test_the_api_and_the_terminal_name_it(client, study):
    reader(client, study).get(reverse("calibration:rankings", args=[study]))
    out = io.StringIO()
    call_command("compare_judge", study.slug, "--judge", "gullible", "--json", stdout=out)
    assert json.loads(out.getvalue())["failed_judges"] == ["gullible"]
    out = io.StringIO()
    call_command("compare_judge", study.slug, "--judge", "gullible", stdout=out)
    assert "A run of gullible failed its canary texts" in out.getvalue()
    out = io.StringIO()
    call_command("compare_judge", study.slug, "--judge", "honest", "--json", stdout=out)
    assert "failed_judges" not in json.loads(out.getvalue())
    address = f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/reports/"
    found = reader(client, study).get(address).json()
    assert found and all(row["failed_judges"] == ["gullible"] for row in found)


def test_nothing_is_marked_where_no_judge_failed(client, study):
    Assignment.objects.filter(discredited=True).update(discredited=None)
    reader(client, study)
    for name in ("judging:judges", "judging:judges_methods", "calibration:rankings", "judging:judges_depth"):
        html = markup(client.get(reverse(name, args=[study])))
        assert MARK not in html and COLUMN not in html, name
    assert Study.objects.count() == 1
