"""Which keys are sent where, and which addresses are called: as a lead would try it, and as an honest one goes on."""

import ast
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from generation.endpoints import registration as serving
from generation.endpoints.clients import open_chat, terms_stand
from generation.endpoints.grants import allow
from generation.endpoints.probing import NoAnswer, probe_address, probe_endpoint
from generation.endpoints.registration import served_model
from generation.llm.errors import HostNotAllowed, Unauthorised
from generation.llm.protocol.allowed_hosts import read_hosts, read_keys
from generation.models import Endpoint, EndpointGrant, GenerationRun, LanguageModel
from generation.responses.plan import GenerationRequest, plan_generation
from generation.responses.runs import start_run
from generation.responses.worker import work_on
from judging.judges.making import model_to_judge_with
from tests.factories import make_user, make_workspace
from tests.generation.hostile_server import Act, HostileServer, fails, says, says_or_streams
from tests.generation.responses.test_sampling import make_benchmark
from tests.markup import markup

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
SECRET = "the-value-that-must-not-leave"


@pytest.fixture
def lead(client):
    client.force_login(make_user("lead"))
    return client


@pytest.fixture
def for_others(settings):
    """A server that others reach, as in production; nothing is listed."""
    settings.ON_LOOPBACK = False
    return settings


def fields(base_url, key_variable="", **more):
    return {
        "name": "far",
        "kind": "openai",
        "base_url": base_url,
        "key_variable": key_variable,
        "max_concurrent": 4,
        "timeout_seconds": 5,
        "input_price": "0",
        "output_price": "0",
        **more,
    }


def save(client, base_url, key_variable="", endpoint=None, **more):
    """The status and the page."""
    url = reverse("generation:edit_endpoint", args=[endpoint.pk]) if endpoint else reverse("generation:new_endpoint")
    answer = client.post(url, fields(base_url, key_variable, **more))
    return answer.status_code, markup(answer).replace("&#x27;", "'")


def serves(request, number):
    """A model server: it lists its model, and says yes."""
    if not request:
        return Act(body={"object": "list", "data": [{"id": "m"}]})
    return says_or_streams(request, "yes")


def run_at(endpoint):
    """A run of one text, worked on."""
    model, _ = LanguageModel.objects.get_or_create(
        workspace=endpoint.workspace, name="m", defaults={"endpoint": endpoint}
    )
    benchmark = make_benchmark(1)
    run = plan_generation(GenerationRequest(benchmark, [model]))
    start_run(run, clock=timezone.now)
    return work_on(run)


def stored(base_url, key_variable="", **more):
    return Endpoint.objects.create(
        workspace=make_workspace(), name="far", base_url=base_url, key_variable=key_variable, timeout_seconds=5, **more
    )


