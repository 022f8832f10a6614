"""Judges, runs, fits and exports made over the API, and the jobs that say how far they are."""

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.monitoring.exclusion import exclude
from annotation.uploads.kept_files import TableUpload, kept_tables
from calibration.models import Fit, ReportRefresh
from calibration.tasks import fit_study
from core.models import RequestedTask
from generation.models import Endpoint, GenerationRun, LanguageModel
from judging.archive.made_files import make
from judging.models import Judge, JudgeRun
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


@pytest.fixture
def study():
    study = make_checklist_study(instructions=4, models=2)
    for shift, label in enumerate(("ann", "bob", "cyd")):
        rater = make_rater(study, label=label)
        for number, task in enumerate(study.tasks.order_by("pk")):
            level = (number + shift) % 5 / 4
            values = {"item0": level, "item1": 1 - level, "item2": 0.5, "overall": (number + shift) % 11}
            make_answer(task, rater, values)
    return study


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def head(user, *scopes, **options):
    _token, secret = issue_token(user=user, name="s", scopes=scopes or ApiToken.Scope.values, **options)
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def ask(client, lead):
    token = head(lead)

    def asked(name, *parts, sent=None, status=200, get=False, **headers):
        path = reverse(f"api:{name}", args=parts)
        options = {"headers": {**token, **headers}}
        if get:
            answer = client.get(path, sent or {}, **options)
        else:
            answer = client.post(path, sent or {}, "application/json", **options)
        assert answer.status_code == status, answer.content
        return answer

    return asked


def own(study):
    return study.workspace.slug, study.slug


def test_a_judge_is_made_and_is_the_same_again(study, model, ask):
    sent = {"method": "checklist", "model": "scripted", "name": "careful", "temperature": 0.5}
    made = ask("make_judge", "lab", sent=sent, status=201).json()
    assert (made["name"], made["model"], made["parameters"]) == ("careful", "scripted", {"temperature": 0.5})
    assert ask("make_judge", "lab", sent=sent, status=201).json() == made
    judge = Judge.objects.get()
    assert judge.prompt and Event.objects.filter(verb="judge made").first().actor.username == "lena"


def test_a_nought_is_not_taken_for_nothing(study, model, ask):
    greedy = {"method": "checklist", "model": "scripted", "name": "greedy", "temperature": 0}
    assert ask("make_judge", "lab", sent=greedy, status=201).json()["parameters"] == {"temperature": 0.0}
    free = {"judges": ["greedy"], "budget_money": "0"}
    assert ask("run_on_study", *own(study), sent=free, status=400).json()["detail"].startswith("budget_money: ")
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"method": "divination"}, "method: "),
        ({"method": "checklist"}, "There is no model"),
        ({"method": "checklist", "model": "elsewhere"}, "There is no model 'elsewhere'"),
        ({"method": "checklist", "model": "scripted", "prompt": "@@ user\n$nonsense"}, "placeholder"),
        ({"method": "checklist", "model": "scripted", "parameters": {"stream": True}}, "others: "),
    ],
    ids=str,
)
def test_a_judge_that_cannot_be_is_refused(study, model, ask, sent, said):
    assert said in ask("make_judge", "lab", sent=sent, status=400).json()["detail"]
    assert not Judge.objects.exists()


def test_a_run_is_started_once_and_its_job_is_cancelled(study, model, ask):
    ask("make_judge", "lab", sent={"method": "checklist", "model": "scripted", "name": "careful"}, status=201)
    sent = {"judges": ["careful"], "limit": 3, "canaries": False, "budget_calls": 10}
    key = {"Idempotency-Key": "run-1"}
    made = ask("run_on_study", *own(study), sent=sent, status=201, **key).json()
    assert ask("run_on_study", *own(study), sent=sent, status=201, **key).json() == made
    run = JudgeRun.objects.get()
    assert (made["id"], made["status"], made["budget_calls"]) == (run.public_id, "running", 10)
    assert run.created_by.username == "lena" and run.items.count() == 3
    job = ask("job", f"run-{run.public_id}", get=True).json()
    assert (job["state"], job["done"], job["total"], job["about"]) == ("running", 0, 3, "lab/essays")
    assert ask("jobs", get=True, sent={"kind": "run"}).json()["results"] == [job]
    assert ask("jobs", get=True, sent={"state": "done", "kind": "run"}).json()["results"] == []
    cancelled = ask("cancel_job", job["id"]).json()
    assert cancelled["state"] == "cancelled" and ask("cancel_job", job["id"]).json() == cancelled
    assert "no judge 'wild'" in ask("run_on_study", *own(study), sent={"judges": ["wild"]}, status=400).json()["detail"]
    assert ask("run_on_study", *own(study), sent={}, status=400).json()["detail"].startswith("judges: ")
    path = (study.workspace.slug, study.benchmark.slug)
    over = ask("run_on_benchmark", *path, sent={**sent, "limit": None}, status=201).json()
    assert over["status"] == "running" and over["study"] != study.slug
    ask("run_on_benchmark", *path, sent={**sent, "experiment": "none"}, status=400)


