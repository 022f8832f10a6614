"""Probes against a server that obeys, ignores, refuses, or is not there."""

import io
import json
from dataclasses import asdict

import pytest
from django.core.management import CommandError, call_command

from generation.endpoints.clients import context_of, form_of, takes_json_schema
from generation.endpoints.probing import NoAnswer, in_words, obeys, probe_address, probe_endpoint
from generation.endpoints.registration import ServingRefused, checked_key_variable, looks_like_a_key
from generation.llm.connections import Answer
from generation.llm.errors import error_of_answer
from generation.llm.forms import CHAT, RESPONSES
from generation.models import Endpoint, LanguageModel
from tests.factories import make_workspace
from tests.generation.hostile_server import Act, HostileServer, completion, fails, responds, says

pytestmark = pytest.mark.django_db
LISTED = Act(body={"data": [{"id": "tiny", "max_model_len": 2048}]})
BIRD = '{"bird": "plover"}'


def server_that(*, schema="obeys", prompt_scores=True, scores=True, embeds=True, listed=LISTED):
    """A play for each thing that is asked."""

    def play(request, n):
        if not request:
            return listed
        if "input" in request:
            rows = [{"index": 0, "embedding": [0.5, 0.25, 1.0]}]
            return Act(body={"data": rows}) if embeds else fails(404, "no such route")
        if "prompt_logprobs" in request:
            if prompt_scores == "refuses":
                return fails(400, "Unrecognized request argument supplied: prompt_logprobs")
            given = [None, {"7": {"logprob": -2.0}}]
            return Act(body={**completion("x"), "prompt_logprobs": given if prompt_scores else None})
        if request.get("logprobs"):
            body = completion("x")
            body["choices"][0]["logprobs"] = {"content": [{"token": "x", "logprob": -1}]} if scores else None
            return Act(body=body)
        kind = request.get("response_format", {}).get("type", "")
        if schema == "obeys" and kind == "json_schema":
            return says(BIRD)
        if schema == "llama.cpp" and kind:
            return says(BIRD) if kind == "json_object" else fails(500, "json_schema is not supported")
        if schema == "refuses" and kind:
            return fails(400, "response_format is unknown here")
        return says("Fine, thank you.")

    return HostileServer(play)


def found_at(server):
    with server:
        return probe_address(server.base_url)


def test_a_server_that_can_do_everything():
    found = found_at(server_that())
    assert (found.model, found.context_tokens) == ("tiny", 2048)
    assert found.chat and found.json_schema and not found.json_schema_ignored
    assert found.prompt_log_probabilities and found.log_probabilities
    assert (found.embeddings, found.embedding_length) == (True, 3)


def test_a_server_that_says_yes_to_a_schema_and_ignores_it_is_found_out():
    found = found_at(server_that(schema="ignores"))
    assert found.chat and not found.json_schema and found.json_schema_ignored and not found.json_object_schema


def test_llama_cpps_own_way_is_recognised():
    found = found_at(server_that(schema="llama.cpp"))
    assert found.json_object_schema and not found.json_schema
    assert "json_schema is not supported" in found.words["json_schema"]


def test_a_refusal_of_schemas_is_no_refusal_to_chat():
    found = found_at(server_that(schema="refuses"))
    assert found.chat and not found.json_schema and not found.json_schema_ignored


def test_log_probabilities_of_the_answer_only():
    found = found_at(server_that(prompt_scores="refuses"))
    assert found.log_probabilities and not found.prompt_log_probabilities
    found = found_at(server_that(prompt_scores=False, scores=False, embeds=False))
    assert not (found.log_probabilities or found.prompt_log_probabilities or found.embeddings)


def server_with(answer, *, thinks=False, chat=False):
    """A server of the responses form alone, or with `chat` of chat completions; one that thinks needs many tokens."""

    def play(request, n):
        if not request:
            return LISTED
        if "messages" not in request and not isinstance(request.get("input"), list):
            return fails(404, "no such route")
        if "messages" in request and not chat:
            return fails(404, "This is not a chat model and thus not supported in the v1/chat/completions endpoint.")
        limits = ("max_output_tokens", "max_completion_tokens", "max_tokens")
        room = next(request[name] for name in limits if name in request)
        if chat:
            return says("", finish_reason="length") if thinks and room < 1000 else says(answer)
        return (
            responds("", status="incomplete", why="max_output_tokens") if thinks and room < 1000 else responds(answer)
        )

    return HostileServer(play)


