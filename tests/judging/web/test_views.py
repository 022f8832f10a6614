"""The pages of runs, leaderboards and judges: as lead, analyst, rater, stranger and lead of another workspace."""

import re
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Rater
from calibration.fits.store import run_fit
from generation.llm.scripted import ScriptedChat
from generation.models import Benchmark, Endpoint, LanguageModel
from judging.judges.making import create_judge
from judging.models import JudgeRun
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_checklist_study(instructions=4, models=2)
    for label, shift in (("ann", 0), ("bob", 1), ("cyd", 2)):
        rater = make_rater(study, label=label)
        for number, task in enumerate(study.tasks.order_by("pk")):
            level = (number + shift) % 5 / 4
            make_answer(
                task, rater, {"item0": level, "item1": 1 - level, "item2": 0.5, "overall": (number + shift) % 11}
            )
    return study


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)


@pytest.fixture
def run(study, model):
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    return work_on(run)


@pytest.fixture
def sent(monkeypatch):
    """Ids of the runs handed to a worker; the worker itself is tested in test_runs."""
    sent = []
    monkeypatch.setattr("judging.tasks.work.delay", sent.append)
    return sent


def addresses(study, run):
    return [
        reverse("judging:runs"),
        reverse("judging:run", args=[run.public_id]),
        reverse("judging:judges", args=[study]),
        reverse("judging:leaderboards"),
        reverse("judging:leaderboard", args=[study.benchmark]),
    ]


def test_leads_and_analysts_read_every_page_and_nobody_else_does(client, study, run):
    for role in ("owner", "lead", "analyst"):
        client.force_login(make_user(role))
        assert [client.get(address).status_code for address in addresses(study, run)] == [200] * 5
    for role in ("rater", "reviewer", None):
        client.force_login(make_user(role))
        assert [client.get(address).status_code for address in addresses(study, run)] == [403] * 5
    client.logout()
    assert {client.get(address).status_code for address in addresses(study, run)} == {302}


def test_another_workspaces_lead_sees_nothing_of_this_one(client, study, run):
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    runs, one, judges, boards, board = [client.get(address) for address in addresses(study, run)]
    assert [page.status_code for page in (one, judges, board)] == [404] * 3
    assert run.public_id not in markup(runs)
    assert study.benchmark.slug not in markup(boards)
    assert client.post(reverse("judging:control_run", args=[run.public_id]), {"action": "cancel"}).status_code == 404
    assert client.get(reverse("judging:start_run", args=[study])).status_code == 404


def test_no_page_has_inline_script_or_style(client, study, run):
    client.force_login(make_user("lead"))
    for address in [*addresses(study, run), reverse("judging:start_run", args=[study])]:
        html = markup(client.get(address))
        assert "<style" not in html
        assert " style=" not in html
        assert not re.search(r"<script(?![^>]*\bsrc=)", html)
        assert not re.search(r"\son\w+=", html)


def test_the_run_page_says_how_far_it_is_and_stops_asking_when_it_is_over(client, study, run):
    client.force_login(make_user("lead"))
    address = reverse("judging:run", args=[run.public_id])
    page = markup(client.get(address))
    assert "8 of 8 responses judged; the run is finished." in page
    assert 'hx-trigger="every ' not in page
    assert "scripted judge" in page
    assert run.judge.prompt_hash[:12] in page
    JudgeRun.objects.update(status="running")
    part = markup(client.get(address, headers={"HX-Request": "true"}))
    assert 'hx-trigger="every ' in part
    assert "<html" not in part
    assert 'value="pause"' in part


def test_unscored_verdicts_and_errors_stand_on_the_run_page(client, study, model):
    run = plan_run(judge=create_judge(model=model), study=study, limit=2)
    start_run(run, clock=timezone.now)
    work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: "Lovely <b>prose</b>."))
    client.force_login(make_user("analyst"))
    page = markup(client.get(reverse("judging:run", args=[run.public_id])))
    assert "0 of 2 responses judged, 2 verdicts unusable" in page
    assert "Prose instead of a structured answer" in page
    assert "&lt;b&gt;" in page
    assert "<b>prose" not in page
    assert 'name="action"' not in page


