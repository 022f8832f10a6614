"""Endpoints, models and generation runs over the API: made, changed, tested, started, steered and removed."""

import json
import uuid

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import Event
from generation.models import Endpoint, GenerationRun, LanguageModel, Response
from generation.tasks import work
from tests.factories import make_user, make_workspace
from tests.generation.hostile_server import HostileServer, says
from tests.generation.responses.test_sampling import make_benchmark

pytestmark = pytest.mark.django_db
SCRIPT = {"script": {"writes": 12}}


@pytest.fixture
def api(client):
    """Ask as a lead of the workspace: api("post", "w/lab/endpoints/", {...}) gives the status and what came."""
    _token, secret = issue_token(user=make_user("lead"), name="script", scopes=["read", "change", "run"])

    def ask(method, path, body=None, **headers):
        headers["Authorization"] = f"Bearer {secret}"
        sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        answer = getattr(client, method)(f"/api/v1/{path}", headers=headers, **sent)
        return answer.status_code, answer.json() if answer.content else None

    return ask


@pytest.fixture
def at():
    return f"w/{make_workspace().slug}"


def test_an_endpoint_is_made_changed_and_removed(api, at):
    status, made = api(
        "post", f"{at}/endpoints/", {"name": "box", "base_url": "http://127.0.0.1:9/v1", "max_concurrent": 3}
    )
    assert status == 201
    assert (made["kind"], made["max_concurrent"], made["timeout_seconds"], made["found"]) == ("openai", 3, 300, [])
    path = f"{at}/endpoints/{made['id']}/"
    assert api("patch", path, {"tokens_per_minute": 500, "name": "gpu"}) == (
        200,
        {**made, "name": "gpu", "tokens_per_minute": 500},
    )
    assert api("patch", path, {"tokens_per_minute": None})[1]["tokens_per_minute"] is None
    assert [one["name"] for one in api("get", f"{at}/endpoints/")[1]["results"]] == ["gpu"]
    assert api("delete", path) == (204, None) and not Endpoint.objects.exists()
    assert list(Event.objects.order_by("pk").values_list("verb", flat=True))[-1] == "endpoint removed"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"base_url": "http://127.0.0.1:9/v1"}, "name"),
        ({"name": "box"}, "base_url"),
        ({"name": "box", "base_url": "ftp://x"}, "base_url"),
        ({"name": "box", "base_url": "http://127.0.0.1:9/v1", "key_variable": "sk-abcdefghijkl"}, "key_variable"),
        ({"name": "box", "base_url": "http://127.0.0.1:9/v1", "key_variable": "DATABASE_URL"}, "key_variable"),
        ({"name": "box", "base_url": "http://127.0.0.1:9/v1", "max_concurrent": 0}, "max_concurrent"),
        ({"name": "box", "kind": "grpc"}, "kind"),
    ],
)
def test_an_endpoint_that_makes_no_sense_is_refused(api, at, sent, words):
    status, answer = api("post", f"{at}/endpoints/", sent)
    assert status == 400 and answer["detail"].startswith(f"{words}: ") and not Endpoint.objects.exists()
    assert "abcdefghijkl" not in json.dumps(answer)


def test_a_changed_address_gives_up_the_key(api, at, monkeypatch):
    monkeypatch.setenv("BOX_KEY", "k")
    made = Endpoint.objects.create(
        workspace=make_workspace(), name="box", base_url="http://127.0.0.1:9/v1", key_variable="BOX_KEY"
    )
    status, changed = api("patch", f"{at}/endpoints/{made.pk}/", {"base_url": "http://127.0.0.1:10/v1"})
    assert (status, changed["key_variable"]) == (200, "")


def test_an_endpoint_is_tested(api, at):
    with HostileServer(lambda request, n: says("Fine.")) as server:
        made = Endpoint.objects.create(workspace=make_workspace(), name="box", base_url=server.base_url)
        LanguageModel.objects.create(workspace=make_workspace(), name="m", endpoint=made)
        status, tested = api("post", f"{at}/endpoints/{made.pk}/test/")
    assert status == 200 and tested["probed_at"]
    assert {"good": True, "text": "It answers chat requests.", "detail": ""} in tested["found"]
    status, answer = api("post", f"{at}/endpoints/{made.pk}/test/")
    assert status == 400 and "127.0.0.1" in answer["detail"]


