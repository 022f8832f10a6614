"""The table of all judges, of a study and of a workspace: ordered only by what was measured alike, and given as files."""

import csv
import io
import json
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.api.tokens import issue_token
from annotation.models import Assignment
from calibration.reports.registry import report_of
from judging.cards.card import judge_card
from judging.cards.table import TABLE, table_settings, workspace_table
from judging.probes.request import Group, ProbeRequest
from judging.tasks import compute_judge_tables
from judging.web.judges.table import opening_of, orders_offered, table_page
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.judging.cards.test_judge_card import LEVELS, rated
from tests.judging.probes.test_probe_runs import checklist_judge, honest, judge_of, longer, probed, written
from tests.markup import markup
from tests.page_files import check_files
from tests.screen_studies import make_pair_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def study():
    """24 responses, rated by three people; "contrary" turns the scale round, "faithful" is one of them."""
    study = written(make_checklist_study(instructions=24, models=1))
    rated(study, make_judge_rater(study.workspace, "contrary"), lambda level: 4 - level if level != 2 else 0)
    also(study, "faithful", lambda level: level)
    return study


def also(study, name, verdict, tasks=24):
    judge = make_judge_rater(study.workspace, name)
    for number, task in enumerate(study.tasks.filter(gold__isnull=True).order_by("pk")[:tasks]):
        make_answer(task, judge, {f"item{n}": LEVELS[verdict(number % 4)] for n in range(3)})
    return judge


def table_of(study):
    return report_of(study, TABLE, table_settings(study))


def names(page, key="judges"):
    return [row[0] for row in page.block(key).table.rows]


def test_a_row_says_what_the_judges_card_says(study):
    table = table_of(study)
    assert {row.judge for row in table.rows} == {"contrary", "faithful"} and table.alike
    for row in table.rows:
        judge = study.workspace.raters.get(public_id=row.id)
        assert [row.measured] == judge_card(judge).studies
        assert row.measured.beside and row.measured.beside.n == 24 and row.measured.offset
    assert opening_of(table.rows).startswith(
        "2 of 2 judges can be compared with people; 1 is shown to agree with them less than they do with each other"
    )


def test_the_figure_shows_each_judge_beside_no_difference_from_people(study):
    figure = table_page(study, table_of(study)).block("judges").figure
    assert all(figure.count(f">{name}<") == 1 for name in ("contrary", "faithful"))
    assert "Judge minus people" in figure
    failed = also(study, "careless", lambda level: level)
    first = failed.assignments.order_by("pk").first()
    Assignment.objects.filter(pk=first.pk).update(discredited=True)
    assert ">careless<" not in table_page(study, table_of(study)).block("judges").figure


def test_the_rows_are_ordered_as_asked(client, study):
    client.force_login(make_user("analyst", study.workspace))
    address = reverse("judging:judge_table", args=[study])
    orders = {"agreement": ["contrary", "faithful"], "-agreement": ["faithful", "contrary"], "-judge": None}
    orders["-judge"] = ["faithful", "contrary"]
    for order, expected in orders.items():
        page = client.get(address, {"order": order}).context["page"]
        assert names(page) == expected, order
    page = " ".join(markup(client.get(address, {"order": "-agreement"})).split())
    assert 'aria-sort="descending"' in page and "order=agreement#judges-heading" in page
    with_file = client.get(address, {"order": "-agreement", "file": "judges.csv"})
    rows = list(csv.reader(io.StringIO(with_file.content.decode("utf-8-sig"))))
    assert [row[0] for row in rows[1:]] == ["faithful", "contrary"]
    assert client.get(address, {"order": "nonsense"}).status_code == 200
    assert b"tabular" in client.get(address, {"file": "judges.tex"}).content
    (block,) = json.loads(client.get(address, {"file": "page.json"}).content)["blocks"]
    assert len(block["table"]) == 2 or len(block["table"]["rows"]) == 2


def test_judges_of_other_tasks_are_not_ordered_by_agreement(study):
    also(study, "partial", lambda level: level, tasks=20)
    table = table_of(study)
    assert not table.alike
    assert set(orders_offered(table.rows, alike=table.alike)) >= {"judge", "money", "seconds"}
    assert "agreement" not in orders_offered(table.rows, alike=table.alike)
    assert names(table_page(study, table, "agreement")) == names(table_page(study, table))
    assert "cannot be ordered by agreement or bias" in " ".join(table_page(study, table).block("judges").notes)


