"""What a lead may say to vLLM in process and to scripted models: options of a list, and nothing of the machine's files."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from generation.endpoints.clients import open_chat
from generation.llm.errors import Refused
from generation.models import Endpoint, LanguageModel
from tests.factories import make_workspace
from tests.generation.endpoints.test_grants import add, for_others, lead, save, stored
from tests.markup import markup

pytestmark = pytest.mark.django_db
__all__ = ["for_others", "lead"]


def in_process(served_name="/models/lab", **engine):
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="here", kind="in_process")
    return LanguageModel.objects.create(
        workspace=endpoint.workspace,
        name="m",
        endpoint=endpoint,
        served_name=served_name,
        parameters={"engine": engine},
    )


def model_fields(endpoint, **more):
    return {"name": "m", "endpoint": endpoint.pk, "served_name": "", "family": "", "parameters": "{}", **more}


def test_what_vllm_loads_is_the_operators_choice(lead, for_others):
    make_workspace()
    add(in_process=True, served_name="/models/lab")
    model = LanguageModel.objects.select_related("endpoint").get()
    open_chat(model)
    url = reverse("generation:edit_model", args=[model.pk])
    for name in ("/home/someone/other", "stranger/model-with-code"):
        answer = lead.post(url, model_fields(model.endpoint, served_name=name))
        assert answer.status_code == 422 and "vLLM may not load" in markup(answer)
        with pytest.raises(Refused, match="vLLM may not load"):
            open_chat(LanguageModel(endpoint=model.endpoint, workspace=model.workspace, name="m", served_name=name))
    given = model_fields(model.endpoint, served_name="/models/lab", parameters='{"engine": {"max_model_len": 512}}')
    assert lead.post(url, given).status_code == 302
    # A server's endpoint that becomes one in process brings no right with it.
    other = stored("https://a.example/v1")
    assert save(lead, "", endpoint=other, kind="in_process")[0] == 302
    other.refresh_from_db()
    with pytest.raises(Refused):
        open_chat(LanguageModel(endpoint=other, workspace=other.workspace, name="x", served_name="/models/lab"))


@pytest.mark.parametrize(
    "engine",
    [
        {"trust_remote_code": True},
        {"load_format": "pt"},
        {"worker_cls": "os.system"},
        {"hf_overrides": {}},
        {"allowed_local_media_path": "/"},
        {"tokenizer": "/etc"},
        {"model": "/etc"},
        {"max_model_len": "512"},
        {"dtype": "auto; rm"},
        {"seed": True},
        {"gpu_memory_utilization": 2},
    ],
)
def test_options_of_vllm_are_those_of_a_list(lead, engine):
    model = in_process()
    url = reverse("generation:edit_model", args=[model.pk])
    answer = lead.post(url, model_fields(model.endpoint, parameters=json.dumps({"engine": engine})))
    assert answer.status_code == 422
    model.parameters = {"engine": engine}
    with pytest.raises(Refused, match="vLLM in the worker's process"):
        open_chat(model)
    with pytest.raises(CommandError, match="vLLM in the worker's process"):
        call_command("add_model", "n", in_process=True, engine=json.dumps(engine), stdout=io.StringIO())


def test_a_script_comes_from_the_operators_folder_by_name(lead, settings, tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    settings.SCRIPT_DIR = folder
    (folder / "actor.json").write_text('{"writes": 5}')
    outside = tmp_path / "secret.json"
    outside.write_text('{"replies": {"r": "confidential"}}')
    (folder / "link.json").symlink_to(outside)
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="s", kind="scripted")
    model = LanguageModel.objects.create(workspace=endpoint.workspace, name="m", endpoint=endpoint)
    url = reverse("generation:edit_model", args=[model.pk])

    def saved(script):
        answer = lead.post(url, model_fields(endpoint, parameters=json.dumps({"script": script})))
        return answer.status_code, markup(answer)

    assert saved("actor.json")[0] == 302
    model.refresh_from_db()
    open_chat(model)
    for script in (
        "../secret.json",
        str(outside),
        "link.json",
        "sub/actor.json",
        "absent.json",
        "",
        ".",
        "..",
        "a\x00.json",
        {"folder": "/etc"},
        {"seconds": 10**9},
    ):
        status, page = saved(script)
        assert status == 422 and "confidential" not in page
        model.parameters = {"script": script}
        with pytest.raises(Refused):
            open_chat(model)
