"""The API for programs: who may use it, that pages join up without a gap, and that it says what the pages say."""

import io
import zipfile

import pytest
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from accounts.api.tokens import issue_token, revoke_token
from accounts.models import ApiToken
from annotation.models import Rater, Score
from calibration.fits.store import run_fit
from calibration.models import CategoryFit, Fit, FittedWeight
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from judging.leaderboards.table import judge_named, leaderboard
from tests.factories import (
    make_answer,
    make_checklist_study,
    make_judge_rater,
    make_rater,
    make_user,
    make_workspace,
    plan_run,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_checklist_study(instructions=4, models=2)
    for label, shift in (("ann", 0), ("bob", 1), ("cyd", 2)):
        rater = make_rater(study, label=label, pseudonym=f"rater {shift + 1}")
        for number, task in enumerate(study.tasks.order_by("pk")):
            level = (number + shift) % 5 / 4
            values = {"item0": level, "item1": 1 - level, "item2": 0.5, "overall": (number + shift) % 11}
            make_answer(task, rater, values)
    return study


EVERYTHING = ApiToken.Scope.values


def bearer(user, scopes=("read", "ratings"), **options):
    _token, secret = issue_token(user=user, name="script", scopes=scopes, **options)
    return {"HTTP_AUTHORIZATION": f"Bearer {secret}"}


def a_run(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    return plan_run(judge=create_judge(model=model), study=study)


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


ADDRESSES = [
    "/api/v1/schema/",
    "/api/v1/benchmarks/",
    "/api/v1/w/lab/benchmarks/bench/instructions/",
    "/api/v1/w/lab/benchmarks/bench/responses/",
    "/api/v1/models/",
    "/api/v1/studies/",
    "/api/v1/w/lab/studies/{study}/",
    "/api/v1/w/lab/studies/{study}/scores/",
    "/api/v1/w/lab/studies/{study}/reports/",
    "/api/v1/w/lab/studies/{study}/export/",
    "/api/v1/fits/",
    "/api/v1/judges/",
    "/api/v1/runs/",
]


def address(path, study):
    return path.format(study=study.slug).replace("/bench/", f"/{study.benchmark.slug}/")


@pytest.mark.parametrize("path", ADDRESSES)
def test_only_those_who_may_read_results_are_answered(client, study, lead, path):
    path = address(path, study)
    rater = make_user("rater", study.workspace, username="rita")
    assert client.get(path).status_code == 401
    assert client.get(path, **bearer(rater)).status_code == 403
    client.force_login(rater)
    assert client.get(path).status_code == 403
    client.logout()
    assert client.get(path, **bearer(lead)).status_code == 200
    assert client.get(path, **bearer(make_user("analyst", study.workspace, username="anna"))).status_code == 200


@pytest.mark.parametrize("path", [path for path in ADDRESSES if "{study}" in path or "bench/" in path])
def test_another_workspace_hears_that_there_is_no_such_thing(client, study, path):
    other = make_user("lead", make_workspace("other"), username="otto")
    response = client.get(address(path, study), **bearer(other))
    assert response.status_code == 404
    assert "in your workspaces" in response.json()["detail"]


@pytest.mark.parametrize("path", ["benchmarks", "models", "studies", "fits", "judges", "runs"])
def test_lists_hold_nothing_of_another_workspace(client, study, lead, path):
    run_fit(study=study, draws=0)
    a_run(study)
    other = make_user("lead", make_workspace("other"), username="otto")
    assert client.get(f"/api/v1/{path}/", **bearer(lead)).json()["results"]
    assert client.get(f"/api/v1/{path}/", **bearer(other)).json()["results"] == []


def test_a_revoked_token_and_that_of_a_closed_account_open_nothing(client, study, lead):
    token, secret = issue_token(user=lead, name="script")
    head = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    assert client.get("/api/v1/studies/", **head).status_code == 200
    assert ApiToken.objects.get().used_at is not None
    revoke_token(token=token, clock=timezone.now)
    refused = client.get("/api/v1/studies/", **head)
    assert (refused.status_code, "revoked" in refused.json()["detail"]) == (401, True)
    head = bearer(lead)
    lead.is_active = False
    lead.save()
    assert client.get("/api/v1/studies/", **head).status_code == 401


def test_the_secret_is_stored_nowhere(study, lead):
    token, secret = issue_token(user=lead, name="script")
    kept = " ".join(str(value) for value in ApiToken.objects.filter(pk=token.pk).values().get().values())
    assert secret not in kept
    assert secret.removeprefix("plumbline_") not in kept


def test_pages_join_up_without_a_gap_while_answers_come_in(client, study, lead):
    head, seen = bearer(lead), []
    path = f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/scores/?size=7"
    while path:
        page = client.get(path, **head).json()
        seen += [(row["task"], row["rater"], row["criterion"]) for row in page["results"]]
        if len(seen) == 7:
            late = make_rater(study, label="late")
            make_answer(study.tasks.first(), late, {"item0": 1, "item1": 1, "item2": 1, "overall": 9})
        path = page["next"]
    # 3 raters x 8 tasks x 4 criteria, and 4 more that came in between
    assert len(seen) == len(set(seen)) == 3 * 8 * 4 + 4


def test_scores_name_no_person_and_only_the_last_revision_is_there(client, study, lead):
    one = Score.objects.filter(criterion__key="overall").first()
    Score.objects.create(assignment=one.assignment, criterion=one.criterion, revision=1, value=3.5)
    head, path = bearer(lead), f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/scores/?size=1000"
    answer = client.get(path, **head)
    rows = answer.json()["results"]
    assert len(rows) == 96
    mine = [row for row in rows if row["revision"] == 1]
    assert [row["value"] for row in mine] == [3.5]
    for label in Rater.objects.values_list("label", flat=True):
        assert f'"{label}"' not in answer.content.decode()
    assert len(client.get(path + "&every_revision=true", **head).json()["results"]) == 97
    overall = client.get(path + "&criterion=overall", **head).json()["results"]
    assert {row["criterion"] for row in overall} == {"overall"}


def test_a_study_is_counted_and_its_fit_and_reports_are_those_of_the_pages(client, study, lead):
    head = bearer(lead)
    state = client.get(f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/", **head).json()
    assert (state["tasks"], state["answers_of_people"], state["answers_of_judges"]) == (8, 24, 0)
    fit = run_fit(study=study, draws=0)
    said = client.get(f"/api/v1/fits/{fit.public_id}/", **head).json()
    stored = list(fit.categories.first().weights.order_by("position").values_list("weight", flat=True))
    assert said["categories"][0]["weights"] == stored
    assert "rows" not in said["categories"][0]
    assert client.get("/api/v1/fits/nothing/", **head).status_code == 404


def test_published_weights_have_no_certificate(client, study, lead):
    fit = Fit.objects.create(workspace=study.workspace, kind="published", published_name="table-17")
    category = CategoryFit.objects.create(fit=fit, key="essay", position=0)
    FittedWeight.objects.create(category_fit=category, criterion_key="item0", position=0, weight=100)
    said = client.get("/api/v1/fits/table-17/", **bearer(lead)).json()
    assert said["categories"] == [{"category": "essay", "items": ["item0"], "weights": [100]}]


def test_a_leaderboard_is_that_of_the_command(client, study, lead):
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {"item0": 1, "item1": 0.5, "item2": 0.25})
    head, path = bearer(lead), f"/api/v1/w/{study.workspace.slug}/leaderboards/{study.benchmark.slug}/"
    benchmark = study.benchmark
    expected = leaderboard(benchmark, judge_named(benchmark, "gpt-4o"), "equal").as_json()
    assert client.get(path, {"judge": "gpt-4o"}, **head).json() == expected
    refused = client.get(path, {"judge": "nobody"}, **head)
    assert (refused.status_code, "nobody" in refused.json()["detail"]) == (400, True)


def test_runs_are_steered_by_leads_with_a_token_that_may_change(client, study, lead):
    run = a_run(study)
    path = f"/api/v1/runs/{run.public_id}/"
    reading = bearer(lead)
    assert client.get(path, **reading).json()["progress"]["waiting"] == 8
    assert client.post(path + "cancel/", **reading).status_code == 403
    analyst = make_user("analyst", study.workspace, username="anna")
    assert client.post(path + "cancel/", **bearer(analyst, EVERYTHING)).status_code == 403
    run.refresh_from_db()
    assert run.status == "planned"
    changing = bearer(lead, EVERYTHING)
    assert client.post(path + "pause/", **changing).status_code == 400
    assert client.post(path + "cancel/", **changing).json()["status"] == "cancelled"
    again = client.post(path + "start/", **changing)
    assert (again.status_code, "cancelled" in again.json()["detail"]) == (400, True)


def test_a_session_may_not_change_anything_without_its_csrf_token(study, lead):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(lead)
    run = a_run(study)
    assert strict.post(f"/api/v1/runs/{run.public_id}/cancel/").status_code == 403


def test_the_export_is_the_file_that_recompute_reads(client, study, lead):
    got = client.get(f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/export/", **bearer(lead))
    names = zipfile.ZipFile(io.BytesIO(b"".join(got.streaming_content))).namelist()
    assert {"manifest.json", "reports.jsonl"} <= set(names)


def test_the_schema_names_every_address(client, lead):
    schema = client.get("/api/v1/schema/", **bearer(lead)).json()
    there = {pattern.name for pattern in get_resolver("config.api_urls").url_patterns} - {"schema", None}
    assert len(schema["paths"]) == len(there)
    (one,) = schema["paths"]["/api/v1/w/{workspace}/studies/{slug}/"].values()
    assert {part["name"] for part in one["parameters"] if part["in"] == "path"} == {"workspace", "slug"}
    scheme = schema["components"]["securitySchemes"]["token"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert all(f"`{scope}`" in scheme["description"] for scope in EVERYTHING)


def test_the_password_is_changed_by_who_knows_it(client, lead):
    client.force_login(lead)
    wrong = {"old_password": "no", "new_password1": "another long one 7", "new_password2": "another long one 7"}
    assert client.post("/account/password/", wrong).status_code == 200
    assert client.post("/account/password/", {**wrong, "old_password": "plumb line 12"}).status_code == 302
    lead.refresh_from_db()
    assert lead.check_password("another long one 7")


def test_the_schema_declares_the_errors_of_every_operation(client, lead):
    schema = client.get("/api/v1/schema/", **bearer(lead)).json()
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            declared = {"400", "401", "403", "404", "406", "409", "413", "429", "503"}
            assert declared <= set(operation["responses"]), (path, method)