def test_a_judge_that_failed_its_canary_texts_stands_last_whatever_the_order(study):
    judge = study.workspace.raters.get(label="faithful")
    Assignment.objects.filter(rater=judge).update(discredited=True)
    table = table_of(study)
    assert table.rows[-1].measured.failed
    for order in ("judge", "-judge", "-verdicts"):
        page = table_page(study, table, order)
        assert names(page)[-1] == "faithful" and page.block("judges").table.rows[-1][-1] == "failed its canary texts"
    assert opening_of(table.rows).startswith("1 of 2 judges can be compared")


def test_the_strongest_probe_and_the_repeats_are_columns_and_follow_a_new_run(study):
    judge = judge_of(study)
    for number, task in enumerate(study.tasks.filter(gold__isnull=True).order_by("pk")):
        make_answer(task, judge.rater, {f"item{n}": LEVELS[number % 4] for n in range(3)})
    run, _chat = probed(ProbeRequest(judge, study, groups=(Group.PADDING,)), checklist_judge(longer))
    row = next(row for row in table_of(study).rows if row.judge == judge.rater.name)
    assert (row.probe.key[:7], row.probe.run, row.probe.found) == ("padding", run.public_id, True)
    assert row.probe.mean == pytest.approx(0.25) and row.probe.low > 0 and row.again.value == 0
    later, _chat = probed(ProbeRequest(judge, study, groups=(Group.FORMAT,), reuse=False), checklist_judge(honest))
    row = next(row for row in table_of(study).rows if row.judge == judge.rater.name)
    assert (row.probe.run, row.probe.found) == (later.public_id, False)


def test_the_table_of_a_study_of_pairs_has_their_biases():
    study = make_pair_study(instructions=24)
    judge, people = make_judge_rater(study.workspace, "first"), [make_rater(study) for _ in range(3)]
    for number, task in enumerate(study.tasks.order_by("pk")):
        (key,) = task.answer_rubric.criteria.values_list("key", flat=True)
        for place, rater in enumerate(people):
            make_answer(task, rater, {key: 1.0 if (number + place) % 3 else -1.0})
        make_answer(task, judge, {key: 1.0}, shown_first="a")
    (row,) = [row for row in table_of(study).rows if row.judge == "first"]
    assert row.measured.position.value == 1.0 and row.measured.beside is not None


def test_the_workspaces_table_reads_what_is_stored_and_names_what_is_not(client, study, django_assert_max_num_queries):
    other = make_checklist_study(instructions=3, models=1, slug="small", workspace=study.workspace)
    judge = study.workspace.raters.get(label="faithful")
    for task in other.tasks.all():
        make_answer(task, judge, {"item0": 0.5})
    assert workspace_table([study.workspace]).rows == []
    table_of(study)
    found = workspace_table([study.workspace])
    assert [(row.judge, table.study.pk) for row, table in found.rows] == [
        ("contrary", study.pk),
        ("faithful", study.pk),
    ]
    assert found.without == [other]
    table_of(other)
    found = workspace_table([study.workspace])
    assert found.without == [] and {table.study.pk for _row, table in found.rows} == {study.pk}, "24 tasks say more"
    client.force_login(make_user("analyst", study.workspace))
    client.get(reverse("judging:all_judges_table"))
    with django_assert_max_num_queries(30):
        page = client.get(reverse("judging:all_judges_table"), {"order": "-judge"})
    assert names(page.context["page"]) == ["faithful", "contrary"]
    assert reverse("judging:judge_card", args=[judge.public_id]) in page.content.decode()
    assert b"tabular" in client.get(reverse("judging:all_judges_table"), {"file": "judges.tex"}).content
    assert "judges.tex" in check_files(client, reverse("api:all_judges_table"), reverse("judging:all_judges_table"))
    with django_assert_max_num_queries(30):
        client.get(reverse("judging:judge_table", args=[study]))


