"""manage.py add_model: a server, vLLM in process, a script; and what can be wrong."""

import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from generation.models import Endpoint, LanguageModel
from judging.models import JudgeRun
from tests.factories import make_checklist_study, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def workspace():
    return make_workspace()


def test_a_scripted_model_judges_at_once(tmp_path, capsys):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"seed": 3, "quality": 0.9}), encoding="utf-8")
    call_command("add_model", "actor", script=str(script))
    assert "has been added" in capsys.readouterr().out
    model = LanguageModel.objects.get()
    assert (model.endpoint.kind, model.parameters["script"]["quality"]) == ("scripted", 0.9)
    study = make_checklist_study(models=1)
    script.unlink()
    call_command("judge", study.slug, model="actor")
    assert JudgeRun.objects.get().items.filter(status="scored").count() == 4


def test_a_model_in_process_and_one_at_an_address():
    call_command("add_model", "own", in_process=True, served_name="/models/tiny", engine='{"max_model_len": 512}')
    own = LanguageModel.objects.get(name="own")
    assert (own.endpoint.kind, own.served_name, own.parameters) == (
        "in_process",
        "/models/tiny",
        {"engine": {"max_model_len": 512}},
    )
    call_command(
        "add_model",
        "far",
        base_url="http://127.0.0.1:8000/v1",
        key_variable="MY_KEY",
        input_price="2.5",
        concurrent=32,
        context_tokens=8192,
    )
    far = LanguageModel.objects.get(name="far").endpoint
    assert (far.kind, far.key_variable, far.input_price) == ("openai", "MY_KEY", Decimal("2.5"))
    assert (far.max_concurrent, far.context_tokens) == (32, 8192)
    call_command("add_model", "own", endpoint=far.name)
    assert LanguageModel.objects.get(name="own").endpoint == far


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Give exactly one of"),
        ({"in_process": True, "base_url": "http://127.0.0.1:1/v1"}, "Give exactly one of"),
        ({"base_url": "http://127.0.0.1:1/v1", "key_variable": "sk-abcdefgh12345678"}, "looks like a key"),
        ({"script": "/nowhere/script.json"}, "cannot be read"),
        ({"in_process": True, "engine": "{"}, "--engine is not valid JSON"),
        ({"base_url": "http://127.0.0.1:1/v1", "output_price": "-1"}, "is not a price"),
        ({"base_url": "http://127.0.0.1:1/v1", "concurrent": 0}, "is out of range"),
        ({"base_url": "http://127.0.0.1:1/v1", "concurrent": 10**12}, "is out of range"),
        ({"base_url": "http://127.0.0.1:1/v1", "context_tokens": 10**30}, "is out of range"),
        ({"base_url": "http://127.0.0.1:1/v1", "input_price": "1e30"}, "is not a price"),
        ({"base_url": "http://127.0.0.1:1/v1", "input_price": "nan"}, "is not a price"),
        ({"base_url": "http://127.0.0.1:1/" + "v" * 500}, "is too long"),
        ({"base_url": "127.0.0.1:8000/v1"}, "The address must be like http://"),
        ({"in_process": True, "engine": '{"gpu_memory_utilization": NaN}'}, "NaN is not a JSON number"),
        ({"in_process": True, "served_name": "x" * 201}, "served name is too long"),
        ({"base_url": "http://127.0.0.1:1/v1", "timeout": 0}, "--timeout 0 is out of range"),
        ({"base_url": "http://127.0.0.1:1/v1", "parameters": "[1]"}, "--parameters must be a JSON object"),
        ({"base_url": "http://127.0.0.1:1/v1", "parameters": '{"n": 3}'}, "--parameters: Plumbline sets n itself"),
        ({"endpoint": "nobody"}, "There is no endpoint"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(options, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("add_model", "one", **options)
    assert not LanguageModel.objects.exists()
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ({"seconds": "long"}, "'seconds' is a number from 0"),
        ({"writes": 0}, "'writes' is a number from 1"),
        ({"quality": 7}, "'quality' is a number from 0 to 1"),
        ({"replies": ["x"]}, "'replies' must be a mapping"),
        ([], "A script is a mapping"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_before_a_run(tmp_path, script, sentence):
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    with pytest.raises(CommandError, match=sentence):
        call_command("add_model", "actor", script=str(path))
    assert not Endpoint.objects.exists()


def test_a_name_that_another_endpoint_has_is_numbered(workspace):
    Endpoint.objects.create(workspace=workspace, name="vllm in process", base_url="http://x/v1")
    call_command("add_model", "own", in_process=True)
    assert LanguageModel.objects.get().endpoint.name == "vllm in process 2"


def test_an_empty_name_is_refused():
    with pytest.raises(CommandError, match="name of the model is empty"):
        call_command("add_model", " ", in_process=True)


def test_a_models_own_parameters_and_an_endpoints_pace_can_be_said():
    words = ["--base-url", "http://127.0.0.1:1/v1", "--family", "o", "--requests-per-minute", "500", "--timeout", "900"]
    own = '{"max_completion_tokens": 16384, "temperature": null}'
    call_command("add_model", "o4", *words, "--parameters", own)
    model = LanguageModel.objects.get()
    assert model.parameters == {"max_completion_tokens": 16384, "temperature": None}
    assert (model.family, model.endpoint.requests_per_minute, model.endpoint.timeout_seconds) == ("o", 500, 900)
    call_command("add_model", "o4", "--endpoint", model.endpoint.name)
    model.refresh_from_db()
    assert (model.family, model.parameters["max_completion_tokens"]) == ("o", 16384)