def test_generation_is_a_job(study, ask):
    run = GenerationRun.objects.create(benchmark=study.benchmark, name="made", status="paused", message="Out of money.")
    job = ask("job", f"generation-{run.public_id}", get=True).json()
    assert (job["state"], job["error"], job["total"]) == ("paused", "Out of money.", 0)
    assert ask("cancel_job", job["id"]).json()["state"] == "cancelled"
    run.refresh_from_db()
    assert run.status == "cancelled"


def test_a_fit_is_made_at_once_and_published(study, ask):
    fit = ask("make_fit", *own(study), sent={"skip_small": True}, status=201).json()
    assert Fit.objects.get().public_id == fit["id"]
    named = ask("publish", fit["id"], sent={"name": "tea-1"}).json()
    assert named["published_name"] == "tea-1" and ask("publish", fit["id"], sent={"name": "tea-1"}).json() == named
    ask("publish", fit["id"], sent={"name": "equal"}, status=400)
    ask("make_fit", *own(study), sent={"floor": 99}, status=400)
    ask("make_fit", *own(study), sent={"excluded": "yes"}, status=400)
    without, whole = (ask("fit", fit["id"], get=True, sent=sent).json() for sent in ({}, {"rows": "1"}))
    assert len(str(whole)) > len(str(without)) and "rows" in str(whole)
    exclude(study, study.raters.first(), since=None, reason="Careless", by=None)
    sent = {"skip_small": True}
    fewer = ask("make_fit", *own(study), sent=sent, status=201).json()
    again = ask("make_fit", *own(study), sent={**sent, "excluded": "shown"}, status=201).json()
    assert fewer["data_hash"] != fit["data_hash"] == again["data_hash"]


def test_a_slow_fit_is_a_job_with_its_result(study, ask, lead, monkeypatch):
    monkeypatch.setattr("calibration.web.views.is_slow", lambda study: True)
    made = ask("make_fit", *own(study), sent={"skip_small": True}, status=202).json()
    assert ask("job", made["job"], get=True).json()["state"] == "waiting"
    assert "cannot be stopped" in ask("cancel_job", made["job"], status=400).json()["detail"]
    fit_study(*RequestedTask.objects.get(task="calibration.fit_study").arguments)
    job = ask("job", made["job"], get=True).json()
    assert (job["state"], job["result"]) == ("done", f"fits/{Fit.objects.get().public_id}/")


def test_a_slow_fit_that_is_refused_says_why(ask, lead, study, monkeypatch):
    empty = make_checklist_study(instructions=1, models=1, slug="empty")
    monkeypatch.setattr("calibration.web.views.is_slow", lambda study: True)
    made = ask("make_fit", *own(empty), status=202).json()
    fit_study(*RequestedTask.objects.get(task="calibration.fit_study").arguments)
    job = ask("job", made["job"], get=True).json()
    assert job["state"] == "failed" and "Nobody has completed a checklist" in job["error"]


def test_an_export_is_asked_for_made_and_read(client, study, ask, lead):
    job = ask("make_export", *own(study), sent={"kind": "jsonl"}, status=202).json()
    assert (job["state"], job["total"], job["result"]) == ("waiting", 24, "")
    assert ask("make_export", *own(study), sent={"kind": "jsonl"}, status=202).json()["id"] == job["id"]
    public_id = job["id"].removeprefix("export-")
    ask("export_file", public_id, get=True, status=404)
    make(public_id)
    done = ask("job", job["id"], get=True).json()
    assert (done["state"], done["done"]) == ("done", 24)
    file = client.get(f"/api/v1/{done['result']}", headers=head(lead, "ratings"))
    assert len(b"".join(file.streaming_content).splitlines()) == 24
    assert client.get(f"/api/v1/{done['result']}", headers=head(lead, "read")).status_code == 403
    other = ask("make_export", *own(study), sent={"kind": "csv"}, status=202).json()
    assert ask("cancel_job", other["id"]).json()["state"] == "cancelled"
    ask("job", other["id"], get=True, status=404)
    ask("make_export", *own(study), sent={"kind": "pdf"}, status=400)


