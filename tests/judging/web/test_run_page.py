"""A run's page beyond its progress: the budget raised while it goes on, the unscored asked again, files to take away."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from judging.methods.canaries import CanaryFailed, Sung
from judging.methods.messages import SCORED_ABOVE
from judging.models import PlannedItem, Reply
from judging.runs.aggregation import discredit
from judging.runs.life_cycle import fail_run, start_run
from judging.runs.worker import work_on
from judging.web.runs.run_page import run_panel
from tests.factories import make_checklist_study, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_checklist_study(instructions=3, models=2)


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)


@pytest.fixture
def run(study, model):
    """Two of six replies are prose, however often they are asked for."""
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    good = json.dumps({f"item{n}": {"reason": "=it is", "score": 0.5} for n in range(3)})
    bad = study.tasks.values_list("response_a__instruction__external_id", flat=True)[0]
    return work_on(
        run, chat_for=lambda _m: ScriptedChat(lambda r: "Prose." if r.subject["instruction"] == bad else good)
    )


@pytest.fixture
def sent(monkeypatch):
    sent = []
    monkeypatch.setattr("judging.tasks.work.delay", sent.append)
    return sent


def control(run):
    return reverse("judging:control_run", args=[run.public_id])


def test_the_unscored_are_asked_again_and_a_finished_run_goes_on(client, run, sent, django_capture_on_commit_callbacks):
    client.force_login(make_user("lead"))
    assert run.status == "finished"
    assert run.items.filter(status="unscored").count() == 2
    page = markup(client.get(reverse("judging:run", args=[run.public_id])))
    assert "Retry unscored responses" in page
    with django_capture_on_commit_callbacks(execute=True):
        client.post(control(run), {"action": "retry"})
    run.refresh_from_db()
    assert (run.status, run.items.filter(status="waiting").count()) == ("running", 2)
    assert sent == [run.pk]
    good = json.dumps({f"item{n}": {"reason": "now", "score": 1} for n in range(3)})
    work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: good))
    assert run.items.filter(status="scored").count() == 6
    assert "Retry unscored responses" not in markup(client.get(reverse("judging:run", args=[run.public_id])))


def test_a_budget_is_raised_while_the_run_goes_on(client, run):
    client.force_login(make_user("lead"))
    type(run).objects.update(status="running", budget_calls=5)
    page = markup(client.get(reverse("judging:run", args=[run.public_id])))
    assert 'value="budget"' in page
    client.post(control(run), {"action": "budget", "budget_calls": "50", "budget_tokens": "", "budget_money": "1.5"})
    run.refresh_from_db()
    assert (run.status, run.budget_calls, str(run.budget_money)) == ("running", 50, "1.500000")
    page = markup(client.post(control(run), {"action": "budget", "budget_calls": "0"}, follow=True))
    assert "Enter a number greater than zero" in page
    run.refresh_from_db()
    assert run.budget_calls == 50


def test_nobody_else_changes_budgets_or_asks_again(client, run):
    for user, status in ((make_user("analyst"), 403), (make_user("lead", make_workspace("elsewhere")), 404)):
        client.force_login(user)
        for action in ("budget", "retry"):
            assert client.post(control(run), {"action": action, "budget_calls": "9"}).status_code == status
    run.refresh_from_db()
    assert (run.status, run.budget_calls) == ("finished", None)


def test_the_files_of_a_run_add_up(client, run):
    client.force_login(make_user("analyst"))

    def file_of(name):
        answer = client.get(reverse("judging:run_file", args=[run.public_id, name]))
        assert answer.status_code == 200
        assert "attachment" in answer["Content-Disposition"]
        return answer.content.decode()

    report = json.loads(file_of("report.json"))
    assert report["items"] == {"total": 6, "scored": 4, "unscored": 2, "waiting": 0}
    assert sum(report["unscored"].values()) == 2
    assert [row["total"] for row in report["models"]] == [3, 3]
    assert sum(row["scored"] for row in report["models"]) == 4
    manifest = json.loads(file_of("manifest.json"))
    assert manifest["asked"]["items"] == 6
    assert manifest["came"]["items"] == {"scored": 4, "unscored": 2}
    assert manifest["prompts"][run.judge.prompt_hash] == run.judge.prompt
    rows = list(csv.DictReader(io.StringIO(file_of("items.csv"))))
    assert [row["status"] for row in rows].count("scored") == 4
    assert sum(int(row["replies"]) for row in rows) == report["replies"]["calls"] == 4 + 2 * 3
    assert client.get(f"/runs/{run.public_id}/files/passwords.txt").status_code == 404
    client.force_login(make_user("rater"))
    assert client.get(reverse("judging:run_file", args=[run.public_id, "report.json"])).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(reverse("judging:run_file", args=[run.public_id, "report.json"])).status_code == 404


def test_the_slowest_replies_and_a_judge_that_was_misled_are_said(client, run):
    slow = PlannedItem.objects.filter(run=run, status="scored").last()
    Reply.objects.filter(item=slow).update(seconds=77.5)
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("judging:run", args=[run.public_id])))
    assert "77.5" in page
    assert "Slowest replies" in page
    type(run).objects.update(status="running")
    error = CanaryFailed([Sung("null", SCORED_ABOVE(value="1.00", middle="0.50"))])
    run.refresh_from_db()
    discredit(run, error)
    fail_run(run, str(error), clock=timezone.now)
    page = markup(client.get(reverse("judging:run", args=[run.public_id])))
    assert "the run stopped because of its canary texts" in page
    assert "Do not trust any verdict of this run" in page
    assert "endpoint&#x27;s words" not in page


def test_a_run_that_fails_at_its_end_for_another_reason_blames_no_planted_text(client, run):
    type(run).objects.update(status="running")
    fail_run(run, "A fault: KeyError.", clock=timezone.now)
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("judging:run", args=[run.public_id])))
    assert "A fault: KeyError." in page
    assert "run stopped because" not in page


def test_the_list_counts_each_runs_items_without_grouping_by_what_runs_carry(client, study, model, run):
    other = plan_run(judge=create_judge(model=model, name="other"), study=study, limit=2)
    client.force_login(make_user("lead"))
    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("judging:runs"))
    counts = {row.pk: (row.total, row.done) for row in page.context["runs"]}
    assert counts == {run.pk: (6, 6), other.pk: (2, 0)}
    grouped = [query["sql"].split("GROUP BY", 1)[1] for query in queries if "GROUP BY" in query["sql"]]
    assert grouped
    assert not any("manifest" in part for part in grouped)


def test_the_rate_is_that_of_the_last_minute_while_the_run_goes_on(run):
    now = timezone.now()
    type(run).objects.update(status="running", started_at=now - timedelta(hours=2))
    run.refresh_from_db()
    pks = list(Reply.objects.filter(item__run=run).values_list("pk", flat=True))
    Reply.objects.filter(pk__in=pks[3:]).update(created_at=now - timedelta(minutes=30))
    assert run_panel(run, clock=lambda: now).per_minute == 3
    # Finished: six answers between the start and the last reply, two hours later.
    type(run).objects.update(status="finished")
    run.refresh_from_db()
    assert run_panel(run, clock=lambda: now).per_minute == pytest.approx(6 / 120, rel=0.01)


def test_the_live_part_leaves_the_buttons_alone_until_something_else_can_be_done(client, run):
    """What is asked for every other second replaces neither a budget that is being written nor a button in focus."""
    client.force_login(make_user("lead"))
    type(run).objects.update(status="running")
    address = reverse("judging:run", args=[run.public_id])
    page = markup(client.get(address))
    (asked,) = re.findall(r'id="run-progress" hx-get="([^"]+)"', page)
    assert page.count('id="run-controls"') == page.count('id="run-figures"') == 1
    assert "hx-swap-oob" not in page
    part = markup(client.get(asked, headers={"HX-Request": "true"}))
    assert "<html" not in part
    assert re.findall(r'id="(run-\w+)"(?: hx-swap-oob="true")', part) == ["run-figures"]
    assert "csrfmiddlewaretoken" not in part
    type(run).objects.update(status="paused")
    part = markup(client.get(asked, headers={"HX-Request": "true"}))
    swapped = re.findall(r'id="(run-\w+)"(?: hx-swap-oob="true")', part)
    assert swapped == ["run-figures", "run-controls", "run-reviews"]
    assert 'value="resume"' in part
    assert "hx-get" not in part
    client.force_login(make_user("analyst"))
    assert 'value="resume"' not in markup(client.get(address))


def test_a_jurys_page_names_its_judges_and_no_numbers_of_rows(client, study, model):
    other = LanguageModel.objects.create(workspace=study.workspace, name="other", endpoint=model.endpoint)
    judges = [create_judge(model=one) for one in (model, other)]
    run = plan_run(judge=judges[0], study=study, jurors=(judges[1],))
    client.force_login(make_user("analyst"))
    page = markup(client.get(reverse("judging:run", args=[run.public_id])))
    for judge in judges:
        assert reverse("judging:judge", args=[judge.rater.public_id]) in page
    assert "panel:" in page
    assert "jurors" not in page
