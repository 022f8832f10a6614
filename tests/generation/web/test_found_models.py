"""What an endpoint's test found is offered, and added by a lead who chooses it."""

import pytest
from django.urls import reverse

from accounts.models import Event
from generation.llm.protocol.bodies import read_models
from generation.models import Endpoint, LanguageModel
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint():
    found = {"models": ["llama", "qwen <b>7b</b>", "known", "elsewhere", "x" * 201, "nul\ufffd", 7, "llama"]}
    workspace = make_workspace()
    endpoint = Endpoint.objects.create(
        workspace=workspace, name="local", base_url="http://127.0.0.1:9/v1", capabilities=found
    )
    LanguageModel.objects.create(workspace=workspace, name="mine", served_name="known", endpoint=endpoint)
    LanguageModel.objects.create(workspace=workspace, name="elsewhere")
    return endpoint


def test_a_lead_adds_models_that_the_test_found(client, endpoint):
    client.force_login(make_user("lead"))
    page = client.get(reverse("generation:endpoints"))
    assert page.context["rows"][0]["offered"] == ["llama", "qwen <b>7b</b>"]
    assert 'value="qwen &lt;b&gt;7b&lt;/b&gt;"' in markup(page)
    address = reverse("generation:add_found_models", args=[endpoint.pk])
    assert client.get(address).status_code == 405
    assert client.post(address, {"names": ["llama", "invented", "known"]}).status_code == 302
    made = LanguageModel.objects.get(name="llama")
    assert made.endpoint == endpoint and LanguageModel.objects.count() == 3
    assert Event.objects.get(verb="model saved").after == {"name": "llama", "found at": "local"}
    assert client.get(reverse("generation:endpoints")).context["rows"][0]["offered"] == ["qwen <b>7b</b>"]
    assert "No model was added." in markup(client.post(address, {"names": ["llama"]}, follow=True))
    Endpoint.objects.update(kind="scripted")
    assert client.get(reverse("generation:endpoints")).context["rows"][0]["offered"] == []


def test_a_listed_name_can_be_stored_on_every_database():
    listed = read_models({"data": [{"id": "nul\0"}, {"id": "half \ud800"}, {"id": "llama"}]})
    assert [one.name for one in listed] == ["nul\ufffd", "half \ufffd", "llama"]


def test_nobody_else_adds_models(client, endpoint):
    address = reverse("generation:add_found_models", args=[endpoint.pk])
    client.force_login(make_user("analyst"))
    assert client.post(address, {"names": ["llama"]}).status_code in (403, 404)
    assert client.get(reverse("generation:endpoints")).context["rows"][0]["offered"] == []
    client.force_login(make_user("lead", make_workspace("other")))
    assert client.post(address, {"names": ["llama"]}).status_code == 404
    assert LanguageModel.objects.count() == 2