def test_a_lead_starts_a_run_and_a_worker_is_told(client, study, model, sent, django_capture_on_commit_callbacks):
    client.force_login(make_user("lead"))
    address = reverse("judging:start_run", args=[study])
    assert "scripted · script" in markup(client.get(address))
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(address, {"model": model.pk, "limit": 3, "budget_money": "0.5"})
    run = JudgeRun.objects.get()
    assert answer["Location"] == reverse("judging:run", args=[run.public_id])
    assert (run.status, run.items.count(), run.budget_money) == ("running", 3, Decimal("0.5"))
    assert sent == [run.pk]
    refused = client.post(address, {"model": model.pk, "limit": 0})
    assert refused.status_code == 422
    assert JudgeRun.objects.count() == 1


@pytest.mark.parametrize("field", ["judges", "limit", "budget_calls", "budget_tokens", "budget_money"])
def test_a_number_that_no_database_holds_is_said_beside_its_field(client, study, model, field):
    client.force_login(make_user("lead"))
    address = reverse("judging:start_run", args=[study])
    answer = client.post(address, {"model": model.pk, field: "9" * 23})
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not JudgeRun.objects.exists()


def test_an_analyst_starts_and_steers_nothing(client, study, model, run):
    client.force_login(make_user("analyst"))
    address = reverse("judging:start_run", args=[study])
    assert client.get(address).status_code == 403
    assert client.post(address, {"model": model.pk}).status_code == 403
    control = reverse("judging:control_run", args=[run.public_id])
    assert client.post(control, {"action": "cancel"}).status_code == 403


def test_a_judge_that_has_answered_everything_is_said_so(client, study, model, run):
    client.force_login(make_user("lead"))
    for given in ({}, {"fresh": "on"}):
        page = markup(client.post(reverse("judging:start_run", args=[study]), {"model": model.pk, **given}))
        assert "nothing left for this judge here" in page
        assert "What this judge has already rated is not asked again in either case." in page
    assert JudgeRun.objects.count() == 1


def test_without_a_served_model_the_page_says_what_to_do(client, study):
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("judging:start_run", args=[study])))
    assert "No endpoint serves a model yet" in page
    assert reverse("generation:new_endpoint") in page


def test_pause_resume_with_another_budget_and_cancel(client, study, model, sent, django_capture_on_commit_callbacks):
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    client.force_login(make_user("lead"))
    control = reverse("judging:control_run", args=[run.public_id])
    client.post(control, {"action": "pause"})
    run.refresh_from_db()
    assert run.status == "paused"
    with django_capture_on_commit_callbacks(execute=True):
        client.post(control, {"action": "resume", "budget_calls": "5", "budget_tokens": "", "budget_money": ""})
    run.refresh_from_db()
    assert (run.status, run.budget_calls) == ("running", 5)
    assert sent == [run.pk]
    client.post(control, {"action": "cancel"})
    run.refresh_from_db()
    assert run.status == "cancelled"
    page = markup(client.post(control, {"action": "resume"}, follow=True))
    assert "has changed in the meantime" in page
    assert client.post(control, {"action": "explode"}).status_code == 404
    assert client.get(control).status_code == 405


def test_a_running_run_without_a_worker_says_so(client, study, model):
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    JudgeRun.objects.update(started_at=timezone.now() - timezone.timedelta(minutes=2))
    client.force_login(make_user("lead"))
    assert "No worker has picked up this run yet" in markup(client.get(reverse("judging:run", args=[run.public_id])))