@pytest.mark.parametrize("thinks", [False, True])
def test_a_model_of_the_responses_form_is_found(thinks):
    found = found_at(server_with(BIRD, thinks=thinks))
    assert found.chat and found.json_schema and found.responses == ("tiny",)
    assert not (found.log_probabilities or found.embeddings)
    said = [line.text for line in in_words(asdict(found))]
    assert "It answers requests for tiny only by the Responses API, which Plumbline therefore uses." in said


def test_a_model_that_thinks_before_it_answers_is_given_room():
    with server_with(BIRD, thinks=True, chat=True) as server:
        found = probe_address(server.base_url)
    assert found.json_schema and not found.json_schema_ignored and found.responses == ()


def test_a_model_that_says_nothing_with_any_room_ignores_the_schema():
    found = found_at(server_with("", chat=True))
    assert found.chat and found.json_schema_ignored and not found.json_schema


def test_a_stored_model_is_asked_in_its_form_from_the_first_call_on():
    with server_with(BIRD) as server:
        endpoint = Endpoint.objects.create(workspace=make_workspace(), name="hosted", base_url=server.base_url)
        model = LanguageModel.objects.create(workspace=make_workspace(), name="tiny", endpoint=endpoint)
        assert form_of(model) is CHAT
        probe_endpoint(endpoint)
        model.refresh_from_db()
        assert form_of(model) is RESPONSES


@pytest.mark.parametrize(
    ("text", "obeyed"),
    [
        ('{"bird": "kestrel"}', True),
        (' {"bird":\n"plover"} ', True),
        ('{"bird": "sparrow"}', False),
        ('{"bird": "plover", "more": 1}', False),
        ("```json\n" + BIRD + "\n```", False),
        ('["plover"]', False),
        ('{"bird": ["plover"]}', False),
        ("Fine.", False),
    ],
)
def test_what_obeying_is(text, obeyed):
    assert obeys(text) is obeyed


@pytest.mark.parametrize(
    ("act", "why"), [(fails(401, "no such key"), "no such key"), (fails(429, "slow down"), "slow down")]
)
def test_an_endpoint_that_cannot_be_asked_is_told_in_its_words(act, why):
    with HostileServer(lambda request, n: act) as server, pytest.raises(NoAnswer, match=why):
        probe_address(server.base_url)


def test_nobody_there_and_no_models():
    with HostileServer(lambda request, n: LISTED) as server:
        gone = server.base_url
    with pytest.raises(NoAnswer):
        probe_address(gone)
    with server_that(listed=fails(404, "no list")) as server:
        with pytest.raises(NoAnswer, match="lists no models"):
            probe_address(server.base_url)
        assert probe_address(server.base_url, model="tiny").chat


def test_what_was_found_is_stored_and_used_and_the_script_is_kept():
    workspace = make_workspace()
    with server_that() as server:
        endpoint = Endpoint.objects.create(
            workspace=workspace, name="e", base_url=server.base_url, capabilities={"script": {"seed": 1}}
        )
        assert not takes_json_schema(endpoint)
        probe_endpoint(endpoint)
    endpoint.refresh_from_db()
    assert takes_json_schema(endpoint)
    assert endpoint.probed_at is not None
    tiny = LanguageModel.objects.create(workspace=workspace, name="tiny", endpoint=endpoint)
    other = LanguageModel.objects.create(workspace=workspace, name="other", endpoint=endpoint)
    assert (context_of(tiny, endpoint), context_of(other, endpoint)) == (2048, None)
    endpoint.context_tokens = 512
    assert (context_of(tiny, endpoint), context_of(other, endpoint)) == (512, 512)
    assert endpoint.capabilities["script"] == {"seed": 1}
    scripted = Endpoint.objects.create(workspace=workspace, name="s", kind="scripted")
    assert probe_endpoint(scripted).json_schema


def test_a_failed_probe_changes_nothing():
    with HostileServer(lambda request, n: fails(401, "no")) as server:
        endpoint = Endpoint.objects.create(
            workspace=make_workspace(), name="e", base_url=server.base_url, capabilities={"json_schema": True}
        )
        with pytest.raises(NoAnswer):
            probe_endpoint(endpoint)
    endpoint.refresh_from_db()
    assert endpoint.capabilities == {"json_schema": True} and endpoint.probed_at is None


