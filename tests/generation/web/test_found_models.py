"""What an endpoint's test found is offered, and added by a lead who chooses it."""

import json
from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse

from accounts.models import Event
from generation.endpoints.clients import form_of
from generation.endpoints.pricing import price_of
from generation.llm.forms import CHAT, RESPONSES
from generation.llm.protocol.bodies import read_models
from generation.llm.protocol.prices import Prices
from generation.llm.protocol.providers import read_providers
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


def offered_on(page):
    return [one["name"] for one in page.context["rows"][0]["offered"]]


def test_a_lead_adds_models_that_the_test_found(client, endpoint):
    client.force_login(make_user("lead"))
    page = client.get(reverse("generation:endpoints"))
    assert offered_on(page) == ["llama", "qwen <b>7b</b>"]
    assert 'value="qwen &lt;b&gt;7b&lt;/b&gt;"' in markup(page)
    address = reverse("generation:add_found_models", args=[endpoint.pk])
    assert client.get(address).status_code == 405
    assert client.post(address, {"names": ["llama", "invented", "known"]}).status_code == 302
    made = LanguageModel.objects.get(name="llama")
    assert made.endpoint == endpoint and LanguageModel.objects.count() == 3
    assert Event.objects.get(verb="model saved").after == {"name": "llama", "found at": "local"}
    assert offered_on(client.get(reverse("generation:endpoints"))) == ["qwen <b>7b</b>"]
    assert "No model was added." in markup(client.post(address, {"names": ["llama"]}, follow=True))
    Endpoint.objects.update(kind="scripted")
    assert offered_on(client.get(reverse("generation:endpoints"))) == []


def test_a_listed_name_can_be_stored_on_every_database():
    listed = read_models({"data": [{"id": "nul\0"}, {"id": "half \ud800"}, {"id": "llama"}]})
    assert [one.name for one in listed] == ["nul\ufffd", "half \ufffd", "llama"]


def test_nobody_else_adds_models(client, endpoint):
    address = reverse("generation:add_found_models", args=[endpoint.pk])
    client.force_login(make_user("analyst"))
    assert client.post(address, {"names": ["llama"]}).status_code in (403, 404)
    assert offered_on(client.get(reverse("generation:endpoints"))) == []
    client.force_login(make_user("lead", make_workspace("other")))
    assert client.post(address, {"names": ["llama"]}).status_code == 404
    assert LanguageModel.objects.count() == 2


@pytest.fixture
def lab(settings, tmp_path):
    """A hosted provider with a price list, and its endpoint."""
    listed = {
        "lab-1": {"read": "2.5", "written": "10", "retired": "2027-02-01"},
        "lab-pro": {"read": "30", "written": "180", "form": "responses"},
    }
    row = {"name": "lab", "title": "Lab & Co", "addresses": ["https://api.lab.example/v1"], "keys": ["LAB_KEY"]}
    whole = {"currency": "EUR", "as_of": "2026-10-01", "providers": [{**row, "models": listed}]}
    (tmp_path / "providers.json").write_text(json.dumps(whole), encoding="utf-8")
    settings.PROVIDERS = read_providers(tmp_path / "providers.json")
    found = {"models": ["lab-1", "models/lab-pro", "unlisted"]}
    return Endpoint.objects.create(
        workspace=make_workspace(), name="lab", base_url="https://api.lab.example/v1", capabilities=found
    )


def test_a_found_model_gets_the_list_price_of_its_day(client, lab):
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("generation:endpoints")))
    assert "List price of 2026-10-01: 2.50 EUR per million input tokens, 10 EUR per million output tokens." in page
    assert "retires the model on 2027-02-01" in page
    chosen = {"names": ["lab-1", "models/lab-pro", "unlisted"]}
    client.post(reverse("generation:add_found_models", args=[lab.pk]), chosen)
    made = {model.name: model for model in LanguageModel.objects.all()}
    price = price_of(made["lab-1"])
    assert (price.known, price.prices, price.currency) == (True, Prices(Decimal("2.5"), Decimal(10)), "EUR")
    assert price.since == date(2026, 10, 1)
    assert not price_of(made["unlisted"]).known
    assert form_of(made["models/lab-pro"]) is RESPONSES and form_of(made["lab-1"]) is CHAT
    assert "retired on 2027-02-01" in markup(client.get(reverse("generation:models")))


def test_a_list_in_another_currency_is_not_mixed_in(client, lab):
    client.force_login(make_user("lead"))
    LanguageModel.objects.create(
        workspace=make_workspace(), name="priced", input_price=1, output_price=1, currency="USD", priced_on="2026-01-01"
    )
    client.post(reverse("generation:add_found_models", args=[lab.pk]), {"names": ["lab-1"]})
    model = LanguageModel.objects.get(name="lab-1")
    assert (model.input_price, model.currency) == (None, "")


def test_the_list_price_can_be_entered_on_the_page_of_a_model(client, lab):
    client.force_login(make_user("lead"))
    model = LanguageModel.objects.create(workspace=make_workspace(), name="mine", served_name="lab-1", endpoint=lab)
    address = reverse("generation:edit_model", args=[model.pk])
    page = client.get(address)
    assert "Enter this price below" in markup(page) and page.context["form"]["input_price"].value() is None
    form = client.get(address, {"price": "listed"}).context["form"]
    given = {name: form[name].value() for name in ("input_price", "output_price", "currency", "priced_on")}
    assert given == {"input_price": 2.5, "output_price": 10, "currency": "EUR", "priced_on": date(2026, 10, 1)}
    sent = {**given, "name": "mine", "served_name": "lab-1", "endpoint": lab.pk, "parameters": "{}"}
    assert client.post(address, sent).status_code == 302
    assert price_of(LanguageModel.objects.get(pk=model.pk)).since == date(2026, 10, 1)
    assert "Enter this price below" not in markup(client.get(address))


def test_a_provider_fills_in_the_form_of_an_endpoint(client, lab):
    client.force_login(make_user("lead"))
    page = client.get(reverse("generation:new_endpoint"))
    assert "Lab &amp; Co" in markup(page) and page.context["form"]["base_url"].value() in ("", None)
    form = client.get(reverse("generation:new_endpoint"), {"provider": "lab"}).context["form"]
    given = {name: form[name].value() for name in ("name", "base_url", "key_variable")}
    assert given == {"name": "Lab & Co", "base_url": "https://api.lab.example/v1", "key_variable": "LAB_KEY"}
    assert client.get(reverse("generation:new_endpoint"), {"provider": "none"}).status_code == 200
