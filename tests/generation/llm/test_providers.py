"""The list of hosted providers: that of the program, one of an operator, and files that are none."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings

from core.errors import UserError
from generation.llm.protocol.allowed_hosts import origin_of
from generation.llm.protocol.prices import Prices
from generation.llm.protocol.providers import key_rules, provider_at, read_providers

OURS = settings.BASE_DIR / "fixtures" / "providers" / "providers.json"


def written(folder: Path, **changes: object) -> Path:
    """A file of one provider with one model; `changes` replace its fields, those of the model by `model`."""
    model = {"read": "2.5", "written": "10", **changes.pop("model", {})}  # type: ignore[dict-item]
    row = {"name": "lab", "title": "Lab", "addresses": ["https://api.lab.example/v1"], "keys": ["LAB_KEY"]}
    row |= {name: changes.pop(name) for name in tuple(row) if name in changes}
    whole = {"currency": "EUR", "as_of": "2026-10-01", "providers": [{**row, "models": {"lab-1": model}}], **changes}
    path = folder / "providers.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def test_the_keys_of_a_single_user_go_to_their_providers_alone():
    rules = key_rules(read_providers(OURS))
    assert {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} <= {rule.variable for rule in rules}
    assert all((rule.origin.scheme, rule.origin.port, rule.workspaces) == ("https", 443, None) for rule in rules)
    openai = origin_of("https://api.openai.com/v1")
    assert [rule.origin for rule in rules if rule.variable == "OPENAI_API_KEY"] == [openai]


def test_every_price_of_the_program_is_of_a_model_that_is_not_retired():
    listed = [model for provider in read_providers(OURS) for model in provider.models.values()]
    assert len(listed) > 100
    for model in listed:
        assert model.prices is not None and model.prices.read > 0 and model.prices.written > 0, model.name
        assert model.retired is None or model.retired > model.as_of, model.name
    forms = {model.name: model.form for model in listed}
    assert (forms["gpt-5-pro"], forms["gpt-5"]) == ("responses", "chat")


def test_a_file_of_the_operator_adds_providers_models_and_prices(tmp_path):
    path = written(tmp_path, model={"form": "responses", "retired": "2027-02-01"})
    providers = read_providers(OURS, path)
    lab = provider_at("https://api.lab.example/other", providers)
    assert lab is not None and lab.title == "Lab"
    (model,) = lab.models.values()
    assert (model.currency, model.as_of, model.retired) == ("EUR", date(2026, 10, 1), date(2027, 2, 1))
    assert (model.form, model.prices) == ("responses", Prices(Decimal("2.5"), Decimal(10)))
    ours = read_providers(OURS)
    path = written(tmp_path, name="openai", addresses=["https://proxy.lab.example/v1"])
    (openai,) = (one for one in read_providers(OURS, path) if one.name == "openai")
    assert openai.addresses == ("https://proxy.lab.example/v1",)
    assert set(openai.models) == {*next(one.models for one in ours if one.name == "openai"), "lab-1"}


def test_another_server_is_no_provider():
    providers = read_providers(OURS)
    for address in (
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.example/v1",
        "x",
    ):
        assert provider_at(address, providers) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"currency": "euro"}, "three capital letters"),
        ({"as_of": "yesterday"}, "'yesterday' is not a day"),
        ({"providers": {}}, "providers must be a list"),
        ({"providers": [7]}, "provider 1 must be a JSON object"),
        ({"addresses": []}, "addresses must be a list of texts"),
        ({"addresses": ["http://api.lab.example/v1"]}, "does not begin with https://"),
        ({"addresses": ["lab"]}, "'lab' is not an address"),
        ({"keys": ["PLUMBLINE_SECRET_KEY"]}, "belongs to Plumbline itself"),
        ({"model": {"read": "-1"}}, "-1 is not a price"),
        ({"model": {"read": "free"}}, "price of a million tokens in quotation marks"),
        ({"model": {"written": None}}, "price of a million tokens in quotation marks"),
        ({"model": {"written": "NaN"}}, "NaN is not a price"),
        ({"model": {"form": "grpc"}}, "neither chat nor responses"),
        ({"model": {"retired": "soon"}}, "'soon' is not a day"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_place(tmp_path, changes, words):
    path = written(tmp_path, **changes)
    with pytest.raises(UserError, match=words) as caught:
        read_providers(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_absent_or_no_json_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_providers(tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"currency": ')
    with pytest.raises(UserError, match="is not JSON"):
        read_providers(tmp_path / "half.json")