def test_a_lead_cannot_have_any_variable_sent_to_a_host_of_theirs(lead, for_others, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", SECRET)
    for_others.MODEL_HOSTS = read_hosts(["127.0.0.1:9"])
    for address in ("https://evil.example/v1", "http://127.0.0.1:9/v1"):
        status, page = save(lead, address, "SOME_SECRET")
        assert status == 422
        assert "may not be sent to" in page and "PLUMBLINE_MODEL_KEYS=SOME_SECRET@" in page and SECRET not in page
    assert not Endpoint.objects.exists()


def test_the_line_that_the_refusal_names_lets_the_key_go_there_and_nowhere_else(lead, for_others):
    _status, page = save(lead, "https://api.example.com/v1", "LAB_KEY")
    line = page.partition("PLUMBLINE_MODEL_KEYS=")[2].partition("<")[0].strip()
    assert line == "LAB_KEY@api.example.com/lab"
    for_others.MODEL_KEYS = read_keys([line])
    assert save(lead, "https://api.example.com/v1", "LAB_KEY")[0] == 302
    for address in (
        "http://api.example.com/v1",
        "https://api.example.com:444/v1",
        "https://api.example.com.evil.example/v1",
    ):
        assert save(lead, address, "LAB_KEY", name="b")[0] == 422
    assert save(lead, "https://api.example.com/v1", "OTHER_KEY", name="b")[0] == 422


def test_a_key_of_one_workspace_is_refused_to_another(lead, client, for_others):
    for_others.MODEL_KEYS = read_keys(["LAB_KEY@api.example.com/other"])
    assert save(lead, "https://api.example.com/v1", "LAB_KEY")[0] == 422
    client.force_login(make_user("lead", make_workspace("other")))
    assert save(client, "https://api.example.com/v1", "LAB_KEY")[0] == 302


def test_sending_refuses_what_was_stored_before_or_past_the_page(for_others, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", SECRET)
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        for_others.MODEL_HOSTS = read_hosts([f"127.0.0.1:{port}"])
        endpoint = stored(server.base_url, "SOME_SECRET")
        run = run_at(endpoint)
        assert run.status == GenerationRun.Status.FAILED
        assert f"PLUMBLINE_MODEL_KEYS=SOME_SECRET@http://127.0.0.1:{port}/lab" in run.message
        with pytest.raises(Unauthorised):
            probe_endpoint(endpoint)
        assert not server.requests
        for_others.MODEL_KEYS = read_keys([f"SOME_SECRET@http://127.0.0.1:{port}/lab"])
        start_run(run, clock=timezone.now)
        assert work_on(run).status == GenerationRun.Status.FINISHED
        assert set(server.keys) == {f"Bearer {SECRET}"}


def test_batches_are_sent_no_key_either(for_others, monkeypatch):
    from generation.responses.batch import advance

    monkeypatch.setenv("SOME_SECRET", SECRET)
    with HostileServer(lambda request, n: Act(body={"object": "list", "data": []})) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        for_others.MODEL_HOSTS = read_hosts([f"127.0.0.1:{port}"])
        endpoint = stored(server.base_url, "SOME_SECRET")
        model = LanguageModel.objects.create(workspace=endpoint.workspace, name="m", endpoint=endpoint)
        run = plan_generation(GenerationRequest(make_benchmark(1), [model], batch=True))
        start_run(run, clock=timezone.now)
        advance(run)
        run.refresh_from_db()
        assert "PLUMBLINE_MODEL_KEYS" in run.message
        for_others.MODEL_HOSTS = ()
        Endpoint.objects.update(key_variable="")
        start_run(run, clock=timezone.now)
        advance(run)
        run.refresh_from_db()
        assert "PLUMBLINE_MODEL_HOSTS" in run.message
        assert not server.requests


def test_a_batch_follows_no_redirect(monkeypatch):
    """Its library follows them by itself."""
    from generation.responses.batch import advance

    with HostileServer(lambda request, n: Act(body={"object": "list", "data": []})) as other:
        away = Act(status=307, body={}, headers={"Location": f"{other.base_url}/batches"})
        with HostileServer(lambda request, n: away) as server:
            endpoint = stored(server.base_url)
            model = LanguageModel.objects.create(workspace=endpoint.workspace, name="m", endpoint=endpoint)
            run = plan_generation(GenerationRequest(make_benchmark(1), [model], batch=True))
            start_run(run, clock=timezone.now)
            advance(run)
            assert server.requests
    run.refresh_from_db()
    assert run.status == GenerationRun.Status.FAILED and "307" in run.message
    assert not other.requests


def add(**options):
    call_command("add_model", "m", stdout=io.StringIO(), **options)
    return Endpoint.objects.get()


def test_a_command_names_any_variable_and_sending_honours_it(for_others, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", SECRET)
    make_workspace()
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        endpoint = add(base_url=server.base_url, key_variable="SOME_SECRET")
        grant = EndpointGrant.objects.get()
        assert (grant.variable, grant.address, grant.command) == ("SOME_SECRET", server.base_url, "add_model")
        assert grant.made_by and grant.made_at and grant.workspace == endpoint.workspace
        assert Event.objects.filter(verb="endpoint allowed").count() == 1
        assert run_at(endpoint).status == GenerationRun.Status.FINISHED
        assert set(server.keys) == {f"Bearer {SECRET}"}


def test_a_lead_changes_limits_under_a_grant_but_another_address_drops_key_and_grant(lead, for_others, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", SECRET)
    with HostileServer(lambda request, n: says("yes")) as server:
        endpoint = add(base_url=server.base_url, key_variable="SOME_SECRET")
        assert save(lead, server.base_url, "SOME_SECRET", endpoint, max_concurrent=7)[0] == 302
        endpoint.refresh_from_db()
        assert (endpoint.max_concurrent, endpoint.key_variable) == (7, "SOME_SECRET")
        running = Endpoint.objects.prefetch_related("grants").get(pk=endpoint.pk)
        assert terms_stand(running)
        assert save(lead, "https://evil.example/v1", "SOME_SECRET", endpoint)[0] == 302
        endpoint.refresh_from_db()
        assert (endpoint.base_url, endpoint.key_variable) == ("https://evil.example/v1", "")
        assert not EndpointGrant.objects.filter(ended_at=None).exists()
        # Going back revives nothing, neither on the page nor past it.
        assert save(lead, server.base_url, "SOME_SECRET", endpoint)[0] == 422
        Endpoint.objects.update(base_url=server.base_url, key_variable="SOME_SECRET")
        with pytest.raises(Unauthorised):
            open_chat(LanguageModel.objects.get())
        assert not terms_stand(running)
        assert not server.requests


def test_a_key_named_anew_with_the_address_is_judged_with_it(lead, for_others):
    for_others.MODEL_KEYS = read_keys(["A_KEY@a.example/all", "B_KEY@b.example/all"])
    assert save(lead, "https://a.example/v1", "A_KEY")[0] == 302
    endpoint = Endpoint.objects.get()
    assert save(lead, "https://b.example/v1", "B_KEY", endpoint)[0] == 302
    assert save(lead, "https://c.example/v1", "A_KEY", endpoint)[0] == 422
    endpoint.refresh_from_db()
    assert (endpoint.base_url, endpoint.key_variable) == ("https://b.example/v1", "B_KEY")


def test_the_page_says_that_a_key_was_dropped(lead, for_others):
    for_others.MODEL_KEYS = read_keys(["A_KEY@a.example/all"])
    save(lead, "https://a.example/v1", "A_KEY")
    answer = lead.post(
        reverse("generation:edit_endpoint", args=[Endpoint.objects.get().pk]),
        fields("https://a.example/v2", "A_KEY"),
        follow=True,
    )
    assert "You changed the address, so the key in A_KEY is no longer sent" in markup(answer)


def test_the_administration_makes_no_grant_and_its_change_of_address_ends_one(client, for_others):
    make_workspace()
    endpoint = add(base_url="http://10.0.0.5:8000/v1", key_variable="SOME_SECRET")
    client.force_login(make_user(username="root", is_staff=True, is_superuser=True))
    change = reverse("admin:generation_endpoint_change", args=[endpoint.pk])
    given = fields("https://evil.example/v1", "SOME_SECRET", workspace=endpoint.workspace_id)
    assert client.post(change, given).status_code == 302
    endpoint.refresh_from_db()
    assert endpoint.key_variable == "" and not EndpointGrant.objects.filter(ended_at=None).exists()
    assert client.post(change, {**given, "key_variable": "SOME_SECRET"}).status_code == 200
    assert client.post(change, {**given, "base_url": "http://10.0.0.5:8000/v1"}).status_code == 200
    endpoint.refresh_from_db()
    assert (endpoint.base_url, endpoint.key_variable) == ("https://evil.example/v1", "")
    for action in ("add", "delete"):
        args = [] if action == "add" else [EndpointGrant.objects.get().pk]
        assert client.post(reverse(f"admin:generation_endpointgrant_{action}", args=args)).status_code == 403
    page = reverse("admin:generation_endpointgrant_change", args=[EndpointGrant.objects.get().pk])
    assert client.post(page, {"variable": "OTHER"}).status_code == 403


def test_a_grant_is_a_record_that_the_database_keeps_as_it_is():
    make_workspace()
    add(base_url="http://10.0.0.5:8000/v1", key_variable="SOME_SECRET")
    for change in ({"variable": "OTHER"}, {"address": "https://evil.example/v1"}, {"served_name": "/etc"}):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            EndpointGrant.objects.update(**change)


def test_only_commands_make_grants():
    makers = {"allow", "endpoint_at", "served_model", "model_to_judge_with"}
    through = {"generation/endpoints/grants.py", "generation/endpoints/registration.py", "judging/judges/making.py"}
    for app in ("accounts", "generation", "annotation", "calibration", "judging", "config"):
        for file in (ROOT / app).rglob("*.py"):
            name = file.relative_to(ROOT).as_posix()
            tree = ast.parse(file.read_text(encoding="utf-8"))
            calls = {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert "/management/commands/" in name or name in through or not makers & calls, name


def test_the_operator_allows_lists_and_ends_what_was_there_before(for_others, monkeypatch):
    """As after an upgrade: whoever stored it cannot be told any more."""
    monkeypatch.setenv("OLD_KEY", SECRET)
    with HostileServer(serves) as server:
        endpoint = stored(server.base_url, "OLD_KEY")
        with pytest.raises((Unauthorised, HostNotAllowed)):
            probe_endpoint(endpoint)
        out = io.StringIO()
        call_command("allow_endpoint", "far", stdout=out)
        assert f"may be called at {server.base_url} with the key in OLD_KEY" in out.getvalue()
        assert probe_endpoint(Endpoint.objects.get()).chat
        call_command("allow_endpoint", stdout=out)
        assert "far: " in out.getvalue() and "with allow_endpoint" in out.getvalue()
        call_command("allow_endpoint", "far", "--end", stdout=out)
        endpoint = Endpoint.objects.get()
        assert endpoint.key_variable == ""
        with pytest.raises(HostNotAllowed):
            probe_endpoint(endpoint)
        assert set(server.keys) == {f"Bearer {SECRET}"}
    with pytest.raises(CommandError, match="There is no endpoint 'nobody'"):
        call_command("allow_endpoint", "nobody")
    with pytest.raises(CommandError, match="belongs to this program"):
        call_command("allow_endpoint", "far", "--key-variable", "DATABASE_URL")
    with pytest.raises(CommandError, match="looks like a key"):
        call_command("allow_endpoint", "far", "--key-variable", "sk-abcdefgh12345678")


def test_a_single_user_adds_a_provider_and_a_local_server_on_the_page(lead, settings):
    assert settings.ON_LOOPBACK
    assert save(lead, "https://api.openai.com/v1", "OPENAI_API_KEY", name="a")[0] == 302
    assert save(lead, "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", name="b")[0] == 302
    for address in ("https://api.anthropic.com/v1", "http://api.openai.com/v1", "https://evil.example/v1"):
        assert save(lead, address, "OPENAI_API_KEY", name="c")[0] == 422
    assert save(lead, "https://evil.example/v1", "AWS_SECRET_ACCESS_KEY", name="c")[0] == 422
    with HostileServer(serves) as server:
        assert save(lead, server.base_url, name="d")[0] == 302
        endpoint = Endpoint.objects.get(name="d")
        tested = lead.post(reverse("generation:test_endpoint", args=[endpoint.pk]), headers={"HX-Request": "true"})
        assert "It answers chat requests." in markup(tested)
        assert run_at(endpoint).status == GenerationRun.Status.FINISHED
    settings.ON_LOOPBACK = False
    assert save(lead, "https://api.openai.com/v1", "OPENAI_API_KEY", name="e")[0] == 422


def test_a_labs_server_on_a_private_address_is_one_line(lead, for_others):
    status, page = save(lead, "http://10.0.0.5:8000/v1")
    assert status == 422 and "PLUMBLINE_MODEL_HOSTS=10.0.0.5:8000" in page
    for_others.MODEL_HOSTS = read_hosts(["10.0.0.5:8000"])
    assert save(lead, "http://10.0.0.5:8000/v1")[0] == 302
    with HostileServer(lambda request, n: says_or_streams(request, "yes")) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        for_others.MODEL_HOSTS = read_hosts([f"127.0.0.1:{port}"])
        assert save(lead, server.base_url, name="b")[0] == 302
        assert run_at(Endpoint.objects.get(name="b")).status == GenerationRun.Status.FINISHED


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost:8000/v1",
        "http://[::1]/v1",
        "http://192.168.1.5/v1",
        "http://0.0.0.0/v1",
        "http://169.254.169.254/latest",
        "http://[::ffff:10.0.0.1]/v1",
        "http://2130706433/v1",
        "http://127.1/v1",
    ],
)
def test_a_lead_cannot_aim_at_what_is_near_the_server(lead, for_others, address):
    assert save(lead, address)[0] == 422
    assert not Endpoint.objects.exists()


def test_an_address_stored_before_is_not_called(for_others):
    with HostileServer(lambda request, n: says("yes")) as server:
        run = run_at(stored(server.base_url))
        assert run.status == GenerationRun.Status.FAILED
        assert f"PLUMBLINE_MODEL_HOSTS={server.base_url[7:-3]}" in run.message
        assert not server.requests


PAGE = "<html><title>Payroll</title>confidential figures</html>"
OTHERS = {
    "a page": Act(body=PAGE.encode(), headers={"Content-Type": "text/html"}),
    "a page of an error": Act(500, PAGE.encode(), {"Content-Type": "text/html"}),
    "a text": Act(404, b"confidential figures"),
    "a list": Act(body={"data": "confidential figures"}),
    "another service's error": Act(403, {"kind": "Status", "message": "confidential figures", "code": 403}),
    "a search engine's error": Act(400, {"error": {"reason": "confidential figures", "type": "x"}}),
}


@pytest.mark.parametrize("act", OTHERS.values(), ids=OTHERS)
def test_the_test_button_shows_no_body_of_something_else(lead, act):
    def play(request, number):
        return Act(act.status, act.body, dict(act.headers))

    with HostileServer(play) as server:
        endpoint = stored(server.base_url)
        LanguageModel.objects.create(workspace=endpoint.workspace, name="m", endpoint=endpoint)
        url = reverse("generation:test_endpoint", args=[endpoint.pk])
        page = markup(lead.post(url, headers={"HX-Request": "true"}))
        endpoint.refresh_from_db()
        assert "confidential" not in page + json.dumps(endpoint.capabilities)
        assert f"The server answered with status {act.status}" in page


def test_the_test_button_shows_no_greeting_of_another_protocol():
    import socket
    import threading

    greeter = socket.create_server(("127.0.0.1", 0))

    def greet():
        while True:
            try:
                connection, _address = greeter.accept()
            except OSError:
                return
            connection.sendall(b"220 confidential figures ready\r\n")
            connection.close()

    threading.Thread(target=greet, daemon=True).start()
    with greeter, pytest.raises(NoAnswer) as told:
        probe_address(f"http://127.0.0.1:{greeter.getsockname()[1]}/v1", model="m")
    assert "confidential" not in str(told.value)
    assert "does not answer like a model server" in str(told.value)


def test_a_model_servers_own_words_are_shown():
    with (
        HostileServer(lambda request, n: fails(401, "Incorrect API key provided")) as server,
        pytest.raises(NoAnswer) as told,
    ):
        probe_address(server.base_url, model="m")
    assert str(told.value) == "401: Incorrect API key provided"


def test_a_grant_made_twice_is_one():
    endpoint = stored("http://10.0.0.5:8000/v1")
    allow(endpoint, command="add_model")
    allow(endpoint, command="judge")
    assert EndpointGrant.objects.count() == 1


@pytest.mark.parametrize("made", [served_model, model_to_judge_with])
def test_two_commands_that_begin_at_once_make_one_endpoint_and_model(monkeypatch, made):
    """Another command makes both while this one chooses a name."""
    workspace, base_url, plain = make_workspace(), "http://127.0.0.1:1/v1", serving.free_name

    def choose(*args):
        monkeypatch.setattr(serving, "free_name", plain)
        name = plain(*args)
        made(workspace=workspace, name="m", command="other", base_url=base_url)
        return name

    monkeypatch.setattr(serving, "free_name", choose)
    model = made(workspace=workspace, name="m", command="this", base_url=base_url)
    assert model == LanguageModel.objects.get()
    assert model.endpoint == Endpoint.objects.get()
    assert EndpointGrant.objects.get().command == "other"
