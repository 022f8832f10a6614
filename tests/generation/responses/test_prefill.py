"""LongGenBench's instructions: decoded greedily, with their version's limit, and going on from the given first line."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from generation.llm.in_process import TEMPLATE_OPTIONS, InProcessChat
from generation.llm.protocol.wrapping import first_line_of, with_first_line
from generation.llm.requests import Request
from generation.models import Endpoint, GenerationRun, Instruction, LanguageModel, Response
from generation.text_metrics.counts import word_count
from tests.factories import make_user
from tests.generation.hostile_server import HostileServer, fails, says_or_streams
from tests.generation.responses.test_sampling import make_benchmark

FIRST = "#*# Week 1:"


@pytest.fixture
def benchmark(db):
    benchmark = make_benchmark(2, slug="longgenbench-own")
    for instruction, version in zip(Instruction.objects.order_by("external_id"), ("short", "long"), strict=True):
        instruction.tags = [version]
        instruction.messages = [*instruction.messages, {"role": "assistant", "content": FIRST}]
        instruction.save()
    return benchmark


def generate(server, *words):
    call_command(
        "generate", "longgenbench-own", "--model", "m", "--base-url", server.base_url, *words, stdout=io.StringIO()
    )


def texts():
    return list(Response.objects.order_by("instruction__external_id").values_list("text", flat=True))


def test_each_version_has_its_limit_and_goes_on_from_its_first_line(benchmark):
    with HostileServer(lambda request, n: says_or_streams(request, "It rained.\n#*# Week 2: Sun.")) as server:
        generate(server)
    sent = sorted(server.requests, key=lambda request: request["max_tokens"])
    assert [request["max_tokens"] for request in sent] == [16_000, 32_000]
    for request in sent:
        assert request["messages"][-1] == {"role": "assistant", "content": FIRST}
        assert (request["continue_final_message"], request["add_generation_prompt"]) == (True, False)
        assert request["temperature"] == 0.0
    assert texts() == [f"{FIRST}\nIt rained.\n#*# Week 2: Sun."] * 2
    assert set(Response.objects.values_list("words", flat=True)) == {word_count(texts()[0])}


def test_a_tag_keeps_one_version_and_an_own_limit_goes_for_all(benchmark):
    with HostileServer(lambda request, n: says_or_streams(request, "x")) as server:
        generate(server, "--tag", "long", "--max-tokens", "500")
        (request,) = server.requests
        assert request["max_tokens"] == 500
        assert Response.objects.get().instruction.tags == ["long"]
        with pytest.raises(CommandError, match="no such instruction with the tag middle; the tags are long, short"):
            generate(server, "--tag", "middle")


def test_a_reply_that_says_its_first_line_itself_has_it_once(benchmark):
    with HostileServer(lambda request, n: says_or_streams(request, "## Week 1:\nIt rained.")) as server:
        generate(server)
    assert texts() == ["## Week 1:\nIt rained."] * 2


@pytest.mark.parametrize(("mode", "roles"), [("turn", ["user", "assistant"]), ("off", ["user"])])
def test_services_that_cannot_continue_get_a_turn_or_nothing(benchmark, mode, roles):
    with HostileServer(lambda request, n: says_or_streams(request, "It rained.")) as server:
        generate(server, "--prefill", mode)
    for request in server.requests:
        assert [message["role"] for message in request["messages"]] == roles
        assert "continue_final_message" not in request
    assert texts() == ["It rained." if mode == "off" else f"{FIRST}\nIt rained."] * 2


def test_a_server_that_refuses_to_continue_is_asked_with_a_turn(benchmark):
    def answer(request, n):
        if "continue_final_message" in request:
            words = "Unrecognized request argument supplied: continue_final_message"
            return fails(400, json.dumps({"error": {"message": words}}))
        return says_or_streams(request, "It rained.")

    with HostileServer(answer) as server:
        generate(server)
    assert GenerationRun.objects.get().status == "finished"
    assert texts() == [f"{FIRST}\nIt rained."] * 2


def test_other_benchmarks_keep_their_settings(db):
    make_benchmark(1)
    with HostileServer(lambda request, n: says_or_streams(request, "x")) as server:
        call_command("generate", "essays", "--model", "m", "--base-url", server.base_url, stdout=io.StringIO())
    (request,) = server.requests
    assert (request["temperature"], request["max_tokens"]) == (0.8, 16_384)
    assert not set(TEMPLATE_OPTIONS) & set(request)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (" It rained.", "A1: It rained."),
        ("It rained.", "A1:\nIt rained."),
        ("**A1:** It rained.", "**A1:** It rained."),
        ("#*# A 1 : It rained.", "#*# A 1 : It rained."),
        ("", "A1:\n"),
    ],
)
def test_the_first_line_is_put_before_a_text_that_lacks_it(text, whole):
    assert with_first_line("A1:", text) == whole
    assert with_first_line("", text) == text


def test_only_the_assistants_last_words_are_a_first_line():
    assert first_line_of([]) == ""
    assert first_line_of([{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]) == ""


def test_vllm_in_process_gets_the_template_beside_the_sampling(monkeypatch):
    asked = []

    class Engine:
        def chat(self, conversations, parameters, *, use_tqdm, **template):
            asked.append((len(conversations), template))
            return [conversation[-1]["content"] for conversation in conversations]

    monkeypatch.setattr("generation.llm.in_process.engine_named", lambda model, options: Engine())
    monkeypatch.setattr("generation.llm.in_process.sampling_of", lambda request, **kept: dict(request.parameters))
    left_open = {"continue_final_message": True, "add_generation_prompt": False}
    requests = [
        Request("m", [{"role": "user", "content": "a"}], {"temperature": 0.0}),
        Request("m", [{"role": "assistant", "content": "b"}], {"temperature": 0.0, **left_open}),
        Request("m", [{"role": "user", "content": "c"}], {"temperature": 0.0}),
    ]
    assert InProcessChat("m", {})._chat(requests) == ["a", "b", "c"]
    assert asked == [(2, {}), (1, left_open)]


def test_the_form_offers_the_versions_and_keeps_their_limits(client, benchmark):
    endpoint = Endpoint.objects.create(workspace=benchmark.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=benchmark.workspace, name="m", endpoint=endpoint)
    client.force_login(make_user("lead"))
    address = reverse("generation:start_run", args=[benchmark])
    page = client.get(address)
    assert [value for value, _label in page.context["form"].fields["tags"].choices] == ["long", "short"]
    given = {
        "models": [model.pk],
        "samples": 1,
        "experiment": "main",
        "tags": ["long"],
        "temperature": page.context["form"].initial["temperature"],
        "max_tokens": page.context["form"].initial["max_tokens"],
    }
    assert client.post(address, given).status_code == 302
    run = GenerationRun.objects.get()
    assert [item.instruction.tags for item in run.items.all()] == [["long"]]
    assert run.parameters["temperature"] == 0.0
    assert run.manifest["settings"]["max_tokens_by_tag"] == {"short": 16_000, "long": 32_000}


def test_a_benchmark_without_versions_offers_none(client, db):
    benchmark = make_benchmark(1)
    endpoint = Endpoint.objects.create(workspace=benchmark.workspace, name="script", kind="scripted")
    LanguageModel.objects.create(workspace=benchmark.workspace, name="m", endpoint=endpoint)
    client.force_login(make_user("lead"))
    form = client.get(reverse("generation:start_run", args=[benchmark])).context["form"]
    assert "tags" not in form.fields
    assert (form.initial["temperature"], form.initial["max_tokens"]) == (0.8, 16_384)
    assert "prefill" not in form.fields


@pytest.mark.parametrize("mode", ["continue", "turn", "off"])
def test_the_form_says_how_the_first_line_is_given_as_the_command_does(client, benchmark, mode):
    with HostileServer(lambda request, n: says_or_streams(request, "It rained.")) as server:
        generate(server, "--prefill", mode, "--tag", "long")
    of_command = GenerationRun.objects.get()
    client.force_login(make_user("lead"))
    address = reverse("generation:start_run", args=[benchmark])
    form = client.get(address).context["form"]
    assert [value for value, _label in form.fields["prefill"].choices] == ["continue", "turn", "off"]
    assert form["prefill"].initial == "continue"
    given = {
        "models": [LanguageModel.objects.get().pk],
        "samples": 1,
        "experiment": "main",
        "tags": ["long"],
        "temperature": form.initial["temperature"],
        "max_tokens": form.initial["max_tokens"],
        "prefill": mode,
    }
    assert client.post(address, given).status_code == 302
    of_form = GenerationRun.objects.exclude(pk=of_command.pk).get()
    assert of_form.manifest["settings"]["prefill"] == of_command.manifest["settings"]["prefill"] == mode
    assert of_form.parameters == of_command.parameters
    assert of_form.parameters["temperature"] == 0.0
    assert client.post(address, {**given, "prefill": "sideways"}).status_code == 422
