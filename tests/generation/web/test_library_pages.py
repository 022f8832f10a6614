"""The library, endpoints, models and generation runs as a lead, an analyst, a rater and a stranger see them."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from generation.llm.protocol.allowed_hosts import read_keys
from generation.models import Category, Endpoint, GenerationRun, Instruction, LanguageModel, Response
from generation.responses.plan import GenerationRequest, plan_generation
from generation.responses.runs import start_run
from generation.responses.worker import work_on
from tests.factories import make_user, make_workspace
from tests.generation.endpoints.test_probing import server_that
from tests.generation.hostile_server import HostileServer, fails, says_or_streams
from tests.generation.responses.test_sampling import QUICK, TEXT, make_benchmark, make_model
from tests.markup import markup

pytestmark = pytest.mark.django_db
PAGES = ("library", "responses", "models", "endpoints", "runs")


def url(name, *args):
    return reverse(f"generation:{name}", args=args)


@pytest.fixture
def lead(client):
    client.force_login(make_user("lead"))
    return client


def written(instructions=3, **options):
    """A finished run of a model at a server that is gone by now."""
    with HostileServer(lambda request, n: says_or_streams(request, TEXT, read=50, written=10)) as server:
        run = plan_generation(GenerationRequest(make_benchmark(instructions), models=(make_model(server),), **options))
        start_run(run, clock=timezone.now)
        return work_on(run, options=QUICK)


@pytest.mark.parametrize("name", PAGES)
def test_every_list_is_for_those_who_read_results(client, name):
    assert client.get(url(name)).status_code == 302
    client.force_login(make_user("rater"))
    assert client.get(url(name)).status_code == 403
    client.force_login(make_user("analyst"))
    assert client.get(url(name)).status_code == 200
    client.force_login(make_user("lead"))
    assert client.get(url(name)).status_code == 200


def test_another_workspaces_rows_are_not_there(client):
    run = written()
    response = run.responses.first()
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert "essays" not in markup(client.get(url("library")))
    for name, key in (
        ("benchmark", "lab/essays"),
        ("instruction", response.instruction.public_id),
        ("response", response.public_id),
        ("run", run.public_id),
        ("start_run", "lab/essays"),
    ):
        assert client.get(url(name, key)).status_code == 404
    endpoint = Endpoint.objects.get()
    assert client.post(url("test_endpoint", endpoint.pk)).status_code == 404
    assert client.get(url("edit_endpoint", endpoint.pk)).status_code == 404
    assert client.get(url("edit_model", LanguageModel.objects.get().pk)).status_code == 404
    assert client.post(url("control_run", run.public_id), {"action": "cancel"}).status_code == 404


def test_from_benchmark_to_instruction_to_response(lead):
    run = written()
    response = run.responses.select_related("instruction").first()
    page = markup(lead.get(url("benchmark", "lab/essays")))
    assert "essays-0" in page and "Write about topic 2." in page and "main 1" in page
    page = markup(lead.get(url("instruction", response.instruction.public_id)))
    assert "Write about topic" in page and ">m</a>" in page
    page = markup(lead.get(url("response", response.public_id)))
    assert TEXT in page and "complete" in page


def test_instructions_are_found_by_category_and_words_and_paged(lead, django_assert_max_num_queries):
    benchmark = make_benchmark(120)
    category = Category.objects.create(benchmark=benchmark, key="essay", names={"en": "Essay"})
    benchmark.instructions.filter(external_id="essays-77").update(category=category)
    with django_assert_max_num_queries(20):
        page = markup(lead.get(url("benchmark", "lab/essays")))
    assert "Page 1 of 3" in page
    assert "essays-77" in markup(lead.get(url("benchmark", "lab/essays"), {"category": "essay"}))
    page = markup(lead.get(url("benchmark", "lab/essays"), {"q": "topic 119"}))
    assert "essays-119" in page and "essays-118" not in page
    assert "No matching instructions" in markup(lead.get(url("benchmark", "lab/essays"), {"q": "zzz"}))
    assert lead.get(url("benchmark", "lab/essays"), {"page": "99"}).status_code == 200


def test_texts_of_models_are_never_markup(lead):
    run = written(1)
    response = run.responses.get()
    Response.objects.filter(pk=response.pk).update(text="<script>alert(1)</script> I cannot help.")
    Instruction.objects.update(messages=[{"role": "user", "content": "<img src=x onerror=alert(1)>"}])
    page = markup(lead.get(url("response", response.public_id)))
    assert "<script>alert" not in page and "&lt;script&gt;" in page
    assert "<img src=x" not in markup(lead.get(url("instruction", response.instruction.public_id)))


def test_a_refusal_and_a_repetition_are_pointed_out(lead):
    run = written(1)
    response = run.responses.get()
    Response.objects.filter(pk=response.pk).update(text="I'm sorry, but no. " + "The same thing again. " * 4)
    page = markup(lead.get(url("response", response.public_id)))
    assert "begins like a refusal" in page
    assert "This sentence occurs 4 times" in page


def test_responses_are_narrowed_down_by_model_and_run(lead):
    run = written(2)
    assert markup(lead.get(url("responses"), {"run": run.public_id})).count("essays-") == 2
    assert "No responses" in markup(lead.get(url("responses"), {"model": "nobody"}))


def endpoint_fields(**more):
    return {
        "name": "local",
        "kind": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "key_variable": "",
        "max_concurrent": 4,
        "timeout_seconds": 60,
        "input_price": "0",
        "output_price": "2.5",
        **more,
    }


def test_an_endpoint_is_added_changed_and_logged(lead, settings):
    settings.MODEL_KEYS = read_keys(["MY_API_KEY@http://127.0.0.1:9/lab"])
    assert lead.post(url("new_endpoint"), endpoint_fields(key_variable="MY_API_KEY")).status_code == 302
    endpoint = Endpoint.objects.get()
    assert (endpoint.key_variable, endpoint.workspace.slug) == ("MY_API_KEY", "lab")
    given = endpoint_fields(key_variable="MY_API_KEY", max_concurrent=9)
    assert lead.post(url("edit_endpoint", endpoint.pk), given).status_code == 302
    endpoint.refresh_from_db()
    assert endpoint.max_concurrent == 9
    assert Event.objects.filter(verb="endpoint saved").count() == 2


def test_a_key_is_refused_with_a_sentence_and_stands_nowhere_in_the_answer(lead):
    key = "sk-proj-abcdef0123456789ABCDEF"
    answer = lead.post(url("new_endpoint"), endpoint_fields(key_variable=key))
    page = markup(answer)
    assert answer.status_code == 422
    assert "Plumbline never stores keys" in page and key not in page
    assert "127.0.0.1:9" in page
    assert not Endpoint.objects.exists() and not Event.objects.filter(verb="endpoint saved").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_url", ""),
        ("base_url", "file:///etc/passwd"),
        ("base_url", "http://user:pass@host/v1"),
        ("base_url", "http://host:port/v1"),
        ("key_variable", "PLUMBLINE_SECRET_KEY"),
        ("max_concurrent", 0),
        ("max_concurrent", "9" * 23),
        ("timeout_seconds", 0),
        ("requests_per_minute", 0),
        ("tokens_per_minute", -5),
        ("context_tokens", 0),
        ("context_tokens", "9" * 23),
        ("input_price", "-1e99"),
        ("input_price", "-0.5"),
        ("output_price", "NaN"),
        ("name", ""),
        ("name", "n" * 101),
        ("kind", "telepathy"),
    ],
)
def test_endpoints_that_make_no_sense_are_refused(lead, field, value):
    assert lead.post(url("new_endpoint"), endpoint_fields(**{field: value})).status_code == 422
    assert not Endpoint.objects.exists()


def test_an_analyst_reads_endpoints_but_adds_none(client):
    client.force_login(make_user("analyst"))
    assert "Add an endpoint" not in markup(client.get(url("endpoints")))
    assert client.post(url("new_endpoint"), endpoint_fields()).status_code == 422
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("htmx", [True, False])
def test_the_test_button_says_in_words_what_the_endpoint_can_do(lead, htmx):
    headers = {"HX-Request": "true"} if htmx else {}
    with server_that(schema="ignores") as server:
        endpoint = Endpoint.objects.create(workspace=make_workspace(), name="e", base_url=server.base_url)
        assert "has not been tested" in markup(lead.get(url("endpoints")))
        answer = lead.post(url("test_endpoint", endpoint.pk), headers=headers, follow=not htmx)
    page = markup(answer)
    assert "It accepts a JSON schema but ignores it" in page
    assert ("<html" in page) is not htmx
    assert Endpoint.objects.get().probed_at is not None


@pytest.mark.parametrize("htmx", [True, False])
def test_an_endpoint_that_refuses_is_told_in_its_words(lead, htmx):
    with HostileServer(lambda request, n: fails(401, "no such <key>")) as server:
        endpoint = Endpoint.objects.create(workspace=make_workspace(), name="e", base_url=server.base_url)
        headers = {"HX-Request": "true"} if htmx else {}
        page = markup(lead.post(url("test_endpoint", endpoint.pk), headers=headers, follow=not htmx))
    assert "no such &lt;key&gt;" in page


def model_fields(**more):
    return {"name": "tiny", "parameters": "{}", **more}


def test_a_model_is_added_with_its_endpoint_and_its_parameters_must_be_an_object(lead):
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="e", base_url="http://x/v1")
    assert lead.post(url("new_model"), model_fields(parameters="[1]")).status_code == 422
    assert lead.post(url("new_model"), model_fields(parameters="{oops")).status_code == 422
    given = model_fields(endpoint=endpoint.pk, parameters='{"max_tokens": 100}')
    assert lead.post(url("new_model"), given).status_code == 302
    model = LanguageModel.objects.get()
    assert (model.endpoint, model.parameters) == (endpoint, {"max_tokens": 100})
    assert lead.post(url("edit_model", model.pk), model_fields(family="small")).status_code == 302
    assert LanguageModel.objects.get().endpoint is None
    other = Endpoint.objects.create(workspace=make_workspace("elsewhere"), name="e", base_url="http://x/v1")
    assert lead.post(url("new_model"), model_fields(name="b", endpoint=other.pk)).status_code == 422


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("parameters", '{"max_tokens": "many"}', "whole number of at least 1"),
        ("parameters", '{"max_tokens": 0}', "whole number of at least 1"),
        ("parameters", '{"max_tokens": true}', "whole number of at least 1"),
        ("parameters", '{"top_p": NaN}', "do not accept NaN or Infinity"),
        ("parameters", '{"stop": "\\u0000"}', "databases cannot store"),
        ("parameters", '{"stop": "\\ud800"}', "databases cannot store"),
        ("parameters", '{"a":' * 3000, "names in quotation marks, each with its value"),
        ("parameters", '{"messages": []}', "Plumbline sets messages itself"),
        ("parameters", '{"engine": []}', "engine must be a JSON object"),
        ("parameters", '{"script": 5}', "script must be a JSON object"),
        ("billions_of_parameters", "-7", "greater than or equal to 0"),
        ("billions_of_parameters", "inf", "Enter a number"),
        ("parameters", "{oops", "names in quotation marks, each with its value"),
        ("endpoint", "999", "not one of the available choices"),
        ("name", "", "required"),
    ],
)
def test_models_that_make_no_sense_are_refused_in_words(lead, field, value, said):
    answer = lead.post(url("new_model"), model_fields(**{field: value}))
    assert answer.status_code == 422 and said in markup(answer)
    assert not LanguageModel.objects.exists()


def test_an_endpoint_offers_to_add_a_model_that_it_serves(lead, client):
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="e", base_url="http://x/v1")
    place = f"{url('new_model')}?endpoint={endpoint.pk}"
    assert place in markup(lead.get(url("endpoints")))
    assert f'<option value="{endpoint.pk}" selected>' in markup(lead.get(place))
    for odd in ("x", "999999", "-1", "²"):
        assert lead.get(url("new_model"), {"endpoint": odd}).status_code == 200
    client.force_login(make_user("analyst"))
    assert "new_model" not in markup(client.get(url("endpoints")))


def test_a_lead_opens_a_model_by_its_name_and_an_analyst_reads_it(lead, client):
    model = LanguageModel.objects.create(workspace=make_workspace(), name="tiny", served_name="tiny")
    place = url("edit_model", model.pk)
    page = markup(lead.get(url("models")))
    assert f'<a href="{place}">tiny</a>' in page and page.count(">tiny<") == 1
    client.force_login(make_user("analyst"))
    page = markup(client.get(url("models")))
    assert "tiny" in page and place not in page


@pytest.mark.parametrize(("page", "fields"), [("new_endpoint", endpoint_fields), ("new_model", model_fields)])
def test_a_name_is_taken_once(lead, page, fields):
    assert lead.post(url(page), fields(name="one")).status_code == 302
    answer = lead.post(url(page), fields(name="one"))
    assert answer.status_code == 422
    assert "This name is already taken" in markup(answer)


def test_a_model_in_process_or_scripted_keeps_no_address(lead):
    assert lead.post(url("new_endpoint"), endpoint_fields(kind="in_process", key_variable="A_KEY")).status_code == 302
    endpoint = Endpoint.objects.get()
    assert (endpoint.base_url, endpoint.key_variable) == ("", "")


def run_fields(model, **more):
    return {
        "models": [model.pk],
        "samples": 2,
        "experiment": "length-4k",
        "temperature": "0.5",
        "max_tokens": 900,
        **more,
    }


def test_a_run_is_started_from_its_form_worked_on_and_shown(lead, django_capture_on_commit_callbacks):
    with HostileServer(lambda request, n: says_or_streams(request, TEXT)) as server:
        model = make_model(server)
        make_benchmark(2)
        assert "2 instructions with a text" in markup(lead.get(url("start_run", "lab/essays")))
        answer = lead.post(url("start_run", "lab/essays"), run_fields(model))
        run = GenerationRun.objects.get()
        assert answer.status_code == 302 and answer["Location"] == url("run", run.public_id)
        page = markup(lead.get(url("run", run.public_id)))
        assert "0 of 4 responses have been written; the run is in progress." in page and 'hx-trigger="every ' in page
        work_on(run, options=QUICK)
    part = markup(lead.get(url("run", run.public_id), headers={"HX-Request": "true"}))
    assert "<html" not in part and "4 of 4 responses have been written; the run is finished." in part
    assert 'hx-trigger="every ' not in part
    assert (run.experiment, run.parameters) == ("length-4k", {"temperature": 0.5, "max_tokens": 900})
    assert run.created_by is not None


def test_what_is_sent_twice_starts_one_run_and_another_wish_another(lead, monkeypatch):
    monkeypatch.setattr("generation.tasks.work.delay", lambda pk: None)
    with HostileServer(lambda request, n: says_or_streams(request, TEXT)) as server:
        model = make_model(server)
    make_benchmark(2)
    place = url("start_run", "lab/essays")
    first, again = (lead.post(place, run_fields(model, budget_calls=5))["Location"] for _ in range(2))
    assert first == again and GenerationRun.objects.count() == 1
    for other in ({"samples": 3}, {"temperature": "0.6"}, {"budget_calls": 6}, {"limit": 1}):
        lead.post(place, run_fields(model, **{"budget_calls": 5, **other}))
    assert GenerationRun.objects.count() == 5
    GenerationRun.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    assert lead.post(place, run_fields(model, budget_calls=5))["Location"] != first
    assert GenerationRun.objects.count() == 6


def test_a_run_of_some_categories_and_its_files(lead, client, monkeypatch):
    monkeypatch.setattr("generation.tasks.work.delay", lambda pk: None)
    made = written(instructions=4)
    benchmark = made.benchmark
    one, two = (Category.objects.create(benchmark=benchmark, key=key, names={"en": key}) for key in ("a", "b"))
    benchmark.instructions.update(category=one)
    benchmark.instructions.filter(pk=benchmark.instructions.first().pk).update(category=two)
    model = LanguageModel.objects.filter(endpoint__isnull=False).first()
    place = url("start_run", benchmark)
    refused = lead.post(place, run_fields(model, categories=["nowhere"]))
    assert refused.status_code == 422
    lead.post(place, run_fields(model, categories=["b"]))
    run = GenerationRun.objects.order_by("-pk").first()
    # One of four instructions, two samples of it.
    assert (run.items.count(), run.pk == made.pk) == (2, False)
    report = json.loads(lead.get(url("run_file", made.public_id, "report.json")).content)
    assert [(row["total"], row["done"], row["failed"], row["waiting"]) for row in report["models"]] == [(4, 4, 0, 0)]
    manifest = json.loads(lead.get(url("run_file", made.public_id, "manifest.json")).content)
    assert manifest["asked"]["benchmark"] == benchmark.slug
    assert manifest["came"]["items"] == {"done": 4}
    assert lead.get(url("run_file", made.public_id, "keys.json")).status_code == 404
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(url("run_file", made.public_id, "report.json")).status_code == 404


def test_a_run_needs_a_model_that_is_served(lead):
    make_benchmark(1)
    assert "No endpoint serves a model yet" in markup(lead.get(url("start_run", "lab/essays")))
    model = LanguageModel.objects.create(workspace=make_workspace(), name="known by name only")
    assert lead.post(url("start_run", "lab/essays"), run_fields(model)).status_code == 422
    assert not GenerationRun.objects.exists()


@pytest.mark.parametrize("field", ["models", "limit", "budget_calls", "budget_tokens", "budget_money"])
def test_a_number_that_no_database_holds_is_said_beside_its_field(lead, field):
    make_benchmark(1)
    with HostileServer(lambda request, n: says_or_streams(request, TEXT)) as server:
        model = make_model(server)
    answer = lead.post(url("start_run", "lab/essays"), run_fields(model, **{field: "9" * 23}))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert not GenerationRun.objects.exists()
    answer = lead.post(url("start_run", "lab/essays"), run_fields(model, models=[]))
    assert "Choose at least one model." in markup(answer)


def test_pausing_resuming_with_a_budget_retrying_and_cancelling(lead):
    with HostileServer(lambda request, n: fails(500, "broken")) as server:
        run = plan_generation(GenerationRequest(make_benchmark(2), models=(make_model(server),)))
    start_run(run, clock=timezone.now)
    control = url("control_run", run.public_id)

    def status():
        run.refresh_from_db()
        return run.status

    lead.post(control, {"action": "pause"})
    assert status() == "paused"
    lead.post(control, {"action": "resume", "budget_calls": "50"})
    assert (status(), run.budget_calls) == ("running", 50)
    lead.post(control, {"action": "pause"})
    lead.post(control, {"action": "resume", "budget_calls": "-3"})
    assert status() == "paused"
    run.items.update(status="failed", error="broken")
    page = markup(lead.get(url("run", run.public_id)))
    assert "Retry failed responses" in page and "2 failed" in page
    lead.post(control, {"action": "retry"})
    assert status() == "running" and run.items.filter(status="waiting").count() == 2
    lead.post(control, {"action": "cancel"})
    assert status() == "cancelled"
    answer = lead.post(control, {"action": "resume"}, follow=True)
    assert "has changed in the meantime" in markup(answer)
    assert lead.post(control, {"action": "explode"}).status_code == 404


def test_an_analyst_may_not_control_a_run(client):
    run = written(1)
    client.force_login(make_user("analyst"))
    assert client.post(url("control_run", run.public_id), {"action": "cancel"}).status_code == 403
    page = markup(client.get(url("run", run.public_id)))
    assert "Cancel for good" not in page


def test_what_a_script_wrote_is_marked(lead):
    benchmark = make_benchmark(1)
    endpoint = Endpoint.objects.create(
        workspace=benchmark.workspace, name="s", kind="scripted", capabilities={"script": {"writes": 30}}
    )
    model = LanguageModel.objects.create(workspace=benchmark.workspace, name="pen", endpoint=endpoint)
    run = plan_generation(GenerationRequest(benchmark, models=(model,)))
    start_run(run, clock=timezone.now)
    work_on(run, options=QUICK)
    for address in (
        url("run", run.public_id),
        url("response", run.responses.get().public_id),
        url("responses"),
        url("models"),
    ):
        assert "badge-scripted" in markup(lead.get(address)), address


def test_the_page_of_a_large_run_takes_few_queries(lead, django_assert_max_num_queries):
    run = written(40)
    with django_assert_max_num_queries(25):
        assert lead.get(url("run", run.public_id)).status_code == 200


@pytest.mark.parametrize("name", PAGES)
def test_pages_speak_chinese_without_falling_over(lead, name):
    written(1)
    assert lead.get(url(name), headers={"Accept-Language": "zh-hans"}).status_code == 200


def test_the_administration_refuses_a_key_too(client):
    client.force_login(make_user(is_staff=True, is_superuser=True))
    key = "sk-proj-abcdef0123456789ABCDEF"
    given = endpoint_fields(key_variable=key, workspace=make_workspace().pk)
    page = markup(client.post(reverse("admin:generation_endpoint_add"), given))
    assert "Plumbline never stores keys" in page and key not in page
    assert not Endpoint.objects.exists()
