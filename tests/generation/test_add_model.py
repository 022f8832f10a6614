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
    assert "is added" in capsys.readouterr().out
    model = LanguageModel.objects.get()
    assert (model.endpoint.kind, model.parameters["script"]["quality"]) == ("scripted", 0.9)
    study = make_checklist_study(models=1)
    script.unlink()
    call_command("judge", study.slug, model="actor")
    assert JudgeRun.objects.get().items.filter(status="scored").count() == 4


def test_a_model_in_process_and_one_at_an_address():
    call_command(
        "add_model", "own", in_process=True, served_name="/models/tiny", engine='{"max_model_len": 512}'
    )
    own = LanguageModel.objects.get(name="own")
    assert (own.endpoint.kind, own.served_name, own.parameters) == (
        "in_process", "/models/tiny", {"engine": {"max_model_len": 512}},
    )  # fmt: skip
    call_command(
        "add_model", "far", base_url="http://127.0.0.1:8000/v1", key_variable="MY_KEY", input_price="2.5",
        concurrent=32, context_tokens=8192,
    )  # fmt: skip
    far = LanguageModel.objects.get(name="far").endpoint
    assert (far.kind, far.key_variable, far.input_price) == ("openai", "MY_KEY", Decimal("2.5"))
    assert (far.max_concurrent, far.context_tokens) == (32, 8192)
    call_command("add_model", "own", endpoint=far.name)
    assert LanguageModel.objects.get(name="own").endpoint == far


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Say where it is served"),
        ({"in_process": True, "base_url": "http://127.0.0.1:1/v1"}, "by one of"),
        ({"base_url": "http://127.0.0.1:1/v1", "key_variable": "sk-abcdefgh12345678"}, "looks like a key"),
        ({"script": "/nowhere/script.json"}, "cannot be read"),
        ({"in_process": True, "engine": "{"}, "--engine is no JSON"),
        ({"base_url": "http://127.0.0.1:1/v1", "output_price": "-1"}, "is no price"),
        ({"base_url": "http://127.0.0.1:1/v1", "concurrent": 0}, "is too few"),
        ({"endpoint": "nobody"}, "There is no endpoint"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(options, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("add_model", "one", **options)
    assert not LanguageModel.objects.exists()
    assert not Endpoint.objects.exists()