def test_a_model_is_made_changed_and_removed(api, at):
    Endpoint.objects.create(workspace=make_workspace(), name="script", kind="scripted")
    sent = {"name": "actor", "endpoint": "script", "parameters": SCRIPT, "input_price": "1.5", "output_price": "2"}
    assert api("post", f"{at}/models/", sent)[1]["detail"].startswith("currency: ")
    status, made = api("post", f"{at}/models/", {**sent, "currency": "usd"})
    assert (status, made["endpoint"], made["currency"], made["price_known"]) == (201, "script", "USD", True)
    path = f"{at}/models/{made['id']}/"
    status, changed = api("patch", path, {"family": "Actors", "parameters": {**SCRIPT, "top_p": 0.5}})
    assert (status, changed["family"], changed["parameters"]["top_p"]) == (200, "Actors", 0.5)
    assert changed["input_price"] == made["input_price"]
    assert api("patch", path, {"endpoint": ""})[1]["endpoint"] is None
    (listed,) = api("get", "models/")[1]["results"]
    assert (listed["name"], listed["served"], listed["id"]) == ("actor", False, made["id"])
    assert api("delete", path) == (204, None) and not LanguageModel.objects.exists()


def test_what_depends_on_something_stays_and_somebody_elses_change_is_not_overwritten(api, at):
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=make_workspace(), name="actor", endpoint=endpoint)
    status, answer = api("delete", f"{at}/endpoints/{endpoint.pk}/")
    assert status == 400 and "actor" in answer["detail"]
    assert api("patch", f"{at}/models/{model.pk}/", {"family": "x"}, **{"If-Match": '"other"'})[0] == 412
    assert api("post", f"{at}/models/", {"name": "b", "endpoint": "absent"})[1]["detail"].endswith("there are: script.")
    for what in ("models", "endpoints"):
        assert api("get", f"{at}/{what}/{10**30}/")[0] == 404


def test_others_neither_read_nor_change(client, at):
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=make_workspace(), name="actor", endpoint=endpoint)
    paths = [f"endpoints/{endpoint.pk}/", f"models/{model.pk}/", "endpoints/"]
    for user, status in ((make_user("analyst"), 403), (make_user("lead", make_workspace("other")), 404)):
        client.force_login(user)
        for path in paths:
            assert client.get(f"/api/v1/{at}/{path}").status_code == status, path
            assert client.delete(f"/api/v1/{at}/{path}").status_code in (status, 405), path
    assert LanguageModel.objects.exists() and Endpoint.objects.exists()


@pytest.fixture
def served():
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=make_workspace(), name="actor", endpoint=endpoint, parameters=SCRIPT)


def test_a_generation_run_is_started_once_and_read(api, at, served, django_capture_on_commit_callbacks):
    benchmark = make_benchmark(3)
    path, key = f"{at}/benchmarks/{benchmark.slug}/generation/", {"Idempotency-Key": str(uuid.uuid4())}
    sent = {"models": ["actor"], "samples": 2, "limit": 2, "budget_calls": 50}
    status, made = api("post", path, sent, **key)
    assert (status, made["benchmark"], made["budget_calls"]) == (201, benchmark.slug, 50)
    assert api("post", path, sent, **key) == (201, made)
    run = GenerationRun.objects.get()
    assert run.items.count() == 4 and made["job"] == f"generation-{run.public_id}"
    assert api("get", f"jobs/{made['job']}/")[1]["state"] in ("waiting", "running")
    work(run.pk)
    status, done = api("get", f"generation/{run.public_id}/")
    assert (status, done["status"], done["calls"]) == (200, "finished", 4)
    assert done["models"] == [{"name": "actor", "total": 4, "done": 4, "failed": 0, "waiting": 0}]
    assert [one["id"] for one in api("get", "generation/")[1]["results"]] == [run.public_id]
    found = api("get", f"{at}/benchmarks/{benchmark.slug}/responses/?run={run.public_id}&model=actor")[1]["results"]
    assert len(found) == 4 == Response.objects.filter(run=run).count()
    (first, *_rest) = found
    only = api("get", f"{at}/benchmarks/{benchmark.slug}/responses/?instruction={first['instruction']}")[1]["results"]
    assert len(only) == 2