def test_words_say_what_it_means():
    lines = in_words({"chat": True, "json_schema_ignored": True, "models": ["a", "b"], "log_probabilities": True})
    said = " ".join(line.text for line in lines)
    assert "It serves 2 models: a, b." in said
    assert "accepts a JSON schema but ignores it" in said
    assert "not of the prompt" in said
    assert "no embeddings" in said
    assert [line.good for line in lines] == [True, True, False, False, False]


def test_the_command_says_it_in_words_or_json():
    make_workspace()
    with server_that(schema="ignores") as server:
        out = io.StringIO()
        call_command("probe_endpoint", "--base-url", server.base_url, stdout=out)
        assert "- It accepts a JSON schema but ignores it" in out.getvalue()
        out = io.StringIO()
        call_command("probe_endpoint", Endpoint.objects.get().name, "--json", stdout=out)
        assert json.loads(out.getvalue())["json_schema_ignored"] is True
    with pytest.raises(CommandError, match="cannot be asked"):
        call_command("probe_endpoint", Endpoint.objects.get().name)
    with pytest.raises(CommandError, match="Give either the name of an endpoint"):
        call_command("probe_endpoint")
    with pytest.raises(CommandError, match="no endpoint 'x'"):
        call_command("probe_endpoint", "x")


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-9f8e7d6c5b4a",
        "hf_abcdEFGH1234",
        "AIzaSyA1234567890abcdefghij",
        "gsk_live_1",
        "a1b2c3d4e5f6a7b8c9d0e1f2",
        "x" * 61,
        "eyJhbGciOi",
    ],
)
def test_keys_are_recognised(key):
    assert looks_like_a_key(key)
    with pytest.raises(ServingRefused) as caught:
        checked_key_variable(key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_KEY_2", "vllm_token", "K", ""])
def test_names_of_variables_are_taken(name):
    assert checked_key_variable(f" {name} ") == name


@pytest.mark.parametrize("name", ["OPENAI API KEY", "MY-KEY", "PLUMBLINE_SECRET_KEY", "database_url", "1KEY"])
def test_what_is_no_name_or_the_programs_own_is_refused(name):
    with pytest.raises(ServingRefused):
        checked_key_variable(name)


def test_an_address_where_nobody_answers_is_not_kept():
    make_workspace()
    with pytest.raises(CommandError, match="cannot be asked"):
        call_command("probe_endpoint", base_url="http://127.0.0.1:1/v1")
    assert not Endpoint.objects.exists()


def test_models_of_different_lengths_are_told_apart():
    listed = Act(body={"data": [{"id": "a", "max_model_len": 2048}, {"id": "b", "max_model_len": 65536}]})
    found = found_at(server_that(listed=listed))
    said = [line.text for line in in_words(asdict(found))]
    assert "The context length is 2048 to 65536 tokens, depending on the model." in said


def test_a_model_that_knows_the_limit_by_its_newer_name_is_asked_so():
    def play(request, n):
        if not request:
            return LISTED
        if "response_format" in request and "max_tokens" not in request:
            return says(BIRD)
        return fails(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")

    with HostileServer(play) as strict:
        found = probe_address(strict.base_url)
    assert found.chat and found.json_schema and "json_schema" not in found.words


def test_advice_is_what_can_be_done_where_it_is_read():
    lost = Act(status=404, body={"detail": "Not Found"})
    with HostileServer(lambda request, n: lost) as server:
        with pytest.raises(
            NoAnswer, match=r"Add a model that the endpoint serves.* status 404 \(Not Found\)"
        ) as caught:
            probe_address(server.base_url)
        assert "--" not in str(caught.value)
        with pytest.raises(CommandError, match="name a model with --model"):
            call_command("probe_endpoint", "--base-url", server.base_url, stdout=io.StringIO())
        elsewhere = server.base_url.removesuffix("/v1")
        with pytest.raises(NoAnswer, match=r"^The server answered with status 404 .*\. Most servers .* ends in /v1\.$"):
            probe_address(elsewhere, model="m")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": "model 'm' not found"}, "404: model 'm' not found"),
        ({"detail": "Not Found"}, "404: Not Found"),
        ({"error": {"message": "none", "code": "x"}}, "404: none"),
        ({"detail": [{"loc": ["body"]}]}, '404: {"detail": [{"loc": ["body"]}]}'),
        ({}, "404: {}"),
    ],
)
def test_a_404_is_told_in_its_words_wherever_they_stand(body, words):
    answer = Answer(404, "Not Found", {}, json.dumps(body).encode())
    assert str(error_of_answer(answer)) == words
