"""The models that an endpoint's test found, over the API: offered, and added by a lead who names them."""

import pytest

from accounts.models import Event
from generation.models import Endpoint, LanguageModel
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def path():
    endpoint = Endpoint.objects.create(
        workspace=make_workspace(),
        name="local",
        base_url="http://127.0.0.1:9/v1",
        capabilities={"models": ["llama", "qwen", "known"]},
    )
    LanguageModel.objects.create(workspace=endpoint.workspace, name="mine", served_name="known", endpoint=endpoint)
    return f"/api/v1/w/lab/endpoints/{endpoint.pk}/models/"


def test_a_lead_adds_some_of_them(client, path):
    user = make_user("lead")
    client.force_login(user)
    assert client.get(path).json() == {"names": ["llama", "qwen"]}
    made = client.post(path, {"names": ["llama"]}, "application/json")
    assert made.status_code == 201
    (model,) = made.json()
    assert (model["name"], model["endpoint"]) == ("llama", "local")
    assert Event.objects.get(verb="model saved").actor == user
    assert client.get(path).json() == {"names": ["qwen"]}


@pytest.mark.parametrize(
    "sent", [{}, {"names": []}, {"names": ["invented"]}, {"names": ["llama", "known"]}, {"names": "llama"}], ids=str
)
def test_what_was_not_found_is_not_added(client, path, sent):
    client.force_login(make_user("lead"))
    assert client.post(path, sent, "application/json").status_code == 400
    assert LanguageModel.objects.count() == 1


def test_others_add_none(client, path):
    strangers = ((make_user("analyst"), 403), (make_user("lead", make_workspace("elsewhere")), 404))
    for user, status in (*strangers, (make_user("rater"), 403)):
        client.force_login(user)
        assert client.get(path).status_code == status
        assert client.post(path, {"names": ["llama"]}, "application/json").status_code == status
    assert LanguageModel.objects.count() == 1