@pytest.fixture
def sent(monkeypatch):
    """What is handed to workers, which the test carries out itself."""
    handed = []
    monkeypatch.setattr("calibration.report_store.refreshes.send_after_commit", lambda *given: handed.append(given))
    return handed


def test_missing_tables_are_computed_in_the_background_and_never_silently_missing(
    client, study, sent, django_assert_max_num_queries
):
    other = make_checklist_study(instructions=3, models=1, slug="small", workspace=study.workspace)
    for task in other.tasks.all():
        make_answer(task, make_judge_rater(study.workspace, f"judge {task.pk}"), {"item0": 0.5})
    client.force_login(make_user("analyst", study.workspace))
    address = reverse("judging:all_judges_table")
    with django_assert_max_num_queries(30):
        page = client.get(address)
    shown = " ".join(markup(page).split())
    assert "Studies whose table is being computed" in shown and study.name in shown and other.name in shown
    assert "waiting=2" in shown
    client.get(address)
    ((task, first, pks),) = sent
    assert task == "judging.compute_judge_tables" and set(pks) == {study.pk, other.pk}, "asked for once"
    told = client.get(address, {"waiting": "2"}, headers={"HX-Request": "true"})
    assert told.status_code == 204, "nothing moves while nothing is new"
    compute_judge_tables(first, pks)
    page = client.get(address, {"waiting": "2"}, headers={"HX-Request": "true"})
    assert (
        set(names(page.context["page"])) >= {"contrary", "faithful"} and page.context["page"].block("missing") is None
    )
    assert "waiting=" not in page.content.decode() and len(sent) == 1


def test_a_table_that_cannot_be_computed_is_named_and_holds_no_other_up(client, study, sent, monkeypatch):
    other = make_checklist_study(instructions=3, models=1, slug="small", workspace=study.workspace)
    third = make_judge_rater(study.workspace, "third")
    for task in other.tasks.all():
        make_answer(task, third, {"item0": 0.5})
    settings = table_settings

    def broken(of):
        if of == study:
            raise ValueError("broken")
        return settings(of)

    monkeypatch.setattr("judging.cards.table.table_settings", broken)
    user = make_user("analyst", study.workspace)
    client.force_login(user)
    address = reverse("judging:all_judges_table")
    client.get(address)
    compute_judge_tables(*sent[0][1:])
    page = client.get(address)
    shown = " ".join(markup(page).split())
    assert "Studies whose table could not be computed" in shown and study.name in shown
    assert names(page.context["page"]) == ["third"] and len(sent) == 1, "it rests before it is tried again"
    _token, secret = issue_token(user=user, name="script", scopes=["read"])
    told = client.get("/api/v1/judges/table/", headers={"Authorization": f"Bearer {secret}"}).json()
    assert (told["without"], told["being_computed"]) == ([study.slug], False)


def test_command_and_api_state_the_same(client, study):
    def said(**options):
        out = StringIO()
        call_command("judge_card", stdout=out, **options)
        return out.getvalue()

    user = make_user("lead", study.workspace, username="api")
    _token, secret = issue_token(user=user, name="script", scopes=["read"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}}
    whole = json.loads(said(all=True, json=True))
    assert [row["judge"] for row in whole["rows"]] == ["contrary", "faithful"] and whole["without"] == []
    address = f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/judges/"
    assert client.get(address, **head).json() == json.loads(said(study=study.slug, json=True))
    assert client.get("/api/v1/judges/table/", **head).json() == json.loads(said(all=True, json=True))
    assert said(study=study.slug, csv=True).splitlines()[0].startswith("Judge,Verdicts")
    assert "tabular" in said(study=study.slug, latex=True) and "## Judges" in said(all=True, markdown=True)
    assert "contrary" in said(study=study.slug)
    with pytest.raises(CommandError, match="no study 'nowhere'"):
        said(study="nowhere")
    with pytest.raises(CommandError, match="several tables"):
        call_command("judge_card", "contrary", csv=True)


def test_a_rater_sees_no_table(client, study):
    client.force_login(make_user("rater", study.workspace, username="nobody"))
    assert client.get(reverse("judging:judge_table", args=[study])).status_code in (403, 404)
    assert "contrary" not in client.get(reverse("judging:all_judges_table")).content.decode()