def test_an_import_is_a_job(client, study, ask, lead):
    path = reverse("api:upload_file", args=["lab"]) + "?name=a.csv"
    sent = client.post(path, b"id,prompt\na,Write.\n", content_type="application/octet-stream", headers=head(lead))
    job_id = f"import-{sent.json()['id']}"
    job = ask("job", job_id, get=True).json()
    assert (job["state"], job["can_be_cancelled"]) == ("waiting", True)
    assert ask("cancel_job", job_id).json()["state"] == "cancelled"
    assert not list(kept_tables()) and TableUpload.known(sent.json()["id"]) is None
    ask("job", job_id, get=True, status=404)


@pytest.mark.parametrize(
    "job_id", ["run-x", "fit-x", "fit-99999999999999999999", "export-../x", "poem-1", "run", "fit-٣"]
)
def test_a_job_that_does_not_exist_is_said(study, ask, job_id):
    if "/" not in job_id:
        assert "no such job" in ask("job", job_id, get=True, status=404).json()["detail"]


def test_a_workspace_is_sealed(client, study, model, ask, lead):
    """The attack: jobs, files, fits, judges and models of a workspace by their ids and names, from another one."""
    ask("make_judge", "lab", sent={"method": "checklist", "model": "scripted", "name": "careful"}, status=201)
    run = ask("run_on_study", *own(study), sent={"judges": ["careful"], "canaries": False}, status=201).json()["id"]
    fit = ask("make_fit", *own(study), sent={"skip_small": True}, status=201).json()["id"]
    export = ask("make_export", *own(study), status=202).json()["id"]
    make(export.removeprefix("export-"))
    refresh = ReportRefresh.objects.create(study=study, kind="fit", asked_hash="x", asked_at=study.created_at)
    theirs = make_checklist_study(instructions=1, models=1, slug="theirs", workspace=make_workspace("other"))
    stranger = head(make_user("owner", theirs.workspace, username="otto"))
    for job_id in (f"run-{run}", export, f"fit-{refresh.pk}"):
        assert client.get(reverse("api:job", args=[job_id]), headers=stranger).status_code == 404
        assert client.post(reverse("api:cancel_job", args=[job_id]), headers=stranger).status_code == 404
    assert client.get("/api/v1/jobs/", headers=stranger).json() == {"results": []}
    assert client.get(reverse("api:export_file", args=[export[7:]]), headers=stranger).status_code == 404
    posts = [
        ("publish", [fit], {"name": "mine"}),
        ("make_fit", own(study), {}),
        ("make_export", own(study), {}),
        ("make_judge", ["lab"], {"method": "checklist", "model": "scripted"}),
        ("run_on_study", own(study), {"judges": ["careful"]}),
        ("run_on_benchmark", ["lab", study.benchmark.slug], {"judges": ["careful"]}),
    ]
    for name, parts, sent in posts:
        path = reverse(f"api:{name}", args=parts)
        assert client.post(path, sent, "application/json", headers=stranger).status_code == 404, name
    # In the own workspace, another's judge and model are nobody's.
    for name, parts, sent in (
        ("run_on_study", own(theirs), {"judges": ["careful"]}),
        ("run_on_study", own(theirs), {"model": "scripted", "method": "checklist"}),
        ("make_judge", ["other"], {"method": "checklist", "model": "scripted"}),
    ):
        path = reverse(f"api:{name}", args=parts)
        assert client.post(path, sent, "application/json", headers=stranger).status_code == 400, name
    analyst = head(make_user("analyst", study.workspace, username="anna"))
    for name, parts, sent in posts:
        if name != "make_export":
            path = reverse(f"api:{name}", args=parts)
            assert client.post(path, sent, "application/json", headers=analyst).status_code == 403, name
    assert client.post(reverse("api:cancel_job", args=[f"run-{run}"]), headers=analyst).status_code == 403
    assert (
        JudgeRun.objects.count() == 1 and Judge.objects.count() == 1 and Fit.objects.get().published_name in ("", None)
    )
