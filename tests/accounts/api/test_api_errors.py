"""Whatever goes wrong at /api/v1/, a program is told in JSON; and what is told to a run twice is done once."""

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import Event
from generation.models import Endpoint, LanguageModel
from judging.api import results as api
from judging.judges.making import create_judge
from judging.models import JudgeRun
from tests.factories import make_checklist_study, make_user, plan_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    study = make_checklist_study(instructions=2, models=1)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    return plan_run(judge=create_judge(model=model), study=study)


@pytest.fixture
def program(run):
    _token, secret = issue_token(
        user=make_user("lead", run.judge.workspace), name="script", scopes=["read", "change", "run"]
    )
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})


def detail_of(answer, status):
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/json"
    said = answer.json()
    assert set(said) == {"detail"}
    return said["detail"]


@pytest.mark.parametrize("path", ["/api/", "/api/v1/", "/api/v1/nothing/", "/api/v2/runs/"])
def test_an_unknown_address_is_said_in_json_and_a_pages_as_a_page(program, path):
    assert f"no address {path}." in detail_of(program.get(path), 404)
    assert "no address" in detail_of(program.post(path, "{}", content_type="application/json"), 404)
    page = program.get("/nothing/")
    assert page.status_code == 404 and page["Content-Type"].startswith("text/html")


def test_an_address_without_its_last_slash_still_leads_to_it(program):
    assert program.get("/api/v1/runs").headers["Location"] == "/api/v1/runs/"


def test_a_wrong_method_is_said_in_json(program, run):
    assert "POST" in detail_of(program.post(reverse("api:runs")), 405)
    assert "GET" in detail_of(program.get(reverse("api:steer_run", args=[run.public_id, "start"])), 405)


def test_a_request_that_cannot_be_read_is_said_in_json(program, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 1
    many = {"path": reverse("api:runs"), "data": {"size": "1", "cursor": "x"}}
    assert "cannot be read" in detail_of(program.get(**many), 400)


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        (KeyError("x"), 500, "an internal error"),
        (OperationalError("database is locked"), 503, "busy loading a large table"),
    ],
)
def test_a_fault_is_said_in_json_and_its_words_stay_here(program, run, monkeypatch, fault, status, said):
    def broken(*args, **kwargs):
        raise fault

    monkeypatch.setattr(api, "progress_of", broken)
    answer = program.get(reverse("api:run", args=[run.public_id]))
    assert said in detail_of(answer, status)
    assert ("Retry-After" in answer) == (status == 503)


@pytest.mark.parametrize(("verb", "status"), [("start", "running"), ("pause", "paused"), ("cancel", "cancelled")])
def test_what_is_told_a_run_twice_is_done_once(program, run, monkeypatch, verb, status):
    """A program that lost the answer to the network sends the same again."""
    monkeypatch.setattr("generation.execution.states.RunKind.hand_over", lambda self, run: None)
    if verb == "pause":
        program.post(reverse("api:steer_run", args=[run.public_id, "start"]))
    answers = [program.post(reverse("api:steer_run", args=[run.public_id, verb])) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.json()["status"] for answer in answers] == [status, status]
    assert answers[0].json()["started_at"] == answers[1].json()["started_at"]
    assert JudgeRun.objects.count() == 1
    told = "started" if verb == "start" else status
    assert Event.objects.filter(verb=f"judge run {told}").count() == 1