def test_the_judges_page_compares_with_people_and_shows_its_data(client, study, run):
    client.force_login(make_user("analyst"))
    page = markup(client.get(reverse("judging:judges", args=[study])))
    assert "Spearman" in page
    assert "8 responses" in page
    assert page.count("<svg") >= 3
    assert "scripted" in page
    assert page.count('<td class="num">3</td>') >= 8


def test_the_judges_page_without_a_judge_offers_to_ask_one(client, study):
    client.force_login(make_user("lead"))
    assert reverse("judging:start_run", args=[study]) in markup(client.get(reverse("judging:judges", args=[study])))
    client.force_login(make_user("analyst"))
    page = markup(client.get(reverse("judging:judges", args=[study])))
    assert "No judge has rated this study yet" in page
    assert 'class="button" href="' + reverse("judging:start_run", args=[study]) not in page


def test_the_leaderboard_opens_with_its_answer_and_offers_judges_and_weights(client, study, run):
    client.force_login(make_user("lead"))
    address = reverse("judging:leaderboard", args=[study.benchmark])
    page = markup(client.get(address))
    assert re.search(r"No model clearly leads: model[01] is first, average \d+\.\d, but model[01] with", page)
    assert "scripted checklist judged 8 responses." in page
    assert "equal weights (AVG-C)" in page
    assert "Published table" not in page
    unknown = markup(client.get(address + "?weights=nothing"))
    assert "There are no such weights" in unknown
    assert client.get(address + "?judge=nobody").status_code == 404


def test_a_board_weighed_by_simulated_raters_says_so(client, study, run):
    client.force_login(make_user("lead"))
    fit = run_fit(study=study, draws=0)
    address = reverse("judging:leaderboard", args=[study.benchmark])
    assert "badge-simulated" not in markup(client.get(address, {"weights": fit.public_id}))
    study.raters.filter(kind=Rater.Kind.PERSON).update(provenance=Rater.Provenance.SIMULATED)
    assert "badge-simulated" in markup(client.get(address, {"weights": fit.public_id}))
    # With equal weights as well: what the simulated people scored stands beside the judge's scores.
    assert "badge-simulated" in markup(client.get(address, {"weights": "equal"}))


def test_pages_say_where_each_item_is_its_own_cluster(client, study, run):
    client.force_login(make_user("lead"))
    said = "each item is treated as its own cluster"
    for name in ("calibration:weights", "calibration:agreement", "judging:judges"):
        study.policies = {"clusters": "instructions"}
        study.save()
        assert said not in markup(client.get(reverse(name, args=[study]))), name
        study.policies = {"clusters": "items"}
        study.save()
        assert said in markup(client.get(reverse(name, args=[study]))), name


def test_a_board_without_verdicts_says_what_to_do(client, study):
    client.force_login(make_user("lead"))
    assert "Not judged yet" in markup(client.get(reverse("judging:leaderboard", args=[study.benchmark])))
    Benchmark.objects.filter(pk=study.benchmark_id).update(slug="other")
    assert client.get(reverse("judging:leaderboard", args=["lab/essays-benchmark"])).status_code == 404


def test_a_judge_whose_verdicts_were_all_unusable_ranks_nobody(client, study, model):
    run = plan_run(judge=create_judge(model=model), study=study, limit=1)
    start_run(run, clock=timezone.now)
    work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: "no"))
    assert Assignment.objects.filter(status="unscored").count() == 1
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("judging:leaderboard", args=[study.benchmark])))
    assert "Nothing to rank" in page
    page = markup(client.get(reverse("judging:judges", args=[study])))
    assert "no usable verdicts" in page or "have not rated any of the same responses" in page
    assert "its 1 answer could not be used" in page and "No judge has rated this study yet" not in page


def test_in_chinese_the_pages_are_served_too(client, study, run):
    client.force_login(make_user("lead"))
    for address in addresses(study, run):
        assert 'lang="zh-hans"' in markup(client.get(address, headers={"Accept-Language": "zh-hans"}))