def test_a_generation_run_is_steered(api, at, served):
    benchmark = make_benchmark(2)
    made = api("post", f"{at}/benchmarks/{benchmark.slug}/generation/", {"models": ["actor"]})[1]
    steer = f"generation/{made['id']}/"
    assert api("post", f"{steer}pause/")[1]["status"] == "paused"
    assert api("post", f"{steer}start/")[1]["status"] == "running"
    assert api("post", f"{steer}cancel/")[1]["status"] == "cancelled"
    status, answer = api("post", f"{steer}start/")
    assert status == 400 and answer["detail"]
    assert api("post", f"{steer}explode/")[0] == 404


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "models"),
        ({"models": []}, "models"),
        ({"models": ["absent"]}, "There is no model 'absent'"),
        ({"models": ["loaded"]}, "There is no model 'loaded'"),
        ({"models": ["actor"], "samples": 0}, "samples"),
        ({"models": ["actor"], "experiment": "none"}, "experiment"),
        ({"models": ["actor"], "tags": ["none"]}, "tags"),
        ({"models": ["actor"], "categories": ["none"]}, "categories"),
        ({"models": ["actor"], "budget_money": "0"}, "budget_money"),
    ],
)
def test_a_generation_run_that_cannot_be_is_refused(api, at, served, sent, words):
    LanguageModel.objects.create(workspace=make_workspace(), name="loaded")
    status, answer = api("post", f"{at}/benchmarks/{make_benchmark(1).slug}/generation/", sent)
    assert status == 400 and answer["detail"].startswith(words) and not GenerationRun.objects.exists()


def test_the_budget_of_a_generation_run_is_set_as_it_was_read(api, client, at, served):
    made = api("post", f"{at}/benchmarks/{make_benchmark(2).slug}/generation/", {"models": ["actor"]})[1]
    path = f"generation/{made['id']}/budget/"
    assert api("get", path)[1] == {"budget_calls": None, "budget_tokens": None, "budget_money": None}
    wanted = {"budget_calls": 7, "budget_tokens": None, "budget_money": "1.500000"}
    assert api("put", path, wanted) == (200, wanted)
    assert api("put", path, wanted, **{"If-Match": '"old"'})[0] == 412
    for bad in ({"budget_calls": 0}, {"budget_money": "0"}, {"budget_tokens": "many"}):
        status, answer = api("put", path, {**wanted, **bad})
        assert status == 400 and answer["detail"].startswith(f"{next(iter(bad))}: ")
    assert Event.objects.filter(verb__contains="budget changed").count() == 1
    assert GenerationRun.objects.get().budget_calls == 7
    for user, status in ((make_user("analyst"), 403), (make_user("lead", make_workspace("elsewhere")), 404)):
        client.force_login(user)
        assert client.put(f"/api/v1/{path}", wanted, "application/json").status_code == status


def test_an_analyst_starts_no_run(client, at, served):
    client.force_login(make_user("analyst"))
    path = reverse("api:start_generation", args=[make_workspace().slug, make_benchmark(1).slug])
    assert client.post(path, {"models": ["actor"]}, "application/json").status_code == 403


def test_instructions_are_filtered(api, at):
    benchmark = make_benchmark(3)
    first, second, third = benchmark.instructions.order_by("pk")
    first.language, first.tags = "zh", ["hard", "long"]
    second.tags = ["hardest"]
    third.category = benchmark.categories.create(key="essay")
    for one in (first, second, third):
        one.save()

    def found(query):
        rows = api("get", f"{at}/benchmarks/{benchmark.slug}/instructions/?{query}")[1]["results"]
        return [row["external_id"] for row in rows]

    assert found("tag=hard") == [first.external_id] == found("language=zh")
    assert found("category=essay") == [third.external_id]
    assert found(f"q={second.external_id.upper()}") == [second.external_id]
    assert found("q=nothing") == []
