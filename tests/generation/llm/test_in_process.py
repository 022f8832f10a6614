"""vLLM in process where it is not installed: one sentence says so. tests/real_server runs it for real."""

import asyncio
import io

import pytest
from django.core.management import CommandError, call_command

from generation.endpoints.clients import open_chat, sampling_parameters
from generation.endpoints.probing import NoAnswer, probe_endpoint
from generation.llm.errors import Refused, ServerFailed, TooLong
from generation.llm.in_process import InProcessChat, as_chat_error, installed
from generation.llm.requests import Request
from generation.models import Endpoint, GenerationRun, LanguageModel
from tests.factories import make_workspace
from tests.generation.responses.test_sampling import make_benchmark

absent = pytest.mark.skipif(installed(), reason="vLLM is installed here")


def make_endpoint():
    workspace = make_workspace()
    endpoint = Endpoint.objects.create(workspace=workspace, name="here", kind="in_process")
    parameters = {"engine": {"max_model_len": 1024}, "temperature": 0.2}
    model = LanguageModel.objects.create(
        workspace=workspace, name="m", endpoint=endpoint, served_name="/models/m", parameters=parameters
    )
    return endpoint, model


@absent
def test_without_vllm_the_first_question_says_how_to_install_it():
    async def ask():
        chat = InProcessChat("anything", {})
        await asyncio.gather(*(chat.complete(Request("m", [])) for _ in range(3)))

    with pytest.raises(Refused, match="pip install vllm"):
        asyncio.run(ask())


@absent
@pytest.mark.django_db
def test_a_run_and_a_probe_stop_with_the_same_sentence():
    endpoint, _model = make_endpoint()
    make_benchmark(2)
    with pytest.raises(NoAnswer, match="vLLM is not installed"):
        probe_endpoint(endpoint)
    with pytest.raises(CommandError, match="vLLM is not installed"):
        call_command("generate", "essays", "--model", "m", stdout=io.StringIO())
    assert set(GenerationRun.objects.get().items.values_list("status", flat=True)) == {"waiting"}


@pytest.mark.django_db
def test_what_is_for_the_engine_is_not_sent_with_a_question():
    _endpoint, model = make_endpoint()
    assert isinstance(open_chat(model), InProcessChat)
    assert sampling_parameters(model) == {"temperature": 0.2}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("The decoder prompt is longer than the maximum model length of 1024"), TooLong),
        (RuntimeError("This model's maximum context length is 1024 tokens."), TooLong),
        (TypeError("unexpected keyword 'warmth'"), Refused),
        (RuntimeError("CUDA out of memory"), ServerFailed),
    ],
)
def test_what_vllm_raises_becomes_one_of_the_family(error, kind):
    assert type(as_chat_error(error)) is kind
